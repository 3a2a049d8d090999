"""Placeholders of all syntaxes, what is no placeholder, and the cost of hostile texts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.referee.placeholders import (
    TAGS,
    blanked,
    find_placeholders,
    is_nested,
    numbered,
    same_variables,
    tags_of,
    variables_of,
    without_placeholders,
)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("%s of %d at %5.2f %-10s", ["%s", "%d", "%f", "%s"]),
        ("%1$s before %2$s", ["%1$s", "%2$s"]),
        ("%(name)s has %(n)03d", ["%(name)s", "%(n)d"]),
        ("%ds ago, %dGB, %sを", ["%d", "%d", "%s"]),
        ("%lld %@ %1$@ %zu", ["%lld", "%@", "%1$@", "%zu"]),
        ("{} {0} {name} {name!r:>10} {when:%Y-%m-%d}", ["{}", "{0}", "{name}", "{name}", "{when}"]),
        ("{{user}} {{ user }} {{#each xs}}", ["{{user}}", "{{user}}", "{{#eachxs}}"]),
        ("${price} $t(key.word) %{count} %<n>d", ["${price}", "$t(key.word)", "%{count}", "%<n>d"]),
        ("%1 of %L2, %n files", ["%1", "%L2", "%n"]),
        ("{0,number,#.##} {1, date, short}", ["{0,number}", "{1,date}"]),
        ("{% url 'home' %}", ["{%url'home'%}"]),
        ('<a href="%(url)s">here</a>', ["%(url)s"]),
    ],
)
def test_variables_of_all_syntaxes(text, keys):
    assert variables_of(find_placeholders(text)) == keys


@pytest.mark.parametrize(
    "text",
    [
        "100 % de desconto",
        "o 5 % d'interese",
        "20 %de todo",
        "50%de todo",
        "o % do total",
        "https://example.org/a%20b%d0%b0",
        "a set {1, 2, 3} or { a b }",
        "5 < 6 and 7 > 3, <3",
        "AT&T; R & D",
        "$5 and 100%",
    ],
)
def test_prose_has_no_placeholder(text):
    assert [one for one in find_placeholders(text) if one.kind != "entity"] == []


def test_escapes_and_entities_are_no_variables():
    found = find_placeholders("100%% &amp; &#39; &nbsp; {{two words}}")
    assert [one.kind for one in found] == ["escape", *["entity"] * 3, "escape", "escape"]
    assert variables_of(found) == []


def test_tags_are_known_by_their_name():
    found = find_placeholders('<b>x</b> <a title="1 > 2" HREF=#>y</A><br><br/><x:y z=1/>')
    assert tags_of(found) == [
        *(("open", "b"), ("close", "b"), ("open", "a"), ("close", "a")),
        *(("void", "br"), ("void", "br"), ("void", "x:y")),
    ]


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("<b><i>x</i></b><br>", True),
        ("<b><i>x</b></i>", False),
        ("<b>x", False),
        ("x</b>", False),
    ],
)
def test_nesting(text, nested):
    assert is_nested(tags_of(find_placeholders(text))) is nested


def test_the_text_in_the_branches_of_a_message_is_prose():
    text = "{n, plural, one {# file of {owner}} other {# files <b>here</b>}} on %s"
    assert without_placeholders(text).split() == ["file", "of", "files", "here", "on"]
    keys = variables_of(find_placeholders(text))
    assert keys == ["{n,plural}", "{owner}", "%s"]


def test_after_a_broken_message_none_is_looked_for():
    found = find_placeholders("{n, plural, one {x}} {m, plural, other {y}}")
    assert [(one.text, one.key) for one in found if one.kind == "icu"] == [
        ("{n, plural,", "{n,plural}"),
        ("{m, plural,", "{m,plural}"),
    ]


def test_a_variable_can_be_left_as_a_word():
    text = "'%s' <b>{x}</b>"
    assert blanked(text, find_placeholders(text), "x") == "'x'  x "


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (["%s", "%s"], ["%s"], False),
        (["%s", "%d"], ["%d", "%s"], True),
        (["%s", "%d"], ["%2$d", "%1$s"], True),
        (["%s", "%d"], ["%1$d", "%2$s"], False),
        (["{}", "{}"], ["{1}", "{0}"], True),
        (["%s"], ["%(name)s"], False),
    ],
)
def test_variables_are_a_multiset(one, other, same):
    assert same_variables(one, other) is same
    assert same_variables(other, one) is same


def test_mixed_numbers_are_left_alone():
    assert numbered(["%1$s", "%s"]) == ["%1$s", "%s"]


PIECES = [
    "%",
    "%s",
    "%(",
    ")s",
    "{",
    "}",
    "{{",
    "}}",
    "n, plural, other {",
    "'",
    "#",
    "<",
    "<a ",
    ">",
]
PIECES += ['"', "&", ";", "$", "$t(", " ", "a", "5", "é", "\n", ",", ":", "!", "other"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_every_placeholder_is_where_it_says(text):
    at = 0
    tag_ends = 0
    for one in find_placeholders(text):
        assert text[one.start : one.end] == one.text
        assert one.start < one.end
        if one.start >= tag_ends:
            assert one.start >= at, "only what is inside a tag overlaps"
            at = one.end
        if one.kind in TAGS:
            tag_ends = one.end
    assert len(without_placeholders(text)) <= len(text)


HOSTILE = ["{", "}", "{{x", "{a,plural,other{", "{n,plural,other{#}}", "%", "%(a", "%1", "<a "]
HOSTILE += ['<a "', "&a", "${a", "{x:%", "{%", "{n,plural,other{'", "{ ", "<a ''", "A 5 % e máis. "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_is_linear(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        start = time.process_time()
        without_placeholders(text)
        return time.process_time() - start

    # The least of three: what else the machine does only ever adds.
    short, long = (min(seconds(size) for _ in range(3)) for size in (25_000, 200_000))
    assert long < 24 * short + 0.05, "eight times the text may cost eight times the time"
