"""The metrics in real sessions: every documented key, contributed metrics, calibration, alarms."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.results.merge import merge
from pytest_mtarena.results.verify import verify
from tests.plugin.conftest import GOOD

DOCUMENTED = (
    *("total", "evaluated", "errors", "exact_matches", "exact_match_rate"),
    *("equivalent_matches", "equivalent_match_rate", "fst_accepted", "fst_acceptance_rate"),
    *("morphological_accuracy", "orthographic_accuracy", "chrf_plus_plus", "bleu", "ter"),
    *("length_ratio", "semantic_score", "comet_score", "comet_model", "code_switching_rate"),
    *("hallucination_rate", "terminology_adherence", "consistency_score", "composite"),
    *("quality_tier", "cost_adjusted", "tokens_per_second", "entries_per_minute"),
    *("avg_latency_seconds", "median_latency_seconds", "p95_latency_seconds"),
    *("confidence_intervals", "confidence_intervals_by_tier"),
    *("by_difficulty", "by_provenance", "by_domain"),
)
"""The keys of the documented scores block."""

MEDDLING = """
class Method:
    def translate(self, entries, config):
        said = {"e3": "{source}", "e5": "sim sim sim sim sim sim sim sim"}
        return [
            {
                "id": e["id"],
                "predicted": said.get(
                    e["id"], e["source"].replace("word number", "palavra número")
                ).replace("{source}", e["source"]),
            }
            for e in entries
        ]
"""

EXTENSION = """
from pytest_mtarena import Finding, PooledMetric, hookimpl, mean_metric

class Breaking(PooledMetric):
    def find(self, one):
        if one.id == "e2":
            raise RuntimeError("no way")
        return Finding((len(one.fields.get("note", "")), 1.0), 0.5)

def late(entry):
    return float(entry.output.endswith("4"))

@hookimpl
def mtarena_metrics():
    return {
        "breaking": Breaking("breaking", "Breaking", direction="lower"),
        "late": mean_metric("late", late, scale="0-1", direction="lower"),
    }
"""


def test_every_documented_key_has_a_number_or_a_reason(arena, corpus, good, mode):
    card = arena(str(corpus(9)), f"--mt-method={good}", *mode).card
    scores, why = card["scores"], card["metric_availability"]
    for key in DOCUMENTED:
        assert key in scores, key
        assert scores[key] is not None or why[key], key
    assert why["fst_acceptance_rate"] == "needs --mt-fst PATH"
    assert "--mt-semantic-model" in why["semantic_score"]
    for name, about in card["metrics"].items():
        assert about["scale"], name
        assert about["direction"] in ("higher", "lower", "target"), name
        assert about["role"] in ("headline", "secondary", "diagnostic", "informational"), name
    assert card["metrics"]["bleu"]["validation"] == "externally validated"
    assert card["detector_calibration"]["hallucination_rate"]["rate"] == 0
    assert verify(card) == []


def test_detectors_name_the_entries_and_every_mode_says_the_same(arena, corpus, method):
    mine = method(MEDDLING)
    cards = [
        arena(str(corpus(60)), f"--mt-method={mine}", "--mt-batch-size=7", *more).card
        for more in ((), ("-n2",))
    ]
    for card in cards:
        rows = {row["entry_id"]: row for row in card["results"]}
        assert rows["e3"]["evidence"]["hallucination_rate"]["copy"]
        assert rows["e5"]["evidence"]["hallucination_rate"]["oscillatory"]
        assert rows["e3"]["metrics"]["code_switching_rate"] == 1
        assert card["scores"]["metric_details"]["hallucination_rate"]["flagged"] == 2
    one, other = cards
    assert [r["evidence"] for r in one["results"] if "evidence" in r] == [
        r["evidence"] for r in other["results"] if "evidence" in r
    ]
    speed = ("latency", "per_minute", "per_second")
    kept = [k for k in one["scores"] if not any(word in k for word in speed)]
    assert {k: one["scores"][k] for k in kept} == {k: other["scores"][k] for k in kept}


def test_shards_are_calibrated_on_the_whole_and_merge_to_the_whole(arena, corpus, method):
    mine = method(MEDDLING)
    common = (str(corpus(40)), f"--mt-method={mine}", "--mt-batch-size=7")
    whole = arena(*common).card
    parts = [arena(*common, f"--mt-shard={i}/3").card for i in (1, 2, 3)]
    assert all(verify(part) == [] for part in parts)
    merged = merge(parts)
    assert verify(merged) == []
    assert merged["detector_calibration"] == whole["detector_calibration"]
    for key in ("hallucination_rate", "code_switching_rate", "composite", "confidence_intervals"):
        assert merged["scores"][key] == whole["scores"][key], key
    assert [row.get("evidence") for row in merged["results"]] == [
        row.get("evidence") for row in whole["results"]
    ]


def test_contributed_metrics_their_direction_and_their_faults(arena, corpus, good, pytester, mode):
    pytester.makeconftest(EXTENSION)
    entries = json.loads(corpus(6).read_text(encoding="utf-8"))
    entries["entries"][3]["note"] = "seen"
    (pytester.path / "tiny.json").write_text(json.dumps(entries), encoding="utf-8")
    result = arena(
        "tiny.json",
        f"--mt-method={good}",
        "--mt-fail-under=late=0.1",
        "--mt-fail-under=breaking=1",
        *mode,
    )
    assert result.code == 1
    assert result.text.count("FAILED gate:") == 1
    assert "FAILED gate: late 0.1667, at most 0.1 is asked for" in result.text
    card = result.card
    assert card["directions"]["late"] == card["directions"]["breaking"] == "lower"
    assert card["scores"]["breaking"] == round(4 / 5, 4), "the entry's own fields are seen"
    assert (card["scores"]["breaking_n_scored"], card["scores"]["breaking_n_unscored"]) == (5, 1)
    second = card["results"][1]
    assert second["plugin_metrics"]["breaking"] is None
    assert second["metric_reasons"]["breaking"] == "RuntimeError: no way"
    assert card["results"][0]["metric_reasons"] == {}


def test_a_method_brings_its_own_metric(arena, corpus, method, pytester):
    own = """
