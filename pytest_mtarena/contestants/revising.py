"""Translations that go back to the model that made them, with what is wrong with them.

A review says what it does not accept in an output. The model is shown its translation and those
words, up to so many times; every attempt stands in the row. What counts in the end is the attempt
with the fewest rejected words, the earlier one of equals: a revision that makes it worse is not
taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pytest_mtarena.contestants.model import ModelContestant
from pytest_mtarena.protocols import CallGate, Entry, Identity
from pytest_mtarena.records import CACHE_ERROR, Attempt, Json, RunConfig
from pytest_mtarena.text import cut

Review = Callable[[str, RunConfig], Sequence[str]]
"""Returns the words of an output that are not accepted. Called in the event loop: quick."""

_SHOWN = 20
_WIDTH = 200
_COUNTS = ("calls", "tries", "cached_calls", "calls_without_usage")


class RevisingContestant:
    """A language model whose outputs are reviewed, and revised by it at most ``times`` times."""

    def __init__(self, contestant: ModelContestant, review: Review, times: int) -> None:
        self.contestant = contestant
        self._review = review
        self._times = times
        known = contestant.identity
        self.identity: Identity = known.model_copy(
            update={"facts": {**known.facts, "fst_retries": times}}
        )

    @property
    def gate(self) -> CallGate | None:
        """The model's own limit of calls."""
        return self.contestant.gate

    def check(self, config: RunConfig) -> None:
        """Raise UsageError when a run cannot be reviewed."""
        self._review("", config)

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self.contestant.aclose()

    async def attempt(self, entries: Sequence[Entry], config: RunConfig) -> list[Attempt]:
        """Return one attempt per entry, revised where the review rejects something."""
        attempts = await self.contestant.attempt(entries, config)
        pairs = zip(attempts, entries, strict=True)
        return list(await asyncio.gather(*(self._revised(*pair, config) for pair in pairs)))

    async def _revised(self, attempt: Attempt, entry: Entry, config: RunConfig) -> Attempt:
        """Return an attempt after its revisions; their cost and tokens are added to its own."""
        if attempt.failure is not None or attempt.output is None:
            return attempt
        rejected = list(self._review(attempt.output, config))
        if not rejected:
            return attempt
        made: list[Json] = [_told(attempt.output, rejected)]
        best, best_raw, fewest = attempt.output, attempt.raw_output, len(rejected)
        output = attempt.output
        for _ in range(self._times):
            revision = await self.contestant.revise(entry, output, _wish(rejected), config)
            attempt = add(attempt, revision)
            if revision.failure is not None or revision.output is None:
                why = "" if revision.failure is None else revision.failure.message
                made.append({"error": cut(why, _WIDTH)})
                break
            output = revision.output
            rejected = list(self._review(output, config))
            made.append(_told(output, rejected))
            if len(rejected) < fewest:
                best, best_raw, fewest = output, revision.raw_output, len(rejected)
            if not rejected:
                break
        return attempt.model_copy(
            update={
                "output": best,
                "raw_output": best_raw,
                "metadata": {**attempt.metadata, "fst_attempts": made},
            }
        )


def add(attempt: Attempt, more: Attempt) -> Attempt:
    """Return an attempt with the time, tokens and cost of another call for the same entry.

    A cost or time that is unknown makes the sum unknown. When either is from the cache so is the
    sum, with what both once cost as its original cost.
    """
    usage = dict(attempt.usage)
    for name, count in more.usage.items():
        before = usage.get(name, 0)
        if isinstance(count, int | float) and isinstance(before, int | float):
            usage[name] = before + count
    metadata = dict(attempt.metadata)
    for name in _COUNTS:
        before, count = metadata.get(name, 0), more.metadata.get(name, 0)
        if (before or count) and isinstance(before, int) and isinstance(count, int):
            metadata[name] = before + count
    computed = [one.metadata.get("computed_cost_usd") for one in (attempt, more)]
    metadata.pop("computed_cost_usd", None)
    if all(isinstance(cost, float) for cost in computed):
        metadata["computed_cost_usd"] = _sum(*computed)
    for name in ("cost_unknown", CACHE_ERROR):
        if name in more.metadata:
            metadata[name] = more.metadata[name]
    sources = [str(one.metadata.get("cost_source") or "") for one in (attempt, more)]
    if any(sources):
        named = (source for said in sources for source in said.split(", ") if source)
        metadata["cost_source"] = ", ".join(dict.fromkeys(named))
    if any(one.metadata.get("from_cache") is True for one in (attempt, more)):
        metadata["from_cache"] = True
        metadata["original_cost_usd"] = _sum(_once(attempt), _once(more))
    return attempt.model_copy(
        update={
            "usage": usage,
            "cost_usd": _sum(attempt.cost_usd, more.cost_usd),
            "latency_seconds": _sum(attempt.latency_seconds, more.latency_seconds),
            "metadata": metadata,
        }
    )


def _once(attempt: Attempt) -> float | None:
    """Return what an attempt cost when its calls were made."""
    if attempt.metadata.get("from_cache") is not True:
        return attempt.cost_usd
    cost = attempt.metadata.get("original_cost_usd")
    return float(cost) if isinstance(cost, int | float) else None


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one + other, 12)


def _told(output: str, rejected: Sequence[str]) -> dict[str, Json]:
    return {"output": output, "rejected": [cut(word, _WIDTH) for word in rejected[:_SHOWN]]}


def _wish(rejected: Sequence[str]) -> str:
    words = ", ".join(f"“{cut(word, _WIDTH)}”" for word in rejected[:_SHOWN])
    return (
        f"A dictionary of the language does not know these words of your translation: {words}. "
        "Check their spelling and form. Keep names, and words that you are sure of. Answer with "
        "the corrected translation, in the same form as before."
    )
