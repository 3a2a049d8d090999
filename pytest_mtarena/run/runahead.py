"""Run-ahead: batches are answered in background event loops while items are graded one by one.

The main thread submits requests for the coming items and waits only for the one it needs. The
loops' threads hold public entries only: no reference can be reached from the frames in which a
contestant runs. Every method has a loop of its own, so that one that blocks it costs no other
contestant time; models share one, since they share the session's budget.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import wait as wait_futures
from contextvars import ContextVar
from dataclasses import dataclass, field

from pytest_mtarena.protocols import CallGate, Contestant, Entry
from pytest_mtarena.records import Attempt, Failure, RunConfig
from pytest_mtarena.run.batches import Slot

_TICK = 0.25
"""Seconds between two heartbeats of the loop."""
_GRACE = 5.0
"""Seconds over its time-out after which a call that blocks the whole loop is given up."""


_REQUEST: ContextVar[Request] = ContextVar("mtarena_request")
"""The request that a task works for."""
_LOOK = 0.02

OVERLAP = 4
"""Attempts begun per call that may be out, of a contestant that limits its calls itself."""


def places(contestant: Contestant, concurrency: int) -> int:
    """Return how many attempts of a contestant may be under way at once."""
    own = getattr(contestant, "gate", None) is not None
    return concurrency * OVERLAP if own else concurrency


@dataclass(slots=True)
class Request:
    """One call of one contestant: the entries of a batch."""

    key: Hashable
    slots: Sequence[Slot]
    contestant: Contestant
    entries: Sequence[Entry]
    config: RunConfig
    future: Future[list[Attempt]] = field(default_factory=Future)
    started: float | None = None

    @property
    def number(self) -> int:
        """The request's number: the index of its first case in the suite."""
        return int(self.entries[0]["index"])


