"""Runs metrics over a batch of entries so that no metric can cost more than its own values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_mtarena.errors import ArenaError
from pytest_mtarena.protocols import Examining, Finding, Metric, MetricInput, Statistics, Whole
from pytest_mtarena.records import Json
from pytest_mtarena.referee.inputs import own_copies
from pytest_mtarena.referee.jsonvalue import as_json
from pytest_mtarena.referee.metrics.base import (
    FAULTS,
    MeanMetric,
    columns_of,
    fault,
    one_line,
    present,
)
from pytest_mtarena.referee.metrics.ids import EVERY_ID, IDS, NO_VALUE, NON_FINITE

ATTEMPT_FAILED = "the attempt failed"
UNDEFINED = "undefined for these entries"


@dataclass(frozen=True)
class Judged:
    """What one metric says of a batch."""

    rows: Statistics
    """Sufficient statistics, NaN where an entry has no value."""
    values: list[float | None]
    """The value of each entry on the metric's scale, finite or None."""
    reasons: list[str | None]
    """Why a value is None."""
    evidence: Sequence[Json] = ()
    """What was found in each entry; empty when the metric tells nothing."""
    faults: Sequence[bool] | None = None
    """Which reasons are worth keeping in the row; None: all of them."""

    def kept_reason(self, place: int) -> str | None:
        """Return the reason of an entry, unless it only says that the metric does not apply."""
        if self.faults is None or self.faults[place]:
            return self.reasons[place]
        return None


def judge(metric: Metric, inputs: Sequence[MetricInput]) -> Judged:
    """Return what a metric says of a batch; a fault of a contributed metric becomes a reason."""
    if metric.id not in EVERY_ID:
        inputs = own_copies(inputs)
    if isinstance(metric, MeanMetric):
        rows, reasons = metric.evaluate(inputs)
        return _judged(rows, list(metric.entry(inputs, rows)), reasons)
    if isinstance(metric, Examining):
        return _examined(metric, inputs)
    if metric.id in IDS:
        rows = metric.statistics(inputs)
        return _judged(rows, list(metric.entry(inputs, rows)), [None] * len(inputs))
    return _judge_foreign(metric, inputs)


def judge_said(metric: Metric, inputs: Sequence[MetricInput]) -> Judged:
    """Judge the entries whose attempt did not fail; the others are not even shown."""
    said = [one for one in inputs if not one.failed]
    if len(said) == len(inputs):
        return judge(metric, inputs)
    found = judge(metric, said) if said else None
    width = 1 if found is None else found.rows.shape[1]
    rows = np.full((len(inputs), width), np.nan)
    values: list[float | None] = [None] * len(inputs)
    reasons: list[str | None] = [ATTEMPT_FAILED] * len(inputs)
    evidence: list[Json] = [None] * len(inputs)
    places = [place for place, one in enumerate(inputs) if not one.failed]
    for at, place in enumerate(places):
        assert found is not None
        rows[place] = found.rows[at]
        values[place], reasons[place] = found.values[at], found.kept_reason(at)
        evidence[place] = found.evidence[at] if found.evidence else None
    return Judged(rows, values, reasons, evidence)


def total(metric: Metric, rows: Statistics) -> tuple[float | None, str | None]:
    """Return the score of the summed rows, or None and the reason."""
    kept = rows[present(rows)]
    if not len(kept):
        return None, NO_VALUE
    try:
        with np.errstate(all="ignore"):
            score = float(metric.score(kept.sum(axis=0)[None])[0])
    except FAULTS as error:  # a plug-in's fault costs its own score only
        return None, fault(error)
    return (score, None) if np.isfinite(score) else (None, UNDEFINED)


def judge_all(
    metric: Whole, inputs: Iterable[MetricInput], n: int
) -> tuple[Statistics, str | None]:
    """Return what a metric says of all entries at once, and why it says nothing if it failed.

    ArenaError, such as that of a broken glossary, is not caught.
    """
    try:
        with np.errstate(all="ignore"):
            if getattr(metric, "id", None) not in EVERY_ID:
                inputs = (copy for one in inputs for copy in own_copies([one]))
            rows = _checked(metric.statistics_of_all(inputs), n)
        _mask_infinite(rows)
    except ArenaError:
        raise
    except FAULTS as error:  # a plug-in's fault costs its own score only
        return np.full((n, 1), np.nan), fault(error)
    return rows, None


