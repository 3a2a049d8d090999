"""A small report of another harness, with numbers that sacreBLEU computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENTRIES = [
    ("a1", "The dog sleeps.", "Le chien dort.", "Le chien dort."),
    ("a2", "The cat eats fish.", "Le chat mange du poisson.", "Le chat mange un poisson."),
    ("a3", "It rains a lot today.", "Il pleut beaucoup aujourd'hui.", "Il pleut aujourd'hui."),
    ("a4", "Where is the station?", "Où est la gare ?", "La gare est où ?"),
    ("a5", "Thank you very much.", "Merci beaucoup.", "Merci."),
]


def make_entry(at: int, **changes: Any) -> dict[str, Any]:
    """Return one entry of a report."""
    id, source, expected, predicted = ENTRIES[at]
    return {
        "id": id,
        "source": source,
        "expected": expected,
        "raw_predicted": f"{predicted} ",
        "predicted": predicted,
        "segment": "",
        "difficulty": at % 2 + 1,
        "domain": "conv",
        "exact_match": predicted == expected,
        "chrf_score": 12.5,
        "latency_s": 0.25,
        "cost_usd": 0.001,
        "tool_call_count": 0,
        "error": None,
        "plugin_metrics": {"shape": {"shape_rate": 0.5}},
    } | changes


def make_report(**changes: Any) -> dict[str, Any]:
    """Return a report with these changes at its top."""
    return {
        "run_id": "run_20260203_040506_house_model_plain_all_b5_abc123",
        "config": make_config(),
        "source_log": "/home/somebody/logs/run.json",
        "overall": {"total_entries": len(ENTRIES), "corpus_chrf": 1.0},
        "by_segment": {},
        "by_difficulty": {},
        "by_domain": {},
        "entries": [make_entry(at) for at in range(len(ENTRIES))],
    } | changes


def make_config(**changes: Any) -> dict[str, Any]:
    """Return the configuration in a report."""
    return {
        "dataset": "all",
        "dataset_id": "",
        "corpus_path": "/home/somebody/corpora/eng-fra-small.json",
        "source_lang": "English",
        "target_lang": "French",
        "target_lang_code": "fra",
        "entry_ids": None,
        "model": "house/model-1",
        "prompt_version": "plain",
        "temperature": 0.0,
        "_effective_temperature": 0.01,
        "_model_id": "house/model-1-of-may",
        "max_tokens": 512,
        "batch_size": 5,
        "concurrency": 3,
        "post_hooks": [],
        "fst_retries": 0,
        "method_path": None,
    } | changes


def write_report(directory: Path, name: str = "report.json", **changes: Any) -> Path:
    """Write a report and return its path."""
    path = directory / name
    path.write_text(json.dumps(make_report(**changes)), encoding="utf-8")
    return path
