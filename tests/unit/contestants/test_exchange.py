"""The one-to-one check: what each kind of bad answer costs, and whom."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.contestants.exchange import MAX_JSON, check_results, contract, plain_json

IDS = ("a", "b", "c")
ENTRIES = [{"id": key, "index": place, "source": key} for place, key in enumerate(IDS)]


def good(key, **more):
    return {"id": key, "predicted": key.upper(), **more}


def kinds(exchange):
    return [None if a.failure is None else a.failure.kind for a in exchange.attempts]


def check(first):
    """Check an answer whose result for the first entry is the given one."""
    exchange = check_results(ENTRIES, [first, good("b"), good("c")])
    assert kinds(exchange)[1:] == [None, None]
    return exchange.attempts[0]


def test_results_are_matched_by_id_in_any_order():
    exchange = check_results(ENTRIES, [good("c"), good("a"), good("b")])
    assert [(a.id, a.output, a.raw_output) for a in exchange.attempts] == [
        (key, key.upper(), key.upper()) for key in IDS
    ]
    assert exchange.faults == ()


@pytest.mark.parametrize("results", [None, {"a": "A"}, "abc", 3, (r for r in ()), {"a"}])
def test_what_is_no_list_fails_every_entry_in_the_words_of_the_contract(results):
    exchange = check_results(ENTRIES, results)
    assert kinds(exchange) == ["contract"] * 3
    assert all(contract() in a.failure.message for a in exchange.attempts)
    assert all(a.output is None for a in exchange.attempts)


def test_a_list_of_texts_fails_every_entry():
    exchange = check_results(ENTRIES, ["A", "B", "C"])
    assert kinds(exchange) == ["contract"] * 3
    assert "result 1 is a str instead of a dict" in exchange.attempts[0].failure.message


def test_a_missing_result_costs_its_entry_only():
    exchange = check_results(ENTRIES, [good("a"), good("c")])
    assert kinds(exchange) == [None, "missing_result", None]
    assert contract() in exchange.attempts[1].failure.message


def test_two_results_for_one_id_are_both_refused():
    exchange = check_results(ENTRIES, [good("a"), good("b"), good("c"), good("b", predicted="x")])
    assert kinds(exchange) == [None, "duplicate_result", None]
    assert exchange.attempts[1].output is None


def test_an_unknown_id_is_reported_and_attached_to_nobody():
    exchange = check_results(ENTRIES, [good("a"), good("b"), good("x\ny"), good("c")])
    assert kinds(exchange) == [None, None, None]
    (fault,) = exchange.faults
    assert repr("x\ny") in fault
    assert "\n" not in fault


def test_many_unknown_ids_are_one_short_line():
    exchange = check_results(ENTRIES, [good(f"no{n}" * 100) for n in range(50)])
    assert kinds(exchange) == ["missing_result"] * 3
    assert len(exchange.faults) == 1
    assert "and 45 more" in exchange.faults[0]
    assert len(exchange.faults[0]) < 700


def test_an_integer_id_fails_the_entry_whose_id_it_spells():
    entries = [{"id": "7"}, {"id": "8"}]
    exchange = check_results(entries, [{"id": 7, "predicted": "x"}, {"id": "8", "predicted": "y"}])
    assert kinds(exchange) == ["contract", None]
    assert "an int instead of a str" in exchange.attempts[0].failure.message


@pytest.mark.parametrize("key", [None, 3.5, ["a"], b"a"])
def test_an_id_that_is_no_text_names_nobody(key):
    exchange = check_results(ENTRIES, [{"id": key, "predicted": "A"}, good("b"), good("c")])
    assert kinds(exchange) == ["contract", None, None]
    assert len(exchange.faults) == 1


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"predicted": None}, "predicted is None"),
        ({"predicted": 3}, "predicted is an int"),
        ({"predicted": ["A"]}, "predicted is a list"),
        ({"predicted": b"A"}, "predicted is a bytes"),
        ({"predicted": "a\ud800"}, "not valid Unicode"),
        ({"output": "B"}, "predicted and output differ"),
        ({"raw_predicted": 1}, "raw_predicted is an int"),
        ({"latency_s": math.nan}, "latency_s is nan"),
        ({"latency_s": math.inf}, "latency_s is inf"),
        ({"latency_s": -1}, "latency_s is negative"),
        ({"latency_s": "fast"}, "latency_s is a str"),
        ({"latency_s": True}, "latency_s is a bool"),
        ({"cost_usd": -0.1}, "cost_usd is negative"),
        ({"usage": [1]}, "usage is a list"),
        ({"usage": {"prompt_tokens": -1}}, "negative"),
        ({"usage": {"prompt_tokens": math.nan}}, "usage"),
        ({"usage": {"prompt_tokens": "12"}}, "a str instead of a number"),
        ({"usage": {"prompt_tokens": True}}, "a bool instead of a number"),
        ({"usage": {"details": {"cached": -1}}}, "negative"),
        ({"error": 500}, "error is an int"),
        ({"error": {"code": 1}}, "error is a dict"),
        ({"tool_calls": {"name": "x"}}, "tool_calls is a dict"),
        ({"tool_calls": [object()]}, "which JSON does not have"),
        ({"tool_calls": [1], "tool_call_count": 2}, "tool_call_count is 2"),
        ({"tool_call_count": -1}, "tool_call_count must be"),
        ({"metadata": [1]}, "metadata is a list"),
        ({"metadata": {"x": {1, 2}}}, "which JSON does not have"),
        ({"metadata": {"x": math.nan}}, "which is no amount"),
        ({"metadata": {"x": "\udfff"}}, "not valid Unicode"),
        ({"metadata": {1: "x"}}, "no str"),
        ({"metadata": {"x": 2**60}}, "2^53"),
        ({"metadata": {"x": "y" * (MAX_JSON + 1)}}, "larger than"),
    ],
)
def test_a_broken_field_fails_exactly_its_entry(broken, words):
    attempt = check(good("a", **broken))
    assert attempt.failure is not None
    assert attempt.failure.kind == "contract"
    assert words in attempt.failure.message
    assert contract() in attempt.failure.message
    assert attempt.output is None
    json.dumps(attempt.model_dump(), allow_nan=False, ensure_ascii=False).encode()


def test_a_result_without_predicted_is_no_empty_answer():
    attempt = check({"id": "a", "latency_s": 0.1})
    assert attempt.failure is not None
    assert "predicted is missing" in attempt.failure.message


def test_an_empty_answer_is_an_answer():
    attempt = check(good("a", predicted=""))
    assert attempt.failure is None
    assert attempt.output == ""


def test_output_is_another_name_for_predicted():
    assert check({"id": "a", "output": "A"}).output == "A"


def test_all_the_documented_keys_are_read():
    attempt = check(
        good(
            "a",
            raw_predicted="A!",
            latency_s=0.5,
            usage={"prompt_tokens": 3, "details": {"cached_tokens": 1}, "reasoning": None},
            error=None,
            tool_calls=[{"name": "look"}],
            tool_call_count=1,
            metadata={"k": [1, None, True, "x"]},
            cost_usd=0.01,
        )
    )
    assert attempt.failure is None
    assert (attempt.output, attempt.raw_output) == ("A", "A!")
    assert attempt.latency_seconds == 0.5
    assert attempt.usage == {"prompt_tokens": 3, "details": {"cached_tokens": 1}}
    assert attempt.tool_calls == ({"name": "look"},)
    assert attempt.metadata == {"k": [1, None, True, "x"]}
    assert attempt.cost_usd == 0.01


def test_a_reported_error_keeps_the_text_and_the_usage():
    attempt = check(good("a", error="timed\nout", usage={"prompt_tokens": 9}))
    assert attempt.failure is not None
    assert (attempt.failure.kind, attempt.failure.message) == ("reported", "timed out")
    assert (attempt.output, attempt.raw_output) == (None, "A")
    assert attempt.usage == {"prompt_tokens": 9}


def test_a_reported_error_needs_no_text():
    attempt = check({"id": "a", "error": "quota"})
    assert attempt.failure is not None
    assert attempt.failure.kind == "reported"


def test_numpy_scalars_become_plain_numbers():
    attempt = check(
        good(
            "a",
            latency_s=np.float32(0.5),
            usage={"n": np.int64(3)},
            metadata={"f": np.float64(1.5), "b": np.bool_(True), "r": Fraction(1, 2)},
        )
    )
    assert attempt.failure is None
    assert type(attempt.latency_seconds) is float
    assert type(attempt.usage["n"]) is int
    assert attempt.metadata == {"f": 1.5, "b": True, "r": 0.5}
    assert [type(value) for value in attempt.metadata.values()] == [float, bool, float]


def test_a_subclass_of_str_becomes_a_str():
    class Loud(str):
        def __str__(self):
            return "LOUD"

    attempt = check({"id": Loud("a"), "predicted": Loud("quiet"), "metadata": {"k": Loud("v")}})
    assert type(attempt.output) is str
    assert attempt.output == "quiet"
    assert attempt.metadata == {"k": "v"}


def test_a_structure_that_refers_to_itself_is_refused_quickly():
    loop: list[object] = []
    loop.append(loop)
    wide: object = "x"
    for _ in range(60):
        wide = [wide, wide]
    for value in (loop, wide):
        with pytest.raises(ValueError, match=r"nested|larger"):
            plain_json(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RESULTS = st.dictionaries(
    st.sampled_from(["predicted", "output", "error", "usage", "metadata", "latency_s"]), VALUES
).flatmap(lambda d: st.sampled_from([*IDS, "x", 1, None]).map(lambda key: {**d, "id": key}))


@settings(max_examples=150, deadline=None)
@given(st.lists(RESULTS | VALUES, max_size=5) | VALUES)
def test_any_answer_gives_one_storable_attempt_per_entry(results):
    exchange = check_results(ENTRIES, results)
    assert [attempt.id for attempt in exchange.attempts] == list(IDS)
    for attempt in exchange.attempts:
        assert (attempt.output is None) == (attempt.failure is not None)
        json.dumps(attempt.model_dump(), allow_nan=False, ensure_ascii=False).encode()
