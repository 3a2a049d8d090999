"""The scores block of a translation run: counts, corpus scores, intervals, breakdowns.

Every score, of the run and of a part of it, is the metric's function of summed statistics, never
a mean of entry scores. Failed attempts and empty outputs stay in as misses. Scales: chrF++, chrF,
BLEU and TER 0-100 with 2 decimals; rates and ratios with 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_mtarena.protocols import Calibration, Metric, Report, Statistics, Whole
from pytest_mtarena.records import Json, Scoring, whole_cost
from pytest_mtarena.referee.caveats import ALARMS, caveats, count_copies, find_copies
from pytest_mtarena.referee.composite import (
    FAULTS,
    NO_METRIC,
    composite,
    composite_of,
    cost_adjusted,
    coverage,
    tier,
    weights_of,
)
from pytest_mtarena.referee.composite import ID as COMPOSITE
from pytest_mtarena.referee.inputs import (
    UNKNOWN,
    Languages,
    is_counted,
    row_input,
    row_references,
    was_cut,
)
from pytest_mtarena.referee.metrics.catalog import describe
from pytest_mtarena.referee.metrics.ids import EVERY_ID, IDS, NO_VALUE
from pytest_mtarena.referee.normalization import Normalization, is_blank
from pytest_mtarena.referee.scripts import Tokenization
from pytest_mtarena.referee.table import Given, Table, make_table, stored_metrics

if TYPE_CHECKING:
    from pytest_mtarena.referee.stats.bootstrap import Replicates

HEADLINE = "chrf_plus_plus"

HUNDREDS = ("chrf_plus_plus", "chrf", "bleu", "ter")
"""Scores of two decimals."""

BREAKDOWNS = ("difficulty", "provenance", "domain", "segment", "register")

_PARTS = (*HUNDREDS, "exact_match_rate", "length_ratio")
"""The scores that every breakdown shows."""

NO_LABEL = "(none)"
NOTHING = "nothing to score"

_COUNTS = (
    "total",
    "evaluated",
    "errors",
    "errors_by_kind",
    "n_invalid",
    "n_no_reference",
    "n_empty_hypothesis",
    "n_cut",
    "exact_matches",
    "length_below_half",
    "length_above_double",
    "source_copies",
    "equivalent_matches",
    "fst_accepted",
    "fst_reference_acceptance",
    "fst_acceptance_relative",
    "comet_model",
    "detectable_difference",
    "composite",
    "composite_coverage",
    "quality_tier",
    "cost_adjusted",
    "metric_details",
    "confidence_intervals",
    "confidence_intervals_by_tier",
)

_SPEED = (
    *("avg_latency_seconds", "median_latency_seconds", "p95_latency_seconds", "latency_unit"),
    *("tokens_per_second", "entries_per_minute", "bleu_tokenizer"),
)

RESERVED = frozenset({*EVERY_ID, *_COUNTS, *_SPEED, *(f"by_{label}" for label in BREAKDOWNS)})
"""Keys of the scores block (and of the signatures) that a contributed metric cannot have."""

TAKEN_ENDINGS = ("_n_scored", "_n_unscored")
"""How an id cannot end: such keys stand beside the scores of the others."""


_NOT_SELECTED = "not selected"


@dataclass(frozen=True)
class Panel:
    """The metrics of a report: fitted to the suite, and what is known of the others."""

    metrics: Mapping[str, Metric]
    """The selected ones that can be used, by id, in the order of the report."""
    selected: Mapping[str, Metric]
    """All that are selected and installed."""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    """Selected metric to why it has no value."""
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    kept: Collection[str] = ()
    """Metrics whose statistics are in the rows: they needed what is not here."""
    kept_signatures: Mapping[str, str] = field(default_factory=dict)
    """Their signatures, which may tell of what is not here."""
    kept_reasons: Mapping[str, str] = field(default_factory=dict)
    """Why some of them have no score, where nobody here can say it."""
    languages: Languages = UNKNOWN
    composite: bool = True
    """Whether the composite is selected."""
    own: Collection[str] = ()
    """Metrics that the contestant brought along."""


def make_report(
    rows: Sequence[Mapping[str, Json]],
    statistics: Sequence[Given] | None,
    panel: Panel,
    scoring: Scoring,
    tokenization: Tokenization,
) -> Report:
    """Return the report of a run."""
    if statistics is not None and len(statistics) != len(rows):
        raise ValueError(f"{len(statistics)} statistics for {len(rows)} rows")
    metrics = panel.metrics
    places = [i for i, row in enumerate(rows) if is_counted(row)]
    counted = [rows[i] for i in places]
    stored = [
        name
        for name in stored_metrics(counted)
        if name not in panel.selected
        and name not in RESERVED
        and (scoring.metrics is None or name in scoring.metrics)
    ]
    table = Table({}, {}, ())
    if metrics or stored:
        table = make_table(
            counted,
            statistics,
            places,
            metrics,
            scoring.normalization,
            stored=stored,
            kept=panel.kept,
            own=panel.own,
            languages=panel.languages,
        )
    availability = {name: panel.unavailable[name] for name in panel.unavailable}
    scores: dict[str, Json] = _counts(rows, counted)
    cut_ids = [
        str(row.get("entry_id"))
        for row in counted
        if _long(row) and was_cut(row_input(row, scoring.normalization), metrics)
    ]
    scores["n_cut"] = len(cut_ids)
    copies = find_copies(counted)
    scores["source_copies"] = count_copies(*copies)
    exact = _corpus_scores(counted, table, panel, scoring.normalization, scores, availability)
    _documented(scores, panel, availability, scoring)
    weights = _composite(exact, counted, scores, panel, availability)
    found, tiers = _intervals(counted, table, scoring, availability, weights, scores)
    scores["confidence_intervals"] = found
    scores["confidence_intervals_by_tier"] = tiers
    for label in BREAKDOWNS:
        scores[f"by_{label}"] = _breakdown(counted, table, label)
    present_keys = [name for name in table.metrics if scores.get(name) is not None]
    directions = {name: one.direction for name, one in {**panel.selected, **table.metrics}.items()}
    if panel.composite:
        directions[COMPOSITE] = "higher"
    found_caveats = caveats(counted, table, scores, tokenization, cut_ids, copies)
    return Report(
        scores=scores,
        availability=availability,
        signatures=_signatures(counted, table, scoring, tokenization, panel),
        directions=directions,
        headline=HEADLINE if HEADLINE in panel.selected else next(iter(present_keys), None),
        caveats=[one.text for one in found_caveats],
        alarms={one.text: one.kind for one in found_caveats if one.kind in ALARMS},
        stored=table.stored,
        metrics={
            name: {**describe(one), **({"owner": "method"} if name in panel.own else {})}
            for name, one in panel.selected.items()
        },
        calibration={name: one.model_dump(mode="json") for name, one in panel.calibration.items()},
    )


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
        "errors_by_kind": _kinds(counted),
        "n_invalid": invalid,
        "n_no_reference": len(without) - invalid,
        "n_empty_hypothesis": sum(
            row["status"] == "ok" and is_blank(row.get("predicted")) for row in counted
        ),
    }


def _kinds(counted: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return how many attempts failed in which way: the failure's kind, else the row's status."""
    found: Counter[str] = Counter()
    for row in counted:
        if row["status"] != "ok":
            failure = row.get("failure")
            kind = failure.get("kind") if isinstance(failure, Mapping) else None
            found[str(kind or row["status"])] += 1
    return dict(sorted(found.items()))


