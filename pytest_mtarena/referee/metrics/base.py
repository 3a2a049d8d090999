"""What metrics share: missing values, signatures, and metrics that are a mean over entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import (
    Metric,
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
)
from pytest_mtarena.referee.metrics.ids import NO_VALUE, NON_FINITE
from pytest_mtarena.text import printable

FAULTS = (Exception, SystemExit, GeneratorExit)
"""What foreign code may raise without costing more than its own values.

Not KeyboardInterrupt, which is the user's, nor what pytest ends a test with.
"""


def present(rows: Statistics) -> npt.NDArray[np.bool_]:
    """Return for each row of statistics whether it has a value; a NaN says that it has none."""
    missing: npt.NDArray[np.bool_] = np.any(np.isnan(rows), axis=1)
    return ~missing


def finite_or_none(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return the values as plain floats, None for what is not finite."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def ratio(
    above: npt.NDArray[np.float64], below: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return ``above / below``, NaN where there is nothing to divide by."""
    quotients = np.full(len(above), np.nan)
    np.divide(above, below, where=below > 0, out=quotients)
    return quotients


def sacrebleu_signature(metric: Any, references: int) -> str:
    """Return sacreBLEU's signature for a number of references a segment; -1: it varies."""
    metric.num_refs = references
    return str(metric.get_signature().format())


@dataclass
class MeanMetric:
    """The mean of a function of one entry, over the entries that have a value."""

    id: str
    title: str
    function: Callable[[MetricInput], float | None]
    scale: str
    direction: MetricDirection
    role: MetricRole
    version: str
    level: MetricLevel = "entry"

    @property
    def signature(self) -> str:
        """The id, the version and how entries are put together."""
        return f"{self.id}|version:{self.version}|mean"

    def evaluate(self, inputs: Sequence[MetricInput]) -> tuple[Statistics, list[str | None]]:
        """Return rows (value, 1), NaN where there is no value, and the reasons for those."""
        rows = np.full((len(inputs), 2), np.nan)
        reasons: list[str | None] = []
        for row, one in zip(rows, inputs, strict=True):
            value, reason = self._value(one)
            if value is not None:
                row[:] = value, 1
            reasons.append(reason)
        return rows, reasons

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return rows (value, 1); NaN where there is no value."""
        return self.evaluate(inputs)[0]

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the means; NaN where no entry has a value."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the function's values."""
        return finite_or_none(rows[:, 0])

    def _value(self, one: MetricInput) -> tuple[float | None, str | None]:
        try:
            given: object = self.function(one)
            if given is None:
                return None, NO_VALUE
            if not isinstance(given, SupportsFloat):
                raise TypeError(f"a number is needed, not {type(given).__name__}")
            value = float(given)
        except FAULTS as error:  # a plug-in's fault costs one value, never the run
            return None, fault(error)
        return (value, None) if math.isfinite(value) else (None, NON_FINITE)


def fault(error: BaseException) -> str:
    """Return an exception as a reason of one printable line."""
    try:
        text = one_line(str(error))
    except Exception:  # a foreign __str__ may do anything
        text = ""
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__


def one_line(text: str) -> str:
    """Return a text on one printable line of at most 200 characters."""
    return printable(" ".join(text[:1000].split()))[:200]


def columns_of(metric: Metric) -> tuple[str, ...]:
    """Return the names of a metric's statistics; empty when it has none that can be used."""
    given = getattr(metric, "columns", ())
    if not isinstance(given, tuple | list) or not all(isinstance(name, str) for name in given):
        return ()
    return tuple(given) if len(set(given)) == len(given) else ()


def mean_metric(
    id: str,
    function: Callable[[MetricInput], float | None],
    *,
    scale: str,
    title: str | None = None,
    direction: MetricDirection = "higher",
    role: MetricRole = "secondary",
    version: str = "1",
) -> Metric:
    """Return a metric whose value is the mean of ``function`` over the entries.

    The function may return None for an entry that it does not apply to. One that raises, or
    returns what is not a finite number, costs the value of that entry only; the row says why.
    """
    return MeanMetric(id, title or id, function, scale, direction, role, version)
