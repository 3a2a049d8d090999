"""Translation suites: open a file of any format, check it, and take the cases asked for."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_mtarena.records import Case, Suite, SuiteSettings
from pytest_mtarena.suites.entries import KIND, make_cases
from pytest_mtarena.suites.envelope import read_envelope
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.filters import explain_empty, missing_ids, select
from pytest_mtarena.suites.formats.document import Document
from pytest_mtarena.suites.formats.text import decode, read_bytes
from pytest_mtarena.suites.problems import Problems

__all__ = ["SUFFIXES", "content_hash", "missing_ids", "open_corpus", "recognises", "why_empty"]

SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".po": "po",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
}
"""What format a file's suffix says."""


def recognises(path: Path) -> bool:
    """Say by the suffix alone whether a file may be a translation suite."""
    return path.suffix.casefold() in SUFFIXES


def open_corpus(path: Path, settings: SuiteSettings) -> Suite | None:
    """Read and check a translation suite and apply the filters.

    Returns None for a file that can be read and is plainly something else. With
    ``settings.reference_path`` the path is the source side of parallel text.

    Raises SuiteError with all that is wrong in the file, UsageError for settings that do not fit
    it, MissingExtra for a format whose library is not installed.
    """
    suite = _open(path, settings)
    if suite is None:
        return None
    return suite.model_copy(update={"cases": tuple(select(suite.cases, settings, path))})


def why_empty(settings: SuiteSettings, path: Path) -> str:
    """Return one line that says why the filters selected nothing of a suite."""
    suite = _open(path, settings)
    return explain_empty(() if suite is None else suite.cases, settings, path)


def content_hash(cases: Sequence[Case]) -> str:
    """Return the SHA-256 hex over ``[[id, source, references], ...]`` of all cases, by id.

    Line ends, a byte order mark, the order of rows and every other field leave it as it is; any
    other character of a text, were it only another normal form, does not.
    """
    digest = hashlib.sha256(b"[")
    rows = [
        [case.id, case.public["source"], case.hidden["references"]]
        for case in sorted(cases, key=lambda case: case.id)
    ]
    # For text alone this is the canonical form of RFC 8785; by the thousand, to bound the memory.
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    for begin in range(0, len(rows), 1000):
        text = encoder.encode(rows[begin : begin + 1000])[1:-1]
        digest.update(f"{',' if begin else ''}{text}".encode())
    digest.update(b"]")
    return digest.hexdigest()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the cycle collector still: it would walk a growing suite over and over, for nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@_uncollected()
def _open(path: Path, settings: SuiteSettings) -> Suite | None:
    """Read a suite with all its cases."""
    if settings.reference_path is None and not recognises(path):
        return None
    data = [read_bytes(path)]
    if settings.reference_path is not None:
        data.append(read_bytes(settings.reference_path))
    problems = Problems(path)
    document = _parse(path, data, settings, problems)
    if document is None:
        return None
    sha256 = hashlib.sha256(b"".join(data)).hexdigest()
    data.clear()
    envelope = read_envelope(document.envelope, problems)
    names = Names(
        settings, fold=document.folded, fixed=document.fixed, public=envelope.public_fields
    )
    for name in envelope.public_fields:
        if name == names.named_target:
            problems.add(f"public_fields names {name!r}, which holds the references: take it out")
    problems.check()
    made = make_cases(document, envelope, names, settings, problems)
    return Suite.model_construct(
        kind=KIND,
        id=envelope.id or path.stem,
        version=envelope.version,
        name=envelope.name,
        path=path,
        format=document.format,
        sha256=sha256,
        content_sha256=content_hash(made.cases),
        cases=tuple(made.cases),
        entry_count=len(made.cases),
        languages=made.languages,
        license=envelope.license,
        attribution=envelope.attribution,
        provenance=envelope.provenance or _tags(made.cases),
        notes=(*envelope.notes, *document.notes, *made.notes),
    )


def _tags(cases: Sequence[Case]) -> tuple[str, ...]:
    """Return the provenance of entries whose file has no envelope to say it, each tag once."""
    return tuple(
        dict.fromkeys(str(c.labels["provenance"]) for c in cases if "provenance" in c.labels)
    )


def _parse(
    path: Path, data: Sequence[bytes], settings: SuiteSettings, problems: Problems
) -> Document | None:
    """Return the file's entries as they stand there; formats are imported when they are met."""
    if settings.reference_path is not None:
        from pytest_mtarena.suites.formats.parallel import read_parallel

        other = settings.reference_path
        source, reference = decode(data[0], path), decode(data[1], other)
        return read_parallel(source, reference, path, other)
    format = SUFFIXES[path.suffix.casefold()]
    if format == "tmx":
        from pytest_mtarena.suites.formats.tmx import read_tmx

        return read_tmx(data[0], path, settings, problems)
    if format == "xliff":
        from pytest_mtarena.suites.formats.xliff import read_xliff

        return read_xliff(data[0], path)
    text = decode(data[0], path)
    if format == "po":
        from pytest_mtarena.suites.formats.po import read_po

        return read_po(text, path, problems)
    names = Names(settings, fold=format in ("tsv", "csv"))
    if format == "json":
        from pytest_mtarena.suites.formats.json_ import read_json

        return read_json(text, path, names, problems)
    if format == "jsonl":
        from pytest_mtarena.suites.formats.jsonl import read_jsonl

        return read_jsonl(text, path, names, problems)
    lenient = settings.allow_missing_reference
    if format == "tsv":
        from pytest_mtarena.suites.formats.tsv import read_tsv

        return read_tsv(text, path, names, problems, without_reference=lenient)
    from pytest_mtarena.suites.formats.csv_ import read_csv

    return read_csv(text, path, names, problems, without_reference=lenient)