def _why_nothing(
    metric: Metric, counted: Sequence[Mapping[str, Json]], panel: Panel, form: Normalization
) -> str:
    """Return why no entry has a value: what the metric says of the first one."""
    if metric.id in panel.kept:
        return panel.kept_reasons.get(metric.id, NO_VALUE)
    if isinstance(metric, Whole):
        return str(getattr(metric, "nothing", NO_VALUE))
    from pytest_mtarena.referee.judging import judge

    [reason] = judge(metric, [row_input(counted[0], form, panel.languages)]).reasons
    return reason or NO_VALUE


def _corpus_scores(
    counted: Sequence[Mapping[str, Json]],
    table: Table,
    panel: Panel,
    form: Normalization,
    scores: dict[str, Json],
    availability: dict[str, str],
) -> dict[str, float]:
    """Put the score of every metric into ``scores``; return them with all their digits."""
    if table.metrics:
        from pytest_mtarena.referee.judging import total
        from pytest_mtarena.referee.metrics.base import columns_of, present

    exact: dict[str, float] = {}
    details: dict[str, Json] = {}
    scores["exact_matches"] = None
    for name in (*EVERY_ID, *(name for name in table.metrics if name not in EVERY_ID)):
        scores[name] = None
        if name not in table.metrics:
            availability.setdefault(name, _NOT_SELECTED)
            continue
        rows = table.statistics[name]
        value, reason = total(table.metrics[name], rows)
        if name in table.faults:
            reason = table.faults[name]
        elif value is None and len(rows) and reason in (None, NO_VALUE):
            reason = _why_nothing(table.metrics[name], counted, panel, form)
        if value is None:
            availability[name] = (reason or NO_VALUE) if len(rows) else NOTHING
        else:
            exact[name] = value
            scores[name] = shown(name, value)
        if name in IDS:
            continue
        kept = present(rows)
        scored = int(kept.sum())
        if scored < len(rows):
            scores[f"{name}_n_scored"], scores[f"{name}_n_unscored"] = scored, len(rows) - scored
        columns = columns_of(table.metrics[name])
        if scored and len(columns) == rows.shape[1] and (sums := _sums(rows[kept])) is not None:
            details[name] = dict(zip(columns, sums, strict=True))
    scores["metric_details"] = details
    matches, lengths = (table.statistics.get(n) for n in ("exact_match_rate", "length_ratio"))
    scores["exact_matches"] = None if matches is None else int(matches[:, 0].sum())
    for column, name in ((2, "length_below_half"), (3, "length_above_double")):
        scores[name] = None
        if lengths is not None:
            scores[name] = int(lengths[present(lengths), column:][:, :1].sum())
    for key, name in (
        ("exact_matches", "exact_match_rate"),
        ("length_below_half", "length_ratio"),
        ("length_above_double", "length_ratio"),
    ):
        if scores[key] is None:
            availability[key] = availability[name]
    return exact


