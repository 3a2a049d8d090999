"""mt-eval test over what real sessions leave behind: cards and journals, without the suite."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

METHOD = """
import os
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e5" and not os.path.exists({mended!r}):
            raise ValueError("no")
        return [{{"id": e["id"], "predicted": e["source"].replace("word", "palavra")}}
                for e in entries]
"""

METRICS = """
from pytest_mtarena import mean_metric
def mtarena_metrics():
    def vowels(entry):
        if entry.id == "e2":
            raise LookupError("no value")
        return sum(c in "aeiou" for c in entry.output)
    return {"vowels": mean_metric("vowels", vowels, scale="count", direction="lower")}
"""


@pytest.fixture
def session(arena, corpus, method, pytester):
    """A session of which one entry fails, so that its journal stays; its suite is gone then."""
    directory = method(METHOD.format(mended=str(pytester.path / "mended")))

    def run(*args, n=6):
        path = corpus(n)
        options = [str(path), f"--mt-method={directory}", "--mt-batch-size=1"]
        result = arena(*options, "--mt-concurrency=1", "--mt-n-bootstrap=50", *args)
        text = path.read_text()
        path.unlink()
        return result, options, lambda: path.write_text(text)

    return run


@pytest.fixture
def rescored(pytester):
    """Run mt-eval test in the directory of the sessions; return code, output and new cards."""

    def run(*args):
        command = [sys.executable, "-W", "error", "-m", "pytest_mtarena.cli", "test"]
        done = subprocess.run(
            [*command, *map(str, args), "-o", "again"],
            capture_output=True,
            text=True,
            cwd=pytester.path,
        )
        paths = sorted((pytester.path / "again").glob("*.json"))
        assert "Traceback" not in done.stderr
        return done, [json.loads(path.read_text(encoding="utf-8")) for path in paths], paths

    return run


def verify(paths, cwd):
    command = [sys.executable, "-m", "pytest_mtarena.cli", "verify", "-p", "conftest.py"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


def test_card_and_journal_give_the_card_of_the_run_again(session, rescored, mode, pytester):
    result, *_ = session(*mode)
    [journal] = result.journals
    before = result.card
    [path] = (pytester.path / "eval/logs/harness").glob("*.json")
    done, cards, paths = rescored(path, journal)
    assert done.returncode == 0, done.stderr
    assert len(cards) == 2
    for card in cards:
        for key in ("dataset", "config", "selection", "fingerprint", "setup_fingerprint"):
            shown = {k: v for k, v in card[key].items() if k != "peak_in_flight"}
            assert shown == {k: v for k, v in before[key].items() if k != "peak_in_flight"}, key
        for key in ("results", "totals", "directions", "caveats", "provenance", "complete"):
            assert card[key] == before[key], key
        timed = ("_per_minute", "_per_second")
        for key, value in before["scores"].items():
            assert key.endswith(timed) or card["scores"][key] == value, key
    (pytester.path / "conftest.py").write_text("")
    code, text = verify(paths, pytester.path)
    assert code == 0, text


def test_the_journal_of_a_session_that_was_killed_is_an_incomplete_card(session, rescored):
    result, *_ = session()
    [journal] = result.journals
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([header, *lines[:3], lines[3][:-40]]))
    done, [card], _ = rescored(journal)
    assert done.returncode == 0, done.stderr
    assert not card["complete"]
    assert (card["selection"]["n_rows"], card["selection"]["n_selected"]) == (3, 6)
    assert [row["entry_id"] for row in card["results"]] == ["e1", "e2", "e3"]
    assert card["scores"]["total"] == 3
    assert "INCOMPLETE" in done.stdout


def test_a_shard_and_a_resumed_session_keep_their_journals_readable(
    session, arena, rescored, pytester
):
    result, options, restore = session("-x", "--mt-shard=1/1")
    [journal] = result.journals
    restore()
    again = arena(
        *options,
        "--mt-concurrency=1",
        "--mt-n-bootstrap=50",
        "--mt-shard=1/1",
        f"--mt-resume={journal}",
    )
    assert again.card["complete"]
    done, [card], _ = rescored(journal)
    assert done.returncode == 0, done.stderr
    assert card["complete"]
    assert card["selection"]["shard"] == [1, 1]
    assert card["results"] == again.rows


def test_every_run_of_a_journal_becomes_a_card(arena, corpus, method, rescored):
    bad = method(
        "class Method:\n    def translate(self, entries, config):\n        return 1\n", "bad"
    )
    good = method(METHOD.format(mended="/"), "good")
    result = arena(str(corpus(3)), f"--mt-method={bad}", f"--mt-method={good}")
    [journal] = result.journals
    done, cards, paths = rescored(journal)
    assert done.returncode == 0, done.stderr
    assert len(paths) == 2
    assert sorted(card["config"]["method_name"] for card in cards) == ["bad", "good"]
    assert {row["status"] for card in cards for row in card["results"]} == {"ok", "error"}


def test_a_journal_of_an_older_header_is_one_line(session, rescored, pytester):
    result, *_ = session()
    [journal] = result.journals
    first, *rest = journal.read_text().splitlines(keepends=True)
    header = json.loads(first)
    del header["cards"]
    old = pytester.path / "old.journal.jsonl"
    old.write_text(json.dumps(header) + "\n" + "".join(rest))
    done, cards, _ = rescored(old)
    assert done.returncode == 2
    assert cards == []
    [line] = done.stderr.splitlines()
    assert "finish it with --mt-resume" in line


def test_a_metric_of_a_conftest_is_added_and_one_that_raises_is_null(session, rescored, pytester):
    result, *_ = session()
    assert "vowels" not in result.card["scores"]
    pytester.makeconftest(METRICS)
    [path] = (pytester.path / "eval/logs/harness").glob("*.json")
    done, [card], paths = rescored(path, "-p", "conftest.py", "--fail-under=vowels=1")
    assert done.returncode == 1, done.stderr
    gate = f"FAILED gate: vowels {card['scores']['vowels']:g}, at most 1 is asked for"
    assert gate in done.stdout.splitlines()
    assert card["directions"]["vowels"] == "lower"
    by_id = {row["entry_id"]: row for row in card["results"]}
    assert by_id["e2"]["plugin_metrics"]["vowels"] is None
    assert "LookupError: no value" in by_id["e2"]["metric_reasons"]["vowels"]
    assert by_id["e1"]["plugin_metrics"]["vowels"] > 0
    code, text = verify(paths, pytester.path)
    assert code == 0, text
