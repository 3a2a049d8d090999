"""Length of outputs against their references, in characters; 1.0 is as long.

With several references the one of the closest length counts (of two, the shorter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import (
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import finite_or_none, ratio

SHORT = 0.5
"""Outputs below this ratio are counted as much too short."""
LONG = 2.0
"""Outputs above this ratio are counted as much too long."""


def _sizes(inputs: Sequence[MetricInput]) -> npt.NDArray[np.float64]:
    """Return rows (characters of the output, of the closest reference)."""
    sizes = np.zeros((len(inputs), 2))
    for row, one in zip(sizes, inputs, strict=True):
        own = len(one.output)
        row[:] = own, min(map(len, one.references), key=lambda size: (abs(size - own), size))
    return sizes


@dataclass
class LengthRatio:
    """The mean of the entries' ratios."""

    id: str = "length_ratio"
    title: str = "length"
    scale: str = "0 and up, 1 is as long"
    direction: MetricDirection = "target"
    level: MetricLevel = "corpus"
    role: MetricRole = "diagnostic"
    version: str = "1"
    validation: Validation = "heuristic"

    @property
    def signature(self) -> str:
        """What is divided by what."""
        return f"characters|mean of ratios|ref:closest|version:{self.version}"

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return rows (ratio, 1, 1 if below ``SHORT``, 1 if above ``LONG``)."""
        own, reference = _sizes(inputs).T
        ratios = ratio(own, reference)
        return np.column_stack([ratios, np.ones(len(ratios)), ratios < SHORT, ratios > LONG])

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the means."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the entries' ratios."""
        return finite_or_none(rows[:, 0])


@dataclass
class TotalLengthRatio:
    """All characters of the outputs over all characters of the references."""

    id: str = "length_ratio_total"
    title: str = "length (total)"
    scale: str = "0 and up, 1 is as long"
    direction: MetricDirection = "target"
    level: MetricLevel = "corpus"
    role: MetricRole = "diagnostic"
    version: str = "1"
    validation: Validation = "heuristic"

    @property
    def signature(self) -> str:
        """What is divided by what."""
        return f"characters|ratio of sums|ref:closest|version:{self.version}"

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return rows (characters of the output, of the reference)."""
        return _sizes(inputs)

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the ratios of the sums."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the entries' ratios."""
        return finite_or_none(ratio(rows[:, 0], rows[:, 1]))
