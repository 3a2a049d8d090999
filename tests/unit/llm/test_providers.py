"""What each provider is sent, and how its replies are read, in the documented shapes."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import (
    ChatError,
    ChatReply,
    ChatRequest,
    Message,
    ToolCall,
    Usage,
)
from pytest_mtarena.llm.client import ProviderChat
from pytest_mtarena.llm.keys import Key
from pytest_mtarena.llm.providers import (
    LABEL,
    NAMES,
    Fault,
    ToolCalls,
    fault_in,
    finish_of,
    kind_of,
    provider_named,
)
from pytest_mtarena.llm.providers.gemini import google_schema
from pytest_mtarena.llm.providers.openai import usage_of
from pytest_mtarena.llm.retry import Retry
from tests.unit.llm.loopback import Answer, Loopback, events, good, named, piece

SCHEMA = {
    "type": "object",
    "properties": {"e1": {"type": "string"}, "title": {"type": ["string", "null"]}},
    "required": ["e1", "title"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks a word up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
PLAIN = ChatRequest(
    model="m",
    messages=(
        Message(role="system", content="Translate."),
        Message(role="user", content="Good morning"),
    ),
    temperature=0.0,
    max_tokens=100,
)
CALLS = (
    ToolCall(id="a", name="lookup", arguments='{"word": "sun"}'),
    ToolCall(id="b", name="lookup", arguments="no json"),
)
DIALOGUE = ChatRequest(
    model="m",
    messages=(
        Message(role="system", content="One."),
        Message(role="user", content="Hi"),
        Message(role="assistant", tool_calls=CALLS),
        Message(role="tool", content='{"found": "sol"}', tool_call_id="a"),
        Message(role="tool", content="none", tool_call_id="b"),
        Message(role="system", content="Two."),
    ),
    tools=(TOOL,),
)


def asked(provider: str, request: ChatRequest, answer: Answer) -> tuple[ChatReply, Any]:
    """Ask once; return the reply and the request as the server saw it."""

    async def go() -> tuple[ChatReply, Any]:
        async with Loopback(answer) as server:
            key, once = Key("secret-key", "A_KEY"), Retry(tries=1)
            chat = ProviderChat(provider, base_url=server.url, key=key, retry=once)
            try:
                return await chat.ask(request), server.seen[0]
            finally:
                await chat.aclose()

    return asyncio.run(go())


def test_providers_by_name() -> None:
    assert [provider_named(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(UsageError, match=r"no provider 'mine'.*openrouter, openai"):
        provider_named("mine")


def test_own_addresses_are_https() -> None:
    for name in NAMES:
        base = provider_named(name).base_url
        assert base.startswith("https://") or name == "compatible"
    with pytest.raises(UsageError, match="give a base URL"):
        ProviderChat("compatible", key=Key("x", "A_KEY"))


# The OpenAI form


def test_compatible_request() -> None:
    _, seen = asked("compatible", PLAIN, good())
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer secret-key"
    assert seen.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Translate."},
            {"role": "user", "content": "Good morning"},
        ],
        "temperature": 0.0,
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_whole_address_may_be_given() -> None:
    provider = provider_named("compatible")
    url = "http://localhost/v1/chat/completions"
    assert provider.url(url, "m", stream=True) == url


def test_what_is_not_set_is_not_sent() -> None:
    request = ChatRequest(model="m", messages=PLAIN.messages)
    _, seen = asked("compatible", request, good())
    assert set(seen.body) == {"model", "messages", "stream", "stream_options"}


def test_openai_has_its_own_key_for_the_limit_and_sends_the_name_as_it_stands() -> None:
    request = PLAIN.model_copy(update={"model": "openai/gpt-x"})
    _, seen = asked("openai", request, good())
    assert seen.body["model"] == "openai/gpt-x", "at a gateway that is a name of its own"
    assert seen.body["max_completion_tokens"] == 100
    assert "max_tokens" not in seen.body


def test_openai_schema_and_tools() -> None:
    request = DIALOGUE.model_copy(update={"reply_schema": SCHEMA, "reply_schema_name": "batch"})
    _, seen = asked("openai", request, good())
    assert seen.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "batch", "schema": SCHEMA, "strict": True},
    }
    assert seen.body["tools"] == [TOOL]
    assistant, first = seen.body["messages"][2:4]
    assert assistant["content"] is None
    assert assistant["tool_calls"][0] == {
        "id": "a",
        "type": "function",
        "function": {"name": "lookup", "arguments": '{"word": "sun"}'},
    }
    assert first == {"role": "tool", "content": '{"found": "sol"}', "tool_call_id": "a"}


def test_openrouter() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.00042}
    request = PLAIN.model_copy(update={"model": "openai/gpt-x", "reply_schema": SCHEMA})
    reply, seen = asked("openrouter", request, good(usage=usage))
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=5, cost_usd=0.00042)
    assert seen.body["model"] == "openai/gpt-x"
    assert seen.body["usage"] == {"include": True}
    assert seen.body["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, None),
        ({"prompt_tokens": None}, None),
        ({"prompt_tokens": "7"}, None),
        ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(prompt_tokens=7, completion_tokens=3)),
        ({"input_tokens": 7, "output_tokens": 3}, Usage(prompt_tokens=7, completion_tokens=3)),
        ({"completion_tokens": 0}, Usage(completion_tokens=0)),
        ({"prompt_tokens": True, "completion_tokens": 3.0}, Usage(completion_tokens=3)),
        (
            # OpenAI: reasoning is part of the completion.
            {
                "prompt_tokens": 10,
                "completion_tokens": 30,
                "total_tokens": 40,
                "prompt_tokens_details": {"cached_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(prompt_tokens=10, completion_tokens=30, reasoning_tokens=20, cached_tokens=8),
        ),
        (
            # xAI: it stands apart, as the total tells.
            {
                "prompt_tokens": 10,
                "completion_tokens": 30,
                "total_tokens": 60,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(prompt_tokens=10, completion_tokens=50, reasoning_tokens=20),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(prompt_tokens=10, completion_tokens=25, reasoning_tokens=20),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 6},
            Usage(prompt_tokens=10, completion_tokens=1, cached_tokens=6),
        ),
        (
            {
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "cost": 0.001,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.02},
            },
            Usage(prompt_tokens=1, completion_tokens=1, cost_usd=0.021),
        ),
        (
            {
                "prompt_tokens": 1,
                "completion_tokens": 1,
                "cost": 0,
                "cost_details": {"upstream_inference_cost": None},
            },
            Usage(prompt_tokens=1, completion_tokens=1, cost_usd=0.0),
        ),
        (
            {"prompt_tokens": 1, "completion_tokens": 1, "cost": "free"},
            Usage(prompt_tokens=1, completion_tokens=1),
        ),
    ],
)
def test_usage_of_the_openai_form(raw: dict[str, Any], expected: Usage | None) -> None:
    assert usage_of(raw) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("something new", "unknown"),
    ],
)
def test_finish_reasons(reason: str, expected: str) -> None:
    assert (
        asked("compatible", PLAIN, events(piece("a"), piece(finish=reason)))[0].finish == expected
    )


def test_reasoning_is_no_text() -> None:
    stream = events(
        piece(reasoning_content="let me see"),
        piece(reasoning="hm"),
        piece([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ola"}]),  # type: ignore[arg-type]
        piece(finish="stop"),
    )
    assert asked("compatible", PLAIN, stream)[0].text == "ola"


def test_only_the_first_choice_is_read() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}
    reply, _ = asked("compatible", PLAIN, events(piece("a"), second, piece(finish="stop")))
    assert (reply.text, reply.finish) == ("a", "stop")


def test_unknown_shapes_do_no_harm() -> None:
    odd: list[Any] = [
        1,
        "text",
        [],
        {"choices": 5},
        {"choices": [None, 3]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": [None, {"function": 3}]}}]},
    ]
    reply, _ = asked("compatible", PLAIN, events(*odd[:6], piece("a"), piece(finish="stop")))
    assert reply.text == "a"


def call(index: int | None = None, id: str | None = None, **function: Any) -> dict[str, Any]:
    """Return one piece of a tool call."""
    made: dict[str, Any] = {"function": function, "id": id}
    return made if index is None else {**made, "index": index}


EXPECTED = (("A", "f", '{"x":1}'), ("B", "g", '{"y":2}'))


@pytest.mark.parametrize(
    "pieces",
    [
        # As OpenAI: the id once, then the index; interleaved.
        [
            call(0, "A", name="f", arguments=""),
            call(1, "B", name="g", arguments=None),
            call(1, arguments='{"y"'),
            call(0, arguments='{"x"'),
            call(0, arguments=":1}"),
            call(1, arguments=":2}"),
        ],
        # The id in each piece, no index.
        [
            call(id="A", name="f", arguments='{"x"'),
            call(id="B", name="g", arguments='{"y"'),
            call(id="A", name="f", arguments=":1}"),
            call(id="B", name="g", arguments=":2}"),
        ],
        # Each index is 0, ids differ.
        [
            call(0, "A", name="f", arguments='{"x":1}'),
            call(0, "B", name="g", arguments='{"y"'),
            call(0, arguments=":2}"),
        ],
        # A new id in each piece, the index decides.
        [
            call(0, "A", name="f", arguments='{"x"'),
            call(1, "B", name="g", arguments='{"y"'),
            call(0, "A2", arguments=":1}"),
            call(1, "B2", arguments=":2}"),
        ],
        # Neither: a piece without name belongs to the last call.
        [
            call(id="A", name="f", arguments='{"x"'),
            call(arguments=":1}"),
            call(id="B", name="g"),
            call(arguments='{"y":2}'),
        ],
        # Arguments as an object; the id late.
        [
            call(0, name="f"),
            call(0, "A", arguments='{"x":1}'),
            call(1, "B", name="g", arguments='{"y":2}'),
        ],
    ],
)
def test_tool_calls_from_pieces(pieces: list[dict[str, Any]]) -> None:
    stream = events(*(piece(tool_calls=[each]) for each in pieces), piece(finish="tool_calls"))
    reply, _ = asked("compatible", DIALOGUE, stream)
    assert tuple((each.id, each.name, each.arguments) for each in reply.tool_calls) == EXPECTED
    assert reply.finish == "tool_calls"
    assert reply.first_token_seconds is not None


def test_tool_calls_in_one_piece() -> None:
    calls = [{"function": {"name": "f", "arguments": {"x": "ñ"}}}, call(0, "B", name="g")]
    whole = {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "stop"}]}
    reply, _ = asked("compatible", DIALOGUE, Answer(json=whole))
    assert reply.tool_calls == (
        ToolCall(id="call_0", name="f", arguments='{"x": "ñ"}'),
        ToolCall(id="B", name="g", arguments=""),
    )
    assert reply.finish == "tool_calls"


@given(st.data())
def test_any_interleaving_gives_the_same_calls(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(max_size=8), min_size=1, max_size=4))
    left = {index: list(text) for index, text in enumerate(texts)}
    calls = ToolCalls()
    for index in left:
        calls.piece(index=index, id=f"id{index}", name=f"f{index}")
    while any(left.values()):
        index = data.draw(st.sampled_from([index for index in left if left[index]]))
        calls.piece(index=index, arguments=left[index].pop(0))
    assert [each.arguments for each in calls.all()] == texts


# Anthropic


def message_events(*blocks: tuple[str, Any], stop: str = "end_turn", end: bool = True) -> Answer:
    """Return a stream of Anthropic's form with the given block events."""
    start = {
        "type": "message_start",
        "message": {
            "model": "claude-served",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 5,
                "output_tokens": 1,
            },
        },
    }
    last = {
        "type": "message_delta",
        "delta": {"stop_reason": stop},
        "usage": {"output_tokens": 20, "input_tokens": None},
    }
    pairs = [
        ("message_start", start),
        ("ping", {"type": "ping"}),
        *((name, {"type": name, **value}) for name, value in blocks),
    ]
    if end:
        pairs += [("message_delta", last), ("message_stop", {"type": "message_stop"})]
    return named(*pairs)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the events of one block."""
    made: list[tuple[str, Any]] = [
        ("content_block_start", {"index": index, "content_block": start})
    ]
    made += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
    return [*made, ("content_block_stop", {"index": index})]


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def test_anthropic_request_and_stream() -> None:
    request = PLAIN.model_copy(update={"model": "anthropic/claude-x"})
    blocks = [
        *block(
            0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "h"}
        ),
        *block(1, {"type": "text", "text": ""}, text_delta("Bom "), text_delta("día")),
    ]
    reply, seen = asked("anthropic", request, message_events(*blocks))
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == "secret-key"
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "claude-x",
        "max_tokens": 100,
        "system": "Translate.",
        "messages": [{"role": "user", "content": "Good morning"}],
        "temperature": 0.0,
        "stream": True,
    }
    assert (reply.text, reply.finish, reply.model) == ("Bom día", "stop", "claude-served")
    assert reply.usage == Usage(prompt_tokens=45, completion_tokens=20, cached_tokens=30)


def test_anthropic_always_has_a_limit() -> None:
    request = ChatRequest(model="m", messages=PLAIN.messages)
    _, seen = asked("anthropic", request, message_events())
    assert seen.body["max_tokens"] > 0
    assert "temperature" not in seen.body


def test_anthropic_tools_both_ways() -> None:
    first = {"type": "tool_use", "id": "A", "name": "lookup", "input": {}}
    blocks = [
        *block(0, {"type": "text", "text": "Let me see"}),
        *block(1, first, json_delta(""), json_delta('{"word":'), json_delta('"sun"}')),
        *block(2, {"type": "tool_use", "id": "B", "name": "all", "input": {}}),
    ]
    reply, seen = asked("anthropic", DIALOGUE, message_events(*blocks, stop="tool_use"))
    assert seen.body["tools"] == [
        {
            "name": "lookup",
            "description": "Looks a word up.",
            "input_schema": TOOL["function"]["parameters"],  # type: ignore[index]
        }
    ]
    assert seen.body["system"] == "One.\n\nTwo."
    assert seen.body["messages"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "lookup", "input": {"word": "sun"}},
                {"type": "tool_use", "id": "b", "name": "lookup", "input": {"invalid": "no json"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": '{"found": "sol"}'},
                {"type": "tool_result", "tool_use_id": "b", "content": "none"},
            ],
        },
    ]
    assert reply.text == "Let me see"
    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="A", name="lookup", arguments='{"word":"sun"}'),
        ToolCall(id="B", name="all", arguments="{}"),
    )


def test_anthropic_schema() -> None:
    request = PLAIN.model_copy(update={"reply_schema": SCHEMA, "reply_schema_name": "batch"})
    start = {"type": "tool_use", "id": "A", "name": "batch", "input": {}}
    blocks = [
        *block(0, {"type": "text", "text": ""}, text_delta("Here it is:")),
        *block(1, start, json_delta('{"e1":'), json_delta('"ola"}')),
    ]
    reply, seen = asked("anthropic", request, message_events(*blocks, stop="tool_use"))
    assert (reply.text, reply.finish, reply.tool_calls) == ('{"e1":"ola"}', "stop", ())
    assert seen.body["tools"][0]["input_schema"] == SCHEMA
    assert seen.body["tool_choice"]["name"] == "batch"
    # A model that does not call it has still said something.
    talk = message_events(*block(0, {"type": "text", "text": "I see"}))
    assert asked("anthropic", request, talk)[0].text == "I see"


def test_anthropic_without_streaming() -> None:
    whole = {
        "type": "message",
        "model": "claude-served",
        "content": [
            {"type": "text", "text": "ola"},
            {"type": "tool_use", "id": "A", "name": "f", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    reply, _ = asked("anthropic", DIALOGUE, Answer(json=whole))
    assert (reply.text, reply.model, reply.finish) == ("ola", "claude-served", "tool_calls")
    assert reply.tool_calls == (ToolCall(id="A", name="f", arguments='{"x": 1}'),)
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=4)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("stop_sequence", "stop"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "interrupted"),
    ],
)
def test_anthropic_finish(reason: str, expected: str) -> None:
    stream = message_events(*block(0, {"type": "text", "text": "a"}), stop=reason)
    assert asked("anthropic", PLAIN, stream)[0].finish == expected


# Gemini


def content(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of Gemini's form."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-served", **more}


USAGE = {
    "promptTokenCount": 10,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 7,
    "cachedContentTokenCount": 4,
    "totalTokenCount": 22,
}


def test_gemini_request_and_stream() -> None:
    request = PLAIN.model_copy(update={"model": "google/gemini-x"})
    stream = events(
        content({"text": "hm", "thought": True}, usageMetadata={"promptTokenCount": 10}),
        content({"text": "Bom "}),
        content({"text": "día"}, finish="STOP", usageMetadata=USAGE),
        done=False,
    )
    reply, seen = asked("gemini", request, stream)
    assert seen.path == "/v1/models/gemini-x:streamGenerateContent?alt=sse"
    assert seen.headers["x-goog-api-key"] == "secret-key"
    assert seen.body == {
        "contents": [{"role": "user", "parts": [{"text": "Good morning"}]}],
        "systemInstruction": {"parts": [{"text": "Translate."}]},
        "generationConfig": {"temperature": 0.0, "maxOutputTokens": 100},
    }
    assert (reply.text, reply.finish, reply.model) == ("Bom día", "stop", "gemini-served")
    assert reply.usage == Usage(
        prompt_tokens=10, completion_tokens=12, reasoning_tokens=7, cached_tokens=4
    )


def test_gemini_usage_after_the_end() -> None:
    stream = events(content({"text": "a"}, finish="STOP"), {"usageMetadata": USAGE}, done=False)
    assert asked("gemini", PLAIN, stream)[0].usage is not None


def test_a_model_name_cannot_change_the_path() -> None:
    url = provider_named("gemini").url("http://h/v1", "../x?key=1", stream=False)
    assert url == "http://h/v1/models/..%2Fx%3Fkey%3D1:generateContent"


def test_gemini_tools_both_ways() -> None:
    stream = events(
        content(
            {
                "functionCall": {"name": "lookup", "args": {"word": "sun"}},
                "thoughtSignature": "S+/=",
            }
        ),
        content({"functionCall": {"name": "all", "id": "own"}}, finish="STOP"),
        done=False,
    )
    reply, seen = asked("gemini", DIALOGUE, stream)
    assert reply.finish == "tool_calls"
    assert [(each.name, each.arguments) for each in reply.tool_calls] == [
        ("lookup", '{"word": "sun"}'),
        ("all", "{}"),
    ]
    (declaration,) = seen.body["tools"][0]["functionDeclarations"]
    assert declaration["name"] == "lookup"
    assert declaration["parameters"]["properties"] == {"word": {"type": "string"}}
    assert seen.body["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "lookup", "args": {"word": "sun"}, "id": "a"}},
                {"functionCall": {"name": "lookup", "args": {"invalid": "no json"}, "id": "b"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "lookup", "response": {"found": "sol"}, "id": "a"}},
                {"functionResponse": {"name": "lookup", "response": {"result": "none"}, "id": "b"}},
            ],
        },
    ]
    # The second round gives the signature back, and a made-up id to nobody.
    answers = tuple(
        Message(role="tool", content="x", tool_call_id=each.id) for each in reply.tool_calls
    )
    round_two = (*PLAIN.messages, Message(role="assistant", tool_calls=reply.tool_calls), *answers)
    later = ToolCall(id=reply.tool_calls[0].id, name="other", arguments="{}")
    third = (Message(role="assistant", tool_calls=(later,)), answers[0])
    request = DIALOGUE.model_copy(update={"messages": (*round_two, *third)})
    _, seen = asked("gemini", request, events(content({"text": "a"}, finish="STOP"), done=False))
    assert seen.body["contents"][1]["parts"] == [
        {"functionCall": {"name": "lookup", "args": {"word": "sun"}}, "thoughtSignature": "S+/="},
        {"functionCall": {"name": "all", "args": {}, "id": "own"}},
    ]
    names = [
        part["functionResponse"]["name"]
        for each in seen.body["contents"]
        for part in each["parts"]
        if "functionResponse" in part
    ]
    assert names == ["lookup", "all", "other"]


def test_gemini_schema() -> None:
    request = PLAIN.model_copy(update={"reply_schema": SCHEMA})
    _, seen = asked("gemini", request, events(content({"text": "{}"}, finish="STOP"), done=False))
    config = seen.body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"] == {
        "type": "object",
        "properties": {"e1": {"type": "string"}, "title": {"type": "string", "nullable": True}},
        "required": ["e1", "title"],
    }


def test_google_schema_of_nested_forms() -> None:
    schema = {
        "type": "array",
        "items": {"anyOf": [{"const": "a"}, {"type": ["string", "integer"]}], "$comment": "x"},
    }
    assert google_schema(schema) == {
        "type": "array",
        "items": {"anyOf": [{"enum": ["a"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}]},
    }


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("OTHER", "interrupted")],
)
def test_gemini_finish(reason: str, expected: str) -> None:
    stream = events(content({"text": "a"}, finish=reason), done=False)
    assert asked("gemini", PLAIN, stream)[0].finish == expected


def test_gemini_held_the_prompt_back() -> None:
    stream = events({"promptFeedback": {"blockReason": "SAFETY"}}, done=False)
    reply, _ = asked("gemini", PLAIN, stream)
    assert (reply.text, reply.finish) == ("", "content_filter")


@pytest.mark.parametrize("as_list", [False, True])
def test_gemini_without_streaming(as_list: bool) -> None:
    whole = content({"text": "ola"}, finish="STOP", usageMetadata=USAGE)
    reply, _ = asked("gemini", PLAIN, Answer(json=[whole] if as_list else whole))
    assert (reply.text, reply.finish) == ("ola", "stop")
    assert reply.usage is not None


# Words and errors of any provider in the form of any other


ENDED = {"compatible": "stop", "anthropic": "end_turn", "gemini": "STOP"}


def ended(provider: str, reason: str) -> Answer:
    """Return a stream of a provider's form that ended for a reason."""
    if provider == "anthropic":
        return message_events(*block(0, {"type": "text", "text": "a"}), stop=reason)
    if provider == "gemini":
        return events(content({"text": "a"}, finish=reason), done=False)
    return events(piece("a"), piece(finish=reason))


