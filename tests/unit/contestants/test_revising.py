"""Adding up what revisions cost: unknown stays unknown."""

from __future__ import annotations

from pytest_mtarena.contestants.revising import add
from pytest_mtarena.records import Attempt


def attempt(cost, seconds, tokens, calls=1):
    return Attempt(
        id="e1",
        output="x",
        cost_usd=cost,
        latency_seconds=seconds,
        usage={"prompt_tokens": tokens},
        metadata={"calls": calls, "finish_reasons": ["stop"]},
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