def _sums(rows: Statistics) -> list[float] | None:
    """Return the sums of the columns as a card shows them; None when one is beyond all bounds."""
    import numpy as np

    with np.errstate(over="ignore"):
        sums = rows.sum(axis=0)
    if not np.isfinite(sums).all():
        return None
    return [
        int(one) if one.is_integer() and abs(one) <= 2**53 else round(one, 6)
        for one in sums.tolist()
    ]


def _documented(
    scores: dict[str, Json], panel: Panel, availability: dict[str, str], scoring: Scoring
) -> None:
    """Put the documented keys that follow from the details of a metric."""
    for key, name, column in (
        ("equivalent_matches", "equivalent_match_rate", "equivalent"),
        ("fst_accepted", "fst_acceptance_rate", "accepted_entries"),
    ):
        scores[key] = scores["metric_details"].get(name, {}).get(column)
        if scores[key] is None:
            availability[key] = availability.get(name, NO_VALUE)
    tried = panel.calibration.get("fst_acceptance_rate")
    scores["fst_reference_acceptance"] = None if tried is None else tried.rate
    if scores["fst_reference_acceptance"] is None:
        availability["fst_reference_acceptance"] = availability.get("fst_acceptance_rate", NO_VALUE)
    counts = scores["metric_details"].get("fst_acceptance_rate")
    scores["fst_acceptance_relative"] = None
    if counts and counts["words"] and tried is not None and tried.rate:
        share = counts["valid_words"] / counts["words"] / tried.rate
        scores["fst_acceptance_relative"] = round(share, 4)
    else:
        availability["fst_acceptance_relative"] = availability.get("fst_acceptance_rate", NO_VALUE)
    checkpoint = scoring.resource_facts.get("comet_model")
    scores["comet_model"] = None
    if scores.get("comet_score") is not None and isinstance(checkpoint, Mapping):
        scores["comet_model"] = checkpoint.get("name")
    if scores["comet_model"] is None:
        availability["comet_model"] = availability.get("comet_score", NO_VALUE)