@pytest.mark.parametrize("provider", ENDED)
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("content_filter", "content_filter"),
        ("refusal", "content_filter"),
        ("SAFETY", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("STOP", "stop"),
        ("OTHER", "interrupted"),
        ("pause_turn", "interrupted"),
        ("TOO_MANY_TOOL_CALLS", "interrupted"),
    ],
)
def test_a_gateway_may_pass_on_the_word_of_another(
    provider: str, reason: str, expected: str
) -> None:
    assert asked(provider, PLAIN, ended(provider, reason))[0].finish == expected


@pytest.mark.parametrize("provider", ENDED)
@pytest.mark.parametrize(
    "reason",
    ["error", "abort", "network_error", "insufficient_system_resource", "MALFORMED_RESPONSE"],
)
def test_a_reply_that_could_not_be_delivered_is_an_error(provider: str, reason: str) -> None:
    with pytest.raises(ChatError) as caught:
        asked(provider, PLAIN, ended(provider, reason))
    assert caught.value.kind == "server"
    assert reason in str(caught.value)


@pytest.mark.parametrize("provider", ENDED)
def test_the_word_of_the_provider_is_told_and_cut(provider: str) -> None:
    reply, _ = asked(provider, PLAIN, ended(provider, "weird"))
    assert (reply.finish, reply.finish_word) == ("unknown", "weird")
    reply, _ = asked(provider, PLAIN, ended(provider, "w" * 1_000_000))
    assert (reply.finish, len(reply.finish_word)) == ("unknown", LABEL)


