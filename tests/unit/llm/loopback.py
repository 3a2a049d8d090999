"""A server on this machine that answers from a script, for tests of the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web


@dataclass
class Answer:
    """One answer. ``chunks`` are written one by one; ``cut`` breaks the connection after them."""

    status: int = 200
    json: Any = None
    chunks: Sequence[bytes] = ()
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: float = 0.0
    """Seconds to be silent after the chunks."""
    cut: bool = False


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any
    at: float


def events(*values: Any, done: bool = True) -> Answer:
    """Return a stream of the OpenAI form: one event a value, and the end marker."""
    chunks = [f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode() for value in values]
    return Answer(chunks=[*chunks, *([b"data: [DONE]\n\n"] if done else [])])


def named(*pairs: tuple[str, Any]) -> Answer:
    """Return a stream of the Anthropic form: events with names."""
    return Answer(
        chunks=[f"event: {name}\ndata: {json.dumps(value)}\n\n".encode() for name, value in pairs]
    )


def piece(content: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return one chunk of the OpenAI form."""
    if content is not None:
        delta["content"] = content
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "model": "served-1", "choices": [choice]}


def good(text: str = "ola", usage: dict[str, Any] | None = None) -> Answer:
    """Return a small complete stream."""
    last = [{"choices": [], "usage": usage}] if usage else []
    return events(piece(text), piece(finish="stop"), *last)


class Loopback:
    """Answers requests in turn; the last answer is repeated. A function may make the answers."""

    def __init__(self, *answers: Answer, make: Callable[[Seen], Answer] | None = None) -> None:
        self._answers = list(answers)
        self._make = make
        self.seen: list[Seen] = []
        self.in_flight = 0
        self.peak = 0
        self.connections: set[int] = set()
        self.url = ""

    async def __aenter__(self) -> Loopback:
        app = web.Application(client_max_size=1 << 27)
        app.router.add_post("/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    def _next(self, seen: Seen) -> Answer:
        if self._make is not None:
            return self._make(seen)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._answer(request)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        body = json.loads(await request.read())
        headers = {key.lower(): value for key, value in request.headers.items()}
        seen = Seen(request.path_qs, headers, body, loop.time())
        self.seen.append(seen)
        self.connections.add(id(request.transport))
        answer = self._next(seen)
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.json is not None:
            return web.json_response(answer.json, status=answer.status, headers=answer.headers)
        kind = answer.content_type or "text/event-stream"
        response = web.StreamResponse(
            status=answer.status, headers={"Content-Type": kind, **answer.headers}
        )
        await response.prepare(request)
        for chunk in answer.chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if answer.hang:
            await asyncio.sleep(answer.hang)
        if answer.cut:
            assert request.transport is not None
            request.transport.abort()
        else:
            await response.write_eof()
        return response
