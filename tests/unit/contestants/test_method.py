"""Calling methods: plain and async, faults of all kinds, cancelling, and what they can reach."""

from __future__ import annotations

import asyncio
import functools
import gc
import subprocess
import sys
import threading
import time
from textwrap import dedent

import pytest

from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.contestants.method import MethodContestant
from pytest_mtarena.protocols import Contestant, Identity
from pytest_mtarena.records import RunConfig

ME = Identity(name="me", slug="method/me@00000000")


def contestant(translate, **more):
    return MethodContestant(translate, ME, **more)


def answer(entries, config):
    return [{"id": entry["id"], "predicted": entry["source"]} for entry in entries]


async def answer_later(entries, config):
    await asyncio.sleep(0)
    return answer(entries, config)


class AsyncObject:
    async def __call__(self, entries, config):
        return answer(entries, config)


@pytest.mark.parametrize(
    "translate",
    [
        answer,
        answer_later,
        lambda entries, config: answer_later(entries, config),
        functools.partial(answer_later),
        AsyncObject(),
    ],
    ids=["plain", "async", "awaitable", "partial", "object"],
)
def test_plain_and_async_methods_answer_alike(translate, ask, entries):
    made = contestant(translate)
    assert isinstance(made, Contestant)
    attempts = ask(made, entries)
    assert [a.output for a in attempts.values()] == [e["source"] for e in entries]


def test_an_entry_with_line_breaks_stays_one_text(ask, entries):
    assert ask(contestant(answer), entries)["b"].output == "two\nlines\tand a tab"


