"""The controller: where rows arrive, are written down at once, and become run cards.

It lives in the process that reports (the only one, or xdist's controller), never in a worker.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.facts import RunFacts
from pytest_mtarena.card.gates import missed_gates
from pytest_mtarena.card.git import git_provenance
from pytest_mtarena.card.seal import seal
from pytest_mtarena.card.store import write_card
from pytest_mtarena.errors import ArenaError
from pytest_mtarena.plugin.arena import Arena, Run
from pytest_mtarena.protocols import Report
from pytest_mtarena.records import CACHE_ERROR
from pytest_mtarena.referee.stats.rows import StatisticsRows
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.journal import Journal, read_header
from pytest_mtarena.run.rows import MANY, RowStore

if TYPE_CHECKING:  # loaded when there is a baseline
    from pytest_mtarena.plugin.regression import Baseline
    from pytest_mtarena.results.baseline import Verdict


class Sharing:
    """Lets the three reports of an item, which pytest keeps, share one set of keywords.

    Registered for large sessions only: it costs a little time and saves half a kilobyte an item.
    """

    def __init__(self) -> None:
        self._nodeid = ""
        self._keywords: Mapping[str, Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep one of three equal dictionaries."""
        if report.nodeid == self._nodeid and report.keywords == self._keywords:
            report.keywords = self._keywords
        else:
            self._nodeid, self._keywords = report.nodeid, report.keywords


_WORKED = "worked"
"""Key of a journal line: the seconds that were worked on its run until then."""


RETRIED = frozenset({"error", "timeout", "crashed"})
"""The statuses of rows that are attempted again on ``--mt-resume``."""


@dataclass
class Outcome:
    """What became of a run at the end of the session."""

    run: Run
    card: dict[str, Any]
    path: Path | None = None
    missed: list[str] = field(default_factory=list)
    """Why the run is red beside its items: gates that were missed, faults of no entry."""
    verdict: Verdict | None = None
    """What the comparison with the baseline says; None without one."""
    alarms: Mapping[str, str] = field(default_factory=dict)
    """Caveats that are worth a warning, and their kinds."""

    has_failed_rows: bool = False
    """Whether any row is one that a resumed session tries again."""

    @property
    def is_final(self) -> bool:
        """Whether nothing is left that a resumed session could do better."""
        return self.path is not None and self.card["complete"] and not self.has_failed_rows


