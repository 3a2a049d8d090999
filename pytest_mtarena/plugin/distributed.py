"""The hooks of xdist's controlling process; registered only when xdist distributes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from pytest_mtarena.plugin.arena import Arena, file_path
from pytest_mtarena.plugin.controller import Controller
from pytest_mtarena.plugin.performing import FUNCTIONS, SELECTION
from pytest_mtarena.plugin.ship import PAYLOAD, unpack
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.flight import Verdicts, opaque, read_in_flight

SPOOL = "mtarena_spool"
LEDGER = "costs.sqlite"
"""The file in the spool with what the workers have spent."""
PID = ".pid"
"""Ending of the file in the spool in which a local worker leaves its process id."""
MAX_REQUEUES = 2
DEALT_WHOLE = ("load",)
"""The ``--dist`` modes for which whole batches are dealt."""


class Distributed:
    """Names slots for node ids, deals batches, and judges the deaths of workers."""

    def __init__(self, arena: Arena, controller: Controller, spool: Path) -> None:
        self._arena = arena
        self._controller = controller
        self._spool = spool
        self._slots: dict[str, Slot] = {}
        self._functions: dict[str, Slot] = {}
        """Node ids of test functions to the cases that they need."""
        self._files: set[str] = set()
        self._verdicts = Verdicts(spool / "verdicts.json")
        self._deaths: Counter[str] = Counter()
        self._interrupted = False

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the spool is."""
        node.workerinput[SPOOL] = str(self._spool)

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Learn what is selected, from the first worker that knows."""
        if self._slots:
            return
        for nodeid in ids:
            file = nodeid.partition("::")[0]
            if file not in self._files:
                self._files.add(file)
                if self._arena.recognises(file_path(file, self._arena.config.rootpath)):
                    self._slots.update(self._arena.slots_of(file))
        with contextlib.suppress(FileNotFoundError):
            named = json.loads((self._spool / FUNCTIONS).read_text(encoding="utf-8"))
            self._functions = {nodeid: Slot(*slot) for nodeid, slot in named.items()}
        self._controller.selected = {self._slots[i] for i in ids if i in self._slots}
        with contextlib.suppress(FileNotFoundError):
            listed = json.loads((self._spool / SELECTION).read_text(encoding="utf-8"))
            self._controller.all_selected = {Slot(*slot) for slot in listed}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a row off its report, and let go of its text there."""
        payload = report.__dict__.pop(PAYLOAD, None)
        if payload is not None:
            self._controller.record(self._slots[report.nodeid], unpack(payload))

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Deal whole batches under ``load``; every other mode stays as xdist has it."""
        if config.getoption("dist") not in DEALT_WHOLE:
            return None
        from pytest_mtarena.plugin.schedule import BatchScheduling

        window = 2 * self._arena.share * len(self._arena.contestants)
        return BatchScheduling(config, log, self._numbers, window)

    def _numbers(self, nodeids: Sequence[str]) -> list[int]:
        """Number the batches of node ids; an ordinary test is a batch of its own."""
        slots = {**self._functions, **self._slots}
        batches = self._arena.batches({slots[nodeid] for nodeid in nodeids if nodeid in slots})
        number = {slot: k for k, batch in enumerate(batches) for slot in batch}
        return [
            number[slots[nodeid]] if nodeid in slots else len(batches) + k
            for k, nodeid in enumerate(nodeids)
        ]

    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Judge a death before xdist deals the dead worker's items again."""
        (self._spool / f"{node.gateway.id}{PID}").unlink(missing_ok=True)
        if error:
            self._verdicts.judge(read_in_flight(self._spool / f"{node.gateway.id}.flight"))
        if (ledger := self._spool / LEDGER).exists():
            from pytest_mtarena.llm.ledger import bury

            bury(ledger, node.gateway.id)

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Have the item that was at hand run again; its verdict may wait for it."""
        slot = self._slots.get(crashitem)
        if slot is None:
            return
        self._deaths[crashitem] += 1
        if self._deaths[crashitem] > MAX_REQUEUES:
            return
        if self._deaths[crashitem] > 1 and opaque(slot) not in self._verdicts.crashed:
            self._verdicts.convict(opaque(slot))
        # loadscope and its kin run a dead worker's items again by themselves
        with contextlib.suppress(NotImplementedError):
            sched.mark_test_pending(crashitem)
        report.outcome = "rerun"  # type: ignore[assignment]

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Show the requeued item of a dead worker as a rerun."""
        if report.outcome == "rerun" and report.when == "???":
            return "rerun", "R", "RERUN (its worker died)"
        return None

    def pytest_keyboard_interrupt(self) -> None:
        """End local workers at once: xdist would wait ten seconds for each that is busy."""
        for path in self._spool.glob(f"*{PID}"):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(path.read_text(encoding="ascii")), signal.SIGTERM)
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """After an interrupt, take the rows that have come and that xdist will not hand on."""
        distributor: Any = session.config.pluginmanager.get_plugin("dsession")
        if not self._interrupted or distributor is None:
            return
        with contextlib.suppress(Empty):
            while True:
                name, event = distributor.queue.get_nowait()
                if name == "testreport":
                    self.pytest_runtest_logreport(event["rep"])
