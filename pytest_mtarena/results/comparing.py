"""Run cards against a baseline: what differs, how sure that is, and in which entries.

The first card is the baseline, A; each other is tested against it on the entries of both, metric
by metric. One metric is the primary one: it alone says who is better, and when several systems
are tested its p-values are adjusted for their number (Holm 1979). The other metrics show in what.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Metric, MetricDirection, MetricInput, Statistics
from pytest_mtarena.records import Json
from pytest_mtarena.referee.composite import ID as COMPOSITE
from pytest_mtarena.referee.inputs import row_input, row_references
from pytest_mtarena.referee.judging import total
from pytest_mtarena.referee.metrics.ids import EVERY_ID, NO_VALUE
from pytest_mtarena.referee.scores import BREAKDOWNS, HEADLINE, HUNDREDS, NO_LABEL
from pytest_mtarena.referee.stats.bootstrap import SEED
from pytest_mtarena.referee.stats.paired import (
    REPLICATES,
    RESAMPLES,
    Comparison,
    align,
    compare,
    holm,
)
from pytest_mtarena.referee.stats.power import Power, power_of
from pytest_mtarena.referee.stats.units import Units, units_of
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.composites import with_composite
from pytest_mtarena.results.pairing import Pair, Row, Side, Tables, pair

BETTER, WORSE, UNDECIDED = "better", "worse", "no difference shown"

MIN_PART = 5
"""Smaller parts of a suite have no difference of their own."""

_TIE = 1e-9
_ROLES = {"headline": 0, "secondary": 0, "diagnostic": 1, "informational": 2}
"""Role to its place in the table."""


@dataclass(frozen=True)
class Result:
    """What one metric says of B against A."""

    id: str
    title: str
    role: str
    direction: MetricDirection
    primary: bool
    score_a: float | None
    """Of the entries that have a value in both, as the next."""
    score_b: float | None
    difference: float | None
    """B - A."""
    test: Comparison | None
    """None for informational metrics, which are not tested."""
    p_holm: float | None = None
    """Adjusted for the number of systems; None for one, and for all but the primary metric."""
    verdict: str | None = None
    """``better``, ``worse`` or ``no difference shown``, of B; None where nobody can win."""
    reason: str | None = None
    """What explains a verdict or a null."""

    @property
    def decimals(self) -> int:
        """How many decimals of scores are worth showing."""
        return 2 if self.id in (*HUNDREDS, "spbleu") else 3

    @property
    def is_worse(self) -> bool:
        """Whether B is significantly worse."""
        return self.verdict == WORSE


@dataclass(frozen=True)
class Entry:
    """One entry in both cards."""

    id: str
    source: str
    reference: str
    output_a: str | None
    """None when the contestant failed."""
    output_b: str | None
    value_a: float
    """By the primary metric."""
    value_b: float
    gain: float
    """By how much B is better; negative when it is worse."""


@dataclass(frozen=True)
class Part:
    """The entries with one value of a label."""

    label: str
    value: str
    n: int
    score_a: float | None
    score_b: float | None
    difference: float | None


@dataclass(frozen=True)
class Against:
    """One system against the baseline."""

    pair: Pair
    units: Units
    results: tuple[Result, ...]
    """The primary metric first, then secondary, diagnostic and informational ones."""
    left_out: Mapping[str, str]
    """Metric that cannot be compared to the reason."""
    notes: tuple[str, ...] = ()
    power: Power | None = None

    @property
    def primary(self) -> Result:
        """What the primary metric says."""
        return self.results[0]

    @property
    def same_outputs(self) -> int:
        """How many entries have the same output in both."""
        rows = zip(self.pair.rows_a, self.pair.rows_b, strict=True)
        return sum(one.get("predicted") == other.get("predicted") for one, other in rows)

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries that have a value of the primary metric in both, in the order of ids."""
        return _entries(self)

    @property
    def won(self) -> list[Entry]:
        """The entries that B is better at, the largest gain first."""
        return sorted((one for one in self.entries if one.gain > _TIE), key=lambda e: -e.gain)

    @property
    def lost(self) -> list[Entry]:
        """The entries that B is worse at, the largest loss first."""
        return sorted((one for one in self.entries if one.gain < -_TIE), key=lambda e: e.gain)

    @property
    def ties(self) -> int:
        """How many entries neither is better at."""
        return len(self.entries) - len(self.won) - len(self.lost)

    @cached_property
    def parts(self) -> list[Part]:
        """The primary metric by difficulty, domain and so on, of parts that are not too small."""
        return _parts(self)


@dataclass(frozen=True)
class Plan:
    """How cards are to be compared."""

    primary: str | None = None
    """Id of the metric that decides; None means chrF++, or what there is in its place."""
    metrics: Collection[str] | None = None
    """The only metrics to look at; None means all that both have."""
    shared: bool = False
    """Whether to compare what cards of different suites or entries have in common."""
    can_share: bool = True
    """Whether a refusal may offer that."""
    resamples: int = RESAMPLES
    replicates: int = REPLICATES
    seed: int = SEED
    power: bool = True
    """Whether to find out what the suite can see."""
    any_primary: bool = False
    """Whether the primary metric only stands first and decides nothing, so that any will do."""

    @property
    def wanted(self) -> set[str] | None:
        """The metrics whose statistics are needed; None means all."""
        if self.metrics is None:
            return None
        names = {*self.metrics, *([self.primary] if self.primary else [HEADLINE])}
        return names if COMPOSITE not in names else None


