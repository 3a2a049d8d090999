"""Gates: limits that the scores of a run must keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def missed_gates(card: Mapping[str, Any], limits: Iterable[tuple[str, float]]) -> list[str]:
    """Return one line per ``--mt-fail-under`` that a card misses."""
    missed = []
    for metric, limit in limits:
        value = card["scores"].get(metric)
        lower_is_better = card["directions"].get(metric) == "lower"
        wanted = "at most" if lower_is_better else "at least"
        if not isinstance(value, int | float):
            why = card["metric_availability"].get(metric, "it has no value")
            missed.append(f"gate: {metric} is unknown, {wanted} {limit:g} is asked for: {why}")
        elif (value > limit) if lower_is_better else (value < limit):
            missed.append(f"gate: {metric} {value:g}, {wanted} {limit:g} is asked for")
    return missed


def gate_problem(directions: Mapping[str, str], limits: Iterable[tuple[str, float]]) -> str | None:
    """Return why one of the limits cannot be a gate of these scores; None when all can."""
    for metric, _ in limits:
        if metric not in directions:
            have = ", ".join(sorted(directions))
            return f"{metric}: there is no such score (there are: {have})"
        if directions[metric] == "target":
            return (
                f"{metric}: it is best at a target, so no limit on one side can say how good it is"
            )
    return None