class Controller:
    """Collects rows, keeps the journal, makes the cards."""

    def __init__(self, arena: Arena, workers: int) -> None:
        self.arena = arena
        self.baseline: Baseline | None = None
        self.outcomes: list[Outcome] = []
        self.journal: Journal | None = None
        self.journal_path: Path | None = None
        self.trouble: list[str] = []
        self.broken: list[str] = []
        """Runs of which no card could be made, with the traceback of what is our own fault."""
        self.interrupted = False
        self._selected: set[Slot] = set()
        self.all_selected: set[Slot] | None = None
        """What is selected before sharding; None without shards."""
        self.peaks: dict[str, int] = {}
        self._workers = workers
        self._rows = RowStore()
        self._journal_runs: set[str] = set()
        """The runs of the journal that is gone on with; empty without one."""
        self._started = datetime.now(UTC)
        self._last_row = time.monotonic()
        self._begun: dict[str, float] = {}
        """When this session began to work on each run."""
        self._before: dict[str, float] = {}
        """Seconds that earlier sessions worked on each run, by the journal."""
        self._elapsed: dict[str, float] = {}
        """Seconds that all sessions have worked on each run."""
        self._not_kept: list[str] = []
        """Why answers could not be written to the cache, one an entry."""
        self._git: dict[Path, dict[str, Any] | None] = {}

    @property
    def selected(self) -> set[Slot]:
        """What is selected; setting it marks the beginning of the items."""
        return self._selected

    @selected.setter
    def selected(self, slots: set[Slot]) -> None:
        self._selected = slots
        self._last_row = time.monotonic()
        manager = self.arena.config.pluginmanager
        if len(slots) >= MANY and not manager.has_plugin("mtarena-sharing"):
            manager.register(Sharing(), "mtarena-sharing")

    # -- rows -------------------------------------------------------------------------------

    def restore(self, rows: Iterable[tuple[Slot, str, int]]) -> None:
        """Take rows of an earlier journal, and go on with that journal even if no row is new."""
        for slot, line, offset in rows:
            self._rows.put(slot, line, offset)
            self._elapsed[slot.run] = max(self._elapsed.get(slot.run, 0.0), _worked(line))
        self._before = dict(self._elapsed)
        resume = self.arena.settings.resume
        if resume is not None and self.journal is None:
            self._journal_runs = set(read_header(resume)["setups"])
            self._open_journal()

    def record(self, slot: Slot, payload: str) -> None:
        """Write a row down and keep it; a later row of the same slot replaces it."""
        now = time.monotonic()
        run = slot.run
        worked = self._before.get(run, 0.0) + now - self._begun.setdefault(run, self._last_row)
        self._elapsed[run], self._last_row = worked, now
        line = f'{{"{_WORKED}":{worked:.3f},{payload[1:]}'
        if self.journal is None:
            self._open_journal()
        offset = None
        if self.journal is not None:
            offset = self.journal.append(line)
            if self.journal.fault is not None and not self.trouble:
                self.trouble.append(
                    f"the journal {self.journal.path} cannot be written "
                    f"({self.journal.fault.strerror}): an interrupted run will not be resumable"
                )
        self._rows.put(slot, line, offset)

    def _open_journal(self) -> None:
        resume = self.arena.settings.resume
        try:
            if resume is not None:
                self.journal = Journal.reopen(resume)
            elif self.journal_path is None:
                stamp = self._started.strftime("%Y%m%dT%H%M%S.%f")
                path = self.arena.settings.output_dir / f"{stamp}.journal.jsonl"
                self.journal_path = path
                header = {
                    "started": self._started.isoformat(),
                    "setups": setups(self.arena),
                    "cards": self._skeletons(),
                }
                self.journal = Journal.create(path, header)
            if self.journal is not None:
                self.journal_path = self.journal.path
        except OSError as error:
            self.trouble.append(
                f"no journal can be kept in {self.arena.settings.output_dir} "
                f"({error.strerror}): an interrupted run will not be resumable"
            )

    def _skeletons(self) -> dict[str, dict[str, Any]]:
        """Return the card of every run without rows and scores.

        With it the rows of a journal can be scored where neither suite nor method is.
        """
        selected: dict[str, list[Slot]] = {}
        for slot in sorted(self.selected):
            selected.setdefault(slot.run, []).append(slot)
        cards = {}
        for key, slots in selected.items():
            run = self.arena.runs[key]
            try:
                facts = self._facts(run, slots, False, ())
                nothing = Report(scores={})
                cards[key] = assemble(facts, (), nothing, provenance=self._provenance(run))
            except Exception:  # rows are worth more: the end of the session tells what is wrong
                continue
        return cards

    # -- cards ------------------------------------------------------------------------------

    def finish(self) -> None:
        """Make a card of every run that has selected cases."""
        collecting = gc.isenabled()
        gc.disable()  # rows by the thousand and no garbage among them
        try:
            self._finish()
        finally:
            if collecting:
                gc.enable()

    def _finish(self) -> None:
        for run in self._runs():
            try:
                self.outcomes.append(self._conclude(run))
            except Exception:  # a fault of one referee must cost neither rows nor other cards
                self.broken.append(f"{run.title}: no card\n{traceback.format_exc()}")
        if self._not_kept:
            count, reasons = len(self._not_kept), ", ".join(dict.fromkeys(self._not_kept))
            self.trouble.append(
                f"{count} {'answer' if count == 1 else 'answers'} could not be written to the "
                f"cache ({reasons}; --mt-cache-dir): the next run asks, and pays, for them again"
            )
        if self.journal is not None:
            self.journal.close()
            if (
                self.outcomes
                and not self.broken
                and not self._journal_holds_more()
                and all(outcome.is_final for outcome in self.outcomes)
            ):
                self.journal.path.unlink(missing_ok=True)
                self.journal_path = None

    def _journal_holds_more(self) -> bool:
        """Say whether the journal has rows, or runs, that no card of this session holds."""
        return len(self._rows) > 0 or not self._journal_runs <= set(self.arena.runs)

    def _runs(self) -> Iterator[Run]:
        wanted = {slot.run for slot in self.selected}
        yield from (run for key, run in self.arena.runs.items() if key in wanted)

    def _conclude(self, run: Run) -> Outcome:
        selected = sorted(slot for slot in self.selected if slot.run == run.key)
        rows: list[dict[str, Any]] = []
        statistics = StatisticsRows()
        trouble: list[str] = []
        texts: list[str] = []
        # In a large session memory is dearer than time: rows stay on disk, and only what scores
        # are made of is held here.
        large = len(selected) >= MANY
        stored = self._rows.stored(selected, self.journal) if large else None
        unscored = frozenset(getattr(run.referee, "unscored", ()))
        for payload, text in self._rows.take(selected, self.journal):
            row = payload["row"]
            if why := (row.get("metadata") or {}).get(CACHE_ERROR):
                self._not_kept.append(str(why))
            if large:
                rows.append(_share(_slender(row, unscored), run))
            else:
                rows.append(row)
                texts.append(text)
            statistics.append(payload["statistics"])
            trouble += payload.get("faults", ())
        complete = len(rows) == len(selected)
        report = run.referee.score(rows, statistics)
        served = Counter(
            model for row in rows if (model := (row.get("metadata") or {}).get("served_model"))
        )
        if len(served) > 1:
            trouble.append(f"several models answered: {', '.join(sorted(served))}")
        model = max(served, key=served.__getitem__, default=None)
        notes = [*trouble, *_of_the_model(run, model)]
        facts = self._facts(run, selected, complete, notes, model)
        # Rows come in the order of their places, which is that of the card.
        provenance = self._provenance(run)
        card = assemble(
            facts, rows, report, provenance=provenance, rows_are_plain=True, stored=stored
        )
        retry = any(row["status"] in RETRIED for row in rows)
        outcome = Outcome(run, card, alarms=report.alarms, has_failed_rows=retry)
        try:
            self.arena.registry.extend_card(card)
        except ArenaError as error:
            outcome.missed.append(str(error))
        outcome.missed.extend(trouble)
        outcome.missed.extend(missed_gates(card, self.arena.settings.fail_under))
        outcome.missed.extend(_unknown_metrics(set(report.directions), rows))
        ready: Sequence[str] = texts if stored is None else stored.texts
        del rows
        outcome.card = seal(card, rows_are_plain=True, rows=ready)
        stem = f"{self._started:%Y%m%dT%H%M}-{run.suite.id}-{run.contestant.identity.label}"
        try:
            outcome.path = write_card(outcome.card, self.arena.settings.output_dir, stem, ready)
        except ArenaError as error:
            outcome.missed.append(f"the card could not be written: {error}")
        if self.baseline is not None and self.baseline.is_of(run):
            outcome.verdict = self.baseline.judge(outcome.card, self.arena.registry)
            outcome.missed.extend(outcome.verdict.missed)
            if outcome.verdict.problem is not None:
                outcome.missed.append(f"baseline: {outcome.verdict.problem}")
        return outcome

    def _provenance(self, run: Run) -> dict[str, Any]:
        """Return the git state of method and suite, looked up once."""
        paths = {"method": run.method_dir, "suite": run.suite.path}
        for path in paths.values():
            if path is not None and path not in self._git:
                self._git[path] = git_provenance(path)
        return {name: None if path is None else self._git[path] for name, path in paths.items()}

    def _facts(
        self,
        run: Run,
        selected: Sequence[Slot],
        complete: bool,
        notes: Sequence[str],
        served: str | None = None,
    ) -> RunFacts:
        settings = self.arena.settings
        every = self.all_selected
        told = {} if run.model is None else run.model.run_facts(run.config)
        return RunFacts(
            identity=run.contestant.identity,
            kind=run.suite.kind,
            suite=run.suite,
            group=run.group,
            run_config=run.config,
            settings=settings.suite,
            scoring=settings.scoring,
            hooks=settings.hooks,
            selected_ids=tuple(run.cases[slot.position].id for slot in selected),
            all_selected_ids=None
            if every is None
            else tuple(run.cases[s.position].id for s in sorted(every) if s.run == run.key),
            started=self._started,
            elapsed_seconds=round(self._elapsed.get(run.key, 0.0), 3),
            complete=complete,
            interrupted=self.interrupted,
            shard=settings.shard,
            run_name=settings.run_name,
            method_dir=_relative(run.method_dir, self.arena.config.rootpath),
            peak_in_flight=self.peaks.get(run.contestant.identity.label),
            worker_count=self._workers,
            notes=tuple(notes),
            model_id=served,
            champollion=run.settings.champollion,
            **told,
        )


