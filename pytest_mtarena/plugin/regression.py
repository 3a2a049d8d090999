"""The run of today against the card of an earlier one: ``--mt-baseline``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mtarena.card.store import read_card
from pytest_mtarena.errors import UsageError
from pytest_mtarena.plugin.arena import Run
from pytest_mtarena.plugin.settings import Settings
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.baseline import Verdict, against, drop_problem
from pytest_mtarena.text import cut, pad, printable


@dataclass(frozen=True)
class Baseline:
    """A card to compare with, and what is asked for."""

    path: Path
    card: Mapping[str, Any]
    settings: Settings

    @classmethod
    def read(cls, settings: Settings) -> Baseline | None:
        """Read the card; raises CardError for one that cannot be read. None without one."""
        if settings.baseline is None:
            return None
        return cls(settings.baseline, read_card(settings.baseline), settings)

    def is_of(self, run: Run) -> bool:
        """Say whether the card is of the suite and group of a run."""
        dataset = self.card["dataset"]
        there = (dataset["content_sha256"], dataset["languages"]["group"])
        return bool((run.suite.content_sha256, run.group) == there)

    def check(self, runs: Iterable[Run]) -> None:
        """Raise UsageError unless the card is of one of these runs, naming what differs."""
        every = list(runs)
        if not any(map(self.is_of, every)):
            here = ", ".join(dict.fromkeys(_named(run) for run in every)) or "nothing"
            dataset = self.card["dataset"]
            raise UsageError(
                f"--mt-baseline {self.path.name} is of {dataset['id']} "
                f"({dataset['languages']['group']}, content {dataset['content_sha256'][:8]}), "
                f"this session runs {here}"
            )

    def check_metrics(self, directions: Mapping[str, str]) -> None:
        """Raise UsageError for a metric that cannot drop."""
        names = [name for name, _ in self.settings.max_drop]
        if problem := drop_problem(directions, names):
            raise UsageError(f"--mt-max-drop {problem}")
        primary = self.settings.primary
        if primary is not None and (problem := drop_problem(directions, [primary])):
            raise UsageError(f"--mt-primary {problem}")

    def judge(self, card: Mapping[str, Any], registry: Registry) -> Verdict:
        """Compare the card of a run."""
        return against(
            card,
            self.card,
            registry,
            primary=self.settings.primary,
            max_drops=dict(self.settings.max_drop),
            significant=self.settings.significant,
            where=self.path.name,
        )


def told(verdict: Verdict, width: int) -> Iterator[str]:
    """Yield what a person should see of a comparison; the worst entries when a gate is missed."""
    if verdict.problem is not None:
        return
    if verdict.line is not None:
        yield printable(f"baseline {verdict.line}")
    for line in verdict.warnings:
        yield printable(f"! {line}")
    if not verdict.missed or not verdict.worst:
        return
    yield f"entries that got worst ({len(verdict.worst)} of {verdict.n_worse}):"
    for one in verdict.worst:
        then, now = _value(one.value_a), _value(one.value_b)
        yield f"  {pad(cut(printable(one.id), 20), 21)}{then} then, {now} now"
        for name, text in (
            ("source", one.source),
            ("reference", one.reference),
            ("then", one.output_a),
            ("now", one.output_b),
        ):
            yield cut(f"    {pad(name, 10)}{printable(str(text or ''))}", width)


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _named(run: Run) -> str:
    return f"{run.suite.id} ({run.group}, content {run.suite.content_sha256[:8]})"
