"""Canonical JSON: the two texts that a run card is hashed over, piece by piece.

A card may hold 100,000 rows, so no function here makes its whole text: rows are encoded one at a
time, and whoever hashes or writes takes the pieces as they come.

``plain`` brings a card into the form in which every reader keeps its numbers: an integral value
is an integer (``1`` and not ``1.0``, ``0`` and not ``-0.0``), as a reader that knows only doubles
would write it. Both hashes of a plain card survive a round trip through such a reader.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import rfc8785

from pytest_mtarena.errors import CardError
from pytest_mtarena.records import Json

ROWS = "results"
"""The key of a card whose value is a list that is encoded row by row."""

_SAFE = 2**53
"""Up to here every integer is a double."""
_LARGE = 1e21
"""From here on JavaScript writes an integral number with an exponent."""

_sorted = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, check_circular=False
)
_surrogate = re.compile("[\ud800-\udfff]")
_compact = json.JSONEncoder(
    sort_keys=True,
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,
    separators=(",", ":"),
)
_SUSPECT = re.compile(r"[0-9](?:e[+-]|\.0[,}\]]|[0-9]{15})")
"""An exponent, an integral float, or an integer of 16 digits; one search for all is cheapest."""
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")


def plain(value: Json, where: str = "") -> Json:
    """Return a JSON value with numbers that every reader keeps; shares all that is plain already.

    Raises CardError naming the keys that lead to NaN, Infinity, an integer that a double cannot
    hold, a lone surrogate, a key that is no string, or something that is not JSON at all.
    """
    try:
        return _plain(value)
    except (_NotPlain, RecursionError):
        raise CardError(_first_problem(value, where)) from None


def legacy_chunks(card: Mapping[str, Json]) -> Iterator[str]:
    """Yield the text of the documented hash, in pieces.

    Together they are ``json.dumps({**card, "run_card_hash": ""}, sort_keys=True,
    ensure_ascii=False)``.
    """
    return _chunks({**card, "run_card_hash": ""}, sorted, _legacy, ", ", ": ")


def jcs_chunks(card: Mapping[str, Json], rows: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the text of a card in the form of RFC 8785 (JSON Canonicalization Scheme), in pieces.

    ``rows`` are the texts of the rows, when somebody has them already.

    An integer beyond 2**53 is accepted when it is what a reader of doubles would write.
    """
    return _chunks(card, _by_utf16, _jcs, ",", ":", rows)