def _of_the_model(run: Run, served: str | None) -> list[str]:
    """Tell what is to be known of a language model's name, and when another one answered.

    A name with a date, a version or a file's ending is the same model, named more exactly.
    """
    model = run.model
    if model is None:
        return []
    notes: list[str] = model.notes(run.config)
    asked = run.contestant.identity.name.rpartition("/")[2].casefold()
    answered = (served or "").rpartition("/")[2].casefold()
    if answered and not answered.startswith(asked) and not asked.startswith(answered):
        notes.append(f"{served} answered, and {run.contestant.identity.name} was asked for")
    return notes


def _worked(line: str) -> float:
    """Return the seconds at the head of a journal line."""
    head = f'{{"{_WORKED}":'
    return float(line[len(head) : line.index(",")]) if line.startswith(head) else 0.0


def _relative(path: Path | None, root: Path) -> Path | None:
    """Return a path relative to the root directory when it lies in there."""
    return path.relative_to(root) if path is not None and path.is_relative_to(root) else path


_INDEXED = frozenset(
    {"status", "index", "entry_id", "predicted", "request", "request_seconds", "latency_seconds"}
)
"""Fields of a row that are there even when they are null."""


def _slender(row: dict[str, Any], unscored: Collection[str]) -> dict[str, Any]:
    """Return what scores, times and costs are made of: half of a row."""
    if not unscored:
        return row
    return {
        key: value
        for key, value in row.items()
        if key not in unscored and (key in _INDEXED or (value is not None and value != {}))
    }


