"""The limit of the costs: kept in every interleaving, and nothing refused without need."""

from __future__ import annotations

import asyncio
import math
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.budget import PICO, Budget, Toll
from pytest_mtarena.llm.cache import CachingChat
from pytest_mtarena.llm.chat import ChatError, ChatReply, ChatRequest, Message, Usage

UNIT = 0.0007
"""Dollars; no power of two, so that sums of floats drift."""


def request(name: str) -> ChatRequest:
    return ChatRequest(model=name, messages=(Message(role="user", content="Olá"),))


class BudgetChat:
    """A chat behind a toll."""

    def __init__(self, inner, limit, worst_case, cost_of, allow_unknown=False):
        self.budget = limit if isinstance(limit, Budget) else Budget(limit)
        self._inner = inner
        self._toll = Toll(self.budget, worst_case, cost_of, allow_unknown)
        self.facts = getattr(inner, "facts", {})

    async def ask(self, request: ChatRequest) -> ChatReply:
        return await self._toll.pay(request, self._inner.ask)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Provider:
    """Answers when it is told to; knows what each call really costs."""

    def __init__(self, worst: dict[str, int], real: dict[str, int], fate: dict[str, str]) -> None:
        self.worst, self.real, self.fate = worst, real, fate
        self.sent: list[str] = []
        self.waiting: dict[str, asyncio.Future[None]] = {}
        self.settled = 0
        self.peak = 0

    facts = {"provider": "simulated"}  # noqa: RUF012

    async def ask(self, request: ChatRequest) -> ChatReply:
        name = request.model
        self.sent.append(name)
        self.waiting[name] = asyncio.get_running_loop().create_future()
        in_flight = sum(self.worst[one] for one in self.waiting)
        self.peak = max(self.peak, self.settled + in_flight)
        fate = "cancelled"
        try:
            await self.waiting[name]
            fate = self.fate[name]
        finally:
            del self.waiting[name]
            # An answer that breaks off may be billed in full without our knowing.
            billed = {"ok": self.real[name], "refused": 0}.get(fate, self.worst[name])
            self.settled += billed
        if fate == "refused":
            raise ChatError("rate_limit", "too many", status=429)
        if fate == "broken":
            raise ChatError("timeout", "nothing more came")
        return ChatReply(text="Ola", finish="stop", usage=Usage(cost_usd=billed * UNIT))

    async def aclose(self) -> None:
        """Nothing is open."""


def chat(provider: Provider, limit: float | Budget, **more: bool) -> BudgetChat:
    return BudgetChat(
        provider,
        limit,
        worst_case=lambda request: provider.worst[request.model] * UNIT,
        cost_of=lambda request, reply: reply.usage and reply.usage.cost_usd,
        **more,
    )


async def turns(count: int = 4) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


CALLS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.floats(0, 1),
        st.sampled_from(["ok", "ok", "ok", "refused", "broken", "cancelled"]),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(calls=CALLS, limit=st.integers(0, 120), choices=st.integers(0, 2**32).map(random.Random))
def test_no_interleaving_passes_the_limit(calls, limit, choices):
    worst = {f"c{i}": call[0] for i, call in enumerate(calls)}
    real = {f"c{i}": int(call[0] * call[1]) for i, call in enumerate(calls)}
    fate = {f"c{i}": call[2] for i, call in enumerate(calls)}
    provider = Provider(worst, real, fate)
    budget = chat(provider, limit * UNIT)

    async def main() -> dict[str, object]:
        tasks: dict[str, asyncio.Task[ChatReply]] = {}
        todo = list(worst)
        while todo or provider.waiting:
            if todo and (not provider.waiting or choices.random() < 0.5):
                name = todo.pop(0)
                tasks[name] = asyncio.create_task(budget.ask(request(name)))
            else:
                name = choices.choice(sorted(provider.waiting))
                if fate[name] == "cancelled":
                    tasks[name].cancel()
                else:
                    provider.waiting[name].set_result(None)
            if choices.random() < 0.1:
                # Whoever waits for room may be called off too.
                choices.choice(sorted(tasks.items()))[1].cancel()
            await turns()
        async with asyncio.timeout(5):
            ends = await asyncio.gather(*tasks.values(), return_exceptions=True)
        return dict(zip(tasks, ends, strict=True))

    ends = asyncio.run(main())
    assert provider.peak <= limit
    assert budget.budget.held_usd == 0
    spent = budget.budget.report()["spent_usd"]
    assert spent == pytest.approx(provider.settled * UNIT, abs=1e-9)
    for name, end in ends.items():
        if isinstance(end, ChatError) and end.kind == "stopped":
            # Money that is spent stays spent: what was refused does not fit at the end either.
            assert provider.settled + worst[name] > limit
            assert name not in provider.sent


