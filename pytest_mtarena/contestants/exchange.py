"""The one-to-one check: each entry gets the one result that names its id, or a failure.

Results are matched by id and never by position. What is wrong with one result costs exactly the
entry that it names; a result that names no entry of the batch is reported, and helps nobody.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mtarena.contestants.calling import clean, one_line
from pytest_mtarena.protocols import Entry
from pytest_mtarena.records import Attempt, Failure, Json, Record

MAX_JSON = 1_000_000
"""The largest ``metadata`` or ``tool_calls`` of one result, in characters of JSON."""
_MAX_DEPTH = 64
_MAX_INTEGER = 2**53 - 1
"""Larger integers do not survive a JSON reader that uses doubles."""
_SHOWN = 5


class Exchange(Record):
    """What a batch of results amounts to."""

    attempts: tuple[Attempt, ...]
    """One per entry, in the order of the entries."""
    faults: tuple[str, ...] = ()
    """What was wrong and belongs to no entry, one line each."""


def contract(function: str = "translate") -> str:
    """Return the contract in one sentence, for error messages."""
    return (
        f"{function}() must return a list of dicts, one per entry, "
        "each with 'id' and 'predicted' (str)"
    )


def check_results(
    entries: Sequence[Entry], results: object, function: str = "translate"
) -> Exchange:
    """Match results to entries by id and check every field; never raises for bad results."""
    rule = contract(function)
    if not isinstance(results, list | tuple):
        text = f"got {_kind(results)} instead of a list; {rule}"
        return Exchange(attempts=tuple(_failed(entry["id"], "contract", text) for entry in entries))

    wanted = {entry["id"] for entry in entries}
    by_id: dict[str, list[Mapping[Any, Any]]] = {}
    mistyped: dict[str, str] = {}
    unknown: list[str] = []
    stray: list[str] = []
    for position, result in enumerate(results, start=1):
        if not isinstance(result, dict):
            stray.append(f"result {position} is {_kind(result)} instead of a dict")
            continue
        given = result.get("id")
        if not isinstance(given, str):
            stray.append(
                f"the id of result {position} is {_kind(given)} instead of a str"
                if "id" in result
                else f"result {position} has no id"
            )
            if type(given) is int and str(given) in wanted:
                mistyped[str(given)] = stray.pop()
        elif given not in wanted:
            unknown.append(given)
        else:
            by_id.setdefault(str.__str__(given), []).append(result)

    attempts = []
    for entry in entries:
        key = entry["id"]
        found = by_id.get(key, [])
        if len(found) == 1 and key not in mistyped:
            attempts.append(_attempt(key, found[0], rule))
        elif found:
            count = len(found) + (key in mistyped)
            text = f"{count} results for this id, so none is taken; {rule}"
            attempts.append(_failed(key, "duplicate_result", text))
        elif key in mistyped:
            attempts.append(_failed(key, "contract", f"{mistyped[key]}; {rule}"))
        elif stray:
            text = f"no result names this id; {_some(stray, '; ')}; {rule}"
            attempts.append(_failed(key, "contract", text))
        else:
            attempts.append(_failed(key, "missing_result", f"no result for this entry; {rule}"))
    return Exchange(attempts=tuple(attempts), faults=tuple(_faults(unknown, stray, function)))


def _faults(unknown: Sequence[str], stray: Sequence[str], function: str) -> list[str]:
    faults = []
    if unknown:
        named = _some([clean(repr(name[:80])) for name in unknown], ", ")
        faults.append(f"{function}() returned results for ids that were not asked for: {named}")
    if stray:
        faults.append(f"{function}() returned results that name no entry: {_some(stray, '; ')}")
    return faults


def _some(texts: Sequence[str], separator: str) -> str:
    more = len(texts) - _SHOWN
    return separator.join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _failed(key: str, kind: str, message: str) -> Attempt:
    return Attempt(id=key, failure=Failure(kind=kind, message=message))


def _attempt(key: str, result: Mapping[Any, Any], rule: str) -> Attempt:
    """Read one result; whatever of it is sound is kept even when something else is not."""
    problems: list[str] = []
    reported = result.get("error")
    if reported is not None and not isinstance(reported, str):
        problems.append(f"error is {_kind(reported)} instead of a str or None")
        reported = None
    output = _output(result, problems, required=not reported)
    raw = _text(result, "raw_predicted", problems)
    latency = _amount(result, "latency_s", problems)
    cost = _amount(result, "cost_usd", problems)
    usage = _usage(result, problems)
    metadata = _json(result, "metadata", dict, problems)
    tool_calls = _json(result, "tool_calls", list, problems)
    _count_calls(result, tool_calls, metadata, problems)

    failure = None
    if problems:
        failure = Failure(kind="contract", message=f"{'; '.join(problems)}; {rule}")
    elif reported:
        failure = Failure(kind="reported", message=one_line(reported) or "an error without a text")
    return Attempt(
        id=key,
        output=output if failure is None else None,
        raw_output=output if raw is None else raw,
        failure=failure,
        latency_seconds=latency,
        usage=usage,
        cost_usd=cost,
        tool_calls=tuple(tool_calls),
        metadata=metadata,
    )


def _output(result: Mapping[Any, Any], problems: list[str], *, required: bool) -> str | None:
    """Return ``predicted``, which may also be called ``output``."""
    given = [key for key in ("predicted", "output") if result.get(key) is not None]
    if not given:
        if required:
            said = "None" if "predicted" in result or "output" in result else "missing"
            problems.append(f"predicted is {said}")
        return None
    texts = [_text(result, key, problems) for key in given]
    if len(texts) == 2 and None not in texts and texts[0] != texts[1]:
        problems.append("predicted and output differ")
        return None
    return texts[0]


def _text(result: Mapping[Any, Any], key: str, problems: list[str]) -> str | None:
    value = result.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        problems.append(f"{key} is {_kind(value)} instead of a str")
        return None
    try:
        return str.__str__(value).encode().decode()
    except UnicodeEncodeError:
        problems.append(f"{key} is not valid Unicode (a lone surrogate)")
        return None


def _amount(result: Mapping[Any, Any], key: str, problems: list[str]) -> float | None:
    value = result.get(key)
    if value is None:
        return None
    try:
        number = _number(value)
    except ValueError as error:
        problems.append(f"{key} {error}")
        return None
    if number < 0:
        problems.append(f"{key} is negative")
        return None
    return float(number)


def _number(value: object) -> int | float:
    """Return a plain finite number for any real number, NumPy's scalars included."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"is {_kind(value)} instead of a number")
    number = int(value) if isinstance(value, numbers.Integral) else float(value)
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"is {number}, which is no amount")
    if abs(number) > _MAX_INTEGER and isinstance(number, int):
        raise ValueError("is an integer beyond 2^53, which JSON readers damage")
    return number


