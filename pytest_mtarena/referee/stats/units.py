"""What is resampled: entries, or the documents and repeated sources that they belong to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_mtarena.records import Json
from pytest_mtarena.referee.stats.clusters import Labels, cluster_of

Row = Mapping[str, Json]


@dataclass(frozen=True)
class Units:
    """What is resampled: entries, or clusters of them."""

    labels: Labels | None
    """The cluster of each entry; None when each entry stands for itself."""
    count: int
    words: str
    """``157 entries``, ``157 entries in 12 documents``."""


def units_of(rows: Sequence[Row], *, sources: bool = True) -> Units:
    """Return what is resampled: the entries of a document, or of a repeated source, together.

    An entry with a field ``document`` (a word or a number) belongs to that; others belong to
    those with the same source, unless ``sources`` is false: the documented intervals take such
    entries one by one.
    """
    keys: list[Hashable] = []
    documents: set[Hashable] = set()
    for row in rows:
        document = (row.get("fields") or {}).get("document")
        if isinstance(document, str | int) and document != "":
            keys.append(("document", document))
            documents.add(document)
        else:
            keys.append(("source", row["source"]) if sources and row.get("source") else None)
    labels = cluster_of(keys)
    count = len(np.unique(labels))
    words = f"{len(rows)} {'entry' if len(rows) == 1 else 'entries'}"
    if count == len(rows):
        return Units(None, count, words)
    if count == len(documents):
        return Units(labels, count, f"{words} in {count} document{'s' * (count != 1)}")
    if not documents:
        return Units(labels, count, f"{words} with {count} different source{'s' * (count != 1)}")
    return Units(labels, count, f"{words} in {count} documents and other sources")
