"""Shards of one run become one card, equal to that of a run that was not sharded.

What may differ is what belongs to a process: ``run_id``, ``timestamp``, times and the rates that
follow from them, and the hashes. Shards that ran in different places (operating system, git state)
are merged too; ``notes`` names the differences.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mtarena.card.assemble import finish
from pytest_mtarena.card.fingerprint import ids_digest
from pytest_mtarena.card.seal import check_seal, seal
from pytest_mtarena.card.store import card_problems
from pytest_mtarena.errors import CardError
from pytest_mtarena.records import Json
from pytest_mtarena.registry import Registry, make_registry
from pytest_mtarena.results.compare import differences, shown
from pytest_mtarena.results.verify import referee_of

Card = Mapping[str, Json]

_OF_A_PROCESS = frozenset({"concurrency", "workers", "peak_in_flight"})
"""Keys of ``config`` that may differ between shards: they change no output."""
_NAMED = 5
"""How many offending ids a message names."""


def merge(cards: Sequence[Card], registry: Registry | None = None) -> dict[str, Any]:
    """Return the sealed card of all shards of one run.

    Elapsed seconds are summed, so that rates are those of one machine; the time stamp is the
    earliest. Raises CardError naming what is missing, comes twice or differs.
    """
    registry = make_registry() if registry is None else registry
    shards = _checked(cards)
    first = shards[0]
    rows = _rows(shards)
    selection = dict(first["selection"])
    selection |= {
        "ids_sha256": selection["ids_sha256_all"],
        "n_selected": selection["n_selected_all"],
        "n_rows": len(rows),
        "shard": None,
    }
    complete = all(card["complete"] for card in shards)
    if complete and ids_digest(row["entry_id"] for row in rows) != selection["ids_sha256"]:
        raise CardError("the shards together do not cover the selected entries")
    notes: list[str] = []
    merged: dict[str, Any] = {
        **first,
        "run_id": str(uuid.uuid4()),
        "timestamp": min(card["timestamp"] for card in shards),
        "elapsed_seconds": round(sum(card["elapsed_seconds"] for card in shards), 6),
        "config": _config(shards),
        "selection": selection,
        "complete": complete,
        "interrupted": any(card["interrupted"] for card in shards),
        "results": rows,
        "extra": _extra(shards),
        "environment": _common("environment", shards, notes),
        "provenance": _common("provenance", shards, notes),
    }
    merged["notes"] = list(dict.fromkeys([*(n for card in shards for n in card["notes"]), *notes]))
    referee = referee_of(merged, registry)
    if referee is None:
        raise CardError(f"kind {shown(first['kind'])} is not known here: install its plug-in")
    return seal(finish(merged, referee.score(rows)))


def _checked(cards: Sequence[Card]) -> list[Card]:
    """Return the shards in order: all of them there, whole, and of one setup."""
    if not cards:
        raise CardError("no run card to merge")
    for at, card in enumerate(cards, 1):
        if problems := card_problems(card) or check_seal(card):
            raise CardError(f"card {at} of {len(cards)} cannot be merged: {problems[0]}")
    by_number: dict[int, Card] = {}
    for card in cards:
        if card["selection"]["shard"] is None:
            raise CardError(f"{_name(card)} is not a shard: only cards of --mt-shard are merged")
        if problem := next(_setup_differences(cards[0], card), None):
            raise CardError(f"{_name(cards[0])} and {_name(card)} differ in {problem}")
        number = card["selection"]["shard"][0]
        if number in by_number:
            raise CardError(f"{_name(card)} and {_name(by_number[number])} are the same shard")
        by_number[number] = card
    count = cards[0]["selection"]["shard"][1]
    if missing := [str(number) for number in range(1, count + 1) if number not in by_number]:
        raise CardError(f"of {count} shards these are missing: {', '.join(missing)}")
    return [by_number[number] for number in range(1, count + 1)]


def _setup_differences(one: Card, other: Card) -> Iterator[str]:
    """Yield what keeps two cards from being shards of one run."""
    for mine, theirs in zip(_setup(one).items(), _setup(other).items(), strict=True):
        for line in differences(mine[0], mine[1], theirs[1], "the other"):
            yield line.replace(" in the card, ", " here, ").replace(" from the other", " there")


def _setup(card: Card) -> dict[str, Json]:
    """Return what must be equal in all shards of one run, under the names that people know."""
    selection, config = dict(card["selection"]), dict(card["config"])
    count = selection.pop("shard", None)
    for key in ("ids_sha256", "n_selected", "n_rows"):
        del selection[key]
    for key in _OF_A_PROCESS:
        del config[key]
    components = dict(card["setup_fingerprint"]["components"])
    del components["ids_sha256"]
    return {
        "dataset": card["dataset"],
        "config": config,
        "setup": components,
        "method_card": card["method_card"],
        "selection": selection,
        "number of shards": None if count is None else count[1],
        "package_version": card["environment"]["package_version"],
        "sacrebleu_version": card["environment"]["sacrebleu_version"],
    }


def _rows(shards: Sequence[Card]) -> list[Mapping[str, Json]]:
    """Return the rows of all shards in canonical order; none may come twice."""
    owner: dict[str, Card] = {}
    twice: dict[str, tuple[Card, Card]] = {}
    for card in shards:
        for row in card["results"]:
            if row["entry_id"] in owner:
                twice[row["entry_id"]] = (owner[row["entry_id"]], card)
            owner[row["entry_id"]] = card
    if twice:
        one, other = next(iter(twice.values()))
        ids = ", ".join(shown(entry) for entry in [*twice][:_NAMED])
        more = f" and {len(twice) - _NAMED} more" if len(twice) > _NAMED else ""
        raise CardError(f"{_name(one)} and {_name(other)} both have a row of {ids}{more}")
    return sorted((row for card in shards for row in card["results"]), key=lambda r: r["index"])


def _config(shards: Sequence[Card]) -> dict[str, Any]:
    """Return the common config; of what belongs to a process, the largest."""
    config = dict(shards[0]["config"])
    for key in _OF_A_PROCESS:
        known = [value for card in shards if (value := card["config"][key]) is not None]
        config[key] = max(known, default=None)
    return config


def _extra(shards: Sequence[Card]) -> dict[str, Any]:
    """Return what plug-ins added: once when all shards agree, else shard by shard."""
    first = dict(shards[0]["extra"])
    if all(card["extra"] == first for card in shards):
        return first
    return {"shards": [card["extra"] for card in shards]}


def _common(key: str, shards: Sequence[Card], notes: list[str]) -> dict[str, Any]:
    """Return a block of the first shard; where others differ, a note says so."""
    first = dict(shards[0][key])
    for name, value in first.items():
        others = [card[key][name] for card in shards if card[key][name] != value]
        if others:
            notes.append(
                f"shards differ in {key}.{name}: {shown(value)} (shown), {shown(others[0])}"
            )
    return first


def _name(card: Card) -> str:
    shard = card["selection"]["shard"]
    which = f"shard {shard[0]}/{shard[1]}" if shard else "the card"
    return f"{which} ({card['run_id'][:8]})"
