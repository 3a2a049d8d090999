"""What the client needs of a provider: where and how to ask, and how to read what comes back.

An adapter is pure: it makes URL, headers and body of a request, and its ``Reading`` puts the pieces
of a reply together. Sending, waiting and failing is the client's part and the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ChatRequest, ErrorKind, Finish, ToolCall, Usage
from pytest_mtarena.records import Json

PARSER_VERSION = 3
"""Grows when the same bytes of a provider would be read as another reply."""


class Provider(Protocol):
    """One way of talking to language models."""

    @property
    def name(self) -> str:
        """Its name, as options and cards have it."""
        ...

    @property
    def base_url(self) -> str:
        """The address when none is given; "" when one has to be."""
        ...

    def url(self, base_url: str, model: str, *, stream: bool) -> str:
        """Return the address of a request."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that hold the key, and what the provider wants beside it."""
        ...

    def body(self, request: ChatRequest, *, stream: bool) -> dict[str, Json]:
        """Return the JSON body of a request."""
        ...

    def reading(self, request: ChatRequest) -> Reading:
        """Return what puts the reply to this request together."""
        ...


class Reading:
    """A reply in the making.

    ``take`` is given each JSON value of a stream, or ``whole`` the one of a reply without
    streaming. Both do nothing with what they do not know.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.calls = ToolCalls()
        self.finish: Finish | None = None
        """None until the provider says why it ended."""
        self.finish_word = ""
        """The provider's own word for that, cut."""
        self.model = ""
        self.raw_usage: dict[str, Json] = {}
        self.answered = False
        """Whether there was a choice at all, be it an empty one."""
        self.ended = False
        """Whether the end marker was seen."""
        self.broken = ""
        """The provider's word for a generation that it could not deliver."""

    def take(self, event: Json, name: str) -> None:
        """Take one value of a stream; ``name`` is the type of its event."""
        raise NotImplementedError

    def whole(self, body: Json) -> None:
        """Take a reply that came in one piece."""
        raise NotImplementedError

    def usage(self) -> Usage | None:
        """Return the tokens; None when the provider reported none."""
        raise NotImplementedError

    def end(self, reason: str) -> None:
        """Take the provider's word for the end of the reply; a filter that was told stays."""
        if reason.lower() in _BROKEN:
            self.broken = f"the reply ended with {reason}"
        elif reason and self.finish != "content_filter":
            self.finish, self.finish_word = finish_of(reason), label(reason)

    @property
    def begun(self) -> bool:
        """Whether a first piece of an answer is there."""
        return bool(self.pieces) or bool(self.calls)

    def text(self) -> str:
        """Return the text so far; halves of a letter that came in two pieces are joined."""
        text = "".join(self.pieces)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            # Halves that belong together become their letter, lone ones U+FFFD.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    def finished(self) -> Finish:
        """Return why the reply ended; asking for tools counts before an ordinary end."""
        finish = self.finish or "unknown"
        return "tool_calls" if self.calls and finish in ("stop", "unknown") else finish


class ToolCalls:
    """Tool calls put together from pieces that come interleaved."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        """The first call of an id."""
        self._by_index: dict[object, _Call] = {}
        """The last call of an index."""

    def __len__(self) -> int:
        return len(self._calls)

    def piece(
        self, *, index: object = None, id: str = "", name: str = "", arguments: str = ""
    ) -> None:
        """Add one piece to the call it belongs to.

        A known id decides, then a new id together with a name (a new call, whatever its index:
        some servers count them all 0), then the index, then the last call.
        """
        index = index if isinstance(index, int | float | str) else None
        call = self._find(index, id, name)
        if call is None:
            call = _Call(id)
            self._calls.append(call)
            if index is not None:
                self._by_index[index] = call
        call.id = call.id or id
        if call.id:
            self._by_id.setdefault(call.id, call)
        call.name = call.name or name
        call.arguments.append(arguments)

    def _find(self, index: object, id: str, name: str) -> _Call | None:
        if id and id in self._by_id:
            return self._by_id[id]
        last = self._by_index.get(index) if index is not None else None
        if last is not None:
            return None if id and name and last.id else last
        if index is not None or (id and self._calls and self._calls[-1].id) or name:
            return None
        return self._calls[-1] if self._calls else None

    def all(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order in which they began; missing ids are made up."""
        return tuple(
            ToolCall(
                id=call.id or f"call_{position}",
                name=call.name,
                arguments="".join(call.arguments),
            )
            for position, call in enumerate(self._calls)
        )


class _Call:
    __slots__ = ("arguments", "id", "name")

    def __init__(self, id: str) -> None:
        self.id = id
        self.name = ""
        self.arguments: list[str] = []


_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}
"""Words for an error inside a body to the HTTP status that they stand for."""

_FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)


