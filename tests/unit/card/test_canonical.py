"""Canonical texts: equal to plain json and to rfc8785, and the same after any JSON reader."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.card.canonical import jcs_chunks, legacy_chunks, plain, row_text
from pytest_mtarena.errors import CardError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
cards = st.fixed_dictionaries(
    {"results": st.lists(st.dictionaries(texts, values, max_size=3), max_size=3)},
    optional={"run_card_hash": texts, "𐀀": values, "\ue000": values, "scores": values},
)


@given(cards)
@settings(max_examples=60, deadline=None)
def test_legacy_text_is_that_of_plain_json(card: dict[str, Any]) -> None:
    text = json.dumps({**card, "run_card_hash": ""}, sort_keys=True, ensure_ascii=False)
    assert "".join(legacy_chunks(card)) == text


@given(cards)
@settings(max_examples=100, deadline=None)
def test_jcs_text_is_that_of_rfc8785(card: dict[str, Any]) -> None:
    assert "".join(jcs_chunks(card)).encode() == rfc8785.dumps(card)


@given(st.dictionaries(texts, values, max_size=6))
@settings(max_examples=200, deadline=None)
def test_the_text_of_a_row_is_that_of_rfc8785_whatever_is_in_it(row: dict[str, Any]) -> None:
    text = row_text(row)
    assert text == "".join(jcs_chunks({"x": plain(row)}))[5:-1]
    assert json.loads(text, parse_int=_as_javascript) == plain(row)


@pytest.mark.parametrize("bad", [float("nan"), 2**53 + 1, "\ud800", {"\udfff": 1}, {1, 2}])
def test_a_row_that_is_no_json_is_refused(bad: Any) -> None:
    with pytest.raises(CardError, match="the row"):
        row_text({"x": bad})


@given(cards)
@settings(max_examples=60, deadline=None)
def test_plain_changes_no_value_and_is_stable(card: dict[str, Any]) -> None:
    even = plain(card)
    assert even == card or _shortest(card) == even
    assert plain(even) is even
    assert "".join(jcs_chunks(even)) == "".join(jcs_chunks(card))
    # A reader of doubles keeps every number of a plain value.
    assert json.loads(json.dumps(even), parse_int=_as_javascript) == even


def _shortest(value: Any) -> Any:
    """The value with large integral floats as the digits that JavaScript writes."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    if isinstance(value, list):
        return [_shortest(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _shortest(inner) for key, inner in value.items()}
    return value


def _as_javascript(digits: str) -> int:
    return int(Decimal(repr(float(digits))))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e-07, "1e-7"),
        (1e-05, "0.00001"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1.5e16, "15000000000000000"),
        (0.1 + 0.2, "0.30000000000000004"),
        (float(2**60), "1152921504606847000"),
        (1152921504606847000, "1152921504606847000"),
    ],
)
def test_numbers_as_javascript_writes_them(number: float, text: str) -> None:
    assert "".join(jcs_chunks({"x": number})) == f'{{"x":{text}}}'
    assert float(plain(number)) == float(number)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"scores": {"bleu": math.nan}}, "scores.bleu: nan is not a JSON number"),
        ({"results": [{}, {"a": [1, math.inf]}]}, "results[1].a[1]: inf is not a JSON number"),
        ({"totals": {"n": 2**53 + 1}}, "totals.n: an integer beyond 2**53"),
        ({"totals": {"n": 10**400}}, "totals.n: an integer beyond 2**53"),
        ({"extra": {1: 2}}, "extra: the key 1 is not a string"),
        ({"extra": {"a": {3}}}, "extra.a: set is not a JSON value"),
        ({"results": [{"predicted": "ab\ud800"}]}, "results[0].predicted: a lone surrogate"),
        ({"extra": {"\udc00": 1}}, "extra: the key '\\udc00' holds a lone surrogate"),
    ],
)
def test_what_is_not_json_is_named(value: Any, words: str) -> None:
    with pytest.raises(CardError, match="^" + re.escape(words)):
        plain(value)


@pytest.mark.parametrize("chunks", [legacy_chunks, jcs_chunks])
def test_no_text_with_nan(chunks: Any) -> None:
    with pytest.raises(CardError, match=r"results\[1\]\.x: nan"):
        "".join(chunks({"results": [{"x": 1}, {"x": math.nan}]}))
    with pytest.raises(CardError, match=r"scores\.x: inf"):
        "".join(chunks({"scores": {"x": math.inf}}))


def test_jcs_alone_refuses_integers_that_no_double_holds() -> None:
    for card in ({"x": 2**53 + 1}, {"x": [-(2**60)]}, {"results": [{"x": 2**60}]}):
        with pytest.raises(CardError, match="an integer beyond"):
            "".join(jcs_chunks(card))


def test_keys_beyond_the_bmp_are_sorted_as_utf_16() -> None:
    inner = {"\ue000": 1, "\U00010000": 2}
    card = {"results": [inner], "x": inner}
    text = '{"\U00010000":2,"\ue000":1}'
    assert "".join(jcs_chunks(card)) == f'{{"results":[{text}],"x":{text}}}'


def test_depth_is_an_error_and_no_traceback() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(CardError, match="nested too deeply"):
        plain({"metadata": deep})


def test_plain_shares_what_is_plain() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 100.0, "b": ("y",)}]
    even = plain({"results": rows})
    assert even["results"][0] is rows[0]
    assert even["results"][1] == {"a": 100, "b": ["y"]}
    assert rows[1]["a"] == 100.0
    assert type(rows[1]["a"]) is float  # the input stays as it was


def test_numbers_of_numpy_become_plain() -> None:
    numpy = pytest.importorskip("numpy")
    assert plain({"a": numpy.float64(1.5), "b": numpy.float64(2.0)}) == {"a": 1.5, "b": 2}
    with pytest.raises(CardError, match="a: int64 is not a JSON value"):
        plain({"a": numpy.int64(3)})