def compare_cards(
    sides: Sequence[Side], registry: Registry, plan: Plan | None = None
) -> list[Against]:
    """Compare each card but the first with the first.

    Raises UsageError when two cannot be compared, naming what differs, and for a metric that was
    asked for by name and cannot be compared; CardError for rows that cannot be scored.
    """
    plan = Plan() if plan is None else plan
    if len(sides) < 2:
        raise UsageError("two run cards are needed: the baseline and one to compare with it")
    tables = Tables(registry, plan.wanted)
    pairs = [
        pair(sides[0], one, tables, shared=plan.shared, can_share=plan.can_share)
        for one in sides[1:]
    ]
    if tables.wants(COMPOSITE):
        pairs = [with_composite(one) for one in pairs]
    primary, note = _primary(pairs, plan.primary, plan.any_primary)
    found = [_against(one, primary, note, plan) for one in pairs]
    for one in found:
        if plan.primary is not None and one.primary.difference is None:
            a, b = one.pair.a.name, one.pair.b.name
            raise UsageError(f"{primary} of {a} and {b}: {_why_null(one.pair, one.primary)}")
    return _adjusted(found) if len(found) > 1 else found


# -- metrics --------------------------------------------------------------------------------


def _primary(pairs: Sequence[Pair], asked: str | None, any_will_do: bool) -> tuple[str, str | None]:
    """Return the metric that decides in all pairs, and what to know of the choice."""
    if asked is not None:
        check_metric(asked, pairs)
        for one in pairs:
            if one.metrics[asked].direction == "target" and not any_will_do:
                raise UsageError(
                    f"{asked} is best at a target: it cannot say which of two systems is better"
                )
        return asked, None
    first = pairs[0]
    wished = [HEADLINE, *filter(None, [first.a.card["headline"]])]
    others = sorted(first.metrics, key=lambda name: _ROLES.get(first.metrics[name].role, 0))
    for name in (*wished, *others):
        if all(name in one.metrics and _decides(one.metrics[name]) for one in pairs):
            if name == wished[0] or HEADLINE not in first.left_out:
                return name, None
            return name, f"{HEADLINE} is not compared ({first.left_out[HEADLINE]})"
    reasons = [f"{name}: {reason}" for one in pairs for name, reason in one.left_out.items()]
    why = f" ({'; '.join(dict.fromkeys(reasons[:3]))})" if reasons else ""
    raise UsageError(f"{pairs[0].a.name} and the others have no metric that can decide{why}")


def check_metric(name: str, pairs: Sequence[Pair]) -> None:
    """Raise UsageError when a metric that was asked for cannot be compared."""
    for one in pairs:
        if name in one.metrics:
            continue
        reason = one.left_out.get(name)
        for side in (one.a, one.b):
            if reason is None and name in side.card["metric_availability"]:
                reason = f"no value in {side.letter}: {side.card['metric_availability'][name]}"
        known = f"there is no such metric (there are: {', '.join(one.metrics)})"
        raise UsageError(f"{name} of {one.a.name} and {one.b.name}: {reason or known}")


def _decides(metric: Metric) -> bool:
    return metric.direction != "target" and metric.role != "informational"


def _against(pair: Pair, primary: str, note: str | None, plan: Plan) -> Against:
    units = units_of(pair.rows_a)
    names = [name for name in pair.metrics if plan.metrics is None or name in plan.metrics]
    names = [name for name in names if name != primary]
    ordered = sorted(names, key=lambda name: _ROLES.get(pair.metrics[name].role, 0))
    results = [_result(pair, name, units, plan, name == primary) for name in (primary, *ordered)]
    told = [one for one in results if one.primary or one.difference is not None]
    lacking = {one.id: _why_null(pair, one) for one in results if one not in told}
    power = None
    if plan.power:
        a, b = pair.statistics_a[primary], pair.statistics_b[primary]
        power = power_of(pair.metrics[primary], a, b, clusters=units.labels, seed=plan.seed)
    notes = tuple(filter(None, [note]))
    return Against(pair, units, tuple(told), {**pair.left_out, **lacking}, notes, power)


