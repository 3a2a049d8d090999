"""The records that travel through the house: Suite, Case, Attempt, Grade, and their settings.

A suite holds cases; a contestant makes an attempt at each case; the referee turns case and
attempt into a grade. All are frozen. Nothing here knows what a case is *about*: translation
entries, programs and chat sessions use the same records.

Times are seconds. Ids are strings (an integer id of a file becomes its decimal text). Indexes
count from 0 in the order of the file, which is the canonical order everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of these."""

Status = Literal["ok", "error", "timeout", "crashed", "invalid", "no_reference"]
"""What became of a case.

``ok``: attempted and graded. ``error``, ``timeout``, ``crashed``: the contestant failed; the case
counts as a miss in every denominator. ``invalid``: the suite's own fault (an empty source): not
sent, not scored. ``no_reference``: attempted, but nothing to compare with: not scored.
"""

COUNTED: frozenset[str] = frozenset({"ok", "error", "timeout", "crashed"})
"""The statuses that count in ``n``."""


class Record(BaseModel):
    """Base of the records: frozen, and nothing unknown gets in."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True
    )


class Language(Record):
    """A language as the suite names it."""

    code: str = ""
    """The code exactly as the suite gives it (ISO 639-3, 639-1 or BCP 47); empty if unknown."""
    name: str = ""
    """The English name; empty if unknown."""


class LanguageFacts(Record):
    """What is known of a language; an empty field means that it is not known."""

    code: str = ""
    """ISO 639-3: ``por``."""
    alpha2: str = ""
    """ISO 639-1: ``pt``."""
    name: str = ""
    """The English name."""
    aliases: tuple[str, ...] = ()
    """Other names and codes."""
    scripts: tuple[str, ...] = ()
    """ISO 15924 codes (``Latn``), the usual one first."""
    direction: Literal["ltr", "rtl", ""] = ""
    has_case: bool | None = None
    """Whether the usual script has capital letters."""
    spaces: bool | None = None
    """Whether words are separated by spaces."""
    quotes: tuple[tuple[str, str], ...] = ()
    """Pairs of quotation marks, the usual one first."""
    letters: str = ""
    """The exemplar letters in lower case, with combined ones written out; no separators."""
    auxiliary: str = ""
    """Letters of loan words and names."""
    marks: str = ""
    """Punctuation of the language."""
    vendor_codes: Mapping[str, str] = Field(default_factory=dict)
    """Service to its code of the language: ``{"google": "pt", "deepl": "PT-PT"}``."""
    xlmr: str = ""
    """How much of the language XLM-R was trained on (``high``, ``medium``, ``low``, ``none``)."""
    card: Mapping[str, Json] = Field(default_factory=dict)
    """The language card of the user, merged with those that it extends."""


class Case(Record):
    """One thing to attempt."""

    id: str
    """Unique in its suite."""
    index: int
    """Position in the file, from 0: the canonical order."""
    group: str
    """What the collector between file and item is called: a language pair, a pack."""
    kind: str
    """The kind of case, such as ``translation``."""
    public: Mapping[str, Json]
    """All that a contestant may see beside the id. Never a reference, gold value or path."""
    hidden: Mapping[str, Json]
    """What only the referee sees: references, gold values, and all other fields of the file."""
    labels: Mapping[str, str | int] = Field(default_factory=dict)
    """Words to select and to break down by: segment, difficulty, domain, register, provenance."""
    problem: str | None = None
    """Why the case cannot be attempted (``empty source``) or not be scored (``no reference``)."""
    where: str = ""
    """Where it stands, for messages: ``line 7`` or ``entry 12``."""


class SuiteEntry(Record):
    """An entry as people's own tests see it: the fixture ``mt_entry``."""

    id: str
    source: str
    references: tuple[str, ...]
    """May be empty where references are allowed to be missing."""
    labels: Mapping[str, str | int] = Field(default_factory=dict)
    """Segment, difficulty, domain, register, provenance."""
    fields: Mapping[str, Json] = Field(default_factory=dict)
    """All other fields of the suite's entry."""
    suite: str = ""
    group: str = ""
    contestant: str = ""
    source_language: Language = Language()
    target_language: Language = Language()

    @property
    def reference(self) -> str | None:
        """The first reference; None when there is none."""
        return self.references[0] if self.references else None


