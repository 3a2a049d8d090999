"""Batches are a pure function of the selection."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.run.batches import Slot, cut_batches, take_shard

slots = st.lists(st.builds(Slot, st.sampled_from(["a", "b", "c"]), st.integers(0, 60)), unique=True)


def test_a_batch_never_crosses_runs_and_only_the_last_of_a_run_is_short():
    batches = cut_batches([Slot("b", i) for i in range(7)] + [Slot("a", i) for i in range(5)], 3)
    assert [[tuple(slot) for slot in batch] for batch in batches] == [
        [("a", 0), ("a", 1), ("a", 2)],
        [("a", 3), ("a", 4)],
        [("b", 0), ("b", 1), ("b", 2)],
        [("b", 3), ("b", 4), ("b", 5)],
        [("b", 6)],
    ]


@settings(max_examples=60, deadline=None)
@given(slots, st.integers(1, 9), st.randoms(use_true_random=False))
def test_the_order_of_the_selection_does_not_matter(chosen, size, rng: random.Random):
    shuffled = list(chosen)
    rng.shuffle(shuffled)
    assert cut_batches(shuffled, size) == cut_batches(chosen, size)


@settings(max_examples=60, deadline=None)
@given(slots, st.integers(1, 9), st.integers(1, 4))
def test_shards_are_whole_batches_and_hold_every_batch_once(chosen, size, count):
    batches = cut_batches(chosen, size)
    shards = [take_shard(batches, number, count) for number in range(1, count + 1)]
    assert sorted(batch for shard in shards for batch in shard) == sorted(batches)
    for shard in shards:
        again = cut_batches([slot for batch in shard for slot in batch], size)
        assert again == shard


@pytest.mark.parametrize(("number", "count"), [(0, 2), (3, 2)])
def test_a_shard_that_does_not_exist_is_an_error(number, count):
    with pytest.raises(ValueError, match="does not exist"):
        take_shard([], number, count)


def test_a_batch_holds_at_least_one_case():
    with pytest.raises(ValueError, match="at least one"):
        cut_batches([Slot("a", 0)], 0)
