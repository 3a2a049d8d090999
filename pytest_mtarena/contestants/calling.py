"""Calling foreign code: a value or a fault comes back, whatever the code does.

Plain functions run in a fresh daemon thread each (one that hangs must not keep the interpreter
from ending, and must not use up a pool); coroutine functions run in the caller's event loop, in
a task of their own, so that no frame of ours is on their stack.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import linecache
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

from pytest_mtarena.records import Record

CLEAN_UP_SECONDS = 2.0
"""How long a cancelled coroutine may take to clean up before it is left behind."""
_FRAMES = 20
_WIDTH = 500


class Fault(Record):
    """An exception of foreign code, put in words."""

    message: str
    """One line: type, text, and the last of the code's own frames."""
    traceback: str | None
    """The code's own frames, the last call last; None when there are none."""


async def call(
    function: Callable[..., Any], *arguments: Any, home: Path | None = None
) -> tuple[Any, Fault | None]:
    """Call a function, plain or async, and return its value or its fault.

    ``home`` is the file or directory whose frames count as the code's own. Cancelling this call
    cancels the coroutine, or abandons the thread; only that raises CancelledError.
    """
    if is_async(function):
        value, error = await _in_task(lambda: function(*arguments))
    else:
        value, error = await _in_thread(function, arguments)
        if error is None and inspect.isawaitable(value):
            awaited = value
            value, error = await _in_task(lambda: awaited)
    return value, None if error is None else describe(error, home)


async def _in_task(make: Callable[[], Awaitable[Any]]) -> tuple[Any, BaseException | None]:
    async def guarded() -> tuple[Any, BaseException | None]:
        # Inside the task, since SystemExit and KeyboardInterrupt would otherwise stop the loop.
        try:
            return await make(), None
        except BaseException as error:
            return None, error

    task = asyncio.create_task(guarded())
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
        raise
    if task.cancelled():  # cancelled before its first step, by somebody who cancels all tasks
        return None, asyncio.CancelledError()
    return task.result()


async def _in_thread(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Any, BaseException | None]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(outcome: tuple[Any, BaseException | None]) -> None:
        if not answer.done():
            answer.set_result(outcome)

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = (function(*arguments), None)
        except BaseException as error:
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=work, name="mtarena-call", daemon=True).start()
    return await answer


def is_async(function: Callable[..., Any]) -> bool:
    """Say whether a function, or an object that is called like one, is a coroutine function."""
    while isinstance(function, functools.partial):
        function = function.func
    calls = inspect.getattr_static(type(function), "__call__", None)  # an object may be async too
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(calls)


def describe(error: BaseException, home: Path | None = None) -> Fault:
    """Put an exception in words: its innermost cause in a group, and the frames under ``home``."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = _frames(error, home)
    name, text = type(error).__name__, one_line(error)
    message = f"{name}: {text}" if text else name
    if frames:
        file, line, function, _ = frames[-1]
        message += f" ({file}:{line} in {function})"
    shown = [
        f'  File "{file}", line {line}, in {function}' + (f"\n    {source}" if source else "")
        for file, line, function, source in frames[-_FRAMES:]
    ]
    return Fault(message=message, traceback=clean("\n".join(shown)) if shown else None)


def one_line(value: object) -> str:
    """Return the text of a value or exception on one line, safe to store, of bounded length."""
    try:
        text = str(value)
    except Exception:  # a foreign __str__ may do anything
        text = "(its text cannot be shown)"
    text = " ".join(text[: 4 * _WIDTH].split())
    return clean(text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…")


def clean(text: str) -> str:
    """Replace lone surrogates, which cannot be written anywhere."""
    return text.encode("utf-8", "backslashreplace").decode()


def _frames(error: BaseException, home: Path | None) -> list[tuple[str, int, str, str]]:
    """Return the frames under ``home`` as (file, line, function, source line), outermost first."""
    if home is None:
        return []
    root = os.path.realpath(home if home.is_dir() else home.parent) + os.sep
    found = []
    trace = error.__traceback__
    while trace is not None:
        code: CodeType = trace.tb_frame.f_code
        path = os.path.realpath(code.co_filename)
        if path.startswith(root) and (home.is_dir() or path == os.path.realpath(home)):
            source = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            name = path[len(root) :].replace(os.sep, "/")
            found.append((name, trace.tb_lineno, code.co_name, source))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename and not found:
        path = os.path.realpath(error.filename)
        if path.startswith(root):
            found.append((path[len(root) :], error.lineno or 0, "<module>", ""))
    return found
