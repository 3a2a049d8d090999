"""A limit on what calls may cost, kept in every interleaving.

Before a call is sent, the money spent, the worst case of every call in flight and the worst case of
this one have to fit under the limit. A call that would fit if those in flight turned out cheaper
waits until they are settled; one that cannot fit any more is not sent.

Amounts are counted in whole picodollars, so that sums do not drift.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import Chat, ChatError, ChatReply, ChatRequest, ErrorKind
from pytest_mtarena.records import Json

PICO = 10**12

UNBILLED: frozenset[ErrorKind] = frozenset(
    {"auth", "request", "not_found", "rate_limit", "stopped"}
)
"""Failures that no provider bills: nothing was generated."""


class _Ticket:
    """A call that waits for its turn."""

    def __init__(self, amount: int) -> None:
        self.amount = amount
        self.state: Literal["waiting", "granted", "refused"] = "waiting"
        self.loop = asyncio.get_running_loop()
        self.told: asyncio.Future[None] = self.loop.create_future()

    def tell(self) -> None:
        """Wake the call up, from whatever thread."""
        # A loop that was closed has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.told.done():
            self.told.set_result(None)


class Budget:
    """What may be spent, is spent and is in flight; several chats and threads may share one."""

    def __init__(self, limit_usd: float) -> None:
        """``limit_usd``: 0 or more; raises UsageError for anything else."""
        if not math.isfinite(limit_usd) or limit_usd < 0:
            raise UsageError(f"the limit of the costs has to be 0 or more, not {limit_usd}")
        self._limit = _pico(limit_usd)
        self._spent = 0
        self._held = 0
        self._in_doubt = 0
        self._unknown = 0
        self._refused = 0
        self._queue: deque[_Ticket] = deque()
        self._lock = threading.Lock()

    @property
    def limit_usd(self) -> float:
        """What may be spent at most."""
        return self._limit / PICO

    @property
    def spent_usd(self) -> float:
        """What settled calls cost, with the worst case for those whose cost is not known."""
        return self._spent / PICO

    @property
    def held_usd(self) -> float:
        """The worst case of all calls in flight."""
        return self._held / PICO

    def report(self) -> dict[str, Json]:
        """Return the state in numbers.

        ``limit_usd``, ``spent_usd`` and ``in_flight_usd``; ``in_doubt_usd``, the part of
        ``spent_usd`` that is a worst case because the cost never became known;
        ``calls_of_unknown_cost`` and ``calls_refused``.
        """
        with self._lock:
            return {
                "limit_usd": self._limit / PICO,
                "spent_usd": self._spent / PICO,
                "in_flight_usd": self._held / PICO,
                "in_doubt_usd": self._in_doubt / PICO,
                "calls_of_unknown_cost": self._unknown,
                "calls_refused": self._refused,
            }

    async def hold(self, worst_usd: float | None) -> int:
        """Set the worst case of a call aside, once it fits, and return it in picodollars.

        None: unknown; nothing is set aside, and it fits as long as the limit is not reached.
        Raises ChatError("stopped") when it cannot fit any more. Calls are served in the order in
        which they came.
        """
        amount = 0 if worst_usd is None else _pico(worst_usd)
        with self._lock:
            reached = worst_usd is None and self._spent >= self._limit
            if reached or (self._spent + amount > self._limit and amount > 0):
                self._refused += 1
                raise self._refusal(None if reached else amount)
            # Nobody overtakes those who wait, or a dear call would wait for ever. Free calls
            # take nothing from anybody.
            fits = self._spent + self._held + amount <= self._limit and not self._queue
            if amount == 0 or fits:
                self._held += amount
                return amount
            ticket = _Ticket(amount)
            self._queue.append(ticket)
        try:
            await ticket.told
        except asyncio.CancelledError:
            self._give_up(ticket)
            raise
        if ticket.state == "refused":
            raise self._refusal(amount)
        return amount

    def settle(self, held: int, cost_usd: float | None) -> None:
        """Replace what was held for a call by what it cost; None: unknown, so the worst case."""
        with self._lock:
            self._held -= held
            if cost_usd is None:
                self._unknown += 1
                self._in_doubt += held
                self._spent += held
            else:
                self._spent += _pico(cost_usd)
            self._serve()

    def _give_up(self, ticket: _Ticket) -> None:
        with self._lock:
            if ticket.state == "waiting":
                self._queue.remove(ticket)
            elif ticket.state == "granted":
                self._held -= ticket.amount
            self._serve()

    def _serve(self) -> None:
        """Judge those who wait, in order, up to the first that has to wait on."""
        while self._queue:
            ticket = self._queue[0]
            if ticket.loop.is_closed():
                self._queue.popleft()
                continue
            if self._spent + ticket.amount > self._limit:
                ticket.state = "refused"
                self._refused += 1
            elif self._spent + self._held + ticket.amount <= self._limit:
                ticket.state = "granted"
                self._held += ticket.amount
            else:
                return
            self._queue.popleft()
            ticket.tell()

    def _refusal(self, amount: int | None) -> ChatError:
        most = "an unknown amount" if amount is None else f"up to {_money(amount)}"
        return ChatError(
            "stopped",
            f"not sent: {_money(self._spent)} of the limit of {_money(self._limit)} are spent and "
            f"this call may cost {most}; a higher --mt-max-cost or a lower --mt-max-tokens lets "
            "it through",
        )


class BudgetChat:
    """A chat that sends nothing which could go over a limit.

    It belongs behind the cache (``CachingChat(BudgetChat(provider))``): an answer that costs
    nothing then needs no room under the limit. A reply that comes ``from_cache`` counts as free in
    either order.

    A try that broke off and was repeated inside ``inner`` can be billed without anybody telling;
    only the try that was answered is counted.
    """

    def __init__(
        self,
        inner: Chat,
        limit_usd: float | Budget,
        worst_case: Callable[[ChatRequest], float | None],
        cost_of: Callable[[ChatRequest, ChatReply], float | None],
        allow_unknown: bool = False,
    ) -> None:
        """``limit_usd``: a limit of its own, or one that is shared.

        ``worst_case``: US dollars a request can cost at most, 0 for what is free, None: unknown.
        ``cost_of``: US dollars an answered request cost, None: unknown.
        ``allow_unknown``: send calls whose worst case is unknown until the limit is reached;
        they count as nothing before they are answered, so that the limit can be passed.
        """
        self._inner = inner
        self._worst_case = worst_case
        self._cost_of = cost_of
        self._allow_unknown = allow_unknown
        self.budget = limit_usd if isinstance(limit_usd, Budget) else Budget(limit_usd)

    @property
    def facts(self) -> Mapping[str, Json]:
        """Those of the inner chat: a budget changes no reply."""
        return self._inner.facts

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply; raises ChatError, of the kind ``stopped`` for what was not sent."""
        worst = _sensible(self._worst_case(request))
        if worst is None and not self._allow_unknown:
            raise ChatError(
                "stopped",
                f"not sent: what a call to {request.model} costs at most is unknown, and unknown "
                "is not free; give its price in a file of prices and a --mt-max-tokens, or allow "
                "it with --mt-allow-unknown-cost",
            )
        held = await self.budget.hold(worst)
        cost: float | None = None
        try:
            reply = await self._inner.ask(request)
            cost = 0.0 if reply.from_cache else _sensible(self._cost_of(request, reply))
        except ChatError as error:
            # What broke off, or failed in a way that tells nothing, may have been billed.
            refused = error.status is not None and error.status >= 400
            if error.kind in UNBILLED or refused:
                cost = 0.0
            raise
        finally:
            self.budget.settle(held, cost)
        return reply

    async def aclose(self) -> None:
        """Close the inner chat."""
        await self._inner.aclose()


def _sensible(usd: float | None) -> float | None:
    """Return an amount, or None for what is no amount of money."""
    return usd if usd is not None and math.isfinite(usd) and usd >= 0 else None


def _pico(usd: float) -> int:
    return round(usd * PICO)


def _money(amount: int) -> str:
    digits = f"{amount / PICO:.6f}".rstrip("0")
    whole, _, rest = digits.partition(".")
    return f"${whole}.{rest:0<2}"
