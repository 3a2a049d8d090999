"""Batches: a pure function of what is selected, the same in every process.

A batch is a run of at most ``size`` cases of one run (one contestant on one group of one suite)
in canonical order. Neither the order in which pytest runs the items nor the number of workers
changes it, so two processes that know the selection agree on every batch without talking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Slot(NamedTuple):
    """The place of one item: its run, and the position (index) of its case in the suite."""

    run: str
    position: int


def cut_batches(slots: Iterable[Slot], size: int) -> list[tuple[Slot, ...]]:
    """Cut the slots into batches of at most ``size``, each of one run, in canonical order."""
    if size < 1:
        raise ValueError(f"a batch holds at least one case, not {size}")
    batches: list[tuple[Slot, ...]] = []
    batch: list[Slot] = []
    for slot in sorted(slots):
        if batch and (len(batch) == size or batch[-1].run != slot.run):
            batches.append(tuple(batch))
            batch = []
        batch.append(slot)
    if batch:
        batches.append(tuple(batch))
    return batches


def take_shard(
    batches: Sequence[tuple[Slot, ...]], number: int, count: int
) -> list[tuple[Slot, ...]]:
    """Return the batches of shard ``number`` of ``count`` (from 1): every count-th, whole.

    All shards together hold every batch exactly once, and cutting a shard's slots again gives
    its batches again, because only the last batch of a run may be short.
    """
    if not 1 <= number <= count:
        raise ValueError(f"shard {number} of {count} does not exist")
    return list(batches[number - 1 :: count])