@settings(max_examples=100, deadline=None)
@given(calls=CALLS, limit=st.integers(0, 120))
def test_one_after_another_nothing_is_refused_that_fits(calls, limit):
    worst = {f"c{i}": call[0] for i, call in enumerate(calls)}
    real = {f"c{i}": int(call[0] * call[1]) for i, call in enumerate(calls)}
    provider = Provider(worst, real, dict.fromkeys(worst, "ok"))
    budget = chat(provider, limit * UNIT)

    async def main() -> list[str]:
        for name in worst:
            task = asyncio.create_task(budget.ask(request(name)))
            await turns()
            if name in provider.waiting:
                provider.waiting[name].set_result(None)
            await asyncio.gather(task, return_exceptions=True)
        return provider.sent

    expected, spent = [], 0
    for name in worst:
        if worst[name] == 0 or spent + worst[name] <= limit:
            expected.append(name)
            spent += real[name]
    assert asyncio.run(main()) == expected


def test_what_does_not_fit_beside_others_waits_and_is_judged_again():
    provider = Provider(
        {"a": 6, "b": 6, "c": 6}, {"a": 2, "b": 6, "c": 1}, dict.fromkeys("abc", "ok")
    )
    budget = chat(provider, 10 * UNIT)

    async def main() -> None:
        first, second, third = [asyncio.create_task(budget.ask(request(name))) for name in "abc"]
        await turns()
        assert provider.sent == ["a"]
        provider.waiting["a"].set_result(None)
        await turns()
        assert provider.sent == ["a", "b"], "2 + 6 fit under 10"
        provider.waiting["b"].set_result(None)
        assert (await first).text == (await second).text == "Ola"
        with pytest.raises(
            ChatError, match=r"\$0\.0056 of the limit of \$0\.007 are spent"
        ) as caught:
            await third
        assert caught.value.kind == "stopped"

    asyncio.run(main())
    assert budget.budget.report()["calls_refused"] == 1


def test_room_that_was_given_to_a_call_just_called_off_is_free_again():
    provider = Provider({"a": 6, "b": 6}, {"a": 0, "b": 6}, dict.fromkeys("ab", "ok"))
    budget = chat(provider, 10 * UNIT)

    async def main() -> None:
        first, second = [asyncio.create_task(budget.ask(request(name))) for name in "ab"]
        await turns()
        provider.waiting["a"].set_result(None)
        while not budget.budget.spent_usd and provider.waiting:
            await asyncio.sleep(0)
        assert budget.budget.held_usd == pytest.approx(6 * UNIT), "b has its room"
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert second.cancelled()

    asyncio.run(main())
    assert provider.sent == ["a"]
    assert budget.budget.held_usd == 0


def test_small_calls_do_not_overtake_a_dear_one():
    provider = Provider(
        {"a": 6, "dear": 9, "small": 1},
        {"a": 0, "dear": 9, "small": 1},
        dict.fromkeys(("a", "dear", "small"), "ok"),
    )
    budget = chat(provider, 10 * UNIT)

    async def main() -> None:
        tasks = [asyncio.create_task(budget.ask(request(name))) for name in provider.worst]
        await turns()
        assert provider.sent == ["a"]
        provider.waiting["a"].set_result(None)
        await turns()
        assert provider.sent == ["a", "dear", "small"]
        for future in list(provider.waiting.values()):
            future.set_result(None)
        await asyncio.gather(*tasks)

    asyncio.run(main())


class Fixed:
    """Answers at once, always the same."""

    facts = {"provider": "fixed"}  # noqa: RUF012

    def __init__(self, reply: ChatReply) -> None:
        self.reply = reply
        self.calls = 0
        self.closed = False

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        return self.reply

    async def aclose(self) -> None:
        self.closed = True


REPLY = ChatReply(text="Ola", finish="stop")


@pytest.mark.parametrize("worst", [None, math.inf, math.nan, -1.0])
def test_an_unknown_price_refuses_and_says_how_to_go_on(worst):
    inner = Fixed(REPLY)
    budget = BudgetChat(inner, 1.0, lambda request: worst, lambda request, reply: 0.1)
    with pytest.raises(ChatError, match="--mt-allow-unknown-cost") as caught:
        asyncio.run(budget.ask(request("m")))
    assert (caught.value.kind, inner.calls) == ("stopped", 0)


def test_an_unknown_price_that_is_allowed_ends_at_the_limit():
    inner = Fixed(REPLY)
    budget = BudgetChat(inner, 0.2, lambda request: None, lambda request, reply: 0.1, True)

    async def main() -> None:
        for _ in range(2):
            await budget.ask(request("m"))
        with pytest.raises(ChatError, match=r"\$0\.20 of the limit of \$0\.20 .* unknown amount"):
            await budget.ask(request("m"))

    asyncio.run(main())
    assert inner.calls == 2


def test_free_calls_go_on_when_everything_is_spent():
    inner = Fixed(REPLY)
    budget = BudgetChat(inner, 0.0, lambda request: 0.0, lambda request, reply: 0.0)
    assert asyncio.run(budget.ask(request("m"))) is REPLY


