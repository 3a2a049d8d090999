"""Scripts of texts, and the detector of the source language with a stand-in for the model."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from pytest_mtarena.errors import MissingExtra
from pytest_mtarena.records import LanguageFacts
from pytest_mtarena.referee import language_id
from pytest_mtarena.referee.language_id import (
    SourceDetector,
    fit_detector,
    identify,
    main_script,
    restored_detector,
    script_of,
    scripts_of,
    target_scripts,
    writing,
)

ENGLISH = LanguageFacts(code="eng", alpha2="en", name="English")
WELSH = LanguageFacts(code="cym", alpha2="cy", name="Welsh")


class Model:
    """Takes the first letter of a text for its language."""

    labels = ("cy", "en", "gd", "xx")

    def rank(self, text):
        best = {"e": "en", "c": "cy", "g": "gd"}.get(text[0], "")
        if not best:
            return [(label, -1.0) for label in self.labels]
        return sorted(
            ((label, 0.0 if label == best else -1.0 - n) for n, label in enumerate(self.labels)),
            key=lambda one: -one[1],
        )


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(language_id, "_model", Model)
    monkeypatch.setattr(language_id, "missing", lambda: None)


@pytest.mark.parametrize(
    ("char", "script"),
    [
        ("a", "Latn"),
        ("ŋ", "Latn"),
        ("ж", "Cyrl"),
        ("ክ", "Ethi"),
        ("ᐃ", "Cans"),
        ("カ", "Kana"),
        ("漢", "Hani"),
        ("𞤀", "Adlm"),
        ("1", ""),
        ("!", ""),
        ("\u0301", ""),
    ],
)
def test_script_of(char, script):
    assert script_of(char) == script


def test_every_block_of_letters_has_a_script():
    # A letter without a script of its own is shared by several: modifiers and the like.
    for code in range(0, sys.maxunicode, 64):
        char = chr(code)
        if unicodedata.category(char) == "Lo" and "MATH" not in unicodedata.name(char, ""):
            assert script_of(char), f"U+{code:04X}"


def test_scripts_of_counts_letters_only():
    assert scripts_of("Ab 12, жж カ") == {"Latn": 2, "Cyrl": 2, "Kana": 1}
    assert main_script("жжж ab") == "Cyrl"
    assert main_script("12 !") == ""


def test_writing_stands_for_several_scripts():
    assert writing(["Jpan"]) == {"Hani", "Hira", "Kana"}
    assert writing(["Latn", "Cyrl"]) == {"Latn", "Cyrl"}


def test_target_scripts_leave_out_names():
    texts = ["Это телефон Nokia, и он очень хороший, я его люблю, потому что он мой"]
    assert target_scripts(texts) == {"Cyrl"}
    # Where the scripts are known, even more of another is no second script.
    assert target_scripts(["Открыть Settings"], ["Cyrl"]) == {"Cyrl", "Latn"}
    assert target_scripts(["Открыть главное меню Settings"], ["Cyrl"]) == {"Cyrl"}
    assert target_scripts(["Открыть главное меню Settings"]) == {"Cyrl", "Latn"}
    assert target_scripts(["すべて漢字かな"]) == {"Hani", "Hira", "Kana"}
    assert target_scripts([]) == set()


def test_target_scripts_are_those_in_use_of_all_that_the_language_has():
    turkmen = ["Latn", "Cyrl", "Arab"]
    assert target_scripts(["Salam, dostum"], turkmen) == {"Latn"}
    assert target_scripts(["12"], turkmen) == {"Latn", "Cyrl", "Arab"}
    assert target_scripts(["abc"], ["Cyrl"]) == {"Latn"}
    assert target_scripts(["漢字かな交じり文"], ["Jpan"]) == {"Hani", "Hira", "Kana"}


def test_identify_chooses_among_candidates(model):
    assert identify(["e", "c", "g"]) == ["en", "cy", "gd"]
    assert identify(["e", "c", "g"], ["cy", "xx"]) == ["cy", "cy", "cy"]
    assert identify(["12", "", "zzz"]) == ["", "", ""]
    with pytest.raises(ValueError, match="none of qq"):
        identify(["e"], ["qq"])


def test_missing_extra_is_one_clear_line(monkeypatch):
    language_id._model.cache_clear()
    monkeypatch.setattr(language_id, "find_spec", lambda name: None)
    assert "pip install 'pytest-mtarena[langid]'" in language_id.missing()
    with pytest.raises(MissingExtra, match="langid"):
        identify(["text"])
    detector = fit_detector(["e"], ["c"], ENGLISH, WELSH)
    assert "extra langid" in detector.reason
    assert not detector.flags("e")


def test_detector_takes_near_languages_as_candidates(model):
    detector = fit_detector(["e"] * 40, ["c"] * 37 + ["g"] * 3, ENGLISH, WELSH)
    assert detector == SourceDetector("en", ("cy", "en", "gd"), 0.0, 1.0)
    assert detector.flags("e words")
    assert not detector.flags("c words")
    assert restored_detector(detector.stored()) == detector


@pytest.mark.parametrize(
    ("sources", "references", "reason"),
    [
        (["e"] * 40, ["c"] * 39 + ["e"], "2.5% of the references"),
        (["e"] * 10 + ["c"] * 30, ["c"] * 40, "25% of the sources"),
        (["e"] * 19, ["c"] * 19, "needs 20 references"),
    ],
)
def test_detector_is_off_where_it_does_not_separate(model, sources, references, reason):
    detector = fit_detector(sources, references, ENGLISH, WELSH)
    assert reason in detector.reason
    assert not detector.flags("e")


def test_detector_needs_the_source_not_the_target(model):
    unknown = LanguageFacts(code="qqq", name="Q")
    assert fit_detector(["e"] * 20, ["c"] * 20, ENGLISH, unknown).reason is None
    assert "Q is not in the model" in fit_detector(["e"], ["c"], unknown, WELSH).reason
    assert "one language" in fit_detector(["e"], ["c"], ENGLISH, ENGLISH).reason


def test_the_real_model_tells_english_from_welsh():
    pytest.importorskip("py3langid")
    language_id._model.cache_clear()
    texts = ["Where is the nearest station, please?", "Mae hi'n bwrw glaw yn y mynyddoedd heddiw."]
    assert identify(texts, ["en", "cy"]) == ["en", "cy"]
