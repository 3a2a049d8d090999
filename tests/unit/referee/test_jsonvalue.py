"""JSON of foreign code."""

from __future__ import annotations

import json
import math
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.card.canonical import row_text
from pytest_mtarena.referee.jsonvalue import as_json, storable

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=()), max_size=2), inner)
    ),
    max_leaves=8,
)


class Colour(IntEnum):
    RED = 1


@given(VALUES)
def test_what_is_let_through_can_be_written_into_a_card(value):
    try:
        plain = as_json(value, "evidence")
    except (TypeError, ValueError) as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert told.startswith("evidence: ")
        return
    # A reader of doubles may see another integer beyond 2**53, and the same double.
    told = json.loads(row_text({"evidence": plain}), parse_int=lambda text: _number(float(text)))
    assert told["evidence"] == value


def _number(value: float) -> float:
    return int(value) if abs(value) <= 2**53 else value


def test_subclasses_become_plain():
    given = {"a": np.float64(0.5), "b": Colour.RED, "c": (1, 2), "d": MappingProxyType({"e": 1})}
    plain = as_json(given, "x")
    assert plain == {"a": 0.5, "b": 1, "c": [1, 2], "d": {"e": 1}}
    assert [type(one) for one in plain.values()] == [float, int, list, dict]


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), {1: 2}, math.nan, 2**60, "\ud800", {"\ud800": 1}, np.ones(2)]
)
def test_what_a_card_cannot_hold(value):
    with pytest.raises((TypeError, ValueError), match=r"^x: "):
        as_json(value, "x")


def test_a_list_in_itself_has_an_end():
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        as_json(endless, "x")


def test_large_integers_are_stored_as_text():
    value = {"id": 2**60, "list": [1, -(2**60)], "flag": True, "share": 0.5}
    assert storable(value) == {
        "id": str(2**60),
        "list": [1, str(-(2**60))],
        "flag": True,
        "share": 0.5,
    }
