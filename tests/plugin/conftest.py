"""Tests of the plugin run real pytest: in one process, with ``-n0`` and with ``-n2``."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (pytester forgets what a test imports, and numpy loads only once)
import pytest

# A shell that starts us in the background may have us ignore SIGINT, and what we start inherits
# that: then no run could be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


HANGS_AFTER = 200
"""Seconds after which a session that does not end fails its test."""


@dataclass
class Result:
    """What a session of the plugin left behind."""

    run: pytest.RunResult
    directory: Path

    @property
    def code(self) -> int:
        return int(self.run.ret)

    @property
    def text(self) -> str:
        return self.run.stdout.str() + self.run.stderr.str()

    @property
    def cards(self) -> list[dict[str, Any]]:
        paths = sorted((self.directory / "eval/logs/harness").glob("*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    @property
    def card(self) -> dict[str, Any]:
        [card] = self.cards
        return card

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.card["results"]

    @property
    def journals(self) -> list[Path]:
        return sorted((self.directory / "eval/logs/harness").glob("*.journal.jsonl"))

    def outcomes(self, **expected: int) -> None:
        found = self.run.parseoutcomes()
        found.pop("seconds", None)
        assert {k: v for k, v in found.items() if v} == expected


@pytest.fixture(params=["plain", "-n0", "-n2"])
def mode(request: pytest.FixtureRequest) -> list[str]:
    """How pytest is run."""
    return {"plain": [], "-n0": ["-n0"], "-n2": ["-n2"]}[request.param]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let child processes keep compiled modules: the many sessions start twice as fast."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


@pytest.fixture
def arena(pytester: pytest.Pytester) -> Callable[..., Result]:
    """Run pytest in a directory of its own and return what it left behind."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    def run(*args: str, fresh: bool = True) -> Result:
        if fresh:
            for old in (pytester.path / "eval/logs/harness").glob("*.json"):
                old.unlink()
        quick = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        options = (*quick, "-W", "error", "-W", "ignore::pytest_mtarena.ArenaWarning", *args)
        done = pytester.runpytest_subprocess(*options, timeout=HANGS_AFTER)
        return Result(done, pytester.path)

    return run


@pytest.fixture
def corpus(pytester: pytest.Pytester) -> Callable[..., Path]:
    """Write a small English-Portuguese suite of n entries."""

    def write(n: int = 7, name: str = "tiny.json", **envelope: Any) -> Path:
        entries = [
            {
                "id": f"e{i}",
                "source": f"word number {i}",
                "reference": f"palavra número {i}",
                "difficulty": i % 3 + 1,
                "domain": "conv" if i % 2 else "tech",
                "segment": "development",
            }
            for i in range(1, n + 1)
        ]
        pair = {
            "source": "eng",
            "target": "por",
            "source_name": "English",
            "target_name": "Portuguese",
        }
        suite = {"corpus_id": Path(name).stem, "language_pair": pair, "entries": entries}
        path = pytester.path / name
        path.write_text(json.dumps({**suite, **envelope}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def method(pytester: pytest.Pytester) -> Callable[..., Path]:
    """Write a method directory; ``body`` is the body of the module with class ``Method``."""

    def write(body: str, name: str = "mine", **manifest: Any) -> Path:
        directory = pytester.path / "methods" / name
        directory.mkdir(parents=True, exist_ok=True)
        described = {"name": name, "method_id": name, "entry_point": "module:Method", **manifest}
        (directory / "method.json").write_text(json.dumps(described), encoding="utf-8")
        (directory / "module.py").write_text(body, encoding="utf-8")
        return directory

    return write


GOOD = """
class Method:
    async def translate(self, entries, config):
        return [
            {"id": e["id"], "predicted": e["source"].replace("word number", "palavra número")}
            for e in entries
        ]
"""


@pytest.fixture
def good(method: Callable[..., Path]) -> Path:
    """A method that is right about the small suite."""
    return method(GOOD)


@pytest.fixture
def analyser(tmp_path: Path) -> Path:
    """An analyser that knows two words."""
    if shutil.which("hfst-strings2fst") is None:
        pytest.skip("needs the Debian package hfst")
    words = tmp_path / "words"
    words.write_text("palavra\nnúmero\n", encoding="utf-8")
    made = tmp_path / "words.hfstol"
    pipe = f"hfst-strings2fst -j -i {words} | hfst-fst2fst -O -o {made}"
    subprocess.run(["sh", "-c", pipe], check=True, capture_output=True)
    return made
