"""Parallel text: two files, line N of one translates line N of the other."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.formats.text import no_entries, split_lines
from pytest_mtarena.suites.problems import counted


def read_parallel(source: str, reference: str, path: Path, reference_path: Path) -> Document:
    """Pair the lines by number; blank lines count, so that nothing shifts."""
    sources, references = split_lines(source), split_lines(reference)
    if len(sources) != len(references):
        raise SuiteError(
            path,
            f"{counted(len(sources), 'line')} here, {counted(len(references), 'line')} in "
            f"{reference_path}: {_first_difference(sources, references)}",
        )
    if not sources:
        raise SuiteError(path, no_entries(source))
    entries = [
        RawEntry({"source": left, "reference": right}, number, number)
        for number, (left, right) in enumerate(zip(sources, references, strict=True), 1)
    ]
    return Document("parallel", entries, first_id=1, fixed=True)


def _first_difference(sources: list[str], references: list[str]) -> str:
    for number, (left, right) in enumerate(zip_longest(sources, references, fillvalue=""), 1):
        if bool(left.strip()) != bool(right.strip()):
            lacking = "source" if right.strip() else "reference"
            return f"first differing line: {number}, where the {lacking} has no text"
    longer = "source" if len(sources) > len(references) else "reference"
    return f"the {longer} file ends with blank lines: take them out"
