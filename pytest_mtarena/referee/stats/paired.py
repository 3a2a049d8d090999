"""Is one system better than another on the same entries? Tests over rows of statistics.

Two systems are compared on the entries that have a value in both. The test that decides is paired
approximate randomization (Riezler & Maxwell 2005): if the systems were equal, it would not matter
which of the two outputs of an entry is called whose; so they are swapped at random, and the share
of swaps that make a difference as large as the observed one is the p-value. For rates, where a
row is right or wrong, the same is done in closed form (McNemar 1947). The paired bootstrap (Koehn
2004) gives the interval of the difference. All are two-sided but sacreBLEU's bootstrap p-value,
see ``PairedBootstrap``.

Draws are those of sacreBLEU, so that p-values are too. Blocks bound the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pytest_mtarena.protocols import Metric, MetricDirection, Statistics
from pytest_mtarena.referee.judging import total
from pytest_mtarena.referee.metrics.base import FAULTS, fault, present
from pytest_mtarena.referee.stats.bootstrap import ALPHA, SEED, TOO_FEW
from pytest_mtarena.referee.stats.clusters import Labels, collapse
from pytest_mtarena.referee.stats.exact import at_least

RESAMPLES = 10_000
"""Swaps of the randomization test, as sacreBLEU's default."""
REPLICATES = 1_000
"""Replicates of the bootstrap, as sacreBLEU's default."""

Score = Callable[[Statistics], npt.NDArray[np.float64]]
"""A function of summed statistics, one row a replicate: ``Metric.score``."""
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

Method = Literal["mcnemar", "exact randomization", "approximate randomization"]
Side = Literal["a", "b"]

IDENTICAL = "identical statistics"
NO_PAIR = "no entry has a value in both"
ONE_CLUSTER = "all entries are in one cluster"

_CELLS = 400_000
"""Cells of a block of the replicate-by-entry matrix: 3 MB of floats."""
_WORD = 32
"""numpy draws booleans 32 at a time and drops what is left of a call."""
_TOLERANCE = 1e-9
"""Differences that are equal but for rounding, relative to the scores."""
_MAX_ENUMERATED = 20
_COUNTED = 500
"""Tosses up to which a p-value is a quotient of whole numbers."""


def align(a: Statistics, b: Statistics) -> tuple[Statistics, Statistics, int]:
    """Return the rows that have a value in both tables, and how many rows were left out."""
    if a.shape != b.shape:
        raise ValueError(f"statistics of shapes {a.shape} and {b.shape} cannot be paired")
    both = present(a) & present(b)
    return a[both], b[both], int(len(both) - both.sum())


def randomization(
    a: Statistics, b: Statistics, score: Score, *, resamples: int = RESAMPLES, seed: int = SEED
) -> float:
    """Return the two-sided p-value of paired approximate randomization, above 0 and at most 1.

    ``(count + 1) / (resamples + 1)``, where ``count`` swaps gave a difference at least as large
    as the observed one. When all assignments are no more than ``resamples`` each is tried once,
    and p is ``count / assignments``: swapping equal rows changes nothing, so that only the
    entries that differ count. A swap without a score counts against a difference.
    """
    a, b, _ = align(a, b)
    return _randomize(a, b, score, resamples, seed, enumerated=resamples).p_value


@dataclass(frozen=True)
class PairedBootstrap:
    """What a paired bootstrap says of the difference ``b - a``."""

    p_value: float
    """By sacreBLEU's rule: ``(c + 1) / (N + 1)``, where c absolute differences exceed the
    observed one by more than the mean absolute difference. For a clear difference that is one
    tail only: under equal systems about 10 % are below 0.05 (``benchmarks/null_pairs.py``)."""
    p_two_sided: float
    """With the differences themselves centred on their mean, both tails counted."""
    ci_lower: float | None
    """Percentile of the signed difference; None when no replicate has a score."""
    ci_upper: float | None
    n_bootstrap: int
    """Replicates in which both systems have a score."""


