"""JSON lines: one object a line; blank lines are nothing."""

from __future__ import annotations

from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.formats.json_ import NotJson, Refused, StrictJson, faults
from pytest_mtarena.suites.formats.text import no_entries, split_lines
from pytest_mtarena.suites.problems import Problems


def read_jsonl(text: str, path: Path, names: Names, problems: Problems) -> Document | None:
    """Read the lines; None when they are objects and none of them has a source."""
    strict = StrictJson()
    document = Document("jsonl", [])
    for number, line in enumerate(split_lines(text), 1):
        if not line.strip():
            continue
        try:
            value, odd = strict.decode(line)
        except NotJson as error:
            problems.add(str(error), line=number)
            continue
        if not isinstance(value, dict):
            found = value.reason if isinstance(value, Refused) else f"found {value!r:.60}"
            problems.add(f"a line must be one JSON object: {found}", line=number)
            continue
        if odd:
            for fault in faults(value):
                problems.add(fault, line=number)
        document.entries.append(RawEntry(value, len(document.entries) + 1, number))
    problems.check()
    if not document.entries:
        raise SuiteError(path, no_entries(text))
    if names.named_source is None and not any(
        names.has_source(entry.fields) for entry in document.entries
    ):
        return None
    return document
