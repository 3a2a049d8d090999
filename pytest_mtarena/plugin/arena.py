"""The arena of a session: its settings, contestants, suites and runs.

Made once in every process (the controller of a distributed session and each worker), from the
options alone, so that all of them name the same runs.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtarena.errors import CardError, SuiteError, UsageError
from pytest_mtarena.languages.table import find_language
from pytest_mtarena.plugin.names import node_name
from pytest_mtarena.plugin.options import DEFAULT_SUITES
from pytest_mtarena.plugin.settings import Settings
from pytest_mtarena.protocols import Contestant, ContestantFactory, Kind, Referee
from pytest_mtarena.records import Case, Language, RunConfig, Suite
from pytest_mtarena.registry import Registry
from pytest_mtarena.run.batches import Slot, cut_batches

if TYPE_CHECKING:  # loaded when they are needed
    from pytest_mtarena.llm.ledger import Ledger
    from pytest_mtarena.plugin.importing import Importing
    from pytest_mtarena.plugin.models import Purse


@dataclass(frozen=True)
class Cast:
    """Who is evaluated on a pair of languages, and by which settings."""

    settings: Settings
    contestants: Sequence[tuple[Contestant, Path | None]]


@dataclass
class Run:
    """One contestant on one group of one suite: what becomes one run card."""

    key: str
    """The group's node id and, among several contestants, the contestant: the same everywhere."""
    contestant: Contestant
    method_dir: Path | None
    kind: Kind
    suite: Suite
    group: str
    settings: Settings
    share: int
    """Calls in flight at once in this process."""
    cases: dict[int, Case] = field(default_factory=dict)

    @cached_property
    def referee(self) -> Referee:
        """The referee of this run."""
        return self.new_referee()

    def new_referee(self) -> Referee:
        """Return a referee of this run, with the metrics that are known by now."""
        referee = self.kind.referee
        own = getattr(self.contestant, "metrics", None)
        if own:
            return referee(self.suite, self.group, self.settings.scoring, own)
        return referee(self.suite, self.group, self.settings.scoring)

    @cached_property
    def config(self) -> RunConfig:
        """What the contestant is told."""
        source, target = self.languages
        return RunConfig(
            source_lang=_name(source),
            target_lang=_name(target),
            source_code=source.code,
            target_code=target.code,
            batch_size=self.settings.batch_size,
            concurrency=self.settings.concurrency,
            timeout_seconds=self.settings.timeout_seconds,
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
            fst_retries=self.settings.model.fst_retries,
            entry_count=self.suite.entry_count,
            options=self.settings.method_args,
        )

    @property
    def model(self) -> Any:
        """The language model behind the contestant, None when there is none."""
        inner: Any = self.contestant
        while inner is not None and not hasattr(inner, "run_facts"):
            inner = getattr(inner, "contestant", None)
        return inner

    def check(self) -> None:
        """Let the contestant, or one that it wraps, say that it cannot do this run."""
        inner: Any = self.contestant
        while inner is not None:
            if hasattr(inner, "check"):
                inner.check(self.config)
            inner = getattr(inner, "contestant", None)

    @cached_property
    def directions(self) -> Mapping[str, str]:
        """Every score that a gate may name, and which way is better."""
        return self.referee.score([]).directions

    @property
    def languages(self) -> tuple[Language, Language]:
        """Source and target language."""
        return self.suite.languages.get(self.group, (Language(), Language()))

    @property
    def title(self) -> str:
        """``bergamot × demo-eng-por``."""
        several = len({case.group for case in self.suite.cases}) > 1
        suite = f"{self.suite.id} {self.group}" if several else self.suite.id
        return f"{self.contestant.identity.label} × {suite}"


def _name(language: Language) -> str:
    """Return the name of a language as the suite has it, else as the CLDR has it, else its code."""
    return language.name or find_language(language.code).name or language.code


