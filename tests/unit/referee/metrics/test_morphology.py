"""How many words of the reference come back as the same form."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.protocols import Calibrating, Examining, Metric, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.analysers import Analysis, Reader
from pytest_mtarena.referee.metrics.morphology import (
    MorphologicalAccuracy,
    gold_analyses,
    make,
    pair,
)
from pytest_mtarena.referee.setting import Setting

WORDS = {
    "o": "o<det><m><sg>",
    "a": "o<det><f><sg> a<pr>",
    "gato": "gato<n><m><sg>",
    "gatos": "gato<n><m><pl>",
    "gata": "gato<n><f><sg>",
    "come": "comer<v><p3><sg> comer<v><imp>",
    "come!": "comer<v><imp>",
    "comen": "comer<v><p3><pl>",
    "casa": "casa<n><f><sg> casar<v><p3><sg>",
    "casan": "casar<v><p3><pl>",
    "l'": "o<det><m><sg>",
}


class Lexicon:
    def analyses(self, word: str) -> tuple[str, ...]:
        if word == "rompe":
            raise RuntimeError("broken transducer")
        return tuple(WORDS.get(word, "").split())


METRIC = MorphologicalAccuracy(reader=Reader(Lexicon(), "glg", union=True))


def one(output: str, *references: str, **fields: Any) -> MetricInput:
    return MetricInput(id="e", source="s", output=output, references=references, fields=fields)


def found(output: str, *references: str, **fields: Any) -> dict[str, float]:
    (finding,) = METRIC.examine([one(output, *references, **fields)])
    assert finding.statistics is not None, finding.reason
    return dict(zip(METRIC.columns, finding.statistics, strict=True))


def rate(output: str, *references: str, **fields: Any) -> float | None:
    return METRIC.examine([one(output, *references, **fields)])[0].value


def test_a_reference_scores_exactly_one():
    for text in ("O gato come.", "A casa, o gato xyz 42", "casa " * 6000):
        assert rate(text, text) == 1.0


def test_order_case_and_punctuation_do_not_matter():
    assert rate("come, o GATO!", "O gato come.") == 1.0


def test_the_right_lemma_in_a_wrong_inflection_does_not_agree():
    counted = found("o gatos comen", "O gato come.")
    assert (counted["agreeing_words"], counted["analysed_words"]) == (1, 3)
    assert counted["lemma_only"] == 2


def test_each_word_serves_once():
    assert rate("o gato", "o gato o gato") == 0.5
    assert found("gata", "gato gato")["lemma_only"] == 1


def test_an_ambiguous_word_agrees_with_any_of_its_analyses():
    assert rate("a casa", "a casa") == 1.0
    assert rate("casan", "casa") == 0.0


def test_words_that_are_not_known_are_left_out_and_counted():
    counted = found("o gato", "o gato zampa rompe {x} 42")
    assert (counted["agreeing_words"], counted["analysed_words"]) == (2, 2)
    assert counted["unanalysed_words"] == 2
    (finding,) = METRIC.examine([one("o gato", "zampa 42")])
    assert (finding.value, finding.statistics) == (None, None)
    assert finding.reason == "no word of the reference has an analysis"


def test_the_best_reference_counts():
    assert rate("o gato", "a casa", "O gato.", "xyz") == 1.0


def test_an_empty_output_misses_everything():
    counted = found("", "o gato come")
    assert (counted["agreeing_words"], counted["analysed_words"], counted["entries"]) == (0, 3, 1)


def test_joined_words_are_taken_singly():
    assert rate("o gato", "l'gato") == 1.0
    assert rate("l’casa", "l'gato") == 0.5


def test_a_gold_analysis_settles_what_is_meant():
    verb = [{"form": "casa", "lemma": "casar", "features": ["v", "p3", "sg"]}]
    assert rate("casan", "casa", gold_analysis=verb) == 0.0
    assert rate("casa", "casa", gold_analysis=verb) == 1.0
    assert rate("o gato", "o gato come", gold_analysis=["gato<n><m><sg>"]) == 1.0
    assert rate("o gato", "o gato come", gold_analysis="[]", analysis=["o<det><m><sg>"]) == 1.0


def test_gold_that_the_reference_does_not_have_is_left_out():
    gold = ["gato<n><m><sg>", "NOUN|whatever", "gato<n><f><sg>"]
    counted = found("gata", "O gato.", gold_analysis=gold)
    assert (counted["analysed_words"], counted["unanalysed_words"]) == (1, 2)
    assert rate("O gato.", "O gato.", gold_analysis=gold) == 1.0
    (finding,) = METRIC.examine([one("gata", "O gato.", gold_analysis=["NOUN"])])
    assert finding.reason == "the analyser finds nothing of the gold analysis in the reference"


@pytest.mark.parametrize(
    ("value", "lemma", "features"),
    [
        (["casa<n><f>"], "casa", {"n", "f"}),
        ('["casa<n><f>"]', "casa", {"n", "f"}),
        ([{"lemma": "casa", "features": ["n", "f"]}], "casa", {"n", "f"}),
        ([{"lemma": "casa", "features": "n|f"}], "casa", {"n", "f"}),
        ([{"lemma": "casa", "features": {"Gender": "Fem"}}], "casa", {"Gender=Fem"}),
        ([{"form": "x", "analyses": ["casa+N"]}], "casa", {"N"}),
        ([{"form": "x", "analysis": "casa+N"}], "casa", {"N"}),
    ],
)
def test_forms_of_a_gold_analysis(value, lemma, features):
    gold = gold_analyses({"gold_analysis": value})
    assert gold is not None
    assert gold.analyses == [(Analysis(lemma, frozenset(features)),)]


@pytest.mark.parametrize("value", [None, "a remark", 7, [], {"a": 1}])
def test_a_field_that_is_something_else_is_not_looked_at(value):
    assert gold_analyses({"analysis": value}) is None


@pytest.mark.parametrize("item", [7, {}, "", {"lemma": "x", "features": 7}, {"analyses": [7]}])
def test_an_item_that_cannot_be_read_costs_the_entry_with_a_reason(item):
    (finding,) = METRIC.examine([one("o gato", "o gato", gold_analysis=[item])])
    assert finding.value is None
    assert "gold_analysis" in str(finding.reason)


Lemmas = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True), max_size=6
)


def largest(left: list[list[str]], right: list[list[str]]) -> int:
    """The size of a largest pairing, by trying all."""
    if not left:
        return 0
    best = largest(left[1:], right)
    for index, each in enumerate(right):
        if set(each) & set(left[0]):
            best = max(best, 1 + largest(left[1:], right[:index] + right[index + 1 :]))
    return best


@given(Lemmas, Lemmas)
def test_the_pairing_is_a_largest_one(left, right):
    def made(side: list[list[str]]) -> list[tuple[Analysis, ...]]:
        return [tuple(Analysis(name, frozenset()) for name in each) for each in side]

    partner = pair(made(left), made(right))
    taken = [index for index in partner if index >= 0]
    assert len(taken) == len(set(taken)) == largest(left, right)
    for index, other in enumerate(partner):
        assert other < 0 or set(left[index]) & set(right[other])


def test_a_pairing_that_would_take_too_long_ends():
    left = [(Analysis("a", frozenset()), Analysis(str(n), frozenset())) for n in range(5000)]
    right = [(Analysis("a", frozenset()), Analysis(f"x{n}", frozenset())) for n in range(2500)]
    start = time.process_time()
    assert sum(index >= 0 for index in pair(left, right)) > 300
    assert time.process_time() - start < 1.5


def test_a_very_long_output_is_compared_in_part():
    start = time.process_time()
    assert found("zampa " * 300_000 + "gato", "o gato")["agreeing_words"] == 0
    assert found("gato " + "zampa " * 300_000, "o gato")["agreeing_words"] == 1
    assert time.process_time() - start < 10


def test_the_score_is_over_all_words():
    rows = METRIC.statistics([one("gato", "gato"), one("o", "o gato come"), one("o", "xyz")])
    sums = np.nansum(rows, axis=0)[None]
    assert METRIC.score(sums).tolist() == [0.5]


def test_the_evidence_names_what_is_missing():
    (finding,) = METRIC.examine([one("o gatos", "o gato come")])
    assert finding.evidence == {"missed": ["gato", "come"], "lemma_only": ["gato"]}
    (finding,) = METRIC.examine([one("o gato", "o gato")])
    assert finding.evidence is None
    (finding,) = METRIC.examine([one("", "gato " * 500)])
    assert len(json.dumps(finding.evidence)) < 5000


def test_it_is_calibrated_like_fst_acceptance():
    _, calibration = METRIC.calibrate([one("o gato zampa", "o gato zampa")])
    assert calibration.reason is not None
    assert calibration.reason.startswith("fst_reference_acceptance 0.66 is below 0.80: ")


def test_what_is_missing_is_told():
    (made,) = make(Setting())
    assert made.missing == "needs --mt-fst PATH"
    assert made.examine([one("o", "o")])[0].reason == made.missing
    assert isinstance(made, Metric)
    assert isinstance(made, Examining)
    assert isinstance(made, Calibrating)
    assert not made.reproducible


def analyser_of(path: Path, code: str) -> MorphologicalAccuracy:
    where = Setting(target=LanguageFacts(code=code), resources=Resources(fst=path))
    (made,) = make(where)
    assert isinstance(made, MorphologicalAccuracy)
    return made


def test_galician(galician):
    made = analyser_of(galician, "glg")
    reference = "A nena come unha mazá vermella."
    outputs = [reference, "As nenas comen mazás vermellas.", "O can dorme.", ""]
    values = [each.value for each in made.examine([one(text, reference) for text in outputs])]
    assert values[0] == 1.0
    assert all(value is not None and value <= 0.2 for value in values[1:])
    (plural,) = made.examine([one(outputs[1], reference)])
    assert set(plural.evidence["lemma_only"]) >= {"nena", "come", "mazá", "vermella"}


def test_a_tiny_language_in_giellalts_style(tiny):
    made = analyser_of(tiny, "tin")
    assert made.examine([one("Dor katam.", "Katam dor.")])[0].value == 1.0
    (wrong,) = made.examine([one("doril tam", "dor katam")])
    assert (wrong.value, wrong.statistics) == (0.0, (0.0, 2.0, 1.0, 2.0, 0.0))
