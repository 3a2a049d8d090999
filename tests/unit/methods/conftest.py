"""What the tests of the shipped methods share."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.records import RunConfig

METHODS = Path(__file__).parents[3] / "methods"


def entries_of(texts):
    return [{"id": f"e{n}", "index": n, "source": text} for n, text in enumerate(texts)]


@pytest.fixture
def translate():
    """Translate texts with a shipped method, in batches at once; return the attempts in order."""

    def translate(name, texts, pair="eng>por", *, batch=25, entry_count=None, **options):
        method = load_method(METHODS / name, options)
        entries = entries_of(texts)
        source, target = pair.split(">")
        config = RunConfig(
            source_code=source,
            target_code=target,
            entry_count=len(entries) if entry_count is None else entry_count,
            options=options,
        )

        async def run():
            starts = range(0, len(entries), batch)
            batches = [entries[start : start + batch] for start in starts]
            return await asyncio.gather(*(method.attempt(batch, config) for batch in batches))

        return [attempt for batch in asyncio.run(run()) for attempt in batch]

    return translate


@pytest.fixture
def outputs(translate):
    """Translate texts with a shipped method and return the outputs; every entry must succeed."""

    def outputs(*arguments, **options):
        attempts = translate(*arguments, **options)
        assert [a.failure for a in attempts if a.failure is not None] == []
        return [attempt.output for attempt in attempts]

    return outputs
