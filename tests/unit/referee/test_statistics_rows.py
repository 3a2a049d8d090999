"""Statistics kept as numbers are the same statistics."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.referee.stats.rows import StatisticsRows

number = st.floats(-1e6, 1e6)
row = st.fixed_dictionaries(
    {},
    optional={
        "a": st.lists(number, min_size=2, max_size=2),
        "b": st.lists(number, min_size=1, max_size=1),
    },
)


@settings(max_examples=100, deadline=None)
@given(st.lists(row, max_size=20), st.data())
def test_rows_come_back_and_tables_agree_with_them(rows, data):
    kept = StatisticsRows(rows)
    assert list(kept) == rows
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True)) if rows else []
    table = kept.table("a", places)
    assert len(table) == len(places)
    for values, place in zip(table, places, strict=True):
        if "a" in rows[place]:
            assert list(values) == rows[place]["a"]
        else:
            assert np.isnan(values).all()
    lacking = kept.lacking(["a", "b"], places)
    assert lacking == [i for i, p in enumerate(places) if not {"a", "b"} <= set(rows[p])]


def test_a_row_of_another_width_has_none():
    kept = StatisticsRows([{"a": [1.0, 2.0]}, {"a": [3.0]}, {"a": [4.0, 5.0]}])
    assert list(kept) == [{"a": [1.0, 2.0]}, {}, {"a": [4.0, 5.0]}]
    assert kept[-1] == {"a": [4.0, 5.0]}
    assert kept[0:2] == [{"a": [1.0, 2.0]}, {}]
