"""Consistency of what repeats: segments, terms, references that vary, and flat memory."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Metric, MetricInput, Whole
from pytest_mtarena.records import Resources
from pytest_mtarena.referee.metrics.consistency import Consistency, make
from pytest_mtarena.referee.setting import Setting


def entries(*triples):
    return [
        MetricInput(id=str(i), source=source, output=output, references=(reference,))
        for i, (source, reference, output) in enumerate(triples)
    ]


def rows_of(*triples, metric=None):
    rows = (metric or Consistency()).statistics_of_all(iter(entries(*triples)))
    return [None if np.isnan(row[0]) else tuple(row) for row in rows]


def test_the_share_of_the_most_frequent_target():
    rows = rows_of(
        ("Save", "Gardar", "Gardar"),
        (" save ", "Gardar", "gardar"),
        ("SAVE", "Gardar", "Salvar"),
        ("Open", "Abrir", "Abrir"),
    )
    assert rows == [(1, 1), (1, 1), (0, 1), None]
    metric = Consistency()
    assert metric.score(np.array([[2.0, 3.0], [0.0, 0.0]]))[0] == pytest.approx(2 / 3)
    assert np.isnan(metric.score(np.array([[0.0, 0.0]]))[0])


def test_nothing_repeats():
    assert rows_of(("a", "x", "x"), ("b", "y", "y")) == [None, None]
    assert Consistency().statistics_of_all([]).shape == (0, 2)


def test_unicode_forms_are_one():
    assert rows_of(("cafe\u0301", "x", "x"), ("caf\u00e9", "x", "x")) == [(1, 1), (1, 1)]


def test_blank_outputs_agree_with_nothing():
    assert rows_of(("a", "x", ""), ("a", "x", " "), ("a", "x", "x")) == [(0, 1), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("references", "outputs", "agree"),
    [
        ("AAB", "xxy", 3),
        ("AAB", "xxx", 3),
        ("AABB", "xxxy", 3),
        ("AAAA", "xxyy", 2),
        ("AB", "xy", 2),
        ("AABB", "xyxy", 2),
        ("AABBCC", "xxxxyy", 4),
    ],
)
def test_outputs_may_vary_as_the_references_do(references, outputs, agree):
    rows = rows_of(*(("s", one, other) for one, other in zip(references, outputs, strict=True)))
    assert sum(row[0] for row in rows) == agree


@pytest.fixture
def with_glossary(tmp_path):
    path = tmp_path / "g.json"
    path.write_text(json.dumps({"file": ["ficheiro", "arquivo"], "page": "páxina"}))
    (made,) = make(Setting(resources=Resources(glossary=path)))
    assert isinstance(made, Consistency)
    return made


def test_terms_are_compared_across_sources(with_glossary):
    rows = rows_of(
        ("a file", "r", "un ficheiro"),
        ("the file", "r", "os ficheiros"),
        ("file it", "r", "arquivo"),
        ("no file", "r", "nada"),
        ("one page", "r", "páxina"),
        ("file?", "r", ""),
        metric=with_glossary,
    )
    assert rows == [(1, 1), (1, 1), (0, 1), (0, 1), None, (0, 1)]


def test_terms_and_segments_add_up(with_glossary):
    rows = rows_of(("file", "r", "ficheiro"), ("file", "r", "Ficheiro"), metric=with_glossary)
    assert rows == [(2, 2), (2, 2)]


def test_entries_may_bring_their_own_terms():
    made = [
        MetricInput(
            id=str(i), source=f"file {i}", output=out, references=("r",), fields={"terms": terms}
        )
        for i, (out, terms) in enumerate(
            [("ficheiro", {"file": "ficheiro"}), ("nada", {"file": "ficheiro"}), ("x", {"file": 3})]
        )
    ]
    rows = Consistency().statistics_of_all(made)
    assert rows[:2].tolist() == [[1, 1], [0, 1]]
    assert np.isnan(rows[2]).all()


def test_a_broken_file_is_an_error_of_the_run(tmp_path):
    made = Consistency(path=tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be read"):
        made.prepare()


def test_it_is_a_whole_metric_with_values():
    metric = Consistency()
    assert isinstance(metric, Whole)
    assert isinstance(metric, Metric)
    inputs = entries(("a", "x", "x"), ("a", "x", "y"), ("b", "x", "y"))
    rows = metric.statistics(inputs)
    assert metric.entry(inputs, rows) == [1.0, 0.0, None]
    assert metric.signature == "consistency_score|agrees/repeated|version:1"


def test_memory_does_not_hold_the_texts():
    def many():
        for i in range(2000):
            text = f"{i % 900} " + "word " * 400
            yield MetricInput(id=str(i), source=text, output=text, references=(text,))

    tracemalloc.start()
    rows = Consistency().statistics_of_all(many())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.nansum(rows[:, 0]) == 2000
    assert peak < 2_500_000, "the texts alone would be 12 MB"
