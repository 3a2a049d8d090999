"""Check a run card against itself: every number in it is computed again from its rows.

What cannot be checked this way is where the rows came from: a seal is not a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mtarena.card.assemble import derived, fingerprints
from pytest_mtarena.card.fingerprint import ids_digest, prompt_digest
from pytest_mtarena.card.seal import check_seal
from pytest_mtarena.card.store import card_problems
from pytest_mtarena.errors import ArenaError
from pytest_mtarena.protocols import Referee
from pytest_mtarena.records import Json
from pytest_mtarena.registry import Registry, make_registry
from pytest_mtarena.results.compare import differences, shown

_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def verify(card: Mapping[str, Json], registry: Registry | None = None) -> list[str]:
    """Return all that is wrong in a card, one line each; an empty list means it holds.

    A referee that has ``regrade(rows) -> list[dict]`` is asked for the fields of each row that it
    computes; without it a row's own scores are guarded by the seal only. Nothing is raised for a
    card, whatever is in it; a broken plug-in raises ExtensionError.
    """
    if problems := card_problems(card):
        return problems
    registry = make_registry() if registry is None else registry
    found = [*check_seal(card), *_identity_problems(card), *_row_problems(card)]
    try:
        found += differences_of_scores(card, registry)
    except ArenaError as error:
        found.append(f"scores: cannot be computed again: {_line(error)}")
    except Exception as error:  # a card is foreign material: its rows may hold anything
        found.append(f"scores: cannot be computed again: {type(error).__name__}: {_line(error)}")
    return found


def referee_of(card: Mapping[str, Json], registry: Registry) -> Referee | None:
    """Return the referee that scored a card; None when its kind is not known here."""
    kind = registry.kinds().get(card["kind"])
    return None if kind is None else kind.referee_for_card(card)


def differences_of_scores(card: Mapping[str, Json], registry: Registry) -> Iterator[str]:
    """Yield the differences between a card's numbers and those its rows give."""
    referee = referee_of(card, registry)
    if referee is None:
        known = ", ".join(sorted(registry.kinds()))
        yield (
            f"scores: kind {shown(card['kind'])} is not known here (known: {known}), so they "
            "cannot be computed again; install the plug-in that has it"
        )
        return
    rows = card["results"]
    if regrade := getattr(referee, "regrade", None):
        for at, (row, fresh) in enumerate(zip(rows, regrade(rows), strict=True)):
            mine = {key: row.get(key) for key in fresh}
            yield from differences(f"results[{at}]", mine, fresh, "its text")
    report = referee.score(rows)
    # What only an absent metric could say is taken as it stands; `absent_metrics` tells of it.
    kept: dict[str, Any] = {
        key: {**getattr(report, key), **{n: card[key].get(n) for n in report.stored}}
        for key in ("signatures", "directions", "metrics")
    }
    for key, fresh in derived(card, report.model_copy(update=kept)).items():
        yield from differences(key, card.get(key), fresh, "its rows")


def absent_metrics(card: Mapping[str, Json], registry: Registry) -> list[str]:
    """Return the metrics of a card that are not installed here.

    Their per-entry values are taken as stored; that the score is their mean is still checked.
    """
    referee = referee_of(card, registry)
    return [] if referee is None else list(referee.score(card["results"]).stored)


def _identity_problems(card: Mapping[str, Json]) -> Iterator[str]:
    if not _UUID4.fullmatch(card["run_id"]):
        yield f"run_id: {shown(card['run_id'])} is no UUID of version 4"
    for key, fresh in fingerprints(card).items():
        yield from differences(key, card[key], fresh, "its fields")
    digest = prompt_digest(card["system_prompt_used"])
    yield from differences(
        "system_prompt_sha256", card["system_prompt_sha256"], digest, "system_prompt_used"
    )
    if card["environment"]["harness_version"] != card["harness_version"]:
        yield "environment.harness_version: not that of the card"
    if card["config"]["normalization"] != card["config"]["scoring"].get("normalization"):
        yield "config.normalization: not that of config.scoring"


def _row_problems(card: Mapping[str, Json]) -> Iterator[str]:
    rows: list[Mapping[str, Any]] = card["results"]
    selection = card["selection"]
    ids: set[str] = set()
    before = -1
    for at, row in enumerate(rows):
        if row["entry_id"] in ids:
            yield f"results[{at}]: entry {shown(row['entry_id'])} comes twice"
        ids.add(row["entry_id"])
        if row["index"] <= before:
            yield f"results[{at}]: index {row['index']} after {before}: not in canonical order"
        before = row["index"]
    if rows and before >= card["dataset"]["entry_count"]:
        count = card["dataset"]["entry_count"]
        yield f"results: index {before}, but the suite has {count} entries"
    if selection["n_rows"] != len(rows):
        yield f"selection.n_rows: {selection['n_rows']} in the card, {len(rows)} from its rows"
    if len(rows) > selection["n_selected"]:
        yield f"results: {len(rows)} rows, but {selection['n_selected']} entries were selected"
    if card["complete"]:
        if len(rows) != selection["n_selected"]:
            yield f"complete: {len(rows)} rows for {selection['n_selected']} selected entries"
        elif ids_digest(row["entry_id"] for row in rows) != selection["ids_sha256"]:
            yield "selection.ids_sha256: the rows are not those of the selected entries"
    yield from _shard_problems(selection)


def _shard_problems(selection: Mapping[str, Any]) -> Iterator[str]:
    shard = selection["shard"]
    if shard is None:
        for key in ("ids_sha256", "n_selected"):
            if selection[key] != selection[f"{key}_all"]:
                yield f"selection.{key}_all: differs from selection.{key} though there is no shard"
    elif not 1 <= shard[0] <= shard[1]:
        yield f"selection.shard: {shown(shard)} is no shard"
    elif selection["n_selected"] > selection["n_selected_all"]:
        yield "selection.n_selected: more than n_selected_all"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