def test_a_word_that_nobody_knows() -> None:
    assert finish_of("") == "unknown"
    assert finish_of("something new") == "unknown"


def anthropic_error(kind: str, *before: tuple[str, Any]) -> Answer:
    """Return a stream of Anthropic's form that ends with an error."""
    begun = message_events(*before, end=False)
    last = {"type": "error", "error": {"type": kind, "message": "the reason"}}
    return Answer(chunks=[*begun.chunks, *named(("error", last)).chunks])


def gemini_error(code: int, status: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": "the reason", "status": status}}


def openai_error(**more: Any) -> dict[str, Any]:
    return {"error": {"message": "the reason", "param": None, "code": None, **more}}


HALF = block(0, {"type": "text", "text": ""}, text_delta("half"))
HALF_CALL = block(0, {"type": "tool_use", "id": "A", "name": "f", "input": {}}, json_delta('{"x'))
BEHIND = {"error": {"code": 502, "message": "the reason"}, "finish_reason": "error", "index": 0}


@pytest.mark.parametrize(
    ("provider", "answer", "kind", "status"),
    [
        ("anthropic", anthropic_error("overloaded_error"), "server", 529),
        ("anthropic", anthropic_error("overloaded_error", *HALF), "server", 529),
        ("anthropic", anthropic_error("api_error", *HALF_CALL[:2]), "server", 500),
        ("anthropic", anthropic_error("rate_limit_error", *HALF), "rate_limit", 429),
        ("anthropic", anthropic_error("invalid_request_error"), "request", 400),
        ("anthropic", anthropic_error("authentication_error"), "auth", 401),
        ("anthropic", anthropic_error("a_new_error", *HALF), "server", None),
        (
            "gemini",
            events(content({"text": "half"}), gemini_error(503, "UNAVAILABLE"), done=False),
            "server",
            503,
        ),
        ("gemini", Answer(json=[gemini_error(429, "RESOURCE_EXHAUSTED")]), "rate_limit", 429),
        ("gemini", events(gemini_error(400, "INVALID_ARGUMENT"), done=False), "request", 400),
        ("openai", events(piece("half"), openai_error(type="server_error")), "server", 500),
        ("openai", events(openai_error(type="rate_limit_error")), "rate_limit", 429),
        ("openrouter", events(piece("half"), {"choices": [BEHIND]}), "server", 502),
        (
            "openrouter",
            events(piece("half"), {**piece("", "error"), **openai_error(code="server_error")}),
            "server",
            500,
        ),
        (
            "openrouter",
            Answer(json={"choices": [{**BEHIND, "message": {"content": "half"}}]}),
            "server",
            502,
        ),
        (
            "openrouter",
            Answer(json={"choices": [{"error": openai_error(code=429)["error"], "index": 0}]}),
            "rate_limit",
            429,
        ),
    ],
)
def test_an_error_inside_a_reply(
    provider: str, answer: Answer, kind: str, status: int | None
) -> None:
    with pytest.raises(ChatError) as caught:
        asked(provider, PLAIN, answer)
    assert (caught.value.kind, caught.value.status) == (kind, status)
    assert "the reason" in str(caught.value)


def test_an_error_of_a_choice_that_is_not_read_is_none() -> None:
    other = {"choices": [{"index": 1, "error": {"message": "x"}}]}
    reply, _ = asked("openrouter", PLAIN, events(piece("a"), other, piece(finish="stop")))
    assert reply.text == "a"


# Tools, thoughts and usage in a stream


def test_anthropic_calls_between_thoughts_and_text() -> None:
    blocks = [
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me see."},
            {"type": "signature_delta", "signature": "EqQB"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "EmwK"}),
        *block(
            2,
            {"type": "text", "text": ""},
            text_delta("I look "),
            {"type": "citations_delta", "citation": {"type": "char_location"}},
            text_delta("it up."),
        ),
        *block(
            3,
            {"type": "tool_use", "id": "A", "name": "lookup", "input": {}},
            json_delta(""),
            json_delta('{"word": "d'),
            json_delta('ía"}'),
        ),
        *block(4, {"type": "server_tool_use", "id": "S", "name": "web_search", "input": {}}),
        *block(5, {"type": "tool_use", "id": "B", "name": "lookup", "input": {}}, json_delta("{}")),
    ]
    reply, _ = asked("anthropic", DIALOGUE, message_events(*blocks, stop="tool_use"))
    assert (reply.text, reply.finish) == ("I look it up.", "tool_calls")
    assert reply.tool_calls == (
        ToolCall(id="A", name="lookup", arguments='{"word": "día"}'),
        ToolCall(id="B", name="lookup", arguments="{}"),
    )