class RunAhead:
    """Keeps several requests per contestant in flight.

    ``concurrency`` is the number of calls in flight at once per contestant; one that limits its
    calls itself (``gate``) has more attempts under way, and limits them in time too. A request
    never raises: an exception, a time-out or a crash becomes a Failure on each of its entries.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        on_start: Callable[[Request], None] | None = None,
        on_end: Callable[[Request], None] | None = None,
    ) -> None:
        self.concurrency = concurrency
        self.peak_in_flight: dict[str, int] = {}
        self._on_start, self._on_end = on_start, on_end
        self._pending: dict[Hashable, Request] = {}
        self._open: dict[str, list[Request]] = {}
        """Label to the requests that were not answered when last looked at."""
        self._engines: dict[str, _Engine] = {}

    def submit(self, request: Request) -> None:
        """Start a request as soon as its contestant has a free place."""
        self._pending[request.key] = request
        self._open.setdefault(request.contestant.identity.label, []).append(request)
        loop = _loop_of(request)
        if loop not in self._engines:
            self._engines[loop] = _Engine()
        self._start(request, self._engines[loop])

    def open_requests(self, label: str) -> int:
        """Return how many requests of a contestant have not been answered yet."""
        waiting = [one for one in self._open.get(label, ()) if not one.future.done()]
        self._open[label] = waiting
        return len(waiting)

    def take(self, key: Hashable) -> list[Attempt]:
        """Wait for a request's answer, forget the request, and return one attempt per entry."""
        request = self._pending[key]
        self._await(request)
        del self._pending[key]
        return request.future.result()

    def drain(self, seconds: float) -> list[tuple[Hashable, list[Attempt]]]:
        """Wait at most so long for what is in flight; return all answers that nobody took.

        Requests that were not started yet are dropped, and no new call is made.
        """
        gates = [
            gate
            for engine in self._engines.values()
            for contestant in engine.contestants.values()
            if (gate := getattr(contestant, "gate", None)) is not None
        ]
        for gate in gates:
            gate.close()
        for request in self._pending.values():
            if request.started is None:
                request.future.cancel()
        started = [one for one in self._pending.values() if one.started is not None]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            # What waits for a call that is not made any more never ends.
            waiting = {id(of.get(_REQUEST)) for gate in gates for of in list(gate.parked)}
            if all(one.future.done() or id(one) in waiting for one in started):
                break
            time.sleep(_LOOK)
        answers = [
            (key, request.future.result())
            for key, request in self._pending.items()
            if request.future.done() and not request.future.cancelled()
        ]
        self._pending.clear()
        return answers

    def settle(self) -> None:
        """Wait until nothing is in flight or waiting to be."""
        for request in list(self._pending.values()):
            self._await(request)

    def close(self) -> None:
        """Cancel what still runs, close contestants that can be closed, stop the thread."""
        ends = [threading.Thread(target=one.stop) for one in self._engines.values()]
        for end in ends:
            end.start()
        for end in ends:
            end.join()

    def _start(self, request: Request, engine: _Engine) -> None:
        engine.contestants[id(request.contestant)] = request.contestant
        engine.spawn(self._serve(request, engine))

    def _await(self, request: Request) -> None:
        while not wait_futures([request.future], timeout=1.0).done:
            self._watch(_loop_of(request))

    async def _serve(self, request: Request, engine: _Engine) -> None:
        try:
            limit = places(request.contestant, self.concurrency)
            async with engine.gate(request.contestant.identity.label, limit):
                if not request.future.cancelled():
                    await self._answer(request, engine)
        except asyncio.CancelledError:
            # At the end of the session nobody waits any more; but a contestant may cancel
            # every task of the loop, and then somebody does.
            self._give_up(request, engine, "the call was cancelled by the contestant's own code")
            raise
        except Exception as error:  # an answer that is none, a full disk: who waits must hear
            self._give_up(request, engine, f"{type(error).__name__}: {error}")

    async def _answer(self, request: Request, engine: _Engine) -> None:
        label = request.contestant.identity.label
        count = engine.in_flight[label] = engine.in_flight.get(label, 0) + 1
        own: CallGate | None = getattr(request.contestant, "gate", None)
        if own is None:
            self.peak_in_flight[label] = max(count, self.peak_in_flight.get(label, 0))
        if self._on_start is not None:
            self._on_start(request)
        _REQUEST.set(request)
        request.started = time.monotonic()
        try:
            attempts = await _ask(request, limited=own is None)
        finally:
            if own is not None:
                self.peak_in_flight[label] = own.peak
            engine.in_flight[label] -= 1
            if self._on_end is not None and not engine.abandoned:
                self._on_end(request)
        _settle(request, attempts)

    def _give_up(self, request: Request, engine: _Engine, message: str) -> None:
        if not engine.abandoned:  # what an abandoned loop left undone is served by its successor
            _settle(request, _failed(request, Failure(kind="exception", message=message)))

    def _watch(self, loop: str) -> None:
        """Give up on a method that blocks the event loop itself, and go on with a new loop."""
        blocked = self._engines[loop]
        silent = time.monotonic() - blocked.beat
        pending = [
            request
            for request in self._pending.values()
            if not request.future.done() and _loop_of(request) == loop
        ]
        running = [request for request in pending if request.started is not None]
        if not running or silent < max(r.config.timeout_seconds for r in running) + _GRACE:
            return
        waiting = [request for request in pending if request.started is None]
        engine = self._engines[loop] = _Engine()
        engine.contestants |= blocked.contestants
        blocked.abandon()
        for request in running:
            if self._on_end is not None:
                self._on_end(request)
            limit = request.config.timeout_seconds
            _settle(request, _failed(request, _timeout(limit, " (it blocks its event loop)")))
        for request in waiting:
            self._start(request, engine)


def _loop_of(request: Request) -> str:
    """Return the name of the loop that serves a request."""
    own = getattr(request.contestant, "gate", None) is not None
    return "" if own else request.contestant.identity.label


