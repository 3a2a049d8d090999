"""Death and interruption: nothing that was finished is lost, and a resumed run is the same run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_mtarena.run.journal import read_rows

KILLER = """
import os
class Method:
    def translate(self, entries, config):
        with open({log!r}, "a") as file:
            file.write(" ".join(e["id"] for e in entries) + "\\n")
        if any(e["id"] == "e3" for e in entries):
            os._exit(1)
        return [{{"id": e["id"], "predicted": e["source"]}} for e in entries]
"""


@pytest.mark.parametrize("dist", ["load", "loadfile"])
@pytest.mark.parametrize("size", [1, 3])
def test_an_entry_that_kills_its_worker_is_the_only_one_lost(
    arena, corpus, method, pytester, size, dist
):
    log = pytester.path / "calls.txt"
    directory = method(KILLER.format(log=str(log)))
    result = arena(
        str(corpus(6)),
        f"--mt-method={directory}",
        f"--mt-batch-size={size}",
        "--mt-concurrency=2",
        "-n2",
        f"--dist={dist}",
    )
    assert result.code == 1, result.text
    status = {row["entry_id"]: row["status"] for row in result.rows}
    assert status.pop("e3") == "crashed"
    assert set(status.values()) == {"ok"}
    assert len(status) == 5
    card = result.card
    assert card["complete"]
    assert card["scores"]["evaluated"] == 6
    calls = [line for line in log.read_text().splitlines() if "e3" in line.split()]
    assert len(calls) <= 2 if size == 1 else len(calls) == 2


SLOW = """
import asyncio, os
class Method:
    async def translate(self, entries, config):
        with open({log!r}, "a") as file:
            file.write(" ".join(e["id"] for e in entries) + "\\n")
        number = int(entries[0]["id"][1:])
        if number > {quick} and not os.path.exists({go!r}):
            await asyncio.sleep(30)
        return [{{"id": e["id"], "predicted": e["source"].replace("word", "palavra")}}
                for e in entries]
"""


@pytest.fixture
def slow(method, pytester):
    def make(quick: int):
        log, go = pytester.path / "calls.txt", pytester.path / "go"
        return method(SLOW.format(log=str(log), go=str(go), quick=quick)), log, go

    return make


def start(pytester, *args):
    quick = ["randomly", "cacheprovider", "hypothesispytest"]
    without = [word for name in quick for word in ("-p", f"no:{name}")]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *without, *args],
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for_rows(pytester, count, process, seconds=40):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for path in (pytester.path / "eval/logs/harness").glob("*.journal.jsonl"):
            if len(list(read_rows(path))) >= count:
                return path
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.1)
    raise AssertionError(f"no {count} rows within {seconds} s")


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_an_interrupted_run_says_so_and_goes_on_where_it_was(
    arena, corpus, slow, pytester, workers, sig
):
    directory, log, go = slow(quick=3)
    args = [str(corpus(6)), f"--mt-method={directory}", "--mt-batch-size=1", *workers]
    process = start(pytester, *args)
    journal = wait_for_rows(pytester, 3, process)
    began = time.monotonic()
    process.send_signal(sig)
    text, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 12
    assert process.returncode == 2, text
    from tests.plugin.conftest import Result

    card = Result(None, pytester.path).card  # type: ignore[arg-type]
    assert card["interrupted"]
    assert not card["complete"]
    assert len(card["results"]) == 3
    assert card["scores"]["chrf_plus_plus"] is None
    assert "3 of 6" in card["metric_availability"]["chrf_plus_plus"]
    assert "--mt-resume" in text
    log.unlink()
    go.touch()
    result = arena(*args, f"--mt-resume={journal}")
    assert result.code == 0, result.text
    assert result.card["complete"]
    assert sorted(log.read_text().split()) == ["e4", "e5", "e6"]
    whole = arena(*args).card
    for key in ("chrf_plus_plus", "bleu", "exact_match_rate", "confidence_intervals"):
        assert result.card["scores"][key] == whole["scores"][key]
    assert [r["predicted"] for r in result.card["results"]] == [
        r["predicted"] for r in whole["results"]
    ]
    assert result.journals == []


def test_kill_9_leaves_a_journal_to_go_on_with(arena, corpus, slow, pytester):
    directory, log, go = slow(quick=4)
    args = [str(corpus(8)), f"--mt-method={directory}", "--mt-batch-size=2"]
    process = start(pytester, *args)
    journal = wait_for_rows(pytester, 4, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    log.unlink()
    go.touch()
    result = arena(*args, f"--mt-resume={journal}", "-n2")
    assert result.code == 0, result.text
    assert result.card["complete"]
    assert sorted(log.read_text().splitlines()) == ["e5 e6", "e7 e8"]
    assert [row["entry_id"] for row in result.rows] == [f"e{i}" for i in range(1, 9)]


def test_a_journal_of_another_setup_is_refused(arena, corpus, slow, pytester):
    directory, _, _ = slow(quick=3)
    args = [str(corpus(6)), f"--mt-method={directory}"]
    process = start(pytester, *args, "--mt-batch-size=1")
    journal = wait_for_rows(pytester, 3, process)
    process.kill()
    process.communicate()
    result = arena(*args, "--mt-batch-size=2", f"--mt-resume={journal}")
    assert result.code != 0
    assert "belongs to another setup: batch size 1 there, 2 here" in result.text
    assert "Traceback" not in result.text


def test_failed_rows_of_a_journal_are_tried_again(arena, corpus, method, pytester):
    mark = pytester.path / "mended"
    directory = method(
        f"""
import os, time
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e2" and not os.path.exists({str(mark)!r}):
            raise ValueError("not yet")
        if entries[0]["id"] == "e3" and not os.path.exists({str(mark)!r}):
            time.sleep(60)
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""
    )
    args = [str(corpus(3)), f"--mt-method={directory}", "--mt-batch-size=1"]
    process = start(pytester, *args)
    journal = wait_for_rows(pytester, 2, process)
    process.kill()
    process.communicate()
    mark.touch()
    result = arena(*args, f"--mt-resume={journal}")
    assert [row["status"] for row in result.rows] == ["ok"] * 3


@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_x_stops_and_the_card_says_that_it_is_not_all(arena, corpus, method, workers):
    directory = method(
        """
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e3":
            raise ValueError("no")
        return [{"id": e["id"], "predicted": "x"} for e in entries]
"""
    )
    result = arena(str(corpus(60)), f"--mt-method={directory}", "--mt-batch-size=1", "-x", *workers)
    assert result.code in (1, 2), result.text
    card = result.card
    assert not card["complete"]
    assert card["selection"]["n_selected"] == 60
    assert card["scores"]["bleu"] is None
    assert result.journals
