"""Activation: everything the plugin does beyond its options, once a contestant is named."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.errors import ArenaError, ResumeError, UsageError
from pytest_mtarena.plugin.arena import Arena, default_args
from pytest_mtarena.plugin.bridge import Bridge
from pytest_mtarena.plugin.collect import Collecting
from pytest_mtarena.plugin.controller import RETRIED, Controller, setups
from pytest_mtarena.plugin.distributed import LEDGER, PID, SPOOL, Distributed
from pytest_mtarena.plugin.dryrun import DryRun
from pytest_mtarena.plugin.fixtures import Parametrizing
from pytest_mtarena.plugin.keys import arena_key, controller_key
from pytest_mtarena.plugin.performing import Performing
from pytest_mtarena.plugin.reporting import Reporting, Wording
from pytest_mtarena.plugin.settings import read_settings
from pytest_mtarena.plugin.ship import Shipping
from pytest_mtarena.plugin.signals import Signals
from pytest_mtarena.registry import make_registry
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.journal import read_header, read_rows


def activate(config: pytest.Config) -> None:
    """Register the plugin's parts for the role of this process.

    Raises pytest.UsageError with one line for anything the user can mend.
    """
    try:
        _activate(config)
    except ArenaError as error:
        raise pytest.UsageError(str(error)) from error


def _activate(config: pytest.Config) -> None:
    settings = read_settings(config.option, config.invocation_params.dir)
    workerinput: dict[str, Any] | None = getattr(config, "workerinput", None)
    # xdist hands its workers the command line as it was given, not what became of it.
    _set_paths(config)
    if workerinput is None:
        _check_distribution(config, dry_run=settings.dry_run)
    if settings.resume is not None:
        read_header(settings.resume)  # another file is told before anything else is done
    registry = make_registry()
    bridge = Bridge(registry)
    manager = config.pluginmanager
    manager.register(bridge, "mtarena-bridge")
    if bridge.fault is not None:
        raise bridge.fault
    workers = workerinput["workercount"] if workerinput is not None else _workers(config)
    # Of a method each worker has one of its own; a provider is one for all of them.
    asks = bool(settings.model.models) or settings.champollion_config is not None
    if asks and workers > settings.concurrency and "concurrency" in settings.given:
        raise UsageError(
            f"--mt-concurrency={settings.concurrency} cannot be kept by {workers} workers: "
            f"take -n{settings.concurrency}, or more of it"
        )
    share = max(1, settings.concurrency // workers)
    spool = None if workerinput is None else _existing(workerinput.get(SPOOL))
    ledger = None
    if workerinput is not None and spool is not None and settings.model.max_cost is not None:
        from pytest_mtarena.llm.ledger import SharedLedger

        ledger = SharedLedger(spool / LEDGER, workerinput["workerid"])
        config.add_cleanup(ledger.close)
    arena = Arena(config, settings, registry, share, workers, ledger)
    arena.prepare()
    config.stash[arena_key] = arena
    for kind in arena.kinds:
        config.addinivalue_line("markers", f"{kind}: a case of that kind (pytest-mtarena)")
    manager.register(Collecting(arena), "mtarena-collecting")
    manager.register(Parametrizing(arena), "mtarena-parametrizing")
    verbose = config.get_verbosity() > 0
    if workerinput is not None:
        if spool is not None:
            pid_file = spool / f"{workerinput['workerid']}{PID}"
            pid_file.write_text(str(os.getpid()), encoding="ascii")
        manager.register(Shipping(spool, verbose), "mtarena-shipping")
        performing = Performing(
            arena,
            done=lambda: _outputs(_kept(arena)),
            spool=spool,
            worker=workerinput["workerid"],
        )
        manager.register(performing, "mtarena-performing")
        return
    controller = Controller(arena, workers)
    config.stash[controller_key] = controller
    manager.register(Signals(), "mtarena-signals")
    dist = config.getoption("dist", "no") if workers > 1 or _distributes(config) else "no"
    manager.register(Reporting(arena, controller, workers, dist), "mtarena-reporting")
    if verbose:
        manager.register(Wording(), "mtarena-wording")
    if settings.dry_run:
        manager.register(DryRun(arena), "mtarena-dryrun")
    if _distributes(config):
        spool = Path(tempfile.mkdtemp(prefix="mtarena-"))
        config.add_cleanup(lambda: shutil.rmtree(spool, ignore_errors=True))
        manager.register(Distributed(arena, controller, spool), "mtarena-distributed")
        manager.register(_Resuming(arena, controller), "mtarena-resuming")
        return

    def learn(selected: set[Slot], before_shard: set[Slot] | None) -> None:
        controller.selected, controller.all_selected = selected, before_shard

    def done() -> dict[Slot, str | None]:
        kept = _kept(arena)
        controller.restore(kept)
        return _outputs(kept)

    performing = Performing(arena, done=done, on_selected=learn, on_row=controller.record)
    if verbose:
        manager.register(Shipping(None, verbose), "mtarena-shipping")
    manager.register(performing, "mtarena-performing")
    manager.register(_Peaks(performing, controller), "mtarena-peaks")


class _Resuming:
    """In xdist's controller: takes the journal's rows once the workers have collected."""

    def __init__(self, arena: Arena, controller: Controller) -> None:
        self._arena = arena
        self._controller = controller
        self._restored = False

    @pytest.hookimpl(trylast=True, optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Restore the rows, once."""
        if not self._restored:
            self._restored = True
            self._controller.restore(_kept(self._arena))