def test_a_method_that_changes_its_input_hurts_nobody(ask):
    entries = [{"id": "a", "index": 0, "source": "x", "context": {"words": ["k"]}}]
    config = RunConfig(options={"k": "v"})

    def translate(given, config):
        given[0]["context"]["words"].append("more")
        config.options["k"] = "changed"
        results = answer(given, config)
        given[0]["id"] = "z"
        given.clear()
        return results

    attempts = asyncio.run(contestant(translate).attempt(entries, config))
    assert attempts[0].output == "x"
    assert entries == [{"id": "a", "index": 0, "source": "x", "context": {"words": ["k"]}}]
    assert config.options == {"k": "v"}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "error",
    [KeyError("gloss"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(1),
     asyncio.CancelledError(), ExceptionGroup("two", [KeyError("gloss"), ValueError()])],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_method_raises_fails_its_batch_and_nothing_else(is_async, error, entries):
    def translate(given, config):
        raise error

    async def translate_later(given, config):
        raise error

    async def both():
        broken = contestant(translate_later if is_async else translate)
        return await asyncio.gather(
            broken.attempt(entries, RunConfig()), contestant(answer).attempt(entries, RunConfig())
        )

    failed, fine = asyncio.run(both())
    assert [a.failure.kind for a in failed] == ["exception"] * 3
    assert all(a.failure is None for a in fine)
    cause = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    assert failed[0].failure.message.startswith(
        "RuntimeError" if is_async and isinstance(error, StopIteration) else type(cause).__name__
    )


def test_a_fault_shows_the_methods_own_frames_only(make_method, ask, entries):
    root = make_method(
        """
        import json
        from helper import dig

        class Echo:
            async def translate(self, entries, config):
                return dig({}, "gloss")
        """,
        files={"helper.py": "def dig(value, key):\n    return value[key]\n"},
    )
    failure = ask(load_method(root, {}), entries)["a"].failure
    assert failure.message == "KeyError: 'gloss' (helper.py:2 in dig)"
    assert failure.traceback.count("File ") == 2
    assert 'File "pipeline.py", line 7, in translate' in failure.traceback
    assert "return value[key]" in failure.traceback
    assert "contestants" not in failure.traceback
    assert str(root) not in failure.traceback


def test_a_fault_in_a_library_is_blamed_on_the_line_that_called_it(make_method, ask, entries):
    root = make_method(
        """
        import json

        class Echo:
            def translate(self, entries, config):
                return json.loads("{")
        """
    )
    failure = ask(load_method(root, {}), entries)["a"].failure
    assert failure.message.endswith("(pipeline.py:6 in translate)")
    assert failure.traceback.count("File ") == 1


def test_the_text_of_an_exception_is_made_safe(ask, entries):
    class Rude(Exception):
        def __str__(self):
            raise ValueError("no")

    def rude(given, config):
        raise Rude

    def long(given, config):
        raise ValueError("x\ny\ud800" + "z" * 10_000)

    assert "cannot be shown" in ask(contestant(rude), entries)["a"].failure.message
    message = ask(contestant(long), entries)["a"].failure.message
    assert "\n" not in message
    assert len(message) < 600
    message.encode()


def test_an_answer_whose_own_code_raises_is_the_methods_fault(ask, entries):
    class Trap(dict):
        def get(self, *_):
            raise RuntimeError("trap")

    attempts = ask(contestant(lambda given, config: [Trap()]), entries)
    assert [a.failure.message for a in attempts.values()] == ["RuntimeError: trap"] * 3


def test_unknown_ids_are_told_once(ask, entries):
    heard = []
    made = contestant(
        lambda given, config: [*answer(given, config), {"id": "zz", "predicted": "?"}],
        on_fault=lambda given, line: heard.append(line),
    )
    assert all(a.failure is None for a in ask(made, entries).values())
    assert heard == made.faults
    assert len(heard) == 1
    assert heard[0].startswith("me: ")
    assert "'zz'" in heard[0]


def test_batches_of_a_plain_method_run_side_by_side(entries):
    barrier = threading.Barrier(4, timeout=10)

    def translate(given, config):
        barrier.wait()  # passes only when four calls are under way at once
        return answer(given, config)

    async def run():
        made = contestant(translate)
        return await asyncio.gather(*(made.attempt(entries, RunConfig()) for _ in range(4)))

    assert all(a.failure is None for batch in asyncio.run(run()) for a in batch)


def test_our_own_time_limit_cancels_a_coroutine_which_may_clean_up(entries):
    seen = []

    async def translate(given, config):
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            seen.append("cleaned up")

    async def run():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await contestant(translate).attempt(entries, RunConfig())
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(run()) == []
    assert seen == ["cleaned up"]


def test_a_plain_method_that_hangs_holds_up_neither_the_caller_nor_the_exit():
    script = """
        import asyncio, time
        from pytest_mtarena.contestants.method import MethodContestant
        from pytest_mtarena.protocols import Identity
        from pytest_mtarena.records import RunConfig

        made = MethodContestant(lambda *_: time.sleep(60), Identity(name="m", slug="s"))

        async def run():
            await asyncio.wait_for(made.attempt([{"id": "a"}], RunConfig()), 0.1)

        try:
            asyncio.run(run())
        except TimeoutError:
            print("timed out")
    """
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(script)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "timed out\n"
    assert done.stderr == ""
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("is_async", [False, True])
def test_no_frame_above_a_method_knows_more_than_the_method(is_async, entries):
    found = []

    def look():
        frame = sys._getframe(1)
        while frame is not None:
            found.extend(str(value) for value in frame.f_locals.values())
            frame = frame.f_back

    def translate(given, config):
        look()
        return answer(given, config)

    async def translate_later(given, config):
        look()
        return answer(given, config)

    async def caller():
        reference = "GOLD " + "REFERENCE"
        made = contestant(translate_later if is_async else translate)
        attempts = await made.attempt(entries, RunConfig())
        return attempts, reference

    loop = asyncio.new_event_loop()
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(loop.run_until_complete(caller())))
    thread.start()
    thread.join()
    loop.close()
    assert outcome
    assert found
    assert not any("GOLD REFERENCE" in text for text in found)
    gc.collect()
