"""Tab-separated text, with or without a header. There is no quoting: a quotation mark is text."""

from __future__ import annotations

from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.formats.columns import Row, check_header, fold_header, make_entries
from pytest_mtarena.suites.formats.document import Document
from pytest_mtarena.suites.formats.text import no_entries, split_lines
from pytest_mtarena.suites.problems import Problems, listed


def read_tsv(
    text: str, path: Path, names: Names, problems: Problems, *, without_reference: bool = False
) -> Document | None:
    """Read rows; without a header the columns are source, reference, ``col_2`` and so on.

    None when there is one column only. A first row that is half a header is an error, since
    taking it for an entry or for a header would both be guesses. ``without_reference`` allows a
    header that has a source only.
    """
    rows: list[Row] = [
        (number, line.split("\t")) for number, line in enumerate(split_lines(text), 1) if line
    ]
    if not rows:
        raise SuiteError(path, no_entries(text))
    line, first = rows[0]
    columns = fold_header(first)
    source, reference = names.has_source(columns), names.has_reference(columns)
    named = names.named_source is not None or names.named_target is not None
    if named or (source and (reference or without_reference)):
        check_header(columns, names, path, line)
        header = "the header"
        rows = rows[1:]
        if not rows:
            raise SuiteError(path, no_entries(text))
    elif source or reference:
        have, lack = ("source", "reference") if source else ("reference", "source")
        option = "--mt-target-field" if source else "--mt-source-field"
        raise SuiteError(
            path,
            f"looks like a header with a {have} but no {lack} column (columns: {listed(columns)}): "
            f"name it with {option}, or put a header above it if it is an entry",
            line=line,
        )
    elif len(first) < 2:
        return None
    else:
        columns = ["source", "reference", *(f"col_{place}" for place in range(2, len(first)))]
        header = f"line {line}"
    entries = make_entries(rows, columns, header, problems)
    problems.check()
    return Document("tsv", entries, folded=True)
