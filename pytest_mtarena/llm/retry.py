"""Which failures are tried again, and when.

Waiting grows exponentially with "full jitter" (Brooker, Exponential Backoff And Jitter, 2015):
many calls that failed together do not come back together. What the provider asks for with
Retry-After (RFC 9110, 10.2.3) goes before that.
"""

from __future__ import annotations

import asyncio
import math
import random as random_module
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeVar

from pytest_mtarena.llm.chat import ChatError, ErrorKind

T = TypeVar("T")

RETRIED: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "server", "timeout", "connection", "bad_reply"}
)


class Clock(Protocol):
    """The time, so that tests need not wait for it."""

    def monotonic(self) -> float:
        """Return seconds that only grow, for measuring."""
        ...

    def time(self) -> float:
        """Return seconds since 1970, for reading dates."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


class RealClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.perf_counter()

    def time(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        await asyncio.sleep(seconds)


class CallFailed(ChatError):
    """One request that failed, with what decides about another one."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        wait: float | None = None,
        final: bool = False,
        free: bool | None = None,
    ) -> None:
        super().__init__(kind, message, status=status, free=free)
        self.wait = wait
        """Seconds that the provider asks to wait; None when it does not say."""
        self.final = final
        """True: the same request would fail again, though its kind is one that is retried."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long. Times in seconds."""

    tries: int = 5
    """Requests at most, the first one included."""
    base: float = 1.0
    """The longest wait after the first failure without Retry-After; doubled after each one."""
    longest: float = 60.0
    """No wait is longer; a provider that asks for more has ended the call."""

    def wait(self, tries: int, failed: CallFailed, random: Callable[[], float]) -> float | None:
        """Return how long to wait after so many tries; None when the call has failed for good."""
        if failed.final or failed.kind not in RETRIED or tries >= self.tries:
            return None
        if failed.wait is None:
            # An exponent above 60 would only overflow: the cap was reached long before.
            return random() * min(self.longest, self.base * 2.0 ** min(tries - 1, 60))
        if failed.wait > self.longest:
            return None
        return failed.wait + random() * min(self.base, 0.25 * failed.wait)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that an answer asks to wait; None for none, past or nonsense.

    A date is compared with the answer's own Date, so that a wrong clock on either side does no
    harm; ``now`` (seconds since 1970) stands in when there is none.
    """
    milliseconds = _positive(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _positive(text)
    if seconds is not None or text is None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    since = _date(headers.get("date"))
    left = until - (now if since is None else since)
    return left if left > 0 else None


def _positive(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class Gate:
    """A limit of calls that are out at once, with the most that were.

    When a loop is given up because something blocks it, what was out in it no longer counts.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = asyncio.Semaphore(places)
        self._closed = False
        self.on_lost: Callable[[asyncio.AbstractEventLoop], None] = lambda loop: None
        """Is told of a loop that was given up."""
        self.out = 0
        """Calls that are out now."""
        self.peak = 0
        self.parked: list[Context] = []
        """What the calls that came after ``close`` belong to."""

    def close(self) -> None:
        """Let nobody through any more; who comes waits until it is cancelled. For any thread."""
        self._closed = True

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            lost, self._loop = self._loop, loop
            self._free, self.out = asyncio.Semaphore(self._places), 0
            if lost is not None:
                self.on_lost(lost)
        await self._free.acquire()
        if self._closed:
            self._free.release()
            await self._park()
        self.out += 1
        self.peak = max(self.peak, self.out)

    async def still_open(self) -> None:
        """Return at once while calls are let out; for who is through, and had to wait since."""
        if self._closed:
            self.out -= 1
            try:
                await self._park()
            finally:
                self.out += 1

    async def _park(self) -> None:
        self.parked.append(copy_context())
        await asyncio.get_running_loop().create_future()

    async def __aexit__(self, *_: object) -> None:
        if asyncio.get_running_loop() is self._loop:
            self.out -= 1
            self._free.release()


async def persist(
    once: Callable[[], Awaitable[T]],
    *,
    retry: Retry,
    clock: Clock,
    random: Callable[[], float] = random_module.random,
    gate: asyncio.Semaphore | Gate | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[T, int]:
    """Return what ``once`` returns and how many tries it took.

    ``gate`` is held while a request is under way and free while a wait is. ``check`` is called
    before each request and raises to stop; so may ``once``, when it sends nothing.

    Raises:
        ChatError: the last failure, with the number of tries.
    """
    tries, free = 0, True
    while True:
        try:
            async with gate if gate is not None else nullcontext():
                check()
                reply = await once()
                return reply, tries + 1
        except CallFailed as failed:
            tries += 1
            failed.tries, free = tries, free and failed.free
            failed.free = free
            wait = retry.wait(tries, failed, random)
            if wait is None:
                raise _said(failed, retry) from None
        except ChatError as stopped:  # not sent any more
            stopped.tries, stopped.free = tries, free
            raise
        await clock.sleep(wait)


def _said(failed: CallFailed, retry: Retry) -> ChatError:
    """Return the error as callers see it."""
    text = str(failed)
    if failed.wait is not None and failed.wait > retry.longest:
        text += f" (asks to wait {failed.wait:.0f} s, more than the {retry.longest:.0f} s allowed)"
    elif failed.tries > 1:
        text += f" ({failed.tries} tries)"
    return ChatError(failed.kind, text, status=failed.status, tries=failed.tries, free=failed.free)
