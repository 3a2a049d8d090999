"""Glossaries: read from a file, or from the fields of an entry."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Json
from pytest_mtarena.referee.terms import Glossary, Term, phrase_of
from pytest_mtarena.text import cut, printable

ALTERNATIVES = "|"
"""What separates several targets in one cell of a table."""

_HEADER = {
    **dict.fromkeys(("source", "term", "src"), "source"),
    **dict.fromkeys(("target", "translation", "accept", "tgt"), "accept"),
    **dict.fromkeys(("forbidden", "forbid"), "forbid"),
}
_ACCEPT = ("accept", "target", "targets", "translation")
_FORBID = ("forbid", "forbidden")
_SOURCE = ("source", "term")


def load_glossary(path: Path) -> Glossary:
    """Read a glossary from a file; see ``read_terms`` for the shapes of JSON.

    A table (TSV, CSV) has the columns source, target and, if wanted, forbidden, in this order or
    with a header that names them; several targets in a cell are separated by ``|``. Raises
    UsageError with the line for anything that is wrong.
    """
    text = _read(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        terms = _from_json(path, text)
    elif suffix in (".tsv", ".csv", ".txt"):
        terms = _from_table(path, text, suffix == ".csv")
    else:
        raise UsageError(f"{path}: a glossary is a .json, .tsv or .csv file")
    if not terms:
        raise UsageError(f"{path}: the glossary has no terms")
    return Glossary(terms)


def cached_glossary(path: Path) -> Glossary:
    """Return the glossary of a file, read once for as long as the file stays as it is."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    return _cached(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _cached(path: Path, changed: int, size: int) -> Glossary:
    return load_glossary(path)


class BadTerm(ValueError):
    """A term that cannot be used; ``term`` is its source, as far as it has one."""

    def __init__(self, problem: str, term: str = "") -> None:
        super().__init__(problem)
        self.term = term


def read_terms(value: Json) -> list[Term]:
    """Return the terms of a JSON value; raises BadTerm.

    It is an object of terms, each with a target, a list of targets, or an object with ``accept``
    and ``forbid``; such an object under ``dictionary`` (a coaching file); or a list of objects
    with ``source``, ``target`` and, if wanted, ``forbidden``.
    """
    if isinstance(value, Mapping):
        inner = value.get("dictionary")
        if inner is None and value and value.keys() <= {"grammar_rules", "style_notes"}:
            raise BadTerm("a coaching file without a dictionary has no terms")
        items = inner if isinstance(inner, Mapping) else value
        return [_term(source, given) for source, given in items.items()]
    if isinstance(value, list):
        return [_listed(one) for one in value]
    raise BadTerm("a glossary is an object of terms, or a list of objects")


def own_glossary(fields: Mapping[str, Json]) -> Glossary | None:
    """Return the glossary that an entry carries as ``glossary`` or ``terms``; raises BadTerm.

    None when it has none; an empty one says that no term applies. A list of plain texts is no
    glossary.
    """
    for name in ("glossary", "terms"):
        value = fields.get(name)
        if isinstance(value, Mapping) or (
            isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value)
        ):
            return Glossary(read_terms(value))
    return None


def _listed(given: Json) -> Term:
    if not isinstance(given, Mapping):
        raise BadTerm(f"an object with source and target is needed, not {_shown(given)}")
    source = next((given[name] for name in _SOURCE if name in given), None)
    if not isinstance(source, str):
        raise BadTerm(f"a term has no source: {_shown(given)}")
    return _term(source, {key: one for key, one in given.items() if key not in _SOURCE})


def _term(source: str, given: Json) -> Term:
    if not _has_sign(source):
        raise BadTerm("a term is empty", source)
    if _has_surrogate(source):
        raise BadTerm(f"the term {_shown(source)} holds a lone surrogate", source)
    if isinstance(given, Mapping):
        accept: Json = next((given[name] for name in _ACCEPT if name in given), [])
        forbid: Json = next((given[name] for name in _FORBID if name in given), [])
    else:
        accept, forbid = given, []
    term = Term(source, _targets(source, accept), _targets(source, forbid))
    if not term.accept and not term.forbid:
        raise BadTerm(f"the term {_shown(source)} has no target", source)
    return term


