"""What people see: the header, the words of ``-v``, the end of the session, the exit code."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.errors import (
    ArenaError,
    ArenaWarning,
    CopyWarning,
    LeakWarning,
    LengthWarning,
    RepetitionWarning,
    SuiteError,
    UsageError,
)
from pytest_mtarena.plugin.arena import Arena, file_nodeid
from pytest_mtarena.plugin.controller import Controller, Outcome
from pytest_mtarena.plugin.ship import WORDS
from pytest_mtarena.records import Suite
from pytest_mtarena.run.batches import Slot, cut_batches
from pytest_mtarena.suites.corpus import missing_ids, why_empty
from pytest_mtarena.text import printable


class Wording:
    """Shows the score behind a passed item; registered under ``-v`` only."""

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Say ``PASSED chrF++ 71.3``."""
        words = getattr(report, WORDS, None)
        if words is None or report.when != "call" or not report.passed:
            return None
        return "passed", ".", f"PASSED {printable(words)}"


class Reporting:
    """The hooks of the process that reports: the only one, or xdist's controller."""

    def __init__(self, arena: Arena, controller: Controller, workers: int, dist: str) -> None:
        self._arena = arena
        self._controller = controller
        self._workers = workers
        self._dist = dist

    # -- the start --------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Check what can be checked before anything is sent."""
        try:
            suites = self._arena.preview()
        except UsageError as error:  # a filter that fits no suite
            raise pytest.UsageError(str(error)) from error
        ids = self._arena.settings.suite.ids
        if suites and ids and (unknown := missing_ids(suites, ids)):
            raise pytest.UsageError(
                f"--mt-ids: no entry has the id {', '.join(map(repr, unknown[:8]))}"
            )
        self._check_scoring(session)
        self._check_baseline(session)
        if getattr(session.config.option, "reruns", None):
            for contestant, _ in self._arena.contestants:
                if own := getattr(contestant, "metrics", None):
                    raise pytest.UsageError(
                        f"--reruns would ask {contestant.identity.label} again after its own "
                        f"metrics ({', '.join(own)}) have seen the references: leave one out"
                    )

    def _check_baseline(self, session: pytest.Session) -> None:
        """Read the baseline and see that it is of something that will be run."""
        settings = self._arena.settings
        if settings.baseline is None:
            return
        from pytest_mtarena.plugin.regression import Baseline

        root = session.config.rootpath
        runs = []
        for path in self._arena.suite_paths():
            with contextlib.suppress(SuiteError):  # collection tells
                runs += self._arena.runs_of(path, file_nodeid(path, root))
        try:
            baseline = Baseline.read(settings)
            assert baseline is not None
            baseline.check(runs)
            concerned = next(run for run in runs if baseline.is_of(run))
            baseline.check_metrics(concerned.new_referee().score([]).directions)
        except ArenaError as error:
            raise pytest.UsageError(str(error)) from error
        self._controller.baseline = baseline

    def _check_scoring(self, session: pytest.Session) -> None:
        """Make a referee of every run and see that the gates name scores it gives."""
        settings = self._arena.settings
        limits = [("--mt-fail-under", name) for name, _ in settings.fail_under]
        limits += [("--mt-item-min", name) for name, _ in settings.item_min]
        for path in self._arena.suite_paths():
            try:
                runs = self._arena.runs_of(path, file_nodeid(path, session.config.rootpath))
            except SuiteError:
                continue  # collection tells
            for run in runs:
                try:
                    run.check()
                    # Not the run's own: a conftest that is found later may add metrics to that.
                    referee = run.new_referee()
                    if settings.scoring.resource_facts and (
                        prepare := getattr(referee, "prepare", None)
                    ):
                        prepare()
                except ArenaError as error:
                    raise pytest.UsageError(str(error)) from error
                known = referee.score([]).directions if limits else {}
                for flag, name in limits:
                    if name not in known:
                        have = ", ".join(sorted(known))
                        raise pytest.UsageError(
                            f"{flag} {name}: there is no such score (there are: {have})"
                        )
                    if known[name] == "target":
                        raise pytest.UsageError(
                            f"{flag} {name}: it is best at a target, so no limit on one side "
                            "can say how good it is"
                        )

    def pytest_report_header(self) -> list[str]:
        """Say who is evaluated on what, and how."""
        lines = []
        for suite in self._arena.preview():
            count = 0
            sizes: set[int] = set()
            who: list[str] = []
            groups: dict[str, list[Slot]] = {}
            for case in suite.cases:
                groups.setdefault(case.group, []).append(Slot(case.group, case.index))
            for group, slots in groups.items():
                cast = self._arena.cast(suite, group)
                count += len(cut_batches(slots, cast.settings.batch_size))
                sizes.add(cast.settings.batch_size)
                who += [c.identity.slug.rpartition("/")[2] for c, _ in cast.contestants]
            if not groups:
                sizes.add(self._arena.settings.batch_size)
                who = [c.identity.slug.rpartition("/")[2] for c, _ in self._arena.contestants]
            lines.append(
                f"{' and '.join(dict.fromkeys(who))} × {suite.id} ({_about(suite)}) · {count} "
                f"{'batch' if count == 1 else 'batches'} of "
                f"{' or '.join(map(str, sorted(sizes)))}, {self._at_once()}"
            )
            if not suite.rankable:
                lines.append("demo suite: written for trying things, never for ranking")
            lines += [f"note: {note}" for note in suite.notes]
        if self._workers > 1 and self._dist not in ("load", "no"):
            lines.append(
                f"--dist {self._dist} does not deal whole batches: calls may be made twice or "
                "wait for each other; --dist load does"
            )
        label = "mtarena: "
        return [
            (label if number == 0 else " " * len(label)) + printable(line)
            for number, line in enumerate(lines)
        ]

    def _at_once(self) -> str:
        if self._workers > 1:
            return f"{self._arena.share} at once in each of {self._workers} workers"
        return f"{self._arena.share} at once"

    # -- the end --------------------------------------------------------------------------

    def pytest_keyboard_interrupt(self) -> None:
        """Remember it for the card."""
        self._controller.interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make the cards; a missed gate, or a case without a row, makes the session red."""
        if session.config.option.collectonly or self._arena.settings.dry_run:
            return
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return  # nothing was run: a card without a row would only be in the way
        self._controller.finish()
        for outcome in self._controller.outcomes:
            _warn(outcome)
        if self._controller.broken:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif session.exitstatus == pytest.ExitCode.OK and any(
            outcome.missed or not outcome.card["complete"] for outcome in self._controller.outcomes
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Show the table of each card, and where it is."""
        write = terminalreporter.write_line
        width = terminalreporter._tw.fullwidth
        verbosity = config.get_verbosity()
        for outcome in self._controller.outcomes:
            terminalreporter.write_sep("-", printable(outcome.run.title))
            for line in self._lines(outcome, verbosity, width):
                write(line)
        for line in "\n".join(self._controller.broken).splitlines():
            write(printable(line))
        for line in [*self._arena.notes, *self._controller.trouble]:
            write(printable(f"mtarena: {line}"))
        if not self._controller.outcomes and not config.option.collectonly:
            self._explain_nothing(write)
        path = self._controller.journal_path
        if (
            path is not None
            and self._controller.journal is not None
            and (self._controller.outcomes or self._controller.broken)
        ):
            whole = all(outcome.card["complete"] for outcome in self._controller.outcomes)
            what = "what failed can be tried again" if whole else "not everything is done; go on"
            write(f"mtarena: {what} with --mt-resume {_short(path)}")

    def _lines(self, outcome: Outcome, verbosity: int, width: int) -> list[str]:
        card = outcome.card
        lines = list(outcome.run.referee.summary(card, verbosity=verbosity, width=width))
        lines.append(_costs(card, outcome.path))
        if outcome.verdict is not None:
            from pytest_mtarena.plugin.regression import told

            lines += told(outcome.verdict, width)
        lines += [printable(f"FAILED {line}") for line in outcome.missed]
        return lines

    def _explain_nothing(self, write: Callable[[str], None]) -> None:
        if self._arena.settings.dry_run or self._controller.selected:
            return
        shard, every = self._arena.settings.shard, self._controller.all_selected
        if shard is not None and every:
            count = len(self._arena.batches(every))
            batches = f"{count} {'batch' if count == 1 else 'batches'}"
            write(f"mtarena: nothing selected: shard {shard[0]}/{shard[1]} of {batches} is empty")
            return
        for path in self._arena.suite_paths():
            try:
                suite = self._arena.open(path)
            except ArenaError:
                continue
            if suite is not None and not suite.cases:
                why = why_empty(self._arena.settings.suite, path)
                write(printable(f"mtarena: nothing selected in {suite.id}: {why}"))


