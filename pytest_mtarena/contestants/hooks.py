"""Post-translation hooks: functions that edit what a contestant said, batch by batch.

A hook with a parameter ``ask`` may ask a language model for another translation of an entry. What
that takes is added to the entry's own tokens and cost.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_mtarena.contestants.calling import Fault, call, is_async
from pytest_mtarena.contestants.method import fresh
from pytest_mtarena.contestants.revising import add
from pytest_mtarena.protocols import CallGate, Contestant, Entry, Identity, Metric, PostTranslation
from pytest_mtarena.records import Attempt, Failure, RunConfig

MOST_ASKS = 16
"""Questions of hooks about a batch, at most, per entry of it."""
_T = TypeVar("_T")


class HookedContestant:
    """A contestant whose outputs pass through hooks, in order.

    Hooks see successful attempts only. One that raises, or does not return one text per entry,
    fails its batch; what the contestant said stays in ``raw_output``.
    """

    def __init__(
        self, contestant: Contestant, hooks: Sequence[tuple[str, PostTranslation]]
    ) -> None:
        self.contestant = contestant
        self._hooks = tuple(hooks)
        known = contestant.identity
        self.identity: Identity = known.model_copy(
            update={"facts": {**known.facts, "hooks": [name for name, _ in hooks]}}
        )

    @property
    def gate(self) -> CallGate | None:
        """The contestant's own limit of calls, if it has one."""
        return getattr(self.contestant, "gate", None)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that the contestant brings along."""
        return getattr(self.contestant, "metrics", {})

    async def aclose(self) -> None:
        """Close the contestant, if it can be closed."""
        close = getattr(self.contestant, "aclose", None)
        if close is not None:
            await close()

    async def attempt(self, entries: Sequence[Entry], config: RunConfig) -> list[Attempt]:
        """Return the contestant's attempts with their outputs edited."""
        attempts = list(await self.contestant.attempt(entries, config))
        by_id = {entry["id"]: entry for entry in entries}
        sound = [
            place
            for place, attempt in enumerate(attempts)
            if attempt.failure is None and attempt.id in by_id
        ]
        if not sound:
            return attempts
        outputs = [attempts[place].output or "" for place in sound]
        asking = _Asking(self._model(), by_id, config)
        update: dict[str, Failure | None] = {}
        for name, hook in self._hooks:
            offered = [fresh(by_id[attempts[place].id]) for place in sound]
            asking.outputs = dict(zip((one["id"] for one in offered), outputs, strict=True))
            function = asking.given_to(hook)
            edited: Any = None
            fault: Fault | None = None
            limit = config.timeout_seconds
            done = await asking.outlasts(
                call(function, offered, list(outputs), config, home=_home(hook)), limit
            )
            if done is None:
                problem: str | None = f"not done within {limit:g} s; --mt-timeout sets the limit"
            else:
                edited, fault = done
                problem = _problem(edited, len(outputs)) if fault is None else fault.message
            if problem is not None:
                failure = Failure(
                    status="timeout" if done is None else "error",
                    kind="hook",
                    message=f"hook {name}: {problem}",
                    traceback=None if fault is None else fault.traceback,
                )
                update = {"failure": failure}
                asking.forget()
                break
            outputs = [str.__str__(text) for text in edited]
        for place, output in zip(sound, outputs, strict=True):
            before = asking.added_to(attempts[place])
            raw = before.output if before.raw_output is None else before.raw_output
            attempts[place] = before.model_copy(
                update={"output": None if update else output, "raw_output": raw, **update}
            )
        return attempts

    def _model(self) -> Any:
        """Return the language model behind the contestant, None when there is none."""
        inner: Any = self.contestant
        while inner is not None and not hasattr(inner, "revise"):
            inner = getattr(inner, "contestant", None)
        return inner


