"""Two run cards, entry by entry: which entries and which metrics of them can be compared.

What two cards have in common is found in their rows, not in what they say of themselves: an entry
is the same when its id, its source and its references are. A metric is the same when its signature
and its version are, what was fitted to the references, and the resource that it needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_mtarena.card.seal import check_seal
from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Metric, Statistics
from pytest_mtarena.records import Json
from pytest_mtarena.referee.inputs import is_counted, row_references
from pytest_mtarena.referee.metrics.base import MeanMetric
from pytest_mtarena.referee.metrics.ids import MORE_IDS, RESOURCES_OF
from pytest_mtarena.referee.table import Table
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.compare import differences, shown, telling
from pytest_mtarena.results.verify import referee_of
from pytest_mtarena.text import some

Card = Mapping[str, Any]
Row = Mapping[str, Json]

_NO_SCORES = frozenset({"bleu_tokenizer"})
"""Keys of the signatures that are no score."""

_REFERENCES = re.compile(r"nrefs:[^|]*")


@dataclass(frozen=True)
class Side:
    """A card as one of the systems that are compared."""

    letter: str
    """What tables call it: A is the baseline."""
    card: Card
    where: str = ""
    """The file it was read from; empty when it was not."""
    is_fresh: bool = False
    """Whether it was made just now, so that its seal says nothing."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.letter} ({self.where})" if self.where else self.letter

    @property
    def slug(self) -> str:
        """The contestant."""
        return str(self.card["model_slug"])


@dataclass(frozen=True)
class Pair:
    """What two cards have in common, in the order of the ids."""

    a: Side
    b: Side
    ids: tuple[str, ...]
    rows_a: tuple[Row, ...]
    rows_b: tuple[Row, ...]
    metrics: dict[str, Metric]
    """The metrics that both have and that mean the same, in the order of the report."""
    statistics_a: dict[str, Statistics]
    """Metric to one row an entry; NaN where the entry has no value."""
    statistics_b: dict[str, Statistics]
    left_out: dict[str, str]
    """Metric that only one has, or that is not the same in both, to the reason."""
    warnings: tuple[str, ...] = ()
    excluded: str | None = None
    """Which entries are not compared, with counts; None when all are."""


class Tables:
    """The statistics of cards, each computed once."""

    def __init__(self, registry: Registry, wanted: Collection[str] | None = None) -> None:
        """``wanted`` are the only metrics to compute; None means those of the card."""
        self._registry = registry
        self._wanted = None if wanted is None else frozenset(wanted)
        self._known: dict[tuple[int, tuple[str, ...]], Table] = {}

    def wants(self, name: str) -> bool:
        """Say whether a metric is to be looked at."""
        return self._wanted is None or name in self._wanted

    def of(self, side: Side, ids: tuple[str, ...]) -> Table:
        """Return the statistics of these counted entries, in this order.

        Raises UsageError for a kind of case that has no such statistics, CardError for rows of
        which none can be made.
        """
        key = (id(side.card), ids)
        if key not in self._known:
            self._known[key] = self._computed(side, ids)
        return self._known[key]

    def _computed(self, side: Side, ids: tuple[str, ...]) -> Table:
        taken = frozenset(ids)
        rows = [row for row in side.card["results"] if row["entry_id"] in taken]
        with telling(side.name):
            referee = referee_of(self._narrowed(side.card), self._registry)
            make = getattr(referee, "table", None)
            if make is None:
                raise UsageError(
                    f"{side.name}: runs of kind {shown(side.card['kind'])} cannot be compared "
                    f"({'not known here' if referee is None else 'it has no such statistics'})"
                )
            table: Table = make(rows)
        place = {row["entry_id"]: at for at, row in enumerate(rows)}
        order = [place[one] for one in ids]
        metrics = dict(table.metrics)
        for name in table.stored:
            metrics[name] = _as_stored(metrics[name], side.card)
        return Table(
            metrics,
            {name: values[order] for name, values in table.statistics.items()},
            table.stored,
        )

    def _narrowed(self, card: Card) -> Card:
        """Return a card that asks for no more metrics than are wanted."""
        if self._wanted is None:
            return card
        scoring = card["config"]["scoring"]
        have = scoring.get("metrics")
        names = self._wanted if have is None else self._wanted & set(have)
        config = {**card["config"], "scoring": {**scoring, "metrics": sorted(names)}}
        return {**card, "config": config}


