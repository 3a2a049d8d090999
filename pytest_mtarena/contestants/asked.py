"""What is known of an entry while a language model is asked for it, and what that took."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_mtarena.contestants.calling import describe, one_line
from pytest_mtarena.llm.chat import ChatError, ChatReply, Usage
from pytest_mtarena.llm.prices import Cost
from pytest_mtarena.protocols import Entry
from pytest_mtarena.records import CACHE_ERROR, Attempt, Failure, Json

_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_COST_UNIT = 10**12
"""Costs are divided in whole units of 1e-12 US dollars."""


def served(model: str) -> str:
    """Return the name of the model that answered; servers on this machine may name a file."""
    is_path = model.startswith(("/", "\\")) or model[1:3] in (":\\", ":/")
    return re.split(r"[\\/]", model.rstrip("\\/"))[-1] if is_path else model


@dataclass(slots=True)
class EntryState:
    """What is known of one entry while it is being attempted."""

    id: str
    source: str
    entry: Entry
    output: str | None = None
    raw: str | None = None
    failure: Failure | None = None
    batch_sizes: list[int] = field(default_factory=list)
    finishes: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    tries: int = 0
    seconds: float = 0.0
    first_token: float | None = None
    usage: dict[str, int] = field(default_factory=dict)
    calls_without_usage: int = 0
    costs: list[float | None] = field(default_factory=list)
    cached_costs: list[float | None] = field(default_factory=list)
    computed: list[float | None] = field(default_factory=list)
    """Computed costs of the calls for which the provider reported one."""
    cost_sources: list[str] = field(default_factory=list)
    cached_calls: int = 0
    asked_again: list[str] = field(default_factory=list)
    facts: dict[str, Json] = field(default_factory=dict)
    tool_calls: list[Json] = field(default_factory=list)
    key: str | None = None
    """The name under which its translation is kept; None when it is not to be."""

    def fail(self, error: Exception, size: int, *, free: bool) -> None:
        """Note a call that had no reply; ``free``: it can have cost nothing."""
        if not isinstance(error, ChatError) or error.tries:
            self.batch_sizes.append(size)
        if not isinstance(error, ChatError):
            self.costs.append(0.0 if free else None)
            self.failure = Failure(kind="exception", message=describe(error).message)
            return
        self.tries += error.tries
        self.costs.append(0.0 if free or error.free else None)
        self.facts["error_kind"] = error.kind
        status = "" if error.status is None else f" (HTTP {error.status})"
        if error.status is not None:
            self.facts["error_status"] = error.status
        self.failure = Failure(kind="api_error", message=f"{error.kind}{status}: {one_line(error)}")

    def attempt(self) -> Attempt:
        """Return what became of the entry."""
        failure = self.failure
        if failure is None and self.output is None:
            why = "; ".join(self.asked_again) or "no answer"
            failure = Failure(kind="parse_error", message=f"no answer for this entry: {why}")
        calls, from_cache = len(self.batch_sizes), self.cached_calls > 0
        metadata: dict[str, Json] = {
            "calls": calls,
            "batch_sizes": self.batch_sizes,
            "finish_reasons": self.finishes,
            "served_model": self.models[-1] if self.models else None,
            "tries": self.tries,
            "from_cache": from_cache,
            **self.facts,
        }
        if len(set(self.models)) > 1:
            metadata["served_models"] = sorted(set(self.models))
        if self.asked_again:
            metadata["asked_again"] = self.asked_again
        if self.calls_without_usage:
            metadata["calls_without_usage"] = self.calls_without_usage
        if self.cost_sources:
            metadata["cost_source"] = ", ".join(self.cost_sources)
        if (computed := _total(self.computed)) is not None:
            metadata["computed_cost_usd"] = computed
        if self.first_token is not None:
            metadata["first_token_seconds"] = self.first_token
        if from_cache:
            metadata["cached_calls"] = self.cached_calls
            metadata["original_cost_usd"] = _total([*self.costs, *self.cached_costs])
        return Attempt(
            id=self.id,
            output=self.output if failure is None else None,
            raw_output=self.raw,
            failure=failure,
            latency_seconds=self.seconds if self.finishes and not from_cache else None,
            usage=self.usage,
            cost_usd=_total([*self.costs, *(0.0 for _ in self.cached_costs)]),
            tool_calls=tuple(self.tool_calls),
            metadata=metadata,
        )


def bill(group: Sequence[EntryState], reply: ChatReply, cost: Cost) -> None:
    """Divide what a call took among the entries that it carried."""
    usage = reply.usage or Usage()
    counts: dict[str, list[int]] = {}
    for name in _COUNTS:
        total = getattr(usage, name)
        if total is not None:
            counts[name] = divide(total, len(group))
    costs = _shares(cost.best_usd, len(group))
    computed = _shares(cost.usd, len(group))
    for place, state in enumerate(group):
        state.batch_sizes.append(len(group))
        state.finishes.append(reply.finish)
        if reply.not_kept:
            state.facts[CACHE_ERROR] = reply.not_kept
        source = "reported" if cost.reported_usd is not None else cost.source
        if source and source not in state.cost_sources:
            state.cost_sources.append(source)
        if cost.best_usd is None and not reply.from_cache:
            state.facts["cost_unknown"] = cost.reason
        if cost.reported_usd is not None:
            state.computed.append(computed[place])
        state.tries += reply.tries
        state.calls_without_usage += not counts
        for name, shares in counts.items():
            state.usage[name] = state.usage.get(name, 0) + shares[place]
        if reply.model:
            state.models.append(served(reply.model))
        if reply.from_cache:
            state.cached_calls += 1
            state.cached_costs.append(costs[place])
            continue
        state.costs.append(costs[place])
        state.seconds += reply.seconds
        if state.first_token is None:
            state.first_token = reply.first_token_seconds


def divide(total: int, parts: int) -> list[int]:
    """Return whole shares as equal as can be, the larger ones first; their sum is the total."""
    share, rest = divmod(total, parts)
    return [share + (place < rest) for place in range(parts)]


def _shares(cost: float | None, parts: int) -> list[float | None]:
    """Divide a cost; unknown shares of one that is unknown."""
    if cost is None:
        return [None] * parts
    return [share / _COST_UNIT for share in divide(round(cost * _COST_UNIT), parts)]


def _total(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs, to 1e-12 US dollars; None when one is unknown."""
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 12) if costs and len(known) == len(costs) else None
