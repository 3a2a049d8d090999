"""Word for word: what is replaced, and what must stay as it is."""

from __future__ import annotations

import functools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.contestants.loading import load_method
from tests.unit.methods.conftest import METHODS

WORDS = json.loads((METHODS / "lexicon" / "lexicon.json").read_text("utf-8"))


def test_the_list_is_of_lower_case_words_and_phrases():
    assert len(WORDS) > 600
    for word, translated in WORDS.items():
        assert word == word.lower().strip()
        assert translated == translated.strip() != ""
        assert len(word.split()) <= 3


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("file", WORDS["file"]),
        ("File", WORDS["file"].capitalize()),
        ("FILE", WORDS["file"].upper()),
        ("file, file; file!", f"{WORDS['file']}, {WORDS['file']}; {WORDS['file']}!"),
        ("log in", WORDS["log in"]),
        ("log  in", f"{WORDS['log']}  {WORDS['in']}"),
        ("Don’t", WORDS["don't"].capitalize()),
        ("flurb file", f"flurb {WORDS['file']}"),
        ("file_name v2file", "file_name v2file"),
        ("<b>file</b>\n{file} %(file)s $file :file", f"<b>{WORDS['file']}</b>\n"
         "{file} %(file)s $file :file"),
        ("see https://example.org/open/file", f"{WORDS['see']} https://example.org/open/file"),
        ("  \t", "  \t"),
    ],
)  # fmt: skip
def test_known_words_are_replaced_and_the_rest_stays(outputs, source, expected):
    assert outputs("lexicon", [source]) == [expected]


def test_another_pair_is_refused_for_each_entry(translate):
    attempts = translate("lexicon", ["file"], "eng>spa")
    assert "eng>por only, not eng>spa" in attempts[0].failure.message


@functools.cache
def lexicon():
    return load_method(METHODS / "lexicon", {})._translate.__self__


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_is_taken(text):
    translated = lexicon().translate_text(text)
    assert isinstance(translated, str)
    assert [c for c in translated if c in "\n\t{}"] == [c for c in text if c in "\n\t{}"]