class Arena:
    """All that a session is about, independent of which process asks."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        registry: Registry,
        share: int,
        workers: int = 1,
        ledger: Ledger | None = None,
    ) -> None:
        self.config = config
        self.settings = settings
        self.registry = registry
        self.share = share
        self.runs: dict[str, Run] = {}
        self.notes: list[str] = []
        self._for_fixtures: list[Path] | None = None
        self._suites: dict[str, tuple[Kind, Suite] | None] = {}
        self._runs_of: dict[str, list[Run]] = {}
        self.contestants: list[tuple[Contestant, Path | None]] = []
        """All contestants that are known by now; without an ``Importing`` all there are."""
        self._workers = workers
        self._ledger = ledger
        self._casts: list[Cast] = []
        self._cast_of: dict[tuple[Language, Language], Cast] = {}
        self._purse: Purse | None = None
        self._importing = _importing(settings, registry)
        if self._importing is None:
            self._cast(settings)
        # A misspelt name of a hook or a metric is told before anything is read or sent.
        registry.post_translation(settings.hooks)
        registry.metrics()
        self.kinds = registry.kinds()

    @property
    def several(self) -> bool:
        """Whether items carry their contestant in brackets."""
        return max((len(cast.contestants) for cast in self._casts), default=0) > 1

    def prepare(self) -> None:
        """Find the casts of the suites that are named, to tell early of what is wrong."""
        if self._importing is not None:
            self.notes += self._importing.notes
            for suite in self.preview():
                for group in suite.languages:
                    self.cast(suite, group)

    def cast(self, suite: Suite, group: str) -> Cast:
        """Return who is evaluated on a group of a suite, and how; raises UsageError."""
        if self._importing is None:
            return self._casts[0]
        pair = suite.languages.get(group, (Language(), Language()))
        if pair not in self._cast_of:
            self._cast_of[pair] = self._cast(self._importing.settings_for(*pair))
        return self._cast_of[pair]

    def _cast(self, settings: Settings) -> Cast:
        """Load the contestants of some settings, once."""
        for cast in self._casts:
            if cast.settings == settings:
                return cast
        if settings.model.models and self._purse is None:
            from pytest_mtarena.plugin.models import Purse

            self._purse = Purse(settings.model.max_cost, self._workers, self.share, self._ledger)
        cast = Cast(settings, load_contestants(settings, self.registry, self._purse))
        self._casts.append(cast)
        self.contestants += cast.contestants
        return cast

    def batches(self, slots: Iterable[Slot]) -> list[tuple[Slot, ...]]:
        """Cut slots into batches, those of each run in its own size."""
        by_size: dict[int, list[Slot]] = {}
        for slot in slots:
            run = self.runs.get(slot.run)
            size = (self.settings if run is None else run.settings).batch_size
            by_size.setdefault(size, []).append(slot)
        return sorted(batch for size, own in by_size.items() for batch in cut_batches(own, size))

    def recognises(self, path: Path) -> bool:
        """Say by its name whether a file may be a suite."""
        if path == self.settings.source_file:
            return True
        return any(kind.recognises(path) for kind in self.kinds.values())

    def open(self, path: Path) -> Suite | None:
        """Read a suite once; None when the file is no suite of any kind."""
        found = self._open(path)
        return None if found is None else found[1]

    def _open(self, path: Path) -> tuple[Kind, Suite] | None:
        key = os.path.abspath(path)
        if key not in self._suites:
            self._suites[key] = self._read(path)
        return self._suites[key]

    def _read(self, path: Path) -> tuple[Kind, Suite] | None:
        how = self.settings.suite
        parallel = path == self.settings.source_file
        if parallel:
            how = how.model_copy(update={"reference_path": self.settings.reference_file})
        for kind in self.kinds.values():
            if not parallel and not kind.recognises(path):
                continue
            suite = kind.open(path, how)
            if suite is not None:
                return kind, suite
        return None

    def runs_of(self, path: Path, file_nodeid: str) -> list[Run]:
        """Return the runs of a suite: groups in the order of the file, contestants as given."""
        if file_nodeid not in self._runs_of:
            self._runs_of[file_nodeid] = self._make_runs(path, file_nodeid)
        return self._runs_of[file_nodeid]

    def _make_runs(self, path: Path, file_nodeid: str) -> list[Run]:
        found = self._open(path)
        if found is None:
            return []
        kind, suite = found
        groups: dict[str, dict[int, Case]] = {}
        for case in suite.cases:
            groups.setdefault(case.group, {})[case.index] = case
        runs = []
        for group, cases in groups.items():
            cast = self.cast(suite, group)
            for contestant, method_dir in cast.contestants:
                label = f"[{contestant.identity.label}]" if self.several else ""
                key = f"{file_nodeid}::{node_name(group)}{label}"
                run = Run(
                    key,
                    contestant,
                    method_dir,
                    kind,
                    suite,
                    group,
                    cast.settings,
                    self.share,
                    cases,
                )
                if key in self.runs:
                    raise SuiteError(path, f"two groups are both called {node_name(group)!r}")
                self.runs[key] = run
                runs.append(run)
        return runs

    def slots_of(self, file_nodeid: str) -> dict[str, Slot]:
        """Return the slot of every node id of a file: the controller has only node ids."""
        path = file_path(file_nodeid, self.config.rootpath)
        return {
            item_nodeid(file_nodeid, run, case, self.several): Slot(run.key, case.index)
            for run in self.runs_of(path, file_nodeid)
            for case in run.cases.values()
        }

    def suite_paths(self) -> Iterator[Path]:
        """Yield the suite files that the session's arguments name, in collection order."""
        yield from self._suite_files(self.config.args)

    def fixture_paths(self) -> list[Path]:
        """Return the suite files that test functions run over: those named, else the default."""
        if self._for_fixtures is None:
            named = list(self.suite_paths())
            self._for_fixtures = named or list(self._suite_files(default_args(self.config)))
        return self._for_fixtures

    def _suite_files(self, args: Iterable[object]) -> Iterator[Path]:
        skipped = self.config.getini("norecursedirs")
        base = self.config.invocation_params.dir
        for arg in args:
            path = Path(os.path.abspath(Path(base, str(arg).partition("::")[0])))
            if path.is_file():
                if self.recognises(path):
                    yield path
                continue
            for folder, inner, files in os.walk(path):
                inner[:] = sorted(
                    name for name in inner if not any(fnmatch.fnmatch(name, p) for p in skipped)
                )
                for name in sorted(files):
                    if self.recognises(Path(folder, name)):
                        yield Path(folder, name)

    def preview(self) -> list[Suite]:
        """Open the suites that are named, leaving broken ones to collection, which tells."""
        suites = []
        for path in self.suite_paths():
            try:
                suite = self.open(path)
            except SuiteError:
                continue
            if suite is not None:
                suites.append(suite)
        return suites


