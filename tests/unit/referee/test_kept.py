"""Metrics whose resource is not here: what a stored card says of them is taken as it stands."""

from __future__ import annotations

import pytest

from pytest_mtarena.referee.translation import TranslationKind
from tests.unit.referee.translation_making import run_of

TRIPLES = tuple((f"source {i} here", f"giella {i} dáppe", f"giella {i}") for i in range(5))
REASON = "fst_reference_acceptance is 0.50, 0.80 is needed"


def with_refused_analyser():
    """A card of a run whose analyser did not know the words of the references."""
    card = run_of(*TRIPLES).card()
    card["config"]["scoring"]["resource_facts"] = {"fst": {"name": "x.hfstol", "sha256": ""}}
    card["detector_calibration"]["fst_acceptance_rate"] = {
        "n": 5,
        "rate": 0.5,
        "reason": REASON,
        "fit": {},
        "facts": {},
    }
    card["metric_availability"]["fst_acceptance_rate"] = REASON
    return card


def test_an_analyser_that_was_refused_is_refused_again():
    card = with_refused_analyser()
    report = TranslationKind().referee_for_card(card).score(card["results"])
    assert report.scores["fst_acceptance_rate"] is None
    assert report.availability["fst_acceptance_rate"] == REASON
    assert report.scores["fst_reference_acceptance"] == 0.5
    assert report.calibration["fst_acceptance_rate"]["reason"] == REASON
    assert "fst_acceptance_rate" not in report.signatures


@pytest.mark.parametrize(
    ("facts", "kept"), [({}, False), ({"fst": {}}, True), ({"glossary": {}}, False)]
)
def test_rows_bring_statistics_only_where_the_card_names_the_resource(facts, kept):
    card = run_of(*TRIPLES).card()
    card["config"]["scoring"]["resource_facts"] = facts
    card["signatures"]["fst_acceptance_rate"] = "as signed"
    for row in card["results"]:
        row["metric_statistics"] = {"fst_acceptance_rate": [0.5, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0]}
        row["metrics"]["fst_acceptance_rate"] = 0.75
    referee = TranslationKind().referee_for_card(card)
    report = referee.score(card["results"])
    assert report.scores["fst_acceptance_rate"] == (0.5 if kept else None)
    assert report.signatures.get("fst_acceptance_rate") == ("as signed" if kept else None)
    fresh = next(referee.regrade(card["results"]))
    assert fresh["metrics"].get("fst_acceptance_rate") == (0.5 if kept else None)
    assert ("metric_statistics" in fresh) is not kept


def test_a_calibration_that_failed_in_the_run_keeps_its_reason():
    card = run_of(*TRIPLES).card()
    del card["detector_calibration"]["hallucination_rate"]
    card["metric_availability"]["hallucination_rate"] = "calibration failed: ValueError: x"
    report = TranslationKind().referee_for_card(card).score(card["results"])
    assert report.availability["hallucination_rate"] == "calibration failed: ValueError: x"


def test_a_calibration_that_cannot_be_restored_costs_its_metric_only():
    card = run_of(*TRIPLES).card()
    card["detector_calibration"]["hallucination_rate"]["fit"] = {"anchors": 5}
    report = TranslationKind().referee_for_card(card).score(card["results"])
    assert report.availability["hallucination_rate"].startswith(
        "the calibration cannot be restored: "
    )
    assert report.scores["chrf_plus_plus"] is not None
