"""The composite of two cards, as a metric of its own: a function of other metrics' statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
from pytest_mtarena.referee.composite import ID, composite, weights_of
from pytest_mtarena.referee.judging import total
from pytest_mtarena.referee.metrics.base import finite_or_none
from pytest_mtarena.results.pairing import Pair


@dataclass(frozen=True)
class Composite:
    """The weighted mean of metrics whose statistics stand side by side."""

    parts: tuple[Metric, ...]
    weights: Mapping[str, float]
    widths: tuple[int, ...]
    """How many columns each metric has."""
    id: str = ID
    title: str = ID
    scale: str = "0-1"
    direction: MetricDirection = "higher"
    level: MetricLevel = "corpus"
    role: MetricRole = "diagnostic"
    version: str = "1"
    signature: str = ID

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the composite of each row of sums; NaN where one of its metrics has no value."""
        values: dict[str, npt.NDArray[np.float64]] = {}
        first = 0
        for metric, width in zip(self.parts, self.widths, strict=True):
            part = metric.score(sums[:, first : first + width])
            values[metric.id] = np.asarray(part, np.float64)
            first += width
        return composite(values, self.weights)

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Raise: it is made of other metrics' statistics, not of texts."""
        raise NotImplementedError

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the composite of each entry by itself."""
        with np.errstate(all="ignore"):
            return finite_or_none(self.score(rows))


def with_composite(pair: Pair) -> Pair:
    """Return a pair that has the composite too, or the reason why it is left out.

    It is made of the entries of the pair, with the weights that the metrics have there.
    """
    sides = (pair.a, pair.b)
    if not any(ID in side.card["directions"] for side in sides):
        return pair
    weights, reason = _weights(pair)
    if reason is not None:
        return replace(pair, left_out={**pair.left_out, ID: reason})
    parts = tuple(pair.metrics[name] for name in weights)
    widths = tuple(pair.statistics_a[name].shape[1] for name in weights)
    return replace(
        pair,
        metrics={**pair.metrics, ID: Composite(parts, weights, widths)},
        statistics_a={**pair.statistics_a, ID: _beside(pair.statistics_a, weights)},
        statistics_b={**pair.statistics_b, ID: _beside(pair.statistics_b, weights)},
    )


def _weights(pair: Pair) -> tuple[dict[str, float], str | None]:
    """Return the weights of both composites, or why they are not the same."""
    made = []
    for statistics in (pair.statistics_a, pair.statistics_b):
        names = [name for name in statistics if name in pair.metrics]
        values = {name: total(pair.metrics[name], statistics[name])[0] for name in names}
        made.append(weights_of(values))
    covers = [side.card["scores"].get("composite_coverage") for side in (pair.a, pair.b)]
    told = [
        (one["profile"], list(one["weights"])) if one else (profile, list(weights))
        for one, (profile, weights) in zip(covers, made, strict=True)
    ]
    if told[0] != told[1]:
        mine, theirs = (f"{profile} ({', '.join(names)})" for profile, names in told)
        return {}, f"made of other metrics: {mine} in {pair.a.letter}, {theirs} in {pair.b.letter}"
    if lost := [name for name in told[0][1] if name not in pair.metrics]:
        return {}, f"made of {', '.join(lost)} too, which cannot be compared"
    if not made[0][1] or made[0][1] != made[1][1]:
        return {}, "its metrics do not all have a value on these entries"
    return made[0][1], None


def _beside(statistics: Mapping[str, Statistics], names: Mapping[str, float]) -> Statistics:
    """Return the statistics side by side; what has no value adds nothing."""
    return np.hstack([np.nan_to_num(statistics[name], nan=0.0) for name in names])
