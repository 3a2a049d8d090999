"""Check a run card against itself: every number in it is computed again from its rows.

What cannot be checked this way is where the rows came from: a seal is not a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mtarena.card.assemble import derived, fingerprints
from pytest_mtarena.card.fingerprint import ids_digest, prompt_digest
from pytest_mtarena.card.seal import check_seal
from pytest_mtarena.card.store import card_problems
from pytest_mtarena.errors import ArenaError
from pytest_mtarena.protocols import Referee, Report
from pytest_mtarena.records import Json
from pytest_mtarena.registry import Registry, make_registry
from pytest_mtarena.results.compare import differences, shown

_OF_MEANS = ("|mean", "|mean of stored values")
"""How the signature of a score ends that is the mean of the entries' values."""

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
    for key, fresh in derived(card, _with_absent(card, report)).items():
        yield from differences(key, card.get(key), fresh, "its rows")
    # A calibration sees the whole suite, which only the card of a whole suite holds.
    again = getattr(referee, "calibrate_again", None)
    whole = card["complete"] and len(rows) == card["dataset"]["entry_count"]
    if again is not None and whole and "cards_dir" not in _resources(card):
        stored = card["detector_calibration"]
        for name, fresh in again(rows).items():
            key = f"detector_calibration.{name}"
            yield from differences(key, stored.get(name), fresh, "the references of its rows")


def absent_metrics(card: Mapping[str, Json], registry: Registry) -> list[str]:
    """Return the metrics of a card that are not installed here.

    Their per-entry values are taken as stored. That the score is their mean is still checked,
    where its signature says that it is one; any other score is taken as it stands.
    """
    referee = referee_of(card, registry)
    return [] if referee is None else _absent(card, referee.score(card["results"]))


def _absent(card: Mapping[str, Json], report: Report) -> list[str]:
    known = {*report.metrics, *report.availability}
    return [*report.stored, *(n for n in card["metrics"] if n not in {*known, *report.stored})]


def _resources(card: Mapping[str, Json]) -> Mapping[str, Json]:
    found = card["config"]["scoring"].get("resource_facts")
    return found if isinstance(found, Mapping) else {}


def _with_absent(card: Mapping[str, Json], report: Report) -> Report:
    """Return a report with what only the absent metrics could say, as the card has it.

    ``absent_metrics`` tells of it.
    """
    absent = _absent(card, report)
    if not absent:
        return report
    scores = dict(report.scores)
    blocks = {"metric_details": absent}
    of_means = {n for n in absent if str(card["signatures"].get(n, "")).endswith(_OF_MEANS)}
    # No row says anything of it: then there is no score either.
    mute = {n for n in absent if n not in report.stored and card["scores"].get(n) is not None}
    others = [name for name in absent if name not in of_means | mute]
    if others:
        keys = [f"{name}{ending}" for name in others for ending in ("", "_n_scored", "_n_unscored")]
        scores = _as_stored(scores, card["scores"], keys)
        blocks["confidence_intervals"] = others
    for key, names in blocks.items():
        scores[key] = _as_stored(scores.get(key), card["scores"].get(key), names)
    for key in [key for key in scores if key.startswith("by_")] if others else ():
        theirs = card["scores"].get(key)
        if isinstance(scores[key], Mapping) and isinstance(theirs, Mapping):
            scores[key] = {
                label: _as_stored(part, theirs.get(label), others)
                for label, part in scores[key].items()
            }
    whole: dict[str, Any] = {
        key: _as_stored(getattr(report, key), card[key], absent)
        for key in ("signatures", "directions", "metrics")
    }
    stored = (
        ("calibration", "detector_calibration", absent),
        (
            "availability",
            "metric_availability",
            [*absent, *(f"confidence_intervals.{name}" for name in absent)],
        ),
    )
    for name, key, names in stored:
        whole[name] = _as_stored(getattr(report, name), card[key], names)
    return report.model_copy(update={**whole, "scores": scores})


def _as_stored(fresh: Any, stored: Any, names: Sequence[str]) -> Any:
    """Return a block with these keys as they are stored, whether they are there or not."""
    if not isinstance(fresh, Mapping) or not isinstance(stored, Mapping):
        return fresh
    kept = {key: value for key, value in fresh.items() if key not in names}
    return {**kept, **{name: stored[name] for name in names if name in stored}}


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
