"""Fingerprints: which experiment a card belongs to, whatever came out of it.

``fingerprint`` is the documented one, of six components. It does not tell two selections of one
suite apart, nor two batch sizes; ``setup_fingerprint`` covers all that can change an output. What
cannot is in neither: concurrency, number of workers, scoring.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_mtarena.card.canonical import plain
from pytest_mtarena.records import Json

SETUP_VERSION = 1


def hash_components(components: Mapping[str, Json]) -> str:
    """Return the SHA-256 hex of the components as JSON: sorted keys, default separators."""
    text = json.dumps(plain(dict(components)), sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def ids_digest(ids: Iterable[str]) -> str:
    """Return the SHA-256 hex of ids in their order, as one JSON array with default separators."""
    text = json.dumps(list(ids), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prompt_digest(prompt: str) -> str:
    """Return the SHA-256 hex of a system prompt; ``""`` when there is none."""
    return hashlib.sha256(prompt.encode("utf-8")).hexdigest() if prompt else ""


def fingerprint(
    *,
    dataset_sha256: str,
    model_slug: str,
    condition: str,
    system_prompt_sha256: str,
    temperature: float | None,
    harness_version: str,
) -> dict[str, Any]:
    """Return the documented fingerprint: ``hash`` and its six ``components``."""
    components: dict[str, Json] = {
        "dataset_sha256": dataset_sha256,
        "model_slug": model_slug,
        "condition": condition,
        "system_prompt_sha256": system_prompt_sha256,
        "temperature": temperature,
        "harness_version": harness_version,
    }
    return {"hash": hash_components(components), "components": components}


def card_fingerprint(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return the documented fingerprint of a card, from its other fields."""
    return fingerprint(
        dataset_sha256=card["dataset"]["sha256"],
        model_slug=card["model_slug"],
        condition=card["condition"],
        system_prompt_sha256=card["system_prompt_sha256"],
        temperature=card["config"]["temperature"],
        harness_version=card["harness_version"],
    )


def setup_fingerprint(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return ``version``, ``hash`` and ``components`` of all that can change an output.

    It is made from the other fields of a card, so that it can be checked from them. The suite
    counts with its content, not with its bytes: line ends of a check-out change nothing.
    """
    config, dataset = card["config"], card["dataset"]
    components: dict[str, Json] = {
        "kind": card["kind"],
        "model_slug": card["model_slug"],
        "model_id": card["model_id"],
        "condition": card["condition"],
        "method_sha256": config["method_sha256"],
        "method_facts": config["method_facts"],
        "options": config["options"],
        "api_provider": config["api_provider"],
        "system_prompt_sha256": card["system_prompt_sha256"],
        "coaching_sha256": config["method_facts"].get("coaching_sha256"),
        "tools": config["method_facts"].get("tools"),
        "hooks": config["hooks"],
        "fst_retries": config["fst_retries"],
        "batch_size": config["batch_size"],
        "max_tokens": config["max_tokens"],
        "temperature": config["temperature"],
        "timeout_seconds": config["timeout_seconds"],
        "content_sha256": dataset["content_sha256"],
        "entry_count": dataset["entry_count"],
        "languages": dataset["languages"],
        "ids_sha256": card["selection"]["ids_sha256"],
    }
    return {
        "version": SETUP_VERSION,
        "hash": hash_components(components),
        "components": components,
    }
