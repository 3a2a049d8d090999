"""The sums behind a limit of costs: of one process, or of all workers of a session."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

_WAIT_SECONDS = 60.0
"""For another process that is writing; each does so for a fraction of a millisecond."""


@dataclass(slots=True)
class Sums:
    """What is spent and what is set aside, in picodollars."""

    spent: int = 0
    held: int = 0
    """The worst cases of all calls in flight."""
    in_doubt: int = 0
    """The part of ``spent`` that is a worst case, because the cost never became known."""


class Ledger(Protocol):
    """Keeps sums; whoever changes them is alone while doing so."""

    shared: bool
    """Whether others can change the sums."""

    def open(self) -> contextlib.AbstractContextManager[Sums]:
        """Give the sums of everybody; what has been changed in them at the end is kept."""
        ...


class OwnLedger:
    """Sums in memory."""

    shared = False

    def __init__(self) -> None:
        self._sums = Sums()

    @contextlib.contextmanager
    def open(self) -> Iterator[Sums]:
        """Give the sums; the caller sees to it that threads take turns."""
        yield self._sums


class SharedLedger:
    """Sums in a file, for all workers of a session on one machine.

    Every owner has a row of its own.
    """

    shared = True

    def __init__(self, path: Path, owner: str) -> None:
        self._owner = owner
        self._file = sqlite3.connect(
            path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        # Readers and writers of a file in this mode never see half a change, whoever is killed;
        # a machine that goes down takes the session with it.
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("PRAGMA synchronous=OFF")
        with self._alone():
            # Text, since an amount may be larger than what the file takes for a number.
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS sums "
                "(owner TEXT PRIMARY KEY, spent TEXT, held TEXT, in_doubt TEXT)"
            )
            self._file.execute("INSERT OR IGNORE INTO sums VALUES (?, '0', '0', '0')", (owner,))

    @contextlib.contextmanager
    def open(self) -> Iterator[Sums]:
        """Give the sums of all owners; the caller sees to it that threads take turns."""
        with self._alone():
            rows = {owner: Sums(*map(int, row)) for owner, *row in self._rows()}
            sums = Sums(
                sum(one.spent for one in rows.values()),
                sum(one.held for one in rows.values()),
                sum(one.in_doubt for one in rows.values()),
            )
            before = replace(sums)
            yield sums
            if sums != before:
                own = rows[self._owner]
                own.spent += sums.spent - before.spent
                own.held += sums.held - before.held
                own.in_doubt += sums.in_doubt - before.in_doubt
                self._write(self._owner, own)

    def own(self) -> Sums:
        """Return the owner's own part."""
        return next(Sums(*map(int, row)) for owner, *row in self._rows() if owner == self._owner)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return self._file.execute("SELECT owner, spent, held, in_doubt FROM sums").fetchall()

    def _write(self, owner: str, sums: Sums) -> None:
        self._file.execute(
            "UPDATE sums SET spent = ?, held = ?, in_doubt = ? WHERE owner = ?",
            (str(sums.spent), str(sums.held), str(sums.in_doubt), owner),
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")


def bury(path: Path, owner: str) -> None:
    """Count what an owner that is gone had in flight as spent: it may have been billed."""
    ledger = SharedLedger(path, owner)
    with ledger.open() as sums:
        dead = ledger.own()
        sums.held -= dead.held
        sums.spent += dead.held
        sums.in_doubt += dead.held
    ledger.close()
