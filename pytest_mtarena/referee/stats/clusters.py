"""Entries that belong together (one document, one repeated source) are resampled together.

Sentences of a document fail together: as if each were independent, intervals are too narrow and
tests find too much. The cure is to draw, swap and count whole clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import Statistics
from pytest_mtarena.referee.metrics.base import present

Labels = npt.NDArray[np.int64]
"""The number of each entry's cluster, from 0, in order of first appearance."""


def cluster_of(keys: Sequence[Hashable]) -> Labels:
    """Return the cluster of each entry: entries with equal keys are in one.

    An entry whose key is None or the empty string belongs to no document: it is a cluster alone.
    """
    numbers: dict[Hashable, int] = {}
    labels = np.empty(len(keys), np.int64)
    for place, key in enumerate(keys):
        # A place in a tuple can never equal a key that is a plain value.
        name = ("alone", place) if key is None or key == "" else ("key", key)
        labels[place] = numbers.setdefault(name, len(numbers))
    return labels


def collapse(statistics: Statistics, labels: Labels) -> Statistics:
    """Return one row a cluster, in the order of the labels: the sum of its entries' statistics.

    Entries without a value (NaN rows) are left out; a cluster of only such entries is a NaN row.
    Sums of the result equal sums of the entries, so that scores do not change.
    """
    if len(labels) != len(statistics):
        raise ValueError(f"{len(labels)} labels for {len(statistics)} rows of statistics")
    count = int(labels.max()) + 1 if len(labels) else 0
    known = present(statistics)
    sums = np.zeros((count, statistics.shape[1]))
    np.add.at(sums, labels[known], statistics[known])
    has_value = np.zeros(count, np.bool_)
    has_value[labels[known]] = True
    sums[~has_value] = np.nan
    return sums