class _Peaks:
    """In a single process: takes the peak of calls in flight to the card."""

    def __init__(self, performing: Performing, controller: Controller) -> None:
        self._performing = performing
        self._controller = controller

    def pytest_sessionfinish(self) -> None:
        """Take it before the cards are made."""
        if self._performing.performer is not None:
            self._controller.peaks = self._performing.performer.runahead.peak_in_flight


def _outputs(kept: Iterable[tuple[Slot, str, int]]) -> dict[Slot, str | None]:
    """Return the slots of kept rows with the outputs of those that were well."""
    outputs: dict[Slot, str | None] = {}
    for slot, line, _ in kept:
        row = json.loads(line)["row"]
        outputs[slot] = row.get("predicted") if row["status"] == "ok" else None
    return outputs


def _kept(arena: Arena) -> list[tuple[Slot, str, int]]:
    """Return the rows of the journal to go on with that need no second attempt.

    Raises pytest.UsageError when the journal belongs to another setup or is damaged.
    """
    try:
        return list(_read_kept(arena))
    except ArenaError as error:
        raise pytest.UsageError(str(error)) from error


def _read_kept(arena: Arena) -> Iterable[tuple[Slot, str, int]]:
    path = arena.settings.resume
    if path is None:
        return
    there, here = read_header(path)["setups"], setups(arena)
    if not set(there) & set(here):
        raise ResumeError(f"--mt-resume {path} belongs to another run: {', '.join(sorted(there))}")
    for key in here:
        if key not in there:
            raise ResumeError(
                f"--mt-resume {path} knows nothing of {key}: run that apart, or leave it out"
            )
        for name, value in here[key].items():
            if there[key].get(name) != value:
                raise ResumeError(
                    f"--mt-resume {path} belongs to another setup: "
                    f"{name} {there[key].get(name)} there, {value} here"
                )
    rows: dict[Slot, tuple[str, int]] = {}
    for offset, text, payload in read_rows(path):
        try:
            slot, status = Slot(payload["run"], payload["index"]), payload["row"]["status"]
            entry = payload["row"]["entry_id"]
        except (KeyError, TypeError) as error:
            raise ResumeError(f"--mt-resume {path}: a line at byte {offset} is no row") from error
        run = arena.runs.get(slot.run)
        case = None if run is None else run.cases.get(slot.position)
        if case is not None and case.id != entry:
            # The content's hash does not see the order, and a row is found by its place.
            raise ResumeError(
                f"--mt-resume {path} belongs to another order of {slot.run}: entry "
                f"{slot.position + 1} was {entry!r} there and is {case.id!r} here"
            )
        if status in RETRIED:
            rows.pop(slot, None)
        else:
            rows[slot] = (text, offset)
    for slot, (text, offset) in rows.items():
        if slot.run in arena.runs:
            yield slot, text, offset


def _set_paths(config: pytest.Config) -> None:
    """Take the default suites when no path is given; add what ``--mt-corpus`` names."""
    option = config.option
    extra = [str(Path(config.invocation_params.dir, path)) for path in option.mt_corpus or ()]
    if option.mt_source_file is not None:
        extra.append(str(Path(config.invocation_params.dir, option.mt_source_file)))
    for path in extra:
        if not Path(path).exists():
            raise UsageError(f"--mt-corpus: no such file or directory: {path}")
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    if given or extra:
        config.args = [*(config.args if given else ()), *extra]
    else:
        config.args = default_args(config)


def _check_distribution(config: pytest.Config, *, dry_run: bool) -> None:
    if config.getoption("dist", "no") == "each":
        raise UsageError(
            "--dist each runs every entry once in every worker and would count it twice; "
            "use --dist load"
        )
    if dry_run and config.pluginmanager.has_plugin("xdist"):
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []


def _workers(config: pytest.Config) -> int:
    """Return how many workers xdist will have; asked before xdist itself has settled it."""
    count = getattr(config.option, "numprocesses", None)
    if count in ("auto", "logical"):
        count = int(config.hook.pytest_xdist_auto_num_workers(config=config))
    if count:
        return min(int(count), int(getattr(config.option, "maxprocesses", None) or count))
    specs = getattr(config.option, "tx", None) or []
    numbers = (spec.partition("*")[0] for spec in specs)  # 3*popen are three
    return max(1, sum(int(number) if number.isdecimal() else 1 for number in numbers))


def _distributes(config: pytest.Config) -> bool:
    """Say whether xdist will distribute; asked before xdist itself has settled its options."""
    if config.option.collectonly or not config.pluginmanager.has_plugin("xdist"):
        return False
    option = config.option
    if option.numprocesses is not None:
        return bool(option.numprocesses)
    return option.dist != "no" and bool(option.tx)


def _existing(path: str | None) -> Path | None:
    """The spool directory, unless this worker is on another machine."""
    return Path(path) if path is not None and Path(path).is_dir() else None
