"""What the tests of contestants share: directories with methods, and a way to ask them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_mtarena.records import RunConfig

ECHO = """
class Echo:
    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"]} for e in entries]
"""


@pytest.fixture
def make_method(tmp_path):
    """Write a method directory: manifest keys, and files by name."""

    def make(code=ECHO, *, directory="mine", files=None, module="pipeline", **manifest):
        root = tmp_path / directory
        root.mkdir(exist_ok=True)
        given = {"name": "Mine", "entry_point": f"{module}:Echo", **manifest}
        given = {key: value for key, value in given.items() if value is not ...}
        (root / "method.json").write_text(json.dumps(given), "utf-8")
        for name, text in {f"{module.replace('.', '/')}.py": code, **(files or {})}.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), "utf-8")
        return root

    return make


@pytest.fixture
def entries():
    return [
        {"id": "a", "index": 0, "source": "one"},
        {"id": "b", "index": 1, "source": "two\nlines\tand a tab"},
        {"id": "c", "index": 2, "source": "three"},
    ]


@pytest.fixture
def ask():
    """Ask a contestant for attempts and return them by id."""

    def ask(contestant, entries, **config):
        attempts = asyncio.run(contestant.attempt(entries, RunConfig(**config)))
        assert [attempt.id for attempt in attempts] == [entry["id"] for entry in entries]
        return {attempt.id: attempt for attempt in attempts}

    return ask
