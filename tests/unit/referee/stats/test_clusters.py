"""Clusters: the unit of resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.referee.stats.clusters import cluster_of, collapse


def test_equal_keys_are_one_cluster_and_no_key_is_one_alone():
    keys = ["doc1", None, "doc2", "doc1", "", None, ("en", 3), "doc2", 7]
    assert cluster_of(keys).tolist() == [0, 1, 2, 0, 3, 4, 5, 2, 6]
    assert cluster_of([]).tolist() == []
    # A key that looks like the mark of an entry without one is still a key.
    assert cluster_of([None, ("alone", 0), ("key", "a"), "a"]).tolist() == [0, 1, 2, 3]


def test_sums_leave_out_what_has_no_value():
    nan = np.nan
    rows = np.array([[1, 1], [nan, nan], [2, 1], [nan, 1], [4, 1.0]])
    assert collapse(rows, cluster_of(["a", "a", "b", "c", "a"])).tolist()[:2] == [[5, 2], [2, 1]]
    assert np.isnan(collapse(rows, cluster_of(["a", "a", "b", "c", "a"]))[2]).all()


def test_no_rows_and_a_wrong_number_of_labels():
    assert collapse(np.zeros((0, 3)), cluster_of([])).shape == (0, 3)
    with pytest.raises(ValueError, match="2 labels for 1 rows"):
        collapse(np.zeros((1, 3)), cluster_of(["a", "b"]))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 9)), max_size=12))
def test_the_total_stays_and_single_clusters_change_nothing(entries):
    keys = [key for key, _ in entries]
    rows = np.array([[value, 1.0] for _, value in entries]).reshape(-1, 2)
    labels = cluster_of(keys)
    assert collapse(rows, labels).sum(axis=0).tolist() == rows.sum(axis=0).tolist()
    for key in ("a", "b", "c"):
        if key in keys:
            expected = rows[[one == key for one in keys]].sum(axis=0)
            assert collapse(rows, labels)[labels[keys.index(key)]].tolist() == expected.tolist()
    assert collapse(rows, cluster_of([None] * len(rows))).tolist() == rows.tolist()
