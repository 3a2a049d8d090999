"""Tests of two systems against brute force, against sacreBLEU, and at the edges."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from translation_making import inputs_of

from pytest_mtarena.referee.metrics.base import mean_metric, ratio
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.stats import bootstrap as single
from pytest_mtarena.referee.stats import paired
from pytest_mtarena.referee.stats.clusters import cluster_of
from pytest_mtarena.referee.stats.paired import (
    IDENTICAL,
    NO_PAIR,
    ONE_CLUSTER,
    align,
    bootstrap,
    compare,
    holm,
    mcnemar,
    randomization,
    resampled,
)

OURS = make_builtin("13a", asian=False)
CHRF_PP, EXACT, TER_OURS = OURS["chrf_plus_plus"], OURS["exact_match_rate"], OURS["ter"]
THEIRS = {"chrf_plus_plus": CHRF(word_order=2), "bleu": BLEU(), "ter": TER()}
MEAN = mean_metric("mine", lambda entry: None, scale="0-1")


def means(sums):
    return ratio(sums[:, 0], sums[:, 1])


def rows_of(values):
    return np.array([[value, 1.0] for value in values]).reshape(-1, 2)


def systems(n, seed, right=(0.65, 0.6)):
    """Return references and two systems' outputs, of invented words."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("aeiouklmnprst", k=rng.randint(2, 9))) for _ in range(500)]
    references, outputs = [], ([], [])
    for _ in range(n):
        reference = rng.choices(words, k=rng.randint(3, 14))
        references.append(" ".join(reference) + ".")
        for side, share in zip(outputs, right, strict=True):
            kept = (word if rng.random() < share else rng.choice(words) for word in reference)
            side.append(" ".join(kept) + ".")
    return references, *outputs


def statistics(metric, outputs, references):
    pairs = zip(outputs, references, strict=True)
    return metric.statistics(inputs_of(*((output, [text]) for output, text in pairs)))


def brute_force(a, b, score):
    """Return the p-value by swapping in every way there is, one after another."""
    n, extreme = len(a), 0
    observed = abs(score(a.sum(axis=0)[None])[0] - score(b.sum(axis=0)[None])[0])
    for swaps in itertools.product([False, True], repeat=n):
        swap = np.array(swaps)[:, None]
        first, second = np.where(swap, b, a).sum(axis=0), np.where(swap, a, b).sum(axis=0)
        extreme += abs(score(first[None])[0] - score(second[None])[0]) >= observed - 1e-9
    return extreme / 2**n


TABLES = (
    st.integers(1, 7)
    .flatmap(
        lambda n: st.tuples(
            *[st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=n, max_size=n)] * 2
        )
    )
    .map(lambda pair: tuple(np.array(side, np.float64) for side in pair))
)

SIGNED = (
    st.integers(1, 8)
    .flatmap(
        lambda n: st.tuples(
            *[st.lists(st.sampled_from([-0.3, 0.0, 0.1, 0.2, 0.7]), min_size=n, max_size=n)] * 2
        )
    )
    .map(lambda pair: tuple(rows_of(side) for side in pair))
)


# -- randomization --------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.one_of(TABLES, SIGNED))
def test_all_assignments_are_the_brute_force(tables):
    assert randomization(*tables, means) == pytest.approx(brute_force(*tables, means))


@pytest.mark.parametrize("name", ["chrf_plus_plus", "bleu", "ter"])
def test_all_assignments_of_real_metrics(name):
    references, first, second = systems(8, seed=4)
    a, b = (statistics(OURS[name], side, references) for side in (first, second))
    expected = brute_force(a, b, OURS[name].score)
    assert 0 < expected < 1
    assert randomization(a, b, OURS[name].score) == expected


def test_sampling_comes_near_to_all_assignments(monkeypatch):
    monkeypatch.setattr(paired, "_CELLS", 700)  # many blocks
    references, first, second = systems(12, seed=5)
    a, b = (statistics(CHRF_PP, side, references) for side in (first, second))
    exact = randomization(a, b, CHRF_PP.score, resamples=4096)
    sampled = randomization(a, b, CHRF_PP.score, resamples=4095)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.03)


