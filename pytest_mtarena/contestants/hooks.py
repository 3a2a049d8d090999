"""Post-translation hooks: functions that edit what a contestant said, batch by batch."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_mtarena.contestants.calling import call
from pytest_mtarena.contestants.method import fresh
from pytest_mtarena.protocols import CallGate, Contestant, Entry, Identity, Metric, PostTranslation
from pytest_mtarena.records import Attempt, Failure, RunConfig


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
        update: dict[str, Failure | None] = {}
        for name, hook in self._hooks:
            offered = [fresh(by_id[attempts[place].id]) for place in sound]
            edited, fault = await call(hook, offered, list(outputs), config, home=_home(hook))
            problem = _problem(edited, len(outputs)) if fault is None else fault.message
            if problem is not None:
                failure = Failure(
                    kind="hook",
                    message=f"hook {name}: {problem}",
                    traceback=None if fault is None else fault.traceback,
                )
                update = {"failure": failure}
                break
            outputs = [str.__str__(text) for text in edited]
        for place, output in zip(sound, outputs, strict=True):
            before = attempts[place]
            raw = before.output if before.raw_output is None else before.raw_output
            attempts[place] = before.model_copy(
                update={"output": None if update else output, "raw_output": raw, **update}
            )
        return attempts


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
