"""Comma-separated values with a header, quoted as RFC 4180 says."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.formats.columns import Row, check_header, fold_header, make_entries
from pytest_mtarena.suites.formats.document import Document
from pytest_mtarena.suites.formats.text import no_entries
from pytest_mtarena.suites.problems import Problems


def read_csv(
    text: str, path: Path, names: Names, problems: Problems, *, without_reference: bool = False
) -> Document | None:
    """Read rows; None when the header has no source and reference.

    ``without_reference`` allows a header that has a source only.
    """
    rows = _rows(text, path)
    head = next(rows, None)
    if head is None:
        raise SuiteError(path, no_entries(text))
    line, first = head
    columns = fold_header(first)
    named = names.named_source is not None or names.named_target is not None
    if not named and not _is_header(columns, names, without_reference):
        for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if len(columns) == 1 and _is_header(columns[0].split(separator), names, False):
                raise SuiteError(
                    path, f"columns are separated by {name}: save it with commas", line=line
                )
        return None
    check_header(columns, names, path, line)
    entries = make_entries(rows, columns, "the header", problems)
    problems.check()
    if not entries:
        raise SuiteError(path, no_entries(text))
    return Document("csv", entries, folded=True)


def _is_header(columns: list[str], names: Names, without_reference: bool) -> bool:
    return names.has_source(columns) and (names.has_reference(columns) or without_reference)


def _rows(text: str, path: Path) -> Iterator[Row]:
    """Yield the rows that hold anything; each begins on the line after the one before it."""
    # A line feed alone ends a line: only the csv module decides whether it ends a row.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    reader = csv.reader(lines, strict=True)
    limit = csv.field_size_limit(max(len(text), csv.field_size_limit()))
    begin = 1
    try:
        for cells in reader:
            if cells:
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise SuiteError(path, f"not valid CSV: {error}", line=begin) from error
    finally:
        csv.field_size_limit(limit)
