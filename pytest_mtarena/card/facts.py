"""What is known of a run beside its rows and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pytest_mtarena.protocols import Identity
from pytest_mtarena.records import Json, Record, RunConfig, Scoring, Suite, SuiteSettings


class RunFacts(Record):
    """One contestant on one group of one suite: all that a card says and rows do not."""

    identity: Identity
    kind: str
    suite: Suite
    group: str
    run_config: RunConfig
    settings: SuiteSettings
    scoring: Scoring
    hooks: tuple[str, ...] = ()
    """Names of the post-translation hooks, in the order in which they ran."""
    selected_ids: tuple[str, ...]
    """What the run was to cover, in canonical order; of a shard, the shard's part."""
    all_selected_ids: tuple[str, ...] | None = None
    """What all shards together were to cover, in canonical order; None when there is no shard."""
    started: datetime
    """With a time zone."""
    elapsed_seconds: float
    complete: bool
    interrupted: bool = False
    shard: tuple[int, int] | None = None
    """``(i, n)``: the i-th of n, from 1."""
    run_name: str | None = None
    method_dir: Path | None = None
    """Relative to the root directory where that is possible; an absolute one is not published."""
    peak_in_flight: int | None = None
    """The most requests that were under way at once."""
    worker_count: int = 1
    condition: str = "method"
    system_prompt: str = ""
    model_id: str | None = None
    """As an API returned it; None means the identity's slug."""
    api_provider: str | None = None
    model_as_given: str | None = None
    """The name by which the user asked for the model: an alias, perhaps."""
    champollion: Mapping[str, Json] | None = None
    """The champollion config that values of the run are from, and which; None without one."""
    coaching_file: str | None = None
    """The name of the file that the coaching text came from, without its directory."""
    notes: tuple[str, ...] = ()
    """Things to worry about that the rows do not show, one line each: a metric that broke."""
