"""The scores block of a translation run: counts, corpus scores, intervals, breakdowns.

Every score, of the run and of a part of it, is the metric's function of summed statistics, never
a mean of entry scores. Failed attempts and empty outputs stay in as misses. Scales: chrF++, chrF,
BLEU and TER 0-100 with 2 decimals; rates and ratios with 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pytest_mtarena.protocols import Metric, MetricDirection, Report
from pytest_mtarena.records import Json, Scoring
from pytest_mtarena.referee.caveats import caveats, count_copies, find_copies
from pytest_mtarena.referee.inputs import is_counted, row_input, row_references
from pytest_mtarena.referee.judging import total, was_cut
from pytest_mtarena.referee.metrics.base import NO_VALUE, present
from pytest_mtarena.referee.metrics.builtin import IDS
from pytest_mtarena.referee.normalization import is_blank
from pytest_mtarena.referee.scripts import Tokenization
from pytest_mtarena.referee.stats.bootstrap import MIN_TIER, SEED, TOO_FEW, intervals
from pytest_mtarena.referee.table import Given, Table, make_table, stored_metrics

HEADLINE = "chrf_plus_plus"

HUNDREDS = ("chrf_plus_plus", "chrf", "bleu", "ter")
"""Scores of two decimals."""

BREAKDOWNS = ("difficulty", "provenance", "domain", "segment", "register")

_PARTS = (*HUNDREDS, "exact_match_rate", "length_ratio")
"""The scores that every breakdown shows."""

_TIERED = ("chrf_plus_plus", "exact_match_rate")
"""The metrics that have intervals by difficulty."""

NO_LABEL = "(none)"
NOTHING = "nothing to score"

PLANNED = {
    "equivalent_matches": "equivalent match",
    "equivalent_match_rate": "equivalent match",
    "fst_accepted": "FST acceptance",
    "fst_acceptance_rate": "FST acceptance",
    "morphological_accuracy": "morphological accuracy",
    "orthographic_accuracy": "orthographic accuracy",
    "semantic_score": "semantic score",
    "comet_score": "COMET",
    "comet_model": "COMET",
    "code_switching_rate": "code switching",
    "hallucination_rate": "hallucination",
    "terminology_adherence": "terminology adherence",
    "consistency_score": "consistency",
    "composite": "composite",
    "quality_tier": "composite",
    "cost_adjusted": "composite",
}
"""Keys of the documented card without a metric here, and the metric that they need."""

_COUNTS = (
    "total",
    "evaluated",
    "errors",
    "n_invalid",
    "n_no_reference",
    "n_empty_hypothesis",
    "n_cut",
    "exact_matches",
    "length_below_half",
    "length_above_double",
    "source_copies",
    "confidence_intervals",
    "confidence_intervals_by_tier",
)

RESERVED = frozenset({*IDS, *PLANNED, *_COUNTS, *(f"by_{label}" for label in BREAKDOWNS)})
"""Keys of the scores block that a contributed metric cannot have as its id."""


def make_report(
    rows: Sequence[Mapping[str, Json]],
    statistics: Sequence[Given] | None,
    metrics: Mapping[str, Metric],
    scoring: Scoring,
    tokenization: Tokenization,
) -> Report:
    """Return the report of a run; ``metrics`` are the selected ones that are installed."""
    if statistics is not None and len(statistics) != len(rows):
        raise ValueError(f"{len(statistics)} statistics for {len(rows)} rows")
    places = [i for i, row in enumerate(rows) if is_counted(row)]
    counted = [rows[i] for i in places]
    stored = [
        name
        for name in stored_metrics(counted)
        if name not in metrics
        and name not in RESERVED
        and (scoring.metrics is None or name in scoring.metrics)
    ]
    table = make_table(counted, statistics, places, metrics, scoring.normalization, stored=stored)
    availability = {
        key: f"needs the metric {what}, not part of this version" for key, what in PLANNED.items()
    }
    scores: dict[str, Json] = _counts(rows, counted)
    cut_ids = [
        str(row.get("entry_id"))
        for row in counted
        if _long(row) and was_cut(row_input(row, scoring.normalization), metrics)
    ]
    scores["n_cut"] = len(cut_ids)
    copies = find_copies(counted)
    scores["source_copies"] = count_copies(*copies)
    scores.update(_corpus_scores(table, availability))
    for key in PLANNED:
        scores[key] = None
    found, tiers = _intervals(counted, table, scoring, availability)
    scores["confidence_intervals"] = found
    scores["confidence_intervals_by_tier"] = tiers
    for label in BREAKDOWNS:
        scores[f"by_{label}"] = _breakdown(counted, table, label)
    present_keys = [name for name in table.metrics if scores.get(name) is not None]
    return Report(
        scores=scores,
        availability=availability,
        signatures=_signatures(counted, table, scoring, tokenization),
        directions={name: direction_of(table.metrics[name]) for name in table.metrics},
        headline=HEADLINE if HEADLINE in metrics else next(iter(present_keys), None),
        caveats=caveats(counted, table, scores, tokenization, cut_ids, copies),
        stored=table.stored,
    )


def direction_of(metric: Metric) -> MetricDirection:
    """Return which direction of a metric is better."""
    return metric.direction


def shown(name: str, value: float) -> float:
    """Return a corpus score with the decimals that it is stored with."""
    return round(value, 2 if name in HUNDREDS else 4)


def _long(row: Mapping[str, Json]) -> bool:
    # Cheap: no text below the smallest limit can have been cut, normalised or not.
    texts = [str(row.get("predicted") or ""), *row_references(row)]
    return max(map(len, texts)) > 500


def _counts(
    rows: Sequence[Mapping[str, Json]], counted: Sequence[Mapping[str, Json]]
) -> dict[str, Json]:
    without = [row for row in rows if not is_counted(row)]
    invalid = sum(row.get("status") == "invalid" for row in without)
    return {
        "total": len(rows),
        "evaluated": len(counted),
        "errors": sum(row["status"] != "ok" for row in counted),
        "n_invalid": invalid,
        "n_no_reference": len(without) - invalid,
        "n_empty_hypothesis": sum(
            row["status"] == "ok" and is_blank(row.get("predicted")) for row in counted
        ),
    }


def _corpus_scores(table: Table, availability: dict[str, str]) -> dict[str, Json]:
    scores: dict[str, Json] = {"exact_matches": None}
    for name in (*IDS, *(name for name in table.metrics if name not in IDS)):
        scores[name] = None
        if name not in table.metrics:
            availability[name] = "not selected"
            continue
        value, reason = total(table.metrics[name], table.statistics[name])
        if value is None:
            availability[name] = (reason or NO_VALUE) if len(table.statistics[name]) else NOTHING
        else:
            scores[name] = shown(name, value)
        if name not in IDS:
            scored = int(present(table.statistics[name]).sum())
            unscored = len(table.statistics[name]) - scored
            if unscored:
                scores[f"{name}_n_scored"], scores[f"{name}_n_unscored"] = scored, unscored
    exact, lengths = (table.statistics.get(name) for name in ("exact_match_rate", "length_ratio"))
    scores["exact_matches"] = None if exact is None else int(exact[:, 0].sum())
    for column, name in ((2, "length_below_half"), (3, "length_above_double")):
        scores[name] = None if lengths is None else int(np.nansum(lengths[:, column:][:, :1]))
    for key, name in (
        ("exact_matches", "exact_match_rate"),
        ("length_below_half", "length_ratio"),
        ("length_above_double", "length_ratio"),
    ):
        if scores[key] is None:
            availability[key] = availability[name]
    return scores


def _intervals(
    counted: Sequence[Mapping[str, Json]],
    table: Table,
    scoring: Scoring,
    availability: dict[str, str],
) -> tuple[Json, Json]:
    keys = ("confidence_intervals", "confidence_intervals_by_tier")
    if not scoring.intervals or scoring.n_bootstrap < 1:
        availability.update(dict.fromkeys(keys, "switched off"))
        return None, None
    found: dict[str, Json] = dict(
        intervals(list(table.metrics.values()), table.statistics, replicates=scoring.n_bootstrap)
    )
    for name, interval in found.items():
        if interval is None:
            few = int(present(table.statistics[name]).sum()) < 2
            availability[f"confidence_intervals.{name}"] = TOO_FEW if few else "no score"
    tiers: dict[str, Json] = {}
    metrics = [table.metrics[name] for name in _TIERED if name in table.metrics]
    places = _tiers(counted)
    for tier in sorted(places) if len(places) > 1 and metrics else ():
        if len(places[tier]) >= MIN_TIER:
            part = {metric.id: table.statistics[metric.id][places[tier]] for metric in metrics}
            tiers[str(tier)] = intervals(
                metrics, part, replicates=scoring.n_bootstrap, seed=SEED + tier
            )
    return found, tiers


def _tiers(counted: Sequence[Mapping[str, Json]]) -> dict[int, list[int]]:
    """Return the places of each difficulty that is a number."""
    places: dict[int, list[int]] = {}
    for place, row in enumerate(counted):
        tier = row.get("difficulty")
        if isinstance(tier, int) and not isinstance(tier, bool):
            places.setdefault(tier, []).append(place)
    return places


def _breakdown(counted: Sequence[Mapping[str, Json]], table: Table, label: str) -> dict[str, Json]:
    """Return the scores of each value of a label; nothing when no row has the label."""
    places: dict[Json, list[int]] = {}
    for place, row in enumerate(counted):
        places.setdefault(row.get(label), []).append(place)
    if set(places) <= {None}:
        return {}
    found: dict[str, Json] = {}
    for value in sorted(places, key=_label_order):
        rows = places[value]
        part: dict[str, Json] = {
            "n": len(rows),
            "errors": sum(counted[place]["status"] != "ok" for place in rows),
        }
        for name in _PARTS:
            part[name] = _part(table, name, rows)
        found[NO_LABEL if value is None else str(value)] = part
    return found


def _part(table: Table, name: str, places: list[int]) -> float | None:
    if name not in table.metrics:
        return None
    value, _ = total(table.metrics[name], table.statistics[name][places])
    return None if value is None else shown(name, value)


def _label_order(value: Json) -> tuple[int, float, str]:
    """Order numbers first, then words, then what has no label."""
    if value is None:
        return 2, 0, ""
    number = isinstance(value, int | float)
    return (0, value, "") if number else (1, 0, str(value))


def _signatures(
    counted: Sequence[Mapping[str, Json]],
    table: Table,
    scoring: Scoring,
    tokenization: Tokenization,
) -> dict[str, str]:
    numbers = {len(row_references(row)) for row in counted}
    several = numbers.pop() if len(numbers) == 1 else -1
    found: dict[str, str] = {}
    for name, metric in table.metrics.items():
        if name in table.stored:
            found[name] = f"{name}|mean of stored values"
            continue
        signed = getattr(metric, "signed", None) if name in IDS else None
        found[name] = signed(several) if signed else metric.signature
        if name in IDS:
            found[name] += f"|unicode:{scoring.normalization}"
    if "bleu" in found:
        found["bleu_tokenizer"] = tokenization.words
    return found
