"""Power against simulations, and its sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_mtarena.referee.metrics.base import mean_metric, ratio
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.stats.clusters import cluster_of
from pytest_mtarena.referee.stats.paired import NO_PAIR, compare
from pytest_mtarena.referee.stats.power import (
    CORRELATION,
    NO_VARIANCE,
    alone_se,
    detectable,
    paired_se,
    power_of,
)

CHRF_PP = make_builtin("13a", asian=False)["chrf_plus_plus"]
MEAN = mean_metric("mine", lambda entry: None, scale="0-1", title="my score")


def means(sums):
    return ratio(sums[:, 0], sums[:, 1])


def rows_of(values):
    return np.array([[value, 1.0] for value in values])


def chrf_pairs(rng, count, second=1.0):
    """Return statistics of two systems on entries whose difficulty they share.

    The second has ``second`` times the matches that it would have as an equal of the first.
    """
    lengths = rng.integers(12, 90, count)
    share = rng.beta(4, 2, count)
    tables = []
    for factor in (1.0, second):
        own = np.clip(share + rng.normal(0, 0.12, count), 0.02, 1) * factor
        rows = np.zeros((count, 24))
        for order in range(8):
            size = np.maximum(lengths - order if order < 6 else lengths // 5 - order + 6, 1)
            rows[:, 3 * order] = rows[:, 3 * order + 1] = size
            rows[:, 3 * order + 2] = size * own ** (1 + order / 3)
        tables.append(rows)
    return tables


def score_of(rows):
    return float(CHRF_PP.score(rows.sum(axis=0)[None])[0])


def test_the_formula():
    # 1.96 + 0.84 standard errors, from any table of the normal distribution.
    assert detectable(1.0) == pytest.approx(2.8016, abs=1e-4)
    assert detectable(0.5, alpha=0.01, power=0.9) == pytest.approx(
        0.5 * (2.5758 + 1.2816), abs=1e-4
    )
    assert detectable(0.0) == 0.0
    assert detectable(1.0, power=0.01) == 0.0
    for bad in ((-1.0,), (math.nan,), (1.0, 0.0), (1.0, 0.05, 1.0)):
        with pytest.raises(ValueError):
            detectable(*bad)


def test_the_standard_error_of_a_mean_difference():
    rng = np.random.default_rng(1)
    first = rng.random(400)
    second = first + rng.normal(0, 0.2, 400)
    a, b = rows_of(first), rows_of(second)
    expected = (second - first).std(ddof=1) / 20
    assert paired_se(a, b, means, resamples=4000) == pytest.approx(expected, rel=0.05)
    alone = alone_se(a, means, correlation=0.5, resamples=4000)
    assert alone == pytest.approx(first.std(ddof=1) / 20, rel=0.05)
    with pytest.raises(ValueError, match="correlation"):
        alone_se(a, means, correlation=1.0)


def test_one_system_stands_for_two_if_the_correlation_is_right():
    a, b = chrf_pairs(np.random.default_rng(3), 300)
    draws = [np.random.default_rng(seed).choice(300, 300) for seed in range(400)]
    scores = np.array([[score_of(side[drawn]) for side in (a, b)] for drawn in draws])
    correlation = float(np.corrcoef(scores.T)[0, 1])
    assert 0.5 < correlation < 0.99
    assert alone_se(a, CHRF_PP.score, correlation=correlation) == pytest.approx(
        paired_se(a, b, CHRF_PP.score), rel=0.2
    )


def test_power_agrees_with_a_simulation():
    """Make a pair differ by what is detectable, draw suites from its entries, count findings."""
    rng = np.random.default_rng(5)
    a, b = chrf_pairs(rng, 150)
    visible = power_of(CHRF_PP, a, b).difference
    matches = np.arange(2, 24, 3)
    low, high = 0.5, 1.5
    for _ in range(40):
        middle = (low + high) / 2
        better = b.copy()
        better[:, matches] *= middle
        wide = score_of(better) - score_of(a) > visible
        low, high = (low, middle) if wide else (middle, high)
    assert score_of(better) - score_of(a) == pytest.approx(visible)
    found = []
    for _ in range(200):
        drawn = rng.choice(150, 150)
        suite = compare(CHRF_PP, a[drawn], better[drawn], resamples=499, replicates=500)
        found.append(suite.better == "b")
    assert np.mean(found) == pytest.approx(0.8, rel=0.2)


def test_half_of_it_is_found_less_often():
    rng = np.random.default_rng(8)
    first = rng.random(150)
    noise = rng.normal(0, 0.2, 150)
    visible = power_of(MEAN, rows_of(first), rows_of(first + noise)).difference
    rates = []
    for shift in (0.0, visible / 2, visible):
        found = [
            compare(
                MEAN,
                rows_of(first),
                rows_of(first + rng.normal(shift, 0.2, 150)),
                resamples=499,
                replicates=500,
            ).significant
            for _ in range(150)
        ]
        rates.append(np.mean(found))
    assert rates[0] < 0.12
    # The normal approximation gives 29 % for half of the difference.
    assert 0.17 < rates[1] < 0.42
    assert 0.64 < rates[2] < 0.96


def test_the_sentence_of_two_systems():
    a, b = chrf_pairs(np.random.default_rng(1), 157)
    found = power_of(CHRF_PP, a, b)
    assert (found.metric, found.n, found.n_units, found.correlation) == (
        "chrf_plus_plus",
        157,
        157,
        None,
    )
    assert found.difference == detectable(found.se)
    assert found.sentence == (
        f"this suite of 157 entries can see a difference of {found.difference:.1f} chrF++ "
        "(80 % power, alpha 0.05)"
    )
    assert found.entries_for(found.difference) == 157
    assert found.entries_for(found.difference / 2) == 4 * 157
    assert found.entries_for(0.0) is None


def test_the_sentence_of_one_system_says_what_it_assumes():
    a, _ = chrf_pairs(np.random.default_rng(1), 60)
    found = power_of(CHRF_PP, a, clusters=cluster_of([number // 3 for number in range(60)]))
    assert found.correlation == CORRELATION
    assert (found.n, found.n_units) == (60, 20)
    assert found.sentence.startswith("this suite of 60 entries in 20 clusters can see a difference")
    assert found.sentence.endswith(
        "(80 % power, alpha 0.05, if the scores of the two systems correlate by 0.7)"
    )


def test_small_and_large_differences_have_two_digits():
    rng = np.random.default_rng(2)
    for scale, digits in ((1.0, 2), (0.01, 4), (10_000.0, 0)):
        values = rng.normal(0, scale, 80)
        found = power_of(MEAN, rows_of(values), correlation=0.0)
        told = found.sentence.split("difference of ")[1].split()[0]
        assert float(told) == pytest.approx(found.difference, rel=0.06)
        assert "e" not in told
        assert len(told.partition(".")[2]) == digits


def test_nothing_to_say_has_a_reason():
    nothing = np.full((2, 2), np.nan)
    one = np.array([[0.5, 1.0], [np.nan, np.nan]])
    flat = rows_of([1.0] * 30)
    assert power_of(MEAN, nothing).reason == "no value"
    assert power_of(MEAN, nothing, rows_of([1, 2])).reason == NO_PAIR
    assert power_of(MEAN, one).reason == "n < 2"
    assert power_of(MEAN, flat).reason == NO_VARIANCE
    assert power_of(MEAN, rows_of([0.1, 0.7]), rows_of([0.1, 0.7])).reason == NO_VARIANCE
    same = power_of(MEAN, flat, clusters=cluster_of(["d"] * 30))
    assert same.reason == "all entries are in one cluster"
    assert power_of(MEAN, one).sentence == (
        "this suite of 1 entry: no power is known for my score: n < 2"
    )
    for found in (power_of(MEAN, one), power_of(MEAN, flat), same):
        assert found.difference is None
        assert found.entries_for(1.0) is None
    assert alone_se(one, means) is None
    assert paired_se(one, one, means) is None


def test_a_metric_that_breaks_is_a_reason():
    metric = mean_metric("broken", lambda entry: None, scale="0-1")

    def broken(sums):
        raise RuntimeError("no more")

    metric.score = broken
    assert power_of(metric, rows_of([1, 2, 3])).reason == "RuntimeError: no more"
    metric.score = lambda sums: np.full(len(sums), np.nan)
    assert power_of(metric, rows_of([1, 2, 3]), rows_of([1, 2, 4])).reason == "no value"