def test_equal_rows_leave_fewer_assignments():
    a = rows_of([1, 0, 1, *[0.5] * 200])
    b = rows_of([0, 1, 0, *[0.5] * 200])
    assert randomization(a, b, means) == 1.0
    assert compare(MEAN, a, b).resamples == 8


def test_swaps_without_a_score_count_against_a_difference():
    # Swapping the second entry leaves one side without anything to divide by.
    a, b = np.array([[3.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])

    def strange(sums):
        return np.where(sums[:, 0] == 3, np.nan, sums[:, 0])

    assert randomization(a, b, strange) == 1.0


def test_no_rows_say_nothing():
    empty = np.zeros((0, 2))
    assert randomization(empty, empty, means) == 1.0
    assert bootstrap(empty, empty, means).p_value == 1.0
    assert bootstrap(empty, empty, means).ci_lower is None


# -- against sacreBLEU ----------------------------------------------------------------------


def theirs(references, first, second, kind, count):
    named = [("a", first), ("b", second)]
    _, found = PairedTest(named, THEIRS, [references], test_type=kind, n_samples=count)()
    results = [value for key, value in found.items() if key != "System"]
    return dict(zip(THEIRS, (result[1].p_value for result in results), strict=True))


@pytest.mark.parametrize(("n", "seed"), [(15, 0), (47, 1), (157, 2), (300, 7)])
def test_bootstrap_p_values_are_those_of_sacrebleu(n, seed, monkeypatch):
    monkeypatch.setattr(paired, "_CELLS", 1700)  # several blocks, one stream
    references, first, second = systems(n, seed, (0.65, 0.61))
    expected = theirs(references, first, second, "bs", 1000)
    for name in THEIRS:
        a, b = (statistics(OURS[name], side, references) for side in (first, second))
        assert bootstrap(a, b, OURS[name].score).p_value == expected[name], name


@pytest.mark.parametrize(("n", "seed"), [(47, 1), (157, 2), (300, 7), (301, 8)])
def test_randomization_p_values_are_those_of_sacrebleu(n, seed, monkeypatch):
    monkeypatch.setattr(paired, "_CELLS", 9000)
    references, first, second = systems(n, seed, (0.65, 0.61))
    expected = theirs(references, first, second, "ar", 1000)
    for name in THEIRS:
        metric = OURS[name]
        a, b = (statistics(metric, side, references) for side in (first, second))
        found = randomization(a, b, metric.score, resamples=1000)
        # Its strict ">" does not count swaps that do as well as the observed difference.
        ties = ties_among(a, b, metric.score, 1000)
        assert round(found * 1001) - round(expected[name] * 1001) == ties, name
        if name == "chrf_plus_plus":
            assert found == expected[name]


def ties_among(a, b, score, count):
    swap = np.random.default_rng(12345).integers(2, size=(count, len(a)), dtype=bool)
    first, second = swap @ a + ~swap @ b, ~swap @ a + swap @ b
    observed = abs(score(a.sum(axis=0)[None])[0] - score(b.sum(axis=0)[None])[0])
    return int(np.isclose(np.abs(score(first) - score(second)), observed, rtol=1e-9).sum())


def test_a_system_against_itself_is_not_different():
    references = ["Mun boađán ihttin.", "Don it leat dáppe.", "Sii vulge ikte.", "Giitu."]
    outputs = ["Mun boađán ihttin.", "Don it leat dáppe", "Sii vulge", "Giitu eatnat."]
    assert theirs(references, outputs, outputs, "bs", 1000)["chrf_plus_plus"] < 0.05
    for metric in OURS.values():
        rows = statistics(metric, outputs, references)
        assert randomization(rows, rows, metric.score) == 1.0
        assert bootstrap(rows, rows, metric.score).p_value == 1.0
        found = compare(metric, rows, rows)
        assert (found.difference, found.p_value, found.p_bootstrap) == (0.0, 1.0, 1.0)
        assert (found.ci_lower, found.ci_upper) == (0.0, 0.0)
        assert (found.significant, found.better, found.reason) == (False, None, IDENTICAL)


def test_systems_that_never_differ_in_score_are_not_different():
    a = np.array([[1.0, 1.0, 5.0], [0.0, 1.0, 5.0], [1.0, 1.0, 5.0]])
    b = a + np.array([0.0, 0.0, 1.0])
    drawn = bootstrap(a, b, means)
    assert (drawn.p_value, drawn.p_two_sided, drawn.ci_lower, drawn.ci_upper) == (1.0, 1.0, 0, 0)


# -- bootstrap ------------------------------------------------------------------------------


def test_the_interval_has_the_documented_indices():
    a, b = (rows_of(np.random.default_rng(seed).random(30)) for seed in (1, 2))
    sums = resampled(np.hstack([a, b]), 400, 9)
    differences = means(sums[:, 2:]) - means(sums[:, :2])
    drawn = bootstrap(a, b, means, resamples=400, seed=9)
    assert (drawn.ci_lower, drawn.ci_upper) == single.bounds(differences)
    wide = bootstrap(a, b, means, resamples=400, seed=9, alpha=0.01)
    assert wide.ci_lower == np.sort(differences)[2]
    assert wide.ci_upper == np.sort(differences)[397]


def test_the_draws_are_those_of_one_call(monkeypatch):
    rows = np.arange(11.0)[:, None]
    drawn = np.random.default_rng(5).choice(11, size=(50, 11), replace=True)
    monkeypatch.setattr(paired, "_CELLS", 30)
    assert resampled(rows, 50, 5)[:, 0].tolist() == drawn.sum(axis=1).tolist()


def test_the_two_sided_p_value_counts_both_tails():
    rng = np.random.default_rng(4)
    a = rows_of(rng.normal(0, 1, 400))
    b = rows_of(a[:, 0] + rng.normal(0.1, 1, 400))
    observed = means(b.sum(axis=0)[None])[0] - means(a.sum(axis=0)[None])[0]
    z = observed / ((b - a)[:, 0].std(ddof=1) / math.sqrt(400))
    expected = math.erfc(abs(z) / math.sqrt(2))
    drawn = bootstrap(a, b, means, resamples=20_000)
    assert 0.01 < expected < 0.2
    assert drawn.p_two_sided == pytest.approx(expected, rel=0.1)
    # sacreBLEU's rule sees one tail of a clear difference.
    assert drawn.p_value == pytest.approx(expected / 2, rel=0.2)
    assert randomization(a, b, means, resamples=20_000) == pytest.approx(expected, rel=0.1)


# -- McNemar and Holm -----------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_mcnemar_is_the_sum_of_the_binomial(pairs):
    lost = sum(a and not b for a, b in pairs)
    won = sum(b and not a for a, b in pairs)
    n = lost + won
    tail = sum(math.comb(n, k) for k in range(min(lost, won) + 1)) / 2**n
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert mcnemar(first, second) == mcnemar(second, first) == min(1.0, 2 * tail)


def test_mcnemar_of_many_entries():
    for lost, won in ((240, 270), (900, 1000)):
        tosses = lost + won
        expected = sum(math.comb(tosses, k) for k in range(lost + 1)) / 2 ** (tosses - 1)
        assert split(lost, won) == pytest.approx(expected, rel=1e-9)
    # The normal approximation, with half a toss for the steps.
    expected = math.erfc((2000 - 1) / math.sqrt(402_000) / math.sqrt(2))
    assert split(200_000, 202_000) == pytest.approx(expected, rel=1e-3)


def split(lost, won):
    """Return the p-value where one system alone is right so often, and the other so often."""
    right_a = np.repeat([True, False, True], [lost, won, 50])
    return mcnemar(right_a, np.repeat([False, True, True], [lost, won, 50]))


def test_mcnemar_of_nothing():
    assert mcnemar([], []) == mcnemar([True], [True]) == 1.0
    with pytest.raises(ValueError, match="paired"):
        mcnemar([True], [True, False])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=11))