def _examined(metric: Metric, inputs: Sequence[MetricInput]) -> Judged:
    """Put findings together; a fault is laid at the door of single entries."""
    assert isinstance(metric, Examining)
    width = len(columns_of(metric)) or None
    try:
        findings = [_sound(one, metric.id) for one in metric.examine(inputs)]
        if len(findings) != len(inputs):
            raise ValueError(f"{len(findings)} findings for {len(inputs)} entries")
        sizes = {len(one.statistics) for one in findings if one.statistics is not None}
        if len(sizes | ({width} if width else set())) > 1:
            raise ValueError(f"statistics of different lengths: {sorted(sizes)}")
    except FAULTS as error:
        if len(inputs) > 1:
            return _joined([_examined(metric, [one]) for one in inputs], width)
        findings = [Finding(None, None, fault(error), is_fault=True)]
        sizes = set()
    rows = np.full((len(inputs), width or max(sizes, default=1)), np.nan)
    for row, one in zip(rows, findings, strict=True):
        if one.statistics is not None:
            row[:] = one.statistics
    rows[np.isinf(rows).any(axis=1)] = np.nan
    told = _judged(rows, [one.value for one in findings], [one.reason for one in findings])
    return Judged(
        told.rows,
        told.values,
        told.reasons,
        [one.evidence for one in findings],
        [one.is_fault for one in findings],
    )


def _sound(found: Finding, name: str) -> Finding:
    """Return a finding that can be written down: plain numbers, a line, a JSON value."""
    if name in EVERY_ID:
        return found
    return Finding(
        None if found.statistics is None else [float(number) for number in found.statistics],
        None if found.value is None else float(found.value),
        None if found.reason is None else one_line(str(found.reason)),
        None if found.evidence is None else as_json(found.evidence, "evidence"),
        bool(found.is_fault),
    )


def _judge_foreign(metric: Metric, inputs: Sequence[MetricInput]) -> Judged:
    try:
        # Divisions by zero show in the values; as warnings they would only be noise.
        with np.errstate(all="ignore"):
            rows = _checked(metric.statistics(inputs), len(inputs))
            infinite = _mask_infinite(rows)
            entries = list(metric.entry(inputs, rows))
        if len(entries) != len(inputs):
            raise ValueError(f"{len(entries)} values for {len(inputs)} entries")
        values = [None if value is None else float(value) for value in entries]
    except FAULTS as error:  # a plug-in's fault is laid at the door of single entries
        if len(inputs) > 1:
            return _joined([_judge_foreign(metric, [one]) for one in inputs])
        return Judged(np.full((len(inputs), 1), np.nan), [None] * len(inputs), [fault(error)])
    reasons = [NON_FINITE if one else None for one in infinite.tolist()]
    return _judged(rows, values, reasons)


def _checked(rows: npt.ArrayLike, n: int) -> Statistics:
    table = np.array(rows, np.float64)
    if table.ndim != 2 or len(table) != n or not table.shape[1]:
        raise ValueError(f"statistics of shape {table.shape} for {n} entries")
    return table


def _mask_infinite(rows: Statistics) -> npt.NDArray[np.bool_]:
    """Make the rows that are not all finite NaN; return which had an infinity."""
    infinite: npt.NDArray[np.bool_] = np.any(np.isinf(rows), axis=1)
    rows[infinite | ~present(rows)] = np.nan
    return infinite


def _judged(rows: Statistics, values: list[float | None], reasons: Sequence[str | None]) -> Judged:
    told: list[str | None] = []
    for position, (value, reason) in enumerate(zip(values, reasons, strict=True)):
        if value is not None and not math.isfinite(value):
            values[position] = None
            # A NaN is how a metric says that there is no value.
            told.append(reason or (NO_VALUE if math.isnan(value) else NON_FINITE))
        else:
            told.append((reason or NO_VALUE) if value is None else None)
    return Judged(rows, values, told)


def _joined(parts: Sequence[Judged], width: int | None = None) -> Judged:
    width = width or max(part.rows.shape[1] for part in parts)
    rows = np.full((len(parts), width), np.nan)
    for row, part in zip(rows, parts, strict=True):
        if part.rows.shape[1] == width:
            row[:] = part.rows[0]
    return Judged(
        rows,
        [value for part in parts for value in part.values],
        [reason for part in parts for reason in part.reasons],
        [one for part in parts for one in part.evidence],
        None
        if any(part.faults is None for part in parts)
        else [one for part in parts for one in part.faults or ()],
    )