def pair(a: Side, b: Side, tables: Tables, *, shared: bool = False, can_share: bool = True) -> Pair:
    """Return what two cards have in common.

    Raises UsageError, with what differs, for cards of different suites, entries or languages and
    for incomplete ones; with ``shared`` the entries that are the same in both are compared all
    the same. Raises it also when there is no such entry. ``can_share`` is whether the message may
    offer that.
    """
    rows_a, rows_b = _by_id(a), _by_id(b)
    same = {
        one for one, row in rows_a.items() if one in rows_b and _text(row) == _text(rows_b[one])
    }
    if problem := next(_problems(a, b, rows_a, rows_b, same), None):
        if not shared:
            hint = f"--shared compares the {len(same)} entries that are" if same else "no entry is"
            raise UsageError(f"{problem}; {hint} the same in both" if can_share else problem)
        if not same:
            raise UsageError(f"{problem}; no entry has the same id, source and references in both")
    counted = {one for one in same if is_counted(rows_a[one]) and is_counted(rows_b[one])}
    ids = tuple(sorted(counted))
    if not ids:
        raise UsageError(f"{a.name} and {b.name}: no entry of both counts, nothing to compare")
    table_a, table_b = tables.of(a, ids), tables.of(b, ids)
    left_out = {
        name: reason
        for name in _names(a.card, b.card, table_a, table_b)
        if tables.wants(name) and (reason := _why_not(name, a, b, table_a, table_b)) is not None
    }
    return Pair(
        a,
        b,
        ids,
        tuple(rows_a[one] for one in ids),
        tuple(rows_b[one] for one in ids),
        {name: one for name, one in table_a.metrics.items() if _is_common(name, left_out, table_b)},
        table_a.statistics,
        table_b.statistics,
        left_out,
        tuple(_warnings(a, b)),
        _excluded(a, b, rows_a, rows_b, len(same), len(ids)),
    )


def make_sides(cards: Iterable[tuple[str, Mapping[str, Json]]]) -> list[Side]:
    """Return cards, given with the files they are from, as systems A, B, C and so on."""
    return [
        Side(chr(ord("A") + at) if at < 26 else f"S{at + 1}", card, where)
        for at, (where, card) in enumerate(cards)
    ]


def suite_of(card: Card) -> str:
    """Return which suite a card is of, for people."""
    dataset = card["dataset"]
    version = f" {dataset['version']}" if dataset["version"] else ""
    return f"{dataset['id']}{version} (content {dataset['content_sha256'][:8]})"


def _problems(
    a: Side,
    b: Side,
    rows_a: Mapping[str, Row],
    rows_b: Mapping[str, Row],
    same: Collection[str],
) -> Iterator[str]:
    """Yield what keeps two cards from being compared as they are."""
    both = f"{a.name} and {b.name}"
    if a.card["kind"] != b.card["kind"]:
        # Not even their rows mean the same.
        raise UsageError(
            f"{both} are of different kinds: {shown(a.card['kind'])}, {shown(b.card['kind'])}"
        )
    datasets = (a.card["dataset"], b.card["dataset"])
    if datasets[0]["content_sha256"] != datasets[1]["content_sha256"]:
        yield f"{both} are of different suites: {suite_of(a.card)}, {suite_of(b.card)}"
    pairs = [_pair_of(one) for one in datasets]
    if pairs[0] != pairs[1]:
        yield f"{both} are of different language pairs: {pairs[0]}, {pairs[1]}"
    for side in (a, b):
        selection = side.card["selection"]
        if not side.card["complete"]:
            have = f"{selection['n_rows']} of {selection['n_selected']} entries"
            yield f"{side.name} is incomplete: {have}"
    only = [[one for one in x if one not in y] for x, y in ((rows_a, rows_b), (rows_b, rows_a))]
    if any(only):
        parts = [
            f"{len(ids)} only in {side.letter} ({some(ids, 4)})"
            for side, ids in zip((a, b), only, strict=True)
            if ids
        ]
        yield f"{both} are of different entries: {', '.join(parts)}"
    changed = [one for one in rows_a if one in rows_b and one not in same]
    if changed:
        yield f"{both} have different sources or references of {some(changed, 4)}"


def _pair_of(dataset: Mapping[str, Any]) -> str:
    named = dataset["languages"]
    sides = [named[f"{side}_code"] or named[f"{side}_name"] or "?" for side in ("source", "target")]
    return ">".join(sides)


def _by_id(side: Side) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for row in side.card["results"]:
        if row["entry_id"] in rows:
            raise UsageError(
                f"{side.name}: entry {shown(row['entry_id'])} comes twice; mt-eval verify shows "
                "what else is wrong"
            )
        rows[row["entry_id"]] = row
    return rows


def _text(row: Row) -> tuple[Json, list[str]]:
    return row.get("source"), row_references(row)


