"""Adding up what revisions cost: unknown stays unknown."""

from __future__ import annotations

from pytest_mtarena.contestants.revising import add
from pytest_mtarena.records import Attempt


def attempt(cost, seconds, tokens, calls=1, **more):
    return Attempt(
        id="e1",
        output="x",
        cost_usd=cost,
        latency_seconds=seconds,
        usage={"prompt_tokens": tokens},
        metadata={"calls": calls, "finish_reasons": ["stop"], **more},
    )


def test_time_tokens_and_cost_are_added():
    both = add(attempt(0.1, 1.0, 10), attempt(0.2, 0.5, 7))
    assert both.cost_usd == 0.3
    assert both.latency_seconds == 1.5
    assert both.usage == {"prompt_tokens": 17}
    assert both.metadata["calls"] == 2
    assert both.output == "x"


def test_what_is_unknown_of_one_is_unknown_of_both():
    both = add(attempt(0.1, 1.0, 10), attempt(None, None, 7))
    assert both.cost_usd is None
    assert both.latency_seconds is None


def kept(original):
    return attempt(0.0, None, 10, from_cache=True, cached_calls=1, original_cost_usd=original)


def test_the_original_cost_is_that_of_all_calls():
    both = add(kept(0.1), kept(0.2))
    assert (both.cost_usd, both.metadata["original_cost_usd"]) == (0.0, 0.3)
    assert both.metadata["cached_calls"] == 2
    both = add(kept(0.1), attempt(0.2, 1.0, 7))
    assert (both.cost_usd, both.metadata["original_cost_usd"]) == (0.2, 0.3)
    assert both.metadata["from_cache"] is True
    both = add(attempt(0.1, 1.0, 10, from_cache=False), kept(0.2))
    assert (both.cost_usd, both.metadata["original_cost_usd"]) == (0.1, 0.3)
    assert both.metadata["from_cache"] is True
    both = add(both, kept(0.4))
    assert (both.cost_usd, both.metadata["original_cost_usd"]) == (0.1, 0.7)


def test_an_original_cost_that_is_unknown_makes_the_sum_unknown():
    assert add(kept(0.1), kept(None)).metadata["original_cost_usd"] is None
    assert add(kept(0.1), attempt(None, 1.0, 7)).metadata["original_cost_usd"] is None
    assert "original_cost_usd" not in add(attempt(0.1, 1.0, 7), attempt(0.1, 1.0, 7)).metadata


def test_where_the_costs_are_from_is_that_of_all_calls():
    one, other = attempt(0.1, 1.0, 1, cost_source="reported"), attempt(0.1, 1.0, 1)
    file = attempt(0.1, 1.0, 1, cost_source="file")
    assert add(one, other).metadata["cost_source"] == "reported"
    assert add(add(one, file), one).metadata["cost_source"] == "reported, file"
