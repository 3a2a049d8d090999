"""An OpenAI-compatible endpoint on this machine that answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

KEY = "sk-only-for-tests-0123456789"


class Reply(NamedTuple):
    """One answer over HTTP."""

    body: str
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = {}


def completion(
    text: str | None, finish: str = "stop", *, usage: Any = None, **message: Any
) -> Reply:
    """Return an answer in one piece; ``message`` is what else the message has."""
    choice = {"index": 0, "message": {"content": text, **message}, "finish_reason": finish}
    whole = {"model": "tiny-model-0611", "choices": [choice]}
    return Reply(json.dumps(whole if usage is None else {**whole, "usage": usage}))


def piece(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return one chunk of a stream."""
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"model": "tiny-model-0611", "choices": [choice], **more}


def stream(*chunks: Any) -> Reply:
    """Return an answer in pieces, with the end marker."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Reply("".join([*lines, "data: [DONE]\n\n"]), kind="text/event-stream")


def asked_for(body: Mapping[str, Any]) -> str:
    """Return the last message of a request."""
    return str(body["messages"][-1]["content"])


class Endpoint:
    """A server on a port of its own; ``answer`` gets a request and may be changed at any time."""

    def __init__(self, answer: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        self.answer = answer or (lambda body: completion("ok"))
        self.requests: list[dict[str, Any]] = []
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    outer.requests.append(asked)
                    reply = outer.answer(asked)
                body = reply.body.encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.options = (
            "--mt-model=tiny-model",
            "--mt-provider=openai",
            f"--mt-base-url=http://127.0.0.1:{self._server.server_port}/v1",
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