def test_a_cost_that_never_became_known_counts_as_the_worst_case():
    budget = BudgetChat(Fixed(REPLY), 1.0, lambda request: 0.4, lambda request, reply: None)

    async def main() -> None:
        await budget.ask(request("m"))
        await budget.ask(request("m"))
        with pytest.raises(ChatError):
            await budget.ask(request("m"))

    asyncio.run(main())
    report = budget.budget.report()
    assert report["spent_usd"] == report["in_doubt_usd"] == 0.8
    assert report["calls_of_unknown_cost"] == 2


def test_a_reply_from_the_cache_is_free():
    cached = REPLY.model_copy(update={"from_cache": True})
    budget = BudgetChat(Fixed(cached), 1.0, lambda request: 0.9, lambda request, reply: 0.9)

    async def main() -> None:
        for _ in range(3):
            await budget.ask(request("m"))

    asyncio.run(main())
    assert budget.budget.spent_usd == 0


def test_behind_the_cache_an_answer_needs_no_room(tmp_path):
    inner = Fixed(REPLY)
    budget = BudgetChat(inner, 0.5, lambda request: 0.5, lambda request, reply: 0.5)
    chat = CachingChat(budget, tmp_path, parser_version="1")

    async def main() -> None:
        assert not (await chat.ask(request("m"))).from_cache
        assert (await chat.ask(request("m"))).from_cache
        with pytest.raises(ChatError, match="not sent"):
            await chat.ask(request("other"))

    asyncio.run(main())
    assert (inner.calls, chat.stats().entries) == (1, 1)


def test_a_cost_that_cannot_be_computed_leaves_nothing_held():
    def broken(request: ChatRequest, reply: ChatReply) -> float:
        raise RuntimeError("no")

    budget = BudgetChat(Fixed(REPLY), 1.0, lambda request: 0.25, broken)
    with pytest.raises(RuntimeError):
        asyncio.run(budget.ask(request("m")))
    assert (budget.budget.held_usd, budget.budget.spent_usd) == (0, 0.25)


def test_an_error_inside_a_good_status_is_in_doubt():
    class Failing(Fixed):
        async def ask(self, request: ChatRequest) -> ChatReply:
            raise ChatError("server", "an error in a 200", status=200)

    budget = BudgetChat(Failing(REPLY), 1.0, lambda request: 0.25, lambda request, reply: 0.0)
    with pytest.raises(ChatError, match="an error in a 200"):
        asyncio.run(budget.ask(request("m")))
    assert budget.budget.report()["in_doubt_usd"] == 0.25


@pytest.mark.parametrize("limit", [-1.0, math.nan, math.inf])
def test_a_limit_that_is_none(limit):
    with pytest.raises(UsageError, match="0 or more"):
        Budget(limit)


def test_what_a_lost_loop_held_is_spent_and_settled_once():
    budget = Budget(1.0)

    async def hold() -> asyncio.AbstractEventLoop:
        await budget.hold(0.7)
        return asyncio.get_running_loop()

    async def settle() -> None:
        held = await budget.hold(0.0)
        budget.settle(held, 0.0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(hold())
    budget.lose(loop)
    assert (budget.held_usd, budget.spent_usd) == (0, 0.7)
    assert budget.report()["in_doubt_usd"] == 0.7

    async def late() -> None:
        budget.settle(700_000_000_000, 0.1)

    loop.run_until_complete(late())
    loop.close()
    assert (budget.held_usd, budget.spent_usd) == (0, 0.7)
    asyncio.run(settle())


def test_ten_calls_of_a_tenth_fit_into_one():
    budget = BudgetChat(Fixed(REPLY), 1.0, lambda request: 0.1, lambda request, reply: 0.1)

    async def main() -> None:
        for _ in range(10):
            await budget.ask(request("m"))
        with pytest.raises(ChatError):
            await budget.ask(request("m"))

    asyncio.run(main())
    assert budget.budget.spent_usd == 1.0


def test_threads_with_loops_of_their_own_share_one_limit():
    shared = Budget(30 / PICO)
    lock = threading.Lock()
    state = {"held": 0, "peak": 0, "sent": 0, "stopped": 0}

    class Slow(Fixed):
        async def ask(self, request: ChatRequest) -> ChatReply:
            with lock:
                state["held"] += 3
                state["sent"] += 1
                state["peak"] = max(state["peak"], state["held"])
            await asyncio.sleep(0.001)
            with lock:
                state["held"] -= 2
            return REPLY

    def work() -> None:
        budget = BudgetChat(
            Slow(REPLY), shared, lambda request: 3 / PICO, lambda request, reply: 1 / PICO
        )

        async def main() -> None:
            ends = await asyncio.gather(
                *(budget.ask(request("m")) for _ in range(20)), return_exceptions=True
            )
            with lock:
                state["stopped"] += sum(isinstance(end, ChatError) for end in ends)

        asyncio.run(main())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    assert state["peak"] <= 30
    assert state["sent"] == 28, "27 cost 27, the 28th may cost up to 3, no other fits"
    assert state["stopped"] == 60 - 28
