"""Shipping: one JSON string on the report of the call takes a row from a worker home.

A string survives every way that reports travel; anything else in a report (a numpy number, a
lone surrogate, a Path) can end a distributed session. A payload over 256 KB goes to a file in the
session's spool directory, and its path is shipped instead.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.card.canonical import row_text
from pytest_mtarena.plugin.items import CaseItem
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.rows import ROW

PAYLOAD = "mtarena_payload"
WORDS = "mtarena_words"
MAX_INLINE = 256 * 1024

_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def pack(
    slot: Slot,
    row: Mapping[str, Any],
    statistics: Mapping[str, Sequence[float]],
    faults: Sequence[str] = (),
) -> str:
    """Return the payload of a row; raises CardError for a row, and ValueError for statistics,
    that are no strict JSON.

    The row stands first, in the form that a card has it, so that nobody has to encode it again.
    """
    text = row_text(_in_order(row))
    numbers = _encode(statistics) if statistics else "{}"
    told = f',"faults":{_encode(list(faults))}' if faults else ""
    head = f'{{"size":{len(text)},{ROW}{text},"run":{_quoted(slot.run)},"index":{slot.position},'
    return f'{head}"statistics":{numbers}{told}}}'


_quoted = lru_cache(maxsize=256)(_encode)
"""The name of a run as JSON."""

_orders: dict[tuple[str, ...], list[str]] = {}


def _in_order(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with sorted keys: it will be encoded with sorted keys more than once."""
    names = tuple(row)
    if names not in _orders:
        _orders[names] = sorted(names)
    return {name: row[name] for name in _orders[names]}


class Shipping:
    """The hook that puts an item's payload on its report."""

    def __init__(self, spool: Path | None, words: bool) -> None:
        self._spool = spool
        self._words = words

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Attach the payload to the report of the call."""
        report = yield
        if call.when != "call" or not isinstance(item, CaseItem):
            return report
        if self._words and item.words:
            setattr(report, WORDS, item.words)
        if item.payload is not None:
            payload, item.payload = item.payload, None
            if self._spool is not None and len(payload) > MAX_INLINE:
                payload = put_aside(self._spool, payload)
            setattr(report, PAYLOAD, payload)
        return report


def put_aside(spool: Path, payload: str) -> str:
    """Write a large payload to a file; return what is shipped instead."""
    descriptor, name = tempfile.mkstemp(dir=spool, prefix="payload-", suffix=".json")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(payload)
    return "@" + name


def unpack(payload: str) -> str:
    """Return the payload itself, from its file when it was put aside."""
    if payload.startswith("@"):
        path = Path(payload[1:])
        payload = path.read_text(encoding="utf-8")
        path.unlink()
    return payload
