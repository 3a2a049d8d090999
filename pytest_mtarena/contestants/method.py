"""A translation method as a contestant: one call per batch, one checked attempt per entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mtarena.contestants.calling import call, describe
from pytest_mtarena.contestants.exchange import check_results
from pytest_mtarena.protocols import Entry, Identity, Metric
from pytest_mtarena.records import Attempt, Failure, Json, RunConfig


class MethodContestant:
    """Calls ``translate(entries, config)`` of a method, plain or async.

    The method gets copies of its own, so that nothing it changes reaches anybody else. Time
    limits are the caller's: cancelling :meth:`attempt` cancels a coroutine and abandons a thread.
    """

    def __init__(
        self,
        translate: Callable[..., Any],
        identity: Identity,
        *,
        home: Path | None = None,
        function: str = "translate",
        on_fault: Callable[[Sequence[Entry], str], None] | None = None,
        metrics: Mapping[str, Metric] | None = None,
    ) -> None:
        self.identity = identity
        self.faults: list[str] = []
        """What went wrong and belongs to no entry, one line each."""
        self.metrics = dict(metrics or {})
        """Metrics that the method brings along, by id; they judge it only."""
        self.on_fault = on_fault
        """Called with the batch and each line of ``faults`` as it comes, before the answer."""
        self._translate = translate
        self._home = home
        self._function = function

    async def attempt(self, entries: Sequence[Entry], config: RunConfig) -> list[Attempt]:
        """Return one attempt per entry, in the order of the entries; raises only if cancelled."""
        results, fault = await call(
            self._translate,
            [fresh(entry) for entry in entries],
            config.model_copy(update={"options": dict(config.options)}),
            home=self._home,
        )
        if fault is None:
            try:
                exchange = check_results(entries, results, self._function)
            except Exception as error:  # answers may be objects whose own methods raise
                fault = describe(error, self._home)
            else:
                for line in exchange.faults:
                    self._report(entries, f"{self.identity.name}: {line}")
                return list(exchange.attempts)
        failure = Failure(kind="exception", message=fault.message, traceback=fault.traceback)
        return [Attempt(id=entry["id"], failure=failure) for entry in entries]

    def _report(self, entries: Sequence[Entry], line: str) -> None:
        self.faults.append(line)
        if self.on_fault is not None:
            self.on_fault(entries, line)


def fresh(value: Json) -> Json:
    """Return a copy of a JSON value made of plain dicts and lists."""
    if isinstance(value, dict):
        return {key: fresh(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [fresh(inner) for inner in value]
    return value
