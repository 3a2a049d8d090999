"""Tokens and money of a run, summed over its rows. Unknown is not free: it is null, and says why.

An entry is *billed* when it was sent, or when its row reports usage or a cost; what it came to in
the end does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from pytest_mtarena.records import Json, is_cached, whole_cost

Row = Mapping[str, Json]

_DETAILS = {
    "reasoning_tokens": "completion_tokens_details",
    "cached_tokens": "prompt_tokens_details",
}


def tokens(row: Row, name: str) -> int | None:
    """Return the count called ``name`` of a row's usage; None when it is not reported."""
    usage = row.get("usage")
    if not isinstance(usage, Mapping):
        return None
    found = usage.get(name)
    if found is None and isinstance(details := usage.get(_DETAILS.get(name, "")), Mapping):
        found = details.get(name)
    return int(found) if _is_number(found) else None


def cost(row: Row) -> float | None:
    """Return the cost of a row in US dollars; None when it is unknown."""
    found = row.get("cost_usd")
    return float(found) if _is_number(found) else None


def was_sent(row: Row) -> bool:
    """Say whether any request carried the entry of a row."""
    request = row.get("request")
    return isinstance(request, int) and request >= 0


def totals(rows: Sequence[Row]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the card's totals, and for each null among them the reason.

    Token sums run over the rows that report usage, ``entries_with_usage`` of them. Costs are US
    dollars: the sums are what this run spent, and ``cached_cost_usd`` what its entries from the
    cache once cost; what an entry, a character and a token cost holds for both.
    """
    billed = [row for row in rows if was_sent(row) or row.get("usage") or cost(row) is not None]
    using = [row for row in rows if row.get("usage")]
    block: dict[str, Any] = {}
    why: dict[str, str] = {}
    no_usage = "the method reports no token counts"

    for name in ("prompt_tokens", "completion_tokens"):
        found = [count for row in using if (count := tokens(row, name)) is not None]
        block[name] = sum(found) if found else None
        if not found:
            why[name] = no_usage
    for name in ("reasoning_tokens", "cached_tokens"):
        # Whoever reports usage and has none of these leaves them out.
        block[name] = sum(tokens(row, name) or 0 for row in using) if using else None
        if not using:
            why[name] = no_usage
    known = [block[n] for n in ("prompt_tokens", "completion_tokens") if block[n] is not None]
    block["total_tokens"] = sum(known) if known else None
    if not known:
        why["total_tokens"] = no_usage
    block["entries_with_usage"] = len(using)

    costs = [each for row in billed if (each := cost(row)) is not None]
    reason = _no_total(len(billed), len(costs), bool(using))
    block["known_cost_usd"] = _sum(costs) if costs else None
    block["total_cost_usd"] = block["known_cost_usd"] if reason is None else None
    block["entries_of_unknown_cost"] = len(billed) - len(costs)
    once = [(whole_cost(row), cost(row)) for row in billed if is_cached(row)]
    is_known = all(None not in pair for pair in once)
    before = [whole - now for whole, now in once if whole is not None and now is not None]
    block["cached_cost_usd"] = _sum(before) if is_known else None
    if not is_known:
        why["cached_cost_usd"] = "what some entries from the cache once cost is unknown"
    if reason is not None:
        why["total_cost_usd"] = reason
        if not costs:
            why["known_cost_usd"] = reason
    _ratios(block, why, billed, using)
    return block, why


def _no_total(billed: int, known: int, usage: bool) -> str | None:
    """Return why there is no total cost; None when there is one."""
    if not billed:
        return "no entry was sent"
    if known == billed:
        return None
    if known:
        return f"the cost of {billed - known} of {billed} entries is unknown"
    if usage:
        return "the method reports token counts but no cost"
    return "the method reports no cost"


def _ratios(
    block: dict[str, Any], why: dict[str, str], billed: Sequence[Row], using: Sequence[Row]
) -> None:
    every = [whole_cost(row) for row in billed]
    total, all_tokens = None if None in every else _sum(every), block["total_tokens"]
    sources = [row.get("source") for row in billed]
    chars = sum(len(source) for source in sources if isinstance(source, str))
    no_cost = why.get("total_cost_usd") or why.get("cached_cost_usd")
    no_tokens = why.get("total_tokens")
    if no_tokens is None and not all_tokens:
        no_tokens = "no tokens were used"
    if no_tokens is None and len(using) < len(billed):
        no_tokens = f"{len(using)} of {len(billed)} entries report token counts"
    no_source = None if chars and all(isinstance(s, str) for s in sources) else "no source text"

    def put(name: str, reason: str | None, top: float | None, bottom: float, digits: int) -> None:
        if reason is None and top is not None and bottom:
            block[name] = round(top / bottom, digits)
        else:
            block[name] = None
            why[name] = reason or "nothing to divide by"

    put("cost_per_entry_usd", no_cost, total, len(billed), 10)
    put("cost_per_source_char", no_cost or no_source, total, chars, 10)
    completion = block["completion_tokens"]
    no_completion = why.get("completion_tokens") or (None if completion else "no tokens were used")
    put("reasoning_ratio", no_completion, block["reasoning_tokens"], completion or 0, 4)
    put("tokens_per_entry", why.get("total_tokens"), all_tokens, len(using), 2)
    put("cost_per_1k_tokens", no_cost or no_tokens, total, (all_tokens or 0) / 1000, 10)


def _sum(costs: Sequence[float | None]) -> float:
    return round(math.fsum(cost for cost in costs if cost is not None), 10)


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