def test_mcnemar_is_randomization_in_closed_form(pairs):
    a, b = (rows_of([float(pair[side]) for pair in pairs]) for side in (0, 1))
    expected = randomization(a, b, means)
    assert mcnemar(a[:, 0], b[:, 0]) == pytest.approx(expected)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0001, 1), max_size=8))
def test_holm_keeps_order_and_never_helps(p_values):
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert [q for _, q in ranked] == sorted(adjusted)
    if p_values:
        assert min(adjusted) == pytest.approx(min(1.0, len(p_values) * min(p_values)))


# -- compare --------------------------------------------------------------------------------


def test_a_clear_difference():
    references, first, second = systems(120, 11, (0.5, 0.75))
    a, b = (statistics(CHRF_PP, side, references) for side in (first, second))
    found = compare(CHRF_PP, a, b, resamples=2000)
    assert (found.metric, found.direction) == ("chrf_plus_plus", "higher")
    assert (found.n, found.n_excluded, found.n_units) == (120, 0, 120)
    assert found.method == "approximate randomization"
    assert (found.resamples, found.replicates, found.seed) == (2000, 1000, 12345)
    assert found.score_a == CHRF_PP.score(a.sum(axis=0)[None])[0]
    assert found.difference == found.score_b - found.score_a > 5
    assert 0 < found.ci_lower < found.difference < found.ci_upper
    assert found.p_value == 1 / 2001
    assert (found.significant, found.better, found.reason) == (True, "b", None)
    # TER is better when lower, and the winner is the same.
    a, b = (statistics(TER_OURS, side, references) for side in (first, second))
    lower = compare(TER_OURS, a, b, resamples=2000)
    assert (lower.significant, lower.better, lower.difference < 0) == (True, "b", True)


