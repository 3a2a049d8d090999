"""The client: one request to one provider, read as it streams, tried again when that can help."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random as random_module
import ssl
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.breaker import Breaker
from pytest_mtarena.llm.budget import Toll
from pytest_mtarena.llm.chat import ChatError, ChatReply, ChatRequest, ErrorKind
from pytest_mtarena.llm.keys import Key, is_loopback, key_for, mask
from pytest_mtarena.llm.providers import (
    PARSER_VERSION,
    Fault,
    Provider,
    Reading,
    fault_in,
    kind_of,
    provider_named,
)
from pytest_mtarena.llm.proxies import is_usable, place_of, proxy_for
from pytest_mtarena.llm.retry import CallFailed, Clock, Gate, RealClock, Retry, persist, retry_after
from pytest_mtarena.llm.sse import DONE, Event, EventParser
from pytest_mtarena.records import Json
from pytest_mtarena.text import cut, printable

LARGEST = 64 * 1024 * 1024
"""Bytes of a reply; a longer one is no reply."""

_ERROR_BYTES = 65536
_SHOWN = 300
_CONNECT_SECONDS = 30.0
_DRAIN_SECONDS = 0.2
_STALE_SECONDS = 0.5
_STALE_TRIES = 32
_PASSED_ON = frozenset({408, 502, 504, 524})
"""Statuses of a gateway that gave up waiting: behind it the request may go on, and be billed."""
_PROXY_WANTS_A_KEY = 407
_USER_AGENT = "pytest-mtarena"


class ProviderChat:
    """A provider as a Chat. For one event loop at a time; its connections are kept and used again.

    Args:
        provider: a name of ``providers.NAMES``, or an adapter.
        base_url: the address in place of the provider's own, without ``/chat/completions``.
        key: the secret; without it the environment is asked.
        environ: the environment to ask, ``os.environ`` by default.
        stream: whether to ask for a stream. Only a stream has a time to the first token.
        timeout: seconds that one request may take. When they are over the call has failed: the
            same request would take, and cost, as much again.
        stall: seconds without a byte after which the request is tried again.
        retry: how often, and how long to wait.
        gate: held while a request is under way, and free while a wait for the next try is.
        breaker: counts the calls that failed for good, and stops.
        toll: is asked before every try, and told what it cost.
        clock, random: for tests.

    Raises:
        UsageError: an unknown provider, or an address that is none or holds a secret.
        MissingKey: no key in the environment.
    """

    def __init__(
        self,
        provider: str | Provider,
        *,
        base_url: str | None = None,
        key: Key | None = None,
        environ: Mapping[str, str] | None = None,
        stream: bool = True,
        timeout: float = 600.0,
        stall: float = 300.0,
        retry: Retry = Retry(),  # noqa: B008  (frozen)
        gate: asyncio.Semaphore | Gate | None = None,
        breaker: Breaker | None = None,
        toll: Toll | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._provider = provider_named(provider) if isinstance(provider, str) else provider
        self._base_url = checked_url(base_url or self._provider.base_url)
        self._key = key or key_for(self._provider.name, base_url=self._base_url, environ=environ)
        self._stream = stream
        self._timeout = aiohttp.ClientTimeout(
            total=timeout, sock_connect=min(_CONNECT_SECONDS, stall), sock_read=stall
        )
        self._retry = retry
        self._gate = gate
        self._breaker = breaker
        self._toll = toll
        self._clock = clock or RealClock()
        self._random = random
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of the session."""

    def __repr__(self) -> str:
        return f"ProviderChat({self._provider.name})"

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return is_loopback(self._base_url)

    @property
    def facts(self) -> Mapping[str, Json]:
        """Provider, digest of the endpoint (its name may be private), parser version."""
        digest = hashlib.sha256(self._base_url.encode("utf-8")).hexdigest()[:16]
        return {
            "provider": self._provider.name,
            "endpoint": digest,
            "parser": PARSER_VERSION,
        }

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply; see Chat. A request that the provider's filter held back is a reply
        without text that ended with ``content_filter``."""
        breaker, toll = self._breaker, self._toll
        try:
            reply, tries = await persist(
                lambda: toll.pay(request, self._once) if toll else self._once(request),
                retry=self._retry,
                clock=self._clock,
                random=self._random,
                gate=self._gate,
                check=lambda: breaker.check(request.model) if breaker else None,
            )
        except ChatError as error:
            if breaker:
                breaker.failed(request.model, error)
            raise
        if breaker:
            breaker.succeeded(request.model)
        return reply.model_copy(update={"tries": tries})

    async def aclose(self) -> None:
        """Close connections; a later call opens new ones."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or loop is not self._loop:  # a blocked loop was given up
            self._loop = loop
            self._session = aiohttp.ClientSession(
                # How many run at once is the gate's matter.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_tracing()],
            )
        return self._session

    async def _once(self, request: ChatRequest) -> ChatReply:
        """Send one request and read its reply. Raises CallFailed."""
        if self._toll is not None and isinstance(self._gate, Gate):
            await self._gate.still_open()
        url = self._provider.url(self._base_url, request.model, stream=self._stream)
        proxy = proxy_for(url)
        if proxy is not None and not is_usable(proxy):
            kind = proxy.partition(":")[0]
            text = (
                f"the proxy {place_of(proxy)} is of a kind that cannot be used ({kind}): "
                "name an http:// one in the environment, or the endpoint in no_proxy"
            )
            raise self._failed("connection", text, final=True, free=True)
        through = "" if proxy is None else f" through the proxy {place_of(proxy)}"
        try:
            return await self._exchange(request, url, proxy)
        except aiohttp.ServerTimeoutError:
            raise self._failed("timeout", f"no byte came for too long{through}") from None
        except TimeoutError:
            text = f"not done after {self._timeout.total:g} s{through}"
            raise self._failed("timeout", text, final=True) from None
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            text = f"no secure connection{through} ({type(error).__name__})"
            raise self._failed("connection", text, final=True) from None
        except (aiohttp.ClientError, OSError) as error:
            if proxy is not None:
                self._raise_of_proxy(proxy, error)
            unsent = isinstance(error, aiohttp.ClientConnectorError)
            text = f"{_reason(error)}{through}"
            raise self._failed("connection", text, free=unsent) from None

    def _raise_of_proxy(self, proxy: str, error: BaseException) -> None:
        """Raise what the proxy itself failed with; return when it was not the proxy."""
        if isinstance(error, aiohttp.ClientHttpProxyError):
            text = f"the proxy {place_of(proxy)} answered {error.status}: {error.message}"
            raise self._failed(
                kind_of(error.status), text, status=error.status, free=True
            ) from None
        if isinstance(error, aiohttp.InvalidURL):
            text = f"the address of the proxy {place_of(proxy)} is none: see the environment"
            raise self._failed("connection", text, final=True, free=True) from None
        if isinstance(error, aiohttp.ClientConnectorError):
            # A name that nobody knows was mistyped; a proxy that does not listen may come back.
            unknown = isinstance(error, aiohttp.ClientConnectorDNSError)
            why = "its host is not known" if unknown else _system(error.os_error)
            text = f"cannot connect to the proxy {place_of(proxy)} ({why})"
            raise self._failed("connection", text, final=unknown, free=True) from None

    async def _exchange(self, request: ChatRequest, url: str, proxy: str | None) -> ChatReply:
        """Send a request; again at once when it met a kept connection that was closed meanwhile.

        Servers close idle connections without a word, so that is no failure of the provider: a
        request that got there would have taken longer to fail.
        """
        for _ in range(_STALE_TRIES):
            started = self._clock.monotonic()
            connection = {"reused": False}
            try:
                return await self._post(request, url, proxy, started, connection)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                late = self._clock.monotonic() - started > _STALE_SECONDS
                if late or not connection["reused"]:
                    raise
        raise self._failed("connection", "each kept connection was closed")

    async def _post(
        self,
        request: ChatRequest,
        url: str,
        proxy: str | None,
        started: float,
        connection: dict[str, bool],
    ) -> ChatReply:
        async with self._opened().post(
            url,
            data=_encoded(self._provider.body(request, stream=self._stream)),
            headers=self._headers(),
            proxy=proxy,
            # A redirect could carry the key to another host.
            allow_redirects=False,
            trace_request_ctx=connection,
        ) as response:
            connection["reused"] = False  # From here on a failure is one of the reply.
            if response.status >= 300:
                return await self._refused(response, proxy)
            return await self._answered(response, self._provider.reading(request), started)

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json" if self._stream else "application/json",
            "User-Agent": _USER_AGENT,
            **self._provider.headers(self._key.reveal() if self._key else None),
        }

    async def _refused(self, response: aiohttp.ClientResponse, proxy: str | None) -> ChatReply:
        """Raise what an error status says; return a reply when it says that a filter was hit."""
        if response.status < 400:
            text = f"the endpoint redirects ({response.status}): give its final address"
            raise self._failed("request", text, status=response.status)
        if response.status == _PROXY_WANTS_A_KEY and proxy is not None:
            text = f"the proxy {place_of(proxy)} answered {response.status}: {response.reason}"
            raise self._failed("auth", text, status=response.status)
        body = b""
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) >= _ERROR_BYTES:
                break
        text = body.decode("utf-8", "replace").strip()
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        free = response.status not in _PASSED_ON
        return self._faulty(Fault(value), response, status=response.status, free=free)

    def _faulty(
        self, fault: Fault, response: aiohttp.ClientResponse, *, status: int | None, free: bool
    ) -> ChatReply:
        """Raise what the provider says of an error; return a reply for a filter."""
        if fault.blocked:
            return ChatReply(text="", finish="content_filter")
        kind: ErrorKind = kind_of(status) if status is not None else "server"
        if fault.out_of_money:
            kind = "auth"
        wait = retry_after(response.headers, self._clock.time()) or fault.wait
        said = fault.message or response.reason or "no message"
        text = f"answered {status}: {said}" if status is not None else f"an error: {said}"
        raise self._failed(kind, text, status=status, wait=wait, free=free)

    async def _answered(
        self, response: aiohttp.ClientResponse, reading: Reading, started: float
    ) -> ChatReply:
        parser = EventParser()
        size = 0
        first: float | None = None
        fault: Fault | None = None
        try:
            async for chunk in response.content.iter_any():
                size += len(chunk)
                if size > LARGEST:
                    raise self._failed("bad_reply", "the reply has no end", final=True)
                fault = self._feed(reading, parser.feed(chunk))
                if first is None and reading.begun:
                    first = self._clock.monotonic() - started
                if reading.ended or fault is not None:
                    break
            else:
                fault = self._feed(reading, parser.close(), whole=parser.plain)
        except UnicodeDecodeError:
            raise self._failed("bad_reply", "the reply is not UTF-8") from None
        except (aiohttp.ClientError, TimeoutError, OSError):
            # What comes after the end of a reply (the usage, if that) is not worth paying twice.
            if reading.finish is None:
                raise
        if fault is not None:
            # Text may have come before it, however the error calls itself.
            return self._faulty(fault, response, status=fault.status, free=False)
        seconds = self._clock.monotonic() - started
        stream = response.content_type == "text/event-stream" and size > 0
        self._complete(reading, stream=stream)
        await _drain(response)
        return ChatReply(
            text=self._masked(reading.text()),
            tool_calls=tuple(
                call.model_copy(update={"arguments": self._masked(call.arguments)})
                for call in reading.calls.all()
            ),
            finish=reading.finished(),
            finish_word=reading.finish_word,
            usage=reading.usage(),
            model=self._masked(reading.model),
            seconds=seconds,
            first_token_seconds=first,
        )

    def _feed(self, reading: Reading, events: list[Event], *, whole: bool = False) -> Fault | None:
        """Give events to the reading; return the error that one of them is."""
        for event in events:
            value = self._value(event)
            if isinstance(value, list) and value and fault_in(value[0]):
                value = value[0]
            fault = fault_in(value, event.name)
            if fault is not None:
                return fault
            if whole:
                reading.whole(value)
            elif value is not None:
                reading.take(value, event.name)
            if reading.ended:
                break
        return None

    def _value(self, event: Event) -> Json:
        text = event.data.strip()
        if text == DONE or not text:
            return text or None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if event.name == "error":
                return text
            raise self._failed("bad_reply", f"no JSON in the reply: {text}") from None

    def _complete(self, reading: Reading, *, stream: bool) -> None:
        """Raise when the reply is none, or not all of one."""
        if reading.broken:
            raise self._failed("server", reading.broken)
        if reading.finish is None and not reading.ended and stream:
            raise self._failed("connection", "the stream ended before the reply did")
        if not reading.answered:
            raise self._failed("bad_reply", "the reply holds no choice")
        if reading.finish is None and not reading.ended:
            raise self._failed("connection", "the stream ended before the reply did")

    def _failed(
        self,
        kind: ErrorKind,
        text: str,
        *,
        status: int | None = None,
        wait: float | None = None,
        final: bool = False,
        free: bool | None = None,
    ) -> CallFailed:
        """Return a failure in words that are safe to show: one line, cut, without the key."""
        safe = self._masked(text[:_ERROR_BYTES])
        shown = cut(printable(safe[: 2 * _SHOWN]), _SHOWN)
        return CallFailed(
            kind,
            f"{self._provider.name}: {shown}",
            status=status,
            wait=wait,
            final=final,
            free=free,
        )

    def _masked(self, text: str) -> str:
        """Return a text without the key: an endpoint may send back what it got."""
        return mask(text, [self._key.reveal()] if self._key else [])


