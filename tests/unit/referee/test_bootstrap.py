"""The intervals against the plain rule: one randint after another, texts scored again."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from translation_making import inputs_of

from pytest_mtarena.referee.metrics.base import mean_metric
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.stats import bootstrap
from pytest_mtarena.referee.stats.bootstrap import bounds, intervals
from pytest_mtarena.referee.stats.draws import Draws

PAIRS = [
    ("Mun boađán odne gávpogis.", "Mun boađán ihttin gávpogii."),
    ("Beaivváš báitá", "Beaivváš báitá."),
    ("", "Giitu eatnat"),
    ("Gos don orut dál?", "Gos don orut dál?"),
    ("Dat lea buorre girji ja ođas", "Dat girji lea buorre ja ođas"),
    ("Ii leat", "Ii leat mihkkege das"),
]
OURS = make_builtin("13a", asian=False)
THEIRS = {"chrf_plus_plus": CHRF(word_order=2), "chrf": CHRF(), "bleu": BLEU(), "ter": TER()}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**40), st.integers(1, 5000), st.lists(st.integers(0, 300), max_size=4))
def test_the_stream_is_that_of_randint(seed, n, sizes):
    plain, draws = random.Random(seed), Draws(seed, n)
    for size in sizes:
        assert draws.take(size).tolist() == [plain.randint(0, n - 1) for _ in range(size)]


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 2**31, 2**32 - 1])
def test_the_stream_at_powers_of_two(n):
    plain = random.Random(12345)
    assert Draws(12345, n).take(700).tolist() == [plain.randint(0, n - 1) for _ in range(700)]


def test_a_population_that_cannot_be_drawn_from():
    with pytest.raises(ValueError, match="n must be"):
        Draws(1, 0)


def plainly(score, replicates, seed):
    """Return bounds by the rule as it is written down, with nothing saved."""
    rng, n = random.Random(seed), len(PAIRS)
    scores = []
    for _ in range(replicates):
        drawn = [PAIRS[rng.randint(0, n - 1)] for _ in range(n)]
        scores.append(score([output for output, _ in drawn], [ref for _, ref in drawn]))
    scores.sort()
    return (
        round(scores[int(replicates * 0.05 / 2)], 4),
        round(scores[int(replicates * (1 - 0.05 / 2)) - 1], 4),
    )


@pytest.mark.parametrize(("replicates", "seed"), [(100, 12345), (200, 12348)])
def test_bounds_are_those_of_the_plain_rule(replicates, seed, monkeypatch):
    # Blocks of a few replicates, so that the stream has to run on from one to the next.
    monkeypatch.setattr(bootstrap, "_CELLS", 7 * len(PAIRS))
    inputs = inputs_of(*((output, [ref]) for output, ref in PAIRS))
    statistics = {name: metric.statistics(inputs) for name, metric in OURS.items()}
    found = intervals(list(OURS.values()), statistics, replicates=replicates, seed=seed)
    for name, theirs in THEIRS.items():
        expected = plainly(
            lambda outputs, refs, theirs=theirs: theirs.corpus_score(outputs, [refs]).score,
            replicates,
            seed,
        )
        assert (found[name]["ci_lower"], found[name]["ci_upper"]) == expected, name
        assert found[name]["n_bootstrap"] == replicates
        assert found[name]["seed"] == seed
        assert found[name]["n_entries"] == len(PAIRS)
    exact = plainly(
        lambda outputs, refs: np.mean([a == b for a, b in zip(outputs, refs, strict=True)]),
        replicates,
        seed,
    )
    rate = found["exact_match_rate"]
    assert (rate["ci_lower"], rate["ci_upper"]) == exact
    assert rate["ci_width"] == pytest.approx(exact[1] - exact[0], abs=1e-4)
    assert rate["score"] == round(1 / 6, 4)


def test_fewer_than_two_values_have_no_interval():
    inputs = inputs_of(*((output, [ref]) for output, ref in PAIRS[:1]))
    statistics = {name: metric.statistics(inputs) for name, metric in OURS.items()}
    found = intervals(list(OURS.values()), statistics, replicates=100)
    assert found == dict.fromkeys(OURS)


def test_entries_without_a_value_are_no_zeros():
    metric = mean_metric("mine", lambda entry: None, scale="0-1")
    rows = np.array([[0.5, 1], [np.nan, np.nan], [0.5, 1], [np.nan, np.nan]])
    (found,) = intervals([metric], {"mine": rows}, replicates=200).values()
    assert (found["score"], found["ci_lower"], found["ci_upper"]) == (0.5, 0.5, 0.5)
    assert found["n_entries"] == 2
    # A replicate that drew nothing with a value has no score: about one in sixteen.
    assert 150 < found["n_bootstrap"] < 200


@pytest.mark.parametrize(("size", "lower", "upper"), [(1000, 25, 974), (40, 1, 38), (1, 0, 0)])
def test_the_documented_percentiles(size, lower, upper):
    scores = np.arange(size, dtype=float)
    assert bounds(np.random.default_rng(1).permutation(scores)) == (lower, upper)


def test_no_score_has_no_bounds():
    assert bounds(np.full(10, np.nan)) is None