def is_rows(value: Json) -> bool:
    """Say whether a value can be the rows of a card: a list, or a sequence that reads them."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def row_text(row: Json, at: int | None = None) -> str:
    """Return the text of a row in the form of RFC 8785, on one line; what it says is plain.

    Raises CardError for what is not JSON, or not the same JSON to every reader.
    """
    where = "the row" if at is None else f"{ROWS}[{at}]"
    if type(row) is dict and _is_simple(row):
        try:
            text = _compact.encode(row)
        except (ValueError, TypeError):
            raise CardError(_first_problem(row, where)) from None
    else:
        text = _jcs(row, where)
    if not text.isascii() and _surrogate.search(text):
        raise CardError(_first_problem(row, where))
    return text


def _is_simple(row: dict[str, Json]) -> bool:
    """Say whether a row holds nothing that RFC 8785 could write in another way than Python does.

    Cheaper than a search through its text, and right for most rows.
    """
    for value in row.values():
        kind = type(value)
        if value is None or kind is str or kind is bool:
            continue
        if kind is float:
            if value.is_integer() or not 1e-4 < abs(value) < 1e15:
                return False
        elif kind is int:
            if not -_SAFE <= value <= _SAFE:
                return False
        elif value or kind not in (dict, list):
            return False
    return "".join(row).isascii()  # the order of keys


def _chunks(
    card: Mapping[str, Json],
    order: Callable[[Iterable[str]], list[str]],
    encode: Callable[[Json, str], str],
    comma: str,
    colon: str,
    rows: Sequence[str] | None = None,
) -> Iterator[str]:
    yield "{"
    for number, key in enumerate(order(card)):
        yield f"{comma if number else ''}{encode(key, key)}{colon}"
        value = card[key]
        if key == ROWS and is_rows(value):
            yield "["
            for at in range(len(value)):
                text = encode(value[at], f"{ROWS}[{at}]") if rows is None else rows[at]
                yield f"{comma}{text}" if at else text
            yield "]"
        else:
            yield encode(value, key)
    yield "}"


def _by_utf16(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _legacy(value: Json, where: str) -> str:
    try:
        return _sorted.encode(value)
    except (ValueError, TypeError, RecursionError):
        raise CardError(_first_problem(value, where)) from None


def _jcs(value: Json, where: str) -> str:
    try:
        text = _compact.encode(value)
    except (ValueError, TypeError, RecursionError):
        raise CardError(_first_problem(value, where)) from None
    if not _may_differ(text):
        return text
    try:
        even = _plain(value)
        if even is not value and not _may_differ(text := _compact.encode(even)):
            return text
        return rfc8785.dumps(_doubles(even)).decode("utf-8")
    except (_NotPlain, rfc8785.CanonicalizationError, RecursionError):
        raise CardError(_first_problem(value, where)) from None


def _may_differ(text: str) -> bool:
    """Say whether RFC 8785 may write a value in another way than Python's compact text.

    That is so for exponents, integral floats, integers that no double holds, and the order of
    keys beyond the BMP. A string that looks like one of these only costs time.
    """
    return bool(
        _SUSPECT.search(text)
        or text.endswith(".0")
        or text[0].isdigit()
        or (not text.isascii() and _BEYOND_BMP.search(text))
    )


class _NotPlain(Exception):
    """Something here is not JSON; ``_first_problem`` finds out what and where."""


def _plain(value: Json) -> Json:
    kind = type(value)
    if kind is str:
        if not value.isascii() and _surrogate.search(value):
            raise _NotPlain
        return value
    if value is None or kind is bool:
        return value
    if kind is float:
        return _number(value)
    if kind is int:
        return value if -_SAFE <= value <= _SAFE else _large(value)
    if kind is dict:
        return _plain_mapping(value)
    if kind is list:
        fresh = None
        for at, inner in enumerate(value):
            new = _plain(inner)
            if new is not inner:
                if fresh is None:
                    fresh = list(value)
                fresh[at] = new
        return value if fresh is None else fresh
    # The rarer ones: subclasses such as numpy's float64 and enumerations, tuples, mappings.
    if isinstance(value, str):
        return _plain(str.__str__(value))
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, int):
        return _plain(int(value))
    if isinstance(value, Mapping):
        return _plain_mapping(dict(value))
    if isinstance(value, tuple | list):
        return _plain(list(value))
    raise _NotPlain


def _plain_mapping(value: dict[str, Json]) -> dict[str, Json]:
    fresh = None
    for key, inner in value.items():
        if type(key) is not str or (not key.isascii() and _surrogate.search(key)):
            raise _NotPlain
        new = _plain(inner)
        if new is not inner:
            if fresh is None:
                fresh = dict(value)
            fresh[key] = new
    return value if fresh is None else fresh


def _number(value: float) -> float | int:
    if not math.isfinite(value):
        raise _NotPlain
    if not value.is_integer() or abs(value) >= _LARGE:
        return value
    # Above 2**53 the digits of the shortest text, not those of the exact value: that is what a
    # reader of doubles writes.
    return int(value) if abs(value) <= _SAFE else int(Decimal(repr(value)))


def _large(value: int) -> int:
    try:
        same = abs(value) < _LARGE and int(Decimal(repr(float(value)))) == value
    except OverflowError:
        same = False
    if not same:
        raise _NotPlain
    return value


def _doubles(value: Json) -> Json:
    """Return a plain value with its integers beyond 2**53 as floats, for the rfc8785 package."""
    if isinstance(value, dict):
        return {key: _doubles(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_doubles(inner) for inner in value]
    if type(value) is int and not -_SAFE < value < _SAFE:
        return float(value)
    return value


def _first_problem(value: Json, where: str) -> str:
    """Return what is wrong in a value that is not JSON, with the keys that lead to it."""
    # A stack and not a recursion: the problem may be the depth itself.
    stack: list[tuple[Json, str, int]] = [(value, where, 0)]
    while stack:
        inner, path, depth = stack.pop()
        name = path or "the card"
        if depth > 200:
            return f"{path[:80]}...: nested too deeply for a run card"
        if isinstance(inner, Mapping):
            for key in inner:
                if not isinstance(key, str):
                    return f"{name}: the key {key!r} is not a string"
                if _surrogate.search(key):
                    return f"{name}: the key {key!r} holds a lone surrogate"
            children = [(v, f"{path}.{k}" if path else k, depth + 1) for k, v in inner.items()]
            stack.extend(reversed(children))
        elif isinstance(inner, list | tuple):
            rows = [(v, f"{path}[{at}]", depth + 1) for at, v in enumerate(inner)]
            stack.extend(reversed(rows))
        elif problem := _leaf_problem(inner):
            return f"{name}: {problem}"
    return f"{where or 'the card'}: cannot be written as JSON"


def _leaf_problem(leaf: Json) -> str | None:
    if leaf is None or isinstance(leaf, bool):
        return None
    if isinstance(leaf, str):
        bad = _surrogate.search(leaf)
        return f"a lone surrogate at character {bad.start()}" if bad else None
    if isinstance(leaf, float):
        return None if math.isfinite(leaf) else f"{leaf!r} is not a JSON number; use null"
    if isinstance(leaf, int):
        try:
            _plain(int(leaf))
        except _NotPlain:
            return "an integer beyond 2**53 that other JSON readers would change; write it as text"
        return None
    return f"{type(leaf).__name__} is not a JSON value"
