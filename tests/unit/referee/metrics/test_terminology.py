"""Terminology adherence: what counts, what is told, and where terms come from."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import MetricInput
from pytest_mtarena.records import Resources
from pytest_mtarena.referee.metrics.terminology import TerminologyAdherence, make, terms_for_row
from pytest_mtarena.referee.setting import Setting


@pytest.fixture
def metric(tmp_path):
    path = tmp_path / "g.json"
    terms = {"file": {"accept": ["ficheiro"], "forbid": ["fichero"]}, "page": "páxina"}
    path.write_text(json.dumps(terms))
    (made,) = make(Setting(resources=Resources(glossary=path)))
    assert isinstance(made, TerminologyAdherence)
    return made


def entry(source, output, **fields):
    return MetricInput(id="e", source=source, output=output, references=("r",), fields=fields)


def test_the_rate_is_over_occurrences(metric):
    inputs = [
        entry("file, file, page", "ficheiro e páxinas"),
        entry("Page", "páxina"),
        entry("nothing", "nada"),
        entry("file", ""),
    ]
    found = metric.examine(inputs)
    assert [one.statistics for one in found] == [(2, 3, 0), (1, 1, 0), None, (0, 1, 0)]
    assert found[2].reason == "no term of the glossary in the source"
    rows = metric.statistics(inputs)
    assert metric.score(rows[[0, 1, 3]].sum(axis=0)[None])[0] == pytest.approx(3 / 5)
    assert found[1].evidence is None
    assert found[0].evidence == {
        "missed": [{"term": "file", "expected": ["ficheiro"], "occurrences": 2, "kept": 1}]
    }


def test_what_is_forbidden_is_named(metric):
    (found,) = metric.examine([entry("file", "o ficheiro, os ficheros")])
    assert found.statistics == (0, 1, 1)
    assert found.evidence["forbidden"] == [{"term": "file", "found": "fichero"}]


def test_entries_may_bring_their_own_terms(metric):
    own = entry("file", "arquivo", glossary={"File": "arquivo"})
    (found,) = metric.examine([own])
    assert found.value == 1
    (alone,) = make(Setting())
    assert isinstance(alone, TerminologyAdherence)
    without, bad = entry("file", "arquivo"), entry("file", "x", terms={"file": 3})
    first, second, third = alone.examine([own, without, bad])
    assert first.value == 1
    assert second.reason == "needs --mt-glossary PATH, or entries with a glossary"
    assert (third.reason or "").startswith("the entry's glossary: the term 'file' needs a target")


def test_the_terms_that_count_travel_with_the_row(metric):
    assert metric.reproducible
    (alone,) = make(Setting())
    assert isinstance(alone, TerminologyAdherence)
    assert alone.missing is None
    for one in (entry("file and page", "ficheiro"), entry("nothing", "nada")):
        terms = terms_for_row(one, metric.path)
        later = one.model_copy(update={"fields": {"glossary": terms}})
        assert alone.examine([later]) == metric.examine([one])
    assert terms_for_row(entry("file", "x", terms={"file": 3}), metric.path) is None


def test_a_broken_file_is_an_error_of_the_run(tmp_path):
    path = tmp_path / "g.json"
    (made,) = make(Setting(resources=Resources(glossary=path)))
    assert isinstance(made, TerminologyAdherence)
    for call in (made.prepare, lambda: made.examine([entry("a", "b")]), lambda: made.calibrate([])):
        with pytest.raises(UsageError, match="cannot be read"):
            call()


def test_references_show_what_the_glossary_is_worth(metric):
    gold = [entry("file", "ficheiro"), entry("page", "folla"), entry("x", "y")]
    fitted, found = metric.calibrate(gold)
    assert fitted is metric.restore(found)
    assert (found.n, found.rate) == (3, 0.5)
    assert found.facts == {"kept": 1, "occurrences": 2, "forbidden": 0, "entries": 2}
    assert metric.calibrate([])[1].rate is None
