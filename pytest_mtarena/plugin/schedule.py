"""The xdist scheduler that deals whole batches; the one file that imports xdist.

xdist's own ``load`` cuts a batch in pieces, so that both workers pay for it, and ``loadscope``
keeps a single batch in flight. This one deals whole batches round-robin and keeps a window of
them outstanding at each worker, so that every worker can run ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling


class BatchScheduling(LoadScheduling):  # type: ignore[misc]
    """``LoadScheduling`` in units of whole batches.

    ``number`` gives each node id the number of its batch; ``window`` is how many batches are
    outstanding at one worker.
    """

    def __init__(
        self,
        config: pytest.Config,
        log: Any,
        number: Callable[[Sequence[str]], Sequence[int]],
        window: int,
    ) -> None:
        super().__init__(config, log)
        self._number = number
        self._window = window
        self._numbers: Sequence[int] = ()
        self._dealt = False

    def schedule(self) -> None:
        """Deal the first batches, round-robin up to the window; later, top up every worker."""
        if self._dealt:
            for node in self.nodes:
                self.check_schedule(node)
            return
        if not self._check_nodes_have_same_collection():
            return
        self._dealt = True
        collection = next(iter(self.node2collection.values()))
        self.collection = collection
        self._numbers = self._number(collection)
        # Stable: inside a batch the run order stays.
        self.pending[:] = sorted(range(len(collection)), key=self._numbers.__getitem__)
        for depth in range(1, self._window + 1):
            for node in self.nodes:
                self._fill(node, depth)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Top up a worker's window; tell it to end when nothing is left."""
        if node.shutting_down:
            return
        self._fill(node, self._window)
        if not self.pending:
            node.shutdown()

    def _fill(self, node: Any, depth: int) -> None:
        while self.pending and self._outstanding(node) < depth:
            number, count = self._numbers[self.pending[0]], 1
            while count < len(self.pending) and self._numbers[self.pending[count]] == number:
                count += 1
            self._send_tests(node, count)

    def _outstanding(self, node: Any) -> int:
        return len({self._numbers[index] for index in self.node2pending[node]})
