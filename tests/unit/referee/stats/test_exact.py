"""Intervals of shares against their definitions, and pass@k against counting."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.referee.stats.exact import at_least, clopper_pearson, pass_at_k, wilson

COUNTS = st.integers(1, 60).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n), st.sampled_from([0.01, 0.05, 0.3]))
)


def tail(successes, n, share):
    """Return the chance of that many successes or more, term by term."""
    share = Fraction(share)
    return float(
        sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(successes, n + 1))
    )


@given(COUNTS, st.floats(0.001, 0.999))
def test_tails_are_the_sum_of_their_terms(counts, share):
    successes, n, _ = counts
    assert at_least(successes, n, share) == pytest.approx(tail(successes, n, share), rel=1e-10)


def test_tails_at_the_ends():
    assert at_least(0, 5, 0.2) == at_least(-3, 5, 0.0) == at_least(5, 5, 1.0) == 1.0
    assert at_least(6, 5, 0.9) == at_least(1, 5, 0.0) == 0.0


@given(COUNTS)
def test_clopper_pearson_by_its_definition(counts):
    successes, n, alpha = counts
    lower, upper = clopper_pearson(successes, n, alpha)
    if successes:
        assert tail(successes, n, lower) == pytest.approx(alpha / 2, rel=1e-6)
    else:
        assert lower == 0
    if successes < n:
        assert 1 - tail(successes + 1, n, upper) == pytest.approx(alpha / 2, rel=1e-6)
    else:
        assert upper == 1


@given(COUNTS)
def test_wilson_by_its_definition(counts):
    # Its ends are the shares p from which the observed one is z standard errors away.
    successes, n, alpha = counts
    z = {0.01: 2.5758293035489, 0.05: 1.9599639845401, 0.3: 1.0364333894938}[alpha]
    for end in wilson(successes, n, alpha):
        distance = abs(successes / n - end)
        assert distance == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)


@given(COUNTS)
def test_intervals_hold_the_share_and_mirror(counts):
    successes, n, alpha = counts
    for function in (wilson, clopper_pearson):
        lower, upper = function(successes, n, alpha)
        assert 0 <= lower <= successes / n <= upper <= 1
        assert upper > lower
        mirrored = function(n - successes, n, alpha)
        assert mirrored == pytest.approx((1 - upper, 1 - lower), abs=1e-12)


def test_published_values():
    # Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for successes, n, score, exact in (
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ):
        assert wilson(successes, n) == pytest.approx(score, abs=5e-5)
        assert clopper_pearson(successes, n) == pytest.approx(exact, abs=5e-5)


@pytest.mark.parametrize("successes", [0, 1, 17, 400_000, 500_000, 999_999, 1_000_000])
def test_a_million_trials(successes):
    start = time.process_time()
    exact, score = clopper_pearson(successes, 1_000_000), wilson(successes, 1_000_000)
    assert time.process_time() - start < 1
    assert 0 <= exact[0] <= successes / 1e6 <= exact[1] <= 1
    assert exact == pytest.approx(score, abs=4e-6)
    assert at_least(500_000, 1_000_000, 0.5) == pytest.approx(0.5003989, abs=1e-6)


def test_no_trials_and_impossible_counts():
    assert wilson(0, 0) is None
    assert clopper_pearson(0, 0) is None
    for function in (wilson, clopper_pearson):
        for bad in ((-1, 3), (4, 3), (1, 3, 0.0), (1, 3, 1.0)):
            with pytest.raises(ValueError):
                function(*bad)


@settings(max_examples=60)
@given(
    st.integers(0, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.integers(1, 8)
)
def test_pass_at_k_is_the_share_of_draws_with_a_right_sample(samples, k):
    n, c = samples
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    expected = sum(map(any, draws)) / len(draws) if draws else None
    assert pass_at_k(n, c, k) == (None if expected is None else pytest.approx(expected))


def test_pass_at_k_with_fewer_samples_than_k():
    asked = [(4, 0, 6), (6, 2, 7), (6, 4, 3), (5, 1, 2), (1, 1, 1)]
    assert [pass_at_k(*one) for one in asked] == [None, None, 1.0, pytest.approx(0.4), 1.0]
    with pytest.raises(ValueError):
        pass_at_k(3, 4, 1)
    with pytest.raises(ValueError):
        pass_at_k(3, 1, 0)


def test_pass_at_k_of_many_samples():
    assert pass_at_k(100_000, 10, 100) == pytest.approx(1 - (1 - 1e-4) ** 100, rel=1e-2)
