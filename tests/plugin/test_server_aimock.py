"""Our client and whole runs against ``aimock`` (npm): replies by what is asked, in four forms."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mtarena.llm.chat import ChatError, ChatReply, Message, Usage
from pytest_mtarena.llm.retry import Retry
from pytest_mtarena.results.verify import verify
from tests.plugin.servers import TOOL, Running, ask, ask_one, installed, request, shown, started

FORMS = [
    ("compatible", "/v1"),
    ("openrouter", "/api/v1"),
    ("anthropic", "/v1"),
    ("gemini", "/v1beta"),
]
forms = pytest.mark.parametrize(("provider", "path"), FORMS, ids=[name for name, _ in FORMS])
streaming = pytest.mark.parametrize("stream", [True, False], ids=["stream", "plain"])
USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 7,
    "total_tokens": 57,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 3},
    "cost": 0.0021,
}


def fixture(said: str, **response: Any) -> dict[str, Any]:
    """Return what is answered when the user's message has these words."""
    return {"match": {"userMessage": said}, "response": response}


FIXTURES = [
    fixture("good day", content="bo día ☀, amigo", usage=USAGE, model="served-1"),
    fixture("look up", content="Let me see.", toolCalls=[
        {"id": "c1", "name": "lookup", "arguments": {"word": "día", "most": 1}},
        {"id": "c2", "name": "lookup", "arguments": {"word": "sol", "most": 2}},
    ]),
    fixture("think", content="pois", reasoning="hm, let me think"),
    fixture("long", content="half of", finishReason="length"),
    fixture("held back", content="no", finishReason="content_filter"),
    fixture("slow down", error={"message": "wait a bit", "type": "rate_limit_error"}, status=429,
            retryAfter=0),
    fixture("wrong", error={"message": "no such thing", "type": "invalid_request_error"},
            status=400),
]  # fmt: skip


def translations(count: int) -> list[dict[str, Any]]:
    """Return the translations of the small suite, asked for one by one."""
    return [
        fixture(f"<source>\nword number {number}\n", content=f"palavra número {number}")
        for number in range(1, count + 1)
    ]


@pytest.fixture(scope="module")
def one_aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    [program] = installed("node_modules/.bin/llmock")
    path = tmp_path_factory.mktemp("fixtures") / "fixtures.json"
    path.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    command = [program, "-p", "{port}", "-f", path, "--chunk-size", "3", "--latency", "1"]
    with started([*command, "--log-level", "debug"], ready="/ready") as server:
        yield server


@pytest.fixture
def aimock(one_aimock: Running) -> Iterator[Running]:
    """A server with ``FIXTURES``."""
    give(one_aimock, FIXTURES)
    yield from shown(one_aimock)
    one_aimock.call("/__aimock/chaos", method="DELETE")


def give(server: Running, fixtures: list[dict[str, Any]]) -> None:
    """Give the server other fixtures, and an empty journal."""
    server.call("/__aimock/reset", method="POST")
    server.call("/__aimock/fixtures", {"fixtures": fixtures})


def journal(server: Running) -> list[dict[str, Any]]:
    """Return every request to a model, and how it was answered."""
    seen = server.call("/__aimock/journal?method=POST")
    return [each for each in seen if not each["path"].startswith("/__aimock")]


# One call


@streaming
@forms
def test_a_call(aimock, provider, path, stream):
    reply = ask_one(aimock.root + path, request("good day"), provider=provider, stream=stream)
    assert (reply.text, reply.finish, reply.tries) == ("bo día ☀, amigo", "stop", 1)
    assert reply.model == ("" if provider == "gemini" else "served-1")
    details = {"reasoning_tokens": 3, "cached_tokens": 40, "cost_usd": 0.0021}
    more = details if provider == "openrouter" else {}  # No other form of this server has them.
    assert reply.usage == Usage(prompt_tokens=50, completion_tokens=7, **more)
    assert (reply.first_token_seconds is not None) == stream
    assert reply.first_token_seconds is None or reply.first_token_seconds < reply.seconds