def test_a_call_cut_at_the_limit_is_told_as_cut() -> None:
    cut = message_events(*HALF_CALL, stop="max_tokens")
    reply, _ = asked("anthropic", DIALOGUE, cut)
    assert (reply.finish, reply.tool_calls[0].arguments) == ("length", '{"x')
    cut = events(
        piece(tool_calls=[call(0, "A", name="f", arguments='{"x')]), piece(finish="length")
    )
    reply, _ = asked("openai", DIALOGUE, cut)
    assert (reply.finish, reply.tool_calls[0].arguments) == ("length", '{"x')


def test_gemini_several_calls_in_one_chunk() -> None:
    parts = [
        {"text": "I should look.", "thought": True},
        {"text": "Let me see."},
        {"functionCall": {"name": "lookup", "args": {"word": "día"}}, "thoughtSignature": "S1"},
        {"functionCall": {"name": "lookup", "args": None}},
        {"functionCall": {"id": "own", "name": "other", "args": {"n": 1.5}}},
    ]
    last = {"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": USAGE}
    reply, _ = asked("gemini", DIALOGUE, events(content(*parts), last, done=False))
    assert (reply.text, reply.finish) == ("Let me see.", "tool_calls")
    assert [(each.name, each.arguments) for each in reply.tool_calls] == [
        ("lookup", '{"word": "día"}'),
        ("lookup", "{}"),
        ("other", '{"n": 1.5}'),
    ]
    assert len({each.id for each in reply.tool_calls}) == 3
    assert reply.usage is not None


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_gemini_a_call_that_the_provider_could_not_read(reason: str) -> None:
    with pytest.raises(ChatError) as caught:
        asked("gemini", DIALOGUE, events(content({"text": "a"}, finish=reason), done=False))
    assert caught.value.kind == "server"
    assert reason in str(caught.value)


