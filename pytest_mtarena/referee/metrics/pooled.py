"""Metrics that are a ratio of two sums over the entries, with evidence for each entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import (
    Finding,
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import FAULTS, fault, ratio
from pytest_mtarena.referee.metrics.ids import NO_VALUE, NON_FINITE


@dataclass(frozen=True)
class PooledMetric:
    """A ratio of two sums: the first column of the statistics over the second.

    A subclass gives the fields and overrides ``find``; whatever ``find`` raises costs the value
    of that entry only. More columns than two are counts that are shown beside the score.
    """

    id: str
    title: str
    scale: str = "0-1"
    direction: MetricDirection = "higher"
    level: MetricLevel = "entry"
    role: MetricRole = "diagnostic"
    validation: Validation = "unvalidated"
    version: str = "1"
    needs: tuple[str, ...] = ()
    """What it cannot do without, for people: ``an analyser of the target language``."""
    missing: str | None = None
    """Why it cannot work here; None when it can."""
    columns: tuple[str, ...] = ("value", "entries")
    """Names of the statistics; the first two are numerator and denominator."""
    reproducible: bool = True
    """Whether a stored card's rows are enough to compute it again (no file is needed)."""

    @property
    def signature(self) -> str:
        """The id, the version and how entries are put together."""
        above, below = self.columns[:2]
        return f"{self.id}|{above}/{below}|version:{self.version}"

    def find(self, one: MetricInput) -> Finding:
        """Return what there is to say of one entry."""
        raise NotImplementedError

    def examine(self, inputs: Sequence[MetricInput]) -> Sequence[Finding]:
        """Return one finding per input; a fault becomes the reason of that entry."""
        return [self._found(one) for one in inputs]

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return the statistics of the findings; NaN where there is no value."""
        return statistics_of(self.examine(inputs), len(self.columns))

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the ratios; NaN where the denominator is 0."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return each entry's own ratio."""
        return [value if math.isfinite(value) else None for value in self.score(rows).tolist()]

    def _found(self, one: MetricInput) -> Finding:
        try:
            found = self.find(one)
            statistics = () if found.statistics is None else found.statistics
            numbers = [*statistics, *(() if found.value is None else (found.value,))]
            finite = all(map(math.isfinite, numbers))
        except FAULTS as error:  # costs one value, never the run
            return Finding(None, None, fault(error), is_fault=True)
        return found if finite else Finding(None, None, NON_FINITE, is_fault=True)


def statistics_of(findings: Sequence[Finding], width: int) -> Statistics:
    """Return the statistics of findings as an array of this width, NaN where there are none."""
    rows = np.full((len(findings), width), np.nan)
    for row, found in zip(rows, findings, strict=True):
        if found.statistics is not None:
            row[:] = found.statistics
    return rows


def nothing(reason: str = NO_VALUE) -> Finding:
    """Return the finding of an entry that has no value."""
    return Finding(None, None, reason)