def test_neither_direction_of_a_target_wins():
    metric = mean_metric("ratio", lambda entry: None, scale="0 and up", direction="target")
    found = compare(metric, rows_of([0.5] * 20), rows_of([0.9, *[1.1] * 19]))
    assert (found.significant, found.better) == (True, None)
    assert found.reason == "neither higher nor lower is better"


def test_rates_are_tested_in_closed_form():
    right_a = [1.0, 0.0, *[1.0] * 3, *[0.0] * 15]
    right_b = [0.0, 1.0, *[1.0] * 15, *[0.0] * 3]
    a, b = rows_of(right_a), rows_of(right_b)
    found = compare(EXACT, a, b)
    assert (found.method, found.resamples) == ("mcnemar", 0)
    assert (
        found.p_value
        == mcnemar(a[:, 0], b[:, 0])
        == randomization(a, b, EXACT.score, resamples=1 << 14)
    )
    assert (found.better, found.significant) == ("b", True)
    # Columns after the second are counts that are shown beside the score.
    wide_a, wide_b = (np.hstack([rows, np.full((20, 1), 7.0)]) for rows in (a, b))
    assert compare(EXACT, wide_a, wide_b).method == "mcnemar"
    # As right or wrong, but with a score that is not the share of right ones.
    assert compare(TER_OURS, a, b, exact=True).method == "exact randomization"


def test_verdict_and_interval_must_agree():
    # A rate whose interval reaches 0 though the p-value of the bootstrap is small.
    a, b = rows_of([*[0.0] * 5, *[1.0] * 42]), rows_of([1.0] * 47)
    found = compare(EXACT, a, b)
    assert found.p_bootstrap < 0.05 < found.p_value
    assert found.ci_lower > 0
    assert not found.significant
    assert found.reason == "too few units differ: the smallest possible p is 0.062"
    # The p-value is small, the interval is not clear of 0.
    few = rows_of([*[1.0] * 6, *[0.0] * 94])
    doubtful = compare(EXACT, rows_of([0.0] * 100), few, alpha=0.04)
    assert doubtful.p_value == 1 / 32
    assert doubtful.significant == (doubtful.ci_lower > 0)
    held = compare(EXACT, rows_of([0.0] * 100), few, alpha=0.04, replicates=1)
    assert held.ci_lower == held.ci_upper


def test_a_small_p_value_does_not_overrule_the_interval(monkeypatch):
    a, b = rows_of([0.0] * 30), rows_of([1.0] * 15 + [0.0] * 15)
    monkeypatch.setattr(paired, "_bounds", lambda differences, alpha: (0.0, 0.5))
    found = compare(EXACT, a, b)
    assert found.p_value < 0.001
    assert (found.significant, found.better) == (False, None)
    assert found.reason == "p < 0.05, but the interval does not leave out 0"


