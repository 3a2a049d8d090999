"""What a report of another harness says of its scores, computed again from its entries.

The harness that wrote the reports draws its intervals by the documented rule, from the entries
without an error; its composite is made of chrF++ and exact match alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_mtarena.errors import CardError
from pytest_mtarena.protocols import Statistics
from pytest_mtarena.records import Json
from pytest_mtarena.referee.stats.bootstrap import SEED, interval, replicate
from pytest_mtarena.referee.translation import TranslationReferee
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.rescore import Changes, Source, fresh_referee

_SCORES = {
    "corpus_chrf": ("chrf_plus_plus", 2),
    "corpus_bleu": ("bleu", 2),
    "corpus_ter": ("ter", 2),
    "exact_match_rate": ("exact_match_rate", 4),
    "avg_length_ratio": ("length_ratio", 4),
}
"""Key of a report's ``overall`` to the metric and its decimals."""

_PARTS = ("chrf_plus_plus", "exact_match_rate")
_METRICS = ("chrf_plus_plus", "bleu", "ter", "exact_match_rate", "length_ratio")
_FIELDS = (
    *("score", "ci_lower", "ci_upper", "ci_width", "n_bootstrap", "confidence_level"),
    *("n_entries", "seed"),
)


@dataclass
class Reported:
    """What became of the figures of a report."""

    equal: int = 0
    differences: list[str] = field(default_factory=list)
    """``overall.corpus_chrf: 61.2 in the report, 60.9 from its entries``."""


def check_report(source: Source, report: Mapping[str, Json], registry: Registry) -> Reported:
    """Compute every score and interval of a report again, and compare to the last digit.

    BLEU is taken with tokenizer 13a and TER without Asian support, as the harness has them.
    Raises CardError for a report without scores.
    """
    overall = report.get("overall")
    if not isinstance(overall, Mapping):
        raise CardError(f"{source.where}: it has no scores to check (no overall)")
    changes = Changes(metrics=_METRICS, bleu_tokenize="13a", ter_asian="no")
    referee = fresh_referee(source, registry, changes)
    assert isinstance(referee, TranslationReferee)
    rows = [row for row in source.card["results"] if row["status"] == "ok"]
    table = referee.table(rows)
    counted = [row for row in rows if row.get("reference")]
    found = Reported()
    for key, (name, digits) in _SCORES.items():
        if isinstance(overall.get(key), int | float):
            value = float(table.metrics[name].score(table.statistics[name].sum(axis=0)[None])[0])
            _compare(found, f"overall.{key}", overall[key], round(value, digits))
    stored = overall.get("confidence_intervals") or {}
    _intervals(found, "confidence_intervals", stored, table.metrics, table.statistics, SEED)
    tiers: Mapping[str, Any] = overall.get("confidence_intervals_by_tier") or {}
    for tier, blocks in tiers.items():
        places = [i for i, row in enumerate(counted) if str(row.get("difficulty")) == tier]
        part = {name: rows_of[places] for name, rows_of in table.statistics.items()}
        where = f"confidence_intervals_by_tier.{tier}"
        _intervals(found, where, blocks, table.metrics, part, SEED + int(tier))
    return found


def _intervals(
    found: Reported,
    where: str,
    stored: Mapping[str, Any],
    metrics: Mapping[str, Any],
    statistics: Mapping[str, Statistics],
    seed: int,
) -> None:
    if not stored:
        return
    count = max(int(block.get("n_bootstrap") or 0) for block in stored.values())
    drawn = replicate(list(metrics.values()), statistics, replicates=count, seed=seed)
    for key, block in stored.items():
        name = "composite" if key == "composite_score" else _SCORES.get(key, ("", 0))[0]
        if name == "composite":
            scores = _composite(*(drawn.scores[one] for one in _PARTS))
            parts = (np.array([drawn.observed[one] or 0.0]) for one in _PARTS)
            score: float | None = float(_composite(*parts)[0])
            n = len(statistics["chrf_plus_plus"])
        elif name in drawn.scores:
            scores, score, n = drawn.scores[name], drawn.observed[name], drawn.n_entries[name]
        else:
            found.differences.append(f"{where}.{key}: cannot be computed from the entries")
            continue
        mine = interval(scores, score, n, seed) or {}
        for name_of_field in _of(block):
            given = block[name_of_field]
            _compare(found, f"{where}.{key}.{name_of_field}", given, mine.get(name_of_field))


def _composite(
    chrf: npt.NDArray[np.float64], exact: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the composite of the reports, which are made of composites of four decimals."""
    return np.round((0.25 * (chrf / 100) + 0.10 * exact) / (0.25 + 0.10), 4)


def _of(block: Mapping[str, Json]) -> Iterator[str]:
    return (name for name in _FIELDS if name in block)


def _compare(found: Reported, where: str, given: Json, computed: Json) -> None:
    if given == computed:
        found.equal += 1
    else:
        found.differences.append(f"{where}: {given} in the report, {computed} from its entries")


def check_all(checked: Sequence[tuple[str, Reported]]) -> list[str]:
    """Return the lines for people: a line a file, its differences, and the sum."""
    lines = []
    for name, found in checked:
        wrong = len(found.differences)
        lines.append(f"{name}: {found.equal} figures equal, {wrong} different")
        lines += [f"  {line}" for line in found.differences[:20]]
        if wrong > 20:
            lines.append(f"  and {wrong - 20} more")
    equal = sum(found.equal for _, found in checked)
    wrong = sum(len(found.differences) for _, found in checked)
    reports = "1 report" if len(checked) == 1 else f"{len(checked)} reports"
    return [*lines, f"{reports}: {equal} figures equal, {wrong} different"]
