"""Gates: per item and per run, in the metric's own direction, in the exit code."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import GOOD
from tests.plugin.test_run import SHAKY


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("chrf_plus_plus=1", 0),
        ("chrf_plus_plus=99.5", 1),
        ("ter=400", 0),
        ("ter=0.5", 1),
        ("exact_match_rate=0.5", 1),
    ],
)
def test_a_missed_gate_is_exit_1_and_a_line(arena, corpus, method, limit, code):
    result = arena(str(corpus(5)), f"--mt-method={method(SHAKY)}", f"--mt-fail-under={limit}")
    assert result.code == code, result.text
    assert ("FAILED gate: " + limit.split("=")[0] in result.text) == bool(code)


def test_every_missed_gate_has_its_line(arena, corpus, method, mode):
    result = arena(
        str(corpus(5)),
        f"--mt-method={method(SHAKY)}",
        "--mt-fail-under=bleu=99",
        "--mt-fail-under=chrf=99",
        *mode,
    )
    assert result.code == 1
    assert result.text.count("FAILED gate:") == 2


def test_an_item_below_its_minimum_is_red_and_shows_texts_not_a_traceback(
    arena, corpus, method, mode
):
    result = arena(
        str(corpus(3)), f"--mt-method={method(SHAKY)}", "--mt-item-min=chrf_plus_plus=90", *mode
    )
    assert result.code == 1
    result.outcomes(failed=3)
    assert "chrf_plus_plus" in result.text
    assert "source" in result.text
    assert "palavra número 1" in result.text
    assert "Traceback" not in result.text
    assert result.card["complete"]
    assert [row["status"] for row in result.rows] == ["ok"] * 3


def test_a_low_score_alone_is_no_red_test(arena, corpus, method):
    arena(str(corpus(3)), f"--mt-method={method(SHAKY)}").outcomes(passed=3)


def test_without_metrics_there_is_still_a_card(arena, corpus, method):
    result = arena(str(corpus(3)), f"--mt-method={method(GOOD)}", "--mt-metrics=none")
    assert result.code == 0, result.text
    assert result.card["scores"]["chrf_plus_plus"] is None
    assert "chrf_plus_plus" in result.card["metric_availability"]
