"""The sums of all workers: nobody passes the limit, and what a dead one had in flight is spent."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import random
from pathlib import Path

import pytest

from pytest_mtarena.llm.budget import Budget
from pytest_mtarena.llm.chat import ChatError
from pytest_mtarena.llm.ledger import OwnLedger, SharedLedger, Sums, bury

LIMIT, WORST = 3.0, 0.1


@pytest.fixture(params=["own", "shared"])
def ledger(request, tmp_path):
    if request.param == "own":
        yield OwnLedger()
        return
    shared = SharedLedger(tmp_path / "sums", "gw0")
    yield shared
    shared.close()


def test_what_was_changed_is_kept_whatever_its_size(ledger):
    with ledger.open() as sums:
        sums.spent += 10**40
        sums.held += 7
    with ledger.open() as sums:
        sums.held -= 3
        sums.in_doubt += 1
    with ledger.open() as sums:
        assert sums == Sums(10**40, 4, 1)


def test_owners_see_the_sums_of_all_and_a_change_that_fails_is_none(tmp_path):
    one, two = (SharedLedger(tmp_path / "sums", name) for name in ("gw0", "gw1"))
    with one.open() as sums:
        sums.held = 5
    with two.open() as sums:
        assert sums.held == 5
        sums.held += 2
    with contextlib.suppress(RuntimeError), two.open() as sums:
        sums.spent = 99
        raise RuntimeError("no")
    assert (one.own(), two.own()) == (Sums(held=5), Sums(held=2))
    bury(tmp_path / "sums", "gw0")
    with two.open() as sums:
        assert sums == Sums(spent=5, held=2, in_doubt=5)
    bury(tmp_path / "sums", "never heard of")
    one.close()
    two.close()


def worker(path: Path, name: str, seed: int) -> None:
    """Send calls until none is let through; note what each really cost."""
    choice = random.Random(seed)
    ledger = SharedLedger(path / "sums", name)
    budget = Budget(LIMIT, ledger)
    really: list[float] = []

    async def caller() -> None:
        while True:
            try:
                held = await budget.hold(WORST)
            except ChatError:
                return
            await asyncio.sleep(choice.random() / 500)
            cost = choice.choice([0.0, 0.03, WORST])
            really.append(cost)
            budget.settle(held, cost)

    async def main() -> None:
        await asyncio.gather(*(caller() for _ in range(4)))

    asyncio.run(main())
    ledger.close()
    (path / name).write_text(repr(really), encoding="ascii")


def test_processes_share_one_limit_and_use_it_up(tmp_path):
    start = multiprocessing.get_context("spawn")
    names = [f"gw{number}" for number in range(3)]
    running = [
        start.Process(target=worker, args=(tmp_path, name, seed)) for seed, name in enumerate(names)
    ]
    for one in running:
        one.start()
    for one in running:
        one.join(60)
        assert one.exitcode == 0
    costs = [
        float(cost)
        for name in names
        for cost in (tmp_path / name).read_text(encoding="ascii").strip("[]").split(",")
        if cost.strip()
    ]
    assert LIMIT - WORST < sum(costs) <= LIMIT + 1e-9
    last = SharedLedger(tmp_path / "sums", "gw9")
    with last.open() as sums:
        assert sums.held == 0
        assert sums.spent == pytest.approx(sum(costs) * 1e12)
    last.close()


def test_who_waits_for_a_worker_that_dies_is_refused(tmp_path):
    one, two = (SharedLedger(tmp_path / "sums", name) for name in ("gw0", "gw1"))

    async def main() -> None:
        await Budget(1.0, one).hold(0.7)
        waiting = asyncio.create_task(Budget(1.0, two).hold(0.5))
        await asyncio.sleep(0.2)
        assert not waiting.done(), "gw0 may still turn out to be cheaper"
        bury(tmp_path / "sums", "gw0")
        with pytest.raises(ChatError, match=r"not sent: \$0.70 of the limit of \$1.00"):
            await asyncio.wait_for(waiting, 10)

    asyncio.run(main())
    one.close()
    two.close()


def test_who_waits_goes_on_when_another_process_settles(tmp_path):
    one, two = (SharedLedger(tmp_path / "sums", name) for name in ("gw0", "gw1"))

    async def main() -> int:
        first = Budget(1.0, one)
        held = await first.hold(0.7)
        waiting = asyncio.create_task(Budget(1.0, two).hold(0.5))
        await asyncio.sleep(0.1)
        first.settle(held, 0.1)
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(main()) == 500_000_000_000
    one.close()
    two.close()
