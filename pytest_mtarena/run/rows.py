"""The rows of a session: on disk in the journal, in memory only where each one stands.

A row that could not be written down (a full disk, no journal) is kept in memory instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, overload

from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.journal import Journal

ROW = '"row":'
"""Stands before a row's text in a line; before it, as ``size``, its length in characters."""

_SIZE = '"size":'
_CHUNK = 1000
_LENGTH_BITS = 26
MANY = 20_000
"""From so many rows on, what they share is kept once: it takes time and saves memory."""
_SHORT = 20
"""Shorter texts are words that many rows share: a status, a domain, a segment."""
_EMPTY: dict[type, Any] = {dict: {}, list: []}
"""Shared by all rows: most rows have half a dozen empty containers."""


class RowStore:
    """Where the last row of each slot stands."""

    def __init__(self) -> None:
        self._where: dict[Slot, int | str] = {}

    def put(self, slot: Slot, line: str, offset: int | None) -> None:
        """Remember a row: at ``offset`` of the journal, or itself when that is None."""
        length = len(line) if line.isascii() else len(line.encode())
        if offset is None or length >> _LENGTH_BITS:
            self._where[slot] = line
        else:
            self._where[slot] = offset << _LENGTH_BITS | length

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, slot: Slot) -> bool:
        return slot in self._where

    def take(
        self, slots: Sequence[Slot], journal: Journal | None
    ) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the rows of these slots that are there, parsed and as text, and forget them.

        Raises OSError or ValueError when the journal is no longer what was written.
        """
        for start in range(0, len(slots), _CHUNK):
            lines = [
                self._line(where, journal)
                for slot in slots[start : start + _CHUNK]
                if (where := self._where.pop(slot, None)) is not None
            ]
            # One parse for many: their equal keys become one string in memory.
            for line, payload in zip(lines, json.loads("[" + ",".join(lines) + "]"), strict=True):
                if len(slots) >= MANY:
                    _slim(payload["row"])
                yield payload, row_of(line)

    def stored(self, slots: Sequence[Slot], journal: Journal | None) -> StoredRows:
        """Return the rows of these slots that are there, left where they are."""
        return StoredRows([self._where[slot] for slot in slots if slot in self._where], journal)

    def _line(self, where: int | str, journal: Journal | None) -> str:
        return _line(where, journal)


def _line(where: int | str, journal: Journal | None) -> str:
    if isinstance(where, str):
        return where
    assert journal is not None
    return journal.read(where >> _LENGTH_BITS, where & ((1 << _LENGTH_BITS) - 1))


class StoredRows(Sequence[dict[str, Any]]):
    """The rows of a large card: read from the journal whenever somebody looks at them.

    Good for as long as the journal is open.
    """

    def __init__(self, places: Sequence[int | str], journal: Journal | None) -> None:
        self._places = places
        self._journal = journal
        self.texts = RowTexts(places, journal)
        """The same rows as text."""

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> StoredRows: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | StoredRows:
        if isinstance(index, slice):
            return StoredRows(self._places[index], self._journal)
        row: dict[str, Any] = json.loads(self.texts[index])
        return row


class RowTexts(Sequence[str]):
    """The texts of rows in a journal."""

    def __init__(self, places: Sequence[int | str], journal: Journal | None) -> None:
        self._places = places
        self._journal = journal

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> RowTexts: ...
    def __getitem__(self, index: int | slice) -> str | RowTexts:
        if isinstance(index, slice):
            return RowTexts(self._places[index], self._journal)
        return row_of(_line(self._places[index], self._journal))


def row_of(line: str) -> str:
    """Return the text of the row in a line."""
    # Before the row there are only numbers: neither key can be found in another place.
    size = int(line[line.index(_SIZE) + len(_SIZE) : line.index(ROW) - 1])
    start = line.index(ROW) + len(ROW)
    return line[start : start + size]


def _slim(row: dict[str, Any]) -> None:
    """Let a row share what is equal in every row."""
    for key, value in row.items():
        kind = type(value)
        if kind is str:
            if len(value) < _SHORT:
                row[key] = sys.intern(value)
        elif not value and kind in _EMPTY:
            row[key] = _EMPTY[kind]
    if row.get("raw_predicted") == row.get("predicted"):
        row["raw_predicted"] = row.get("predicted")
