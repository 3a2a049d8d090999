"""Rows and scores become a run card: pure, apart from the clock and what is passed for it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from pytest_mtarena.card.canonical import ROWS, plain
from pytest_mtarena.card.environment import HARNESS_VERSION
from pytest_mtarena.card.environment import environment as this_environment
from pytest_mtarena.card.facts import RunFacts
from pytest_mtarena.card.fingerprint import (
    card_fingerprint,
    ids_digest,
    prompt_digest,
    setup_fingerprint,
)
from pytest_mtarena.card.git import git_provenance
from pytest_mtarena.card.speed import speed
from pytest_mtarena.card.usage import totals
from pytest_mtarena.errors import CardError
from pytest_mtarena.protocols import Report
from pytest_mtarena.records import Json, Language

Row = Mapping[str, Json]

_ABSOLUTE = re.compile(r"(/[^/]+){2,}/?|[A-Za-z]:[\\/].*|\\\\.*", re.DOTALL)


def assemble(
    facts: RunFacts,
    rows: Sequence[Row],
    report: Report,
    *,
    environment: Mapping[str, Json] | None = None,
    provenance: Mapping[str, Json] | None = None,
    run_id: str | None = None,
    rows_are_plain: bool = False,
    stored: Sequence[Row] | None = None,
) -> dict[str, Any]:
    """Return the run card, not sealed yet: ``extra`` is for plug-ins, then comes ``seal``.

    ``rows_are_plain`` says that they were read from texts of ``row_text``. ``stored`` are the
    whole rows in canonical order when ``rows`` are only what scores are made of. Rows may come in
    any order. ``environment``, ``provenance`` (the git state of method and suite) and ``run_id``
    (UUID v4) are found out when they are None. Raises CardError for rows that do not fit the
    selection and for values that are not JSON.
    """
    ordered = _in_order(facts, rows)
    selection = _selection(facts, len(ordered))
    prompt_sha256 = prompt_digest(facts.system_prompt)
    head: dict[str, Any] = {
        "run_id": run_id or str(uuid.uuid4()),
        "harness_version": HARNESS_VERSION,
        "model_slug": facts.identity.slug,
        "model_id": facts.model_id or facts.identity.slug,
        "condition": facts.condition,
        "timestamp": facts.started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "elapsed_seconds": round(facts.elapsed_seconds, 6),
        "dataset": _dataset(facts),
        "config": _config(facts),
        "method_card": None if facts.identity.card is None else dict(facts.identity.card),
        "system_prompt_sha256": prompt_sha256,
        "system_prompt_used": facts.system_prompt,
    }
    if provenance is None:
        provenance = {
            "method": facts.method_dir and git_provenance(facts.method_dir),
            "suite": git_provenance(facts.suite.path),
        }
    tail: dict[str, Any] = {
        "environment": dict(this_environment() if environment is None else environment),
        "kind": facts.kind,
        "complete": facts.complete and len(ordered) == len(facts.selected_ids),
        "interrupted": facts.interrupted,
        "selection": selection,
        "notes": list(facts.notes),
        "provenance": dict(provenance),
        "results": ordered if stored is None else stored,
    }
    card = {**head, **tail}
    return finish(card, report, rows_are_plain=rows_are_plain, scored=ordered)


def finish(
    card: Mapping[str, Json],
    report: Report,
    *,
    rows_are_plain: bool = False,
    scored: Sequence[Row] | None = None,
) -> dict[str, Any]:
    """Return a card with all that follows from its other fields and from a report, in order.

    ``scored`` are the rows, as far as times and costs need them; None: those of the card.
    """
    even = plain({key: card[key] for key in card if not (rows_are_plain and key == ROWS)})
    if rows_are_plain:
        even = {**even, ROWS: card[ROWS]}
    whole = even if scored is None else {**even, ROWS: scored}
    found = plain({**fingerprints(even), **derived(whole, report)})
    parts = {"extra": {}, "run_card_hash": "", **even, **found}
    return {key: parts[key] for key in ORDER}


ORDER = (
    *("run_id", "harness_version", "model_slug", "model_id", "condition", "timestamp"),
    *("elapsed_seconds", "dataset", "config", "method_card", "system_prompt_sha256"),
    *("system_prompt_used", "fingerprint", "scores", "totals", "environment"),
    *("kind", "complete", "interrupted", "selection", "setup_fingerprint", "signatures"),
    *("directions", "headline", "metrics", "detector_calibration", "metric_availability"),
    *("caveats", "notes", "provenance", "extra"),
    *("results", "run_card_hash"),
)
"""The keys of a card before it is sealed: the documented ones in their documented order."""


def fingerprints(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return both fingerprints of a card, from its other fields."""
    return {"fingerprint": card_fingerprint(card), "setup_fingerprint": setup_fingerprint(card)}


