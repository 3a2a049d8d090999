"""A run card against the card of an earlier run: has it got worse, and where?

This is for a session that shall be red when it has: a gate is a drop of a score that is larger
than allowed, or a difference that a test finds. Everything is said of the entries that both cards
have, scored again from their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_mtarena.errors import ArenaError, UsageError
from pytest_mtarena.records import Json
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.comparing import (
    WORSE,
    Against,
    Entry,
    Plan,
    Result,
    compare_cards,
)
from pytest_mtarena.results.pairing import Side

WORST = 10
"""Entries that are named."""

_NEGLIGIBLE = 1e-9
"""What rounding makes of a drop: a limit of 0 allows as much."""


@dataclass(frozen=True)
class Verdict:
    """What became of a run, compared with its baseline."""

    missed: tuple[str, ...] = ()
    """A line for each gate that is missed, beginning with ``gate:``; empty when all hold."""
    worst: tuple[Entry, ...] = ()
    """The entries that got worst by the primary metric, the worst first, ten at most; of each
    ``value_a`` and ``output_a`` are those of then, ``value_b`` and ``output_b`` those of now."""
    n_worse: int = 0
    """How many entries got worse."""
    problem: str | None = None
    """Why the two cards cannot be compared, naming what differs; then nothing else is known."""
    warnings: tuple[str, ...] = ()
    """What to know of the comparison, one line each: a broken seal, a metric in place of
    another."""
    primary: Result | None = None
    """What the primary metric says: scores then (a) and now (b), interval, p-value, verdict."""
    line: str | None = None
    """The primary metric then and now, for people."""


def against(
    card: Mapping[str, Json],
    baseline: Mapping[str, Json],
    registry: Registry,
    *,
    primary: str | None = None,
    max_drops: Mapping[str, float] | None = None,
    significant: bool = False,
    where: str = "",
) -> Verdict:
    """Return whether a run is worse than its baseline.

    ``primary`` is the metric that decides (None: chrF++, or what there is in its place).
    ``max_drops`` says by how much each metric may get worse, on its own scale and in its own
    direction; a metric that cannot be compared is a gate that is missed. With ``significant`` a
    gate is missed when the primary metric is significantly worse. ``where`` is the file of the
    baseline, for messages. Nothing is raised for what the cards hold.
    """
    drops = dict(max_drops or {})
    a, b = Side("baseline", baseline, where), Side("now", card, is_fresh=True)
    try:
        found = _found(a, b, registry, primary, tuple(drops))
    except ArenaError as error:
        return Verdict(problem=" ".join(str(error).split()))
    missed = [line for name, drop in drops.items() if (line := _dropped(found, name, drop))]
    if significant and (line := _worse(found.primary)):
        missed.append(line)
    lost = found.lost
    return Verdict(
        missed=tuple(missed),
        worst=tuple(lost[:WORST]),
        n_worse=len(lost),
        warnings=(*found.pair.warnings, *found.notes),
        primary=found.primary,
        line=_line(found.primary),
    )


def drop_problem(directions: Mapping[str, str], drops: Sequence[str]) -> str | None:
    """Return why one of these metrics cannot have a limit to its drop; None when all can."""
    for name in drops:
        if name not in directions:
            have = ", ".join(sorted(directions))
            return f"{name}: there is no such score (there are: {have})"
        if directions[name] == "target":
            return f"{name}: it is best at a target, so that it neither rises nor drops"
    return None


def _found(
    a: Side, b: Side, registry: Registry, primary: str | None, others: tuple[str, ...]
) -> Against:
    """Compare by what is needed; only when chrF++ cannot decide is everything looked at."""
    try:
        plan = Plan(primary=primary, metrics=others, can_share=False, power=False)
        [found] = compare_cards([a, b], registry, plan)
    except UsageError:
        if primary is not None:
            raise
        [found] = compare_cards([a, b], registry, Plan(can_share=False, power=False))
    return found


def _dropped(found: Against, name: str, limit: float) -> str | None:
    """Return the line of a gate that a drop misses; None when it holds."""
    one = next((result for result in found.results if result.id == name), None)
    if one is None or one.difference is None or one.score_a is None or one.score_b is None:
        reason = found.left_out.get(name, "there is no such metric")
        return f"gate: {name} cannot be compared with the baseline: {reason}"
    if one.direction == "target":
        return f"gate: {name} is best at a target, so that it neither rises nor drops"
    drop = one.difference if one.direction == "lower" else -one.difference
    if drop <= limit + _NEGLIGIBLE:
        return None
    return (
        f"gate: {one.title} {_then_and_now(one)}, {_number(drop, one)} worse, "
        f"at most {limit:g} is allowed{_p_value(one)}"
    )


def _worse(one: Result) -> str | None:
    if one.verdict != WORSE or one.test is None:
        return None
    return (
        f"gate: {one.title} is significantly worse than the baseline: {_then_and_now(one)}"
        f"{_p_value(one)} (alpha {one.test.alpha:g})"
    )


def _line(one: Result) -> str:
    if one.difference is None or one.test is None:
        return f"{one.title}: not compared with the baseline: {one.reason}"
    interval = ""
    if one.test.ci_lower is not None and one.test.ci_upper is not None:
        ends = (f"{end:+.{one.decimals}f}" for end in (one.test.ci_lower, one.test.ci_upper))
        interval = f" [{', '.join(ends)}]"
    change = f"{one.difference:+.{one.decimals}f}{interval}"
    verdict = f"  {one.verdict}" if one.verdict else ""
    return f"{one.title} {_then_and_now(one)}: {change}{_p_value(one)}{verdict}"


def _then_and_now(one: Result) -> str:
    assert one.score_a is not None
    assert one.score_b is not None
    return f"{_number(one.score_a, one)} then, {_number(one.score_b, one)} now"


def _number(value: float, one: Result) -> str:
    return f"{value:.{one.decimals}f}"


def _p_value(one: Result) -> str:
    if one.test is None or one.test.p_value is None:
        return ""
    p_value = one.test.p_value
    return f", p = {p_value:.4f}" if p_value >= 0.00005 else ", p < 0.0001"