class Fault:
    """What a body says of an error: in the forms of all providers, and of common servers."""

    def __init__(self, body: Json) -> None:
        body = body[0] if isinstance(body, list) and body else body
        error = (body.get("error") or body) if isinstance(body, dict) else body
        self._error: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
        self.message = _message(self._error)

    @property
    def status(self) -> int | None:
        """The HTTP status that it names or stands for; None when it does neither."""
        for key in ("code", "status", "status_code", "type"):
            value = self._error.get(key)
            if isinstance(value, str) and value in _STATUS_OF:
                return _STATUS_OF[value]
            number = int(value) if isinstance(value, str) and _digits(value) else value
            if isinstance(number, int) and 400 <= number < 600:
                return number
        return None

    @property
    def blocked(self) -> bool:
        """Whether the provider held the request back for what it says."""
        inner = self._error.get("innererror")
        words = [self._error.get("code"), self._error.get("type")]
        words.append(inner.get("code") if isinstance(inner, dict) else None)
        if any(isinstance(word, str) and word in _FILTERED for word in words):
            return True
        metadata = self._error.get("metadata")
        return isinstance(metadata, dict) and bool(
            metadata.get("reasons") and metadata.get("flagged_input")
        )

    @property
    def out_of_money(self) -> bool:
        """Whether no wait helps: the account has nothing left."""
        return "insufficient_quota" in (self._error.get("code"), self._error.get("type"))

    @property
    def wait(self) -> float | None:
        """Seconds to wait, where the body says it (Google's RetryInfo)."""
        details = self._error.get("details")
        for detail in details if isinstance(details, list) else ():
            delay = detail.get("retryDelay") if isinstance(detail, dict) else None
            if isinstance(delay, str) and delay.endswith("s"):
                try:
                    seconds = float(delay[:-1])
                except ValueError:
                    continue
                if 0 < seconds < 1e9:
                    return seconds
        return None


def _digits(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit()


def _message(error: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "error_description", "title"):
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip() + _raw(error)
        if isinstance(value, (list, dict)) and value:
            return json.dumps(value, ensure_ascii=False)
    return ""


def _raw(error: Mapping[str, Any]) -> str:
    """Return what the provider behind a gateway said (OpenRouter's ``metadata.raw``)."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f": {raw.strip()}" if isinstance(raw, str) and raw.strip() else ""


def fault_in(body: Json, name: str = "") -> Fault | None:
    """Return the error that a body or an event of a successful answer holds, if it does."""
    if not isinstance(body, dict):
        return Fault(body) if name == "error" else None
    if body.get("error") or name == "error" or body.get("object") == "error":
        return Fault(body)
    for choice in map(mapping, listed(body.get("choices"))):
        # OpenRouter's place for what broke behind it, once a reply has begun.
        if choice.get("error") and choice.get("index") in (0, None):
            return Fault({"error": choice["error"]})
    return None


def kind_of(status: int) -> ErrorKind:
    """Return what kind of failure an HTTP status is."""
    kinds: dict[int, ErrorKind] = {
        401: "auth",
        402: "auth",
        403: "auth",
        407: "auth",
        404: "not_found",
        408: "timeout",
        429: "rate_limit",
    }
    return kinds.get(status, "server" if status >= 500 else "request")


_FINISH: Mapping[str, Finish] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool_calls"),
    **dict.fromkeys(
        (
            *("content_filter", "refusal", "safety", "image_safety", "recitation", "language"),
            *("blocklist", "prohibited_content", "spii", "sensitive", "error_toxic"),
            *("image_prohibited_content", "image_recitation"),
        ),
        "content_filter",
    ),
    # Google: "all other reasons that stopped the generation"; Anthropic: a turn to go on with.
    **dict.fromkeys(
        (
            *("other", "image_other", "no_image", "pause_turn", "pause_run"),
            *("too_many_tool_calls", "missing_thought_signature"),
        ),
        "interrupted",
    ),
}

_BROKEN = frozenset(
    {
        *("malformed_function_call", "unexpected_tool_call", "malformed_response"),
        *("error", "network_error", "insufficient_system_resource", "timeout"),
        *("abort", "aborted", "cancelled", "canceled", "user_cancel"),
    }
)
"""Words for a reply that the provider could not deliver: the same request may well succeed."""


def finish_of(reason: str) -> Finish:
    """Return why a reply ended, from the word of any provider, in any case.

    One table for all: a gateway has the form of one provider and may pass on the word of another.
    """
    return _FINISH.get(reason.lower(), "unknown")


def count(value: object) -> int | None:
    """Return a number of tokens; None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 1e15 else None


def total(*values: int | None) -> int | None:
    """Return the sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return the value if it is a JSON array, otherwise an empty one."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """Return the value if it is a text, otherwise "" (null is usual in streams)."""
    return value if isinstance(value, str) else ""


LABEL = 200
"""Characters of what a provider says of itself: the model, the end, the ids of tool calls."""


def label(value: object) -> str:
    """Return a name that a provider gives, cut, as text that can be written; "" for none."""
    return word(value)[:LABEL].encode("utf-8", "replace").decode("utf-8")


def as_json(value: object) -> str:
    """Return arguments of a tool as JSON; text is taken as JSON already."""
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def as_object(arguments: str) -> dict[str, Json]:
    """Return a tool's arguments for a provider that wants an object; what is none is wrapped."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"invalid": value}


def without_vendor(model: str, vendor: str) -> str:
    """Return a model's name as its own vendor's API has it: no ``vendor/`` before it."""
    return model.removeprefix(f"{vendor}/")


NAMES = ("openrouter", "openai", "anthropic", "gemini", "compatible")
"""All providers; ``compatible`` is any endpoint of the OpenAI form and needs a base URL."""


def provider_named(name: str) -> Provider:
    """Return a provider by its name.

    Raises:
        UsageError: there is none of that name.
    """
    from pytest_mtarena.llm.providers.anthropic import Anthropic
    from pytest_mtarena.llm.providers.gemini import Gemini
    from pytest_mtarena.llm.providers.openai import Compatible, OpenAI
    from pytest_mtarena.llm.providers.openrouter import OpenRouter

    found: list[Provider] = [OpenRouter(), OpenAI(), Anthropic(), Gemini(), Compatible()]
    for provider in found:
        if provider.name == name:
            return provider
    raise UsageError(f"no provider {name!r}; there are {', '.join(NAMES)}")