def file_nodeid(path: Path, root: Path) -> str:
    """Return the node id of a suite file: its path from the root directory, ``..`` included.

    pytest's own is empty for every file outside the root directory, so that two of them could
    not be told apart.
    """
    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:  # another drive of Windows
        return path.as_posix()


def file_path(file_nodeid: str, root: Path) -> Path:
    """Return the path of a suite file by its node id."""
    return Path(os.path.abspath(Path(root, file_nodeid)))


def item_nodeid(file_nodeid: str, run: Run, case: Case, several: bool) -> str:
    """Return the node id of an item, as its collectors would build it."""
    return f"{file_nodeid}::{node_name(run.group)}::{item_name(run, case, several)}"


def item_name(run: Run, case: Case, several: bool) -> str:
    """Return the name of an item: the case's id and, among several, the contestant."""
    label = f"[{run.contestant.identity.label}]" if several else ""
    return node_name(case.id) + label


def _importing(settings: Settings, registry: Registry) -> Importing | None:
    from pytest_mtarena.plugin.importing import Importing

    if not Importing.is_needed(settings):
        return None
    return Importing(settings, registry.methods())


def load_contestants(
    settings: Settings, registry: Registry, purse: Purse | None = None
) -> list[tuple[Contestant, Path | None]]:
    """Load every contestant that was asked for, with its directory if it has one."""
    from pytest_mtarena.contestants.hooks import HookedContestant
    from pytest_mtarena.contestants.loading import load_method, wrap_method

    named = registry.methods()
    hooks = registry.post_translation(settings.hooks)
    loaded: list[tuple[Contestant, Path | None]] = []
    for value in settings.methods:
        directory = Path(value)
        if value in named and directory.is_dir():
            raise UsageError(
                f"--mt-method={value}: both a plug-in's method and a directory; "
                f"write ./{value} for the directory"
            )
        contestant: Contestant
        if value in named:
            factory: ContestantFactory | type = named[value]
            contestant = wrap_method(value, factory, settings.method_args)
        elif directory.is_dir():
            contestant = load_method(directory, settings.method_args)
        else:
            have = ", ".join(sorted(named)) or "none is contributed"
            raise UsageError(
                f"--mt-method={value}: no such directory, and no method of that name ({have})"
            )
        if hooks:
            contestant = HookedContestant(contestant, hooks)
        loaded.append((contestant, directory.resolve() if value not in named else None))
    if settings.model.models and purse is not None:
        from pytest_mtarena.plugin.models import load_models

        models = load_models(settings, purse, registry)
        loaded += [(HookedContestant(one, hooks) if hooks else one, None) for one in models]
    if settings.method_card is not None:
        _replace_card(loaded, settings.method_card)
    _label(loaded)
    return loaded


def _replace_card(loaded: list[tuple[Contestant, Path | None]], path: Path) -> None:
    from pytest_mtarena.card.store import read_json

    if len(loaded) > 1:
        raise UsageError("--mt-method-card describes one method, and several are given")
    try:
        card = read_json(path)
    except CardError as error:
        raise UsageError(f"--mt-method-card: {error}") from error
    if not isinstance(card, dict):
        raise UsageError(f"--mt-method-card {path}: a method card is a JSON object")
    contestant = loaded[0][0]
    contestant.identity = contestant.identity.model_copy(update={"card": card})


def _label(loaded: list[tuple[Contestant, Path | None]]) -> None:
    """Give each contestant a label that no other has: its method id, with its hash if need be."""
    names = [node_name(c.identity.label or c.identity.name) for c, _ in loaded]
    taken: set[str] = set()
    for name, (contestant, _) in zip(names, loaded, strict=True):
        identity = contestant.identity
        label = f"{name}@{identity.content_sha256[:8]}" if names.count(name) > 1 else name
        if label in taken:
            raise UsageError(f"{identity.slug} is given twice")
        taken.add(label)
        contestant.identity = identity.model_copy(update={"label": label})


def default_args(config: pytest.Config) -> list[str]:
    """Return the paths to run when a contestant is given and no path is."""
    given = config.getini("mt_suites")
    paths = [str(path) for path in given] if given else [str(config.rootpath / DEFAULT_SUITES)]
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise UsageError(
            f"no path is given, and the default suite {missing[0]} does not exist: "
            "name a suite, or set mt_suites in the ini file"
        )
    return paths
