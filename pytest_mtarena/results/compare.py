"""Where two JSON values differ, key by key, and what a faulty card becomes: one line."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from pytest_mtarena.errors import ArenaError, CardError
from pytest_mtarena.records import Json

_RELATIVE = 1e-9
"""Two machines may sum floats to neighbouring values; a rounded score differs by far more."""

_MISSING = object()


def differences(path: str, given: Json, found: Json, source: str) -> Iterator[str]:
    """Yield a line for each leaf that differs: ``PATH: 61.4 in the card, 60.9 from SOURCE``."""
    if isinstance(given, Mapping) and isinstance(found, Mapping):
        for key in [*found, *(key for key in given if key not in found)]:
            inner = given.get(key, _MISSING)
            yield from differences(f"{path}.{key}", inner, found.get(key, _MISSING), source)
    elif isinstance(given, list) and isinstance(found, list | tuple):
        for at, (one, other) in enumerate(zip_longest(given, found, fillvalue=_MISSING)):
            yield from differences(f"{path}[{at}]", one, other, source)
    elif not _same(given, found):
        yield f"{path}: {shown(given)} in the card, {shown(found)} from {source}"


def shown(value: object) -> str:
    """Return a value for a message, in one line and not long."""
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=True, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _same(given: object, found: object) -> bool:
    if isinstance(given, bool) or isinstance(found, bool):
        return given is found
    if isinstance(given, int | float) and isinstance(found, int | float):
        return math.isclose(given, found, rel_tol=_RELATIVE, abs_tol=_RELATIVE)
    if isinstance(given, tuple) or isinstance(found, tuple):
        return False
    return given == found


@contextlib.contextmanager
def telling(where: str) -> Iterator[None]:
    """Turn whatever foreign rows make go wrong into one line."""
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:  # a card is foreign material: its rows may hold anything
        text = " ".join(str(error).split())
        raise CardError(
            f"{where}: its rows cannot be scored: {type(error).__name__}: {text[:200]}"
        ) from error
