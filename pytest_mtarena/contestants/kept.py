"""Translations of single entries on disk: an entry more in a suite pays for one entry more.

A translation is kept under all that can change it: the model and how it is asked, the size of the
batches, the entry's id and source. What else was in the batch is not part of it, so that a change
to a suite costs the entries that are new; and what failed is not kept, so that it is tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pytest_mtarena.llm.cache import Store, sha256_of
from pytest_mtarena.protocols import Entry
from pytest_mtarena.records import Attempt, Json, RunConfig


class Kept:
    """The kept translations of one model, asked in one way."""

    def __init__(self, store: Store, facts: Mapping[str, Json]) -> None:
        """``facts``: what distinguishes this model and this way of asking from all others."""
        self._store = store
        self._facts = dict(facts)
        self._asked: dict[str, asyncio.Future[None]] = {}

    def key(self, entry: Entry, system: str, config: RunConfig) -> str:
        """Return the name of an entry's translation under a system prompt: SHA-256 hex."""
        return sha256_of(
            {
                "facts": self._facts,
                "system": system,
                "target": config.target_lang or config.target_code,
                "source_language": config.source_lang or config.source_code,
                "batch_size": config.batch_size,
                "id": entry["id"],
                "source": entry["source"],
            }
        )

    def find(self, key: str) -> Attempt | None:
        """Return a kept attempt as one from the cache: it costs nothing and took no time."""
        data = self._store.read(key)
        if data is None:
            return None
        try:
            kept = Attempt.model_validate(data)
        except ValueError:
            self._store.counts["damaged"] += 1
            return None
        if kept.output is None:
            return None
        metadata = {
            **kept.metadata,
            "from_cache": True,
            "cached_calls": kept.metadata.get("calls", 1),
            "original_cost_usd": kept.cost_usd,
        }
        return kept.model_copy(
            update={"latency_seconds": None, "cost_usd": 0.0, "metadata": metadata}
        )

    def claim(self, key: str) -> asyncio.Future[None] | None:
        """Take it on to ask for an entry; when somebody is asking already, return what ends then.

        So one entry in two suites is asked for once. Whoever takes it on has to ``release`` it.
        """
        loop = asyncio.get_running_loop()
        other = self._asked.get(key)
        if other is not None and other.get_loop() is loop:
            return other
        self._asked[key] = loop.create_future()
        return None

    def release(self, key: str) -> None:
        """Let others look, or ask, for an entry."""
        asked = self._asked.pop(key, None)
        if asked is not None and not asked.done():
            asked.set_result(None)

    def keep(self, attempts: Mapping[str, Attempt]) -> dict[str, str]:
        """Keep attempts by their keys; those without a translation are left out.

        Returns the keys of those that could not be written, each with why.
        """
        return self._store.keep_all(
            {
                key: attempt.model_dump(mode="json")
                for key, attempt in attempts.items()
                if attempt.failure is None and attempt.output is not None
            }
        )
