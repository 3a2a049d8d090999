"""Regression gates: a run against the card of an earlier one."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.card.seal import seal

# Nine of ten words right; WORSE says nothing for every tenth entry.
SOUND = """
class Method:
    def translate(self, entries, config):
        return [
            {"id": e["id"], "predicted": "" if self.empties(int(e["id"][1:])) else self.said(e)}
            for e in entries
        ]

    def said(self, entry):
        return entry["source"].replace("word number", "palavra número") + " bem"

    def empties(self, number):
        return False
"""
WORSE = SOUND.replace("return False", "return number % 10 == 0")


@pytest.fixture
def baseline(arena, corpus, method, pytester):
    """The card of a sound run over 100 entries, out of the way of other cards."""
    result = arena(str(corpus(100)), f"--mt-method={method(SOUND)}")
    assert result.code == 0, result.text
    [path] = (pytester.path / "eval/logs/harness").glob("*.json")
    return path.rename(pytester.path / "baseline.json")


@pytest.mark.parametrize("gate", ["--mt-significant", "--mt-max-drop=chrf_plus_plus=0.5"])
def test_a_worse_run_is_red_and_says_where(arena, method, baseline, gate, mode):
    result = arena(
        "tiny.json", f"--mt-method={method(WORSE)}", "--mt-baseline=baseline.json", gate, *mode
    )
    assert result.code == 1, result.text
    [line] = [line for line in result.text.splitlines() if line.startswith("FAILED gate: chrF++")]
    assert " then, " in line
    assert " now, " in line or "now" in line
    assert "p < 0.0001" in line or "p = 0.0" in line
    assert "entries that got worst (10 of 10):" in result.text
    for number in range(10, 101, 10):
        assert f"  e{number} " in result.text
    assert "word number 10" in result.text
    assert result.card["complete"]


@pytest.mark.parametrize("gate", ["--mt-significant", "--mt-max-drop=chrf_plus_plus=0"])
def test_the_same_method_again_is_green(arena, method, baseline, gate, mode):
    result = arena(
        "tiny.json", f"--mt-method={method(SOUND)}", "--mt-baseline=baseline.json", gate, *mode
    )
    assert result.code == 0, result.text
    assert "baseline chrF++ " in result.text
    assert "p = 1.0000" in result.text
    assert "got worst" not in result.text


def test_without_a_gate_the_comparison_is_shown_only(arena, method, baseline):
    result = arena("tiny.json", f"--mt-method={method(WORSE)}", "--mt-baseline=baseline.json")
    assert result.code == 0
    assert "baseline chrF++ " in result.text
    assert "worse" in result.text


def test_direction_and_primary_metric(arena, method, baseline):
    worse = f"--mt-method={method(WORSE)}"
    kept = arena("tiny.json", worse, "--mt-baseline=baseline.json", "--mt-max-drop=ter=50")
    assert kept.code == 0, kept.text
    missed = arena(
        "tiny.json", worse, "--mt-baseline=baseline.json", "--mt-max-drop=ter=1",
        "--mt-significant", "--mt-primary=ter",
    )  # fmt: skip
    assert missed.code == 1
    assert missed.text.count("FAILED gate: TER ") == 2


def test_the_card_of_another_suite_is_a_usage_error(arena, corpus, method, baseline, mode):
    other = corpus(12, "other.json")
    result = arena(str(other), f"--mt-method={method(SOUND)}", "--mt-baseline=baseline.json", *mode)
    assert result.code == 4
    assert "--mt-baseline baseline.json is of tiny (eng-por, content " in result.text
    assert "this session runs other (eng-por, content " in result.text
    assert result.cards == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-significant"], "--mt-significant needs --mt-baseline"),
        (["--mt-max-drop=chrf=1"], "--mt-max-drop needs --mt-baseline"),
        (["--mt-baseline=nowhere.json"], "--mt-baseline: no such card"),
        (["--mt-baseline=tiny.json"], "tiny.json: "),
        (["--mt-baseline=baseline.json", "--mt-max-drop=beauty=1"], "--mt-max-drop beauty"),
        (["--mt-baseline=baseline.json", "--mt-primary=length_ratio"], "--mt-primary length_rat"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(arena, method, baseline, options, told):
    result = arena("tiny.json", f"--mt-method={method(SOUND)}", *options)
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text


def test_a_baseline_with_other_entries_cannot_decide(arena, method, baseline):
    card = json.loads(baseline.read_text(encoding="utf-8"))
    for row in card["results"]:
        row["reference"] = "outra"
    baseline.write_text(json.dumps(seal(card)), encoding="utf-8")
    result = arena(
        "tiny.json", f"--mt-method={method(SOUND)}", "--mt-baseline=baseline.json",
        "--mt-significant",
    )  # fmt: skip
    assert result.code == 1
    assert "FAILED baseline: " in result.text
