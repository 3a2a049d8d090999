"""The performer: in the process that runs the items, it gets each attempt and its grade.

Requests for whole batches go to the run-ahead; the first item of a batch to need an answer grades
the whole batch at once. The run-ahead is handed public entries only.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_mtarena.errors import CardError
from pytest_mtarena.plugin.arena import Arena, Run
from pytest_mtarena.plugin.items import CaseFailed, CaseItem, Need
from pytest_mtarena.plugin.lookahead import make_lookahead
from pytest_mtarena.plugin.ship import pack
from pytest_mtarena.protocols import Entry, public_entry
from pytest_mtarena.records import NO_REFERENCE, Attempt, Case, Failure, Grade
from pytest_mtarena.run.batches import Slot
from pytest_mtarena.run.flight import FlightLog, Verdicts, opaque
from pytest_mtarena.run.runahead import Request, RunAhead, places

Graded = tuple[Attempt, Grade]


class Answer(NamedTuple):
    """An answer that waits for its item."""

    graded: Graded | None
    """None when nothing more than the rest is needed."""
    status: str
    words: str
    payload: str | None = None
    """What still has to be delivered; None when the row is recorded."""


_OF_A_WHOLE_CALL = frozenset({"exception", "timeout", "hook"})

_CRASHED = Failure(
    status="crashed",
    kind="crashed",
    message="the worker process died while this entry was being attempted",
)


class Performer:
    """Performs the items of this process."""

    def __init__(
        self,
        arena: Arena,
        session: pytest.Session,
        *,
        done: Mapping[Slot, str | None] | None = None,
        spool: Path | None = None,
        worker: str | None = None,
        record: Callable[[Slot, str], None] | None = None,
    ) -> None:
        """``done`` are the slots of an earlier session, with the outputs of those that were well.

        ``record`` takes each row at once; without it a row travels with the item's report.
        """
        self._record = record
        self._arena = arena
        self._done = dict(done or {})
        self._lookahead = make_lookahead(session.config, session.items)
        # A set: --keep-duplicates makes two items of one case, which is sent once.
        needs = [need for item in session.items if (need := Need.of_item(item)) is not None]
        slots = {need.slot for need in needs}
        self._uses = Counter(need.slot for need in needs)
        """How many items still need each answer."""
        self._own = {item.slot for item in session.items if isinstance(item, CaseItem)}
        self._lost: set[Slot] = set()
        """The slots whose item did not wait for the answer: their row says so."""
        self._served: dict[Slot, CaseItem] = {}
        """Slot to the item of the suite that had its answer last."""
        self._batches = arena.batches(slots)
        self._number = {
            slot: number for number, batch in enumerate(self._batches) for slot in batch
        }
        self._sent: dict[int, list[Slot]] = {}
        self._taken: set[int] = set()
        self._answers: dict[Slot, Answer] = {}
        self._heard: deque[tuple[Sequence[Entry], str]] = deque()
        """Faults as the loop's thread tells them: the batch, and what was wrong with it."""
        self._run_of: dict[int, str] = {}
        """Batch, by the id of its list of entries, to its run."""
        self._faults: dict[str, list[str]] = {}
        """Run to the faults that no row has carried yet."""
        self._flight: FlightLog | None = None
        self._verdicts: Verdicts | None = None
        if spool is not None and worker is not None:
            self._flight = FlightLog(spool / f"{worker}.flight")
            self._verdicts = Verdicts(spool / "verdicts.json")
        self.runahead = RunAhead(
            arena.share,
            on_start=self._flight.start if self._flight else None,
            on_end=self._flight.end if self._flight else None,
        )
        for contestant, _ in arena.contestants:
            inner: Any = contestant
            while inner is not None:  # a contestant may be wrapped in its hooks
                if hasattr(inner, "on_fault"):
                    inner.on_fault = self._hear
                inner = getattr(inner, "contestant", None)

    def perform(self, item: CaseItem) -> None:
        """Attempt and grade an item; raises CaseFailed or Skipped for one that is not well."""
        if item.slot in self._done:
            self._resume(item)
            return
        need = Need(item.slot, item.run, item.case)
        try:
            answer = self._attempt(need, item)
        except pytest.fail.Exception as error:
            # Raised into the waiting item from outside, by pytest-timeout: it needs a row too.
            failure = Failure(status="timeout", kind="timeout", message=_first_line(error))
            lost = self._grade_one(item.run, item.case, _failed(item.case, failure))
            self._lost.add(item.slot)
            self._deliver(item, self._pack(need, *lost)[1])
            raise
        if answer.payload is not None:
            self._deliver(item, answer.payload)
        item.words = answer.words
        if answer.graded is not None:
            self._judge(item, *answer.graded, answer.status)

    def attempt_for(self, need: Need) -> Graded:
        """Return attempt and grade of a case that a test function needs; no row comes of it."""
        if need.slot in self._done:
            output = self._done[need.slot]
            failure = None if output is not None else _FAILED_BEFORE
            attempt = Attempt(id=need.case.id, output=output, failure=failure)
            return self._grade_one(need.run, need.case, attempt)
        graded = self._attempt(need).graded
        assert graded is not None  # kept whole for as long as a function needs it
        return graded

    def _resume(self, item: CaseItem) -> None:
        """Pass an item of an earlier session, but not by the limits for single items."""
        item.words = "resumed"
        output = self._done[item.slot]
        if output is not None and self._arena.settings.item_min:
            attempt, grade = self._grade_one(
                item.run, item.case, Attempt(id=item.case.id, output=output)
            )
            self._judge(item, attempt, grade, "ok")

    def _pack(self, need: Need, attempt: Attempt, grade: Grade) -> tuple[Answer, str]:
        """Return the answer to a need and its payload; what cannot be stored is a failure."""
        slot, run, case = need
        row = run.referee.row(case, attempt, grade)
        faults = self._take_faults(slot.run)
        try:
            payload = pack(slot, row, grade.statistics, faults)
        except (CardError, ValueError, TypeError, RecursionError) as error:
            attempt, grade = self._unshippable(run, case, attempt, error)
            row = run.referee.row(case, attempt, grade)
            payload = pack(slot, row, grade.statistics, faults)
        return Answer((attempt, grade), str(row["status"]), grade.words), payload

    def _deliver(self, item: CaseItem, payload: str) -> None:
        """Hand over the row of an item: at once, or on its report."""
        if self._record is None:
            item.payload = payload
        else:
            self._record(item.slot, payload)

    def harvest(self, seconds: float) -> None:
        """Record all answers that no item has asked for, after an interrupt.

        Waits at most so many seconds for what is in flight, so that nothing is paid twice.
        """
        for key, attempts in self.runahead.drain(seconds):
            if isinstance(key, int):
                self._grade(self._sent[key], attempts)

    def close(self) -> None:
        """Stop the run-ahead."""
        self.runahead.close()
        for held in (self._number, self._sent, self._answers, self._done, self._taken):
            held.clear()
        self._batches.clear()
        if self._flight is not None:
            self._flight.close()

    # -- attempts ---------------------------------------------------------------------------

    def _attempt(self, need: Need, item: CaseItem | None = None) -> Answer:
        """Return the answer to a need; ``item`` is the suite's own item, when it is that one's."""
        slot, run, case = need
        if not need.is_sent:
            failure = Failure(kind="not_sent", message=f"not sent: {case.problem}")
            return self._alone(need, *self._grade_one(run, case, _failed(case, failure)))
        # pytest-rerunfailures runs the item itself again; with --keep-duplicates there are two.
        runs_again = item is not None and self._served.get(slot) is item
        if item is not None:
            self._served[slot] = item
        if slot in self._answers and not runs_again:
            return self._take(slot)
        number = self._number[slot]
        if self._verdicts is not None:
            self._verdicts.refresh()
            if opaque(slot) in self._verdicts.crashed:
                return self._alone(need, *self._grade_one(run, case, _failed(case, _CRASHED)))
            if opaque(slot) in self._verdicts.suspects:
                self.runahead.settle()
                return self._again(need)
        if number in self._taken:
            return self._again(need)
        self._run_ahead(number)
        attempts = self.runahead.take(number)
        # Only now: an item that is stopped while it waits leaves the answer to its batch mates.
        self._taken.add(number)
        self._grade(self._sent[number], attempts)
        return self._take(slot)

    def _alone(self, need: Need, attempt: Attempt, grade: Grade) -> Answer:
        """Return the answer to one need, to be delivered with its item."""
        answer, payload = self._pack(need, attempt, grade)
        return answer._replace(payload=payload)

    def _take(self, slot: Slot) -> Answer:
        """Return an answer, and forget it when nobody else needs it."""
        self._uses[slot] -= 1
        return self._answers[slot] if self._uses[slot] > 0 else self._answers.pop(slot)

    def _run_ahead(self, needed: int) -> None:
        """Start the needed batch, and those of the coming items while the window has room."""
        if needed not in self._sent:
            self._start(needed)
        self._lookahead.refresh()
        while (item := self._lookahead.peek()) is not None:
            need = Need.of_item(item)
            if need is not None and need.slot in self._number:
                number = self._number[need.slot]
                if number not in self._sent:
                    label = need.run.contestant.identity.label
                    window = 2 * places(need.run.contestant, self._arena.share)
                    if self.runahead.open_requests(label) >= window:
                        return
                    self._start(number)
            self._lookahead.advance()

    def _start(self, number: int) -> None:
        self._sent[number] = members = self._members(number)
        if members:
            self._submit(number, members)
        else:
            self._taken.add(number)

    def _members(self, number: int) -> list[Slot]:
        """Return the slots of a batch that are to be sent, in canonical order."""
        members = []
        for slot in self._batches[number]:
            if slot in self._done or not _is_sent(self._case(slot)):
                continue
            if self._verdicts is not None and self._verdicts.concern(opaque(slot)):
                continue
            members.append(slot)
        return members

    def _submit(self, key: object, slots: Sequence[Slot]) -> None:
        run = self._arena.runs[slots[0].run]
        entries = [public_entry(self._case(slot)) for slot in slots]
        self._run_of[id(entries)] = run.key
        hidden = [opaque(slot) for slot in slots]
        self.runahead.submit(Request(key, hidden, run.contestant, entries, run.config))

    def _hear(self, entries: Sequence[Entry], fault: str) -> None:
        self._heard.append((entries, fault))

    def _take_faults(self, run: str) -> list[str]:
        """Return the faults of a run's batches, each once: any row of the run may carry them."""
        while self._heard:
            entries, fault = self._heard.popleft()
            self._faults.setdefault(self._run_of.get(id(entries), run), []).append(fault)
        return self._faults.pop(run, [])

    def _again(self, need: Need) -> Answer:
        """Ask for one case alone."""
        key = ("again", opaque(need.slot))
        self._submit(key, [need.slot])
        [attempt] = self.runahead.take(key)
        return self._alone(need, *self._grade_one(need.run, need.case, attempt))

    def _case(self, slot: Slot) -> Case:
        return self._arena.runs[slot.run].cases[slot.position]

    # -- grades -----------------------------------------------------------------------------

    def _grade(self, slots: Sequence[Slot], attempts: Sequence[Attempt]) -> None:
        """Grade a batch; rows are recorded at once, before their items are asked for.

        What is recorded is kept in memory only as far as somebody still needs it: in a session
        whose order is shuffled, nearly all answers are there before most items have run.
        """
        if not slots:
            return
        run = self._arena.runs[slots[0].run]
        cases = [run.cases[slot.position] for slot in slots]
        grades = run.referee.grade(cases, attempts)
        for slot, case, attempt, grade in zip(slots, cases, attempts, grades, strict=True):
            if slot not in self._own or slot in self._lost:
                self._answers[slot] = Answer((attempt, grade), "", grade.words)
                continue
            answer, payload = self._pack(Need(slot, run, case), attempt, grade)
            if self._record is None:
                answer = answer._replace(payload=payload)
            else:
                self._record(slot, payload)
            plain = answer.status == "ok" and not self._arena.settings.item_min
            if plain and self._uses[slot] == 1:
                answer = answer._replace(graded=None)
            self._answers[slot] = answer

    def _grade_one(self, run: Run, case: Case, attempt: Attempt) -> Graded:
        [grade] = run.referee.grade([case], [attempt])
        return attempt, grade

    def _unshippable(self, run: Run, case: Case, attempt: Attempt, error: Exception) -> Graded:
        message = f"the result cannot be stored as JSON: {type(error).__name__}: {error}"
        lost = Attempt(
            id=case.id,
            failure=Failure(kind="contract", message=message),
            request=attempt.request,
            request_seconds=attempt.request_seconds,
        )
        return self._grade_one(run, case, lost)

    def _judge(self, item: CaseItem, attempt: Attempt, grade: Grade, status: str) -> None:
        if status == "invalid":
            raise pytest.skip.Exception(f"invalid: {item.case.problem}", _use_item_location=True)
        if attempt.failure is not None:
            explained = item.run.referee.explain(item.case, attempt, grade)
            raise CaseFailed(explained + self._shared(item.slot, attempt.failure))
        for metric, limit in self._arena.settings.item_min:
            missed = self._missed(item.run, grade, metric, limit)
            if missed and status == "ok":
                explained = item.run.referee.explain(item.case, attempt, grade)
                raise CaseFailed(f"{missed}\n{explained}")

    def _shared(self, slot: Slot, failure: Failure) -> str:
        """Say how many others of its batch a failure of the whole call took with it."""
        batch = self._sent.get(self._number[slot], [])
        others = len(batch) - 1
        if failure.kind not in _OF_A_WHOLE_CALL or slot not in batch or not others:
            return ""
        entries = "1 other entry" if others == 1 else f"{others} other entries"
        which = f"batch {self._number[slot] + 1} of {len(self._batches)}"
        return f"\n{entries} of its batch ({which}) failed with it; the rest of the run went on"

    def _missed(self, run: Run, grade: Grade, metric: str, limit: float) -> str | None:
        if metric not in grade.scores:
            have = ", ".join(sorted(grade.scores)) or "none"
            return f"--mt-item-min {metric}={limit:g}: there is no such score (there are: {have})"
        value = grade.scores[metric]
        if value is None:
            why = grade.reasons.get(metric, "it has no value")
            return f"{metric} is unknown, at least {limit:g} is asked for: {why}"
        lower_is_better = run.directions.get(metric) == "lower"
        if (value > limit) if lower_is_better else (value < limit):
            wanted = "at most" if lower_is_better else "at least"
            return f"{metric} {value:g}, {wanted} {limit:g} is asked for"
        return None


def _failed(case: Case, failure: Failure) -> Attempt:
    return Attempt(id=case.id, failure=failure)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _is_sent(case: Case) -> bool:
    return case.problem is None or case.problem == NO_REFERENCE


_FAILED_BEFORE = Failure(kind="reported", message="failed in the session that is gone on with")
