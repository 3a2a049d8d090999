"""ICU messages: what they hold, what is wrong with them, and their quoting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.referee.icu import (
    IcuError,
    arguments_of,
    flat,
    has_branches,
    keywords_of,
    parse_message,
)

NESTED = (
    "{who, select, female {{n, plural, =0 {none} one {her # file} other {her # files}}} "
    "other {{n, plural, offset:1 one {# file} other {# files of {owner}}}}}"
)


def test_arguments_in_all_branches():
    assert arguments_of(parse_message(NESTED)) == {
        *(("who", "select"), ("n", "plural"), ("owner", "")),
    }


def test_showing_the_number_is_free():
    with_number = parse_message("{n, plural, one {a file} other {{n} files}}")
    assert arguments_of(with_number) == arguments_of(
        parse_message("{n, plural, one {a file} other {# files}}")
    )


def test_keywords_of_a_select_are_values_of_the_program():
    assert keywords_of(parse_message(NESTED)) == {("who", "female"), ("who", "other")}


def test_flat_takes_the_branch_other():
    assert flat(parse_message(NESTED)) == "{n} files of {owner}"
    assert flat(parse_message("{d, date, short} it's")) == "{d,date} it's"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("it's {x}", "it's {x}"),
        ("it''s", "it's"),
        ("'{'x'}'", " x "),
        ("{n, plural, other {'#' #}}", "# {n}"),
        ("'{don''t}", " don't "),
        ("no # number", "no # number"),
        ("a } alone", "a } alone"),
    ],
)
def test_quoting(text, said):
    assert flat(parse_message(text)) == said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{n, plural, one {x}}", "no branch 'other'"),
        ("{n, plural, other {x}", "a keyword of the plural 'n' is missing"),
        ("{n, plural, other {x", "not closed"),
        ("{n, plural, other {x} other {y}}", "twice"),
        ("{n, plural other {x}}", "',' is missing"),
        ("{n, plural, other x}", "'{' is missing"),
        ("{}", "name"),
        ("{a b}", "',' is missing"),
        ("{n,}", "a type of an argument is missing"),
        ("{n, number, #{", "not closed"),
        ("{n, date, 'x}", "quotation is not closed"),
        ("{n,plural,other{" * 30, "nested deeper"),
    ],
)
def test_what_is_wrong_is_said(text, problem):
    with pytest.raises(IcuError, match="at character") as caught:
        parse_message(text)
    assert problem in str(caught.value)


@given(st.text("{}'#,n plurasectoh=1", max_size=60))
def test_any_text_is_a_message_or_an_error(text):
    position = 0
    try:
        parts = parse_message(text)
    except IcuError as error:
        position = error.position
    else:
        assert has_branches(parts) <= bool(arguments_of(parts))
        assert isinstance(flat(parts), str)
    assert 0 <= position <= len(text)


@given(st.text(st.characters(exclude_characters="{}'"), max_size=60))
def test_prose_is_its_own_message(text):
    assert flat(parse_message(text)) == text
