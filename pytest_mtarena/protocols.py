"""The shapes that plug-ins fill: Kind, Referee, Contestant, Metric, PostTranslation.

All are structural: any object with these members works, nothing has to be inherited. A *kind* of
case is all that is needed to run a new sort of suite: how its files are read, what a contestant
is shown, how an attempt is graded, how graded rows become scores. Neither the run engine nor the
pytest plugin knows more than this file says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from pytest_mtarena.records import (
    Attempt,
    Case,
    Grade,
    Json,
    LanguageFacts,
    Record,
    RunConfig,
    Scoring,
    Suite,
    SuiteSettings,
)

Entry = dict[str, Json]
"""What a contestant gets for a case: ``id``, ``index`` and the case's public fields."""

if TYPE_CHECKING:  # a session without metrics does without numpy
    import numpy as np
    import numpy.typing as npt

Statistics: TypeAlias = "npt.NDArray[np.float64]"
"""Rows of sufficient statistics, shape (n, width)."""


class Identity(Record):
    """Who a contestant is: two contestants never share one."""

    name: str
    """For people: ``bergamot``."""
    slug: str
    """For the card's ``model_slug``: ``method/bergamot@3fa81c22``."""
    content_sha256: str = ""
    """SHA-256 hex over all that the contestant is made of (files of its directory)."""
    label: str = ""
    """Short and unique in a session: stands in brackets behind an item's id."""
    card: Mapping[str, Json] | None = None
    """The method card, as the contestant describes itself."""
    facts: Mapping[str, Json] = {}
    """Other things that can change an output and so belong to the setup (options, file hashes)."""


@runtime_checkable
class Contestant(Protocol):
    """Makes attempts. Called in a background event loop, several batches at once.

    One with an attribute ``metrics``, a mapping from ids, is judged by those too. One with an
    attribute ``gate``, a ``CallGate``, limits its calls itself, in number and in time: more of its
    attempts are begun than calls may be out, so that one that waits to try again holds up nobody.
    """

    identity: Identity

    async def attempt(self, entries: Sequence[Entry], config: RunConfig) -> Sequence[Attempt]:
        """Return exactly one attempt per entry, in any order; never raises for a bad answer."""
        ...


class CallGate(Protocol):
    """How many calls a contestant has out."""

    out: int
    """Calls that are out now."""
    parked: list[Context]
    """What the calls that came after ``close`` belong to."""
    peak: int
    """The most calls that were out at once."""

    def close(self) -> None:
        """Let no call out any more; for any thread."""
        ...


class Report(Record):
    """The scores of a run: what becomes the card's ``scores`` and what explains them."""

    scores: Mapping[str, Json]
    """The card's scores block, finite numbers, nulls, and nested breakdowns only."""
    availability: Mapping[str, str] = {}
    """Key of the scores block to the reason why it is null."""
    signatures: Mapping[str, str] = {}
    """Key of the scores block to the metric's signature."""
    directions: Mapping[str, Literal["higher", "lower", "target"]] = {}
    """Key of the scores block that a gate may name to the direction that is better."""
    headline: str | None = None
    """Key of the scores block that people look at first."""
    caveats: Sequence[str] = ()
    """Things to worry about, one line each, with ids."""
    alarms: Mapping[str, str] = {}
    """Caveat to its kind, of those that are worth a warning: ``copies``, ``repetition``,
    ``length``, ``leak``."""
    stored: Sequence[str] = ()
    """Metrics that are not installed here: scored as the mean of the rows' stored values."""
    metrics: Mapping[str, Mapping[str, Json]] = {}
    """Metric id to what it says of itself: scale, direction, role, validation, version, needs."""
    calibration: Mapping[str, Mapping[str, Json]] = {}
    """Metric id to what it makes of the suite's own references: the card's
    ``detector_calibration``."""


class Referee(Protocol):
    """Grades the attempts of one group of one suite, and scores the rows.

    One with an attribute ``unscored``, names of fields of a row, is shown the rows of a large
    session without those when it scores them with their statistics.
    """

    def grade(self, cases: Sequence[Case], attempts: Sequence[Attempt]) -> Sequence[Grade]:
        """Grade a batch. A failed attempt counts as an empty answer."""
        ...

    def row(self, case: Case, attempt: Attempt, grade: Grade) -> dict[str, Json]:
        """Return the card's row: JSON values only, finite numbers only."""
        ...

    def score(
        self,
        rows: Sequence[Mapping[str, Json]],
        statistics: Sequence[Mapping[str, Sequence[float]]] | None = None,
    ) -> Report:
        """Score rows in canonical order.

        ``statistics`` are the grades' statistics by metric, one mapping a row (empty for a row
        that does not count); None means to compute them again from the texts of the rows.
        """
        ...

    def explain(self, case: Case, attempt: Attempt, grade: Grade | None) -> str:
        """Return what a person needs to see of one case, a few lines, already safe to print."""
        ...

    def summary(self, card: Mapping[str, Json], *, verbosity: int, width: int) -> list[str]:
        """Return the lines of the end-of-session table for a card, headline first."""
        ...


class Kind(Protocol):
    """A kind of case.

    One with an attribute ``extra_metrics`` takes contributed metrics: the registry sets it to a
    function that returns them by id.
    """

    name: str

    def recognises(self, path: Path) -> bool:
        """Say by the name alone whether a file may be a suite of this kind; cheap."""
        ...

    def open(self, path: Path, settings: SuiteSettings) -> Suite | None:
        """Read and check a suite, filters applied.

        Returns None when the file is readable but no suite of this kind (a ``package.json``).
        Raises SuiteError with file and line or entry for anything that is wrong in a suite.
        """
        ...

    def referee(
        self, suite: Suite, group: str, scoring: Scoring, metrics: Mapping[str, Metric] = ..., /
    ) -> Referee:
        """Return the referee for one group of a suite.

        ``metrics`` are those that the contestant brings along; left out when it brings none.
        """
        ...

    def referee_for_card(self, card: Mapping[str, Json]) -> Referee:
        """Return the referee that scored a stored card, to score its rows again."""
        ...


