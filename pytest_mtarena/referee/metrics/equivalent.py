"""Equivalent match: outputs that equal a reference, or a text that the suite calls just as right.

A suite says what is just as right in two ways: ``acceptable_variants`` (or ``variants``) lists
whole texts, and ``normalization_rules`` (or ``variant_rules``) names differences that do not
matter. Nothing else is forgiven; word order never is, because a shuffle can swap who does what.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_mtarena.protocols import Finding, Metric, MetricInput
from pytest_mtarena.records import Json
from pytest_mtarena.referee.metrics.exact import plain
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.text import cut, printable

Verdict = Literal["EXACT", "EQUIVALENT", "MISS", "NO_OUTPUT"]

NO_VARIANTS = "no variants"
MAX_CHARACTERS = 20_000
"""Texts longer than this are compared without the rules."""
MAX_VARIANTS = 200
"""How many variants of an entry are looked at."""
MAX_CLASSES = 20

_VARIANT_FIELDS = ("acceptable_variants", "variants")
_RULE_FIELDS = ("normalization_rules", "variant_rules")
_UNNAMED = "variant"

_APOSTROPHES = str.maketrans(dict.fromkeys("‘’‛ʼʻʹ′`´＇", "'"))
_HYPHENS = str.maketrans(dict.fromkeys("-‐‑‒–—―−\u00ad", " "))
_VOWELS = frozenset("aeiouyAEIOUYаеиоуыэюяАЕИОУЫЭЮЯ")
_CIRCUMFLEX, _MACRON = "\u0302", "\u0304"
_INSIDE_WORDS = "'’ʼ-‐‑"


def _no_case(text: str) -> str:
    return text.casefold()


def _no_punctuation(text: str) -> str:
    """Drop punctuation; hyphens and apostrophes inside words have rules of their own."""
    kept = "".join(
        char for char in text if char in _INSIDE_WORDS or unicodedata.category(char)[0] != "P"
    )
    return " ".join(filter(None, (word.strip(_INSIDE_WORDS) for word in kept.split())))


def _no_diacritics(text: str) -> str:
    return _composed(char for char in _decomposed(text) if not _is_diacritic(char))


def _is_diacritic(char: str) -> bool:
    # Vowel signs of Indic and Thai script are combining marks too, but letters to their readers:
    # they have other combining classes than accents (200 and up) and vowel points (10 to 36).
    place = unicodedata.combining(char)
    return 10 <= place <= 36 or place >= 200


def _macrons(text: str) -> str:
    base, letters = "", []
    for char in _decomposed(text):
        if not unicodedata.combining(char):
            base = char
        letters.append(_MACRON if char == _CIRCUMFLEX and base in _VOWELS else char)
    return _composed(letters)


def _hyphens_as_spaces(text: str) -> str:
    return " ".join(text.translate(_HYPHENS).split())


def _one_apostrophe(text: str) -> str:
    return text.translate(_APOSTROPHES)


def _one_width(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFKC", char)
        if unicodedata.decomposition(char).startswith(("<wide>", "<narrow>"))
        else char
        for char in text
    )


def _no_whitespace(text: str) -> str:
    return "".join(text.split())


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _composed(chars: Iterable[str]) -> str:
    return unicodedata.normalize("NFC", "".join(chars))


RULES: Mapping[str, Callable[[str], str]] = {
    "width": _one_width,
    "case": _no_case,
    "long_vowel_macron": _macrons,
    "diacritics": _no_diacritics,
    "apostrophes": _one_apostrophe,
    "hyphen_space": _hyphens_as_spaces,
    "punctuation": _no_punctuation,
    "whitespace": _no_whitespace,
}
"""The rules that a suite may declare, in the order in which they are applied."""


@dataclass(frozen=True)
class EquivalentMatch(PooledMetric):
    """The share of entries whose output is a reference or an equivalent of one, 0 to 1.

    It applies to entries that declare variants or rules. The verdict ``EXACT`` follows the rule of
    ``exact_match_rate`` (white space, lower case); ``EQUIVALENT`` is a declared variant by the same
    rule, or a reference or variant once the declared rules are applied to both sides. An empty
    output is ``NO_OUTPUT`` and counts as a miss. The first column counts both kinds of match.
    """

    def find(self, one: MetricInput) -> Finding:
        """Return the verdict on one entry and the classes of difference that were forgiven."""
        variants, rules, problem = _declared(one.fields)
        if problem is not None:
            return Finding(None, None, problem, is_fault=True)
        if not variants and not rules:
            return nothing(NO_VARIANTS)
        verdict, classes = _verdict(one, variants, rules)
        hit = float(verdict in ("EXACT", "EQUIVALENT"))
        evidence = {"verdict": verdict, "classes": classes[:MAX_CLASSES]}
        return Finding((hit, 1.0, float(verdict == "EXACT")), hit, None, evidence)


def make(setting: Setting) -> list[Metric]:
    """Return the metric; a suite without variants gives it no value."""
    metric = EquivalentMatch(
        "equivalent_match_rate",
        "equivalent",
        role="secondary",
        validation="heuristic",
        needs=("entries with acceptable_variants or normalization_rules",),
        columns=("equivalent", "entries", "exact"),
    )
    return [metric]


def _verdict(
    one: MetricInput, variants: Sequence[tuple[str, str]], rules: Sequence[str]
) -> tuple[Verdict, list[str]]:
    output = plain(one.output)
    if not output:
        return "NO_OUTPUT", []
    references = [plain(text) for text in one.references]
    if output in references:
        return "EXACT", []
    named = [(plain(text), name) for text, name in variants]
    classes = _unique(name for text, name in named if text == output)
    if not classes and rules:
        classes = _by_rules(output, [*((text, "") for text in references), *named], rules)
    return ("EQUIVALENT", classes) if classes else ("MISS", [])


def _by_rules(output: str, accepted: Sequence[tuple[str, str]], rules: Sequence[str]) -> list[str]:
    """Return the rules, and classes of variants, that make the output equal; empty: none do."""
    if len(output) > MAX_CHARACTERS:
        return []
    wanted = _folded(output, rules)
    if not wanted:  # nothing but what the rules drop: it says nothing
        return []
    for text, name in accepted:
        if len(text) <= MAX_CHARACTERS and _folded(text, rules) == wanted:
            return _unique(filter(None, [name, *_needed(output, text, rules)]))
    return []


def _needed(output: str, text: str, rules: Sequence[str]) -> list[str]:
    """Return the rules without which the texts differ; all when each can be done without."""
    needed = []
    for rule in rules:
        others = [other for other in rules if other != rule]
        if _folded(output, others) != _folded(text, others):
            needed.append(rule)
    return needed or list(rules)


def _folded(text: str, rules: Sequence[str]) -> str:
    for name, fold in RULES.items():
        if name in rules:
            text = fold(text)
    return text


def _declared(
    fields: Mapping[str, Json],
) -> tuple[list[tuple[str, str]], list[str], str | None]:
    """Return variants with their classes, rules, and what is wrong with them."""
    variants: list[tuple[str, str]] = []
    for key in _VARIANT_FIELDS:
        for item in _listed(fields.get(key))[:MAX_VARIANTS]:
            variant = _variant(item)
            if variant is None:
                return [], [], f"{key}: texts are needed, or objects with a text and a class"
            variants.append(variant)
    rules: list[str] = []
    for key in _RULE_FIELDS:
        for item in _listed(fields.get(key)):
            if not isinstance(item, str) or item not in RULES:
                return [], [], f"{key}: unknown rule {cut(printable(str(item)), 40)!r}"
            rules.append(item)
    return variants, _unique(rules), None


def _listed(value: Json) -> list[Json]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _variant(item: Json) -> tuple[str, str] | None:
    if isinstance(item, str):
        return item, _UNNAMED
    if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
        return None
    name = item.get("class")
    if name is not None and not isinstance(name, str):
        return None
    return item["text"], cut(name, 100) if name else _UNNAMED


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
