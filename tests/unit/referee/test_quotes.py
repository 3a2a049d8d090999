"""Quotation marks against apostrophes, primes and strays."""

from __future__ import annotations

import time

import pytest

from pytest_mtarena.referee.quotes import find_pairs


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("don't, users' and 'tis", []),
        ("l’arbre d’aquí, the users’ files", []),
        ("say 'yes' or ‘no’", ["''", "‘’"]),
        ('"a" and “b” and «c» and „d“ and 「e」', ['""', "“”", "«»", "„“", "「」"]),
        ("“it isn’t ‘here’”", ["‘’", "“”"]),
        ("«a “b” c»", ["“”", "«»"]),
        ('a 5" pipe', []),
        ('the "5" key', ['""']),
        ("”x” in Swedish", ["””"]),
        ('"\'tis here"', ['""']),
    ],
)
def test_pairs(text, pairs):
    assert find_pairs(text) == [(one[0], one[1]) for one in pairs]


@pytest.mark.parametrize("text", ['one " alone', "“open", "closed»", "“a «b” c»"])
def test_a_mark_without_a_partner_spoils_the_text(text):
    assert find_pairs(text) is None


def test_only_allowed_pairs_are_pairs():
    assert find_pairs('"a"', {("«", "»")}) is None
    assert find_pairs("don't «a»", {("«", "»")}) == [("«", "»")]


def test_a_megabyte_of_open_marks_is_no_trouble():
    start = time.process_time()
    find_pairs("'a ‘b “" * 150_000)
    find_pairs("'a » " * 200_000, {("'", "'"), ("«", "»")})
    assert time.process_time() - start < 10