HUGE = "x" * 1_000_000


def test_what_a_provider_says_of_itself_is_cut() -> None:
    call = {"index": 0, "id": HUGE, "function": {"name": "f", "arguments": "{}"}}
    whole = {"model": HUGE, "choices": [{"message": {"tool_calls": [call]}}]}
    tool = {"type": "tool_use", "id": HUGE, "name": "f", "input": {}}
    message = {"model": HUGE, "content": [tool], "stop_reason": "tool_use"}
    part = {"functionCall": {"name": "f", "id": HUGE}}
    answers = {
        "compatible": whole,
        "anthropic": message,
        "gemini": content(part, finish="STOP", modelVersion=HUGE),
    }
    for provider, answer in answers.items():
        reply, _ = asked(provider, DIALOGUE, Answer(json=answer))
        assert len(reply.model) == LABEL
        assert len(reply.tool_calls[0].id) == LABEL


def test_a_name_with_half_a_letter_can_be_written() -> None:
    answer = {"model": "m\ud800", "choices": [{"message": {"content": "a"}}]}
    reply, _ = asked("compatible", PLAIN, Answer(json=answer))
    assert reply.model == "m?"


def test_the_signature_of_a_thought_is_not_cut() -> None:
    part = {"functionCall": {"name": "f", "id": "1"}, "thoughtSignature": HUGE}
    answer = Answer(json=content(part, finish="STOP"))
    reply, _ = asked("gemini", DIALOGUE, answer)
    assert reply.tool_calls[0].id.endswith(HUGE)


