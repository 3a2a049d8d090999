"""Exact match, length ratios and metrics that are a mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from translation_making import inputs_of

from pytest_mtarena import mean_metric
from pytest_mtarena.protocols import Metric
from pytest_mtarena.referee.judging import judge, total
from pytest_mtarena.referee.metrics.builtin import make_builtin

OURS = make_builtin("13a", asian=False)


@pytest.mark.parametrize(
    ("output", "reference", "matches"),
    [
        ("Giitu", "Giitu", "plain strict lenient"),
        ("  giitu  dutnje\n", "Giitu dutnje", "plain lenient"),
        ("Giitu.", "Giitu", ""),
        ("“Giitu” – don’t", '"Giitu" - don\'t', "lenient"),
        ("STRASSE", "Straße", "lenient"),
        ("ﬁn", "fin", "lenient"),
        ("", "", ""),
        ("  ", " ", ""),
    ],
)
def test_exact_match_in_three_strictnesses(output, reference, matches):
    names = {
        "plain": "exact_match_rate",
        "strict": "exact_match_strict",
        "lenient": "exact_match_lenient",
    }
    for word, name in names.items():
        (row,) = OURS[name].statistics(inputs_of((output, [reference]))).tolist()
        # The referee hands a blank output on as an empty one; strict alone sees the difference.
        if output == " " * len(output) and word == "strict":
            continue
        assert row == [word in matches.split(), 1.0], name


def test_any_of_several_references_matches():
    rows = OURS["exact_match_rate"].statistics(inputs_of(("b", ["a", "B"]), ("c", ["a", "b"])))
    assert rows[:, 0].tolist() == [1, 0]


def test_length_ratios():
    inputs = inputs_of(("abcd", ["ab"]), ("ab", ["abcd"]), ("a", ["abc"]), ("abc", ["ab", "abcd"]))
    mean, whole = OURS["length_ratio"], OURS["length_ratio_total"]
    rows = mean.statistics(inputs)
    assert mean.entry(inputs, rows) == [2.0, 0.5, 1 / 3, 1.5]
    # Neither 0.5 nor 2.0 itself is beyond the limit.
    assert rows[:, 2:].sum(axis=0).tolist() == [1, 0]
    assert mean.score(rows.sum(axis=0)[None])[0] == pytest.approx((2 + 0.5 + 1 / 3 + 1.5) / 4)
    sums = whole.statistics(inputs).sum(axis=0)[None]
    assert whole.score(sums)[0] == (4 + 2 + 1 + 3) / (2 + 4 + 3 + 2)


def test_a_mean_metric_that_returns_nan_and_infinity():
    values = iter([0.8, math.nan, math.inf])
    metric = mean_metric("mine", lambda entry: next(values), scale="0-1")
    judged = judge(metric, inputs_of(("a", ["a"]), ("b", ["b"]), ("c", ["c"])))
    assert judged.values == [0.8, None, None]
    assert judged.reasons == [None, "non-finite", "non-finite"]
    assert total(metric, judged.rows) == (0.8, None)


def test_a_mean_metric_that_raises_costs_one_value():
    def picky(entry):
        if entry.output == "b":
            raise ValueError("no\nb")
        return None if entry.output == "c" else True

    metric = mean_metric("picky", picky, scale="0-1")
    judged = judge(metric, inputs_of(("a", ["a"]), ("b", ["b"]), ("c", ["c"])))
    assert judged.values == [1.0, None, None]
    assert judged.reasons == [None, "ValueError: no b", "no value"]


@pytest.mark.parametrize(
    "given", ["0.5", b"1", [1.0], object()], ids=["str", "bytes", "list", "object"]
)
def test_a_mean_metric_that_returns_no_number(given):
    judged = judge(mean_metric("odd", lambda entry: given, scale="0-1"), inputs_of(("a", ["a"])))
    assert judged.values == [None]
    assert judged.reasons[0].startswith("TypeError: a number is needed, not ")


class Foreign:
    """A metric of somebody else: characters a reference character, by sums."""

    id = title = "foreign"
    scale, direction, level, role, version = "0-1", "higher", "corpus", "secondary", "1"
    signature = "foreign|1"

    def __init__(self, fault=None):
        self.fault = fault

    def statistics(self, inputs):
        if self.fault == "raise" and any(one.output == "bad" for one in inputs):
            raise RuntimeError("cannot do bad")
        if self.fault == "shape":
            return np.zeros(len(inputs))
        rows = np.array([[len(one.output), len(one.references[0])] for one in inputs], float)
        if self.fault == "infinite":
            rows[0] = math.inf
        return rows

    def score(self, sums):
        return sums[:, 0] / sums[:, 1]

    def entry(self, inputs, rows):
        return list(rows[:, 0] / rows[:, 1])


def test_a_foreign_metric_is_a_metric():
    assert isinstance(Foreign(), Metric)
    judged = judge(Foreign(), inputs_of(("ab", ["a"]), ("a", ["ab"])))
    assert judged.values == [2.0, 0.5]
    assert total(Foreign(), judged.rows) == (1.0, None)


def test_faults_of_a_foreign_metric_are_reasons():
    inputs = inputs_of(("ab", ["a"]), ("bad", ["b"]))
    judged = judge(Foreign("raise"), inputs)
    assert judged.values == [2.0, None]
    assert judged.reasons == [None, "RuntimeError: cannot do bad"]
    assert (
        judge(Foreign("shape"), inputs).reasons
        == ["ValueError: statistics of shape (1,) for 1 entries"] * 2
    )
    judged = judge(Foreign("infinite"), inputs)
    assert judged.values == [None, 3.0]
    assert judged.reasons == ["non-finite", None]
    assert total(Foreign(), judged.rows) == (3.0, None)