MetricLevel = Literal["entry", "corpus"]
MetricRole = Literal["headline", "secondary", "diagnostic", "informational"]
MetricDirection = Literal["higher", "lower", "target"]
Validation = Literal["externally validated", "proxy", "heuristic", "unvalidated"]
"""How far a metric is known to follow human judgement.

``externally validated``: published studies correlate it with human judgement. ``proxy``: it
measures something else that goes along with quality. ``heuristic``: rules that were tried on real
outputs only. ``unvalidated``: nothing is known, as of a contributed metric that says nothing.
"""

_NO_FACTS = LanguageFacts()


class MetricInput(Record):
    """What a metric sees of one entry."""

    id: str
    source: str
    """Normalised as the run says, like all other texts but ``raw_output``."""
    output: str
    """Empty when the contestant failed or said nothing."""
    references: tuple[str, ...]
    """At least one."""
    raw_output: str = ""
    """As it came, before hooks and before normalisation."""
    failed: bool = False
    fields: Mapping[str, Json] = {}
    """The entry's full record, as the suite has it."""
    source_language: LanguageFacts = _NO_FACTS
    target_language: LanguageFacts = _NO_FACTS


@dataclass(frozen=True, slots=True)
class Finding:
    """What a metric says of one entry."""

    statistics: Sequence[float] | None
    """The entry's row of sufficient statistics; None when the entry has no value."""
    value: float | None
    """On the metric's scale."""
    reason: str | None = None
    """Why there is no value, a few words."""
    evidence: Json = None
    """What was found, as a JSON value, for the card's row; None when there is nothing to tell."""
    is_fault: bool = False
    """Whether the reason is that the metric broke: such a reason is kept in the row."""


class Calibration(Record):
    """What a metric makes of the suite's own references, before it judges anybody."""

    n: int
    """How many references it looked at."""
    rate: float | None
    """The share of them that it flags (or, of an acceptor, accepts), 0-1; None if not measured."""
    reason: str | None = None
    """Why the metric has no value on this suite; None when it may be used."""
    fit: Mapping[str, Json] = {}
    """Thresholds and everything else that was fitted: all that ``restore`` needs."""
    facts: Mapping[str, Json] = {}
    """Other figures worth showing."""


@runtime_checkable
class Metric(Protocol):
    """A corpus metric: rows of sufficient statistics, and a function of their sum.

    That is all that scores, breakdowns and intervals need. Per-entry metrics have it too: the
    statistics are ``(value, 1)`` and the score is the mean; see ``mean_metric`` and
    ``PooledMetric``. A metric may also have:

    - ``validation`` (``Validation``), ``needs`` (what it cannot do without, for people), and
      ``missing`` (why it cannot work here; a reason makes its score null);
    - ``columns``, the names of its statistics: their sums are shown in ``metric_details``;
    - what ``Examining``, ``Calibrating`` and ``Whole`` add.
    """

    @property
    def id(self) -> str:
        """The key in the card's scores block, such as ``bleu``."""
        ...

    @property
    def title(self) -> str:
        """For people: ``BLEU``."""
        ...

    @property
    def scale(self) -> str:
        """Such as ``0-100`` or ``0-1``."""
        ...

    @property
    def direction(self) -> MetricDirection:
        """Which way is better."""
        ...

    @property
    def level(self) -> MetricLevel:
        """Whether single entries have a value that means something."""
        ...

    @property
    def role(self) -> MetricRole:
        """How much weight people should give it."""
        ...

    @property
    def version(self) -> str:
        """Changes when the value of the same texts does."""
        ...

    @property
    def signature(self) -> str:
        """Everything that fixes the value, in sacreBLEU's short form where it has one."""
        ...

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return one row per input, shape (len(inputs), width); a NaN row means no value."""
        ...

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the score of each row of summed statistics, shape (replicates,)."""
        ...

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the value of each single entry; None where there is none."""
        ...


@runtime_checkable
class Examining(Protocol):
    """A metric that finds statistics, values, reasons and evidence in one go."""

    def examine(self, inputs: Sequence[MetricInput]) -> Sequence[Finding]:
        """Return one finding per input."""
        ...


@runtime_checkable
class Calibrating(Protocol):
    """A metric that is tried on the suite's own references before it judges outputs.

    ``gold`` are the suite's entries with the first reference as the output, at most 1,000 of
    them, spread evenly.
    """

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Return the metric as fitted to the suite, and what it makes of the references."""
        ...

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric as a stored calibration fitted it."""
        ...


@runtime_checkable
class Whole(Protocol):
    """A metric that must see all entries before it can say anything of one (consistency)."""

    def statistics_of_all(self, inputs: Iterable[MetricInput]) -> Statistics:
        """Return one row per input, in their order."""
        ...


class PostTranslation(Protocol):
    """A post-translation hook: a batch in, a batch out."""

    def __call__(
        self, entries: Sequence[Entry], outputs: Sequence[str], config: RunConfig
    ) -> Sequence[str] | Any:
        """Return the outputs after post-editing, in the same order (or an awaitable of them)."""
        ...


ContestantFactory = Callable[[Mapping[str, str]], Contestant]
"""Makes a contestant from the options that the user gave with ``--mt-method-arg``."""


def public_entry(case: Case) -> Entry:
    """Return what a contestant gets for a case: its id, its index, and its public fields."""
    return {"id": case.id, "index": case.index, **case.public}