def _share(row: dict[str, Any], run: Run) -> dict[str, Any]:
    """Let a row hold the texts of its case, and not equal ones."""
    case = run.cases[row["index"]]
    for key, value in (("entry_id", case.id), *case.public.items()):
        if row.get(key) == value:
            row[key] = value
    return row


def setups(arena: Arena) -> dict[str, dict[str, Any]]:
    """Return what a journal must agree on to be resumed, in words, for every run."""
    settings = arena.settings
    return {
        key: {
            "method": run.contestant.identity.slug,
            "suite content": run.suite.content_sha256,
            "batch size": run.settings.batch_size,
            "method options": dict(run.contestant.identity.facts),
            "hooks": list(settings.hooks),
            "temperature": run.settings.temperature,
            "max tokens": settings.max_tokens,
            "normalization": settings.scoring.normalization,
            "metrics": sorted(run.directions),
            "BLEU tokenizer": settings.scoring.bleu_tokenize,
            "TER asian": settings.scoring.ter_asian,
            "resources": dict(settings.scoring.resource_facts),
        }
        for key, run in arena.runs.items()
    }


def _unknown_metrics(known: set[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A worker may know a metric of a conftest that the controller never loads: say so."""
    seen = {name for row in rows for name in row.get("plugin_metrics") or ()}
    return [
        f"the metric {name!r} is known to the workers only: define it in the root conftest.py, "
        "an installed plug-in or a -p module"
        for name in sorted(seen - known)
    ]
