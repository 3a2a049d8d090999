"""Apertium: its framing on its own, and the real programs where they are installed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.contestants.sources import import_private
from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import RunConfig
from tests.unit.methods.conftest import METHODS, entries_of

apertium = import_private(METHODS / "apertium", "apertium", "framing")


def needs(*modes):
    missing = [mode for mode in modes if not (apertium.MODES / f"{mode}.mode").is_file()]
    return pytest.mark.skipif(bool(missing), reason=f"Apertium modes not installed: {missing}")


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXT.map(str.strip).filter(bool), max_size=6))
def test_framing_gives_the_segments_back(segments):
    assert apertium.decode(apertium.encode(segments), len(segments)) == segments


@pytest.mark.parametrize(
    "answer",
    [
        lambda parts: parts[:1] + parts[2:],
        lambda parts: [parts[0], parts[0], *parts[1:]],
        lambda parts: [parts[1], parts[0], *parts[2:]],
        lambda parts: [*parts[:-1], b"one more", b""],
        lambda parts: parts[:2],
        lambda parts: [b"", *parts],
        lambda parts: [b""],
    ],
    ids=["swallowed", "doubled", "swapped", "added", "short", "shifted", "silent"],
)
def test_an_answer_out_of_step_is_an_error_and_never_a_shift(answer):
    parts = apertium.encode(["one", "two", "three"]).split(b"\0")
    with pytest.raises(apertium.PipelineError):
        apertium.decode(b"\0".join(answer(parts)), 3)


def test_empty_segments_at_the_end_are_a_habit_of_the_programs():
    assert apertium.decode(apertium.encode(["one"]) + b"\0\0", 1) == ["one"]


def test_the_package_to_install_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(apertium, "MODES", tmp_path)
    with pytest.raises(LookupError, match="apt-get install apertium-por-glg or apertium-pt-gl"):
        apertium.find_mode("por", "glg")
    (tmp_path / "pt-gl.mode").write_text("cat")
    assert apertium.find_mode("por", "glg") == "pt-gl"
    assert apertium.find_mode("pt-BR", "gl") == "pt-gl"
    (tmp_path / "por-glg.mode").write_text("cat")
    assert apertium.find_mode("por", "glg") == "por-glg"
    with pytest.raises(LookupError, match="installed: por-glg, pt-gl"):
        apertium.pipeline("../pt-gl")


def test_without_apertium_the_message_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="apt-get install apertium"):
        load_method(METHODS / "apertium", {})


@needs("pt-gl")
def test_a_batch_says_what_single_texts_say(outputs):
    texts = ["A casa é branca.", "Não", "Onde está o livro", "Eu tenho dois gatos!", "três"]
    together = outputs("apertium", texts, "por>glg")
    assert together == outputs("apertium", texts, "por>glg", batch=1)
    assert together == outputs("apertium", texts[::-1], "por>glg")[::-1]
    document = subprocess.run(
        ["apertium", "-u", "pt-gl"], input=texts[0], capture_output=True, text=True, check=True
    )
    assert together[0] == document.stdout.strip()


@needs("pt-gl")
def test_texts_with_special_characters_come_back_in_their_own_place(outputs):
    texts = [
        "", "  ", "[x]", "a {0} ^b$ \\ / @ < > ~", "casa\ncasa", " casa ", "\tcasa..", "nul\0nul",
        "]] casa [[", "\\[", "😀 casa", "casa [][segment 3]",
    ]  # fmt: skip
    said = outputs("apertium", texts, "por>glg")
    assert said[:5] == ["", "  ", "[x]", "a {0} ^b$ \\ / @ < > ~", "casa\ncasa"]
    assert said[5:7] == [" casa ", "\tcasa.."]
    assert said[8:] == texts[8:]


@pytest.fixture
def mode(tmp_path, monkeypatch):
    """Run a shell command as if it were the pipeline of a mode; return how to ask it."""

    def mode(command, texts, limit=20.0):
        method = load_method(METHODS / "apertium", {"mode": "fake"})
        module = sys.modules[type(method._translate.__self__).__module__]
        monkeypatch.setattr(module, "pipeline", lambda name: command)

        async def run():
            async with asyncio.timeout(limit):
                return await method.attempt(entries_of(texts), RunConfig())

        return asyncio.run(run())

    return mode


needs_programs = pytest.mark.skipif(
    not Path("/usr/bin/lt-proc").exists(), reason="apertium is not installed"
)


@needs_programs
def test_a_pipeline_that_fails_says_so_for_each_entry(mode):
    attempts = mode("cat >/dev/null; echo it broke >&2; exit 3", ["a", "b"])
    assert [a.failure.kind for a in attempts] == ["reported"] * 2
    assert "status 3: it broke" in attempts[0].failure.message


@needs_programs
def test_one_text_that_breaks_the_pipeline_costs_its_entry_only(mode):
    command = 'input=$(mktemp); cat >"$input"; grep -q poison "$input" && exit 4; cat "$input"'
    attempts = mode(command, ["fine", "poison", "good"])
    assert [a.output for a in attempts] == ["fine", None, "good"]


@needs_programs
def test_a_failure_early_in_the_pipeline_is_not_hidden_by_the_last_program(mode):
    (attempt,) = mode("(cat; exit 5) | cat", ["a"])
    assert "status 5" in attempt.failure.message


@needs_programs
@pytest.mark.parametrize("stubborn", [False, True])
def test_a_time_limit_ends_all_programs_of_a_pipeline(mode, tmp_path, stubborn):
    trap = "trap '' TERM; " if stubborn else ""
    note = tmp_path / "pids"
    command = f"(echo $BASHPID >>{note}; {trap}sleep 60) | (echo $BASHPID >>{note}; {trap}sleep 60)"
    with pytest.raises(TimeoutError):
        mode(command, ["a"], limit=1.0)
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 2
    patience = time.monotonic() + 5
    while any(map(is_running, pids)) and time.monotonic() < patience:
        time.sleep(0.02)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that nobody has reaped yet is over, but is still in the table.
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state not in ("Z", "X")
