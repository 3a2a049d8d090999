"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mtarena.llm.chat import ChatRequest, Message, Usage
from pytest_mtarena.llm.providers import (
    Reading,
    as_json,
    as_object,
    count,
    label,
    listed,
    mapping,
    total,
    without_vendor,
    word,
)
from pytest_mtarena.records import Json

API_VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""Sent when the request has no limit: this API does not work without one."""


class Anthropic:
    """Anthropic's endpoint.

    A reply schema is asked for as a tool that has to be called: every model has tools. What the
    model gives the tool is then the text of the reply.
    """

    name = "anthropic"
    base_url = "https://api.anthropic.com/v1"

    def url(self, base_url: str, model: str, *, stream: bool) -> str:
        """Return ``BASE/messages``."""
        return f"{base_url}/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key and the version of the API."""
        return {"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: ChatRequest, *, stream: bool) -> dict[str, Json]:
        """Return the body: system text on the top level, tools in Anthropic's form."""
        body: dict[str, Json] = {
            "model": without_vendor(request.model, "anthropic"),
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "messages": _messages(request.messages),
        }
        system = [each.content for each in request.messages if each.role == "system"]
        if any(system):
            body["system"] = "\n\n".join(system)
        if request.temperature is not None:
            body["temperature"] = request.temperature
        tools = [_tool(mapping(dict(tool)).get("function")) for tool in request.tools]
        schema_tool = _schema_tool(request)
        if schema_tool:
            tools.append(
                {
                    "name": schema_tool,
                    "description": "Gives the reply in the form that is asked for.",
                    "input_schema": dict(request.reply_schema or {}),
                }
            )
            choice = {"type": "any"} if request.tools else {"type": "tool", "name": schema_tool}
            body["tool_choice"] = {**choice, "disable_parallel_tool_use": True}
        if tools:
            body["tools"] = tools
        if stream:
            body["stream"] = True
        return body

    def reading(self, request: ChatRequest) -> Reading:
        """Return the reader of messages."""
        return MessageReading(_schema_tool(request))


def _schema_tool(request: ChatRequest) -> str:
    if request.reply_schema is None:
        return ""
    return request.reply_schema_name or "reply"


def _tool(function: object) -> dict[str, Json]:
    given = mapping(function)
    made: dict[str, Json] = {
        "name": given.get("name", ""),
        "input_schema": given.get("parameters") or {"type": "object", "properties": {}},
    }
    if given.get("description"):
        made["description"] = given["description"]
    return made


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Json]]:
    """Return the dialogue; answers of tools that follow each other are one message of the user."""
    made: list[dict[str, Json]] = []
    answers: list[Json] = []
    for message in messages:
        if message.role == "tool":
            if not answers:
                made.append({"role": "user", "content": answers})
            answers.append(
                {
                    "type": "tool_result",
                    "tool_use_id": message.tool_call_id or "",
                    "content": message.content,
                }
            )
            continue
        answers = []
        if message.role != "system":
            made.append({"role": message.role, "content": _content(message)})
    return made


def _content(message: Message) -> Json:
    if not message.tool_calls:
        return message.content
    blocks: list[Json] = []
    if message.content.strip():  # Blank blocks of text are refused.
        blocks.append({"type": "text", "text": message.content})
    blocks += [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": as_object(each.arguments)}
        for each in message.tool_calls
    ]
    return blocks


class MessageReading(Reading):
    """A message, whole or in events; ``message_stop`` is its end marker."""

    def __init__(self, schema_tool: str = "") -> None:
        super().__init__()
        self._schema_tool = schema_tool
        self._schema_blocks: set[object] = set()
        self._streamed: set[object] = set()
        self._inputs: dict[object, str] = {}
        self._talk: list[str] = []

    def take(self, event: Json, name: str) -> None:
        """Take one event."""
        given = mapping(event)
        kind = given.get("type")
        index = count(given.get("index"))
        if kind == "message_start":
            self._message(mapping(given.get("message")))
        elif kind == "content_block_start":
            self._start(index, mapping(given.get("content_block")))
        elif kind == "content_block_delta":
            self._delta(index, mapping(given.get("delta")))
        elif kind == "content_block_stop":
            self._stop(index)
        elif kind == "message_delta":
            self._reason(mapping(given.get("delta")))
            self._count(given.get("usage"))
        elif kind == "message_stop":
            self.ended = True

    def whole(self, body: Json) -> None:
        """Take a message."""
        given = mapping(body)
        self._message(given)
        self.answered = isinstance(given.get("content"), list)
        for index, block in enumerate(listed(given.get("content"))):
            self._start(index, mapping(block))
            self._stop(index)
        self._reason(given)
        self.ended = True

    def _message(self, message: Mapping[str, Any]) -> None:
        self.answered = True
        self.model = label(message.get("model")) or self.model
        self._count(message.get("usage"))

    def _count(self, usage: object) -> None:
        # The counts of the later event are cumulative; what it leaves out stays.
        known = {key: value for key, value in mapping(usage).items() if value is not None}
        self.raw_usage.update(known)

    def _start(self, index: object, block: Mapping[str, Any]) -> None:
        if block.get("type") == "text":
            self._text(word(block.get("text")))
        elif block.get("type") == "tool_use":
            given = block.get("input")
            self._inputs[index] = as_json(given) if given else ""
            if self._schema_tool and block.get("name") == self._schema_tool:
                self._schema_blocks.add(index)
            else:
                asked, id = word(block.get("name")), label(block.get("id"))
                self.calls.piece(index=index, id=id, name=asked)

    def _delta(self, index: object, delta: Mapping[str, Any]) -> None:
        if delta.get("type") == "text_delta":
            self._text(word(delta.get("text")))
        elif delta.get("type") == "input_json_delta":
            piece = word(delta.get("partial_json"))
            if piece:
                self._streamed.add(index)
                self._input(index, piece)

    def _stop(self, index: object) -> None:
        # The input stands in the start of a block, or comes in pieces, or there is none.
        if index in self._inputs and index not in self._streamed:
            self._input(index, self._inputs[index] or "{}")

    def _input(self, index: object, piece: str) -> None:
        if index in self._schema_blocks:
            self.pieces.append(piece)
        else:
            self.calls.piece(index=index, arguments=piece)

    def _text(self, text: str) -> None:
        if text:
            (self._talk if self._schema_tool else self.pieces).append(text)

    def text(self) -> str:
        """Return the text; beside a tool that carries the reply, text is talk and left out."""
        if self._schema_tool and not self._schema_blocks:
            self.pieces = self._talk
        return super().text()

    def _reason(self, given: Mapping[str, Any]) -> None:
        reason = word(given.get("stop_reason"))
        if reason:
            self.end(reason)
            if self._schema_blocks and not self.calls and self.finish == "tool_calls":
                self.finish = "stop"

    def usage(self) -> Usage | None:
        """Return the tokens; this API counts cached ones apart from the rest of the prompt."""
        raw = self.raw_usage
        fresh, completion = count(raw.get("input_tokens")), count(raw.get("output_tokens"))
        if fresh is None and completion is None:
            return None
        cached = count(raw.get("cache_read_input_tokens"))
        return Usage(
            prompt_tokens=total(fresh, cached, count(raw.get("cache_creation_input_tokens"))),
            completion_tokens=completion,
            cached_tokens=cached,
        )
