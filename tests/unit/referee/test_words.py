"""Words, and what stands in their place."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.referee.words import joined_parts, parts, words_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(word.text, word.kind) for word in words_of(text)]


def only(text: str) -> list[str]:
    """The words of a text that has nothing but words."""
    assert {word.kind for word in words_of(text)} <= {"word"}
    return [word.text for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O gato, «cansado», durme…", ["O", "gato", "cansado", "durme"]),
        ("l’home d'ara qu‘il", ["l’home", "d'ara", "qu‘il"]),
        ("Hawaiʻi oʼzbek", ["Hawaiʻi", "oʼzbek"]),
        ("'ola' 'll dogs' po' «l'", ["ola", "ll", "dogs", "po", "l"]),
        ("col·legi l·l arc-en-ciel dixo‑me", ["col·legi", "l·l", "arc-en-ciel", "dixo‑me"]),
        ("un - dous — tres–catro cinco--seis", ["un", "dous", "tres", "catro", "cinco", "seis"]),
        ("p.ex. EE.UU. U.S.A. e.", ["p.ex.", "EE.UU.", "U.S.A.", "e"]),
        ("fin.Outra vez.Máis", ["fin", "Outra", "vez", "Máis"]),
        ("e\u0301te\u0301 می\u200cخواهم", ["e\u0301te\u0301", "می\u200cخواهم"]),
        ("日本のテキスト", ["日", "本", "の", "テキスト"]),
        ("covid-19 H2O nº", ["covid-19", "H2O", "nº"]),
        ("a < b, c > d & e % f $ g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("ge'ez ሰላም ነው።", ["ge'ez", "ሰላም", "ነው"]),
        (" \n\t…¿?", []),
        ("", []),
    ],
)
def test_words(text, expected):
    assert only(text) == expected


@pytest.mark.parametrize(
    "number",
    ["7", "1.234,5", "1 234 567", "1\u202f234", "10:30", "2024-05-01", "2024-05-01T10:20:30Z",
     "50%", "10 %", "5\u00a0€", "€5", "$1,000.00", "-5", "−3,5", "20°C", "5km", "1990s", "2ème",
     "1.º", "3ª", "½", "٣٫٥", "10h30", "1/2", "3D"],
)  # fmt: skip
def test_numbers(number):
    assert kinds(f"custa {number}, si") == [("custa", "word"), (number, "number"), ("si", "word")]


@pytest.mark.parametrize(
    "placeholder",
    ["%s", "%d", "%1$d", "%.2f", "%(name)s", "%(n)d", "%@", "%%", "%ld", "{name}", "{0}", "{}",
     "{0:.2f}", "{{x}}", "{{ user.name }}", "${x}", "%{count}", "#{x}", "<b>", "</b>", "<br/>",
     "<br />", '<a href="x y">', "&amp;", "&#39;", "&#x27;", "{n, number}", "{n, plural,", "one {"],
)  # fmt: skip
def test_placeholders(placeholder):
    text = f"ola, {placeholder} si"
    expected = [("ola", "word"), (placeholder, "placeholder"), ("si", "word")]
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(https://a.gal/x?y=1#z).", [("https://a.gal/x?y=1#z", "url")]),
        ("https://gl.org/Vigo_(cidade)", [("https://gl.org/Vigo_(cidade)", "url")]),
        ("www.xunta.gal, ftp://x.y", [("www.xunta.gal", "url"), ("ftp://x.y", "url")]),
        ("exemplo.com/a.", [("exemplo.com/a", "url")]),
        ("uxia.rei+1@mail.udc.gal.", [("uxia.rei+1@mail.udc.gal", "email")]),
        ("@uxia", [("uxia", "word")]),
        ("10 %s", [("10", "number"), ("%s", "placeholder")]),
        ("10 ${x}", [("10", "number"), ("${x}", "placeholder")]),
        ("5 % de", [("5 %", "number"), ("de", "word")]),
        ("10–12", [("10", "number"), ("12", "number")]),
        ("10quilómetros", [("10", "number"), ("quilómetros", "word")]),
        ("<b>ola</b>", [("<b>", "placeholder"), ("ola", "word"), ("</b>", "placeholder")]),
    ],
)
def test_other_kinds_and_where_they_end(text, expected):
    assert kinds(text) == expected


def test_a_message_format_plural_leaves_its_words():
    text = "{n, plural, one {# ficheiro} other {# ficheiros}}"
    assert [word.text for word in words_of(text) if word.kind == "word"] == [
        "ficheiro",
        "ficheiros",
    ]


def test_parts():
    (word,) = words_of("l’arc-en-ciel")
    assert parts(word) == ["l", "arc", "en", "ciel"]
    assert joined_parts(word) == ["l", "’", "arc", "-", "en", "-", "ciel"]
    assert parts("casa") == ["casa"]
    assert parts("col·legi") == ["col", "legi"]


@given(st.text() | st.text(alphabet="aZé漢1 .,'’-·%{}<>&@/:;=\n$#sd"))
@settings(max_examples=300, deadline=None)
def test_words_are_where_they_say_in_order_and_never_empty(text):
    end = 0
    for word in words_of(text):
        assert word.text == text[word.start : word.end] != ""
        assert word.start >= end
        end = word.end


@given(st.text(alphabet=st.characters(categories=["L"]), min_size=1))
def test_letters_are_never_lost(text):
    assert "".join(word.text for word in words_of(text)) == text


HOSTILE = ["a", "a.", "a-", "1,", "{", "{a", "<a ", "%(", "http://", "aa.", "a@", "a@a.", "1 123 ",
           "one ", "one  ", "&a", "www.", "{n ,", "-", "e\u0301", "漢", ")", "' "]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(piece):
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        words_of(text)
        return time.process_time() - start

    short, long = seconds(20_000), seconds(160_000)
    assert long < 8 * 4 * max(short, 0.002)
