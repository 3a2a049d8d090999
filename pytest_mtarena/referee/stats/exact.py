"""Intervals and estimates of counts that need no resampling.

Nothing here needs more than the standard library: tails of the binomial distribution come from
the incomplete beta function, so that a million trials cost no more than a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 100_000
"""More than the fraction ever needs: its steps grow with the root of the trials."""
_HALVINGS = 200


def wilson(successes: int, n: int, alpha: float = 0.05) -> tuple[float, float] | None:
    """Return the score interval of a share (Wilson 1927), both ends 0-1; None without trials.

    Its coverage is near ``1 - alpha`` on average, and it never has width 0: of 10 misses out of
    10 it says "0 to 0.28", where a bootstrap says "0 to 0".
    """
    _check(successes, n, alpha)
    if not n:
        return None
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends the formula gives exactly 0 and 1, but for rounding.
    lower = 0.0 if successes == 0 else max(0.0, middle - half)
    upper = 1.0 if successes == n else min(1.0, middle + half)
    return lower, upper


def clopper_pearson(successes: int, n: int, alpha: float = 0.05) -> tuple[float, float] | None:
    """Return the exact interval of a share (Clopper & Pearson 1934); None without trials.

    Its coverage is never below ``1 - alpha``, for the price of being wider than Wilson's.
    """
    _check(successes, n, alpha)
    if not n:
        return None
    lower, upper = 0.0, 1.0
    if successes > 0:
        lower = _root(lambda share: at_least(successes, n, share) - alpha / 2)
    if successes < n:
        # As the lower end of the failures: a share near 1 would lose digits.
        failures = n - successes
        upper = 1 - _root(lambda share: at_least(failures, n, share) - alpha / 2)
    return lower, upper


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Return the chance that k of n samples, drawn without replacement, hold a right one.

    Of the n samples c are right (Chen et al. 2021, without bias). None when ``n < k``: fewer
    samples than that say nothing of k.
    """
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"needs 0 <= c <= n and k >= 1, not n={n}, c={c}, k={k}")
    if n < k:
        return None
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def at_least(successes: int, n: int, share: float) -> float:
    """Return the chance of that many successes or more in n trials, each with chance ``share``."""
    if successes <= 0:
        return 1.0
    if successes > n or share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    return _incomplete_beta(successes, n - successes + 1, share)


def _check(successes: int, n: int, alpha: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be from 0 to n, not {successes} of {n}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")


def _root(function: Callable[[float], float]) -> float:
    """Return where a rising function crosses 0 between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function for ``0 < x < 1``."""
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x))
    # The fraction converges fast on the near side of the mean only.
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _fraction(a, b, x) / a)
    return max(0.0, 1 - front * _fraction(b, a, 1 - x) / b)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    above, below = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            below = _inverse(1 + term * below)
            above = 1 + term / above
            if abs(above) < _TINY:
                above = _TINY
            step = above * below
            value *= step
        if abs(step - 1) < 1e-15:
            break
    return value


def _inverse(value: float) -> float:
    return 1 / (value if abs(value) > _TINY else _TINY)
