"""The composite of the documented card: a weighted mean of the metrics that have a value.

A heuristic, never validated: it is no headline, no gate unless somebody asks for it by name, and
comparable only between runs of equal coverage, which is why the coverage stands beside it. Its
interval is that of this very function of the resampled scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_mtarena.records import Json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ID = "composite"

PROFILES: Mapping[str, Mapping[str, float]] = {
    "A": {
        "fst_acceptance_rate": 0.25,
        "morphological_accuracy": 0.15,
        "chrf_plus_plus": 0.15,
        "semantic_score": 0.15,
        "equivalent_match_rate": 0.10,
        "code_switching_rate": 0.05,
        "terminology_adherence": 0.05,
        "hallucination_rate": 0.05,
        "exact_match_rate": 0.05,
    },
    "B": {
        "semantic_score": 0.25,
        "chrf_plus_plus": 0.25,
        "equivalent_match_rate": 0.15,
        "exact_match_rate": 0.10,
        "code_switching_rate": 0.10,
        "terminology_adherence": 0.05,
        "hallucination_rate": 0.05,
        "orthographic_accuracy": 0.05,
    },
}
"""Profile to metric to weight; A where an analyser judges the words, B elsewhere."""

_HUNDREDS = frozenset({"chrf_plus_plus"})
FAULTS = frozenset({"code_switching_rate", "hallucination_rate"})
"""Rates of faults: they count as what is left of 1."""

TIERS = ((0.85, "fluent"), (0.70, "deployable"), (0.50, "functional"), (0.30, "emerging"))
"""Lower bound and name; what is below all of them is ``baseline``."""

NO_METRIC = "no metric of the composite has a value"
COST_UNIT_USD = 0.001
"""The cost of an entry at which ``cost_adjusted`` is half the composite."""


def weights_of(scores: Mapping[str, Json]) -> tuple[str, dict[str, float]]:
    """Return the profile, and the weights of its metrics that have a value, summing to 1."""
    profile = "B" if scores.get("fst_acceptance_rate") is None else "A"
    known = {
        name: weight for name, weight in PROFILES[profile].items() if scores.get(name) is not None
    }
    whole = math.fsum(known.values())
    return profile, {name: weight / whole for name, weight in known.items()}


def composite(
    values: Mapping[str, npt.NDArray[np.float64]], weights: Mapping[str, float]
) -> npt.NDArray[np.float64]:
    """Return the composite (0-1) of metric values of equal shape, on the metrics' own scales."""
    import numpy as np

    parts = [weight * _unit(name, values[name]) for name, weight in weights.items()]
    return np.asarray(np.sum(parts, axis=0), np.float64)


def composite_of(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the composite of single values."""
    import numpy as np

    return float(composite({name: np.array(values[name]) for name in weights}, weights))


def coverage(profile: str, weights: Mapping[str, float]) -> dict[str, Json]:
    """Return what a composite is made of: it compares with others of the same coverage only."""
    whole = PROFILES[profile]
    return {
        "profile": profile,
        "weights": {name: round(weight, 4) for name, weight in weights.items()},
        "absent": [name for name in whole if name not in weights],
        "share_of_profile": round(math.fsum(whole[name] for name in weights), 4),
        "label": "heuristic, not validated; compares with equal coverage only",
    }


def tier(value: float) -> str:
    """Return the documented name for a composite; a label of the heuristic, no certificate."""
    return next((name for bound, name in TIERS if value >= bound), "baseline")


def cost_adjusted(value: float, cost_per_entry_usd: float) -> float:
    """Return ``composite / (1 + log2(1 + cost / COST_UNIT_USD))``: never above the composite."""
    return value / (1 + math.log2(1 + cost_per_entry_usd / COST_UNIT_USD))


def _unit(name: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if name in _HUNDREDS:
        return values / 100
    return 1 - values if name in FAULTS else values
