"""Which failures are tried again, when, and when to stop for good."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.llm.breaker import Breaker
from pytest_mtarena.llm.chat import ChatError, ErrorKind
from pytest_mtarena.llm.retry import CallFailed, Retry, persist, retry_after


class FakeClock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Flaky:
    """Fails with each of the given failures in turn, then returns."""

    def __init__(self, *failures: ChatError) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


def fail(kind: ErrorKind = "server", wait: float | None = None, final: bool = False) -> CallFailed:
    return CallFailed(kind, f"it was {kind}", status=None, wait=wait, final=final)


def tried(once: Flaky, retry: Retry = Retry(), random: float = 1.0) -> tuple[str, int, list[float]]:  # noqa: B008
    clock = FakeClock()
    text, tries = asyncio.run(persist(once, retry=retry, clock=clock, random=lambda: random))
    return text, tries, clock.slept


def test_waits_double_up_to_the_longest() -> None:
    once = Flaky(*(fail() for _ in range(5)))
    retry = Retry(tries=6, base=1.0, longest=5.0)
    assert tried(once, retry) == ("done", 6, [1.0, 2.0, 4.0, 5.0, 5.0])


def test_jitter_takes_the_whole_range() -> None:
    assert tried(Flaky(fail(), fail()), random=0.25)[2] == [0.25, 0.5]
    assert tried(Flaky(fail()), random=0.0)[2] == [0.0]


@pytest.mark.parametrize("kind", ["rate_limit", "server", "timeout", "connection", "bad_reply"])
def test_what_is_tried_again(kind: ErrorKind) -> None:
    assert tried(Flaky(fail(kind)))[:2] == ("done", 2)


@pytest.mark.parametrize("kind", ["auth", "request", "not_found"])
def test_what_is_shown_at_once(kind: ErrorKind) -> None:
    once = Flaky(fail(kind))
    with pytest.raises(ChatError, match=f"^it was {kind}$") as caught:
        tried(once)
    assert (caught.value.kind, caught.value.tries, once.calls) == (kind, 1, 1)


def test_a_final_failure_is_not_tried_again() -> None:
    once = Flaky(fail("timeout", final=True))
    with pytest.raises(ChatError):
        tried(once)
    assert once.calls == 1


def test_the_last_failure_tells_the_number_of_tries() -> None:
    once = Flaky(*(fail() for _ in range(9)))
    with pytest.raises(ChatError, match=r"\(3 tries\)") as caught:
        tried(once, Retry(tries=3))
    assert (caught.value.tries, once.calls) == (3, 3)


def test_what_the_provider_asks_for_is_the_least() -> None:
    assert tried(Flaky(fail("rate_limit", wait=2.0)), random=0.0)[2] == [2.0]
    assert tried(Flaky(fail("server", wait=2.0)), random=1.0)[2] == [2.5]


def test_a_wait_that_is_too_long_ends_the_call_and_says_so() -> None:
    once = Flaky(fail("rate_limit", wait=86400.0))
    with pytest.raises(ChatError, match="86400 s, more than the 60 s") as caught:
        tried(once)
    assert (caught.value.kind, once.calls) == ("rate_limit", 1)


def test_the_gate_is_free_while_waiting() -> None:
    """A second call gets the only place while the first one waits."""

    async def run() -> list[str]:
        gate = asyncio.Semaphore(1)
        order: list[str] = []

        class Slow(FakeClock):
            async def sleep(self, seconds: float) -> None:
                order.append("wait")
                await asyncio.sleep(0.01)

        async def call(name: str, *failures: ChatError) -> None:
            inner = Flaky(*failures)

            async def once() -> str:
                order.append(f"{name} {inner.calls}")
                await asyncio.sleep(0)
                return await inner()

            await persist(once, retry=Retry(), clock=Slow(), gate=gate)

        await asyncio.gather(call("a", fail()), call("b"))
        return order

    order = asyncio.run(run())
    assert order == ["a 0", "wait", "b 0", "a 1"]


def test_the_gate_is_given_back_after_a_failure() -> None:
    async def run() -> bool:
        gate = asyncio.Semaphore(1)
        with pytest.raises(ChatError):
            await persist(Flaky(fail("auth")), retry=Retry(), clock=FakeClock(), gate=gate)
        return gate.locked()

    assert asyncio.run(run()) is False


def test_check_stops_before_the_next_try() -> None:
    once = Flaky(fail(), fail())
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 2:
            raise ChatError("stopped", "enough")

    with pytest.raises(ChatError, match="enough") as caught:
        asyncio.run(persist(once, retry=Retry(), clock=FakeClock(), check=check))
    assert (once.calls, caught.value.kind, caught.value.tries) == (1, "stopped", 1)


NOW = 1_700_000_000.0


def date(shift: float) -> str:
    return formatdate(NOW + shift, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": date(3)}, 3.0),
        ({"retry-after": date(3 - 7200), "date": date(-7200)}, 3.0),
        ({"retry-after": date(3 + 7200), "date": date(7200)}, 3.0),
        ({"retry-after": date(3), "date": "yesterday"}, 3.0),
        ({"retry-after": date(-3)}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
    ],
)
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers, NOW) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_the_reader(after: str, date: str) -> None:
    wait = retry_after({"retry-after": after, "date": date}, NOW)
    assert wait is None or wait > 0


def note(breaker: Breaker, *kinds: ErrorKind, model: str = "m") -> None:
    for kind in kinds:
        breaker.failed(model, ChatError(kind, f"it was {kind}"))


def test_the_breaker_counts_failures_in_a_row() -> None:
    breaker = Breaker(limit=3)
    note(breaker, "server", "timeout")
    breaker.succeeded("m")
    note(breaker, "server", "timeout")
    breaker.check("m")
    note(breaker, "connection")
    with pytest.raises(ChatError, match=r"3 failures in a row.*it was connection") as caught:
        breaker.check("m")
    assert caught.value.kind == "stopped"
    breaker.check("another model")


def test_a_wrong_key_stops_every_model_at_once() -> None:
    breaker = Breaker()
    breaker.failed("m", ChatError("auth", "no such key", status=401))
    with pytest.raises(ChatError, match="no such key"):
        breaker.check("another model")


@pytest.mark.parametrize("status", [402, 403, None])
def test_what_may_be_refused_for_one_model_stops_no_other(status: int | None) -> None:
    breaker = Breaker()
    breaker.failed("m", ChatError("auth", "this model is not for you", status=status))
    with pytest.raises(ChatError, match="not for you"):
        breaker.check("m")
    breaker.check("another model")


def test_a_wrong_name_stops_its_model_at_once() -> None:
    breaker = Breaker()
    note(breaker, "not_found")
    assert breaker.reason("m") is not None
    assert breaker.reason("another model") is None


def test_being_stopped_is_no_failure_of_the_provider() -> None:
    breaker = Breaker(limit=1)
    note(breaker, "stopped", "stopped")
    breaker.check("m")


def test_a_breaker_needs_a_limit() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Breaker(limit=0)
