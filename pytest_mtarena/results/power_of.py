"""What the suite of a run card can see: the smallest difference that a test would find."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mtarena.errors import UsageError
from pytest_mtarena.referee.composite import ID as COMPOSITE
from pytest_mtarena.referee.inputs import is_counted
from pytest_mtarena.referee.scores import HEADLINE
from pytest_mtarena.referee.stats.bootstrap import SEED
from pytest_mtarena.referee.stats.paired import REPLICATES
from pytest_mtarena.referee.stats.power import Power, power_of
from pytest_mtarena.referee.stats.units import Units, units_of
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.comparing import check_metric
from pytest_mtarena.results.composites import with_composite
from pytest_mtarena.results.pairing import Side, Tables, pair


def power_of_cards(
    sides: Sequence[Side],
    registry: Registry,
    metrics: Sequence[str] = (),
    *,
    shared: bool = False,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> tuple[Units, list[Power]]:
    """Return what the entries of one card, or of two together, can see by each metric.

    Without ``metrics`` that is chrF++, or the card's headline. Two cards are measured; from one
    it is estimated, see ``alone_se``. Raises UsageError for a metric that has no value here, and
    for two cards that cannot be compared.
    """
    if not 1 <= len(sides) <= 2:
        raise UsageError("power takes one run card or two")
    wanted = None if COMPOSITE in metrics else (metrics or [HEADLINE, _headline(sides[0])])
    tables = Tables(registry, wanted)
    if len(sides) == 1:
        return _alone(sides[0], tables, metrics, replicates, seed)
    both = with_composite(pair(sides[0], sides[1], tables, shared=shared))
    names = list(metrics) or [HEADLINE if HEADLINE in both.metrics else _headline(sides[0])]
    for name in names:
        check_metric(name, [both])
    units = units_of(both.rows_a)
    return units, [
        power_of(
            both.metrics[name],
            both.statistics_a[name],
            both.statistics_b[name],
            clusters=units.labels,
            resamples=replicates,
            seed=seed,
        )
        for name in names
    ]


def _alone(
    side: Side, tables: Tables, metrics: Sequence[str], replicates: int, seed: int
) -> tuple[Units, list[Power]]:
    rows = sorted(filter(is_counted, side.card["results"]), key=lambda row: row["entry_id"])
    if not rows:
        raise UsageError(f"{side.name}: no entry counts, there is nothing to say")
    table = tables.of(side, tuple(row["entry_id"] for row in rows))
    names = list(metrics) or [HEADLINE if HEADLINE in table.metrics else _headline(side)]
    for name in names:
        if name not in table.metrics:
            reason = side.card["metric_availability"].get(name)
            known = f"there is no such metric (there are: {', '.join(table.metrics)})"
            if name == COMPOSITE:
                reason = "give two cards: one alone does not say how its metrics go together"
            raise UsageError(f"{name} of {side.name}: {reason or known}")
    units = units_of(rows)
    return units, [
        power_of(
            table.metrics[name],
            table.statistics[name],
            clusters=units.labels,
            resamples=replicates,
            seed=seed,
        )
        for name in names
    ]


def _headline(side: Side) -> str:
    return str(side.card["headline"] or HEADLINE)