_WARNINGS = {
    "copies": CopyWarning,
    "repetition": RepetitionWarning,
    "length": LengthWarning,
    "leak": LeakWarning,
}


def _warn(outcome: Outcome) -> None:
    """Warn of what is wrong with the outputs; a warning that is made an error misses a gate."""
    for line, kind in outcome.alarms.items():
        try:
            warnings.warn(f"{outcome.run.title}: {line}", _WARNINGS[kind], stacklevel=1)
        except ArenaWarning as error:
            outcome.missed.append(f"{type(error).__name__}: {line}")


def _about(suite: Suite) -> str:
    pairs = [f"{source.code}→{target.code}" for source, target in suite.languages.values()]
    pairs = [pair for pair in pairs if pair != "→"]
    shown = ", ".join(pairs) if len(pairs) <= 3 else f"{len(pairs)} language pairs"
    count = f"{len(suite.cases)} entries"
    if len(suite.cases) != suite.entry_count:
        count = f"{len(suite.cases)} of {suite.entry_count} entries"
    return f"{shown}, {count}" if shown else count


def _costs(card: dict[str, Any], path: Path | None) -> str:
    seconds = card["elapsed_seconds"]
    rows = len(card["results"])
    rate = f" ({rows / seconds:.0f} entries/s)" if seconds > 0 else ""
    money = _money(card["totals"])
    where = f"card {_short(path)}" if path is not None else "no card"
    return f"{seconds:.1f} s{rate} · {money} · {where}"


def _money(totals: dict[str, Any]) -> str:
    before = totals["cached_cost_usd"]
    if totals["total_cost_usd"] is not None:
        return f"${totals['total_cost_usd']:g}" + (f" now, ${before:g} before" if before else "")
    if totals["known_cost_usd"] is None:
        return "cost unknown"
    unknown = totals["entries_of_unknown_cost"]
    what = "entry" if unknown == 1 else "entries"
    return f"${totals['known_cost_usd']:g} and {unknown} {what} of unknown cost"


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
