"""Orthographic accuracy: the share of words that are spelt with the letters of the language.

It says nothing of whether a word exists: it finds letters that the language does not have, which
are a sign of untranslated words, of a related language, of a lost or wrong diacritic, of look-alike
letters of another script, and of two spelling conventions in one text.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricInput,
    Validation,
)
from pytest_mtarena.records import Json, LanguageFacts
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.words import APOSTROPHES, HYPHENS, Word, words_of

MIN_ACCEPTED = 0.80
"""Share of the references' words below which the known letters are not those of the suite."""

MAX_MIXED = 0.10
"""Share of references with both marks of long vowels above which these are letters of their own."""

NO_WORDS = "no words"

_PAIRS = tuple(zip("āēīōūȳ", "âêîôûŷ", strict=True))

_TWO_CONVENTIONS = frozenset(
    (
        "ang",
        "atj",
        "cre",
        "crj",
        "crk",
        "crl",
        "crm",
        "csw",
        "cwd",
        "jpn",
        "lat",
        "moe",
        "mri",
        "nsk",
    )
)
"""Languages whose long vowels are written with a macron by some and with a circumflex by others:
Cree and its relatives, Latin, Old English, Māori, Japanese in Latin letters. A language card that
gives the letters makes any language one of them."""

_ALWAYS = frozenset(APOSTROPHES + HYPHENS + ".")
"""What stands in words of any language."""

_TATWEEL = "\u0640"
"""Stretches Arabic letters and is none itself."""

_SHOWN = 20
_WORD_SHOWN = 60