from pytest_mtarena import Finding, PooledMetric

class Vowels(PooledMetric):
    def __init__(self):
        super().__init__("vowels", "vowels")

    def find(self, one):
        n = sum(letter in "aeiou" for letter in one.output)
        return Finding((n, len(one.output)), n / len(one.output))
"""
    path = method(GOOD, metric_plugins=[{"entry_point": "own:Vowels", "name": "vowels"}])
    (path / "own.py").write_text(own, encoding="utf-8")
    other = method(GOOD, "other")
    result = arena(str(corpus(4)), f"--mt-method={path}", f"--mt-method={other}")
    assert result.code == 0, result.text
    mine = {card["config"]["method_name"]: card for card in result.cards}
    assert mine["mine"]["scores"]["vowels"] == pytest.approx(5 / 16, abs=0.001)
    assert "vowels" not in mine["other"]["scores"]
    assert mine["mine"]["metrics"]["vowels"]["validation"] == "unvalidated"


@pytest.mark.parametrize(
    ("entry_point", "module", "told"),
    [
        ("own", "", "metric_plugins[0]: entry_point must look like module:Class"),
        ("own:Metric", "class Metric:\n    id = 'x'\n", "own:Metric is no metric"),
        ("own:Metric", "1 / 0\n", "ZeroDivisionError"),
        (
            "own:M",
            "from pytest_mtarena import PooledMetric\n"
            "class M(PooledMetric):\n"
            "    def __init__(self):\n"
            "        super().__init__('m', 'm')\n"
            "    def calibrate(self, gold): pass\n"
            "    def restore(self, calibration): pass\n",
            "a method's own metric cannot be calibrated",
        ),
    ],
)
def test_a_method_whose_metric_cannot_be_used(arena, corpus, method, entry_point, module, told):
    path = method(GOOD, metric_plugins=[{"entry_point": entry_point}])
    (path / "own.py").write_text(module, encoding="utf-8")
    result = arena(str(corpus(2)), f"--mt-method={path}")
    assert result.code == 4
    assert told in result.text
    assert "Traceback" not in result.text


COPYING = """
class Method:
    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"]} for e in entries]
