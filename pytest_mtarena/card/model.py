"""The run card, field by field: schema 2.0.

Used to check a card when it is read; inside the package a card is the plain dict. Only ``scores``
(each kind and metric has its own keys), ``extra`` (plug-ins) and the rows (each kind has its own
fields beside the common ones) are open; anywhere else an unknown key is an error.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_mtarena.records import Json

_SHA256 = r"^[0-9a-f]{64}$"


class Block(BaseModel):
    """Base of the parts of a card: exact types, nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class CardLanguages(Block):
    """The languages of the run's group."""

    group: str
    """The suite's group that was run."""
    source_code: str
    """As the suite gives it; empty if unknown, as the other three."""
    source_name: str
    target_code: str
    target_name: str


class Dataset(Block):
    """The suite."""

    id: str
    version: str
    name: str
    language_pair: str | None
    """``eng>por``; null when the kind of case has no languages."""
    languages: CardLanguages
    sha256: str
    """SHA-256 hex over the bytes of the file."""
    content_sha256: str
    """SHA-256 hex over the parsed cases: the same for every check-out of one content."""
    entry_count: int = Field(ge=0)
    """How many cases the file holds before any filter."""
    format: str
    license: str
    attribution: str
    provenance: list[str]
    """Tags of the whole suite."""
    rankable: bool
    """Whether results may ever be ranked: false for a demo suite."""
    file: str
    """The file's name without its directory."""


class SuiteReading(Block):
    """How the suite's file was read."""

    source_field: str | None
    target_field: str | None
    source_lang: str | None
    target_lang: str | None
    allow_missing_reference: bool
    reference_file: str | None
    """Name of the second file of parallel text, without its directory."""


class Config(Block):
    """How the run was made."""

    api_provider: str | None
    temperature: float | None
    max_tokens: int
    batch_size: int
    concurrency: int
    """How many requests might be under way at once."""
    coaching_file: str | None
    method_path: str | None
    """Relative to the root directory, or the directory's name; never absolute."""
    fst_retries: int
    timeout_seconds: float
    hooks: list[str]
    """Post-translation hooks in the order in which they ran."""
    options: dict[str, Json]
    """What the user gave the method, as the method publishes it."""
    method_name: str
    method_sha256: str
    """SHA-256 hex over all that the method is made of."""
    method_facts: dict[str, Json]
    """Other things about the method that can change an output."""
    scoring: dict[str, Json]
    """Metrics, intervals, resamples, tokenizer, normalization."""
    suite: SuiteReading
    run_name: str | None
    normalization: str
    champollion: dict[str, Json] | None = None
    """The champollion config that values of the run are from; left out without one."""
    model_as_given: str | None = None
    """The name by which the user asked for a language model; left out for methods."""
    workers: int
    peak_in_flight: int | None
    """The most requests that were under way at once; null when it was not measured."""


class Fingerprint(Block):
    """The documented fingerprint."""

    hash: str = Field(pattern=_SHA256)
    """SHA-256 hex of the components as JSON with sorted keys."""
    components: dict[str, Json]
    """dataset_sha256, model_slug, condition, system_prompt_sha256, temperature,
    harness_version."""


class SetupFingerprint(Fingerprint):
    """The fingerprint over everything that can change an output."""

    version: int
    """Of the list of components."""


class Totals(Block):
    """Tokens and US dollars over all entries; null has its reason in ``metric_availability``."""

    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    total_tokens: int | None
    """Prompt and completion."""
    entries_with_usage: int
    """How many rows report token counts: the sums run over these."""
    total_cost_usd: float | None
    """Null as soon as one entry's cost is unknown."""
    known_cost_usd: float | None
    """Over the entries whose cost is known; null when none is."""
    entries_of_unknown_cost: int
    """How many entries that were sent are not in it."""
    cached_cost_usd: float | None
    """What the entries from the cache cost when they were answered; null when that is unknown."""
    cost_per_entry_usd: float | None
    """Whenever it was paid, and so are the other ratios."""
    cost_per_source_char: float | None
    reasoning_ratio: float | None
    """Reasoning tokens to completion tokens, 0-1."""
    tokens_per_entry: float | None
    cost_per_1k_tokens: float | None


