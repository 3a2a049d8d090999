"""Tokens, money and time: sums by hand, and null rather than a guess."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mtarena.card.speed import speed
from pytest_mtarena.card.usage import totals


def row(**changes: Any) -> dict[str, Any]:
    base = {
        "status": "ok",
        "request": 0,
        "request_seconds": 2.0,
        "usage": {"prompt_tokens": 10, "completion_tokens": 4},
        "cost_usd": 0.5,
        "metadata": {},
        "source": "four",
    }
    return base | changes


def test_totals_by_hand() -> None:
    details = {
        "prompt_tokens": 30,
        "completion_tokens": 16,
        "completion_tokens_details": {"reasoning_tokens": 5},
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    block, why = totals([row(), row(usage=details, cost_usd=0.1, source="sixsix")])
    assert block == {
        "prompt_tokens": 40,
        "completion_tokens": 20,
        "reasoning_tokens": 5,
        "cached_tokens": 8,
        "total_tokens": 60,
        "entries_with_usage": 2,
        "total_cost_usd": 0.6,
        "known_cost_usd": 0.6,
        "entries_of_unknown_cost": 0,
        "cached_cost_usd": 0.0,
        "cost_per_entry_usd": 0.3,
        "cost_per_source_char": 0.06,
        "reasoning_ratio": 0.25,
        "tokens_per_entry": 30.0,
        "cost_per_1k_tokens": 10.0,
    }
    assert why == {}


def from_cache(once: float | None, **changes: Any) -> dict[str, Any]:
    return row(cost_usd=0.0, **changes) | {
        "metadata": {"from_cache": True, "original_cost_usd": once}
    }


def test_what_came_from_the_cache_was_paid_before_and_costs_what_it_cost() -> None:
    fresh, _ = totals([row(), row(cost_usd=0.1)])
    half, _ = totals([row(), from_cache(0.1)])
    whole, why = totals([from_cache(0.5), from_cache(0.1)])
    spent = [(block["total_cost_usd"], block["cached_cost_usd"]) for block in (fresh, half, whole)]
    assert spent == [(0.6, 0.0), (0.5, 0.1), (0.0, 0.6)]
    for name in ("cost_per_entry_usd", "cost_per_source_char", "cost_per_1k_tokens"):
        assert fresh[name] == half[name] == whole[name]
    assert why == {}


def test_what_an_entry_from_the_cache_once_cost_may_be_unknown() -> None:
    block, why = totals([row(), from_cache(None)])
    assert (block["total_cost_usd"], block["cached_cost_usd"]) == (0.5, None)
    assert block["cost_per_entry_usd"] is None
    assert why["cost_per_entry_usd"] == why["cached_cost_usd"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no entry was sent"),
        ([row(request=-1, usage={}, cost_usd=None)], "no entry was sent"),
        ([row(usage={}, cost_usd=None)] * 2, "the method reports no cost"),
        ([row(cost_usd=None)] * 2, "the method reports token counts but no cost"),
        ([row(), row(cost_usd=None), row()], "the cost of 1 of 3 entries is unknown"),
    ],
)
def test_unknown_is_not_free(rows: list[dict[str, Any]], reason: str) -> None:
    block, why = totals(rows)
    assert block["total_cost_usd"] is None
    assert why["total_cost_usd"] == reason
    for key in ("cost_per_entry_usd", "cost_per_source_char", "cost_per_1k_tokens"):
        assert block[key] is None
        assert why[key] == reason


@pytest.mark.parametrize(
    ("costs", "known", "unknown"),
    [
        ([0.5, None, 0.25], 0.75, 1),
        ([None, 0.0], 0.0, 1),
        ([None, None], None, 2),
        ([0.5, 0.5], 1.0, 0),
        ([], None, 0),
    ],
)
def test_what_is_known_is_added_and_what_is_not_is_counted(
    costs: list[float | None], known: float | None, unknown: int
) -> None:
    block, why = totals([row(cost_usd=one) for one in costs])
    assert (block["known_cost_usd"], block["entries_of_unknown_cost"]) == (known, unknown)
    assert block["total_cost_usd"] == (None if unknown else known)
    assert ("known_cost_usd" in why) == (known is None)


def test_free_is_zero() -> None:
    block, why = totals([row(cost_usd=0.0, usage={})])
    assert block["total_cost_usd"] == 0
    assert block["cost_per_entry_usd"] == 0
    assert "total_cost_usd" not in why


def test_entries_that_were_never_sent_cost_nothing() -> None:
    never = row(request=-1, usage={}, cost_usd=None, status="error")
    assert totals([row(), never])[0]["cost_per_entry_usd"] == 0.5


def test_cost_per_token_needs_the_tokens_of_all() -> None:
    block, why = totals([row(), row(usage={})])
    assert block["total_tokens"] == 14
    assert block["entries_with_usage"] == 1
    assert block["tokens_per_entry"] == 14
    assert why["cost_per_1k_tokens"] == "1 of 2 entries report token counts"


def requests(count: int) -> list[dict[str, Any]]:
    """Three entries a request; the k-th request took k + 1 seconds."""
    return [
        row(request=3 * at, request_seconds=float(at + 1)) for at in range(count) for _ in range(3)
    ]


@pytest.mark.parametrize(
    ("count", "average", "median", "p95"),
    [(1, 1, 1, 1), (2, 1.5, 2, 2), (4, 2.5, 3, 4), (20, 10.5, 11, 20), (100, 50.5, 51, 96)],
)
def test_latency_is_of_requests(count: int, average: float, median: float, p95: float) -> None:
    block, why = speed(requests(count), 60.0)
    assert block == {
        "avg_latency_seconds": average,
        "median_latency_seconds": median,
        "p95_latency_seconds": p95,
        "entries_per_minute": 3 * count,
        "tokens_per_second": pytest.approx(3 * count * 14 / 60, abs=1e-6),
        "latency_unit": "request",
    }
    assert why == {}


def test_left_out_are_cached_failed_and_unsent() -> None:
    rows = [
        row(),
        row(request=1, request_seconds=50.0, metadata={"cached": True}),
        row(request=3, request_seconds=0.001, metadata={"from_cache": True}),
        row(request=2, request_seconds=600.0, status="timeout"),
        row(request=-1, request_seconds=None),
    ]
    block, _ = speed(rows, 60.0)
    assert block["avg_latency_seconds"] == 2.0
    assert block["entries_per_minute"] == 1.0


def test_nothing_measured_is_null_with_a_reason() -> None:
    block, why = speed([row(request=-1)], 60.0)
    assert {key for key, value in block.items() if value is None} == set(why)
    assert len(why) == 5
    block, why = speed([row(usage={})], 60.0)
    assert block["tokens_per_second"] is None
    assert why == {"tokens_per_second": "not every entry reports token counts"}
    block, why = speed([row()], 0.0)
    assert set(why) == {"tokens_per_second", "entries_per_minute"}


def test_two_requests_of_equal_time_are_two() -> None:
    rows = [row(request=at, request_seconds=1.0) for at in range(3)]
    rows.append(row(request=3, request_seconds=5.0))
    assert speed(rows, 60.0)[0]["avg_latency_seconds"] == 2.0
