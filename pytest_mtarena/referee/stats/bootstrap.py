"""Percentile bootstrap intervals from sufficient statistics.

A replicate draws n entries with replacement; all metrics share the draws. Nothing is counted
again from text: a replicate's sums are the counts of the drawn entries times the statistics, one
matrix product for all replicates and metrics. Replicates are done in blocks, so that memory
does not grow with their number and time grows linearly with the entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pytest_mtarena.protocols import Metric, Statistics
from pytest_mtarena.records import Json
from pytest_mtarena.referee.judging import total
from pytest_mtarena.referee.metrics.base import present
from pytest_mtarena.referee.stats.clusters import Labels, collapse
from pytest_mtarena.referee.stats.draws import Draws

SEED = 12345
ALPHA = 0.05
MIN_TIER = 5
"""Smaller tiers have no interval."""
TOO_FEW = "n < 2"

_CELLS = 400_000
"""Cells of a block of the replicate-by-entry matrix: 3 MB, five times over."""


def replicate_sums(statistics: Statistics, replicates: int, seed: int) -> Statistics:
    """Return the summed statistics of each replicate, shape (replicates, width)."""
    [sums] = replicate_sums_of([statistics], replicates, seed)
    return sums


def replicate_sums_of(tables: Sequence[Statistics], replicates: int, seed: int) -> list[Statistics]:
    """Return the same of several tables of one length, all from the same draws.

    The tables are not put side by side: that would be a second copy of all of them.
    """
    n = len(tables[0])
    draws = Draws(seed, n)
    block = max(1, min(replicates, _CELLS // n))
    sums = [np.empty((replicates, table.shape[1])) for table in tables]
    # More threads than one only fight with the workers of the run for two cores.
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, replicates, block):
            rows = min(block, replicates - start)
            drawn = draws.take(rows * n).reshape(rows, n)
            drawn += (np.arange(rows) * n)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
            weights = counts.astype(np.float64)
            for table, found in zip(tables, sums, strict=True):
                found[start : start + rows] = weights @ table
    return sums


def bounds(scores: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the 2.5th and 97.5th percentile by the documented indices.

    Replicates without a score (no drawn entry had a value) are left out; None without any.
    """
    kept = np.sort(scores[np.isfinite(scores)])
    if not len(kept):
        return None
    lower = int(len(kept) * ALPHA / 2)
    upper = max(lower, int(len(kept) * (1 - ALPHA / 2)) - 1)
    return float(kept[lower]), float(kept[upper])


@dataclass(frozen=True)
class Replicates:
    """The resampled scores of metrics, all from the same draws."""

    scores: dict[str, npt.NDArray[np.float64]]
    """Metric id to its score in each replicate; NaN where a replicate has none."""
    observed: dict[str, float | None]
    """Metric id to the score of the data."""
    n_entries: dict[str, int]
    """Metric id to the number of entries with a value."""
    seed: int
    n_units: int | None = None
    """How many clusters were resampled; None when it was the entries."""


def replicate(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Statistics],
    *,
    replicates: int,
    seed: int = SEED,
    clusters: Labels | None = None,
) -> Replicates:
    """Resample the entries for all metrics that have a value for two entries or more.

    ``statistics`` holds for each metric one row an entry, NaN where the entry has no value.
    With ``clusters``, the cluster of each entry, whole clusters are drawn.
    """
    units = {
        metric.id: statistics[metric.id]
        if clusters is None
        else collapse(statistics[metric.id], clusters)
        for metric in metrics
    }
    able = [metric for metric in metrics if int(present(units[metric.id]).sum()) >= 2]
    count = None if clusters is None else len(np.unique(clusters))
    found = Replicates({}, {}, {}, seed, count)
    if not able or replicates < 1:
        return found
    tables = [_without_nan(units[metric.id]) for metric in able]
    for metric, sums in zip(able, replicate_sums_of(tables, replicates, seed), strict=True):
        rows = statistics[metric.id]
        found.scores[metric.id] = _scores(metric, sums)
        found.observed[metric.id], _ = total(metric, rows)
        found.n_entries[metric.id] = int(present(rows).sum())
    return found


def interval(
    scores: npt.NDArray[np.float64],
    score: float | None,
    n_entries: int,
    seed: int,
    n_units: int | None = None,
) -> dict[str, Json] | None:
    """Return the documented block of one interval; None without a score.

    ``n_units`` is added where clusters were resampled.
    """
    ends = bounds(scores)
    if ends is None or score is None:
        return None
    lower, upper = ends
    block: dict[str, Json] = {
        "ci_lower": round(lower, 4),
        "ci_upper": round(upper, 4),
        "ci_width": round(upper - lower, 4),
        "score": round(score, 4),
        "n_bootstrap": int(np.isfinite(scores).sum()),
        "confidence_level": 1 - ALPHA,
        "n_entries": n_entries,
        "seed": seed,
    }
    return block if n_units is None else {**block, "n_units": n_units}


def intervals(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Statistics],
    *,
    replicates: int,
    seed: int = SEED,
    clusters: Labels | None = None,
) -> dict[str, dict[str, Json] | None]:
    """Return the interval of each metric; None where fewer than two entries have a value."""
    drawn = replicate(metrics, statistics, replicates=replicates, seed=seed, clusters=clusters)
    return intervals_of(metrics, drawn)


def intervals_of(metrics: Sequence[Metric], drawn: Replicates) -> dict[str, dict[str, Json] | None]:
    """Return the interval of each metric from replicates that were drawn."""
    found: dict[str, dict[str, Json] | None] = dict.fromkeys(metric.id for metric in metrics)
    for name, scores in drawn.scores.items():
        n = drawn.n_entries[name]
        found[name] = interval(scores, drawn.observed[name], n, drawn.seed, drawn.n_units)
    return found


def _without_nan(table: Statistics) -> Statistics:
    """Return statistics with zeros where there are none; no copy when there are all."""
    if not np.isnan(table.sum()):
        return table
    filled: Statistics = np.nan_to_num(table, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return filled


def _scores(metric: Metric, sums: Statistics) -> npt.NDArray[np.float64]:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(metric.score(sums), np.float64)
    except Exception:  # a plug-in's fault: its score has the reason, and no interval
        return np.full(len(sums), np.nan)