def _result(pair: Pair, name: str, units: Units, plan: Plan, primary: bool) -> Result:
    metric = pair.metrics[name]
    a, b = pair.statistics_a[name], pair.statistics_b[name]
    found = Result(
        id=name,
        title=metric.title,
        role=metric.role,
        direction=metric.direction,
        primary=primary,
        score_a=None,
        score_b=None,
        difference=None,
        test=None,
    )
    if metric.role == "informational" and not primary:
        a, b, _ = align(a, b)
        (score_a, why_a), (score_b, why_b) = total(metric, a), total(metric, b)
        if score_a is None or score_b is None:
            return replace(found, reason=why_a or why_b)
        return replace(found, score_a=score_a, score_b=score_b, difference=score_b - score_a)
    tested = compare(
        metric,
        a,
        b,
        clusters=units.labels,
        resamples=plan.resamples,
        replicates=plan.replicates,
        seed=plan.seed,
    )
    verdict = None
    if tested.p_value is not None and tested.direction != "target":
        verdict = {"b": BETTER, "a": WORSE, None: UNDECIDED}[tested.better]
    return replace(
        found,
        score_a=tested.score_a,
        score_b=tested.score_b,
        difference=tested.difference,
        test=tested,
        verdict=verdict,
        reason=tested.reason,
    )


def _why_null(pair: Pair, one: Result) -> str:
    """Return why a metric has no value, as the cards have it where they do."""
    for side in (pair.a, pair.b):
        if reason := side.card["metric_availability"].get(one.id):
            return f"no value in {side.letter}: {reason}"
    return one.reason or NO_VALUE


def _adjusted(found: Sequence[Against]) -> list[Against]:
    """Adjust the p-values of the primary metric for the number of systems."""
    known = {
        at: one.primary.test.p_value
        for at, one in enumerate(found)
        if one.primary.test is not None and one.primary.test.p_value is not None
    }
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    return [
        replace(one, results=(_after_holm(one.primary, adjusted.get(at)), *one.results[1:]))
        for at, one in enumerate(found)
    ]


def _after_holm(one: Result, p_holm: float | None) -> Result:
    """Return a result with its adjusted p-value, which may take a verdict back."""
    if p_holm is None or one.test is None:
        return one
    if p_holm < one.test.alpha or one.verdict not in (BETTER, WORSE):
        return replace(one, p_holm=p_holm)
    reason = f"p < {one.test.alpha:g}, but not when adjusted for the number of systems"
    return replace(one, p_holm=p_holm, verdict=UNDECIDED, reason=reason)


# -- entries and parts ----------------------------------------------------------------------


def _entries(one: Against) -> list[Entry]:
    pair, name = one.pair, one.primary.id
    metric = pair.metrics[name]
    values = [
        _values(metric, rows, statistics, side)
        for rows, statistics, side in (
            (pair.rows_a, pair.statistics_a[name], pair.a),
            (pair.rows_b, pair.statistics_b[name], pair.b),
        )
    ]
    sign = -1.0 if metric.direction == "lower" else 1.0
    return [
        Entry(
            id=id,
            source=str(row_a.get("source") or ""),
            reference=row_references(row_a)[0],
            output_a=_output(row_a),
            output_b=_output(row_b),
            value_a=value_a,
            value_b=value_b,
            gain=sign * (value_b - value_a),
        )
        for id, row_a, row_b, value_a, value_b in zip(
            pair.ids, pair.rows_a, pair.rows_b, *values, strict=True
        )
        if value_a is not None and value_b is not None
    ]


def _values(
    metric: Metric, rows: Sequence[Row], statistics: Statistics, side: Side
) -> Sequence[float | None]:
    """Return the value of each entry; None for all when a contributed metric breaks."""
    inputs: list[MetricInput] = []
    if metric.id not in (*EVERY_ID, COMPOSITE):  # those of the package need none
        inputs = [row_input(row, side.card["config"]["normalization"]) for row in rows]
    try:
        values = list(metric.entry(inputs, statistics))
    except Exception:  # a plug-in's fault costs the list of entries only
        return [None] * len(rows)
    return values if len(values) == len(rows) else [None] * len(rows)


def _output(row: Row) -> str | None:
    given = row.get("predicted")
    return given if isinstance(given, str) and row.get("status") == "ok" else None


def _parts(one: Against) -> list[Part]:
    pair, name = one.pair, one.primary.id
    metric = pair.metrics[name]
    a, b = pair.statistics_a[name], pair.statistics_b[name]
    found: list[Part] = []
    for label in BREAKDOWNS:
        places: dict[Json, list[int]] = {}
        for place, row in enumerate(pair.rows_a):
            places.setdefault(row.get(label), []).append(place)
        for value in sorted(places, key=_order) if len(places) > 1 else ():
            taken = places[value]
            if len(taken) < MIN_PART:
                continue
            part_a, part_b, _ = align(a[taken], b[taken])
            score_a, score_b = total(metric, part_a)[0], total(metric, part_b)[0]
            difference = None
            if score_a is not None and score_b is not None:
                difference = score_b - score_a
            found.append(
                Part(
                    label,
                    NO_LABEL if value is None else str(value),
                    len(part_a),
                    score_a,
                    score_b,
                    difference,
                )
            )
    return found


def _order(value: Json) -> tuple[int, float, str]:
    """Order numbers first, then words, then what has no label."""
    if isinstance(value, int | float):
        return 0, value, ""
    return (2, 0, "") if value is None else (1, 0, str(value))
