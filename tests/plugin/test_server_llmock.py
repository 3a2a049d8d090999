"""Our client and whole runs against ``llmock`` (PyPI): ten providers' forms, faults on demand."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mtarena.llm.chat import ChatError, ChatReply, Message
from pytest_mtarena.llm.retry import Retry
from pytest_mtarena.results.verify import verify
from tests.plugin.servers import TOOL, Running, ask, ask_one, installed, request, shown, started

OPENAI = ("compatible", "/v1")
ANTHROPIC = ("anthropic", "/anthropic/v1")
GEMINI = ("gemini", "/gemini/v1beta")
OWN_FORMS = [OPENAI, ANTHROPIC, GEMINI]
LIKE_OPENAI = [
    ("compatible", path)
    for path in (
        *("/groq/openai/v1", "/together/v1", "/mistral/v1", "/xai/v1", "/perplexity/v1"),
        "/ai21/v1",
    )
]
SCHEMA = {
    "type": "object",
    "properties": {"e1": {"type": "string"}, "e2": {"type": "string"}},
    "required": ["e1", "e2"],
    "additionalProperties": False,
}
streaming = pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])


def forms(*pairs: tuple[str, str]) -> pytest.MarkDecorator:
    """Run a test once for each adapter and the path that speaks its form."""
    ids = [path.strip("/").split("/")[0] for _, path in pairs]
    return pytest.mark.parametrize(("provider", "path"), pairs, ids=ids)


@pytest.fixture(scope="module")
def one_llmock() -> Iterator[Running]:
    [program] = installed("bin/llmock")
    command = [program, "serve", "--port", "{port}", "--response-style", "echo"]
    with started(command, ready="/health") as server:
        yield server


@pytest.fixture
def llmock(one_llmock: Running) -> Iterator[Running]:
    """A server that echoes what it is asked, without faults."""
    one_llmock.call("/_llmock/reset", method="POST")
    yield from shown(one_llmock)


@pytest.fixture(scope="module")
def one_chaotic() -> Iterator[Running]:
    [program] = installed("bin/llmock")
    rates = ["429=.15", "500=.03", "503=.03"]
    faults = ["truncate=.1", "disconnect=.04", "malformed=.04"]
    command = [program, "serve", "--port", "{port}", "--response-style", "echo"]
    command += [f"--error-rate={rate}" for rate in rates]
    command += [f"--stream-fault={fault}" for fault in faults]
    with started(command, ready="/health") as server:
        yield server


@pytest.fixture
def chaotic(one_chaotic: Running) -> Iterator[Running]:
    """A server of which every third request or so gets an error or half a stream."""
    one_chaotic.call("/_llmock/reset", method="POST")
    yield from shown(one_chaotic)


def script(server: Running, *behaviors: dict[str, Any]) -> None:
    """Say what the server does with the next requests."""
    server.call("/_llmock/scenario", {"behaviors": list(behaviors)})


def journal(server: Running) -> list[dict[str, Any]]:
    """Return every request as the server saw it, and how it was answered."""
    served = server.call("/_llmock/requests")["requests"]
    assert isinstance(served, list)
    return served


def is_whole(record: dict[str, Any]) -> bool:
    """Return whether the server gave a whole answer to a request."""
    return record["status"] == 200 and record["completed"] and not record["fault"]


# One call


@streaming
@forms(*OWN_FORMS, *LIKE_OPENAI)
def test_a_call(llmock, provider, path, stream):
    reply = ask_one(
        llmock.root + path, request("good  morning\nworld"), provider=provider, stream=stream
    )
    assert reply.text == "Hello! You said: good morning world"
    # Its Gemini form names the model in streams only.
    model = "" if provider == "gemini" and not stream else "tiny"
    assert (reply.finish, reply.model, reply.tries) == ("stop", model, 1)
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (4, 8)
    assert (reply.first_token_seconds is not None) == stream
    [seen] = journal(llmock)
    assert (seen["status"], seen["stream"]) == (200, stream)


@streaming
@forms(*OWN_FORMS)
def test_tools_in_two_rounds(llmock, provider, path, stream):
    given = {"provider": provider, "stream": stream}
    first = request("please look it up", tools=(TOOL,))
    reply = ask_one(llmock.root + path, first, **given)
    assert reply.finish == "tool_calls"
    [called] = reply.tool_calls
    assert called.name == "lookup"
    assert called.id
    arguments = json.loads(called.arguments)
    assert isinstance(arguments["word"], str)
    assert isinstance(arguments["most"], int)
    answered = (
        *first.messages,
        Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls),
        Message(role="tool", content='{"found": "sol"}', tool_call_id=called.id),
    )
    last = ask_one(llmock.root + path, first.model_copy(update={"messages": answered}), **given)
    assert last.finish == "stop"
    assert last.tool_calls == ()
    assert last.text.startswith("Hello!")


@streaming
@forms(OPENAI, ANTHROPIC)
def test_text_and_two_calls_of_one_tool(llmock, provider, path, stream):
    calls = [{"name": "lookup", "arguments": {"word": word, "most": 1}} for word in ("día", "sol")]
    script(llmock, {"type": "reply", "text": "Let me see.", "tool_calls": calls})
    reply = ask_one(
        llmock.root + path, request("x", tools=(TOOL,)), provider=provider, stream=stream
    )
    assert reply.text == "Let me see."
    assert [json.loads(each.arguments)["word"] for each in reply.tool_calls] == ["día", "sol"]
    assert len({each.id for each in reply.tool_calls}) == 2


@streaming
def test_arguments_that_are_no_json_are_given_as_they_are(llmock, stream):
    script(llmock, {"type": "tool_fault", "kind": "malformed_arguments"})
    reply = ask_one(llmock.root + "/v1", request("x", tools=(TOOL,)), stream=stream)
    [called] = reply.tool_calls
    with pytest.raises(ValueError):
        json.loads(called.arguments)


@streaming
@forms(*OWN_FORMS)
def test_a_reply_that_follows_a_schema(llmock, provider, path, stream):
    asked = request("x", reply_schema=SCHEMA, reply_schema_name="batch")
    reply = ask_one(llmock.root + path, asked, provider=provider, stream=stream)
    assert json.loads(reply.text).keys() == {"e1", "e2"}
    assert reply.finish == "stop"
    assert reply.tool_calls == ()


@streaming
@pytest.mark.parametrize("finish", ["length", "content_filter"])
@forms(*OWN_FORMS)
def test_why_a_reply_ended(llmock, provider, path, finish, stream):
    script(llmock, {"type": "reply", "text": "half of", "finish_reason": finish})
    reply = ask_one(llmock.root + path, request("x"), provider=provider, stream=stream)
    assert (reply.text, reply.finish) == ("half of", finish)


def test_the_first_token_is_timed_by_itself(llmock):
    script(llmock, {"type": "slow_first_token", "seconds": 0.3})
    reply = ask_one(llmock.root + "/v1", request("x"))
    assert reply.first_token_seconds is not None
    assert 0.3 <= reply.first_token_seconds <= reply.seconds


# Faults on demand


def fail(status: int, **more: Any) -> dict[str, Any]:
    return {"type": "fail", "status": status, **more}


def fault(kind: str, after: int = 3, **more: Any) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


@pytest.mark.parametrize(
    "faults",
    [
        [fail(429, retry_after=0.2, times=2)],
        [fail(503, retry_after=0.1), fail(500), fail(529, retry_after=0.1)],
        [fail(408), fail(502), fail(504, retry_after=0.1)],
        [fault("truncate", 0), fault("truncate", 2)],
        [fault("disconnect", 1), fault("disconnect", 2)],
        [fault("malformed", 2)],
        [fail(500), fault("truncate", 1), fail(429, retry_after=0.1), fault("disconnect")],
    ],
    ids=["429", "5xx", "408", "truncate", "disconnect", "malformed", "mixed"],
)
@forms(*OWN_FORMS)
def test_a_fault_that_passes(llmock, provider, path, faults):
    script(llmock, *faults)
    retry = Retry(base=0.1)
    reply = ask_one(llmock.root + path, request("good day"), provider=provider, retry=retry)
    assert reply.text == "Hello! You said: good day"
    served = journal(llmock)
    assert reply.tries == len(served) == sum(each.get("times", 1) for each in faults) + 1
    assert [is_whole(each) for each in served].count(True) == 1
    assert llmock.call("/_llmock/verdict")["errors"] == 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "request"), (401, "auth"), (402, "auth"), (403, "auth"), (404, "not_found"),
     (413, "request"), (422, "request")],
)  # fmt: skip
@forms(*OWN_FORMS)
def test_an_error_that_cannot_pass(llmock, provider, path, status, kind):
    script(llmock, fail(status, message="there is a reason", times=3))
    [error] = ask(llmock.root + path, request("x"), provider=provider)
    assert isinstance(error, ChatError)
    assert (error.kind, error.status, error.tries) == (kind, status, 1)
    assert "there is a reason" in str(error)
    assert len(journal(llmock)) == 1


def test_a_prompt_beyond_the_window_is_refused_once(llmock):
    [program] = installed("bin/llmock")
    command = [program, "serve", "--port", "{port}", "--context-window", "50"]
    with started(command, ready="/health") as server:
        [error] = ask(server.root + "/v1", request("word " * 200))
        assert isinstance(error, ChatError)
        assert (error.kind, error.status, error.tries) == ("request", 400, 1)
        assert "50 tokens" in str(error)


def test_a_stall_is_not_sat_through(llmock):
    script(llmock, fault("stall", 2, stall_seconds=20))
    reply = ask_one(llmock.root + "/v1", request("x"), stall=0.3)
    assert reply.tries == 2
    assert reply.text == "Hello! You said: x"


# Many calls


def test_each_of_many_calls_gets_its_own_reply_or_one_named_failure(chaotic):
    asked = [request(f"text {number} of many") for number in range(60)]
    gate = asyncio.Semaphore(8)
    found = ask(chaotic.root + "/v1", *asked, gate=gate, retry=Retry(base=0.1, tries=6))
    replies = [each for each in found if isinstance(each, ChatReply)]
    for number, each in enumerate(found):
        if isinstance(each, ChatReply):
            assert each.text == f"Hello! You said: text {number} of many"
        else:
            assert isinstance(each, ChatError)
            assert each.tries == 6
    assert len(replies) > 50
    served = journal(chaotic)
    assert sum(each.tries for each in found) == len(served)  # type: ignore[union-attr]
    answered = Counter(each["body"]["messages"][0]["content"] for each in served if is_whole(each))
    assert set(answered.values()) == {1}, "nobody is asked again after a whole answer"
    assert len(answered) == len(replies)
    verdict = chaotic.call("/_llmock/verdict")
    assert verdict["errors"] == 0, verdict
    assert verdict["faults_injected"] > 5, "the test has to meet faults"


# Whole runs


def by_source(served: list[dict[str, Any]]) -> Counter[str]:
    """Return how often each source of the small suite had a whole answer."""
    texts = [each["body"]["messages"][-1]["content"] for each in served if is_whole(each)]
    return Counter(text.partition("<source>\n")[2].partition("\n")[0] for text in texts)


def test_a_run(arena, corpus, llmock):
    result = arena(
        str(corpus(6)), "--mt-model=tiny", f"--mt-base-url={llmock.root}/v1", "--mt-batch-size=1"
    )
    assert result.code == 0, result.text
    card = result.card
    assert [row["entry_id"] for row in card["results"]] == [f"e{i}" for i in range(1, 7)]
    assert all(row["predicted"].startswith("Hello!") for row in card["results"])
    assert card["model_id"] == "tiny"
    assert card["totals"]["completion_tokens"] > 0
    assert verify(card) == []
    assert by_source(journal(llmock)) == {f"word number {i}": 1 for i in range(1, 7)}


@pytest.mark.parametrize(
    ("provider", "path"),
    [("openai", "/v1"), ("openrouter", "/v1"), ANTHROPIC, GEMINI],
    ids=["openai", "openrouter", "anthropic", "gemini"],
)
def test_a_run_of_each_provider_with_a_schema(arena, corpus, llmock, provider, path):
    result = arena(
        str(corpus(6)), "--mt-model=tiny", f"--mt-provider={provider}", "--mt-structured",
        f"--mt-base-url={llmock.root}{path}", "--mt-batch-size=3",
    )  # fmt: skip
    assert result.code == 0, result.text
    assert [row["entry_id"] for row in result.rows] == [f"e{i}" for i in range(1, 7)]
    assert all(row["predicted"] and row["metadata"]["calls"] == 1 for row in result.rows)
    assert len(journal(llmock)) == 2
    assert verify(result.card) == []


def test_replies_that_do_not_answer_a_batch_are_asked_for_one_by_one(arena, corpus, llmock):
    result = arena(
        str(corpus(4)), "--mt-model=tiny", f"--mt-base-url={llmock.root}/v1", "--mt-batch-size=4"
    )
    assert result.code == 0, result.text
    assert all(row["metadata"]["batch_sizes"] == [4, 1] for row in result.rows)
    served = journal(llmock)
    assert len(served) == 5
    assert by_source(served[1:]) == {f"word number {i}": 1 for i in range(1, 5)}


def test_a_run_through_faults_loses_nothing(arena, corpus, chaotic):
    result = arena(
        str(corpus(16)), "--mt-model=tiny", f"--mt-base-url={chaotic.root}/v1",
        "--mt-batch-size=1", "--mt-concurrency=8",
    )  # fmt: skip
    rows = result.rows
    assert [row["entry_id"] for row in rows] == [f"e{i}" for i in range(1, 17)]
    done = [row for row in rows if row["predicted"] is not None]
    failed = [row for row in rows if row["predicted"] is None]
    assert result.code == (1 if failed else 0), result.text
    assert len(done) > 12
    assert all(row["error"] is None for row in done)
    assert all("5 tries" in row["error"] for row in failed)
    assert result.card["scores"]["errors"] == len(failed)
    assert verify(result.card) == []
    served = journal(chaotic)
    assert by_source(served) == {row["source"]: 1 for row in done}
    assert sum(row["metadata"]["tries"] for row in rows) == len(served)
    assert chaotic.call("/_llmock/verdict")["errors"] == 0