@streaming
@forms
def test_tools_in_two_rounds(aimock, provider, path, stream):
    given = {"provider": provider, "stream": stream}
    first = request("look up", tools=(TOOL,))
    reply = ask_one(aimock.root + path, first, **given)
    assert (reply.text, reply.finish) == ("Let me see.", "tool_calls")
    assert [each.name for each in reply.tool_calls] == ["lookup", "lookup"]
    assert [json.loads(each.arguments) for each in reply.tool_calls] == [
        {"word": "día", "most": 1},
        {"word": "sol", "most": 2},
    ]
    assert len({each.id for each in reply.tool_calls}) == 2
    last = {"match": {"hasToolResult": True}, "response": {"content": "It is sol."}}
    give(aimock, [last])
    messages = (
        *first.messages,
        Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls),
        *(
            Message(role="tool", content='{"found": true}', tool_call_id=each.id)
            for each in reply.tool_calls
        ),
    )
    second = ask_one(aimock.root + path, first.model_copy(update={"messages": messages}), **given)
    assert (second.text, second.finish, second.tool_calls) == ("It is sol.", "stop", ())
    [seen] = journal(aimock)
    if provider != "gemini":  # It has no ids of calls in this server's own form.
        answers = [each for each in seen["body"]["messages"] if each["role"] == "tool"]
        ids = [each.id for each in reply.tool_calls]
        assert [each["tool_call_id"] for each in answers] == ids


@streaming
@forms
def test_a_call_before_the_text(aimock, provider, path, stream):
    blocks = [
        {"type": "toolCall", "id": "c1", "name": "lookup", "arguments": {"word": "a", "most": 1}},
        {"type": "text", "text": "I looked it up."},
    ]
    give(aimock, [fixture("x", blocks=blocks)])
    asked = request("x", tools=(TOOL,))
    reply = ask_one(aimock.root + path, asked, provider=provider, stream=stream)
    assert (reply.text, reply.finish) == ("I looked it up.", "tool_calls")
    [called] = reply.tool_calls
    assert json.loads(called.arguments) == {"word": "a", "most": 1}


@streaming
@forms
def test_why_a_reply_ended(aimock, provider, path, stream):
    words = {"long": ("half of", "length"), "held back": ("no", "content_filter"),
             "think": ("pois", "stop")}  # fmt: skip
    found = ask(aimock.root + path, *map(request, words), provider=provider, stream=stream)
    for (text, finish), reply in zip(words.values(), found, strict=True):
        assert isinstance(reply, ChatReply)
        assert (reply.text, reply.finish) == (text, finish)


@streaming
@forms
def test_errors(aimock, provider, path, stream):
    given = {"provider": provider, "stream": stream, "retry": Retry(tries=2, base=0.02)}
    asked = map(request, ("slow down", "wrong", "nothing of the kind"))
    errors = ask(aimock.root + path, *asked, **given)
    told = ("wait a bit", "no such thing", "No fixture matched")
    kinds = (("rate_limit", 429, 2), ("request", 400, 1), ("not_found", 404, 1))
    for error, words, expected in zip(errors, told, kinds, strict=True):
        assert isinstance(error, ChatError)
        assert (error.kind, error.status, error.tries) == expected
        assert words in str(error)


@forms
def test_a_stream_that_breaks_is_asked_for_again(aimock, provider, path):
    give(aimock, [{**fixture("good day", content="bo día, amigo"), "truncateAfterChunks": 3}])
    [error] = ask(
        aimock.root + path, request("good day"), provider=provider, retry=Retry(tries=2, base=0.02)
    )
    assert isinstance(error, ChatError)
    assert (error.kind, error.tries) == ("connection", 2)
    assert len(journal(aimock)) == 2


# Whole runs


def test_a_run_one_by_one(arena, corpus, aimock):
    give(aimock, translations(12))
    result = arena(
        str(corpus(12)), "--mt-model=tiny", f"--mt-base-url={aimock.root}/v1", "--mt-batch-size=1"
    )
    assert result.code == 0, result.text
    assert [row["entry_id"] for row in result.rows] == [f"e{i}" for i in range(1, 13)]
    assert result.card["scores"]["exact_matches"] == 12
    assert result.card["scores"]["chrf_plus_plus"] == 100
    assert verify(result.card) == []
    assert len(journal(aimock)) == 12


BATCH = "<source>\n1. word number 1\n2. word number 2\n3. word number 3\n4. word number 4\n"
LINES = "1. palavra número 1\n2. palavra número 2\n3. palavra número 3\n4. palavra número 4"