def derived(card: Mapping[str, Json], report: Report) -> dict[str, Any]:
    """Return what a card says about its rows: scores, totals, and what explains them.

    An incomplete card keeps counts, names, speed and cost; every other score is null.
    """
    rows = card["results"]
    scores = dict(report.scores)
    why = {key: str(reason) for key, reason in report.availability.items()}
    if not card["complete"]:
        selection = card["selection"]
        reason = f"incomplete: {selection['n_rows']} of {selection['n_selected']} entries"
        scored = {*report.directions, *report.signatures}
        for key, value in scores.items():
            is_count = isinstance(value, int) and not isinstance(value, bool) and key not in scored
            is_count = is_count or key == "errors_by_kind"  # counts themselves
            is_name = isinstance(value, str) and key != "quality_tier"
            if value is not None and not is_count and not is_name:
                scores[key] = None
                why[key] = reason
    speeds, no_speed = speed(rows, card["elapsed_seconds"])
    sums, no_sums = totals(rows)
    why |= no_speed
    why |= {f"totals.{key}": reason for key, reason in no_sums.items()}
    return {
        "scores": {**scores, **speeds},
        "totals": sums,
        "signatures": dict(report.signatures),
        "directions": dict(report.directions),
        "headline": report.headline,
        "metrics": {name: dict(one) for name, one in report.metrics.items()},
        "detector_calibration": {name: dict(one) for name, one in report.calibration.items()},
        "metric_availability": why,
        "caveats": [*report.caveats, *card["notes"]],
    }


def _in_order(facts: RunFacts, rows: Sequence[Row]) -> list[Row]:
    """Return the rows in canonical order; every one must be selected, and none come twice."""
    ordered = sorted(rows, key=lambda row: row["index"])
    selected = set(facts.selected_ids)
    seen: set[str] = set()
    for row in ordered:
        if (entry := row["entry_id"]) not in selected:
            raise CardError(f"entry {entry!r} has a row but was not selected")
        if entry in seen:
            raise CardError(f"entry {entry!r} has two rows")
        seen.add(entry)
    return ordered


def _selection(facts: RunFacts, n_rows: int) -> dict[str, Any]:
    settings = facts.settings
    everything = facts.selected_ids if facts.all_selected_ids is None else facts.all_selected_ids
    return {
        "ids_sha256": ids_digest(facts.selected_ids),
        "n_selected": len(facts.selected_ids),
        "n_rows": n_rows,
        "dataset": settings.dataset,
        "ids": list(settings.ids),
        "domains": list(settings.domains),
        "difficulties": list(settings.difficulties),
        "shard": None if facts.shard is None else list(facts.shard),
        "ids_sha256_all": ids_digest(everything),
        "n_selected_all": len(everything),
    }


def _dataset(facts: RunFacts) -> dict[str, Any]:
    suite, config = facts.suite, facts.run_config
    told = (
        Language(code=config.source_code, name=config.source_lang),
        Language(code=config.target_code, name=config.target_lang),
    )
    source, target = suite.languages.get(facts.group, told)
    pair = [source.code or source.name, target.code or target.name]
    return {
        "id": suite.id,
        "version": suite.version,
        "name": suite.name,
        "language_pair": ">".join(part or "?" for part in pair) if any(pair) else None,
        "languages": {
            "group": facts.group,
            "source_code": source.code,
            "source_name": source.name,
            "target_code": target.code,
            "target_name": target.name,
        },
        "sha256": suite.sha256,
        "content_sha256": suite.content_sha256,
        "entry_count": suite.entry_count,
        "format": suite.format,
        "license": suite.license,
        "attribution": suite.attribution,
        "provenance": list(suite.provenance),
        "rankable": suite.rankable,
        "file": suite.path.name,
    }


def _config(facts: RunFacts) -> dict[str, Any]:
    told, settings, identity = facts.run_config, facts.settings, facts.identity
    known = _without_paths(dict(identity.facts))
    options = known.pop("options", None)
    return {
        "api_provider": facts.api_provider,
        "temperature": told.temperature,
        "max_tokens": told.max_tokens,
        "batch_size": told.batch_size,
        "concurrency": told.concurrency,
        "coaching_file": facts.coaching_file,
        "method_path": None if facts.method_dir is None else _portable(facts.method_dir),
        "fst_retries": told.fst_retries,
        "timeout_seconds": told.timeout_seconds,
        "hooks": list(facts.hooks),
        "options": {} if options is None else options,
        "method_name": identity.name,
        "method_sha256": identity.content_sha256,
        "method_facts": known,
        "scoring": facts.scoring.model_dump(mode="json"),
        "suite": {
            "source_field": settings.source_field,
            "target_field": settings.target_field,
            "source_lang": settings.source_lang,
            "target_lang": settings.target_lang,
            "allow_missing_reference": settings.allow_missing_reference,
            "reference_file": settings.reference_path and settings.reference_path.name,
        },
        "run_name": facts.run_name,
        "normalization": facts.scoring.normalization,
        **({} if facts.champollion is None else {"champollion": dict(facts.champollion)}),
        **({} if facts.model_as_given is None else {"model_as_given": facts.model_as_given}),
        "workers": facts.worker_count,
        "peak_in_flight": facts.peak_in_flight,
    }


def _portable(path: Path) -> str:
    """Return a relative path as it is, and of any other the last part: no machine shows."""
    if path.is_absolute() or path.drive or ".." in path.parts:
        return path.name or path.resolve().name
    return path.as_posix()


def _without_paths(value: Json) -> Any:
    """Return a JSON value in which an absolute path is cut to its last part."""
    if isinstance(value, str) and _ABSOLUTE.fullmatch(value):
        return re.split(r"[\\/]", value.rstrip("\\/"))[-1]
    if isinstance(value, Mapping):
        return {key: _without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_paths(inner) for inner in value]
    return value
