"""Tables: from a header row and rows of cells to entries; shared by TSV and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.formats.document import RawEntry
from pytest_mtarena.suites.problems import Problems, counted, listed

Row = tuple[int, Sequence[str]]
"""The line a row begins on, from 1, and its cells."""


def fold_header(cells: Sequence[str]) -> list[str]:
    """Return column names: case-folded, without blanks around; a nameless one is ``col_N``."""
    return [cell.strip().casefold() or f"col_{place}" for place, cell in enumerate(cells)]


def check_header(columns: Sequence[str], names: Names, path: Path, line: int) -> None:
    """Raise for a header with a column twice, or without a column the user named."""
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise SuiteError(path, f"two columns are called {listed(twice)}", line=line)
    for option, name in (
        ("--mt-source-field", names.named_source),
        ("--mt-target-field", names.named_target),
    ):
        if name is not None and name not in columns:
            raise SuiteError(
                path,
                f"{option}: there is no column {name!r} (columns: {listed(columns)})",
                line=line,
            )


def make_entries(
    rows: Iterable[Row], columns: Sequence[str], header: str, problems: Problems
) -> list[RawEntry]:
    """Return an entry a row; ``header`` says in messages what the width was taken from."""
    entries: list[RawEntry] = []
    width = len(columns)
    for line, cells in rows:
        if len(cells) != width:
            fault = (
                f"missing: {listed(columns[len(cells) :])}"
                if len(cells) < width
                else f"too many after {columns[-1]!r}"
            )
            found = counted(len(cells), "column")
            problems.add(f"{found}, but {header} has {width} ({fault})", line=line)
            continue
        entries.append(RawEntry(dict(zip(columns, cells, strict=True)), len(entries) + 1, line))
    return entries
