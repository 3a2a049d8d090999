"""Our client and whole runs against a real llama.cpp server (``xllamacpp``) with a tiny model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtarena.llm.chat import ChatError, ChatReply
from pytest_mtarena.results.verify import verify
from tests.plugin import tiny_llama
from tests.plugin.servers import TOOL, Running, ask, ask_one, installed, request, shown, started
from tests.plugin.tiny_llama import ANSWER

SCHEMA = {
    "type": "object",
    "properties": {"e1": {"type": "string"}, "e2": {"type": "string"}},
    "required": ["e1", "e2"],
    "additionalProperties": False,
}
streaming = pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])


@pytest.fixture(scope="module")
def one_llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    [python] = installed("bin/python")
    script, model = Path(tiny_llama.__file__), tmp_path_factory.mktemp("model") / "tiny.gguf"
    made = subprocess.run([python, script, "make", model], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    command = [python, script, "serve", model, "{port}", "tiny-served"]
    with started(command, ready="/health") as server:
        yield server


@pytest.fixture
def llama(one_llama: Running) -> Iterator[Running]:
    """A real server of a real model that always gives the same answer."""
    yield from shown(one_llama)


@streaming
def test_a_call(llama, stream):
    asked = request(f"Good morning, {stream}")
    reply = ask_one(llama.root + "/v1", asked, stream=stream)
    assert (reply.text, reply.finish, reply.model) == (ANSWER, "stop", "tiny-served")
    assert reply.tries == 1
    assert (reply.first_token_seconds is not None) == stream
    assert reply.usage is not None
    assert reply.usage.completion_tokens == len(ANSWER.encode()) + 1, "a byte is a token"
    assert reply.usage.prompt_tokens == len(f"user: {asked.messages[0].content}\nassistant:\n")
    again = ask_one(llama.root + "/v1", asked, stream=stream)
    assert again.usage is not None
    assert again.usage.prompt_tokens == reply.usage.prompt_tokens
    assert again.usage.cached_tokens == reply.usage.prompt_tokens - 1


@streaming
@pytest.mark.parametrize(("limit", "text"), [(2, "Ol"), (3, "Ol"), (4, "Olá")])
def test_a_reply_cut_at_its_limit_also_within_a_letter(llama, stream, limit, text):
    reply = ask_one(llama.root + "/v1", request("x", max_tokens=limit), stream=stream)
    assert (reply.text.rstrip("\ufffd"), reply.finish) == (text, "length")
    assert reply.usage is not None
    assert reply.usage.completion_tokens == limit


@streaming
def test_a_grammar_forces_the_schema(llama, stream):
    asked = request("x", reply_schema=SCHEMA, reply_schema_name="batch")
    reply = ask_one(llama.root + "/v1", asked, stream=stream)
    assert json.loads(reply.text) == {"e1": ANSWER, "e2": ANSWER}
    assert reply.finish == "stop"


@streaming
def test_tools_that_a_model_does_not_call(llama, stream):
    reply = ask_one(llama.root + "/v1", request("x", tools=(TOOL,)), stream=stream)
    assert (reply.text, reply.tool_calls, reply.finish) == (ANSWER, (), "stop")


@streaming
def test_errors_with_a_number_as_their_code(llama, stream):
    long = request("word " * 5000)
    [error] = ask(llama.root + "/v1", long, stream=stream)
    assert isinstance(error, ChatError)
    assert (error.kind, error.status, error.tries) == ("request", 400, 1)
    assert "context" in str(error)
    odd = request("x", reply_schema={"type": "nonsense"}, reply_schema_name="batch")
    [error] = ask(llama.root + "/v1", odd, stream=stream)
    assert isinstance(error, ChatError)
    assert (error.kind, error.status, error.tries) == ("request", 400, 1)
    assert "nonsense" in str(error)
    [error] = ask(llama.root + "/nowhere", request("x"), stream=stream)
    assert isinstance(error, ChatError)
    assert (error.kind, error.status) == ("not_found", 404)


def test_more_calls_than_the_server_has_places(llama):
    found = ask(llama.root + "/v1", *(request(f"text {number}") for number in range(24)))
    assert all(isinstance(each, ChatReply) and each.text == ANSWER for each in found)
    assert {each.tries for each in found if isinstance(each, ChatReply)} == {1}


def test_a_server_that_ends_meanwhile_is_told(llama, tmp_path):
    [python] = installed("bin/python")
    model = tmp_path / "tiny.gguf"
    subprocess.run([python, tiny_llama.__file__, "make", model], check=True)
    with started(
        [python, tiny_llama.__file__, "serve", model, "{port}", "t"], ready="/health"
    ) as server:
        url = server.root + "/v1"
        assert ask_one(url, request("x")).text == ANSWER
    [error] = ask(url, request("x"))
    assert isinstance(error, ChatError)
    assert error.kind == "connection"
    assert "cannot connect" in str(error)
    assert server.process.returncode is not None


# Whole runs


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["plain", "-n2"])
def test_a_run(arena, corpus, llama, mode):
    result = arena(
        str(corpus(6)), "--mt-model=tiny", f"--mt-base-url={llama.root}/v1", "--mt-batch-size=1",
        *mode,
    )  # fmt: skip
    assert result.code == 0, result.text
    card = result.card
    assert [row["entry_id"] for row in card["results"]] == [f"e{i}" for i in range(1, 7)]
    assert {row["predicted"] for row in card["results"]} == {ANSWER}
    assert card["model_id"] == "tiny-served"
    assert card["totals"]["completion_tokens"] == 6 * (len(ANSWER.encode()) + 1)
    assert card["totals"]["total_cost_usd"] == 0
    assert verify(card) == []


def test_batches_with_a_schema_for_several_models(arena, corpus, llama):
    result = arena(
        str(corpus(9)), "--mt-model=tiny,other", f"--mt-base-url={llama.root}/v1",
        "--mt-structured", "--mt-batch-size=4",
    )  # fmt: skip
    assert result.code == 0, result.text
    assert len(result.cards) == 2
    for card in result.cards:
        assert [row["entry_id"] for row in card["results"]] == [f"e{i}" for i in range(1, 10)]
        assert {row["predicted"] for row in card["results"]} == {ANSWER}
        assert {row["metadata"]["calls"] for row in card["results"]} == {1}
        assert card["model_id"] == "tiny-served"
        assert verify(card) == []


def test_a_batch_that_gets_a_text_is_asked_one_by_one(arena, corpus, llama):
    result = arena(
        str(corpus(3)), "--mt-model=tiny", f"--mt-base-url={llama.root}/v1", "--mt-batch-size=3"
    )
    assert result.code == 0, result.text
    assert all(row["metadata"]["batch_sizes"] == [3, 1] for row in result.rows)
    assert {row["predicted"] for row in result.rows} == {ANSWER}


def test_what_the_limit_of_tokens_cuts_is_scored_and_told(arena, corpus, llama):
    arguments = (
        str(corpus(3)), "--mt-model=tiny", f"--mt-base-url={llama.root}/v1", "--mt-batch-size=1",
        "--mt-max-tokens=5",
    )  # fmt: skip
    result = arena(*arguments)
    assert result.code == 0, result.text
    assert all(row["metadata"]["truncated"] for row in result.rows)
    assert all(ANSWER.startswith(row["predicted"]) for row in result.rows)
    assert "3 outputs were cut at the limit of tokens (--mt-max-tokens): e1 e2 e3" in result.text
    again = arena(*arguments)
    assert not any(row["metadata"]["from_cache"] for row in again.rows)
    assert verify(result.card) == []