def _composite(
    exact: Mapping[str, float],
    counted: Sequence[Mapping[str, Json]],
    scores: dict[str, Json],
    panel: Panel,
    availability: dict[str, str],
) -> Mapping[str, float]:
    """Put the composite and what hangs on it; return the weights it really has."""
    if not any(row["status"] == "ok" and not is_blank(row.get("predicted")) for row in counted):
        # Who says nothing has no fault either: that earns nothing.
        exact = {name: value for name, value in exact.items() if name not in FAULTS}
    profile, weights = weights_of(exact) if panel.composite else ("", {})
    keys = (COMPOSITE, "composite_coverage", "quality_tier", "cost_adjusted")
    scores.update(dict.fromkeys(keys))
    if not weights:
        availability.update(dict.fromkeys(keys, NO_METRIC if panel.composite else _NOT_SELECTED))
        return {}
    value = composite_of(exact, weights)
    scores[COMPOSITE] = round(value, 4)
    scores["composite_coverage"] = coverage(profile, weights)
    scores["quality_tier"] = tier(value)
    costs = [whole_cost(row) for row in counted]
    known = [cost for cost in costs if cost is not None]
    if known and len(known) == len(costs):
        scores["cost_adjusted"] = round(cost_adjusted(value, math.fsum(known) / len(known)), 4)
    else:
        availability["cost_adjusted"] = "the cost of some entries is unknown"
    return weights


def _intervals(
    counted: Sequence[Mapping[str, Json]],
    table: Table,
    scoring: Scoring,
    availability: dict[str, str],
    weights: Mapping[str, float],
    scores: dict[str, Json],
) -> tuple[Json, Json]:
    keys = ("confidence_intervals", "confidence_intervals_by_tier")
    scores["detectable_difference"] = None
    if not scoring.intervals or scoring.n_bootstrap < 1:
        availability.update(dict.fromkeys((*keys, "detectable_difference"), "switched off"))
        return None, None
    if not table.metrics:
        availability["detectable_difference"] = _NOT_SELECTED
        return {}, {}
    from pytest_mtarena.referee.metrics.base import present
    from pytest_mtarena.referee.stats.bootstrap import (
        MIN_TIER,
        SEED,
        TOO_FEW,
        interval,
        intervals,
        intervals_of,
        replicate,
    )
    from pytest_mtarena.referee.stats.paired import ONE_CLUSTER
    from pytest_mtarena.referee.stats.units import units_of

    clusters = units_of(counted, sources=False).labels
    # One that has no score is not asked again: it may raise anything.
    able = [one for name, one in table.metrics.items() if scores[name] is not None]
    drawn = replicate(able, table.statistics, replicates=scoring.n_bootstrap, clusters=clusters)
    found: dict[str, Json] = {**dict.fromkeys(table.metrics), **intervals_of(able, drawn)}
    for name, one in found.items():
        if one is None:
            few = int(present(table.statistics[name]).sum()) < 2
            why = TOO_FEW if few else "no score" if scores[name] is None else ONE_CLUSTER
            availability[f"confidence_intervals.{name}"] = why
        else:
            one.update(_exact(table.statistics[name]))
    if weights and all(name in drawn.scores for name in weights):
        observed = {name: drawn.observed[name] or 0.0 for name in weights}
        found[COMPOSITE] = interval(
            composite(drawn.scores, weights),
            composite_of(observed, weights),
            len(counted),
            drawn.seed,
            drawn.n_units,
        )
    scores["detectable_difference"] = _detectable(drawn, len(counted), availability)
    tiers: dict[str, Json] = {}
    places = _tiers(counted)
    for number in sorted(places) if len(places) > 1 and able else ():
        if len(places[number]) >= MIN_TIER:
            part = {one.id: table.statistics[one.id][places[number]] for one in able}
            inside = None if clusters is None else clusters[places[number]]
            known = intervals(
                able,
                part,
                replicates=scoring.n_bootstrap,
                seed=SEED + number,
                clusters=inside,
            )
            tiers[str(number)] = {
                name: {**one, **_exact(part[name])} for name, one in known.items() if one
            }
    return found, tiers


