"""Score stored runs again, offline, with the metrics and resources that are here now.

A stored run is a run card, the journal of a session, or the report of another harness. Each
becomes a ``Source``, and each source a new, sealed run card: the texts, the method and the
fingerprints are those of the run, the scores and the environment those of today.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pytest_mtarena.card.assemble import finish
from pytest_mtarena.card.environment import environment
from pytest_mtarena.card.fingerprint import ids_digest
from pytest_mtarena.card.gates import gate_problem
from pytest_mtarena.card.seal import check_seal, seal
from pytest_mtarena.card.store import card_problems, read_json
from pytest_mtarena.errors import CardError, UsageError
from pytest_mtarena.protocols import Referee
from pytest_mtarena.records import Json, Language, Resources, Scoring
from pytest_mtarena.referee.stats.rows import StatisticsRows
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.compare import shown, telling
from pytest_mtarena.results.foreign import is_foreign, read_foreign
from pytest_mtarena.text import some

ALL = "all"
"""The word for every metric, where the card names some."""
AUTO = "auto"
"""The word for the tokenizer that suits the language, where the card names another."""


@dataclass(frozen=True)
class Source:
    """A stored run that can be scored again."""

    where: str
    """What messages call it: the file and, of several runs in a file, which one."""
    card: dict[str, Any]
    """A card whose scores say nothing yet; its rows are in ``results``."""
    origin: dict[str, Json]
    """What ``extra["rescored_from"]`` says of it."""
    warnings: tuple[str, ...] = ()
    """What a person should know before the scores, one line each; the card says it too."""


@dataclass(frozen=True)
class Changes:
    """What the user wants to be scored in another way than the run was; None keeps that.

    Resources are never kept: those of the run may not be here.
    """

    metrics: tuple[str, ...] | None = None
    intervals: bool | None = None
    n_bootstrap: int | None = None
    bleu_tokenize: str | None = None
    ter_asian: str | None = None
    """``auto``, ``yes`` or ``no``."""
    normalization: Literal["NFC", "none"] | None = None
    resources: Resources = field(default_factory=Resources)
    resource_facts: Mapping[str, Json] = field(default_factory=dict)

    def scoring(self, before: Scoring) -> Scoring:
        """Return how to score what was once scored in another way."""
        changed: dict[str, Any] = {
            "resources": self.resources,
            "resource_facts": dict(self.resource_facts),
        }
        if self.metrics is not None:
            changed["metrics"] = None if self.metrics == (ALL,) else self.metrics
        if self.ter_asian is not None:
            changed["ter_asian"] = {"yes": True, "no": False}.get(self.ter_asian)
        if self.bleu_tokenize is not None:
            changed["bleu_tokenize"] = None if self.bleu_tokenize == AUTO else self.bleu_tokenize
        # Who asks for replicates wants intervals.
        intervals = self.intervals if self.intervals is not None or not self.n_bootstrap else True
        wished = {
            "intervals": intervals,
            "n_bootstrap": self.n_bootstrap,
            "normalization": self.normalization,
        }
        changed |= {name: value for name, value in wished.items() if value is not None}
        return before.model_copy(update=changed)


# -- what is stored -------------------------------------------------------------------------


def read_source(path: Path) -> Source:
    """Return the run in a JSON file: a run card, or a report or log of another harness.

    Raises CardError, one line naming the file, for anything else.
    """
    value = read_json(path)
    if is_foreign(value):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            card, origin = read_foreign(value, str(path), digest)
        except RecursionError:
            raise CardError(f"{path}: nested too deeply") from None
        return Source(str(path), card, {**origin, "file": path.name})
    if problems := card_problems(value):
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        other = "" if _is_card(value) else "; nor is it the report or the log of another harness"
        raise CardError(f"{path}: {problems[0]}{more}{other}")
    return from_card(value, path)


def _is_card(value: Json) -> bool:
    return isinstance(value, Mapping) and "run_card_hash" in value


def from_card(card: Mapping[str, Json], path: Path) -> Source:
    """Return the run of a run card that is known to follow the schema."""
    fresh = dict(card)
    origin: dict[str, Json] = {
        "what": "run card",
        "run_id": card["run_id"],
        "run_card_hash": card["run_card_hash"],
        "package_version": card["environment"]["package_version"],
        "file": path.name,
    }
    if before := card["extra"].get("rescored_from"):
        origin["rescored_from"] = before
    warnings = []
    if broken := check_seal(card):
        warnings.append(f"re-scored from a card whose seal does not hold: {broken[0]}")
        fresh["notes"] = list(dict.fromkeys([*card["notes"], *warnings]))
    return Source(str(path), fresh, origin, tuple(warnings))


def from_journal(
    header: Mapping[str, Json], payloads: Iterable[Mapping[str, Json]], path: Path
) -> tuple[list[Source], list[str]]:
    """Return the runs of a journal, and a line for each run that has no row yet.

    ``payloads`` are the journal's lines after the header, parsed. The last row of an entry counts.
    Raises CardError for a journal whose header does not describe the runs, for a line that is no
    row, and when there is no row at all.
    """
    cards = header.get("cards")
    if not isinstance(cards, Mapping):
        raise CardError(
            f"{path}: the journal is of a version that did not write down what was run: "
            "finish it with --mt-resume"
        )
    rows: dict[str, dict[int, Mapping[str, Json]]] = {}
    seconds: dict[str, float] = {}
    faults: dict[str, list[str]] = {}
    for number, payload in enumerate(payloads, start=2):
        try:
            run, index, row = str(payload["run"]), int(payload["index"]), payload["row"]
            worked = float(payload.get("worked", 0.0))
            told = [str(fault) for fault in payload.get("faults", ())]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CardError(f"{path}:{number}: the line is no row") from None
        if run not in cards:
            raise CardError(f"{path}:{number}: the journal does not say what {shown(run)} was")
        rows.setdefault(run, {})[index] = row
        seconds[run] = max(seconds.get(run, 0.0), worked)
        faults.setdefault(run, []).extend(told)
    if not rows:
        raise CardError(f"{path}: the journal has no row yet")
    sources = [
        _journalled(
            path,
            run,
            cards[run],
            [found[index] for index in sorted(found)],
            round(seconds[run], 3),
            faults[run],
            alone=len(cards) == 1,
        )
        for run, found in rows.items()
    ]
    return sources, [f"{path}: {run}: no row yet" for run in cards if run not in rows]


def _journalled(
    path: Path,
    run: str,
    skeleton: Json,
    rows: Sequence[Mapping[str, Json]],
    seconds: float,
    faults: Sequence[str],
    *,
    alone: bool,
) -> Source:
    where = str(path) if alone else f"{path}: {run}"
    card = {**skeleton, "results": list(rows)} if isinstance(skeleton, Mapping) else skeleton
    if problems := card_problems(card):
        raise CardError(f"{where}: {problems[0]}")
    selection = dict(card["selection"])
    digest = ids_digest(row["entry_id"] for row in rows)
    whole = len(rows) == selection["n_selected"] and digest == selection["ids_sha256"]
    notes = [*card["notes"], *faults]
    if not whole and len(rows) >= selection["n_selected"]:
        # Gone on with under another selection: what that was to cover is not written down.
        notes.append("the journal holds other entries than its first session selected")
        selection |= dict.fromkeys(("ids_sha256", "ids_sha256_all"), digest)
        selection |= dict.fromkeys(("n_selected", "n_selected_all"), len(rows))
        selection["shard"] = None
    selection["n_rows"] = len(rows)
    card |= {
        "selection": selection,
        "complete": whole,
        "interrupted": not whole,
        "elapsed_seconds": seconds,
        "notes": list(dict.fromkeys(notes)),
    }
    origin: dict[str, Json] = {
        "what": "journal",
        "run_id": None,
        "run_card_hash": None,
        "package_version": card["environment"]["package_version"],
        "file": path.name,
    }
    return Source(where, card, origin)


# -- scoring --------------------------------------------------------------------------------


def rescore(
    source: Source,
    registry: Registry,
    changes: Changes | None = None,
    limits: Sequence[tuple[str, float]] = (),
) -> dict[str, Any]:
    """Return the sealed card of a stored run, scored as of today.

    ``limits`` are gates whose names are checked before anything is scored. Raises CardError for a
    run that cannot be scored, UsageError for a wish that cannot be met.
    """
    changes = Changes() if changes is None else changes
    card = source.card
    scoring = _scoring(source, changes)
    referee = _referee(source, registry, scoring, changes)
    if problem := gate_problem(referee.score([]).directions, limits):
        raise UsageError(f"--fail-under {problem}")
    fresh: dict[str, Any] = {
        **card,
        "run_id": str(uuid.uuid4()),
        "config": {
            **card["config"],
            "scoring": scoring.model_dump(mode="json"),
            "normalization": scoring.normalization,
        },
        "environment": environment(),
        "extra": {
            **card["extra"],
            "rescored_from": source.origin,
            "rescored_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }
    given = card["results"]
    if "glossary" in source.card["config"]["scoring"].get("resource_facts", {}) and (
        changes.resources.glossary is not None
    ):
        given = [_without_glossary(row) for row in given]  # those terms were of another file
    with telling(source.where):
        rows, statistics = _judged(referee, given)
        report = referee.score(rows, statistics)
        lost = sorted(
            {name for row in card["results"] for name in row.get("plugin_metrics") or ()}
            - {*report.directions}
        )
    notes = list(card["notes"])
    if lost and scoring.metrics is None:
        notes.append(f"stored values of metrics that are not installed here: {some(lost)}")
    whole = {**fresh, "results": rows, "notes": list(dict.fromkeys(notes))}
    try:
        return seal(finish(whole, report))
    except (CardError, RecursionError) as error:
        raise CardError(f"{source.where}: {error}") from error


def _scoring(source: Source, changes: Changes) -> Scoring:
    try:
        before = Scoring.model_validate(source.card["config"]["scoring"])
    except ValueError as error:
        text = " ".join(str(error).split())
        raise CardError(f"{source.where}: config.scoring: {text[:200]}") from error
    return changes.scoring(before)


def fresh_referee(source: Source, registry: Registry, changes: Changes) -> Referee:
    """Return a referee of today for a run, its scoring changed as asked."""
    return _referee(source, registry, _scoring(source, changes), changes)


def _referee(source: Source, registry: Registry, scoring: Scoring, changes: Changes) -> Referee:
    """Return a referee of today for the rows of a run."""
    card = source.card
    kinds = registry.kinds()
    if (kind := kinds.get(card["kind"])) is None:
        raise CardError(
            f"{source.where}: kind {shown(card['kind'])} is not known here "
            f"(known: {', '.join(sorted(kinds))}): install the plug-in that has it"
        )
    make = getattr(kind, "referee_for_rows", None)
    if make is None:
        raise CardError(
            f"{source.where}: kind {shown(card['kind'])} cannot score stored rows again"
        )
    named = card["dataset"]["languages"]
    pair = (
        Language(code=named["source_code"], name=named["source_name"]),
        Language(code=named["target_code"], name=named["target_name"]),
    )
    try:
        with telling(source.where):
            referee: Referee = make(pair, card["results"], scoring)
    except UsageError as error:
        if changes.metrics is not None or not scoring.metrics:
            raise
        # Nobody asked for it here: the card did.
        raise CardError(
            f"{source.where}: it was scored with the metrics {', '.join(scoring.metrics)}: "
            f"{error}; name others, or {ALL}, with --metrics"
        ) from error
    return referee


def _without_glossary(row: Mapping[str, Json]) -> Mapping[str, Json]:
    fields = {key: value for key, value in (row.get("fields") or {}).items() if key != "glossary"}
    return {
        **{key: row[key] for key in row if key != "fields"},
        **({"fields": fields} if fields else {}),
    }


def _judged(
    referee: Referee, rows: Sequence[Mapping[str, Json]]
) -> tuple[list[dict[str, Json]], StatisticsRows | None]:
    """Return the rows as judged anew, keys sorted, and their statistics."""
    again = getattr(referee, "rescore", None)
    if again is None:
        return [dict(sorted(row.items())) for row in rows], None
    judged: list[dict[str, Json]] = []
    statistics = StatisticsRows()
    for row, numbers in again(rows):
        judged.append(dict(sorted(row.items())))
        statistics.append(numbers)
    return judged, statistics
