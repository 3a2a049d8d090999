"""Beside other plugins and options of pytest."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.plugin.conftest import Result

HANGS = """
import time
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e2":
            time.sleep(60)
        return [{"id": e["id"], "predicted": "x"} for e in entries]
"""
BREAKS = """
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] in ("e2", "e4", "e6"):
            raise ValueError("no <words> & \\x1b[31m")
        return [{"id": e["id"], "predicted": "x"} for e in entries]
"""
DIES = """
import os
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e3":
            os._exit(1)
        return [{"id": e["id"], "predicted": "x"} for e in entries]
"""


def statuses(result):
    return {row["entry_id"]: row["status"] for row in result.rows}


def test_pytest_timeout_ends_the_item_and_nothing_else(arena, corpus, method):
    result = arena(
        str(corpus(4)),
        f"--mt-method={method(HANGS)}",
        "--mt-batch-size=1",
        "--timeout=2",
        "--timeout-method=signal",
    )
    assert result.code == 1, result.text
    result.outcomes(passed=3, failed=1)
    assert statuses(result) == {"e1": "ok", "e2": "timeout", "e3": "ok", "e4": "ok"}
    assert result.card["complete"]
    assert result.card["scores"]["evaluated"] == 4
    assert result.run.duration < 40


def test_junit_xml_is_well_formed_and_holds_no_payload(arena, corpus, method, pytester, mode):
    result = arena(
        str(corpus(4)),
        f"--mt-method={method(BREAKS)}",
        "--mt-batch-size=1",
        "--junitxml=j.xml",
        *mode,
    )
    assert result.code == 1
    text = (pytester.path / "j.xml").read_text(encoding="utf-8")
    suite = ElementTree.fromstring(text)[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "0")
    assert sorted(case.get("name") for case in suite.iter("testcase")) == ["e1", "e2", "e3", "e4"]
    assert "no <words> & " in "".join(suite.itertext())
    assert "mtarena_" not in text
    assert "statistics" not in text
    assert "\x1b" not in text


@pytest.fixture
def cached(arena, pytester):
    """As arena, with pytest's cache, which a later ``-p`` cannot bring back."""

    def run(*args):
        for old in (pytester.path / "eval/logs/harness").glob("*.json"):
            old.unlink()
        quick = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-W", "error")
        return Result(pytester.runpytest_subprocess(*quick, *args), pytester.path)

    return run


def test_failed_first_is_an_order_and_no_more(cached, corpus, method):
    arguments = (str(corpus(6)), f"--mt-method={method(BREAKS)}", "--mt-batch-size=1")
    cached(*arguments).outcomes(passed=3, failed=3)
    result = cached(*arguments, "--ff", "-v")
    assert result.text.index("::e6 FAILED") < result.text.index("::e1 PASSED")
    assert list(statuses(result)) == [f"e{n}" for n in range(1, 7)]
    assert result.card["complete"]


def test_last_failed_is_a_selection(cached, corpus, method):
    arguments = (str(corpus(6)), f"--mt-method={method(BREAKS)}", "--mt-batch-size=1")
    cached(*arguments)
    result = cached(*arguments, "--lf")
    assert result.run.parseoutcomes()["failed"] == 3
    assert list(statuses(result)) == ["e2", "e4", "e6"]
    assert result.card["selection"]["n_selected"] == 3


def test_maxfail_ends_the_run_and_the_card_says_so(arena, corpus, method):
    result = arena(
        str(corpus(30)),
        f"--mt-method={method(BREAKS)}",
        "--mt-batch-size=1",
        "--mt-concurrency=2",  # what is in flight is kept, and that must not be everything
        "--maxfail=2",
    )
    assert result.code in (1, 2), result.text
    card = result.card
    assert not card["complete"]
    assert card["selection"]["n_selected"] == 30
    assert [row["status"] for row in card["results"][:4]] == ["ok", "error", "ok", "error"]
    assert card["scores"]["chrf_plus_plus"] is None
    assert result.journals


def test_without_a_new_worker_after_a_crash_the_run_is_incomplete(arena, corpus, method):
    result = arena(
        str(corpus(12)),
        f"--mt-method={method(DIES)}",
        "--mt-batch-size=1",
        "-n2",
        "--max-worker-restart=0",
    )
    assert result.code not in (0, 5), result.text
    assert result.cards, result.text
    card = result.card
    assert statuses(result).get("e3") != "ok"
    assert card["complete"] == (len(card["results"]) == 12)
    if not card["complete"]:
        assert card["scores"]["chrf_plus_plus"] is None
        assert result.journals


@pytest.mark.parametrize(
    "options",
    [["-p", "randomly", "-p", "no:randomly"], ["-p", "randomly"], ["--dist=loadscope"]],
    ids=["in order", "shuffled", "loadscope"],
)
def test_order_and_distribution_of_others_change_nothing(arena, corpus, method, options):
    directory = method(BREAKS)
    result = arena(str(corpus(9)), f"--mt-method={directory}", "--mt-batch-size=1", "-n2", *options)
    assert result.code == 1, result.text
    assert list(statuses(result)) == [f"e{n}" for n in range(1, 10)]
    assert [id for id, status in statuses(result).items() if status == "error"] == [
        "e2",
        "e4",
        "e6",
    ]
    assert result.card["complete"]
    assert ("--randomly-seed=" in result.text) == (options == ["-p", "randomly"])


@pytest.mark.parametrize(
    "options", [["-p", "no:terminal"], ["-q", "-q"], ["--tb=no"], ["-s"]], ids=" ".join
)
def test_whatever_is_shown_the_card_is_whole(arena, corpus, method, options):
    result = arena(str(corpus(3)), f"--mt-method={method(BREAKS)}", "--mt-batch-size=1", *options)
    assert result.code == 1, result.text
    assert statuses(result) == {"e1": "ok", "e2": "error", "e3": "ok"}
    assert result.card["complete"]
    assert "Traceback" not in result.text
    if options == ["-p", "no:terminal"]:
        assert result.text.strip() == ""
    if options == ["--tb=no"]:
        assert "ValueError" not in result.text.partition("short test summary")[0]
