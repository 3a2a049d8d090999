"""A limit on what calls may cost, kept in every interleaving.

Before a call is sent, the money spent, the worst case of every call in flight and the worst case of
this one have to fit under the limit. A call that would fit if those in flight turned out cheaper
waits until they are settled; one that cannot fit any more is not sent.

Amounts are counted in whole picodollars, so that sums do not drift. Every try counts for itself:
one that broke off may be billed although another one follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Literal, TypeAlias

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ChatError, ChatReply, ChatRequest
from pytest_mtarena.llm.ledger import Ledger, OwnLedger, Sums
from pytest_mtarena.records import Json

PICO = 10**12
_LOOK_SECONDS = 0.05
"""Between two looks at what other processes have settled."""

Send: TypeAlias = Callable[[ChatRequest], Awaitable[ChatReply]]


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
    """What may be spent, is spent and is in flight; several chats, threads and, with a shared
    ledger, processes may share one."""

    def __init__(self, limit_usd: float, ledger: Ledger | None = None) -> None:
        """``limit_usd``: 0 or more; raises UsageError for anything else.

        ``ledger``: where the sums are kept; in memory if not given.
        """
        if not math.isfinite(limit_usd) or limit_usd < 0:
            raise UsageError(f"the limit of the costs has to be 0 or more, not {limit_usd}")
        self._limit = _pico(limit_usd)
        self._ledger = OwnLedger() if ledger is None else ledger
        self._unknown = 0
        self._refused = 0
        self._held_in: dict[asyncio.AbstractEventLoop | None, int] = {}
        """Loop to what its calls hold."""
        self._lost: set[asyncio.AbstractEventLoop | None] = set()
        self._queue: deque[_Ticket] = deque()
        self._lock = threading.Lock()

    @property
    def limit_usd(self) -> float:
        """What may be spent at most."""
        return self._limit / PICO

    @property
    def spent_usd(self) -> float:
        """What settled calls cost, with the worst case for those whose cost is not known."""
        with self._sums() as sums:
            return sums.spent / PICO

    @property
    def held_usd(self) -> float:
        """The worst case of all calls in flight."""
        with self._sums() as sums:
            return sums.held / PICO

    def report(self) -> dict[str, Json]:
        """Return the state in numbers.

        ``limit_usd``, ``spent_usd`` and ``in_flight_usd``; ``in_doubt_usd``, the part of
        ``spent_usd`` that is a worst case because the cost never became known;
        ``calls_of_unknown_cost`` and ``calls_refused``, of this process.
        """
        with self._sums() as sums:
            return {
                "limit_usd": self._limit / PICO,
                "spent_usd": sums.spent / PICO,
                "in_flight_usd": sums.held / PICO,
                "in_doubt_usd": sums.in_doubt / PICO,
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
        with self._sums() as sums:
            reached = worst_usd is None and sums.spent >= self._limit
            if reached or (sums.spent + amount > self._limit and amount > 0):
                self._refused += 1
                raise self._refusal(sums, None if reached else amount)
            # Nobody overtakes those who wait, or a dear call would wait for ever. Free calls
            # take nothing from anybody.
            fits = sums.spent + sums.held + amount <= self._limit and not self._queue
            if amount == 0 or fits:
                self._take(sums, amount, asyncio.get_running_loop())
                return amount
            ticket = _Ticket(amount)
            self._queue.append(ticket)
        try:
            await self._turn(ticket)
        except asyncio.CancelledError:
            self._give_up(ticket)
            raise
        if ticket.state == "refused":
            with self._sums() as sums:
                raise self._refusal(sums, amount)
        return amount

    def settle(self, held: int, cost_usd: float | None) -> None:
        """Replace what was held for a call by what it cost; None: unknown, so the worst case."""
        with self._sums() as sums:
            if not self._put_back(sums, held):
                return
            if cost_usd is None:
                self._unknown += 1
                sums.in_doubt += held
                sums.spent += held
            else:
                sums.spent += _pico(cost_usd)
            self._serve(sums)

    def lose(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count what the calls of a loop hold as spent: nobody will settle them any more."""
        with self._sums() as sums:
            self._lost.add(loop)
            held = self._held_in.pop(loop, 0)
            sums.held -= held
            sums.spent += held
            sums.in_doubt += held
            self._queue = deque(ticket for ticket in self._queue if ticket.loop is not loop)
            self._serve(sums)

    def _take(self, sums: Sums, amount: int, loop: asyncio.AbstractEventLoop | None) -> None:
        sums.held += amount
        self._held_in[loop] = self._held_in.get(loop, 0) + amount

    def _put_back(self, sums: Sums, amount: int) -> bool:
        """Free what was held; return False when the loop was lost, and all is counted."""
        loop = _loop()
        if loop in self._lost:
            return False
        sums.held -= amount
        self._held_in[loop] = self._held_in.get(loop, 0) - amount
        return True

    @contextlib.contextmanager
    def _sums(self) -> Iterator[Sums]:
        with self._lock, self._ledger.open() as sums:
            yield sums

    async def _turn(self, ticket: _Ticket) -> None:
        """Wait until a ticket is judged."""
        if not self._ledger.shared:
            await ticket.told
            return
        # Nobody tells what other processes have settled.
        while not (await asyncio.wait({ticket.told}, timeout=_LOOK_SECONDS))[0]:
            with self._sums() as sums:
                self._serve(sums)

    def _give_up(self, ticket: _Ticket) -> None:
        with self._sums() as sums:
            if ticket.state == "waiting":
                with contextlib.suppress(ValueError):  # its loop was lost
                    self._queue.remove(ticket)
            elif ticket.state == "granted":
                self._put_back(sums, ticket.amount)
            self._serve(sums)

    def _serve(self, sums: Sums) -> None:
        """Judge those who wait, in order, up to the first that has to wait on."""
        while self._queue:
            ticket = self._queue[0]
            if ticket.loop.is_closed():
                self._queue.popleft()
                continue
            if sums.spent + ticket.amount > self._limit:
                ticket.state = "refused"
                self._refused += 1
            elif sums.spent + sums.held + ticket.amount <= self._limit:
                ticket.state = "granted"
                self._take(sums, ticket.amount, ticket.loop)
            else:
                return
            self._queue.popleft()
            ticket.tell()

    def _refusal(self, sums: Sums, amount: int | None) -> ChatError:
        most = "an unknown amount" if amount is None else f"up to {_money(amount)}"
        return ChatError(
            "stopped",
            f"not sent: {_money(sums.spent)} of the limit of {_money(self._limit)} are spent and "
            f"this call may cost {most}; a higher --mt-max-cost or a lower --mt-max-tokens lets "
            "it through",
            tries=0,
        )


