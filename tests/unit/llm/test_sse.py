"""Server-sent events, however the network cuts them."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.llm.sse import Event, EventParser


def parsed(*chunks: bytes) -> list[Event]:
    parser = EventParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return found + parser.close()


LETTERS = "Bom día, ñu 🏔️ 你好"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_bytes_one_by_one(end: str) -> None:
    stream = f": keep-alive{end}{end}event: x{end}data: {LETTERS}{end}{end}data:b{end}{end}"
    body = stream.encode()
    assert parsed(*(body[at : at + 1] for at in range(len(body)))) == [
        Event(LETTERS, "x"),
        Event("b"),
    ]


def test_several_data_lines_and_unknown_fields() -> None:
    body = b"id: 1\nretry: 5\ndata: a\ndata\ndata:  b\nnothing\n\n"
    assert parsed(body) == [Event("a\n\n b")]


def test_an_event_without_data_is_none() -> None:
    assert parsed(b"event: ping\n\ndata: a\n\n") == [Event("a")]


def test_the_last_event_needs_no_blank_line() -> None:
    assert parsed(b"data: a\n\ndata: b") == [Event("a"), Event("b")]


def test_a_byte_order_mark_is_no_text() -> None:
    assert parsed(b"\xef", b"\xbb\xbfdata: a\n\n") == [Event("a")]


@pytest.mark.parametrize("body", ['{"a": "data: x\\n\\n"}', " \n[1,\n\n2]", "<html>\n\n</html>"])
def test_a_body_that_is_no_stream_comes_whole(body: str) -> None:
    parser = EventParser()
    for at in range(len(body)):
        assert parser.feed(body[at : at + 1].encode()) == []
    assert parser.close() == [Event(body)]
    assert parser.plain


@pytest.mark.parametrize("body", [b"", b"\n\n", b": only a comment\n\n", b"\xef\xbb\xbf"])
def test_nothing_is_no_event(body: bytes) -> None:
    parser = EventParser()
    assert parser.feed(body) + parser.close() == []
    assert not parser.plain


def test_damaged_letters_are_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        parsed(b"data: \xff\n\n")


def test_long_lines_in_small_chunks_take_linear_time() -> None:
    body = b"data: " + b"x" * 2_000_000 + b"\n\n"
    chunks = [body[at : at + 16] for at in range(0, len(body), 16)]
    begun = time.process_time()
    (event,) = parsed(*chunks)
    assert len(event.data) == 2_000_000
    assert time.process_time() - begun < 2.0


BODIES = st.one_of(
    st.lists(
        st.sampled_from(
            ["data: ", "data:", "event: e", ": c", "\n", "\r\n", "\r", "ñ", "🏔", "a", "{", "\ufeff"]
        ),
        max_size=40,
    ).map(lambda parts: "".join(parts).encode()),
    st.text(max_size=60).map(str.encode),
)


@given(BODIES, st.lists(st.integers(0, 200), max_size=30))
def test_any_chunking_gives_the_same_events(body: bytes, edges: list[int]) -> None:
    cuts = sorted({0, len(body), *(edge for edge in edges if edge < len(body))})
    chunks = [body[a:b] for a, b in pairwise(cuts)]
    whole = parsed(body)
    assert parsed(*chunks) == whole
    assert parsed(*(body[at : at + 1] for at in range(len(body)))) == whole
    assert parsed(b"", *chunks, b"") == whole