@pytest.mark.parametrize("provider", ENDED)
def test_thousands_of_tool_calls_take_linear_time(provider: str) -> None:
    def seconds(count: int) -> float:
        reading = provider_named(provider).reading(PLAIN)
        start = time.perf_counter()
        for at in range(count):
            call = {"index": at, "id": f"c{at}", "function": {"name": "f", "arguments": "{}"}}
            start_of = {"type": "tool_use", "id": f"c{at}", "name": "f", "input": {}}
            if provider == "gemini":
                reading.take(content({"functionCall": {"name": "f"}}), "")
            elif provider == "anthropic":
                reading.take(
                    {"type": "content_block_start", "index": at, "content_block": start_of}, ""
                )
                reading.take({"type": "content_block_stop", "index": at}, "")
            else:
                reading.take(piece(tool_calls=[call]), "")
        assert len(reading.calls.all()) == count
        return time.perf_counter() - start

    assert seconds(20_000) < 2


@pytest.mark.parametrize("index", [[], {}, True, 0.0, float("nan"), "0"])
def test_an_index_may_be_anything(index: Any) -> None:
    call = {"index": index, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    stream = events(piece(tool_calls=[call]), piece(finish="tool_calls"))
    reply, _ = asked("compatible", PLAIN, stream)
    assert [each.id for each in reply.tool_calls] == ["a"]


def test_openrouter_keeps_the_line_alive_and_tells_the_cost() -> None:
    usage = {
        "prompt_tokens": 194,
        "completion_tokens": 20,
        "total_tokens": 214,
        "cost": 0.95,
        "is_byok": False,
        "cost_details": {"upstream_inference_cost": 19},
        "prompt_tokens_details": {"cached_tokens": 100, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    thought = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    stream = events(
        piece("", reasoning="hm", reasoning_details=thought),
        piece("ola", native_finish_reason=None),
        piece("", finish="stop"),
        {"choices": [], "usage": usage},
    )
    alive = b": OPENROUTER PROCESSING\n\n"
    answer = Answer(chunks=[part for chunk in stream.chunks for part in (alive, chunk)])
    reply, _ = asked("openrouter", PLAIN, answer)
    assert (reply.text, reply.finish) == ("ola", "stop")
    assert reply.usage == Usage(
        prompt_tokens=194,
        completion_tokens=20,
        reasoning_tokens=5,
        cached_tokens=100,
        cost_usd=0.95,
    )


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        # The counts of the last event are those of the whole message, the prompt's too.
        (
            {"input_tokens": 25, "output_tokens": 1},
            {"input_tokens": 900, "output_tokens": 15, "server_tool_use": {"web_search": 1}},
            Usage(prompt_tokens=900, completion_tokens=15),
        ),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 20},
                "output_tokens": 1,
                "service_tier": "standard",
            },
            {"output_tokens": 9},
            Usage(prompt_tokens=23, completion_tokens=9, cached_tokens=0),
        ),
        (None, {"output_tokens": 9}, Usage(completion_tokens=9)),
        (None, None, None),
    ],
)
def test_anthropic_usage(first: Any, last: Any, expected: Usage | None) -> None:
    start = {"type": "message_start", "message": {"model": "m", "usage": first}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
    stream = named(
        ("message_start", start),
        *((name, {"type": name, **value}) for name, value in HALF),
        ("message_delta", end),
        ("message_stop", {"type": "message_stop"}),
    )
    assert asked("anthropic", PLAIN, stream)[0].usage == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # All was spent on thoughts.
        (
            {"promptTokenCount": 8, "totalTokenCount": 58, "thoughtsTokenCount": 50},
            Usage(prompt_tokens=8, completion_tokens=50, reasoning_tokens=50),
        ),
        (
            {
                "promptTokenCount": 8,
                "toolUsePromptTokenCount": 30,
                "candidatesTokenCount": 5,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}],
            },
            Usage(prompt_tokens=38, completion_tokens=5),
        ),
        ({"totalTokenCount": 8}, None),
        ({}, None),
    ],
)
def test_gemini_usage(raw: dict[str, Any], expected: Usage | None) -> None:
    stream = events(content({"text": "a"}, finish="STOP", usageMetadata=raw), done=False)
    assert asked("gemini", PLAIN, stream)[0].usage == expected