class _Engine:
    """An event loop in a daemon thread, with one gate per contestant and a heartbeat."""

    def __init__(self) -> None:
        self.beat = time.monotonic()
        self.abandoned = False
        self.contestants: dict[int, Contestant] = {}
        """All that were asked here, each once: several may have one label."""
        self.in_flight: dict[str, int] = {}
        """Calls in flight by contestant."""
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._loop.call_soon(self._tick)
        self._thread = threading.Thread(
            target=_turn, args=(self._loop,), daemon=True, name="mtarena-runahead"
        )
        self._thread.start()

    def gate(self, label: str, places: int) -> asyncio.Semaphore:
        return self._gates.setdefault(label, asyncio.Semaphore(places))

    def spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        def start() -> None:
            task = self._loop.create_task(coroutine)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(start)

    def abandon(self) -> None:
        """Leave a blocked loop to its thread, which is a daemon."""
        self.abandoned = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)

    def stop(self) -> None:
        """Cancel everything, close the contestants that can be closed, end the thread."""
        closers = [
            close
            for contestant in self.contestants.values()
            if (close := getattr(contestant, "aclose", None)) is not None
        ]

        async def wind_up() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=2)
            for close in closers:
                with contextlib.suppress(Exception):  # a contestant's own clean-up: nothing to save
                    result = close()
                    if asyncio.iscoroutine(result):
                        await asyncio.wait_for(result, 5)
            self._loop.stop()

        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._loop.create_task(wind_up()))
            self._thread.join(timeout=12)

    def _tick(self) -> None:
        self.beat = time.monotonic()
        self._loop.call_later(_TICK, self._tick)


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    ended = False
    while not ended:
        # A SystemExit in a method's own task must not stop everybody's loop.
        with contextlib.suppress(BaseException):
            loop.run_forever()
            ended = True
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=2))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _ask(request: Request, *, limited: bool) -> list[Attempt]:
    """Ask the contestant; every outcome is a list of attempts.

    ``limited``: for at most the run's time-out; else the contestant limits each of its calls.
    """
    limit = request.config.timeout_seconds
    began = time.perf_counter()
    # A task of its own: the contestant's frames end here, and one that swallows its
    # cancellation cannot hold us.
    task = asyncio.ensure_future(_call(request.contestant, request.entries, request.config))
    try:
        done, _ = await asyncio.wait({task}, timeout=limit if limited else None)
    except asyncio.CancelledError:
        task.cancel()
        raise
    seconds = time.perf_counter() - began
    attempts = _timed_out(task, request, limit) if not done else _given(task, request)
    stamp = {"request": request.number, "request_seconds": round(seconds, 6)}
    return [attempt.model_copy(update=stamp) for attempt in attempts]


async def _call(
    contestant: Contestant, entries: Sequence[Entry], config: RunConfig
) -> Sequence[Attempt]:
    return await contestant.attempt(entries, config)


def _timed_out(
    task: asyncio.Future[Sequence[Attempt]], request: Request, limit: float
) -> list[Attempt]:
    task.cancel()
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
    return _failed(request, _timeout(limit))


def _given(task: asyncio.Future[Sequence[Attempt]], request: Request) -> list[Attempt]:
    if task.cancelled():
        return _failed(request, Failure(kind="exception", message="the method cancelled itself"))
    error = task.exception()
    if error is not None:
        message = f"{type(error).__name__}: {error}"
        return _failed(request, Failure(kind="exception", message=message))
    given = {attempt.id: attempt for attempt in task.result()}
    lost = Failure(kind="missing_result", message="the contestant made no attempt at this entry")
    return [
        given.get(entry["id"]) or Attempt(id=entry["id"], failure=lost) for entry in request.entries
    ]


def _timeout(limit: float, how: str = "") -> Failure:
    message = f"no answer within {limit:g} s{how}; --mt-timeout sets the limit"
    return Failure(status="timeout", kind="timeout", message=message)


def _failed(request: Request, failure: Failure) -> list[Attempt]:
    return [
        Attempt(id=entry["id"], failure=failure, request=request.number)
        for entry in request.entries
    ]


def _settle(request: Request, attempts: list[Attempt]) -> None:
    with contextlib.suppress(InvalidStateError):  # given up, or dropped, in the meantime
        request.future.set_result(attempts)
