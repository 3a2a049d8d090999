"""JSON values of foreign code, such as a metric's evidence, before they get near a card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_mtarena.records import Json

_SAFE = 2**53
"""Up to here every reader of JSON keeps an integer."""
_DEEPEST = 50


def as_json(value: Any, name: str, depth: int = 0) -> Json:
    """Return a value as plain JSON; mappings, tuples and subclasses of numbers are made plain.

    Raises TypeError or ValueError, a line that begins with ``name``, for anything that a card
    cannot hold: other types, NaN, integers beyond 2**53, lone surrogates, endless nesting.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _check_text(value, name)
        return str.__str__(value)
    if isinstance(value, int):
        if abs(value) > _SAFE:
            raise ValueError(f"{name}: an integer beyond 2**53")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name}: a number that is not finite")
        return float(value)
    if depth >= _DEEPEST:
        raise ValueError(f"{name}: nested too deeply")
    if isinstance(value, Mapping):
        return {_key(key, name): as_json(one, name, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one, name, depth + 1) for one in value]
    raise TypeError(f"{name}: {type(value).__name__} is no JSON value")


def storable(value: Json) -> Json:
    """Return a JSON value with integers beyond 2**53 as text: ids of 64 bits are common.

    What holds none is returned as it is.
    """
    kind = type(value)
    if kind is int:
        return value if -_SAFE <= value <= _SAFE else str(value)
    if kind is list and value:
        return [storable(one) for one in value]
    if kind is dict and value:
        return {key: storable(one) for key, one in value.items()}
    return value


def _key(key: Any, name: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{name}: a key that is no text")
    _check_text(key, name)
    return key


def _check_text(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: a lone surrogate") from None