@pytest.mark.parametrize(
    ("lines", "sizes"),
    [
        (LINES, [[4]] * 4),
        # The second is missing, and nobody gets another's text for that.
        (LINES.replace("2. palavra número 2\n", ""), [[4], [4, 1], [4], [4]]),
        # Out of order.
        ("\n".join(reversed(LINES.split("\n"))), [[4]] * 4),
        # Two have the same number: none of them is believed.
        (LINES.replace("3. ", "2. "), [[4], [4, 2], [4, 2], [4]]),
    ],
    ids=["whole", "missing", "order", "double"],
)
def test_a_run_in_batches(arena, corpus, aimock, lines, sizes):
    give(aimock, [
        fixture(BATCH, content=lines),
        fixture("<source>\n1. word number 2\n2. word number 3\n",
                content="1. palavra número 2\n2. palavra número 3"),
        *translations(4),
    ])  # fmt: skip
    result = arena(
        str(corpus(4)), "--mt-model=tiny", f"--mt-base-url={aimock.root}/v1", "--mt-batch-size=4"
    )
    assert result.code == 0, result.text
    assert result.card["scores"]["exact_matches"] == 4
    assert [row["metadata"]["batch_sizes"] for row in result.rows] == sizes
    assert verify(result.card) == []


@pytest.mark.parametrize(
    ("provider", "path"),
    [("openai", "/v1"), *FORMS[1:]],
    ids=["openai", "openrouter", "anthropic", "gemini"],
)
def test_a_run_of_each_provider(arena, corpus, aimock, provider, path):
    give(aimock, [fixture(BATCH, content=LINES, usage=USAGE, model="served-1")])
    result = arena(
        str(corpus(4)), "--mt-model=tiny", f"--mt-provider={provider}",
        f"--mt-base-url={aimock.root}{path}", "--mt-batch-size=4",
    )  # fmt: skip
    assert result.code == 0, result.text
    card = result.card
    assert card["scores"]["exact_matches"] == 4
    assert card["config"]["api_provider"] == provider
    assert (card["totals"]["prompt_tokens"], card["totals"]["completion_tokens"]) == (50, 7)
    assert len(journal(aimock)) == 1
    assert verify(card) == []


def test_an_entry_that_only_gets_429_is_one_named_failure(arena, corpus, aimock):
    refused = fixture("<source>\nword number 3\n", error={"message": "not you"}, status=429)
    give(aimock, [refused, *translations(5)])
    result = arena(
        str(corpus(5)), "--mt-model=tiny", f"--mt-base-url={aimock.root}/v1", "--mt-batch-size=1"
    )
    assert result.code == 1
    assert [row["entry_id"] for row in result.rows] == ["e1", "e2", "e3", "e4", "e5"]
    third = result.rows[2]
    assert third["predicted"] is None
    assert third["failure"]["kind"] == "api_error"
    assert "429" in third["error"]
    assert "not you" in third["error"]
    assert result.card["scores"]["exact_matches"] == 4
    assert result.card["scores"]["errors"] == 1
    assert verify(result.card) == []


def test_faults_by_chance_shift_and_lose_nothing(aimock):
    count = 60
    give(aimock, [
        fixture(f"[{number}]", content=f"reply to [{number}]") for number in range(count)
    ])  # fmt: skip
    rates = {"dropRate": 0.1, "malformedRate": 0.05, "disconnectRate": 0.1, "rateLimitRate": 0.05}
    aimock.call("/__aimock/chaos", rates)
    asked = [request(f"[{number}]") for number in range(count)]
    found = ask(
        aimock.root + "/v1", *asked, gate=asyncio.Semaphore(8), retry=Retry(tries=6, base=0.1)
    )
    for number, each in enumerate(found):
        if isinstance(each, ChatReply):
            assert each.text == f"reply to [{number}]"
        else:
            assert isinstance(each, ChatError)
            assert each.tries == 6
    replies = [each for each in found if isinstance(each, ChatReply)]
    assert len(replies) > 50
    seen = journal(aimock)
    assert len(seen) > count, "the test has to meet faults"
    whole = Counter(
        each["body"]["messages"][0]["content"]
        for each in seen
        if each["response"]["status"] == 200 and not each["response"].get("chaosAction")
    )
    assert set(whole.values()) == {1}
    assert len(whole) == len(replies)