@dataclass(frozen=True)
class OrthographicAccuracy(PooledMetric):
    """Words with none but the language's letters over all words of the outputs, 0-1.

    Letters are the exemplar letters of the CLDR or of the language card, in capitals too, in NFC.
    Digits and invisible characters inside words are not looked at; apostrophes, hyphens and full
    stops belong to every language, other signs must be among its punctuation. Auxiliary letters,
    those of names and loan words, are accepted when the references use them. Numbers, URLs, e-mail
    addresses and placeholders are no words.

    Where long vowels are written in two ways, with a macron or a circumflex, either will do, but
    not both in one text: the words of the convention that fewer of its words follow are wrong, and
    words that mix both. When as many follow each, the one that the references prefer is right, else
    the one that comes first. This is not asked for where more than one in ten references
    with such vowels has both.

    An output without words has no value; of a failed entry that is true as well.
    """

    id: str = "orthographic_accuracy"
    title: str = "orthographic accuracy"
    validation: Validation = "heuristic"
    needs: tuple[str, ...] = ("the letters of the target language",)
    columns: tuple[str, ...] = ("accepted_words", "words")
    letters: frozenset[str] = frozenset()
    """The language's letters in both cases, and its punctuation."""
    auxiliary: str = ""
    """Auxiliary letters that may be accepted, as the language has them."""
    accepted: frozenset[str] = frozenset()
    """The letters, and those auxiliary letters that are accepted, in both cases."""
    language: str = "the target language"
    conventions: bool = False
    """Whether long vowels are written in one of two ways."""
    preferred: str = ""
    """``macron`` or ``circumflex``: what most references use; empty when that is not known."""

    def find(self, one: MetricInput) -> Finding:
        """Count the words of the output, and those that are accepted."""
        words = _words(one.output)
        if not words:
            return nothing(NO_WORDS)
        wrong = self._wrong(words)
        good = len(words) - sum(wrong.values())
        found = [word[:_WORD_SHOWN] for word in list(wrong)[:_SHOWN]]
        evidence = {"words": found} if found else None
        return Finding((good, len(words)), good / len(words), evidence=evidence)

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Find out which auxiliary letters the references use, and whether the letters fit them."""
        texts = [words for one in gold if (words := _words(one.output))]
        if not texts:
            return self, Calibration(n=0, rate=None, reason="the references have no words")
        letters = {char for words in texts for word in words for char in word}
        letters |= {char.lower() for char in letters}
        used = "".join(char for char in self.auxiliary if char in letters)
        preferred, distinct = self._conventions_of(texts)
        fit = {"auxiliary": used, "long_vowels": "distinct" if distinct else preferred}
        fitted = self._fitted(fit)
        count = sum(map(len, texts))
        unknown = [word for words in texts for word in fitted._wrong(words).elements()]
        foreign = Counter(
            # In the order of the text: of equally frequent ones every process names the same.
            char
            for word in unknown
            for char in dict.fromkeys(word.lower())
            if not fitted._known(char)
        )
        rate = 1 - len(unknown) / count
        reason = None
        if rate < MIN_ACCEPTED:
            reason = (
                f"only {rate:.0%} of the references' words are spelt with the letters known for "
                f"{self.language} ({MIN_ACCEPTED:.0%} are needed)"
            )
        facts = {
            "words": count,
            "accepted_words": count - len(unknown),
            "other_letters": dict(foreign.most_common(10)),
        }
        return fitted, Calibration(n=len(texts), rate=rate, reason=reason, fit=fit, facts=facts)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric with the auxiliary letters and the convention of a stored card."""
        return self._fitted(calibration.fit)

    def _fitted(self, fit: Mapping[str, Json]) -> OrthographicAccuracy:
        used, vowels = str(fit.get("auxiliary", "")), str(fit.get("long_vowels", ""))
        return replace(
            self,
            accepted=self.letters | _all_cases(used),
            conventions=self.conventions and vowels != "distinct",
            preferred="" if vowels == "distinct" else vowels,
        )

    def _known(self, char: str) -> bool:
        """Say whether a character may stand in a word."""
        if char in self.accepted or char in _ALWAYS or char == _TATWEEL:
            return True
        if char.lower() in self.accepted:  # a capital that its small letter does not name: ẞ
            return True
        kind = unicodedata.category(char)
        return kind == "Cf" or kind[0] == "N"

    def _wrong(self, words: Sequence[str]) -> Counter[str]:
        """Return the words that are not accepted, in their order, with how often they stand."""
        strange = {char for char in set().union(*words) if not self._known(char)}
        wrong: Counter[str] = Counter()
        if strange:
            wrong.update(word for word in words if not strange.isdisjoint(word))
        if self.conventions:
            wrong |= Counter(self._inconsistent(words))
        return wrong

    def _inconsistent(self, words: Sequence[str]) -> Iterable[str]:
        """Return the words that write long vowels in another way than most of the text."""
        macron, circumflex = self._by_convention(words)
        if not macron or not circumflex:
            return ()
        first = next(word for word in words if word in macron or word in circumflex)
        kept = "macron" if macron.total() > circumflex.total() else "circumflex"
        if macron.total() == circumflex.total():
            kept = self.preferred or ("macron" if first in macron else "circumflex")
        lost = circumflex if kept == "macron" else macron
        return [word for word in words if word in lost]

    def _by_convention(self, words: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
        """Return the words with a macron and those with a circumflex on a long vowel."""
        pairs = [one for one in _PAIRS if self.accepted.issuperset(one)]
        macrons = _all_cases(macron for macron, _ in pairs)
        circumflexes = _all_cases(circumflex for _, circumflex in pairs)
        listed = list(words)
        return (
            Counter(word for word in listed if not macrons.isdisjoint(word)),
            Counter(word for word in listed if not circumflexes.isdisjoint(word)),
        )

    def _conventions_of(self, texts: Sequence[Sequence[str]]) -> tuple[str, bool]:
        """Return which convention the references prefer, and whether they mix both at will."""
        if not self.conventions:
            return "", False
        found = [self._by_convention(words) for words in texts]
        marked = sum(1 for one in found if any(one))
        mixed = sum(1 for one in found if all(one))
        macron = sum(one.total() for one, _ in found)
        circumflex = sum(one.total() for _, one in found)
        if macron == circumflex:
            return "", mixed > MAX_MIXED * marked
        return "macron" if macron > circumflex else "circumflex", mixed > MAX_MIXED * marked


def make(setting: Setting) -> list[Metric]:
    """Return orthographic accuracy for the target language."""
    return [make_orthography(setting.target)]


def make_orthography(facts: LanguageFacts) -> OrthographicAccuracy:
    """Return orthographic accuracy for a language; missing when its letters are not known."""
    name = facts.name or facts.code or "the target language"
    if not facts.letters:
        return OrthographicAccuracy(
            missing=f"the letters of {name} are not known; a language card can give them "
            "(orthography.letters, see --mt-cards-dir)"
        )
    main = unicodedata.normalize("NFC", facts.letters)
    auxiliary = unicodedata.normalize("NFC", facts.auxiliary)
    letters = _all_cases(main + unicodedata.normalize("NFC", facts.marks))
    given_by_card = "orthography" in facts.card
    return OrthographicAccuracy(
        letters=letters,
        auxiliary="".join(char for char in dict.fromkeys(auxiliary) if char not in main),
        accepted=letters | _all_cases(auxiliary),
        language=name,
        conventions=given_by_card or facts.code in _TWO_CONVENTIONS,
        reproducible=not facts.card,
    )


def _words(text: str) -> list[str]:
    """Return the words of a text in NFC."""
    whole: list[Word] = words_of(unicodedata.normalize("NFC", text))
    return [word.text for word in whole if word.kind == "word"]


def _all_cases(letters: Iterable[str]) -> frozenset[str]:
    """Return letters in all their cases, as far as these are one character."""
    return frozenset(
        case
        for char in letters
        for case in (char, char.lower(), char.upper(), char.title())
        if len(case) == 1
    )
