"""The scheduler deals whole batches; the lookahead sees what a worker was sent."""

from __future__ import annotations

import inspect
import threading
from types import SimpleNamespace

import pytest
from xdist import remote

from pytest_mtarena.plugin.lookahead import InProcess, InWorker, queued_indices
from pytest_mtarena.plugin.schedule import BatchScheduling


class Node:
    """A worker as the scheduler sees it."""

    def __init__(self, name):
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[list[int]] = []
        self.shutting_down = False

    def send_runtest_some(self, indices):
        self.sent.append(list(indices))

    def shutdown(self):
        self.shutting_down = True


class Config:
    option = SimpleNamespace(tx=["popen", "popen"], maxschedchunk=None, debug=False)

    def getoption(self, name):
        return None

    def getvalue(self, name):
        return getattr(self.option, name)


def make(count, size, window):
    scheduler = BatchScheduling(Config(), None, lambda ids: [int(i) // size for i in ids], window)
    nodes = [Node("gw0"), Node("gw1")]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, [str(i) for i in range(count)])
    scheduler.schedule()
    return scheduler, nodes


def test_whole_batches_are_dealt_in_turn_up_to_the_window():
    _, (one, two) = make(count=30, size=5, window=2)
    assert one.sent == [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]]
    assert two.sent == [[5, 6, 7, 8, 9], [15, 16, 17, 18, 19]]
    assert not one.shutting_down


def test_a_finished_batch_makes_room_for_the_next_and_the_end_is_told():
    scheduler, (one, two) = make(count=30, size=5, window=2)
    for index in range(4):
        scheduler.mark_test_complete(one, index)
    assert len(one.sent) == 2
    scheduler.mark_test_complete(one, 4)
    assert one.sent[-1] == [20, 21, 22, 23, 24]
    for index in (5, 6, 7, 8, 9):
        scheduler.mark_test_complete(two, index)
    assert two.sent[-1] == [25, 26, 27, 28, 29]
    scheduler.mark_test_complete(one, 10)
    assert one.shutting_down


def test_the_items_of_a_dead_worker_go_to_the_others():
    scheduler, (one, two) = make(count=10, size=5, window=2)
    assert one.shutting_down  # everything was dealt
    one.shutting_down = two.shutting_down = False
    scheduler.mark_test_complete(one, 0)
    assert scheduler.remove_node(one) == "1"
    assert two.sent[-1] == [2, 3, 4]
    scheduler.mark_test_pending("1")
    assert two.sent[-1] == [1] or scheduler.pending == [1]


def test_shuffled_node_ids_still_go_out_in_whole_batches():
    scheduler = BatchScheduling(Config(), None, lambda ids: [int(i) % 3 for i in ids], 1)
    nodes = [Node("gw0"), Node("gw1")]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, [str(i) for i in range(9)])
    scheduler.schedule()
    assert nodes[0].sent == [[0, 3, 6]]
    assert nodes[1].sent == [[1, 4, 7]]


def test_xdists_worker_still_has_what_the_lookahead_reads():
    source = inspect.getsource(remote.WorkerInteractor)
    for attribute in ("self.torun", "self.item_index", "self.nextitem_index"):
        assert attribute in source
    execmodel = SimpleNamespace(RLock=threading.RLock, Event=threading.Event)
    queue = remote.TestQueue(execmodel)
    for index in (4, 5, 6):
        queue.put(index)
    queue.put(remote.Marker.SHUTDOWN)
    interactor = SimpleNamespace(item_index=2, nextitem_index=3, torun=queue)
    assert list(queued_indices(interactor)) == [2, 3, 4, 5, 6]
    last = SimpleNamespace(item_index=6, nextitem_index=remote.Marker.SHUTDOWN, torun=queue)
    assert next(queued_indices(last)) == 6


def test_without_the_queue_the_next_item_is_still_known():
    interactor = SimpleNamespace(item_index=2, nextitem_index=3)
    assert list(queued_indices(interactor)) == [2, 3]


@pytest.mark.parametrize("make_one", [lambda i: InProcess(i), lambda i: InWorker(i, worker())])
def test_peeking_passes_each_item_once(make_one):
    items = list("abcdef")
    lookahead = make_one(items)
    lookahead.refresh()
    seen = []
    while (item := lookahead.peek()) is not None:
        seen.append(item)
        lookahead.advance()
    assert seen == items


def worker():
    return SimpleNamespace(
        item_index=0,
        nextitem_index=1,
        torun=SimpleNamespace(lock=lambda: _Locked([2, 3, 4, 5])),
    )


class _Locked(list):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