def checked_url(base_url: str) -> str:
    """Return an endpoint's address without its last slash.

    Raises:
        UsageError: it is no http(s) address, or has a part that could hold a secret.
    """
    if not base_url:
        raise UsageError("this provider has no address of its own: give a base URL")
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        valid = False
    if not valid or any(char.isspace() for char in base_url):
        raise UsageError("the base URL is no address: it looks like http://127.0.0.1:8080/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            "the base URL holds a user, a query or a fragment: give scheme, host and path only;"
            " secrets go into the environment"
        )
    return base_url.rstrip("/")


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        # Half of a letter in a source text: only as an escape can it be sent.
        return json.dumps(body, allow_nan=False).encode("ascii")


def _tracing() -> aiohttp.TraceConfig:
    """Return what notes in a request's context that it got a kept connection."""

    async def reused(_session: object, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx["reused"] = True

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(reused)
    return tracing


def _reason(error: BaseException) -> str:
    """Return what broke, without the host: errors are stored, and hosts may be private."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect ({_system(error.os_error)})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed before the reply"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection was closed within the reply"
    if isinstance(error, OSError):
        return f"the connection broke ({_system(error)})"
    return f"the connection broke ({type(error).__name__})"


def _system(error: OSError) -> str:
    """Return the system's words for an error; the error's own may name addresses."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read to the end that follows the end marker, so that the connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while not response.content.at_eof():
                await response.content.readany()
    except (TimeoutError, aiohttp.ClientError, OSError):
        response.close()
