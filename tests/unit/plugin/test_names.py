"""Names of items: printable, unique, short."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.plugin.names import MAX_BYTES, node_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("e42", "e42"),
        ("čáhci", "čáhci"),
        ("with space", "with space"),
        (" lead", "%20lead"),
        ("a\0b", "a%00b"),
        ("\x1b[2Jclear", "%1B%5B2Jclear"),
        ("line\nfeed", "line%0Afeed"),
        ("s1::x[2] # y/z", "s1%3A%3Ax%5B2%5D # y/z"),
        ("a:b", "a:b"),
        ("100%", "100%25"),
        ("\u202eevil", "%E2%80%AEevil"),
    ],
)
def test_what_would_be_misread_is_encoded(text, name):
    assert node_name(text) == name


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1), st.text(min_size=1))
def test_different_ids_have_different_printable_short_names(one, other):
    if any(0xD800 <= ord(c) <= 0xDFFF for c in one + other):
        return
    first, second = node_name(one), node_name(other)
    assert (first == second) == (one == other)
    assert len(first.encode()) <= MAX_BYTES
    assert "::" not in first
    assert "[" not in first
    assert not any(ord(c) < 32 or ord(c) == 127 for c in first)


def test_a_long_id_keeps_its_beginning_and_a_digest():
    one, other = node_name("ü" * 200 + "a"), node_name("ü" * 200 + "b")
    assert one != other
    assert one.startswith("üüü")
    assert len(one.encode()) <= MAX_BYTES
