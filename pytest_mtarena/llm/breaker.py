"""Stop asking a provider that only fails."""

from __future__ import annotations

from pytest_mtarena.llm.chat import ChatError, ErrorKind

AT_ONCE: frozenset[ErrorKind] = frozenset({"auth", "not_found"})
"""Failures that no other entry can escape."""
UNKNOWN_KEY = 401
"""The status that holds for every model; other refusals may be for the one that was asked."""


class Breaker:
    """Counts calls that failed for good; after ``limit`` in a row the rest is not sent.

    A call has failed for good when its retries are used up. One good call sets the count back.
    Models are counted apart. For one event loop: nothing here is locked.
    """

    def __init__(self, limit: int = 5) -> None:
        if limit < 1:
            raise ValueError("limit must be at least 1")
        self._limit = limit
        self._failed: dict[str, int] = {}
        self._why: dict[str, str] = {}

    def reason(self, model: str) -> str | None:
        """Return why calls of this model are not sent; None while they are."""
        return self._why.get(model) or self._why.get("")

    def check(self, model: str) -> None:
        """Raise ChatError("stopped") when calls of this model are not sent."""
        why = self.reason(model)
        if why is not None:
            raise ChatError("stopped", why, tries=0)

    def succeeded(self, model: str) -> None:
        """Note a reply."""
        self._failed[model] = 0

    def failed(self, model: str, error: ChatError) -> None:
        """Note a call that failed for good; ``stopped`` itself does not count."""
        if error.kind == "stopped":
            return
        self._failed[model] = self._failed.get(model, 0) + 1
        if error.kind in AT_ONCE:
            where = "" if error.status == UNKNOWN_KEY else model
            self._why.setdefault(where, f"not sent, as no call can succeed: {error}")
        elif self._failed[model] >= self._limit:
            count = self._failed[model]
            self._why.setdefault(model, f"not sent after {count} failures in a row, last: {error}")