def _targets(source: str, given: Json) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
        raise BadTerm(
            f"the term {_shown(source)} needs a target in text, or a list of them, "
            f"not {_shown(given)}",
            source,
        )
    if any(map(_has_surrogate, several)):
        raise BadTerm(f"the term {_shown(source)} has a target with a lone surrogate", source)
    if not all(map(_has_sign, several)):
        raise BadTerm(f"the term {_shown(source)} has an empty target", source)
    return tuple(dict.fromkeys(one.strip() for one in several))


def _has_sign(text: str) -> bool:
    """Say whether something remains of a text when it is folded."""
    return bool(phrase_of(text).text)


def _has_surrogate(text: str) -> bool:
    """Say whether a text is none that a file could hold: it would break the cards."""
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _shown(value: Json) -> str:
    return cut(printable(repr(value)), 60)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8; save the glossary as UTF-8") from None


def _from_json(path: Path, text: str) -> list[Term]:
    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in pairs:
            if key in found:
                raise BadTerm(f"{_shown(key)} is there twice", key)
            found[key] = value
        return found

    try:
        return read_terms(json.loads(text, object_pairs_hook=unique))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except BadTerm as error:
        raise UsageError(f"{path}{_line_of(text, error.term)}: {error}") from None
    except ValueError as error:  # a number of thousands of digits
        raise UsageError(f"{path}: not JSON that can be read: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply for a glossary") from None


def _line_of(text: str, term: str) -> str:
    """Return ``:7`` for the line of the last place where a term is written."""
    at = max(text.rfind(json.dumps(term, ensure_ascii=ascii)) for ascii in (True, False))
    return f":{text.count(chr(10), 0, at) + 1}" if at >= 0 else ""


def _from_table(path: Path, text: str, commas: bool) -> list[Term]:
    terms: list[Term] = []
    order: list[str] | None = None
    for line, cells in _rows(path, text, commas):
        if not any(cell.strip() for cell in cells):
            continue
        if order is None:
            order = _header(path, line, cells)
            if order is not None:
                continue
            order = ["source", "accept", "forbid"]
        if len(cells) < 2 or len(cells) > len(order):
            raise UsageError(
                f"{path}:{line}: {len(cells)} column{'s' * (len(cells) != 1)}; "
                f"needed are source, target and perhaps forbidden, "
                f"separated by {'commas' if commas else 'tabs'}"
            )
        row = dict(zip(order, cells, strict=False))
        given: dict[str, Json] = {
            name: [one for one in row.get(name, "").split(ALTERNATIVES) if one.strip()]
            for name in ("accept", "forbid")
        }
        try:
            terms.append(_term(row["source"].strip(), given))
        except BadTerm as error:
            raise UsageError(f"{path}:{line}: {error}") from None
    return terms


def _rows(path: Path, text: str, commas: bool) -> Iterator[tuple[int, list[str]]]:
    if not commas:
        for number, row in enumerate(text.split("\n"), 1):
            yield number, row.removesuffix("\r").split("\t")
        return
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise UsageError(f"{path}:{line}: not CSV: {error}") from None
        if cells is None:
            return
        yield line, cells


def _header(path: Path, line: int, cells: Sequence[str]) -> list[str] | None:
    """Return the roles of the columns when a row is a header, else None."""
    names = [cell.strip().casefold() for cell in cells]
    roles = [_HEADER.get(name, name) for name in names]
    if "source" not in roles or not {"accept", "forbid"} & set(roles):
        return None
    if len(set(roles)) < len(roles):
        raise UsageError(f"{path}:{line}: the header names a column twice: {', '.join(names)}")
    return roles
