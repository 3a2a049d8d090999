"""Google's Gemini API (``generateContent``, v1beta)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pytest_mtarena.llm.chat import ChatRequest, Message, ToolCall, Usage
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

_SIGNATURE = "#signature="
"""Parts the id of a tool call from the signature of the thought behind it.

The API wants the signature back with the call and refuses the next round without it; the id is
the one place of a call that travels with it unread."""
_MADE_UP = "call_"

_SCHEMA_KEYS = frozenset(
    {
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "prefixItems",
        "properties",
        "required",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "pattern",
        "anyOf",
        "propertyOrdering",
        "default",
        "example",
    }
)
"""What Google's ``Schema`` has of JSON Schema; anything else is refused by the API."""


class Gemini:
    """Google's endpoint; the key goes in a header."""

    name = "gemini"
    base_url = "https://generativelanguage.googleapis.com/v1beta"

    def url(self, base_url: str, model: str, *, stream: bool) -> str:
        """Return the address of the model's method; nothing in a name can change the path."""
        name = quote(without_vendor(model.removeprefix("models/"), "google"), safe="")
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"{base_url}/models/{name}:{method}"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key."""
        return {"x-goog-api-key": key} if key else {}

    def body(self, request: ChatRequest, *, stream: bool) -> dict[str, Json]:
        """Return the body."""
        body: dict[str, Json] = {"contents": _contents(request.messages)}
        system = [each.content for each in request.messages if each.role == "system"]
        if any(system):
            body["systemInstruction"] = {"parts": [{"text": text} for text in system if text]}
        config: dict[str, Json] = {}
        if request.temperature is not None:
            config["temperature"] = request.temperature
        if request.max_tokens is not None:
            config["maxOutputTokens"] = request.max_tokens
        if request.reply_schema is not None:
            config["responseMimeType"] = "application/json"
            config["responseSchema"] = google_schema(request.reply_schema)
        if config:
            body["generationConfig"] = config
        if request.tools:
            functions = [_declaration(dict(tool).get("function")) for tool in request.tools]
            body["tools"] = [{"functionDeclarations": functions}]
        return body

    def reading(self, request: ChatRequest) -> Reading:
        """Return the reader of contents."""
        return ContentReading()


def google_schema(schema: Mapping[str, Any]) -> dict[str, Json]:
    """Return a JSON Schema in Google's form: keys it does not know left out, null as a flag."""
    made: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "const":
            made["enum"] = [value]
        if key not in _SCHEMA_KEYS:
            continue
        if key == "properties":
            made[key] = {name: google_schema(mapping(of)) for name, of in mapping(value).items()}
        elif key == "items":
            made[key] = google_schema(mapping(value))
        elif key in ("anyOf", "prefixItems"):
            made[key] = [google_schema(mapping(one)) for one in listed(value)]
        elif key == "type" and isinstance(value, list):
            types = [one for one in value if one != "null"]
            made |= {"type": types[0]} if len(types) == 1 else {}
            if len(types) > 1:
                made["anyOf"] = [{"type": one} for one in types]
            if "null" in value:
                made["nullable"] = True
        else:
            made[key] = value
    return made


def _declaration(function: object) -> dict[str, Json]:
    given = mapping(function)
    made: dict[str, Json] = {"name": given.get("name", "")}
    if given.get("description"):
        made["description"] = given["description"]
    parameters = mapping(given.get("parameters"))
    if parameters.get("properties"):  # An object without properties is refused.
        made["parameters"] = google_schema(parameters)
    return made


def _contents(messages: tuple[Message, ...]) -> list[dict[str, Json]]:
    # Made-up ids count from 0 in each reply, so an id means the latest call before the answer.
    names: dict[str, str] = {}
    made: list[dict[str, Json]] = []
    answers: list[Json] = []
    for message in messages:
        if message.role == "tool":
            if not answers:
                made.append({"role": "user", "parts": answers})
            answers.append(_answer(message, names))
            continue
        answers = []
        names |= {call.id: call.name for call in message.tool_calls}
        if message.role != "system":
            role = "model" if message.role == "assistant" else "user"
            made.append({"role": role, "parts": _parts(message)})
    return made


def _parts(message: Message) -> list[Json]:
    parts: list[Json] = []
    if message.content or not message.tool_calls:
        parts.append({"text": message.content})
    parts += map(_function_call, message.tool_calls)
    return parts


def _function_call(call: ToolCall) -> dict[str, Json]:
    id, _, signature = call.id.partition(_SIGNATURE)
    made: dict[str, Json] = {"name": call.name, "args": as_object(call.arguments)}
    if not id.startswith(_MADE_UP):
        made["id"] = id
    part: dict[str, Json] = {"functionCall": made}
    if signature:
        part["thoughtSignature"] = signature
    return part


def _answer(message: Message, names: Mapping[str, str]) -> dict[str, Json]:
    whole_id = message.tool_call_id or ""
    id = whole_id.partition(_SIGNATURE)[0]
    try:
        value = json.loads(message.content)
    except (ValueError, RecursionError):
        value = message.content
    response = value if isinstance(value, dict) else {"result": value}
    made: dict[str, Json] = {"name": names.get(whole_id, ""), "response": response}
    if id and not id.startswith(_MADE_UP):
        made["id"] = id
    return {"functionResponse": made}


class ContentReading(Reading):
    """A response, whole or in chunks that look the same; the reason of the end is its marker.

    A stream is read to its end all the same: usage may come last."""

    def take(self, event: Json, name: str) -> None:
        """Take one chunk."""
        given = mapping(event)
        self.model = label(given.get("modelVersion")) or self.model
        self.raw_usage.update(mapping(given.get("usageMetadata")))
        if word(mapping(given.get("promptFeedback")).get("blockReason")):
            self.answered = True
            self.finish = "content_filter"
        for candidate in listed(given.get("candidates")):
            if mapping(candidate).get("index") in (0, None):
                self._candidate(mapping(candidate))

    def whole(self, body: Json) -> None:
        """Take a response, or the array of chunks that a stream without events is."""
        for chunk in body if isinstance(body, list) else [body]:
            self.take(chunk, "")
        self.ended = True

    def _candidate(self, candidate: Mapping[str, Any]) -> None:
        self.answered = True
        for part in map(mapping, listed(mapping(candidate.get("content")).get("parts"))):
            self._part(part)
        reason = word(candidate.get("finishReason"))
        if reason != "FINISH_REASON_UNSPECIFIED":
            self.end(reason)

    def _part(self, part: Mapping[str, Any]) -> None:
        if part.get("thought") is True:
            return
        text = word(part.get("text"))
        if text:
            self.pieces.append(text)
        call = mapping(part.get("functionCall"))
        if call:
            position = len(self.calls)
            id = label(call.get("id")) or f"{_MADE_UP}{position}"
            signature = word(part.get("thoughtSignature"))
            self.calls.piece(
                index=position,
                id=f"{id}{_SIGNATURE}{signature}" if signature else id,
                name=word(call.get("name")),
                arguments=as_json(call.get("args")) or "{}",
            )

    def usage(self) -> Usage | None:
        """Return the tokens; this API counts thoughts apart from the answer."""
        raw = self.raw_usage
        prompt = total(
            count(raw.get("promptTokenCount")), count(raw.get("toolUsePromptTokenCount"))
        )
        thoughts = count(raw.get("thoughtsTokenCount"))
        completion = total(count(raw.get("candidatesTokenCount")), thoughts)
        if prompt is None and completion is None:
            return None
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            reasoning_tokens=thoughts,
            cached_tokens=count(raw.get("cachedContentTokenCount")),
        )
