"""The OpenAI form of chat completions: OpenAI itself, and the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mtarena.llm.chat import ChatRequest, Message, Usage
from pytest_mtarena.llm.providers import (
    Reading,
    as_json,
    count,
    label,
    listed,
    mapping,
    word,
)
from pytest_mtarena.llm.sse import DONE
from pytest_mtarena.records import Json


class Compatible:
    """Any endpoint of the OpenAI form; its address has to be given."""

    name = "compatible"
    base_url = ""

    def url(self, base_url: str, model: str, *, stream: bool) -> str:
        """Return ``BASE/chat/completions``; a base that is the whole address already stays."""
        path = "/chat/completions"
        return base_url if base_url.endswith(path) else base_url + path

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key as a bearer token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def model(self, model: str) -> str:
        """Return the model's name as it is sent."""
        return model

    limit = "max_tokens"
    """The key of the limit of tokens."""

    def body(self, request: ChatRequest, *, stream: bool) -> dict[str, Json]:
        """Return the body; usage is asked for in a stream's last chunk."""
        body: dict[str, Json] = {
            "model": self.model(request.model),
            "messages": [message_of(message) for message in request.messages],
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body[self.limit] = request.max_tokens
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        if request.reply_schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": request.reply_schema_name or "reply",
                    "schema": dict(request.reply_schema),
                    "strict": True,
                },
            }
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def reading(self, request: ChatRequest) -> Reading:
        """Return the reader of the OpenAI form."""
        return CompletionReading()


class OpenAI(Compatible):
    """OpenAI's own endpoint."""

    name = "openai"
    base_url = "https://api.openai.com/v1"
    limit = "max_completion_tokens"  # Its reasoning models refuse the older key.


def message_of(message: Message) -> dict[str, Json]:
    """Return a message in the OpenAI form."""
    made: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        made["content"] = message.content or None
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made


class CompletionReading(Reading):
    """A chat completion, whole or in chunks.

    The end marker is ``[DONE]``; a stream that ends without it is complete all the same when it
    told why the reply ended: some servers send no ``[DONE]``.
    """

    def take(self, event: Json, name: str) -> None:
        """Take a chunk, or the end marker itself."""
        if event == DONE:
            self.ended = True
            return
        self._choice(mapping(event))

    def whole(self, body: Json) -> None:
        """Take a completion."""
        self._choice(mapping(body))
        self.ended = True

    def _choice(self, chunk: Mapping[str, Any]) -> None:
        self.model = label(chunk.get("model")) or self.model
        # The last word on usage counts, wherever it stands: a chunk may have choices and usage.
        self.raw_usage = dict(mapping(chunk.get("usage"))) or self.raw_usage
        for choice in listed(chunk.get("choices")):
            if mapping(choice).get("index") in (0, None):
                self._piece(mapping(choice))

    def _piece(self, choice: Mapping[str, Any]) -> None:
        self.answered = True
        part = mapping(choice.get("delta")) or mapping(choice.get("message"))
        text = _text(part.get("content"))
        if text:
            self.pieces.append(text)
        if word(part.get("refusal")):
            self.finish = "content_filter"
        for position, call in enumerate(listed(part.get("tool_calls"))):
            self._call(mapping(call), position if "message" in choice else None)
        self.end(word(choice.get("finish_reason")))

    def _call(self, call: Mapping[str, Any], position: int | None) -> None:
        function = mapping(call.get("function"))
        self.calls.piece(
            index=call.get("index") if position is None else position,
            id=label(call.get("id")),
            name=word(function.get("name")),
            arguments=as_json(function.get("arguments")),
        )

    def usage(self) -> Usage | None:
        """Return the tokens: in the forms of OpenAI, OpenRouter, DeepSeek and xAI."""
        return usage_of(self.raw_usage)


def _text(content: object) -> str:
    """Return the text of a content: a text, null, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = map(mapping, content)
        return "".join(word(part.get("text")) for part in parts if part.get("type") == "text")
    return word(content)


def usage_of(raw: Mapping[str, Any]) -> Usage | None:
    """Return the tokens of a ``usage`` object; None for an empty one."""
    prompt = count(raw.get("prompt_tokens", raw.get("input_tokens")))
    completion = count(raw.get("completion_tokens", raw.get("output_tokens")))
    if prompt is None and completion is None:
        return None
    prompt_details = mapping(raw.get("prompt_tokens_details", raw.get("input_tokens_details")))
    details = mapping(raw.get("completion_tokens_details", raw.get("output_tokens_details")))
    reasoning = count(details.get("reasoning_tokens", raw.get("reasoning_tokens")))
    cached = count(prompt_details.get("cached_tokens", raw.get("prompt_cache_hit_tokens")))
    if reasoning and completion is not None and _apart(raw, prompt, completion, reasoning):
        completion += reasoning
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
        cached_tokens=cached,
        cost_usd=_cost(raw),
    )


def _apart(raw: Mapping[str, Any], prompt: int | None, completion: int, reasoning: int) -> bool:
    """Return whether reasoning is not part of the completion: the total gives it away."""
    whole = count(raw.get("total_tokens"))
    if whole is not None and prompt is not None and whole == prompt + completion + reasoning:
        return True
    return reasoning > completion


def _cost(raw: Mapping[str, Any]) -> float | None:
    """Return the cost that a gateway reports, in dollars.

    With an own key behind a gateway (``is_byok``), ``cost`` is its fee alone and the provider's
    price stands beside it.
    """
    costs = [raw.get("cost")]
    if raw.get("is_byok") is True:
        costs.append(mapping(raw.get("cost_details")).get("upstream_inference_cost"))
    known = [
        float(cost)
        for cost in costs
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1e9
    ]
    return sum(known) if known else None
