"""What every format gives: entries as they stand in the file, before anything is made of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_mtarena.records import Json


@dataclass(slots=True)
class RawEntry:
    """The fields of one entry, unchanged."""

    fields: dict[str, Json]
    ordinal: int
    """Its place among the entries, from 1."""
    line: int | None = None
    """The line it begins on, from 1, where lines mean anything."""

    @property
    def where(self) -> str:
        """Its place in words."""
        return f"entry {self.ordinal}" if self.line is None else f"line {self.line}"


@dataclass(slots=True)
class Document:
    """A file that has been parsed."""

    format: str
    entries: list[RawEntry]
    envelope: dict[str, Json] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    first_id: int = 0
    """The id of the first entry when no entry has an id: 0 for positions, 1 for line numbers."""
    folded: bool = False
    """Whether field names are case-folded column names."""
    fixed: bool = False
    """Whether the format itself says what source and reference are."""