def _usage(result: Mapping[Any, Any], problems: list[str]) -> dict[str, Json]:
    """Return token counts; details may be nested one or more levels, None means not known."""
    usage = _json(result, "usage", dict, problems)
    if not isinstance(usage, dict):
        return {}
    try:
        return _counts(usage)
    except ValueError as error:
        problems.append(f"usage: {error}")
        return {}


def _counts(usage: Mapping[str, Json]) -> dict[str, Json]:
    counts: dict[str, Json] = {}
    for key, value in usage.items():
        if value is None:
            continue
        if isinstance(value, dict):
            counts[key] = _counts(value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{one_line(key)!r} is {_kind(value)} instead of a number")
        elif value < 0:
            raise ValueError(f"{one_line(key)!r} is negative")
        else:
            counts[key] = value
    return counts


def _json(result: Mapping[Any, Any], key: str, shape: type[Any], problems: list[str]) -> Any:
    """Return a plain copy of a JSON value of the given shape, empty when it is absent or bad."""
    value = result.get(key)
    if value is None:
        return shape()
    accepted = (list, tuple) if shape is list else shape
    if not isinstance(value, accepted):
        problems.append(f"{key} is {_kind(value)} instead of a {shape.__name__}")
        return shape()
    try:
        return plain_json(value)
    except ValueError as error:
        problems.append(f"{key}: {error}")
        return shape()


def _count_calls(
    result: Mapping[Any, Any],
    tool_calls: Sequence[Json],
    metadata: dict[str, Json],
    problems: list[str],
) -> None:
    """Check ``tool_call_count``; a count without a list of the calls is kept as metadata."""
    count = result.get("tool_call_count")
    if count is None:
        return
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or int(count) < 0:
        problems.append("tool_call_count must be an integer >= 0")
    elif tool_calls and int(count) != len(tool_calls):
        problems.append(f"tool_call_count is {int(count)}, but tool_calls has {len(tool_calls)}")
    elif not tool_calls and count:
        metadata.setdefault("tool_call_count", int(count))


def plain_json(value: object) -> Json:
    """Return a copy of a JSON value made of plain types; ValueError says why there is none."""
    return _Copier().copy(value)


class _Copier:
    """Makes plain JSON values of foreign ones, within bounds of size and depth."""

    def __init__(self) -> None:
        self._room = MAX_JSON

    def copy(self, value: object, depth: int = 0) -> Json:
        """Return a copy made of plain types; ValueError says why there is none."""
        self._spend(1)
        if depth > _MAX_DEPTH:
            raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            copied = {}
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise ValueError(f"the key {one_line(repr(key))} is no str")
                copied[self._text(key)] = self.copy(inner, depth + 1)
            return copied
        if isinstance(value, list | tuple):
            return [self.copy(inner, depth + 1) for inner in value]
        if isinstance(value, numbers.Real):
            try:
                return _number(value)
            except ValueError as error:
                raise ValueError(f"a value {error}") from None
        if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
            return bool(value)
        raise ValueError(f"a value is {_kind(value)}, which JSON does not have")

    def _text(self, value: str) -> str:
        self._spend(len(value))
        try:
            return str.__str__(value).encode().decode()
        except UnicodeEncodeError:
            raise ValueError("a text is not valid Unicode (a lone surrogate)") from None

    def _spend(self, amount: int) -> None:
        self._room -= amount
        if self._room < 0:
            raise ValueError(f"larger than {MAX_JSON:,} characters")


def _kind(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in tuple('aeio') else 'a'} {name}"
