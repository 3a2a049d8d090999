"""People's own tests over a suite, and the attempts that they share with the suite's items."""

from __future__ import annotations

import pytest

COUNTING = """
import os
from pathlib import Path

class Method:
    async def translate(self, entries, config):
        with open(os.environ["CALLS"], "a") as file:
            file.write("".join(e["id"] + "\\n" for e in entries))
        return [
            {"id": e["id"], "predicted": e["source"].replace("word number", "palavra número")}
            for e in entries
        ]
"""

TESTS = """
import asyncio
import pytest

def test_entry(mt_entry):
    assert mt_entry.source.startswith("word number")
    assert mt_entry.reference.startswith("palavra")
    assert mt_entry.target_language.code == "por"
    assert mt_entry.labels["segment"] == "development"

def test_length(mt_entry, mt_attempt):
    assert len(mt_attempt.output) < 30
    assert not mt_attempt.output.endswith("3")

@pytest.mark.asyncio
async def test_grade(mt_attempt, mt_grade):
    await asyncio.sleep(0)
    assert mt_grade.scores["chrf_plus_plus"] == 100

@pytest.mark.parametrize("least", [1, 2])
def test_with_more_parameters(mt_grade, least):
    assert mt_grade.scores["length_ratio"] * 10 > least
"""


@pytest.fixture
def calls(pytester, monkeypatch):
    """The ids that the method was asked for, in order."""
    path = pytester.path / "calls.txt"
    monkeypatch.setenv("CALLS", str(path))
    return lambda: path.read_text().split() if path.exists() else []


def test_functions_and_the_suites_own_items_share_attempts(
    arena, corpus, method, pytester, calls, mode
):
    pytester.makepyfile(test_mine=TESTS)
    result = arena(
        str(corpus(6)),
        "test_mine.py",
        f"--mt-method={method(COUNTING)}",
        "--mt-batch-size=2",
        *mode,
    )
    assert result.code == 1, result.text
    result.outcomes(passed=6 + 6 + 5 + 6 + 12, failed=1)
    assert "test_length[tiny:e3]" in result.text
    assert "assert not True" in result.text
    assert sorted(calls()) == [f"e{i}" for i in range(1, 7)], "nobody is asked twice"
    card = result.card
    assert card["complete"]
    assert [row["entry_id"] for row in card["results"]] == [f"e{i}" for i in range(1, 7)]


def test_functions_alone_take_the_default_suite(arena, corpus, method, pytester, calls, mode):
    (pytester.path / "suites/translation").mkdir(parents=True)
    corpus(4, "suites/translation/tiny.json")
    pytester.makepyfile(test_mine=TESTS)
    result = arena(
        "test_mine.py", f"--mt-method={method(COUNTING)}", "-k", "grade and not e2", *mode
    )
    assert result.code == 0, result.text
    assert "3 passed" in result.text
    assert "e1" in calls()
    assert len(calls()) == len(set(calls()))
    assert result.cards == []


def test_every_contestant_has_its_own_tests(arena, corpus, method, pytester, calls):
    pytester.makepyfile(test_mine=TESTS)
    one, other = method(COUNTING, "one"), method(COUNTING, "other")
    result = arena(
        "--mt-corpus=" + str(corpus(2)), "test_mine.py::test_entry", "-v",
        f"--mt-method={one}", f"--mt-method={other}",
    )  # fmt: skip
    assert result.code == 0, result.text
    for name in ("tiny:e1@one", "tiny:e2@one", "tiny:e1@other", "tiny:e2@other"):
        assert f"test_entry[{name}] PASSED" in result.text


def test_a_failed_attempt_fails_the_test_and_says_why(arena, corpus, method, pytester, mode):
    broken = """
class Method:
    def translate(self, entries, config):
        raise RuntimeError("no model today")
"""
    pytester.makepyfile(test_mine=TESTS)
    result = arena(
        str(corpus(2)), "test_mine.py::test_length", f"--mt-method={method(broken)}", *mode
    )
    assert result.code == 1
    result.outcomes(failed=2, errors=2)
    assert result.text.count("no model today") >= 2
    assert "fixtures.py" not in result.text


def test_without_a_contestant_such_tests_are_skipped(arena, corpus, pytester):
    pytester.makepyfile(test_mine="def test_it(mt_grade): pass\ndef test_plain(): pass\n")
    result = arena("test_mine.py", "-rs")
    assert result.code == 0, result.text
    result.outcomes(passed=1, skipped=1)
    assert "needs a contestant: name it with --mt-method" in result.text


def test_without_a_suite_the_collection_says_so(arena, method, pytester):
    pytester.makepyfile(test_mine=TESTS)
    result = arena("test_mine.py", f"--mt-method={method(COUNTING)}")
    assert result.code != 0
    assert "the default suite" in result.text
    assert "Traceback" not in result.text


def test_a_rerun_of_a_function_asks_nobody_again(arena, corpus, method, pytester, calls):
    flaky = """
tries = []

def test_flaky(mt_attempt):
    tries.append(mt_attempt.id)
    assert tries.count(mt_attempt.id) > 1
"""
    pytester.makepyfile(test_mine=flaky)
    result = arena(str(corpus(3)), "test_mine.py", f"--mt-method={method(COUNTING)}", "--reruns=2")
    assert result.code == 0, result.text
    assert sorted(calls()) == ["e1", "e2", "e3"]


def test_shards_and_filters_hold_for_functions(arena, corpus, method, pytester, calls):
    pytester.makepyfile(test_mine="def test_it(mt_attempt): pass\n")
    mine = method(COUNTING)
    for number in (1, 2):
        result = arena(
            str(corpus(7)), "test_mine.py", f"--mt-method={mine}", "--mt-batch-size=2",
            f"--mt-shard={number}/2", "--mt-ids=e1,e2,e3,e4,e5,e6",
        )  # fmt: skip
        assert result.code == 0, result.text
    assert sorted(calls()) == [f"e{i}" for i in range(1, 7)]


def test_resumed_answers_serve_functions(arena, corpus, method, pytester, calls):
    pytester.makepyfile(test_mine="def test_it(mt_attempt):\n    assert mt_attempt.output\n")
    fails_once = COUNTING.replace(
        "        return [",
        "        if entries[0]['id'] == 'e3' and not os.path.exists('done'):\n"
        "            open('done', 'w').close()\n"
        "            raise RuntimeError('once')\n"
        "        return [",
    )
    arguments = (str(corpus(4)), f"--mt-method={method(fails_once)}", "--mt-batch-size=2")
    first = arena(*arguments)
    assert first.code == 1
    [journal] = first.journals
    again = arena(*arguments, "test_mine.py", f"--mt-resume={journal}", fresh=False)
    assert again.code == 0, again.text
    assert calls().count("e1") == 1
    assert calls().count("e3") == 2