def _excluded(
    a: Side,
    b: Side,
    rows_a: Mapping[str, Row],
    rows_b: Mapping[str, Row],
    same: int,
    counted: int,
) -> str | None:
    common = sum(one in rows_b for one in rows_a)
    counts = {
        f"only in {a.letter}": len(rows_a) - common,
        f"only in {b.letter}": len(rows_b) - common,
        "with another source or other references": common - same,
        "that do not count (invalid, or without a reference)": same - counted,
    }
    return ", ".join(f"{count} {words}" for words, count in counts.items() if count) or None


def _warnings(a: Side, b: Side) -> Iterator[str]:
    for side in (a, b):
        if not side.is_fresh and (broken := check_seal(side.card)):
            yield f"{side.name}: its seal does not hold: {broken[0]}"
    if a.card["run_id"] == b.card["run_id"]:
        yield f"{a.letter} and {b.letter} are one and the same run"


# -- metrics --------------------------------------------------------------------------------


def _names(a: Card, b: Card, *tables: Table) -> list[str]:
    """Return the scores that either card has a signature of, or its rows a statistic."""
    names = [*tables[0].metrics, *tables[1].metrics]
    names += [name for card in (a, b) for name in card["signatures"] if name not in _NO_SCORES]
    return list(dict.fromkeys(names))


def _as_stored(metric: Metric, card: Card) -> Metric:
    """Return a metric that is not installed here with what the card says of it."""
    about = card["metrics"].get(metric.id) or {}
    known = {key: about[key] for key in ("title", "role") if isinstance(about.get(key), str)}
    direction = card["directions"].get(metric.id, metric.direction)
    assert isinstance(metric, MeanMetric)
    return replace(metric, direction=direction, **known)


def _is_common(name: str, left_out: Collection[str], table: Table) -> bool:
    return name not in left_out and name in table.metrics


def _why_not(name: str, a: Side, b: Side, table_a: Table, table_b: Table) -> str | None:
    """Return why a metric of two cards cannot be compared; None when it can."""
    for side, table in ((a, table_a), (b, table_b)):
        if name not in side.card["signatures"] and name not in table.metrics:
            why = side.card["metric_availability"].get(name, "it was not scored")
            return f"no value in {side.letter}: {why}"
    if differs := next(_scoring_differences(name, a, b), None):
        return differs
    for side, table in ((a, table_a), (b, table_b)):
        if name not in table.metrics:
            return f"it cannot be computed again from the rows of {side.letter}"
    if table_a.statistics[name].shape[1] != table_b.statistics[name].shape[1]:
        return "its statistics in the rows are of different forms"
    return None


def _scoring_differences(name: str, a: Side, b: Side) -> Iterator[str]:
    """Yield in what two cards scored a metric differently."""
    one, other = a.card, b.card

    def told(what: str, mine: Json, theirs: Json) -> str:
        mine, theirs = (
            value if isinstance(value, str) else shown(value) for value in (mine, theirs)
        )
        again = "mt-eval test scores both alike"
        return f"{what}{mine} in {a.letter}, {theirs} in {b.letter}; {again}"

    forms = [card["config"]["normalization"] for card in (one, other)]
    if forms[0] != forms[1]:
        yield told("normalization ", *forms)
    signed = [_pieces(card["signatures"].get(name, "")) for card in (one, other)]
    if all(signed) and signed[0] != signed[1]:
        mine = [piece for piece in signed[0] if piece not in signed[1]]
        theirs = [piece for piece in signed[1] if piece not in signed[0]]
        yield told("", "|".join(mine) or "nothing", "|".join(theirs) or "nothing")
    versions = [(card["metrics"].get(name) or {}).get("version") for card in (one, other)]
    if None not in versions and versions[0] != versions[1]:
        yield told("version ", *versions)
    facts = [card["config"]["scoring"].get("resource_facts") or {} for card in (one, other)]
    for resource in RESOURCES_OF.get(name, ()):
        if facts[0].get(resource) != facts[1].get(resource):
            yield f"the resource {resource} differs; mt-eval test scores both with one"
    if name in MORE_IDS and _pair_of(one["dataset"]) != _pair_of(other["dataset"]):
        yield "the cards name the languages differently, and it hangs on them"
    fits = [_fit(card["detector_calibration"].get(name)) for card in (one, other)]
    if None not in fits and (line := next(differences("", fits[0], fits[1], "the other"), None)):
        words = line.replace(" in the card, ", f" in {a.letter}, ").removesuffix(" from the other")
        yield f"it was fitted to other references: {words.lstrip('.')} in {b.letter}"


def _pieces(signature: str) -> list[str]:
    """Return the parts of a signature; how many references there are is said by the entries."""
    return [piece for piece in signature.split("|") if not _REFERENCES.fullmatch(piece)]


def _fit(calibration: Mapping[str, Json] | None) -> Json:
    return None if calibration is None else calibration.get("fit")