class _Asking:
    """Takes the questions of hooks to the model, and keeps what the answers took."""

    def __init__(self, model: Any, entries: Mapping[str, Entry], config: RunConfig) -> None:
        self._model = model
        self._entries = entries
        self._config = config
        self._made: dict[str, list[Attempt]] = {}
        self._asked: list[tuple[Entry, str, str]] = []
        self.outputs: dict[str, str] = {}
        """Id to the text that a hook was given."""
        self._waiting = 0
        self._heard = 0.0
        self._given_up = False

    async def outlasts(self, running: Coroutine[None, None, _T], seconds: float) -> _T | None:
        """Return what a hook returns; None when it neither ends nor asks for so long.

        The model's own time does not count: its calls have limits of their own.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(running)
        self._heard = loop.time()
        try:
            while not task.done():
                idle = 0.0 if self._waiting else loop.time() - self._heard
                if idle >= seconds:
                    self._given_up = True
                    task.cancel()
                    return None
                await asyncio.wait({task}, timeout=seconds - idle)
            return task.result()
        except asyncio.CancelledError:
            task.cancel()
            raise

    def given_to(self, hook: PostTranslation) -> Callable[..., Any]:
        """Return a hook with its ``ask``, or the hook itself when it does not want it."""
        try:
            wants = "ask" in inspect.signature(hook).parameters
        except (TypeError, ValueError):
            wants = False
        if not wants:
            return hook
        asker: Any = hook
        if is_async(hook):

            async def act(*arguments: Any) -> Any:
                return await asker(*arguments, ask=self._ask)

            return act
        loop = asyncio.get_running_loop()

        def ask(key: str, wish: str) -> str:
            return asyncio.run_coroutine_threadsafe(self._ask(key, wish), loop).result()

        return lambda *arguments: asker(*arguments, ask=ask)

    async def _ask(self, key: str, wish: str) -> str:
        """Return another translation of an entry; raises RuntimeError when there is none."""
        if self._model is None:
            raise RuntimeError("only language models can be asked again (--mt-model)")
        if key not in self.outputs:
            raise RuntimeError(f"there is no entry {key!r} in this batch")
        if self._given_up:
            raise RuntimeError("the hook was given up")
        if len(self._asked) >= MOST_ASKS * len(self._entries):
            raise RuntimeError(f"the hooks asked {len(self._asked)} times about this batch: enough")
        entry, output = self._entries[key], self.outputs[key]
        wish = str(wish)
        self._asked.append((entry, output, wish))
        self._waiting += 1
        try:
            made: Attempt = await self._model.revise(entry, output, wish, self._config)
        finally:
            self._waiting -= 1
            self._heard = asyncio.get_running_loop().time()
        self._made.setdefault(key, []).append(made)
        if made.failure is not None or made.output is None:
            why = "no answer" if made.failure is None else made.failure.message
            raise RuntimeError(f"the model was asked again: {why}")
        return made.output

    def forget(self) -> None:
        """Have the answers forgotten: a hook that fails by them would fail for ever."""
        for entry, output, wish in self._asked:
            self._model.forget_revision(entry, output, wish, self._config)

    def added_to(self, attempt: Attempt) -> Attempt:
        """Return an attempt with the tokens, time and cost of what was asked about it."""
        made = self._made.get(attempt.id, [])
        for one in made:
            attempt = add(attempt, one)
        if made:
            metadata = {**attempt.metadata, "hook_calls": len(made)}
            attempt = attempt.model_copy(update={"metadata": metadata})
        return attempt


def _problem(edited: object, count: int) -> str | None:
    """Return what is wrong with a hook's answer, None when it is sound."""
    rule = f"it must return a list of {count} str, one per entry"
    if not isinstance(edited, list | tuple):
        return f"returned {type(edited).__name__}; {rule}"
    if len(edited) != count:
        return f"returned {len(edited)} outputs; {rule}"
    for position, text in enumerate(edited, start=1):
        if not isinstance(text, str):
            return f"output {position} is of type {type(text).__name__}; {rule}"
        try:
            str.__str__(text).encode()
        except UnicodeEncodeError:
            return f"output {position} is not valid Unicode (a lone surrogate); {rule}"
    return None


def _home(hook: PostTranslation) -> Path | None:
    try:
        return Path(inspect.getfile(inspect.unwrap(hook)))
    except TypeError:
        return None
