"""What a chat with a language model is: a request, a reply, what it cost, and how it failed.

Times are seconds, money is US dollars, tokens are whole numbers as the provider counts them.
Nothing here knows a provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from pytest_mtarena.records import Json, Record

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "content_filter", "tool_calls", "interrupted", "unknown"]
"""Why a reply ended. ``length``: it was cut at ``max_tokens``; ``content_filter``: the provider
held it back; ``interrupted``: the provider broke it off for another reason; ``unknown``: the
provider does not say, or has a word for it that nobody knows, so that it may be cut."""

ErrorKind = Literal[
    "auth",
    "request",
    "not_found",
    "rate_limit",
    "server",
    "timeout",
    "connection",
    "bad_reply",
    "stopped",
]
"""What went wrong: ``auth`` 401/402/403/407, ``request`` other 4xx, ``server`` 5xx or an error
inside a 200, ``connection`` reset or refused, ``bad_reply`` no JSON or no choice, ``stopped`` not
sent because the run is being stopped (budget, circuit breaker)."""


FREE: frozenset[ErrorKind] = frozenset({"auth", "request", "not_found", "rate_limit", "stopped"})
"""Errors of calls that no provider bills: nothing was generated."""


class ToolCall(Record):
    """One call of a tool that a model asks for."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it; may be no JSON at all."""


class Message(Record):
    """One message of a chat."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant's message."""
    tool_call_id: str | None = None
    """Of a tool's message: the call that it answers."""


class ChatRequest(Record):
    """What is asked. Equal requests may be answered by one reply (the cache)."""

    model: str
    """As the provider calls it."""
    messages: tuple[Message, ...]
    temperature: float | None = None
    """None: not sent."""
    max_tokens: int | None = None
    reply_schema_name: str | None = None
    """Name of ``reply_schema``."""
    reply_schema: Mapping[str, Json] | None = None
    """JSON Schema that the reply has to follow; None: free text."""
    tools: tuple[Mapping[str, Json], ...] = ()
    """Tool definitions in the OpenAI form (``type``, ``function``)."""


class Usage(Record):
    """Tokens of one call, and what the provider says that it cost."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Reasoning tokens included, counted once."""
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    """The part of ``prompt_tokens`` that the provider had in its cache."""
    cost_usd: float | None = None
    """As the provider reports it; None when it does not."""


class ChatReply(Record):
    """What came back."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "unknown"
    finish_word: str = ""
    """The provider's own word for ``finish``, cut; empty when it has none."""
    usage: Usage | None = None
    """None: the provider reported none."""
    model: str = ""
    """The model that served the call, as the provider names it; empty when it does not."""
    seconds: float = 0.0
    """From the sending of the request that was answered to the last byte."""
    first_token_seconds: float | None = None
    """To the first piece of text; None without streaming."""
    tries: int = 1
    """Requests it took, the answered one included."""
    from_cache: bool = False
    not_kept: str = Field(default="", exclude=True)
    """Why a cache could not write it, in the system's words; empty when it could, or had not to."""


class ChatError(Exception):
    """A call that has no reply. The text is for people and holds no secret."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        tries: int = 1,
        free: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        """The HTTP status, when there was one."""
        self.tries = tries
        """Requests that were sent; 0: none."""
        self.free = kind in FREE if free is None else free
        """True: nothing was generated, in no try. False: it may have been, and billed."""


@runtime_checkable
class Chat(Protocol):
    """Something that answers requests: a provider, a budget before it, a cache before that."""

    @property
    def facts(self) -> Mapping[str, Json]:
        """What can change a reply beside the request: provider, endpoint digest, parser version."""
        ...

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply; raises ChatError. Many calls may run at once in one event loop."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