def bootstrap(
    a: Statistics,
    b: Statistics,
    score: Score,
    *,
    resamples: int = REPLICATES,
    seed: int = SEED,
    alpha: float = ALPHA,
) -> PairedBootstrap:
    """Resample the entries for both systems at once (Koehn 2004).

    The p-value equals that of sacreBLEU's paired bootstrap, with its generator, draws and count,
    except that systems without any difference have 1.0, where its strict ">" gives the smallest
    value there is. The interval has the indices of ``bootstrap.bounds``.
    """
    a, b, _ = align(a, b)
    if not len(a):
        return PairedBootstrap(1.0, 1.0, None, None, 0)
    observed = float(_scored(score, b)[0] - _scored(score, a)[0])
    differences = _differences(a, b, score, resamples, seed)
    kept = differences[np.isfinite(differences)]
    if not len(kept) or not math.isfinite(observed):
        return PairedBootstrap(1.0, 1.0, None, None, len(kept))
    lower, upper = _bounds(kept, alpha)
    if not np.any(kept) and not observed:
        return PairedBootstrap(1.0, 1.0, lower, upper, len(kept))
    sizes = np.abs(kept)
    one = int(np.sum(sizes - sizes.mean() > abs(observed)))
    slack = _TOLERANCE * abs(observed)
    two = int(np.sum(np.abs(kept - kept.mean()) >= abs(observed) - slack))
    return PairedBootstrap(
        (one + 1) / (len(kept) + 1), (two + 1) / (len(kept) + 1), lower, upper, len(kept)
    )


def mcnemar(right_a: npt.ArrayLike, right_b: npt.ArrayLike) -> float:
    """Return the exact two-sided p-value of a difference of two rates on the same entries.

    Only the entries that one system has right and the other wrong say anything; if the systems
    were equal, each would be a toss of a coin (McNemar 1947). 1.0 without any such entry. It is
    the p-value of the randomization test with every assignment tried.
    """
    first, second = (np.asarray(side, np.bool_) for side in (right_a, right_b))
    if first.shape != second.shape:
        raise ValueError(f"{first.shape} and {second.shape} cannot be paired")
    lost, won = int(np.sum(first & ~second)), int(np.sum(~first & second))
    return _both_tails(lost, won)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number (Holm 1979), in the order they came in.

    The chance that any of the hypotheses that are true is rejected stays below alpha.
    """
    adjusted, largest = [1.0] * len(p_values), 0.0
    ordered = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(ordered):
        largest = max(largest, (len(ordered) - rank) * p_values[place])
        adjusted[place] = min(1.0, largest)
    return adjusted


@dataclass(frozen=True)
class Comparison:
    """What can be said of two systems by one metric, on the entries that both have."""

    metric: str
    """The metric's id."""
    direction: MetricDirection
    n: int
    """Entries with a value in both."""
    n_excluded: int
    """Entries that lack a value in one of them, or in both."""
    n_units: int
    """Clusters, or entries when there are no clusters: what is swapped and drawn."""
    score_a: float | None
    """Of the entries that count, on the metric's scale."""
    score_b: float | None
    difference: float | None
    """``score_b - score_a``."""
    ci_lower: float | None
    """Of the difference, by the paired bootstrap."""
    ci_upper: float | None
    p_value: float | None
    """Of the test that decides, two-sided; not adjusted for the number of tests."""
    p_bootstrap: float | None
    """Of sacreBLEU's paired bootstrap; decides nothing."""
    method: Method | None
    """The test that decides; None when none could be done."""
    resamples: int
    """Assignments that were tried; 0 for a test in closed form."""
    replicates: int
    """Bootstrap replicates with a score."""
    seed: int
    alpha: float
    significant: bool
    """Whether p is below alpha *and* the interval leaves out 0."""
    better: Side | None
    """Which of the two is better; None when it is not known, or neither direction is."""
    reason: str | None
    """Why there is no p-value, no winner or no agreement; None when there is nothing to add."""


def compare(
    metric: Metric,
    a: Statistics,
    b: Statistics,
    *,
    clusters: Labels | None = None,
    resamples: int = RESAMPLES,
    replicates: int = REPLICATES,
    seed: int = SEED,
    alpha: float = ALPHA,
    exact: bool = False,
) -> Comparison:
    """Compare two systems by a metric; row i of ``a`` and of ``b`` is one entry.

    The rows are to be in an order that does not depend on the run, such as that of their ids:
    draws go by place. ``clusters`` are the labels of the entries (``cluster_of``). ``exact``
    tries all assignments of up to 20 units that differ, however many ``resamples`` are asked for.
    Nothing raises for a metric that fails: ``reason`` says so.
    """
    kept_a, kept_b, excluded = align(a, b)
    n = len(kept_a)
    if clusters is not None:
        both = present(a) & present(b)
        _, labels = np.unique(clusters[both], return_inverse=True)
        kept_a, kept_b = collapse(kept_a, labels), collapse(kept_b, labels)
    score_a, why_a = total(metric, kept_a)
    score_b, why_b = total(metric, kept_b)
    blank = Comparison(
        metric=metric.id,
        direction=metric.direction,
        n=n,
        n_excluded=excluded,
        n_units=len(kept_a),
        score_a=score_a,
        score_b=score_b,
        difference=None,
        ci_lower=None,
        ci_upper=None,
        p_value=None,
        p_bootstrap=None,
        method=None,
        resamples=0,
        replicates=0,
        seed=seed,
        alpha=alpha,
        significant=False,
        better=None,
        reason=None,
    )
    if score_a is None or score_b is None:
        return replace(blank, reason=NO_PAIR if not n else why_a or why_b)
    blank = replace(blank, difference=score_b - score_a)
    if len(kept_a) < 2:
        return replace(blank, reason=TOO_FEW if n < 2 else ONE_CLUSTER)
    try:
        return _judged(blank, metric, kept_a, kept_b, resamples, replicates, exact)
    except FAULTS as error:  # a plug-in's fault costs its own comparison only
        return replace(blank, reason=fault(error))