class Environment(Block):
    """Versions that can change a number."""

    harness_version: str
    """Of the card's schema."""
    package_version: str
    harness_git_commit: str | None
    """Null when the package does not run from its own check-out."""
    python_version: str
    sacrebleu_version: str | None
    pytest_version: str | None
    numpy_version: str | None
    os: str


class Selection(Block):
    """Which cases the run was to cover, and how many it has."""

    ids_sha256: str = Field(pattern=_SHA256)
    """SHA-256 hex of the ids in canonical order, as one JSON array."""
    n_selected: int = Field(ge=0)
    n_rows: int = Field(ge=0)
    """How many have a row; a complete card has all."""
    dataset: str
    """The filters as given: ``all``, a segment, an id range."""
    ids: list[str]
    domains: list[str]
    difficulties: list[str]
    shard: list[int] | None = Field(min_length=2, max_length=2)
    """``[i, n]``: the i-th of n shards, from 1."""
    ids_sha256_all: str = Field(pattern=_SHA256)
    """The same digest over what all shards together were to cover."""
    n_selected_all: int = Field(ge=0)


class Provenance(Block):
    """Git state: commit, dirty, path inside the repository; null outside one."""

    method: dict[str, Json] | None
    suite: dict[str, Json] | None


class RunCard(Block):
    """One contestant on one group of one suite."""

    run_id: str
    """UUID v4, new for every run."""
    harness_version: Literal["2.0"]
    """The version of this schema."""
    model_slug: str
    """``method/NAME@CONTENT``: two contestants never share one."""
    model_id: str
    """As an API returned it, else the slug."""
    condition: str
    """``method`` for method plug-ins, else the name of the prompt."""
    timestamp: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    """When the run started, UTC."""
    elapsed_seconds: float = Field(ge=0)
    """Wall time; of merged shards, the sum."""
    dataset: Dataset
    config: Config
    method_card: dict[str, Json] | None
    system_prompt_sha256: str
    """SHA-256 hex of the system prompt; empty when there is none."""
    system_prompt_used: str
    fingerprint: Fingerprint
    scores: dict[str, Json]
    """Scores, counts, breakdowns, intervals and speed; every null has its reason."""
    totals: Totals
    environment: Environment
    kind: str
    complete: bool
    """Whether every selected case has a row."""
    interrupted: bool
    selection: Selection
    setup_fingerprint: SetupFingerprint
    signatures: dict[str, str]
    """Key of the scores to what fixes its value."""
    directions: dict[str, str]
    """Key of the scores to the direction that is better: higher, lower or target."""
    headline: str | None
    """Key of the scores to look at first."""
    metrics: dict[str, dict[str, Json]] = Field(default_factory=dict)
    """Metric to what it says of itself: scale, direction, level, role, validation, version,
    needs."""
    detector_calibration: dict[str, dict[str, Json]] = Field(default_factory=dict)
    """Metric to what it makes of the suite's own references: false alarms, thresholds."""
    metric_availability: dict[str, str]
    """Key of a null, in ``scores`` or as ``totals.KEY``, to its reason."""
    caveats: list[str]
    """What to worry about: what the rows show, then the notes."""
    notes: list[str]
    """What to worry about and the rows do not show: a metric that broke, shards that differ."""
    provenance: Provenance
    extra: dict[str, Json]
    """What plug-ins added."""
    results: list[dict[str, Any]]
    """One row an entry, in canonical order."""
    run_card_hash_alg: str = ""
    run_card_digest_alg: str = ""
    run_card_digest: str = ""
    """SHA-256 hex of RFC 8785 of the card without both hashes."""
    run_card_hash: str
    """The documented hash; empty before the card is sealed."""