def _exact(rows: Statistics) -> dict[str, Json]:
    """Return Wilson's interval of a rate that is 0 or 1, where resampling knows no doubt."""
    import numpy as np

    from pytest_mtarena.referee.metrics.base import present
    from pytest_mtarena.referee.stats.exact import wilson

    known = rows[present(rows)]
    if known.shape[1] < 2 or not len(known) or not (known[:, 1] == 1).all():
        return {}
    hits = known[:, 0]
    if not (np.isin(hits, (0, 1)).all() and (hits == hits[0]).all()):
        return {}
    ends = wilson(int(hits.sum()), len(hits))
    if ends is None:
        return {}
    return {"exact": {"method": "wilson", "lower": round(ends[0], 4), "upper": round(ends[1], 4)}}


def _detectable(drawn: Replicates, n: int, availability: dict[str, str]) -> Json:
    """Return the difference of the headline that these entries can show, or None."""
    import numpy as np

    from pytest_mtarena.referee.stats.power import CORRELATION, POWER, detectable

    replicates = drawn.scores.get(HEADLINE)
    spread = 0.0 if replicates is None else float(np.std(replicates, ddof=1))
    if not spread > 0 or not math.isfinite(spread):
        availability["detectable_difference"] = "the headline score does not vary"
        return None
    return {
        "metric": HEADLINE,
        "difference": round(detectable(spread * math.sqrt(2 * (1 - CORRELATION))), 2),
        "power": POWER,
        "alpha": 0.05,
        "assumed_correlation": CORRELATION,
        "n": n,
        "n_units": drawn.n_units or n,
    }


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
    # By what the label is called: an entry may really have the one that stands for none.
    places: dict[str, list[int]] = {}
    values: dict[str, Json] = {}
    for place, row in enumerate(counted):
        value = row.get(label)
        name = NO_LABEL if value is None else str(value)
        places.setdefault(name, []).append(place)
        values[name] = value if values.get(name) is None else values[name]
    if all(value is None for value in values.values()):
        return {}
    found: dict[str, Json] = {}
    for shown_name in sorted(places, key=lambda name: _label_order(values[name])):
        rows = places[shown_name]
        part: dict[str, Json] = {
            "n": len(rows),
            "errors": sum(counted[place]["status"] != "ok" for place in rows),
        }
        for name in (*_PARTS, *(n for n in table.metrics if n not in IDS)):
            part[name] = _part(table, name, rows)
        found[shown_name] = part
    return found


def _part(table: Table, name: str, places: list[int]) -> float | None:
    if name not in table.metrics:
        return None
    from pytest_mtarena.referee.judging import total

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
    panel: Panel,
) -> dict[str, str]:
    numbers = {len(row_references(row)) for row in counted}
    several = numbers.pop() if len(numbers) == 1 else -1
    found: dict[str, str] = {}
    for name, metric in table.metrics.items():
        if name in table.stored:
            found[name] = f"{name}|mean of stored values"
            continue
        if name in panel.kept_signatures and name in panel.kept:
            found[name] = panel.kept_signatures[name]
            continue
        signed = getattr(metric, "signed", None) if name in IDS else None
        found[name] = signed(several) if signed else metric.signature
        if name in IDS:
            found[name] += f"|unicode:{scoring.normalization}"
    if "bleu" in found:
        found["bleu_tokenizer"] = tokenization.words
    return found
