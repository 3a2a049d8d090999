"""Signals: SIGTERM ends a session in good order, and a good end is not cut short."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Signals:
    """The hooks of the process that reports."""

    def __init__(self) -> None:
        self._restore: Callable[[], Any] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Make SIGTERM end the session as Ctrl-C does."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGTERM)

        def end(number: int, frame: object) -> None:
            raise KeyboardInterrupt("SIGTERM")

        signal.signal(signal.SIGTERM, end)
        self._restore = lambda: signal.signal(signal.SIGTERM, before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Let an interrupt wait until the cards are written and shown."""
        with _held_back() as noted:
            result = yield
        if noted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        return result

    def pytest_unconfigure(self) -> None:
        """Give SIGTERM back."""
        if self._restore is not None:
            self._restore()


@contextmanager
def _held_back() -> Iterator[list[int]]:
    """Only note the first SIGINT or SIGTERM that comes meanwhile; a second one acts as ever.

    pytest has no answer but a traceback to an interrupt at the end of a session.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: object) -> None:
        noted.append(number)
        give_back()

    for number in before:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        give_back()