def test_a_clear_interval_does_not_overrule_the_p_value(monkeypatch):
    a, b = (rows_of(np.random.default_rng(seed).random(30)) for seed in (1, 2))
    monkeypatch.setattr(paired, "_bounds", lambda differences, alpha: (0.1, 0.5))
    found = compare(MEAN, a, b)
    assert (found.significant, found.better) == (False, None)
    assert found.reason == "the interval leaves out 0, but p >= 0.05"


def test_entries_without_a_value_are_excluded_in_pairs():
    a = np.array([[1.0, 1], [np.nan, np.nan], [0.2, 1], [0.4, 1]])
    b = np.array([[0.5, 1], [0.9, 1], [np.nan, 1], [0.8, 1]])
    kept_a, kept_b, excluded = align(a, b)
    assert (kept_a.tolist(), kept_b.tolist(), excluded) == (
        [[1, 1], [0.4, 1]],
        [[0.5, 1], [0.8, 1]],
        2,
    )
    found = compare(MEAN, a, b)
    assert (found.n, found.n_excluded) == (2, 2)
    assert (found.score_a, found.score_b) == (0.7, 0.65)
    assert randomization(a, b, means) == randomization(kept_a, kept_b, means)
    assert bootstrap(a, b, means) == bootstrap(kept_a, kept_b, means)
    with pytest.raises(ValueError, match="cannot be paired"):
        align(a, b[:3])


def test_too_few_entries_have_a_reason_and_no_numbers():
    nothing, one = np.full((3, 2), np.nan), np.array([[0.5, 1.0], [np.nan, np.nan]])
    found = compare(MEAN, nothing, rows_of([1, 0, 1]))
    assert (found.n, found.n_excluded, found.score_a, found.reason) == (0, 3, None, NO_PAIR)
    alone = compare(MEAN, one, rows_of([0.75, 1]))
    assert (alone.n, alone.difference, alone.reason) == (1, 0.25, "n < 2")
    assert compare(MEAN, np.zeros((0, 2)), np.zeros((0, 2))).reason == NO_PAIR
    for one_of in (found, alone):
        assert (one_of.p_value, one_of.p_bootstrap, one_of.ci_lower, one_of.method) == (None,) * 4
        assert not one_of.significant


def test_one_entry_has_a_score_and_no_interval():
    rows = statistics(CHRF_PP, ["Mun boađán odne"], ["Mun boađán ihttin."])
    found = compare(CHRF_PP, rows, rows)
    expected = THEIRS["chrf_plus_plus"].corpus_score(["Mun boađán odne"], [["Mun boađán ihttin."]])
    assert found.score_a == expected.score
    assert (found.ci_lower, found.p_value, found.reason, found.n) == (None, None, "n < 2", 1)


def test_systems_that_only_failed_are_identical():
    references = ["ett hus", "en bil", "två hus"]
    for metric in OURS.values():
        rows = statistics(metric, ["", "", ""], references)
        found = compare(metric, rows, rows)
        assert found.reason in (IDENTICAL, "undefined for these entries")
        assert found.p_value in (1.0, None)
        assert not found.significant


def test_a_metric_that_breaks_is_a_reason():
    def broken(sums):
        if len(sums) > 1:
            raise RuntimeError("no\nmore")
        return sums[:, 0]

    metric = replace(MEAN)
    metric.score = broken
    found = compare(metric, rows_of([1, 2, 3]), rows_of([2, 3, 5]))
    assert (found.p_value, found.reason) == (None, "RuntimeError: no more")
    metric.score = lambda sums: np.where(sums[:, 1] == 3, sums[:, 0], np.nan)
    held = compare(metric, rows_of([1, 2, 3]), rows_of([2, 3, 5]))
    assert held.n_units == 3
    assert 0 < held.p_value <= 1


