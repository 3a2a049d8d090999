"""Model servers of other projects, started for tests and stopped for sure.

``scripts/test-servers.sh DIRECTORY`` installs them; ``MTARENA_TEST_SERVERS`` names the directory.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from pytest_mtarena.llm.chat import ChatReply, ChatRequest, Message
from pytest_mtarena.llm.client import ProviderChat
from pytest_mtarena.llm.keys import Key
from pytest_mtarena.llm.retry import Retry

VARIABLE = "MTARENA_TEST_SERVERS"
KEY = "sk-only-for-tests-0123456789"
READY_SECONDS = 60.0
_direct = build_opener(ProxyHandler({}))

TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks a word up in the lexicon.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string"}, "most": {"type": "integer"}},
            "required": ["word", "most"],
        },
    },
}


def installed(*names: str) -> list[Path]:
    """Return the paths of what the script installed; skip when it is not there."""
    given = os.environ.get(VARIABLE)
    paths = [Path(given or "").absolute() / name for name in names]
    missing = [name for name, path in zip(names, paths, strict=True) if not path.exists()]
    if not given or missing:
        lacking = f"{', '.join(missing)} is not there" if given else f"{VARIABLE} is not set"
        pytest.skip(f"{lacking}: scripts/test-servers.sh DIRECTORY; export {VARIABLE}=DIRECTORY")
    return paths


class Running:
    """A server that answers on a port of this machine."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.root = f"http://127.0.0.1:{port}"
        self._log = log

    def log(self) -> str:
        """Return what the server has said so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Ask the server itself, beside the client that is tested; return its JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(self.root + path, data=data, headers=headers, method=method)
        with _direct.open(request, timeout=30) as response:
            return json.load(response)


@contextmanager
def started(command: Sequence[str | Path], *, ready: str) -> Iterator[Running]:
    """Start a server, wait until it answers on path ``ready``, and end it with all its children.

    ``{port}`` in the command is a free port.
    """
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        log = Path(directory) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [str(part).replace("{port}", str(port)) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=directory,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        server = Running(process, port, log)
        try:
            _wait(server, ready)
            yield server
        finally:
            _stop(process)


def shown(server: Running) -> Iterator[Running]:
    """Give a server to one test; what it says meanwhile is shown when the test fails."""
    before = len(server.log())
    yield server
    sys.stdout.write(server.log()[before:][-5000:])


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: Running, path: str) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        if server.process.poll() is not None:
            break
        try:
            with _direct.open(server.root + path, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    pytest.fail(f"{server.process.args!r} did not get ready:\n{server.log()[-5000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue
        # The leader has gone; the group has not if a child stayed.
    process.wait(5)


def request(text: str, **more: Any) -> ChatRequest:
    """Return a request with one message of the user."""
    given = {"model": "tiny", "temperature": 0.0, **more}
    return ChatRequest(messages=(Message(role="user", content=text),), **given)


def ask(
    url: str,
    *requests: ChatRequest,
    provider: str = "compatible",
    stream: bool = True,
    **given: Any,
) -> list[ChatReply | BaseException]:
    """Ask all at once; return replies and errors in the order of the requests."""

    async def go() -> list[ChatReply | BaseException]:
        given.setdefault("retry", Retry(base=0.05))
        chat = ProviderChat(provider, base_url=url, key=Key(KEY, "A_KEY"), stream=stream, **given)
        try:
            return await asyncio.gather(*map(chat.ask, requests), return_exceptions=True)
        finally:
            await chat.aclose()

    return asyncio.run(go())


def ask_one(url: str, asked: ChatRequest, **given: Any) -> ChatReply:
    """Ask once; return the reply or raise."""
    [reply] = ask(url, asked, **given)
    if isinstance(reply, BaseException):
        raise reply
    return reply
