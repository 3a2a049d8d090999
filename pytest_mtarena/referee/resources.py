"""The resources of the metrics: checked to be there, and what a card says of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Json, Resources


def read_resources(option: Any, base: Path, dashes: str = "--mt-") -> Resources:
    """Return the resources that the options (``option.mt_fst``, ...) name, each of which is there.

    Relative paths are taken from ``base``; ``dashes`` is how the flags begin in messages. Raises
    UsageError for a file that is not there.
    """

    def path(text: str | None) -> Path | None:
        return None if text is None else Path(os.path.abspath(Path(base, text)))

    files = {
        "fst": path(option.mt_fst),
        "glossary": path(option.mt_glossary),
        "style_profile": path(option.mt_style_profile),
        "comet_model": path(option.mt_comet_model),
    }
    for name, file in files.items():
        if file is not None and not file.exists():
            raise UsageError(f"{dashes}{name.replace('_', '-')}: no such file: {file}")
    cards = path(option.mt_cards_dir)
    if cards is not None and not cards.is_dir():
        raise UsageError(f"{dashes}cards-dir: no such directory: {cards}")
    semantic = option.mt_semantic_model
    if semantic is not None and semantic != "use":
        directory = path(semantic)
        if directory is None or not directory.is_dir():
            raise UsageError(
                f"{dashes}semantic-model takes 'use' or a directory of sentence-transformers, "
                f"not {semantic!r}"
            )
        semantic = str(directory)
    return Resources(
        **files,
        semantic_model=semantic,
        language_id=bool(option.mt_language_id),
        cards_dir=cards,
    )


def resource_facts(resources: Resources) -> dict[str, Json]:
    """Return the digest of every resource that was given: paths do not go into a card."""
    facts: dict[str, Json] = {}
    for name in ("fst", "glossary", "style_profile", "comet_model", "cards_dir"):
        if (path := getattr(resources, name)) is not None:
            facts[name] = {"name": path.name, "sha256": _digest(path)}
    if resources.semantic_model is not None:
        directory = Path(resources.semantic_model)
        known = {"name": directory.name}
        facts["semantic_model"] = (
            {**known, "sha256": _digest(directory)} if directory.is_dir() else known
        )
    if resources.language_id:
        facts["language_id"] = True
    return facts


def _digest(path: Path) -> str:
    """Return the SHA-256 hex of a file, or of the names and contents of a directory's files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for inner in sorted(one for one in path.rglob("*") if one.is_file()):
        whole.update(f"{inner.relative_to(path).as_posix()}\0{_digest(inner)}\n".encode())
    return whole.hexdigest()