def resampled(statistics: Statistics, resamples: int, seed: int) -> Statistics:
    """Return the summed statistics of bootstrap replicates, shape (resamples, width).

    The draws are those of sacreBLEU: ``numpy.random.default_rng(seed).choice``.
    """
    n = len(statistics)
    rng = np.random.default_rng(seed)
    block = max(1, min(resamples, _CELLS // max(n, 1)))
    sums = np.zeros((resamples, statistics.shape[1]))
    with threadpool_limits(1, user_api="blas"):
        for start in range(0, resamples if n else 0, block):
            rows = min(block, resamples - start)
            drawn = rng.choice(n, size=(rows, n), replace=True)
            drawn += (np.arange(rows) * n)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
            sums[start : start + rows] = counts.astype(np.float64) @ statistics
    return sums


def _judged(
    blank: Comparison,
    metric: Metric,
    a: Statistics,
    b: Statistics,
    resamples: int,
    replicates: int,
    exact: bool,
) -> Comparison:
    """Fill in test, interval and verdict."""
    drawn = bootstrap(a, b, metric.score, resamples=replicates, seed=blank.seed, alpha=blank.alpha)
    limit = max(resamples, 1 << _MAX_ENUMERATED) if exact else resamples
    found = (
        _discordance(a, b)
        if _is_rate(metric.score, a, b)
        else _randomize(a, b, metric.score, resamples, blank.seed, enumerated=limit)
    )
    tested = replace(
        blank,
        ci_lower=drawn.ci_lower,
        ci_upper=drawn.ci_upper,
        p_value=found.p_value,
        p_bootstrap=drawn.p_value if drawn.n_bootstrap else None,
        method=found.method,
        resamples=found.tried,
        replicates=drawn.n_bootstrap,
    )
    return _verdict(tested, np.array_equal(a, b), found.smallest)


def _verdict(found: Comparison, identical: bool, smallest: float) -> Comparison:
    """Say what p-value and interval say together."""
    assert found.p_value is not None
    if identical:
        return replace(found, reason=IDENTICAL)
    below = found.p_value < found.alpha
    outside = (
        found.ci_lower is not None
        and found.ci_upper is not None
        and (found.ci_lower > 0 or found.ci_upper < 0)
    )
    reason = None
    if below and not outside:
        reason = f"p < {found.alpha:g}, but the interval does not leave out 0"
    elif smallest >= found.alpha:
        reason = f"too few units differ: the smallest possible p is {smallest:.2g}"
    elif outside and not below:
        reason = f"the interval leaves out 0, but p >= {found.alpha:g}"
    elif below and found.direction == "target":
        reason = "neither higher nor lower is better"
    significant = below and outside
    better = _better(found) if significant else None
    return replace(found, significant=significant, better=better, reason=reason)


def _better(found: Comparison) -> Side | None:
    if found.direction == "target" or not found.difference:
        return None
    return "b" if (found.difference > 0) == (found.direction == "higher") else "a"


@dataclass(frozen=True)
class _Tested:
    """The outcome of a test."""

    p_value: float
    method: Method
    tried: int
    smallest: float
    """The smallest p-value that any outcome could have."""


def _is_rate(score: Score, a: Statistics, b: Statistics) -> bool:
    """Say whether every row is right or wrong, and the score is the share of right ones."""
    if a.shape[1] < 2:
        return False
    for rows in (a, b):
        if not (np.all(rows[:, 1] == 1) and np.all((rows[:, 0] == 0) | (rows[:, 0] == 1))):
            return False
        if not math.isclose(float(_scored(score, rows)[0]), rows[:, 0].mean(), abs_tol=1e-12):
            return False
    return True


def _discordance(a: Statistics, b: Statistics) -> _Tested:
    differing = int(np.sum(a[:, 0] != b[:, 0]))
    p_value = mcnemar(a[:, 0] == 1, b[:, 0] == 1)
    return _Tested(p_value, "mcnemar", 0, min(1.0, math.ldexp(1.0, 1 - differing)))


def _both_tails(lost: int, won: int) -> float:
    """Return the two-sided p-value of a split of tosses of a fair coin."""
    tosses = lost + won
    # Half of the distribution on either side: rounding must not leave 0.9999.
    if abs(lost - won) <= 1:
        return 1.0
    if tosses <= _COUNTED:
        tail = sum(math.comb(tosses, heads) for heads in range(min(lost, won) + 1))
        return tail / (1 << (tosses - 1))
    return min(1.0, 2 * at_least(max(lost, won), tosses, 0.5))


def _randomize(
    a: Statistics, b: Statistics, score: Score, resamples: int, seed: int, *, enumerated: int
) -> _Tested:
    """Swap at random, or in all ways when they are no more than ``enumerated``."""
    differing = np.any(a != b, axis=1)
    count = int(differing.sum())
    few = count < enumerated.bit_length()
    if few:
        rest = a[~differing].sum(axis=0)
        masks: Iterator[Mask] = _assignments(count)
        a, b, tried = a[differing], b[differing], 1 << count
    else:
        rest = np.zeros(a.shape[1])
        masks, tried = _swaps(len(a), resamples, seed), resamples
    total_a, total_b = a.sum(axis=0) + rest, b.sum(axis=0) + rest
    delta = a - b
    observed = abs(float(_scored(score, total_a[None])[0] - _scored(score, total_b[None])[0]))
    extreme = 0
    with threadpool_limits(1, user_api="blas"):
        for mask in masks:
            moved = _product(mask, delta)
            first, second = _applied(score, total_b + moved), _applied(score, total_a - moved)
            slack = _TOLERANCE * np.maximum(np.abs(first), np.abs(second))
            # Negated, so that what has no score counts against a difference.
            extreme += int(np.sum(~(np.abs(first - second) < observed - slack)))
    if few:
        smallest = min(1.0, math.ldexp(1.0, 1 - count))
        return _Tested(extreme / tried, "exact randomization", tried, smallest)
    p_value = (extreme + 1) / (tried + 1)
    return _Tested(p_value, "approximate randomization", tried, 1 / (tried + 1))


def _swaps(n: int, resamples: int, seed: int) -> Iterator[Mask]:
    """Yield blocks of random swaps: those that sacreBLEU draws in one call."""
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // n // _WORD) * _WORD
    for start in range(0, resamples, block):
        yield rng.integers(2, size=(min(block, resamples - start), n), dtype=np.bool_)


def _assignments(count: int) -> Iterator[Mask]:
    """Yield blocks of all ways to swap ``count`` entries."""
    block = max(1, _CELLS // max(count, 1))
    for start in range(0, 1 << count, block):
        numbers = np.arange(start, min(start + block, 1 << count))
        yield (numbers[:, None] >> np.arange(count)) & 1 == 1


def _product(mask: Mask, rows: Statistics) -> Statistics:
    """Return ``mask @ rows`` without ever holding all of the mask as floats."""
    sums = np.zeros((len(mask), rows.shape[1]))
    step = max(1, _CELLS // len(mask))
    for start in range(0, len(rows), step):
        part = mask[:, start : start + step].astype(np.float64)
        sums += part @ rows[start : start + step]
    return sums


def _differences(a: Statistics, b: Statistics, score: Score, resamples: int, seed: int) -> Floats:
    """Return ``b - a`` in each bootstrap replicate."""
    width = a.shape[1]
    sums = resampled(np.hstack([a, b]), resamples, seed)
    return _applied(score, sums[:, width:]) - _applied(score, sums[:, :width])


def _scored(score: Score, rows: Statistics) -> Floats:
    """Return the score of all rows together, shape (1,)."""
    return _applied(score, rows.sum(axis=0)[None])


def _applied(score: Score, sums: Statistics) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(score(sums), np.float64)


def _bounds(differences: Floats, alpha: float) -> tuple[float, float]:
    """Return the percentiles by the indices of ``bootstrap.bounds``, for any alpha."""
    ordered = np.sort(differences)
    lower = int(len(ordered) * alpha / 2)
    upper = max(lower, int(len(ordered) * (1 - alpha / 2)) - 1)
    return float(ordered[lower]), float(ordered[upper])
