"""Merge: shards give the card of the run that was not sharded, or a reason why not."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.seal import seal
from pytest_mtarena.errors import CardError
from pytest_mtarena.records import RunConfig, Scoring
from pytest_mtarena.results.merge import merge
from pytest_mtarena.results.verify import verify
from tests.unit.card.making import (
    BATCH,
    ENVIRONMENT,
    ToyReferee,
    make_facts,
    make_rows,
    sealed_card,
    toy_registry,
)

N = 11
REGISTRY = toy_registry()
OF_ONE_PROCESS = {
    *("run_id", "timestamp", "elapsed_seconds"),
    *("run_card_hash", "run_card_digest"),
}


def shard(
    number: int,
    count: int,
    *,
    rows: list[dict[str, Any]] | None = None,
    environment: dict[str, Any] | None = None,
    provenance: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """The sealed card of one shard: every count-th batch."""
    mine = [row for row in make_rows(N) if row["index"] // BATCH % count == number - 1]
    given = mine if rows is None else rows
    facts = {
        "selected_ids": tuple(row["entry_id"] for row in mine),
        "all_selected_ids": tuple(f"e{at}" for at in range(N)),
        "shard": (number, count),
        **changes,
    }
    card = assemble(
        make_facts(N, **facts),
        given,
        ToyReferee().score(given),
        environment=environment or ENVIRONMENT,
        provenance=provenance or {"method": None, "suite": None},
    )
    return seal(card)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_shards_give_the_card_of_the_whole_run(count: int) -> None:
    shards = [shard(number, count) for number in range(1, count + 1)]
    random.Random(count).shuffle(shards)
    before = copy.deepcopy(shards)
    merged, whole = merge(shards, REGISTRY), sealed_card(N)
    rates = {"entries_per_minute", "tokens_per_second"}
    for card in (merged, whole):
        for key in rates:
            assert card["scores"].pop(key) is not None
    assert list(merged) == list(whole)
    for key in whole:
        if key not in OF_ONE_PROCESS:
            assert merged[key] == whole[key], key
    assert merged["elapsed_seconds"] == 12.5 * count
    assert shards == before


def test_a_merged_card_verifies() -> None:
    assert verify(merge([shard(1, 2), shard(2, 2)], REGISTRY), REGISTRY) == []


def test_an_incomplete_shard_makes_the_whole_incomplete() -> None:
    part = make_rows(N)[:1]
    merged = merge([shard(1, 2, rows=part, interrupted=True), shard(2, 2)], REGISTRY)
    assert merged["complete"] is False
    assert merged["interrupted"] is True
    assert merged["scores"]["alike"] is None
    assert merged["metric_availability"]["alike"] == "incomplete: 6 of 11 entries"
    assert verify(merged, REGISTRY) == []


def test_a_shard_without_rows_merges() -> None:
    empty = shard(5, 5)
    assert empty["results"] == []
    shards = [*(shard(number, 5) for number in range(1, 5)), empty]
    assert merge(shards, REGISTRY)["scores"]["alike"] == sealed_card(N)["scores"]["alike"]


RUN = RunConfig(batch_size=BATCH, source_lang="English", target_lang="por")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hooks": ()}, r'config.hooks\[0\]: "strip" here, nothing there'),
        (
            {"run_config": RUN.model_copy(update={"temperature": 0.7})},
            "config.temperature: 0 here, 0.7 there",
        ),
        ({"scoring": Scoring(n_bootstrap=7)}, "config.scoring.n_bootstrap: 1000 here, 7 there"),
        ({"condition": "other"}, 'setup.condition: "method" here, "other" there'),
        (
            {"all_selected_ids": ("e3", "e4")},
            "selection.ids_sha256_all: .* here, .* there",
        ),
        ({"shard": (2, 3)}, "number of shards: 2 here, 3 there"),
        ({"environment": {**ENVIRONMENT, "sacrebleu_version": "2.4"}}, "sacrebleu_version: "),
        ({"suite": make_facts(N).suite.model_copy(update={"sha256": "d" * 64})}, "dataset.sha256"),
    ],
)
def test_other_setups_are_named(changes: Any, words: str) -> None:
    with pytest.raises(CardError, match=rf"^shard 1/2 \(.*\) and shard .*differ in {words}"):
        merge([shard(1, 2), shard(2, 2, **changes)], REGISTRY)


def test_missing_and_repeated_shards_are_named() -> None:
    with pytest.raises(CardError, match=r"^of 4 shards these are missing: 1, 3$"):
        merge([shard(2, 4), shard(4, 4)], REGISTRY)
    with pytest.raises(CardError, match=r"shard 2/4 \(.*\) and shard 2/4 \(.*\) are the same"):
        merge([shard(2, 4), shard(2, 4)], REGISTRY)
    with pytest.raises(CardError, match="no run card to merge"):
        merge([], REGISTRY)
    with pytest.raises(CardError, match="is not a shard"):
        merge([sealed_card(N)], REGISTRY)


def test_overlapping_entries_are_named() -> None:
    theirs = [*make_rows(N)[:1], *shard(2, 2)["results"]]
    ids = tuple(row["entry_id"] for row in theirs)
    with pytest.raises(CardError, match=r'both have a row of "e0"$'):
        merge([shard(1, 2), shard(2, 2, rows=theirs, selected_ids=ids)], REGISTRY)


def test_entries_that_no_shard_took_are_noticed() -> None:
    rows = shard(2, 2)["results"][1:]
    ids = tuple(row["entry_id"] for row in rows)
    with pytest.raises(CardError, match="do not cover the selected entries"):
        merge([shard(1, 2), shard(2, 2, rows=rows, selected_ids=ids)], REGISTRY)


def test_a_broken_seal_is_not_merged() -> None:
    card = shard(2, 2)
    card["results"][0]["predicted"] = "x"
    with pytest.raises(CardError, match="card 2 of 2 cannot be merged: run_card_digest"):
        merge([shard(1, 2), card], REGISTRY)


def test_places_may_differ_and_are_noted() -> None:
    git = {"commit": "1" * 40, "dirty": False, "path": "methods/echo"}
    other = shard(
        2,
        2,
        environment={**ENVIRONMENT, "os": "Darwin"},
        provenance={"method": git, "suite": None},
        run_config=RUN.model_copy(update={"concurrency": 3}),
        worker_count=4,
    )
    merged = merge([shard(1, 2), other], REGISTRY)
    notes = merged["notes"]
    assert [note.split(":")[0] for note in notes] == [
        "shards differ in environment.os",
        "shards differ in provenance.method",
    ]
    assert merged["caveats"][-2:] == notes
    assert merged["environment"]["os"] == "Linux"
    assert merged["config"]["workers"] == 4
    assert merged["config"]["concurrency"] == 8
    assert verify(merged, REGISTRY) == []


def test_notes_of_shards_are_kept_once() -> None:
    shards = [shard(1, 2, notes=("a broke",)), shard(2, 2, notes=("a broke", "b broke"))]
    merged = merge(shards, REGISTRY)
    assert merged["notes"] == ["a broke", "b broke"]
    assert verify(merged, REGISTRY) == []


def test_an_unknown_kind_cannot_be_merged() -> None:
    shards = [shard(number, 2, kind="juggling") for number in (1, 2)]
    with pytest.raises(CardError, match='kind "juggling" is not known here'):
        merge(shards, REGISTRY)
