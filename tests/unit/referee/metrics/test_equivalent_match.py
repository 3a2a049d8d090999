"""Equivalent match: verdicts, classes, rules, and bad declarations."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.protocols import Examining, MetricInput
from pytest_mtarena.referee.judging import judge, total
from pytest_mtarena.referee.metrics.equivalent import NO_VARIANTS, RULES, make
from pytest_mtarena.referee.setting import Setting

(METRIC,) = make(Setting())


def one(output, *references, **fields):
    return MetricInput(
        id="e1", source="s", output=output, references=references or ("Ka lî.",), fields=fields
    )


def verdict(given):
    (found,) = METRIC.examine([given])
    return found.evidence["verdict"], found.evidence["classes"], found.value


VARIANTS = {"acceptable_variants": ["Good day.", {"text": "Morning!", "class": "COLLOQUIAL"}]}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("  good  MORNING. ", ("EXACT", [], 1.0)),
        ("good day.", ("EQUIVALENT", ["variant"], 1.0)),
        ("Morning!", ("EQUIVALENT", ["COLLOQUIAL"], 1.0)),
        ("Good day", ("MISS", [], 0.0)),
        ("morning. Good", ("MISS", [], 0.0)),
        ("", ("NO_OUTPUT", [], 0.0)),
    ],
)
def test_variants(output, expected):
    assert verdict(one(output, "Good morning.", **VARIANTS)) == expected


def test_the_other_names_of_the_fields():
    given = one("Good day", "Good morning.", variants=["Good day."], variant_rules="punctuation")
    assert verdict(given) == ("EQUIVALENT", ["variant", "punctuation"], 1.0)


@pytest.mark.parametrize(
    ("rule", "output", "reference"),
    [
        ("case", "STRASSE ΟΔΟΣ", "straße οδος"),
        ("punctuation", "Well yes (now)", "«Well, yes»: now!"),
        ("diacritics", "cafe Muller", "café Müller"),
        ("long_vowel_macron", "nēhiyawēwin", "nêhiyawêwin"),
        ("hyphen_space", "ka wapamat", "ka-wāpamat".replace("ā", "a")),
        ("apostrophes", "l’eau ʻokina", "l'eau 'okina"),
        ("width", "ＡＢＣ １２ ｶﾅ", "ABC 12 カナ"),
        ("whitespace", "今日 は", "今日は"),
    ],
)
def test_each_rule_forgives_its_difference_and_no_other(rule, output, reference):
    assert verdict(one(output, reference, normalization_rules=[rule])) == (
        "EQUIVALENT",
        [rule],
        1.0,
    )
    others = [name for name in RULES if name != rule]
    # Full-width letters fold in no other way; each other difference stays without its rule, too,
    # except that punctuation looks at hyphens and apostrophes only inside words.
    if rule != "long_vowel_macron":
        assert verdict(one(output, reference, normalization_rules=others))[0] == "MISS"


def test_only_the_rules_that_are_needed_are_named():
    given = one("cafe, l’ete", "Café l'été", normalization_rules=list(RULES))
    assert verdict(given)[1] == ["diacritics", "apostrophes", "punctuation"]


def test_rules_keep_the_signs_of_other_scripts():
    # Vowel signs are letters there: without them these would be one word.
    assert verdict(one("कि", "कु", normalization_rules=["diacritics"]))[0] == "MISS"
    assert verdict(one("มา", "ม่า", normalization_rules=["diacritics"]))[0] == "MISS"
    assert verdict(one("कम", "क्म", normalization_rules=["diacritics"]))[0] == "MISS"
    assert verdict(one("مُدَرِّس", "مدرس", normalization_rules=["diacritics"]))[0] == "EQUIVALENT"


def test_word_order_is_never_free():
    given = one("the cat saw the dog", "the dog saw the cat", normalization_rules=list(RULES))
    assert verdict(given)[0] == "MISS"


def test_nothing_but_punctuation_equals_nothing():
    assert verdict(one("?!", "...", normalization_rules=["punctuation"]))[0] == "MISS"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, NO_VARIANTS),
        ({"acceptable_variants": [], "normalization_rules": None}, NO_VARIANTS),
        ({"normalization_rules": ["case", "word_order"]}, "unknown rule 'word_order'"),
        ({"variant_rules": [1]}, "unknown rule '1'"),
        ({"variants": [1]}, "variants: texts are needed"),
        ({"variants": [{"class": "A"}]}, "variants: texts are needed"),
        ({"variants": [{"text": "a", "class": 1}]}, "variants: texts are needed"),
    ],
)
def test_entries_without_a_value(fields, reason):
    (found,) = METRIC.examine([one("a", **fields)])
    assert (found.value, found.statistics) == (None, None)
    assert reason in found.reason


def test_scores_count_entries_with_variants_only():
    inputs = [
        one("Good morning.", "Good morning.", **VARIANTS),
        one("Good day.", "Good morning.", **VARIANTS),
        one("Hello.", "Good morning.", **VARIANTS),
        one("Good morning.", "Good morning."),
    ]
    judged = judge(METRIC, inputs)
    assert judged.values == [1.0, 1.0, 0.0, None]
    assert total(METRIC, judged.rows) == (2 / 3, None)
    assert dict(zip(METRIC.columns, judged.rows[:3].sum(axis=0), strict=True)) == {
        "equivalent": 2,
        "entries": 3,
        "exact": 1,
    }
    assert isinstance(METRIC, Examining)
    assert METRIC.reproducible


@given(st.text(max_size=60), st.lists(st.sampled_from(sorted(RULES)), max_size=8))
def test_any_text_has_a_verdict(text, rules):
    (found,) = METRIC.examine(
        [one(text, "x", acceptable_variants=["y"], normalization_rules=rules)]
    )
    assert found.value is not None


@pytest.mark.parametrize("rule", sorted(RULES))
@given(text=st.text(max_size=60))
def test_a_rule_applied_twice_changes_nothing_more(rule, text):
    once = RULES[rule](text)
    assert RULES[rule](once) == once


def test_long_texts():
    began = time.process_time()
    long = "é-' " * 500_000
    given = one(long, long + "x", normalization_rules=list(RULES), variants=[long + "y"] * 20)
    assert verdict(given)[0] == "MISS"
    assert time.process_time() - began < 10


def test_the_rules_are_for_texts_of_ordinary_length():
    for size, expected in [(20_000, "EQUIVALENT"), (20_001, "MISS")]:
        given = one("e" * size, "é" * size, normalization_rules=["diacritics"])
        assert verdict(given)[0] == expected
