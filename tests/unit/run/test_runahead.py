"""The run-ahead keeps calls in flight, and turns every fault into a failure of its batch."""

import asyncio
import threading
import time

import pytest

from pytest_mtarena.llm.retry import Gate
from pytest_mtarena.protocols import Identity
from pytest_mtarena.records import Attempt, RunConfig
from pytest_mtarena.run import runahead
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.runahead import Request, RunAhead


class Fake:
    def __init__(self, answer, label="fake"):
        self.identity = Identity(name=label, slug=label, label=label)
        self._answer = answer

    async def attempt(self, entries, config):
        return await self._answer(entries)


async def shout(entries):
    await asyncio.sleep(0.05)
    return [Attempt(id=e["id"], output=e["source"].upper()) for e in entries]


def request(key, answer=shout, timeout=5.0, count=2, contestant=None):
    entries = [{"id": f"{key}-{i}", "index": i, "source": f"s{i}"} for i in range(count)]
    slots = [Slot("r", i) for i in range(count)]
    config = RunConfig(timeout_seconds=timeout)
    return Request(key, slots, contestant or Fake(answer), entries, config)


@pytest.fixture
def ahead():
    engine = RunAhead(4)
    yield engine
    engine.close()


def test_calls_overlap_up_to_the_limit_and_come_back_with_their_times(ahead):
    contestant = Fake(shout)
    began = time.perf_counter()
    for key in range(8):
        ahead.submit(request(key, contestant=contestant))
    for key in range(8):
        attempts = ahead.take(key)
        assert [attempt.output for attempt in attempts] == ["S0", "S1"]
        assert all(a.request == 0 and a.request_seconds >= 0.05 for a in attempts)
    assert ahead.peak_in_flight == {"fake": 4}
    assert time.perf_counter() - began < 8 * 0.05


def test_each_contestant_has_places_of_its_own(ahead):
    one, two = Fake(shout, "one"), Fake(shout, "two")
    for key in range(6):
        ahead.submit(request(("one", key), contestant=one))
        ahead.submit(request(("two", key), contestant=two))
    for key in range(6):
        ahead.take(("one", key))
        ahead.take(("two", key))
    assert ahead.peak_in_flight == {"one": 4, "two": 4}


async def swallow(entries):
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.2)
    return []


async def sleep_long(entries):
    await asyncio.sleep(60)


@pytest.mark.parametrize("answer", [sleep_long, swallow])
def test_a_call_that_takes_too_long_fails_its_batch_and_frees_its_place(answer):
    ahead = RunAhead(1)
    ahead.submit(request("slow", answer, timeout=0.2))
    ahead.submit(request("next"))
    slow = ahead.take("slow")
    assert {attempt.failure.status for attempt in slow} == {"timeout"}
    assert "0.2 s" in slow[0].failure.message
    assert ahead.take("next")[0].output == "S0"
    ahead.close()


def test_a_method_that_blocks_the_loop_is_given_up_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(runahead, "_GRACE", 0.5)
    release = threading.Event()

    async def block(entries):
        release.wait(20)
        return []

    ahead = RunAhead(1)
    ahead.submit(request("blocker", block, timeout=0.5))
    ahead.submit(request("next"))
    blocked = ahead.take("blocker")
    assert blocked[0].failure.status == "timeout"
    assert "blocks its event loop" in blocked[0].failure.message
    assert ahead.take("next")[1].output == "S1"
    release.set()
    ahead.close()


def test_after_an_interrupt_no_call_is_made_any_more_and_those_that_are_out_are_kept():
    calls = []

    class Gated(Fake):
        def __init__(self):
            super().__init__(None, "gated")
            self.gate = Gate(2)

        async def attempt(self, entries, config):
            async with self.gate:
                calls.append(entries[0]["id"])
                await asyncio.sleep(0.4)
            await asyncio.sleep(0.1)  # reading, keeping
            return [Attempt(id=e["id"], output="yes") for e in entries]

    ahead, contestant = RunAhead(2), Gated()
    for key in range(12):
        ahead.submit(request(key, contestant=contestant))
    ahead.submit(request("method", contestant=Fake(shout)))
    time.sleep(0.15)
    began = time.monotonic()
    answers = dict(ahead.drain(10))
    assert time.monotonic() - began < 5
    assert calls == ["0-0", "1-0"]
    assert set(answers) == {0, 1, "method"}
    assert answers[0][0].output == "yes"
    ahead.close()
    assert calls == ["0-0", "1-0"]


def test_what_works_after_its_call_is_waited_for_after_an_interrupt():
    class Hooked(Fake):
        def __init__(self):
            super().__init__(None, "hooked")
            self.gate = Gate(2)

        async def attempt(self, entries, config):
            async with self.gate:
                pass
            await asyncio.sleep(1.2)  # a hook
            return [Attempt(id=e["id"], output="yes") for e in entries]

    ahead = RunAhead(2)
    contestant = Hooked()
    for key in range(2):
        ahead.submit(request(key, contestant=contestant))
    time.sleep(0.2)
    assert set(dict(ahead.drain(5))) == {0, 1}
    ahead.close()


def test_a_method_that_blocks_its_loop_costs_no_other_contestant_time(ahead):
    release = threading.Event()

    async def block(entries):
        release.wait(20)
        return [Attempt(id=e["id"], output="late") for e in entries]

    ahead.submit(request("blocker", contestant=Fake(block, "blocker")))
    for key in range(6):
        ahead.submit(request(key, contestant=Fake(shout, "other")))
    for key in range(6):
        assert ahead.take(key)[0].output == "S0"
    release.set()
    assert ahead.take("blocker")[0].output == "late"


async def leave(entries):
    raise SystemExit(3)


async def leave_in_a_task(entries):
    await asyncio.gather(asyncio.create_task(leave(entries)))


async def fail(entries):
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("answer", "told"),
    [(fail, "ValueError: boom"), (leave, "SystemExit: 3"), (leave_in_a_task, "SystemExit")],
)
def test_whatever_is_raised_stays_with_its_batch(ahead, answer, told):
    ahead.submit(request("bad", answer))
    assert told in ahead.take("bad")[0].failure.message
    ahead.submit(request("good"))
    assert ahead.take("good")[0].output == "S0"


async def forget_one(entries):
    return [Attempt(id=entries[0]["id"], output="x")]


def test_an_entry_without_an_attempt_is_a_failure_not_a_gap(ahead):
    ahead.submit(request("k", forget_one))
    first, second = ahead.take("k")
    assert first.output == "x"
    assert second.failure.kind == "missing_result"


def test_drain_returns_what_is_finished_and_drops_what_never_started():
    ahead = RunAhead(1)
    ahead.submit(request("done"))
    ahead.submit(request("slow", sleep_long))
    ahead.submit(request("waiting"))
    time.sleep(0.3)
    answers = dict(ahead.drain(0.1))
    assert list(answers) == ["done"]
    ahead.close()


def test_every_contestant_is_closed_also_of_those_with_one_label():
    closed = []

    class Closing(Fake):
        async def aclose(self):
            closed.append(self)

    engine, both = RunAhead(4), [Closing(shout), Closing(shout)]
    for key in range(4):
        engine.submit(request(key, contestant=both[key % 2]))
    for key in range(4):
        engine.take(key)
    engine.close()
    assert len(closed) == 2
    assert set(map(id, closed)) == set(map(id, both))
