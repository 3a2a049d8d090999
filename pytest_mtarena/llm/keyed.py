"""A batch as a JSON object: how it is written, its schema, and how the reply is read, by key only.

The keys are the ids of the entries. Ids that a provider may refuse as names of a schema (blanks,
other letters than ASCII, more than 64 characters) are replaced by ``e1``, ``e2`` ... for the whole
batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mtarena.llm.cleaning import Problem, is_unicode, problem
from pytest_mtarena.records import Json, Record

SCHEMA_NAME = "translations"
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OBJECT = re.compile(r'\{\s{0,100}["}]')
_SPACE = re.compile(r"[ \t\r\n]*")
_CANDIDATES = 64
"""Places that are tried as the start of an object, at most."""


class _Pairs(list[tuple[str, Any]]):
    """An object with its repeated keys."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)


class Keyed(Record):
    """What a reply says, by key."""

    texts: dict[str, str]
    """Key to answer, for the keys that have exactly one; not cleaned yet."""
    problems: tuple[Problem, ...] = ()
    whole: bool = False
    """Whether the reply as a whole is not to be trusted.

    With a schema of exactly these keys any other set of keys shows that the model lost count, and
    then a text may hold its neighbour's as well. So does a last key with null or an empty text: a
    model that has to name every key fills up what it has no text for.
    """


def keys_for(ids: Sequence[str]) -> list[str]:
    """Return the keys of a batch, one an id: the ids themselves where they can be keys."""
    if all(_PLAIN.fullmatch(one) for one in ids):
        return list(ids)
    return [f"e{number}" for number in range(1, len(ids) + 1)]


def write(keys: Sequence[str], sources: Sequence[str]) -> str:
    """Return the sources as a JSON object, one line a key."""
    return json.dumps(dict(zip(keys, sources, strict=True)), ensure_ascii=False, indent=0)


def schema(keys: Sequence[str]) -> Mapping[str, Json]:
    """Return the JSON Schema of a reply: an object with exactly these keys, all of them text."""
    return {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys},
        "required": list(keys),
        "additionalProperties": False,
    }


def read(reply: str, keys: Sequence[str], *, cut: bool = False) -> Keyed:
    """Read a reply by key; never raises.

    One JSON object is looked for, in a fence or with words around it. ``cut`` says that the reply
    ended at the limit of tokens: then the pairs before the end count, and none is missed.
    """
    known = set(keys)
    found = [_inner(one, known) for one in _objects(reply)]
    answering = [one for one in found if any(key in known for key, _ in one)]
    if cut and not answering:
        pairs = _beginning(reply, known)
        return _keyed(pairs, keys, [], complete=False)
    if not answering:
        named = [problem("out_of_range", key) for one in found for key, _ in one]
        problems = named[: len(keys)] or [problem("no_object", "", reply)]
        return _keyed(_Pairs(), keys, problems, complete=True)
    if any(one != answering[0] for one in answering[1:]):
        problems = [problem("several_objects")]
        return _keyed(_Pairs(), keys, problems, complete=True)
    return _keyed(answering[0], keys, [], complete=True)


def _keyed(pairs: _Pairs, keys: Sequence[str], problems: list[Problem], *, complete: bool) -> Keyed:
    values: dict[str, list[Any]] = {key: [] for key in keys}
    unknown: list[str] = []
    for key, value in pairs:
        values.get(key, unknown).append(value if key in values else key)
    problems = [*problems, *(problem("out_of_range", key) for key in unknown[: len(keys)])]
    texts: dict[str, str] = {}
    for key, given in values.items():
        if not given:
            if complete:
                problems.append(problem("missing", key))
        elif len(given) > 1:
            problems.append(problem("duplicate", key))
        elif not isinstance(given[0], str) or not is_unicode(given[0]):
            problems.append(problem("not_text", key, repr(given[0])[:100]))
        elif not given[0].strip():
            problems.append(problem("empty", key))
        else:
            texts[key] = given[0]
    lost = any(one.kind not in ("empty", "not_text", "stray") for one in problems)
    if complete and len(keys) > 1:
        lost = lost or any(map(_fills_up, values[keys[-1]]))
    return Keyed(texts=texts, problems=tuple(problems), whole=lost)


def _fills_up(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _objects(reply: str) -> Iterator[_Pairs]:
    """Yield the objects of a reply that are not inside one another."""
    position = 0
    for _ in range(_CANDIDATES):
        start = _OBJECT.search(reply, position)
        if start is None:
            return
        try:
            value, position = _DECODER.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            position = start.start() + 1
            continue
        if isinstance(value, _Pairs):
            yield value


def _inner(pairs: _Pairs, known: set[str]) -> _Pairs:
    """Return the answers of an object; some models put them under one more key."""
    if len(pairs) == 1 and pairs[0][0] not in known and isinstance(pairs[0][1], _Pairs):
        return pairs[0][1]
    return pairs


def _beginning(reply: str, known: set[str]) -> _Pairs:
    """Return the complete pairs of an object whose end is missing."""
    pairs = _Pairs()
    start = _OBJECT.search(reply)
    position = len(reply) if start is None else start.start() + 1
    try:
        while True:
            key, position = _DECODER.raw_decode(reply, _skip(reply, position))
            position = _skip(reply, position)
            if not isinstance(key, str) or reply[position : position + 1] != ":":
                return pairs
            position = _skip(reply, position + 1)
            if not pairs and key not in known and reply[position : position + 1] == "{":
                position += 1
                continue
            value, position = _DECODER.raw_decode(reply, position)
            pairs.append((key, value))
            position = _skip(reply, position)
            if reply[position : position + 1] != ",":
                return pairs
            position += 1
    except (ValueError, RecursionError):
        return pairs


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