class Suite(Record):
    """A file of cases, read and checked."""

    kind: str
    id: str
    """What the file calls itself (``corpus_id``, ``dataset.id``), else the file's stem."""
    version: str = ""
    name: str = ""
    path: Path
    """Where it was read from. Never shown to a contestant, never written to a card."""
    format: str
    """``json``, ``jsonl``, ``tsv``, ``csv``, ``parallel``, ``po``, ``tmx``, ``xliff``."""
    sha256: str
    """SHA-256 hex over the file's bytes (over both files, in order, for parallel text)."""
    content_sha256: str
    """SHA-256 hex over the parsed cases by id: the same for every check-out of one content."""
    cases: tuple[Case, ...]
    """In the order of the file, after the filters."""
    entry_count: int
    """How many cases the file holds before any filter."""
    languages: Mapping[str, tuple[Language, Language]] = Field(default_factory=dict)
    """Source and target language of each group."""
    license: str = ""
    attribution: str = ""
    provenance: tuple[str, ...] = ()
    """Tags of the whole suite. ``demo`` marks a suite that must never rank anything."""
    notes: tuple[str, ...] = ()
    """Things worth knowing that are no error, one line each."""

    @property
    def rankable(self) -> bool:
        """Whether results on this suite may ever be ranked."""
        return "demo" not in self.provenance


class Failure(Record):
    """Why an attempt has no output."""

    status: Literal["error", "timeout", "crashed"] = "error"
    kind: str
    """A stable word for machines: ``exception``, ``timeout``, ``contract``, ``missing_result``,
    ``duplicate_result``, ``reported``, ``hook``, ``crashed``, ``not_sent``; of a language model
    ``parse_error``, ``truncated``, ``interrupted``, ``blocked``, ``api_error``, ``tool_rounds``."""
    message: str
    """One line for people."""
    traceback: str | None = None
    """The contestant's own frames, when there are any."""


CACHE_ERROR = "cache_error"
"""The key of an attempt's metadata that says why an answer could not be written to the cache."""


class Attempt(Record):
    """What a contestant made of one case."""

    id: str
    output: str | None = None
    """The text to grade, after post-translation hooks. None only together with ``failure``."""
    raw_output: str | None = None
    """What the contestant returned, before hooks."""
    failure: Failure | None = None
    latency_seconds: float | None = None
    """As the contestant reported it for this case; None when it reported nothing."""
    usage: Mapping[str, Json] = Field(default_factory=dict)
    """Token counts as reported, all >= 0."""
    cost_usd: float | None = None
    """None means unknown, which is not free."""
    tool_calls: tuple[Json, ...] = ()
    metadata: Mapping[str, Json] = Field(default_factory=dict)
    request: int = -1
    """Index of the first case of the batch that carried this one (-1: none was sent)."""
    request_seconds: float | None = None
    """Wall time of the call that carried this case, shared by all cases of its batch."""


class Grade(Record):
    """What the referee says of one attempt."""

    scores: Mapping[str, float | None]
    """Metric id to value on its own scale; None has a reason."""
    reasons: Mapping[str, str] = Field(default_factory=dict)
    """Metric id to the reason of a None."""
    statistics: Mapping[str, tuple[float, ...]] = Field(default_factory=dict)
    """Metric id to its row of sufficient statistics; absent when the case is not counted."""
    evidence: Mapping[str, Json] = Field(default_factory=dict)
    """Metric id to what it found in this case: kinds of fault, words, evidence."""
    words: str = ""
    """A few words for ``-v``, such as ``chrF++ 71.3``."""


class SuiteSettings(Record):
    """How a suite is read and which of its cases are taken."""

    source_field: str | None = None
    target_field: str | None = None
    source_lang: str | None = None
    """Overrides the suite's source language (a code or a name)."""
    target_lang: str | None = None
    dataset: str = "all"
    """``all``, a segment's name, an id range ``A-B`` (inclusive), or one id."""
    ids: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    allow_missing_reference: bool = False
    reference_path: Path | None = None
    """The second file of parallel text; the suite's path is then the source file."""


class Resources(Record):
    """Files and switches that metrics need beside the texts. None of it is written to a card."""

    fst: Path | None = None
    """An analyser (``.hfstol``), or a directory with one a language (``glg.hfstol``)."""
    glossary: Path | None = None
    """A glossary: JSON, TSV or CSV, or a coaching file with a ``dictionary``."""
    style_profile: Path | None = None
    """A profile of the writing style, JSON."""
    semantic_model: str | None = None
    """``use``, the encoder of the extra ``semantic``, or a directory of sentence-transformers."""
    comet_model: Path | None = None
    """A COMET checkpoint."""
    language_id: bool = False
    """Whether the language of outputs is identified (extra ``langid``)."""
    cards_dir: Path | None = None
    """A directory of language cards."""


