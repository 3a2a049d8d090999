"""How fast a run was, measured in requests: the entries of a batch share one wall time.

Left out are entries that no request carried, those that came from a cache (``from_cache`` or
``cached`` in their metadata), and those that failed: how long a failure takes says nothing about
speed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pytest_mtarena.card.usage import Row, tokens, was_sent
from pytest_mtarena.records import is_cached

LATENCIES = ("avg_latency_seconds", "median_latency_seconds", "p95_latency_seconds")
RATES = ("entries_per_minute", "tokens_per_second")


def speed(rows: Sequence[Row], elapsed_seconds: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the speed part of the scores, and for each null in it the reason.

    Latencies are seconds per request. Of the n sorted ones, the median is element ``n // 2`` and
    the 95th percentile element ``min(floor(0.95 * n), n - 1)``. Rates are per time of the whole
    run. All are rounded to 6 decimals.
    """
    timed = [row for row in rows if _is_timed(row)]
    requests = {(row["request"], row["request_seconds"]) for row in timed}
    seconds = sorted(float(wall) for _, wall in requests)
    block: dict[str, Any] = dict.fromkeys((*LATENCIES, *RATES))
    why: dict[str, str] = {}
    if not timed:
        why = dict.fromkeys(block, "no request that succeeded was timed")
    else:
        n = len(seconds)
        found = (math.fsum(seconds) / n, seconds[n // 2], seconds[min(math.floor(0.95 * n), n - 1)])
        block.update(zip(LATENCIES, (round(value, 6) for value in found), strict=True))
        if elapsed_seconds > 0:
            block["entries_per_minute"] = round(len(timed) / (elapsed_seconds / 60), 6)
        else:
            why["entries_per_minute"] = "the time of the run was not measured"
        used = [(tokens(row, "prompt_tokens"), tokens(row, "completion_tokens")) for row in timed]
        if any(pair == (None, None) for pair in used):
            why["tokens_per_second"] = "not every entry reports token counts"
        elif elapsed_seconds > 0:
            total = sum((prompt or 0) + (completion or 0) for prompt, completion in used)
            block["tokens_per_second"] = round(total / elapsed_seconds, 6)
        else:
            why["tokens_per_second"] = "the time of the run was not measured"
    block["latency_unit"] = "request"
    return block, why


def _is_timed(row: Row) -> bool:
    wall = row.get("request_seconds")
    measured = isinstance(wall, int | float) and not isinstance(wall, bool)
    answered = row["status"] in ("ok", "no_reference")
    return was_sent(row) and measured and answered and not is_cached(row)
