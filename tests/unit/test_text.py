"""Text for terminals: harmless, and as wide as it says."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.text import columns, cut, pad, printable, some

every = st.text(st.characters(codec=None), max_size=30)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Beaivváš čáppát 漢字 😀", "Beaivváš čáppát 漢字 😀"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\x1b[31mred\x07", "\\e[31mred\\x07"),
        ("\u202eabc\u2066", "\\u{202e}abc\\u{2066}"),
        ("\ud83d", "\\u{d83d}"),
        ("a\u2028b", "a\\u{2028}b"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("10\u00a0km", "10\u00a0km"),
        ("\ufeff", "\\u{feff}"),
        ("\U000e0041", "\\u{e0041}"),
    ],
)
def test_what_could_act_is_shown(text, shown):
    assert printable(text) == shown


@given(every)
def test_printable_text_is_harmless(text):
    shown = printable(text)
    shown.encode("utf-8")
    for char in shown:
        category = unicodedata.category(char)
        assert category not in ("Cc", "Cs", "Zl", "Zp")
        assert category != "Cf" or char in "\u200c\u200d\u00ad"
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("", 0)]
)
def test_columns(text, width):
    assert columns(text) == width


@given(every.map(printable), st.integers(-1, 40))
def test_a_cut_text_fits(text, width):
    short = cut(text, width)
    assert columns(short) <= max(width, 0)
    assert short == text or (short == "" and width < 1) or short.endswith("…")
    if columns(text) <= width:
        assert short == text


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdef", 4, "abc…"),
        ("漢字漢字", 5, "漢字…"),
        ("漢字漢字", 4, "漢…"),
        ("ae\u0301io", 3, "ae\u0301…"),
    ],
)
def test_where_a_text_is_cut(text, width, short):
    assert cut(text, width) == short


def test_padding():
    assert pad("漢", 4) == "漢  "
    assert pad("abcdef", 4) == "abcdef"


def test_some_ids():
    assert some(["a", "b\n"]) == "a b\\n"
    assert some([str(i) for i in range(11)]) == "0 1 2 3 4 5 6 7 and 3 more"
    assert columns(some(["x" * 500])) == 40
