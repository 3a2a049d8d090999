"""Tools: what a model is told of them, and what it gets for a call, whatever it asks."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pytest_mtarena.contestants.tools import LONGEST, Toolbox
from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ToolCall
from pytest_mtarena.records import RunConfig


def look_up(word: str, sense: Literal["noun", "verb"] = "noun") -> str:
    """Return the translation of a word."""
    return {"house": "casa"}[word] + f" ({sense})"


async def count(words: Annotated[list[str], Field(description="what to count")]) -> dict[str, int]:
    return {"words": len(words)}


def target(config: RunConfig) -> str:
    return config.target_lang


BOX = Toolbox({"look_up": look_up, "count": count, "target": target})


def ask(name: str, arguments: str, box: Toolbox = BOX, seconds: float = 5.0) -> Any:
    call = ToolCall(id="1", name=name, arguments=arguments)
    config = RunConfig(source_lang="English", target_lang="Portuguese")
    return asyncio.run(box.answer(call, config, seconds))


def test_what_a_model_is_told():
    told = {one["function"]["name"]: one["function"] for one in BOX.definitions}
    assert list(told) == ["count", "look_up", "target"]
    assert told["look_up"]["description"] == "Return the translation of a word."
    assert told["look_up"]["parameters"]["required"] == ["word"]
    assert told["look_up"]["parameters"]["properties"]["sense"]["enum"] == ["noun", "verb"]
    assert told["count"]["parameters"]["properties"]["words"]["description"] == "what to count"
    assert told["target"]["parameters"]["properties"] == {}, "the run is not the model's business"


def test_a_call_is_answered_with_text_or_json():
    assert ask("look_up", '{"word": "house"}').text == "casa (noun)"
    assert ask("look_up", '{"word": "house", "sense": "verb"}').text == "casa (verb)"
    assert ask("count", '{"words": ["a", "b"]}').text == '{"words": 2}'
    assert ask("target", "").text == "Portuguese"
    assert ask("target", "{}").fault is None


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("look_up", "{", "bad arguments"),
        ("look_up", "[]", "bad arguments"),
        ("look_up", "{}", "word: Field required"),
        ("look_up", '{"word": 1}', "word: Input should be a valid string"),
        ("look_up", '{"word": "house", "more": 1}', "more: Extra inputs"),
        ("look_up", '{"word": "tree"}', "KeyError: 'tree' (test_tools.py:"),
        ("lookup", "{}", "there is no tool 'lookup'; there are: count, look_up, target"),
        ("target", '{"config": {}}', "config: Extra inputs"),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(name, arguments, told):
    answer = ask(name, arguments)
    assert told in answer.fault
    assert json.loads(answer.text) == {"error": answer.fault}


def test_a_tool_that_hangs_exits_or_returns_no_json():
    def leave() -> str:
        raise SystemExit(3)

    box = Toolbox(
        {"hang": lambda: time.sleep(1), "leave": leave, "thing": object, "long": lambda: "x" * 9**6}
    )
    assert "no answer within 0.05 s" in ask("hang", "{}", box, seconds=0.05).fault
    assert "SystemExit" in ask("leave", "{}", box).fault
    assert "returned no JSON" in ask("thing", "{}", box).fault
    assert len(ask("long", "{}", box).text) < LONGEST + 60


@pytest.mark.parametrize(
    ("name", "function", "told"),
    [
        ("a b", look_up, "letters, digits"),
        ("t", 3, "int, not a function"),
        ("t", lambda word: word, "the parameter word has no annotation"),
        ("t", print, "a model cannot give *args"),
    ],
)
def test_a_function_that_is_no_tool_is_one_line(name, function, told):
    with pytest.raises(UsageError) as raised:
        Toolbox({name: function})
    assert told in str(raised.value)


def test_other_definitions_have_another_digest():
    def changed(word: str) -> str:
        """Say something else."""
        return word

    assert Toolbox({"t": look_up}).facts != Toolbox({"t": changed}).facts


@given(st.sampled_from(["look_up", "count", "target", "?"]), st.text())
def test_any_arguments_get_an_answer(name, arguments):
    json.dumps(ask(name, arguments).text).encode()
