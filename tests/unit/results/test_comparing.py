"""Run cards against each other: what is compared, what is refused, what is said."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from pytest_mtarena import mean_metric
from pytest_mtarena.card.seal import seal
from pytest_mtarena.errors import CardError, UsageError
from pytest_mtarena.records import Language
from pytest_mtarena.referee.metrics.base import present
from pytest_mtarena.referee.translation import TranslationKind
from pytest_mtarena.registry import make_registry
from pytest_mtarena.results.baseline import against, drop_problem
from pytest_mtarena.results.comparing import Plan, compare_cards
from pytest_mtarena.results.pairing import make_sides
from pytest_mtarena.results.power_of import power_of_cards
from pytest_mtarena.results.show_comparison import (
    comparison_json,
    power_json,
    show_comparison,
    show_power,
    show_significance,
    significance_json,
)
from pytest_mtarena.results.verify import referee_of, verify
from pytest_mtarena.text import columns
from tests.unit.card.making import sealed_card, toy_registry
from tests.unit.results.cards import make_suite, spoilt, translation_card

FEW = Plan(resamples=500, replicates=200)


@pytest.fixture(scope="module")
def registry():
    return make_registry()


@pytest.fixture(scope="module")
def suite():
    return make_suite()


@pytest.fixture(scope="module")
def good(suite):
    return translation_card(suite, spoilt(suite, 8), "good")


@pytest.fixture(scope="module")
def bad(suite):
    """The same as ``good``, and worse."""
    outputs = spoilt(suite, 8)
    return translation_card(
        suite,
        [
            text if at % 8 == 0 else bad
            for at, (text, bad) in enumerate(zip(outputs, spoilt(suite, 2, 3), strict=True))
        ],
        "bad",
    )


def compared(*cards, plan=FEW, registry=None):
    sides = make_sides((f"{at}.json", card) for at, card in enumerate(cards))
    return compare_cards(sides, registry or make_registry(), plan)


def changed(card, **changes):
    """Return a card with these changes at its top, sealed again."""
    return seal({**card, **changes})


def scoring(card, **changes):
    """Return a card that says it was scored in another way."""
    return changed(card, signatures={**card["signatures"], **changes})


def results(found):
    return {one.id: one for one in found.results}


# -- what the numbers are ---------------------------------------------------------------------


def test_made_cards_hold(good, bad):
    assert not verify(good)
    assert not verify(bad)


def test_scores_are_those_of_the_cards_and_the_difference_is_b_minus_a(good, bad):
    [found] = compared(good, bad)
    for name, one in results(found).items():
        assert round(one.score_a, 2 if name != "exact_match_rate" else 4) == good["scores"][name]
        assert round(one.score_b, 2 if name != "exact_match_rate" else 4) == bad["scores"][name]
        assert one.difference == pytest.approx(one.score_b - one.score_a)
    assert results(found)["chrf_plus_plus"].difference < 0 < results(found)["ter"].difference


def test_p_values_are_those_of_sacrebleu(suite, good, bad):
    outputs = [
        (name, [row["predicted"] for row in card["results"]])
        for name, card in (("a", good), ("b", bad))
    ]
    references = [[entry["reference"] for entry in suite]]
    metrics = {"chrf_plus_plus": CHRF(word_order=2), "bleu": BLEU(), "ter": TER()}
    [found] = compared(good, bad, plan=Plan(resamples=400, replicates=300))
    names = {"chrf_plus_plus": "chrF2++", "bleu": "BLEU", "ter": "TER"}
    _, told = PairedTest(outputs, dict(metrics.items()), references, "bs", 300, 1)()
    for name, one in results(found).items():
        if name in metrics:
            assert one.test.p_bootstrap == told[names[name]][1].p_value, name


def test_the_primary_metric_comes_first_and_ter_knows_its_direction(good, bad):
    [found] = compared(good, bad, plan=Plan(primary="ter", resamples=500))
    assert [one.id for one in found.results] == [
        "ter",
        "chrf_plus_plus",
        "bleu",
        "exact_match_rate",
    ]
    assert found.primary.verdict == "worse"
    assert results(found)["chrf_plus_plus"].verdict == "worse"
    [back] = compared(bad, good, plan=Plan(primary="ter", resamples=500))
    assert back.primary.verdict == "better"
    assert back.primary.difference == -found.primary.difference
    assert (len(back.won), len(back.lost)) == (len(found.lost), len(found.won))


def test_a_system_against_itself_is_never_different(good):
    [found] = compared(good, changed(good, run_id="00000000-0000-4000-8000-000000000000"))
    for one in found.results:
        assert one.difference == 0
        assert one.test.p_value == 1
        assert one.verdict == "no difference shown"
    assert found.same_outputs == found.ties == 24
    assert not found.won
    assert not found.lost


def test_wins_and_losses_are_of_entries_and_sorted(suite, good, bad):
    [found] = compared(good, bad)
    assert len(found.won) + len(found.lost) + found.ties == 24
    gains = [one.gain for one in found.lost]
    assert gains == sorted(gains)
    worst = found.lost[0]
    entry = next(one for one in suite if one["id"] == worst.id)
    assert worst.source == entry["source"]
    assert worst.reference == entry["reference"]
    row_a, row_b = (
        next(row for row in card["results"] if row["entry_id"] == worst.id) for card in (good, bad)
    )
    assert (worst.output_a, worst.output_b) == (row_a["predicted"], row_b["predicted"])
    assert round(worst.value_a, 2) == row_a["entry_chrf"]
    assert round(worst.value_b, 2) == row_b["entry_chrf"]


def test_the_order_of_the_rows_changes_nothing(suite, good, bad):
    turned = [
        translation_card(suite[::-1], [row["predicted"] for row in card["results"]][::-1])
        for card in (good, bad)
    ]
    [first] = compared(good, bad)
    for cards in ((good, turned[1]), (turned[0], bad), turned):
        [found] = compared(*cards)
        assert found.results == first.results
        assert found.lost == first.lost


def test_parts_that_are_too_small_have_no_difference(good, bad):
    rows = [dict(row) for row in good["results"]]
    for at, row in enumerate(rows):
        row["domain"] = "rare" if at < 4 else "conv"
    [found] = compared(changed(good, results=rows), bad)
    parts = {(part.label, part.value): part for part in found.parts}
    assert [key for key in parts if key[0] == "difficulty"] == [
        ("difficulty", "1"),
        ("difficulty", "2"),
        ("difficulty", "3"),
    ]
    assert ("domain", "rare") not in parts
    assert parts["domain", "conv"].n == 20
    first = parts["difficulty", "1"]
    assert round(first.score_a, 2) == good["scores"]["by_difficulty"]["1"]["chrf_plus_plus"]
    assert first.difference == pytest.approx(first.score_b - first.score_a)


def test_several_systems_are_adjusted_for_their_number(suite, good):
    systems = [
        translation_card(suite, spoilt(suite, every, by), f"s{every}")
        for every, by in ((6, 1), (4, 1), (3, 2))
    ]
    found = compared(good, *systems)
    raw = [one.primary.test.p_value for one in found]
    ordered = sorted(raw)
    expected = {}
    for rank, p in enumerate(ordered):
        expected[p] = min(1.0, max([(3 - k) * ordered[k] for k in range(rank + 1)]))
    assert [one.primary.p_holm for one in found] == pytest.approx([expected[p] for p in raw])
    assert [one.pair.b.letter for one in found] == ["B", "C", "D"]
    for one in found:
        if one.primary.p_holm >= 0.05:
            assert one.primary.verdict == "no difference shown"
        assert all(other.p_holm is None for other in one.results[1:])
    assert compared(good, systems[0])[0].primary.p_holm is None


def test_a_verdict_that_does_not_survive_the_adjustment_says_so(suite, good):
    # Six entries lose all, none wins: p = 2 / 2**6 = 0.031 alone, and 0.125 of four systems.
    outputs = [row["predicted"] for row in good["results"]]
    for at in (1, 4, 9, 13, 17, 20):
        outputs[at] = "errado"
    worse = translation_card(suite, outputs, "worse")
    [alone] = compared(good, worse)
    assert alone.primary.verdict == "worse"
    first = compared(good, worse, *[good] * 3)[0].primary
    assert first.test.significant
    assert first.verdict == "no difference shown"
    assert "adjusted" in first.reason


def test_diagnostics_come_after_and_informational_metrics_are_not_tested(suite):
    cards = [translation_card(suite, spoilt(suite, every), metrics=None) for every in (6, 3)]
    [found] = compared(*cards)
    roles = [one.role for one in found.results]
    places = [
        {"headline": 0, "secondary": 0, "diagnostic": 1, "informational": 2}[r] for r in roles
    ]
    assert places == sorted(places)
    assert {"diagnostic", "informational"} <= set(roles)
    for one in found.results:
        assert (one.test is None) == (one.role == "informational")
        assert one.verdict is None or one.direction != "target"
    lines = show_comparison([found], 200)
    heads = [
        lines.index(one) for one in lines if one.startswith(("diagnostics:", "informational:"))
    ]
    assert len(heads) == 2
    assert any(line.startswith("hallucination (legacy)") for line in lines[heads[1] :])
    assert results(found)["length_ratio"].verdict is None
    assert "comet_score" not in results(found)


def test_the_composite_is_that_of_the_cards_and_tested(suite):
    cards = [translation_card(suite, spoilt(suite, every), metrics=None) for every in (6, 2)]
    [found] = compared(*cards)
    one = results(found)["composite"]
    assert round(one.score_a, 4) == cards[0]["scores"]["composite"]
    assert round(one.score_b, 4) == cards[1]["scores"]["composite"]
    assert one.test.ci_lower <= one.difference <= one.test.ci_upper


def test_composites_of_other_metrics_are_left_out(suite):
    names = ("chrf_plus_plus", "exact_match_rate", "composite")
    one = translation_card(suite, spoilt(suite, 6), metrics=names)
    other = translation_card(suite, spoilt(suite, 6), metrics=("chrf_plus_plus", "composite"))
    [found] = compared(one, other)
    assert "composite" not in results(found)
    assert (
        "made of other metrics: B (chrf_plus_plus, exact_match_rate) in A"
        in found.left_out["composite"]
    )


def test_failures_are_misses(suite, good):
    outputs = [row["predicted"] for row in good["results"]]
    outputs[3] = None
    [found] = compared(good, translation_card(suite, outputs))
    assert results(found)["chrf_plus_plus"].test.n == 24
    assert found.lost[0].id == "e003"
    assert found.lost[0].output_b is None
    text = "\n".join(show_comparison([found], 100))
    assert "errors: A 0, B 1 of 24, which count as misses" in text
    assert "(no output)" in text


# -- clusters ---------------------------------------------------------------------------------


def test_documents_are_resampled_together_and_it_is_said():
    entries = make_suite(24, document=lambda at: f"d{at // 6}")
    outputs = [spoilt(entries, every) for every in (6, 2)]
    cards = [translation_card(entries, texts) for texts in outputs]
    [found] = compared(*cards)
    assert found.units.words == "24 entries in 4 documents"
    assert found.primary.test.n == 24
    assert found.primary.test.n_units == 4
    assert found.primary.test.p_value >= 2 / 2**4
    assert "24 entries in 4 documents, resampled together" in "\n".join(
        show_comparison([found], 200)
    )


def test_repeated_sources_are_resampled_together():
    entries = make_suite(24, source=lambda at: f"sentence {at // 2}")
    cards = [translation_card(entries, spoilt(entries, every)) for every in (6, 2)]
    [found] = compared(*cards)
    assert found.units.words == "24 entries with 12 different sources"
    assert found.primary.test.n_units == 12


def test_one_document_is_no_test_and_no_winner():
    entries = make_suite(24, document=lambda at: 7)
    cards = [translation_card(entries, spoilt(entries, every)) for every in (6, 2)]
    [found] = compared(*cards)
    assert found.units.words == "24 entries in 1 document"
    assert found.primary.test.p_value is None
    assert found.primary.verdict is None
    assert "cluster" in found.primary.reason


# -- what is refused --------------------------------------------------------------------------


def refusal(*cards, plan=FEW, registry=None):
    with pytest.raises(UsageError) as caught:
        compared(*cards, plan=plan, registry=registry)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_other_suites_are_refused_and_compared_with_shared(suite, good):
    other = [dict(entry) for entry in suite[6:]] + make_suite(30)[24:]
    other[0]["reference"] += " mais"
    second = translation_card(other, spoilt(other, 2), suite="other")
    told = refusal(good, second)
    assert "A (0.json) and B (1.json) are of different suites: tiny (content " in told
    assert "other (content " in told
    assert "--shared compares the 17 entries that are the same in both" in told
    [found] = compared(good, second, plan=Plan(shared=True, resamples=300))
    assert found.units.words == "17 entries"
    assert found.pair.ids == tuple(f"e{at:03}" for at in range(7, 24))
    loud = (
        "! only the entries that are the same in both; left out: 6 only in A, 6 only in B, "
        "1 with another source or other references"
    )
    assert loud in show_comparison([found], 200)
    # The scores are those of a run on just these.
    just = translation_card(suite[7:], [r["predicted"] for r in good["results"]][7:])
    assert round(found.primary.score_a, 2) == just["scores"]["chrf_plus_plus"]


def test_nothing_in_common_is_refused_even_with_shared(good):
    entries = make_suite(5, id=lambda at: f"x{at}")
    other = translation_card(entries, spoilt(entries, 2))
    assert refusal(good, other).endswith("no entry is the same in both")
    told = refusal(good, other, plan=Plan(shared=True))
    assert told.endswith("no entry has the same id, source and references in both")


def test_an_incomplete_card_is_refused_and_its_rows_compared_with_shared(suite, good):
    part = translation_card(suite, spoilt(suite, 2)[:10], complete=False)
    told = refusal(good, part)
    assert "B (1.json) is incomplete: 10 of 24 entries" in told
    [found] = compared(good, part, plan=Plan(shared=True, resamples=300))
    assert found.units.words == "10 entries"
    assert found.primary.score_b is not None


def test_another_selection_of_one_suite_is_refused(suite, good):
    rows = good["results"][:-2]
    told = refusal(good, changed(good, results=rows))
    assert "of different entries: 2 only in A (e022 e023)" in told


def test_rows_that_differ_though_the_digests_agree_are_refused(good, bad):
    rows = [dict(row) for row in bad["results"]]
    rows[4]["reference"] = "outra"
    told = refusal(good, changed(bad, results=rows))
    assert "different sources or references of e004" in told


def test_an_entry_that_comes_twice_is_refused(good, bad):
    rows = [*bad["results"], bad["results"][0]]
    assert 'entry "e000" comes twice' in refusal(good, changed(bad, results=rows))


def test_another_language_pair_is_refused(suite, good):
    pair = (Language(code="en", name="English"), Language(code="pt", name="Portuguese"))
    other = translation_card(suite, spoilt(suite, 2), pair=pair)
    assert "of different language pairs: eng>por, en>pt" in refusal(good, other)
    [found] = compared(good, other, plan=Plan(shared=True, resamples=300))
    assert found.units.words == "24 entries"


def test_another_kind_and_one_without_statistics_are_refused(good):
    toy = sealed_card()
    assert 'different kinds: "translation", "toy"' in refusal(good, toy)
    assert 'runs of kind "toy" cannot be compared (it has no' in refusal(
        toy, toy, registry=toy_registry()
    )
    assert "cannot be compared (not known here)" in refusal(toy, toy)


def test_a_metric_scored_otherwise_is_left_out_with_the_reason(suite, good):
    char = translation_card(suite, spoilt(suite, 2), bleu_tokenize="char")
    [found] = compared(good, char)
    assert "bleu" not in results(found)
    assert found.left_out["bleu"].startswith("tok:13a in A, tok:char in B")
    line = next(one for one in show_comparison([found], 300) if one.startswith("not compared"))
    assert line.startswith("not compared: bleu: tok:13a in A, tok:char in B; mt-eval test")


def test_another_version_is_another_metric(good, bad):
    old = bad["signatures"]["chrf_plus_plus"].replace("version:", "version:0.")
    [found] = compared(good, scoring(bad, chrf_plus_plus=old))
    assert "version:" in found.left_out["chrf_plus_plus"]
    assert found.primary.id == "bleu"
    assert found.notes[0].startswith("chrf_plus_plus is not compared (version:")
    about = {**bad["metrics"], "ter": {**bad["metrics"]["ter"], "version": "0"}}
    [found] = compared(good, changed(bad, metrics=about))
    assert found.left_out["ter"].startswith("version 1 in A, 0 in B")


def test_another_normalization_leaves_nothing(suite, good):
    told = refusal(good, translation_card(suite, spoilt(suite, 2), normalization="none"))
    assert "no metric that can decide" in told
    assert "normalization NFC in A, none in B" in told


def test_a_metric_of_one_card_only_is_left_out(suite, good):
    other = translation_card(suite, spoilt(suite, 2), metrics=("chrf_plus_plus", "chrf"))
    [found] = compared(good, other)
    assert [one.id for one in found.results] == ["chrf_plus_plus"]
    assert found.left_out["chrf"] == "no value in A: not selected"
    assert found.left_out["ter"] == "no value in B: not selected"
    lines = show_comparison([found], 200)
    assert "not compared: bleu, ter, exact_match_rate: no value in B: not selected" in lines


def test_another_resource_or_another_fit_leaves_a_metric_out(suite):
    names = ("chrf_plus_plus", "terminology_adherence", "code_switching_rate")
    one, other = (translation_card(suite, spoilt(suite, every), metrics=names) for every in (3, 2))
    told = {**other["config"]["scoring"], "resource_facts": {"glossary": {"sha256": "0"}}}
    changes = {"config": {**other["config"], "scoring": told}}
    fit = {**other["detector_calibration"]["code_switching_rate"], "fit": {"own": 1}}
    calibration = {**other["detector_calibration"], "code_switching_rate": fit}
    [found] = compared(one, changed(other, **changes))
    assert found.left_out["terminology_adherence"].startswith("the resource glossary differs")
    [found] = compared(one, changed(other, detector_calibration=calibration))
    assert "fitted to other references" in found.left_out["code_switching_rate"]


@pytest.mark.parametrize(
    ("primary", "told"),
    [
        ("length_ratio", "best at a target"),
        ("nonsense", "there is no such metric (there are: chrf_plus_plus,"),
        ("comet_score", "comet_score of A (0.json) and B (1.json): no value in A: "),
        ("terminology_adherence", "no value in A: "),
    ],
)
def test_a_primary_metric_that_cannot_decide_is_refused(suite, primary, told):
    card = translation_card(suite, spoilt(suite, 3), metrics=None)
    assert told in refusal(card, card, plan=Plan(primary=primary, resamples=50))


def test_rows_of_the_wrong_form_are_one_line(good, bad):
    rows = [dict(row) for row in bad["results"]]
    rows[2]["predicted"] = {"no": "text"}
    with pytest.raises(CardError, match=r"^B \(1.json\): its rows cannot be scored: "):
        compared(good, changed(bad, results=rows))


# -- contributed and stored metrics -----------------------------------------------------------


class Plugin:
    """A plug-in with a metric in which less is better, and one that breaks."""

    def mtarena_metrics(self):
        def broken(entry):
            raise LookupError("no")

        return {
            "spaces": mean_metric(
                "spaces", lambda e: float(e.output.count(" ")), scale="count", direction="lower"
            ),
            "broken": mean_metric("broken", broken, scale="0-1"),
        }


def contributed_cards(suite):
    plugins = make_registry([Plugin()])
    kind = TranslationKind(plugins.metrics)
    texts = [spoilt(suite, 4), [text + " a" for text in spoilt(suite, 4)]]
    names = ("chrf_plus_plus", "spaces", "broken")
    return plugins, [translation_card(suite, one, kind=kind, metrics=names) for one in texts]


def test_contributed_metrics_are_compared_here_and_as_stored(suite):
    plugins, cards = contributed_cards(suite)
    for registry in (plugins, make_registry()):
        [found] = compared(*cards, registry=registry, plan=Plan(primary="spaces", resamples=500))
        assert found.primary.difference == 1
        assert found.primary.verdict == "worse"
        assert len(found.lost) == 24
        assert "broken" not in results(found)


def test_table_has_the_statistics_of_the_counted_rows(good, registry):
    table = referee_of(good, registry).table(good["results"])
    assert list(table.metrics) == ["chrf_plus_plus", "bleu", "ter", "exact_match_rate"]
    for name, metric in table.metrics.items():
        rows = table.statistics[name]
        assert present(rows).sum() == 24
        score = float(metric.score(rows.sum(axis=0)[None])[0])
        assert score == pytest.approx(good["scores"][name], abs=0.005)
    rows = [
        {**row, "status": "invalid"} if at < 3 else row for at, row in enumerate(good["results"])
    ]
    fewer = referee_of(good, registry).table(rows)
    assert len(fewer.statistics["bleu"]) == 21
    assert np.array_equal(fewer.statistics["bleu"], table.statistics["bleu"][3:])


# -- what is shown ----------------------------------------------------------------------------


def test_a_broken_seal_is_a_warning(good, bad):
    broken = {**bad, "elapsed_seconds": 1.0}
    [found] = compared(good, broken)
    [warning] = found.pair.warnings
    assert warning.startswith("B (1.json): its seal does not hold: run_card_digest")
    assert any(line.startswith("! B (1.json): its seal") for line in show_comparison([found], 300))


@pytest.mark.parametrize("width", [30, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(suite, width):
    hostile = [dict(entry) for entry in suite]
    hostile[0]["source"] = "\x1b[31m\u202e" + "長い" * 200
    hostile[1]["reference"] = "a\nb " * 100
    one = translation_card(hostile, spoilt(suite, 3), "run \x1b[2J", metrics=None)
    other = translation_card(hostile, spoilt(suite, 2), metrics=None)
    sides = make_sides([("a.json", one), ("b.json", other)])
    found = compare_cards(sides, make_registry(), FEW)
    lines = show_comparison(found, width) + show_significance(found[0], width)
    units, power = power_of_cards(sides, make_registry())
    lines += show_power(sides, units, power, width)
    for line in lines:
        assert line.isprintable()
        assert columns(line) <= width, line
    assert any("better" in line or "no difference shown" in line for line in lines) or width < 40


def test_the_text_says_who_against_whom_by_what_and_how_sure(good, bad):
    lines = show_comparison(compared(good, bad), 100)
    text = "\n".join(lines)
    assert re.search(r"^A  method/echo@12345678  good  .*\(baseline\)  0.json$", text, re.M)
    assert re.search(r"^B  method/echo@12345678  bad  ", text, re.M)
    assert re.search(r"^ +A +B +B - A +95 % interval +p$", text, re.M)
    assert re.search(r"^chrF\+\+ \(primary\) .* \[-.*, -.*\] .* worse$", text, re.M)
    assert re.search(r"^TER ↓ ", text, re.M)
    assert re.search(r"^power: this suite of 24 entries can see a difference of", text, re.M)
    assert re.search(r"^B better on \d+, worse on \d+, equal on \d+ entries by chrF", text, re.M)
    assert re.search(r"^B is worse by most on \(5 of \d+\):$", text, re.M)
    assert "chrF++ by difficulty" in text
    quiet = "\n".join(show_comparison(compared(good, bad), 100, -1))
    assert "by most" not in quiet


def test_of_several_systems_entries_are_shown_on_demand(good, bad):
    found = compared(good, bad, good)
    assert "by most" not in "\n".join(show_comparison(found, 100))
    assert "(-v: " in "\n".join(show_comparison(found, 100))
    assert "by most" in "\n".join(show_comparison(found, 100, 1))
    assert "adjusted for 2 systems (Holm): " in "\n".join(show_comparison(found, 100))


def test_json_is_finite_and_whole(good, bad):
    found = compared(good, bad)
    value = json.loads(json.dumps(comparison_json(found), allow_nan=False))
    assert value["primary"] == "chrf_plus_plus"
    assert value["baseline"]["file"] == "0.json"
    [system] = value["systems"]
    first = system["metrics"][0]
    assert first["p_value"] == found[0].primary.test.p_value
    assert first["verdict"] == "worse"
    assert first["n"] == 24
    assert first["method"] == "approximate randomization"
    assert system["entries"]["lost"] == len(found[0].lost)
    assert len(system["entries"]["lost_most"]) == 5
    assert system["power"]["difference"] > 0
    tests = json.loads(json.dumps(significance_json(found[0]), allow_nan=False))
    assert {one["metric"]: one["by"] for one in tests["tests"]}[
        "exact_match_rate"
    ] == "McNemar, exact"
    by_bootstrap = significance_json(found[0], bootstrap=True)["tests"][0]
    assert by_bootstrap["p"] == found[0].primary.test.p_bootstrap


def test_nulls_of_the_json_have_reasons():
    entries = make_suite(3, document=lambda at: "d")
    cards = [translation_card(entries, spoilt(entries, every)) for every in (3, 2)]
    value = json.loads(json.dumps(comparison_json(compared(*cards)), allow_nan=False))
    [system] = value["systems"]
    for one in system["metrics"]:
        assert one["p_value"] is None
        assert one["reason"]
    assert system["power"]["difference"] is None
    assert system["power"]["reason"]


# -- power ------------------------------------------------------------------------------------


def test_power_of_two_cards_is_measured_and_of_one_estimated(good, bad, registry):
    sides = make_sides([("a.json", good), ("b.json", bad)])
    _, [both] = power_of_cards(sides, registry)
    _, [alone] = power_of_cards(sides[:1], registry)
    assert both.metric == alone.metric == "chrf_plus_plus"
    assert both.correlation is None
    assert alone.correlation is not None
    [found] = compare_cards(sides, registry, FEW)
    assert found.power == both
    _, [bleu] = power_of_cards(sides, registry, ["bleu"])
    assert bleu.title in bleu.sentence
    assert power_json(sides, *power_of_cards(sides, registry))["power"][0]["sentence"]


def test_power_counts_documents_as_one(registry):
    entries = make_suite(24, document=lambda at: f"d{at // 6}")
    cards = [translation_card(entries, spoilt(entries, every)) for every in (6, 2)]
    sides = make_sides([("a.json", cards[0]), ("b.json", cards[1])])
    for given in (sides, sides[:1]):
        units, [found] = power_of_cards(given, registry)
        assert (found.n, found.n_units) == (24, 4)
        text = "\n".join(show_power(given, units, [found], 200))
        assert "24 entries in 4 documents, resampled together" in text


@pytest.mark.parametrize("name", ["nonsense", "comet_score", "composite"])
def test_power_of_a_metric_that_is_not_there_is_refused(good, registry, name):
    with pytest.raises(UsageError, match=name):
        power_of_cards(make_sides([("a.json", good)]), registry, [name])


# -- the baseline of a session ----------------------------------------------------------------


def test_a_run_that_got_worse_misses_its_gates(good, bad, registry):
    verdict = against(
        bad, good, registry, max_drops={"chrf_plus_plus": 1.5, "ter": 2}, significant=True
    )
    assert verdict.problem is None
    then, now = (card["scores"]["chrf_plus_plus"] for card in (good, bad))
    first, second, third = verdict.missed
    assert first.startswith(f"gate: chrF++ {then:.2f} then, {now:.2f} now, ")
    assert "at most 1.5 is allowed, p = " in first
    assert second.startswith("gate: TER ")
    assert third.startswith("gate: chrF++ is significantly worse than the baseline: ")
    assert verdict.n_worse == len(verdict.worst) <= 10
    assert verdict.worst[0].value_a > verdict.worst[0].value_b
    assert verdict.worst[0].gain == min(one.gain for one in verdict.worst)
    assert verdict.line.startswith(f"chrF++ {then:.2f} then, {now:.2f} now: -")
    assert verdict.line.endswith("worse")
    assert not verdict.warnings


def test_a_run_that_got_better_or_stayed_misses_none(good, bad, registry):
    drops = {"chrf_plus_plus": 0.0, "ter": 0.0, "bleu": 0.0, "exact_match_rate": 0.0}
    for now in (good, bad):
        verdict = against(good, now, registry, max_drops=drops, significant=True)
        assert verdict.missed == ()
        assert verdict.problem is None
    assert against(good, good, registry).worst == ()


def test_a_limit_allows_what_it_says(good, bad, registry):
    [found] = compared(good, bad)
    for name in ("chrf_plus_plus", "ter"):
        drop = abs(results(found)[name].difference)
        assert not against(bad, good, registry, max_drops={name: drop + 0.01}).missed
        assert len(against(bad, good, registry, max_drops={name: drop - 0.01}).missed) == 1


def test_a_metric_that_cannot_be_compared_is_a_missed_gate(suite, good, registry):
    char = translation_card(suite, spoilt(suite, 8), bleu_tokenize="char")
    [line] = against(char, good, registry, max_drops={"bleu": 50}).missed
    assert line.startswith("gate: bleu cannot be compared with the baseline: tok:13a in baseline")
    [line] = against(good, good, registry, max_drops={"nonsense": 50}).missed
    assert line.startswith("gate: nonsense cannot be compared")


def test_cards_that_cannot_be_compared_are_a_problem_and_no_verdict(suite, good, registry):
    other = make_suite(25)
    verdict = against(translation_card(other, spoilt(other, 2)), good, registry, where="main.json")
    assert "baseline (main.json) and now are of different suites: tiny (content" in verdict.problem
    assert "--shared" not in verdict.problem
    assert not verdict.missed
    assert verdict.line is None
    assert "nonsense" in against(good, good, registry, primary="nonsense").problem


def test_the_seal_of_the_baseline_counts_and_that_of_now_does_not(good, bad, registry):
    unsealed = {**bad, "run_card_hash": "", "run_card_digest": ""}
    assert against(unsealed, good, registry).warnings == ()
    [warning] = against(good, unsealed, registry, where="main.json").warnings
    assert warning.startswith("baseline (main.json): its seal does not hold")


def test_a_baseline_without_chrf_is_compared_by_what_it_has(suite, registry):
    cards = [translation_card(suite, spoilt(suite, every), metrics=("ter",)) for every in (8, 2)]
    verdict = against(cards[1], cards[0], registry, significant=True)
    assert verdict.primary.id == "ter"
    assert len(verdict.missed) == 1


def test_which_metrics_may_have_a_limit():
    directions = {"bleu": "higher", "length_ratio": "target"}
    assert drop_problem(directions, ["bleu"]) is None
    assert "target" in drop_problem(directions, ["length_ratio"])
    assert "there are: bleu, length_ratio" in drop_problem(directions, ["blue"])
