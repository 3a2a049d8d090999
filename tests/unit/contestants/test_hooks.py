"""Post-translation hooks: order, faults, and what stays of the raw output."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pytest_mtarena.contestants.hooks import HookedContestant
from pytest_mtarena.contestants.method import MethodContestant
from pytest_mtarena.protocols import Contestant, Identity
from pytest_mtarena.records import Attempt, RunConfig

ME = Identity(name="me", slug="method/me@00000000", facts={"options": {}})


def translate(entries, config):
    return [
        {"id": entry["id"], "error": "no"}
        if entry["id"] == "b"
        else {"id": entry["id"], "predicted": f" {entry['source']} "}
        for entry in entries
    ]


def hooked(*hooks):
    return HookedContestant(MethodContestant(translate, ME), hooks)


def strip(entries, outputs, config):
    return [output.strip() for output in outputs]


async def mark(entries, outputs, config):
    return [f"{entry['id']}:{output}" for entry, output in zip(entries, outputs, strict=True)]


def test_hooks_run_in_order_on_sound_outputs_only(ask, entries):
    made = hooked(("strip", strip), ("mark", mark))
    assert isinstance(made, Contestant)
    attempts = ask(made, entries)
    assert (attempts["a"].output, attempts["a"].raw_output) == ("a:one", " one ")
    assert (attempts["c"].output, attempts["c"].raw_output) == ("c:three", " three ")
    assert attempts["b"].failure.kind == "reported"
    assert ask(hooked(("mark", mark), ("strip", strip)), entries)["a"].output == "a: one"


def test_hooks_are_part_of_the_identity():
    facts = hooked(("strip", strip), ("mark", mark)).identity.facts
    assert facts == {"options": {}, "hooks": ["strip", "mark"]}


def broken(entries, outputs, config):
    raise SystemExit(2)


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (broken, "SystemExit: 2"),
        (lambda e, o, c: o[:1], "returned 1 outputs"),
        (lambda e, o, c: None, "returned NoneType"),
        (lambda e, o, c: "ab", "returned str"),
        (lambda e, o, c: [1, 2], "output 1 is of type int"),
        (lambda e, o, c: ["x", "\ud800"], "output 2 is not valid Unicode"),
    ],
)
def test_a_broken_hook_fails_its_batch_and_keeps_the_raw_output(ask, entries, hook, words):
    attempts = ask(hooked(("strip", strip), ("bad", hook), ("mark", mark)), entries)
    for key, raw in (("a", " one "), ("c", " three ")):
        assert attempts[key].failure.kind == "hook"
        assert attempts[key].failure.message.startswith("hook bad: ")
        assert words in attempts[key].failure.message
        assert (attempts[key].output, attempts[key].raw_output) == (None, raw)
    assert attempts["b"].failure.kind == "reported"


def test_a_hook_that_changes_its_input_hurts_nobody(ask, entries):
    def vandal(given, outputs, config):
        kept = list(outputs)
        given[0].clear()
        outputs.clear()
        return kept

    assert ask(hooked(("vandal", vandal), ("mark", mark)), entries)["a"].output == "a: one "


@pytest.mark.parametrize("is_async", [False, True])
def test_a_hook_that_never_ends_is_given_up(entries, is_async):
    release = threading.Event()

    def sleeps(entries, outputs, config):
        release.wait(20)
        return outputs

    async def sleeps_too(entries, outputs, config):
        await asyncio.sleep(20)

    made = hooked(("slow", sleeps_too if is_async else sleeps))
    first, second, third = asyncio.run(made.attempt(entries, RunConfig(timeout_seconds=0.2)))
    release.set()
    assert second.failure.kind == "reported"
    assert (first.failure.status, third.failure.status) == ("timeout", "timeout")
    assert first.failure.message.startswith("hook slow: not done within 0.2 s; --mt-timeout")


class Slow:
    """A model whose calls take long."""

    identity = ME

    async def attempt(self, entries, config):
        return [Attempt(id=entry["id"], output="x") for entry in entries]

    async def revise(self, entry, output, wish, config):
        await asyncio.sleep(0.3)
        return Attempt(id=entry["id"], output=output + "!")

    def forget_revision(self, entry, output, wish, config):
        pass


def test_a_hook_that_was_given_up_asks_for_nothing_any_more(entries):
    release, asked = threading.Event(), []

    def late(entries, outputs, config, ask):
        release.wait(20)
        try:
            ask("a", "again")
        except RuntimeError as error:
            asked.append(str(error))
        return outputs

    async def go():
        made = HookedContestant(Slow(), [("late", late)])
        attempts = await made.attempt(entries, RunConfig(timeout_seconds=0.2))
        release.set()
        await asyncio.sleep(0.5)
        return attempts

    attempts = asyncio.run(go())
    assert {one.failure.status for one in attempts} == {"timeout"}
    assert asked == ["the hook was given up"]


def test_a_hook_that_asks_for_ever_is_stopped(entries):
    async def asks(entries, outputs, config, ask):
        while True:
            await ask("a", "again")

    class Quick(Slow):
        async def revise(self, entry, output, wish, config):
            return Attempt(id=entry["id"], output=output + "!")

    attempts = asyncio.run(
        HookedContestant(Quick(), [("asks", asks)]).attempt(entries, RunConfig())
    )
    assert "the hooks asked 48 times about this batch: enough" in attempts[0].failure.message


def test_a_hook_has_the_time_that_the_model_takes(entries):
    async def asks(entries, outputs, config, ask):
        return [await ask(entry["id"], "again") for entry in entries]

    made = HookedContestant(Slow(), [("asks", asks)])
    attempts = asyncio.run(made.attempt(entries, RunConfig(timeout_seconds=0.2)))
    assert [one.output for one in attempts] == ["x!"] * len(entries)
