"""What was in flight when a worker died, and what follows from it.

Each worker notes the start and end of every request in a file of its own. When it dies, the
controlling process reads that file: the cases of unfinished requests are *suspects*, and run one
at a time from then on, with nothing else in flight. A worker that dies with a single case in
flight convicts that case: it is recorded as crashed and never sent again. So one entry that kills
its process costs its batch mates a second call, and nobody else anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.runahead import Request


def opaque(slot: Slot) -> Slot:
    """Return a slot whose run cannot be read: a run's key holds the path of its suite.

    This is what the run-ahead is told, in whose frames contestants run.
    """
    return Slot(_digest(slot.run), slot.position)


@lru_cache
def _digest(run: str) -> str:
    return hashlib.sha256(run.encode()).hexdigest()[:16]


class FlightLog:
    """A worker's own note of its requests.

    Keeping it never fails a request: without a note a death is judged by the items at hand.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._descriptor = os.open(path, flags, 0o600)
        self._number = 0
        self._open: dict[int, int] = {}
        self._lock = threading.Lock()

    def start(self, request: Request) -> None:
        """Note that a request is about to be sent."""
        with self._lock:  # contestants run in threads of their own
            self._number += 1
            number = self._open[id(request)] = self._number
        self._write({"start": number, "slots": [list(slot) for slot in request.slots]})

    def end(self, request: Request) -> None:
        """Note that a request was answered, in whatever way."""
        number = self._open.pop(id(request), None)
        if number is not None:
            self._write({"end": number})

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _write(self, note: object) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, json.dumps(note).encode() + b"\n")


def read_in_flight(path: Path) -> list[tuple[Slot, ...]]:
    """Return the requests that a dead worker had in flight; a torn last line is ignored."""
    open_requests: dict[int, tuple[Slot, ...]] = {}
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            note = json.loads(line)
            if "start" in note:
                slots = tuple(Slot(run, position) for run, position in note["slots"])
                open_requests[note["start"]] = slots
            else:
                open_requests.pop(note["end"], None)
    return list(open_requests.values())


class Verdicts:
    """Which cases are suspect and which have crashed; a file that workers look at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.suspects: set[Slot] = set()
        self.crashed: set[Slot] = set()
        self._seen = (-1, -1)

    def judge(self, in_flight: Iterable[tuple[Slot, ...]]) -> None:
        """Draw the conclusion from a death, and write it down."""
        slots = [slot for request in in_flight for slot in request]
        if len(slots) == 1:
            self.crashed.add(slots[0])
            self.suspects.discard(slots[0])
        else:
            self.suspects.update(slot for slot in slots if slot not in self.crashed)
        self.save()

    def convict(self, slot: Slot) -> None:
        """Record a case as crashed."""
        self.crashed.add(slot)
        self.suspects.discard(slot)
        self.save()

    def concern(self, slot: Slot) -> bool:
        """Say whether a case is suspect or has crashed."""
        return slot in self.suspects or slot in self.crashed

    def save(self) -> None:
        """Write the file anew, atomically."""
        draft = self.path.with_suffix(".new")
        state = {"suspects": sorted(self.suspects), "crashed": sorted(self.crashed)}
        draft.write_text(json.dumps(state), encoding="utf-8")
        os.replace(draft, self.path)

    def refresh(self) -> None:
        """Read the file when it has changed since the last look."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return
        # The number beside the time: two changes may fall into one tick of the file's clock.
        if (seen := (found.st_mtime_ns, found.st_ino)) != self._seen:
            self._seen = seen
            state = json.loads(self.path.read_text(encoding="utf-8"))
            self.suspects = {Slot(*slot) for slot in state["suspects"]}
            self.crashed = {Slot(*slot) for slot in state["crashed"]}