class Toll:
    """Lets nothing through that could go over a limit.

    It belongs around every try that is sent, behind the cache and within the retries: what costs
    nothing needs no room under the limit, and what broke off counts though another try follows.
    """

    def __init__(
        self,
        budget: Budget,
        worst_case: Callable[[ChatRequest], float | None],
        cost_of: Callable[[ChatRequest, ChatReply], float | None],
        allow_unknown: bool = False,
    ) -> None:
        """Make a toll.

        ``worst_case``: US dollars a request can cost at most, 0 for what is free, None: unknown.
        ``cost_of``: US dollars an answered request cost, None: unknown.
        ``allow_unknown``: send calls whose worst case is unknown until the limit is reached;
        they count as nothing before they are answered, so that the limit can be passed.
        """
        self._worst_case = worst_case
        self._cost_of = cost_of
        self._allow_unknown = allow_unknown
        self.budget = budget

    async def pay(self, request: ChatRequest, send: Send) -> ChatReply:
        """Send a request and return the reply.

        Raises ChatError: what ``send`` raises, or the kind ``stopped`` for what was not sent.
        """
        worst = _sensible(self._worst_case(request))
        if worst is None and not self._allow_unknown:
            raise ChatError(
                "stopped",
                f"not sent: what a call to {request.model} costs at most is unknown, and unknown "
                "is not free; give its price in a file of prices and a --mt-max-tokens, or allow "
                "it with --mt-allow-unknown-cost",
                tries=0,
            )
        held = await self.budget.hold(worst)
        cost: float | None = None
        try:
            reply = await send(request)
            cost = 0.0 if reply.from_cache else _sensible(self._cost_of(request, reply))
        except ChatError as error:
            if error.free:
                cost = 0.0
            raise
        finally:
            self.budget.settle(held, cost)
        return reply


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _sensible(usd: float | None) -> float | None:
    """Return an amount, or None for what is no amount of money."""
    return usd if usd is not None and math.isfinite(usd) and usd >= 0 else None


def _pico(usd: float) -> int:
    return round(usd * PICO)


def _money(amount: int) -> str:
    digits = f"{amount / PICO:.6f}".rstrip("0")
    whole, _, rest = digits.partition(".")
    return f"${whole}.{rest:0<2}"