class Scoring(Record):
    """How attempts are scored."""

    metrics: tuple[str, ...] | None = None
    """Metric ids; None means all that apply, an empty tuple none."""
    intervals: bool = True
    n_bootstrap: int = 1000
    bleu_tokenize: str | None = None
    """Overrides the tokenizer chosen by language or script."""
    ter_asian: bool | None = None
    """Whether TER counts Han signs and kana one by one; None: where the script asks for it."""
    normalization: Literal["NFC", "none"] = "NFC"
    """Applied to output and references alike, for every metric; stored texts stay as they came."""
    resources: Resources = Field(default_factory=Resources, exclude=True)
    """Where the resources are on this machine."""
    resource_facts: Mapping[str, Json] = Field(default_factory=dict)
    """Name of a resource that was given to its digest (SHA-256 hex of the content) or value."""


class RunConfig(Record):
    """What a contestant is told about the run: the ``config`` of ``translate(entries, config)``."""

    source_lang: str = ""
    """Name of the source language, or its code when the suite has no name for it."""
    target_lang: str = ""
    source_code: str = ""
    target_code: str = ""
    batch_size: int = 25
    concurrency: int = 8
    timeout_seconds: float = 600.0
    temperature: float | None = 0.0
    """None: the user wants none to be sent (``--mt-temperature=none``)."""
    max_tokens: int = 32768
    fst_retries: int = 0
    """How often words that an analyser rejects may be asked for again (``--mt-fst-retries``)."""
    entry_count: int = 0
    """How many entries the whole suite holds: for methods that replay a file by position."""
    options: Mapping[str, str] = Field(default_factory=dict)
    """What the user gave with ``--mt-method-arg KEY=VALUE``."""


EMPTY_SOURCE = "empty source"
NO_REFERENCE = "no reference"


def status_of(case: Case, attempt: Attempt) -> Status:
    """Return what became of a case."""
    if case.problem == NO_REFERENCE:
        return "no_reference"
    if case.problem is not None:
        return "invalid"
    return attempt.failure.status if attempt.failure is not None else "ok"


def is_cached(row: Mapping[str, Json]) -> bool:
    """Say whether a row's output came from a cache: it was answered and paid before."""
    metadata = row.get("metadata")
    if not isinstance(metadata, Mapping):
        return False
    return bool(metadata.get("cached")) or metadata.get("from_cache") is True


def whole_cost(row: Mapping[str, Json]) -> float | None:
    """Return what a row's output cost in US dollars, whenever it was paid; None: unknown."""
    cost = row.get("cost_usd")
    if is_cached(row):
        metadata = row["metadata"]
        assert isinstance(metadata, Mapping)
        cost = metadata.get("original_cost_usd", cost)
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


def base_row(case: Case, attempt: Attempt) -> dict[str, Json]:
    """Return the part of a card's row that every kind of case has.

    ``latency_seconds`` is the contestant's own figure for the case, else the wall time of the
    request that carried it, null for what came from a cache; ``request`` and ``request_seconds``
    tell requests apart.
    """
    failure = attempt.failure
    latency = attempt.latency_seconds
    if latency is None and not is_cached({"metadata": attempt.metadata}):
        latency = attempt.request_seconds
    return {
        "entry_id": case.id,
        "index": case.index,
        "status": status_of(case, attempt),
        "predicted": attempt.output,
        "raw_predicted": attempt.raw_output,
        "error": None if failure is None else failure.message,
        "failure": None if failure is None else failure.model_dump(exclude={"message"}),
        "segment": case.labels.get("segment"),
        "domain": case.labels.get("domain"),
        "difficulty": case.labels.get("difficulty"),
        "register": case.labels.get("register"),
        "provenance": case.labels.get("provenance"),
        "latency_seconds": latency,
        "request": attempt.request,
        "request_seconds": attempt.request_seconds,
        "usage": dict(attempt.usage),
        "cost_usd": attempt.cost_usd,
        "tool_call_count": len(attempt.tool_calls),
        "tool_calls": list(attempt.tool_calls),
        "metadata": dict(attempt.metadata),
    }
