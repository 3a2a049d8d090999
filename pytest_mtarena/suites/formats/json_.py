"""JSON, more strictly than the standard library reads it, and the JSON envelopes of suites."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.records import Json
from pytest_mtarena.suites.fields import Names
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.problems import Problems, counted, listed

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """A text that is not JSON; ``line`` counts from 1."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


class Refused:
    """Stands where a value stood that JSON does not allow, until the entry is known."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class StrictJson:
    """A JSON decoder that knows of repeated keys, numbers beyond JSON and lone surrogates."""

    def __init__(self) -> None:
        self._odd = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
        )

    def decode(self, text: str) -> tuple[Json, bool]:
        """Return the value, and whether ``faults`` may find something in it."""
        self._odd = _SURROGATE.search(text) is not None
        try:
            value = self._decoder.decode(text)
        except json.JSONDecodeError as error:
            early = "; the text ends too early" if _ends_early(error, text) else ""
            problem = f"not valid JSON at column {error.colno}: {error.msg}{early}"
            raise NotJson(problem, error.lineno) from error
        except RecursionError as error:
            raise NotJson("not readable: nested too deeply", 1) from error
        except ValueError as error:
            raise NotJson("not readable: a number has too many digits", 1) from error
        return value, self._odd

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._odd = True
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    made[name] = Refused("the key stands twice in one object")
                seen.add(name)
        return made

    def _constant(self, text: str) -> Json:
        self._odd = True
        return Refused(f"{text} is not JSON")

    def _float(self, text: str) -> Json:
        number = float(text)
        if math.isinf(number):
            self._odd = True
            return Refused(f"the number {text:.40} is too large")
        return number


def faults(fields: dict[str, Json]) -> Iterator[str]:
    """Say what is wrong inside the values of an object, field by field."""
    for name, value in fields.items():
        if not _encodable(name):
            yield f"{name!a}: a lone surrogate, which is no character"
        stack = [(name, value)]
        while stack:
            key, inner = stack.pop()
            if isinstance(inner, Refused):
                yield f"{key!a}: {inner.reason}"
            elif isinstance(inner, dict):
                for below, item in inner.items():
                    if not _encodable(below):
                        yield f"{below!a}: a lone surrogate, which is no character"
                    stack.append((below, item))
            elif isinstance(inner, list):
                stack.extend((key, item) for item in inner)
            elif isinstance(inner, str) and not _encodable(inner):
                yield f"{key!a}: a lone surrogate, which is no character, in {ascii(inner)[:60]}"


def read_json(text: str, path: Path, names: Names, problems: Problems) -> Document | None:
    """Read an object with ``entries`` or a bare array of entries; None for other JSON."""
    if not text.strip():
        raise SuiteError(path, "the file is empty")
    try:
        value, odd = StrictJson().decode(text)
    except NotJson as error:
        raise SuiteError(path, str(error), line=error.line) from error
    envelope: dict[str, Json] = {}
    entries = value
    if isinstance(value, dict):
        if "entries" not in value:
            return None
        entries = value.pop("entries")
        envelope = value
        if odd:
            for fault in faults(envelope):
                problems.add(fault)
    elif not isinstance(value, list) or not any(
        isinstance(item, dict) and names.has_source(item) for item in value
    ):
        return None
    if isinstance(entries, Refused):
        problems.add(f"'entries': {entries.reason}")
        problems.check()
    if not isinstance(entries, list):
        what = f"an object with the keys {listed(entries)}" if isinstance(entries, dict) else "not"
        raise SuiteError(path, f"entries must be a list of objects ({what} a list)")
    if not entries:
        raise SuiteError(path, "0 entries")
    document = Document("json", [], envelope)
    for ordinal, item in enumerate(entries, 1):
        if not isinstance(item, dict):
            reason = item.reason if isinstance(item, Refused) else f"found {item!r:.60}"
            problems.add(f"an entry must be an object: {reason}", entry=ordinal)
            continue
        if odd:
            for fault in faults(item):
                problems.add(fault, entry=ordinal)
        document.entries.append(RawEntry(item, ordinal))
    problems.check()
    claimed = envelope.get("entry_count")
    if isinstance(claimed, int) and not isinstance(claimed, bool) and claimed != len(entries):
        document.notes.append(
            f"entry_count says {claimed}, but the file holds "
            f"{counted(len(entries), 'entry', 'entries')}"
        )
    return document


def _ends_early(error: json.JSONDecodeError, text: str) -> bool:
    """Say whether what is missing would have come after the end: a file that was cut off."""
    rest = text[error.pos :].strip()
    return not rest or rest == "," or error.msg.startswith("Unterminated string")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