@settings(max_examples=50, deadline=None)
@given(st.one_of(TABLES, SIGNED), st.integers(0, 3))
def test_no_number_is_ever_nan(tables, metric):
    chosen = (MEAN, EXACT, TER_OURS, OURS["length_ratio_total"])[metric]
    found = compare(chosen, *tables, resamples=50, replicates=40)
    numbers = [value for value in asdict(found).values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
    for p_value in (found.p_value, found.p_bootstrap):
        assert p_value is None or 0 < p_value <= 1
    if found.significant:
        assert found.p_value < 0.05
        assert found.ci_lower > 0 or found.ci_upper < 0


@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_swapping_the_systems_swaps_the_verdict(tables):
    a, b = tables
    one, other = (compare(MEAN, *pair, replicates=40) for pair in ((a, b), (b, a)))
    assert one.p_value == other.p_value
    assert one.p_bootstrap == other.p_bootstrap
    assert one.significant == other.significant
    assert {one.better, other.better} in ({None}, {"a", "b"})
    if one.difference is not None:
        assert one.difference == -other.difference


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_swapping_the_systems_when_swaps_are_sampled(seed):
    references, first, second = systems(60, seed, (0.6, 0.66))
    for metric in (CHRF_PP, TER_OURS):
        a, b = (statistics(metric, side, references) for side in (first, second))
        one, other = compare(metric, a, b), compare(metric, b, a)
        assert (one.p_value, one.p_bootstrap) == (other.p_value, other.p_bootstrap)
        # Sorted the other way round: the 26th of 1000 becomes the 975th.
        assert (one.ci_lower, one.ci_upper) == (-other.ci_upper, -other.ci_lower)
        assert one.significant == other.significant


def test_the_order_of_arrival_does_not_matter_after_sorting():
    ids = [f"o{number:02}" for number in range(40)]
    rng = np.random.default_rng(3)
    scores = {name: (a, b) for name, a, b in zip(ids, rng.random(40), rng.random(40), strict=True)}

    def verdict(arrived):
        ordered = sorted(arrived)
        sides = (rows_of([scores[name][side] for name in ordered]) for side in (0, 1))
        return compare(MEAN, *sides)

    expected = verdict(ids)
    assert verdict(ids[::-1]) == expected
    assert verdict(random.Random(1).sample(ids, 40)) == expected


def test_exact_tries_all_assignments():
    a, b = (rows_of(np.random.default_rng(seed).random(16)) for seed in (1, 2))
    sampled, whole = compare(MEAN, a, b), compare(MEAN, a, b, exact=True)
    assert (sampled.method, sampled.resamples) == ("approximate randomization", 10_000)
    assert (whole.method, whole.resamples) == ("exact randomization", 1 << 16)
    assert sampled.p_value == pytest.approx(whole.p_value, abs=0.02)
    many = compare(MEAN, np.tile(a, (2, 1)), np.tile(b, (2, 1)), exact=True)
    assert many.method == "approximate randomization"


def test_clusters_are_swapped_whole():
    # Two documents of ten entries: whatever their entries say, two units can show nothing.
    a, b = rows_of([0.0] * 20), rows_of([1.0] * 20)
    documents = cluster_of(["d1", "d2"] * 10)
    apart, together = compare(EXACT, a, b), compare(EXACT, a, b, clusters=documents)
    assert (apart.significant, apart.method) == (True, "mcnemar")
    assert (together.significant, together.method) == (False, "exact randomization")
    assert (together.n, together.n_units, together.p_value) == (20, 2, 0.5)
    assert (together.score_a, together.score_b) == (0.0, 1.0)
    single_file = compare(EXACT, a, b, clusters=cluster_of(["d1"] * 20))
    assert (single_file.p_value, single_file.reason) == (None, ONE_CLUSTER)
    # Clusters of one entry are no clusters, also after some were excluded.
    a[3] = np.nan
    alone = compare(EXACT, a, b, clusters=cluster_of([None] * 20))
    assert alone == compare(EXACT, a, b)


def test_memory_is_bounded_by_blocks(monkeypatch):
    sizes = []
    real = paired._product
    monkeypatch.setattr(
        paired, "_product", lambda mask, rows: sizes.append(mask.size) or real(mask, rows)
    )
    rng = np.random.default_rng(1)
    a, b = (rows_of(rng.random(20_001)) for _ in range(2))
    randomization(a, b, means, resamples=100)
    assert max(sizes) <= 32 * 20_001
    assert len(sizes) == 4