"""


def test_source_copies_are_a_warning_that_can_be_made_a_failure(arena, corpus, method, mode):
    arguments = (str(corpus(5)), f"--mt-method={method(COPYING)}", *mode)
    shown = arena(*arguments, "-W", "default::pytest_mtarena.CopyWarning")
    assert shown.code == 0, shown.text
    assert "CopyWarning: mine × tiny: 5 of 5 outputs equal their source" in shown.text
    red = arena(*arguments, "-W", "error::pytest_mtarena.CopyWarning")
    assert red.code == 1
    assert "FAILED CopyWarning: 5 of 5 outputs equal their source" in red.text
    assert red.card["caveats"][0].startswith("5 of 5 outputs equal their source")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-metrics=semantic_score"], "metric semantic_score: needs --mt-semantic-model"),
        (["--mt-metrics=comet_score"], "metric comet_score: needs --mt-comet-model"),
        (["--mt-metrics=beauty"], "there is no metric 'beauty'"),
        (["--mt-fst=nowhere.hfstol"], "--mt-fst: no such file"),
        (["--mt-glossary=broken.json"], "broken.json"),
        (["--mt-style-profile=broken.json"], "broken.json"),
        (["--mt-cards-dir=broken.json"], "--mt-cards-dir: no such directory"),
        (["--mt-semantic-model=nowhere"], "--mt-semantic-model takes 'use' or a directory"),
        (["--mt-fst=broken.json"], "broken.json"),
    ],
)
def test_what_cannot_be_had_is_one_line(arena, corpus, good, pytester, options, told, mode):
    (pytester.path / "broken.json").write_text('{"a": ', encoding="utf-8")
    result = arena(str(corpus(3)), f"--mt-method={good}", *options, *mode)
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text
    assert result.cards == []


def test_a_glossary_judges_and_its_card_can_be_checked_without_it(arena, corpus, good, pytester):
    glossary = pytester.path / "terms.json"
    glossary.write_text(json.dumps({"word": "palavra", "number": ["cifra"]}), encoding="utf-8")
    result = arena(str(corpus(6)), f"--mt-method={good}", "--mt-glossary=terms.json")
    card = result.card
    assert card["scores"]["terminology_adherence"] == 0.5
    assert card["config"]["scoring"]["resource_facts"]["glossary"]["name"] == "terms.json"
    assert str(pytester.path) not in json.dumps(card)
    glossary.unlink()
    assert verify(card) == []
    card["results"][2]["fields"]["glossary"]["number"]["accept"] = ["número"]
    assert any("terminology_adherence" in line for line in verify(card))


def test_a_metric_that_is_not_selected_says_so_and_costs_no_composite(arena, corpus, good):
    card = arena(str(corpus(4)), f"--mt-method={good}", "--mt-metrics=chrf,ter").card
    assert card["scores"]["composite"] is None
    assert card["metric_availability"]["composite"] == "not selected"
    assert card["metric_availability"]["hallucination_rate"] == "not selected"
    chosen = arena(str(corpus(4)), f"--mt-method={good}", "--mt-metrics=chrf_plus_plus,composite")
    cover = chosen.card["scores"]["composite_coverage"]
    assert cover["weights"] == {"chrf_plus_plus": 1}
    assert chosen.card["scores"]["composite"] == 1


def test_entries_that_stand_in_the_glossary_are_a_warning(arena, corpus, good, pytester):
    suite = json.loads(corpus(3).read_text(encoding="utf-8"))
    suite["entries"][1]["source"] = "The word has a number."
    (pytester.path / "tiny.json").write_text(json.dumps(suite), encoding="utf-8")
    terms = {"the word has a number": "a palavra tem um número", "word number 1": "palavra 1"}
    (pytester.path / "terms.json").write_text(json.dumps(terms), encoding="utf-8")
    leak = "-Wdefault::pytest_mtarena.LeakWarning"
    result = arena("tiny.json", f"--mt-method={good}", "--mt-glossary=terms.json", leak)
    assert "LeakWarning: mine × tiny: 1 entry stands whole in the glossary: e2" in result.text


CHEAT = """
SEEN = {}

class Method:
    tried = set()

    def translate(self, entries, config):
        from . import own
        return [
            {"id": e["id"], "predicted": own.SEEN[e["id"]]} if e["id"] in own.SEEN
            else {"id": e["id"], "error": "not yet"}
            for e in entries
        ]
"""

SPY = """
from pytest_mtarena import Finding, PooledMetric

SEEN = {}

class Spy(PooledMetric):
    def __init__(self):
        super().__init__("spy", "spy")

    def find(self, one):
        SEEN[one.id] = one.references[0]
        return Finding((1.0, 1.0), 1.0)
"""


def test_a_methods_own_metric_is_no_way_to_the_references(arena, corpus, method, pytester):
    path = method(CHEAT, metric_plugins=[{"entry_point": "own:Spy"}])
    (path / "own.py").write_text(SPY, encoding="utf-8")
    arguments = (str(corpus(4)), f"--mt-method={path}")
    refused = arena(*arguments, "--reruns=1")
    assert refused.code == 4
    assert "--reruns would ask mine again after its own metrics (spy)" in refused.text
    first = arena(*arguments)
    assert first.code == 1
    assert first.card["scores"]["errors"] == 4
    assert first.card["scores"]["spy"] is None
    assert first.card["metrics"]["spy"]["owner"] == "method"
    assert all(row["metric_reasons"]["spy"] == "the attempt failed" for row in first.rows)
    assert verify(first.card) == []


def test_who_says_nothing_earns_nothing_for_lack_of_faults(arena, corpus, method):
    silent = COPYING.replace('e["source"]', '""')
    card = arena(str(corpus(4)), f"--mt-method={method(silent)}").card
    assert card["scores"]["composite"] == 0
    assert "hallucination_rate" not in card["scores"]["composite_coverage"]["weights"]
