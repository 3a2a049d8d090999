"""The statistics of all counted rows of a run, one array a metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pytest_mtarena.protocols import Metric, MetricInput, Statistics, Whole
from pytest_mtarena.records import Json
from pytest_mtarena.referee.inputs import UNKNOWN, Languages, row_input
from pytest_mtarena.referee.metrics.ids import IDS
from pytest_mtarena.referee.normalization import Normalization
from pytest_mtarena.referee.stats.rows import StatisticsRows

_CHUNK = 256

Given = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Table:
    """Statistics by metric, one row for each counted row of the run."""

    metrics: dict[str, Metric]
    """The metrics in the order of the report."""
    statistics: dict[str, Statistics]
    """Metric id to an array (n, width), NaN rows where an entry has no value."""
    stored: tuple[str, ...]
    """Metrics that are not installed: their values are those of the rows."""
    faults: Mapping[str, str] = field(default_factory=dict)
    """Metric id to what went wrong while it looked at all entries."""


def make_table(
    rows: Sequence[Mapping[str, Json]],
    given: Sequence[Given] | None,
    places: Sequence[int],
    metrics: Mapping[str, Metric],
    form: Normalization,
    *,
    stored: Sequence[str] = (),
    kept: Collection[str] = (),
    own: Collection[str] = (),
    languages: Languages = UNKNOWN,
) -> Table:
    """Return the statistics of counted rows: those given, else computed again from the texts.

    ``places`` are the places of the rows in ``given``. A row without the statistics of a string
    metric is computed again. Of the metrics in ``kept`` the rows hold the statistics; those in
    ``own`` are not shown failed attempts.
    """
    # numpy is a tenth of a second at the start, which a run without metrics does without.
    import numpy as np

    from pytest_mtarena.referee.judging import judge, judge_all
    from pytest_mtarena.referee.metrics.base import mean_metric

    whole = [name for name, metric in metrics.items() if isinstance(metric, Whole)]
    texts = {name: one for name, one in metrics.items() if name not in kept and name not in whole}
    if given is None:
        todo = list(range(len(rows)))
        known = StatisticsRows([{}] * len(rows))
        places = todo
    else:
        known = given if isinstance(given, StatisticsRows) else StatisticsRows(given)
        todo = known.lacking([name for name in texts if name in IDS], places)
    statistics = {name: known.table(name, places) for name in texts}
    for name in texts if todo else ():
        statistics[name] = statistics[name].copy()
        statistics[name][todo] = np.nan
    for start in range(0, len(todo), _CHUNK):
        chunk = todo[start : start + _CHUNK]
        inputs = [row_input(rows[i], form, languages) for i in chunk]
        for name, metric in texts.items():
            _put(statistics, name, chunk, judge(metric, inputs).rows, len(rows))
    for name in kept:
        held = {i: one for i, row in enumerate(rows) if (one := _held(row, name)) is not None}
        statistics[name] = _filled(len(rows), held)
    failed = [i for i in todo if rows[i]["status"] != "ok"] if own else []
    for name in own if failed else ():
        if name in texts:
            statistics[name][failed] = np.nan
    faults: dict[str, str] = {}
    for name in whole:
        metric = metrics[name]
        assert isinstance(metric, Whole)
        inputs_of_all = (row_input(row, form, languages) for row in rows)
        statistics[name], broken = judge_all(metric, inputs_of_all, len(rows))
        if broken is not None:
            faults[name] = broken
    every = dict(metrics)
    for name in stored:
        every[name] = mean_metric(name, _never, scale="as stored")
        values = {i: value for i, row in enumerate(rows) if (value := _stored(row, name))}
        statistics[name] = _filled(len(rows), values)
    return Table(every, statistics, tuple(stored), faults)


def stored_metrics(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the ids of the contributed metrics that the rows hold values of."""
    found: dict[str, None] = {}
    for row in rows:
        found.update(dict.fromkeys(row.get("plugin_metrics") or ()))
    return list(found)


def _filled(n: int, held: Mapping[int, Sequence[float]]) -> Statistics:
    width = max(map(len, held.values()), default=1)
    import numpy as np

    table = np.full((n, width), np.nan)
    for i, values in held.items():
        if len(values) == width:
            table[i] = values
    return table


def _put(
    statistics: dict[str, Statistics], name: str, chunk: list[int], rows: Statistics, n: int
) -> None:
    import numpy as np

    width = rows.shape[1]
    if statistics[name].shape[1] < width:
        # Until now no entry had a value, so that nothing is lost.
        statistics[name] = np.full((n, width), np.nan)
    if statistics[name].shape[1] == width:
        statistics[name][chunk] = rows


def _held(row: Mapping[str, Json], name: str) -> Sequence[float] | None:
    return cast("Sequence[float] | None", (row.get("metric_statistics") or {}).get(name))


def _stored(row: Mapping[str, Json], name: str) -> tuple[float, float] | None:
    value = cast("float | None", (row.get("plugin_metrics") or {}).get(name))
    return None if value is None else (float(value), 1.0)


def _never(_: MetricInput) -> float | None:
    return None