# Faults

KEYS = (
    *("error", "message", "code", "type", "metadata", "details", "choices", "delta", "content"),
    *("usage", "tool_calls", "function", "index", "id", "model", "candidates", "parts"),
    *("content_block", "finishReason"),
)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": 429}}, 429),
        ({"error": {"code": "429"}}, 429),
        ({"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}, 400),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, 529),
        ({"error": {"code": 403, "status": "PERMISSION_DENIED"}}, 403),
        ({"error": {"code": 1}}, None),
        ({"error": "text"}, None),
        ("text", None),
    ],
)
def test_the_status_an_error_stands_for(body: Any, status: int | None) -> None:
    assert Fault(body).status == status


def test_an_index_of_any_type_does_no_harm() -> None:
    for index in ([], {}, "x", None, 1.5):
        for name in ("anthropic", "compatible"):
            reading = provider_named(name).reading(DIALOGUE)
            start = {"type": "tool_use", "id": "A", "name": "f", "input": {}}
            reading.take(
                {"type": "content_block_start", "index": index, "content_block": start}, ""
            )
            reading.take({"type": "content_block_stop", "index": index}, "")
            reading.take(piece(tool_calls=[{"index": index, "id": "A"}]), "")
            assert len(reading.calls.all()) == 1


def test_what_is_an_error() -> None:
    assert fault_in({"error": "x"}) is not None
    assert fault_in("x", "error") is not None
    assert fault_in({"error": None, "choices": []}) is None
    assert fault_in([{"error": "x"}]) is None
    assert kind_of(418) == "request"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(NAMES),
)
def test_no_json_breaks_a_reader(value: Any, name: str) -> None:
    for kind in ("message_start", "content_block_start", "content_block_delta", "message_delta"):
        reading = provider_named(name).reading(PLAIN)
        given = {**value, "type": kind} if isinstance(value, dict) else value
        reading.take(given, kind)
        reading.whole(value)
        reading.usage()
        reading.finished()
        assert isinstance(reading.text(), str)
        assert all(isinstance(each.arguments, str) for each in reading.calls.all())
    fault = Fault(value)
    assert isinstance(fault.message, str)
    json.dumps([fault.status, fault.wait, fault.blocked, fault.out_of_money])
