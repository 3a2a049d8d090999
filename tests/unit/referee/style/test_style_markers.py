"""Marker files are sound, and markers are found where they mean something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_mtarena.referee.style.markers as markers
from pytest_mtarena.referee.style.markers import Finder, Marker, code_of, languages, load, tokens_of

DATA = Path(markers.__file__).parent / "data"


@pytest.mark.parametrize("code", languages())
def test_a_marker_file_is_sound(code):
    text = (DATA / f"{code}.json").read_text(encoding="utf-8")
    assert text.endswith("\n")
    data = json.loads(text)
    assert set(data) <= {"language", "name", "provenance", "version", "notes", "markers"}
    assert data["language"] == code
    assert data["provenance"] == "written for this project"
    for group in data["markers"]:
        assert set(group) == {"register", "kind", "match", "weight", "texts"}
        assert group["register"] in markers.REGISTERS
        assert group["match"] in markers.MATCHES
        assert 0 <= group["weight"] <= 2
        assert (group["weight"] == 0) == (group["register"] == "none")
        assert len(set(group["texts"])) == len(group["texts"]) > 0
        for one in group["texts"]:
            assert one == one.strip()
            assert tokens_of(one), one
    sides = {group["register"] for group in data["markers"]}
    assert {"formal", "informal"} <= sides


@pytest.mark.parametrize("code", languages())
def test_no_text_is_formal_and_informal_alike(code):
    data = json.loads((DATA / f"{code}.json").read_text(encoding="utf-8"))
    seen: dict[tuple[str, str], str] = {}
    for group in data["markers"]:
        for text in group["texts"]:
            key = (group["match"], text if group["match"] in ("exact", "inner") else text.lower())
            if group["register"] != "none":
                assert seen.setdefault(key, group["register"]) == group["register"], text


def test_languages():
    assert len(languages()) >= 40
    assert code_of("hrv") == "bos"
    assert code_of("msa") == "zsm"
    assert code_of("xxx") is None
    assert code_of("") is None
    assert code_of("../eng") is None


CASES = [
    ("eng", "I'm gonna go, don't wait.", "informal"),
    ("eng", "I’m late and it doesn’t matter", "informal"),
    ("eng", "Dear Sir, we would like to inform you.", "formal"),
    ("eng", "The dog's bowl is not full.", None),
    ("fra", "S'il vous plaît, asseyez-vous.", "formal"),
    ("fra", "Je t'aime.", "informal"),
    ("fra", "J'ai rendez-vous chez le dentiste.", None),
    ("deu", "Können Sie mir helfen?", "formal"),
    ("deu", "Sie schläft.", None),
    ("deu", "„Sie schläft.“", None),
    ("deu", "Ich glaube, sie schläft.", None),
    ("deu", "Kannst du mir helfen?", "informal"),
    ("spa", "¿Puede usted ayudarme?", "formal"),
    ("spa", "¿Qué tal? ¿Quieres venir?", "informal"),
    ("spa", "Son las seis.", None),
    ("por", "O senhor pode esperar?", "formal"),
    ("por", "Tu sabes isso.", "informal"),
    ("ita", "Vorrei parlare con Lei.", "formal"),
    ("ita", "Ciao, vieni con me?", "informal"),
    ("ita", "Lei dorme.", None),
    ("nld", "Kunt u mij helpen?", "formal"),
    ("nld", "Wat doe jij?", "informal"),
    ("pol", "Czy może mi pan pomóc?", "formal"),
    ("pol", "Co robisz?", "informal"),
    ("cat", "Vostè és molt amable.", "formal"),
    ("cat", "Què vols fer tu?", "informal"),
    ("glg", "Vostede ten razón.", "formal"),
    ("glg", "Que queres, ti?", "informal"),
    ("cym", "Sut ydych chi?", "formal"),
    ("cym", "Wyt ti'n iawn?", "informal"),
    ("rus", "Как вас зовут?", "formal"),
    ("rus", "Что ты делаешь?", "informal"),
    ("rus", "Это лишь мышь.", None),
    ("jpn", "これは本です。", "formal"),
    ("jpn", "お前は誰だ？", "informal"),
    ("jpn", "「ありがとうございます」", "formal"),
    ("kor", "감사합니다.", "formal"),
    ("kor", "너 뭐 해?", "informal"),
    ("kor", "그는 학생이다.", None),
    ("hin", "आप कैसे हैं?", "formal"),
    ("hin", "तुम कहाँ हो?", "informal"),
    ("tur", "Siz nasılsınız?", "formal"),
    ("tur", "Sen ne yapıyorsun?", "informal"),
    ("tur", "Deniz temiz.", None),
    ("cmn", "您好，请坐。", "formal"),
    ("tha", "ขอบคุณครับ", "formal"),
    ("tha", "คะแนน", None),
    ("ltz", "Kënnt Dir mir hëllefen?", "formal"),
]


@pytest.mark.parametrize(("code", "text", "expected"), CASES)
def test_evidence(code, text, expected):
    hits = load(code).find(text)
    if expected is None:
        assert hits.weight < 1, hits
    else:
        assert hits.weight >= 1, hits
        assert (hits.formal > hits.informal) == (expected == "formal"), hits


def finder(*several):
    return Finder.of(Marker(text, register, 1.0, match) for text, register, match in several)


def test_the_longest_text_wins_and_look_alikes_count_nothing():
    found = finder(
        ("you", "informal", "word"),
        ("thank you", "formal", "word"),
        ("thank you card", "none", "word"),
    )
    hits = found.find("Thank you, YOU! A thank-you card, a thank you card.")
    # A hyphen is a mark of its own, so that thank-you is no thank you.
    assert (hits.formal, hits.informal) == (1, 2)
    assert hits.texts == ("thank you", "you")


def test_words_have_boundaries_and_endings_have_places():
    found = finder(
        ("tu", "informal", "word"), ("da", "formal", "ending"), ("esh", "formal", "suffix")
    )
    assert found.find("tutu status").weight == 0
    assert found.find("hada. x").formal == 1
    assert found.find("hada!’ x").formal == 1
    assert found.find("hada, x. hada x").formal == 0
    assert found.find("esh delesh").formal == 1


def test_case_and_the_start_of_a_sentence():
    found = finder(("Sie", "formal", "inner"), ("Vi", "formal", "exact"))
    assert found.find("Sie. Sie! (Sie). Er: Sie").weight == 0
    assert found.find("Ja, Sie").formal == 1
    assert found.find("sie Vi vi VI").formal == 1


@given(st.text(max_size=200))
def test_any_text_can_be_searched(text):
    for code in ("eng", "jpn", "deu"):
        hits = load(code).find(text)
        assert hits.formal >= 0
        assert hits.informal >= 0


def test_decomposed_letters_are_found():
    assert load("cat").find("Voste\u0300 mateix").formal > 0
