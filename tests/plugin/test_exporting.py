"""What a session measured is exported, and what was exported is measured again: the same."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.cli import main
from tests.plugin.test_models import KEY, Server, asked, server

__all__ = ["server"]


def card_of(directory: Path) -> tuple[str, dict[str, Any]]:
    [path] = (directory / "eval/logs/harness").glob("*.json")
    return str(path), json.loads(path.read_text(encoding="utf-8"))


def everything(directory: Path) -> str:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def test_an_exported_method_is_the_contestant_that_was_measured(arena, corpus, good, pytester):
    suite = str(corpus(9))
    first = arena(suite, f"--mt-method={good}", "--mt-method-arg=mode=loud")
    path, card = card_of(pytester.path)
    out = pytester.path / "shipped"
    assert main(["export", path, "--name=mine", f"--method={good}", "-o", str(out)]) == 0
    assert str(pytester.path) not in everything(out)
    second = arena(suite, f"--mt-method={out}", "--mt-method-arg=mode=loud")
    assert second.code == first.code == 0, second.text
    assert second.card["model_slug"] == card["model_slug"]
    assert second.card["setup_fingerprint"] == card["setup_fingerprint"]
    manifest = json.loads((out / "method.json").read_text(encoding="utf-8"))
    assert manifest["options"] == {"mode": "loud"}
    figures = manifest["benchmarks"]["pt"]
    assert figures["card"]["setup_fingerprint"] == second.card["setup_fingerprint"]["hash"]


def test_a_method_that_was_edited_since_is_not_exported(arena, corpus, good, pytester, capsys):
    arena(str(corpus(3)), f"--mt-method={good}")
    path, _ = card_of(pytester.path)
    (good / "module.py").write_text("class Method: ...\n", encoding="utf-8")
    assert main(["export", path, "--name=mine", f"--method={good}", "-o", "shipped"]) == 2
    assert "not what" in capsys.readouterr().err


@pytest.mark.parametrize("coaching", [None, "Be formal.\n"])
def test_the_command_of_the_readme_asks_a_model_the_same_again(
    arena, corpus, server: Server, pytester, monkeypatch, coaching
):
    suite = str(corpus(9))
    options = ["--mt-model=tiny-model", "--mt-batch-size=4", "--mt-temperature=0.5"]
    if coaching is not None:
        (pytester.path / "house.txt").write_text(coaching, encoding="utf-8")
        options += [f"--mt-coaching-file={pytester.path / 'house.txt'}", "--mt-structured"]
    assert arena(suite, *options, *asked(server)).code == 0
    path, card = card_of(pytester.path)
    out = pytester.path / "shipped"
    assert main(["export", path, "--name=tiny-formal", "-o", str(out)]) == 0
    text = everything(out)
    for secret in (KEY, str(pytester.path), "127.0.0.1"):
        assert secret not in text
    manifest = json.loads((out / "method.json").read_text(encoding="utf-8"))
    assert manifest["config"]["batchSize"] == 4
    assert manifest["config"]["temperature"] == 0.5
    assert manifest["type"] == ("llm" if coaching is None else "llm-coached")
    assert manifest["benchmarks"]["pt"]["model_id"] == "tiny-model-0611"

    block = (out / "README.md").read_text(encoding="utf-8").split("```")[1]
    command = shlex.split(block.replace("\\\n", " "))
    assert command[:2] == ["pytest", "SUITE"]
    before = len(server.requests)
    again = [one.replace("coaching/", f"{out}/coaching/") for one in command[2:]]
    second = arena(suite, *again, f"--mt-base-url={server.url}", "--mt-no-cache")
    assert second.code == 0, second.text
    told = [json.dumps(request, sort_keys=True) for request in server.requests]
    assert sorted(told[before:]) == sorted(told[:before]), "batches come in any order"
    assert second.card["setup_fingerprint"] == card["setup_fingerprint"]


def test_the_config_names_the_coaching_file_and_no_directory(
    arena, corpus, server: Server, pytester, capsys
):
    (pytester.path / "house.txt").write_text("Be formal.\n", encoding="utf-8")
    file = pytester.path / "house.txt"
    arena(str(corpus(3)), "--mt-model=tiny-model", f"--mt-coaching-file={file}", *asked(server))
    path, card = card_of(pytester.path)
    assert card["config"]["coaching_file"] == "house.txt"
    capsys.readouterr()
    assert main(["export-config", path]) == 0
    out = capsys.readouterr().out
    assert json.loads(out) == {
        "model": "tiny-model",
        "temperature": 0,
        "batchSize": 25,
        "register": None,
        "coachingFile": "house.txt",
        "coachingPrompt": "Be formal.\n",
        "promptContext": None,
        "qualityTier": card["scores"]["quality_tier"],
    }
