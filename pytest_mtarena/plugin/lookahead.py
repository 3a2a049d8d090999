"""Which items come next: the one file that knows xdist's undocumented queue of a worker.

In one process the whole list is known. In a worker it is what the controller has sent so far;
``torun`` of xdist's interactor has a ``lock()`` made for looking (pytest-xdist 3.8). Where that
is missing, only the next item is known, which is slower and still right; a test tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest


class InProcess:
    """The coming items of a single process; amortised constant time an item."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._items = items
        self._cursor = 0

    def peek(self) -> pytest.Item | None:
        """Return the first item that was not passed yet."""
        return self._items[self._cursor] if self._cursor < len(self._items) else None

    def advance(self) -> None:
        """Pass the item that ``peek`` returns."""
        self._cursor += 1

    def refresh(self) -> None:
        """Do nothing: the list never changes."""


class InWorker:
    """The coming items of an xdist worker: the queue it has been sent."""

    def __init__(self, items: Sequence[pytest.Item], interactor: Any) -> None:
        self._items = items
        self._interactor = interactor
        self._coming: list[int] = []
        self._at = 0

    def refresh(self) -> None:
        """Look into the queue again."""
        self._coming = list(queued_indices(self._interactor))
        self._at = 0

    def peek(self) -> pytest.Item | None:
        """Return the first queued item that was not passed since the last look."""
        return self._items[self._coming[self._at]] if self._at < len(self._coming) else None

    def advance(self) -> None:
        """Pass the item that ``peek`` returns."""
        self._at += 1


def queued_indices(interactor: Any) -> Iterator[int]:
    """Yield the indices of the running item, the next one, and all that are queued."""
    for index in (interactor.item_index, interactor.nextitem_index):
        if isinstance(index, int):
            yield index
    queue: Any = getattr(interactor, "torun", None)
    look = getattr(queue, "lock", None)
    if look is not None:
        with look() as waiting:
            yield from [index for index in waiting if isinstance(index, int)]


def find_interactor(config: pytest.Config) -> Any:
    """Return xdist's interactor of this worker; None when this is no worker."""
    if not hasattr(config, "workerinput"):
        return None
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            return plugin
    return None


def make_lookahead(config: pytest.Config, items: Sequence[pytest.Item]) -> InProcess | InWorker:
    """Return the way to look ahead in this process."""
    interactor = find_interactor(config)
    return InProcess(items) if interactor is None else InWorker(items, interactor)
