"""Hallucinations by type (after Raunak et al. 2021, Guerreiro et al. 2023), and a legacy formula.

Each type is a yes or no with its evidence; nothing is blended:

1. ``copy``: the output is the source, and no reference is.
2. ``oscillatory``: phrases occur at least twice more often than any in the source or a reference,
   and make up a good part of the output.
3. ``length_outlier``: the length is far from what the suite's references lead to expect of the
   source, or the output is much shorter than every reference and short for its source too.
4. ``detached``: the output is no more like its own reference than like references of other
   entries.
5. ``off_target``: most letters are in a script that the target language is not written in, or the
   output is in the source language, where that can be identified.
6. ``fabricated``: numbers and names that are neither in the source nor in a reference; for
   information, not in the rate.

Types 3 and 4 are fitted on the suite's references. The thresholds were chosen with synthetic
errors (``docs/detectors.md``): this is a detector that points at outputs worth reading, and was
never held against human judgement.
"""

from __future__ import annotations

import math
import statistics
import unicodedata
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import regex

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricDirection,
    MetricInput,
    MetricRole,
    Validation,
)
from pytest_mtarena.records import Json, LanguageFacts
from pytest_mtarena.referee.language_id import (
    CHARACTER_SCRIPTS,
    SourceDetector,
    fit_detector,
    main_script,
    restored_detector,
    scripts_of,
    target_scripts,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.text import cut

TYPES = ("copy", "oscillatory", "length_outlier", "detached", "off_target", "fabricated")
"""The types in the order of the columns; all but the last make the rate."""

MAX_CHARACTERS = 20_000
"""Of a longer text the beginning and the end are looked at, half as much of each."""
MIN_TEXTS = 20
"""References that types 3 and 4 need to be fitted."""
ANCHORS = 21
"""References of other entries that an output is compared with, at most."""
ANCHOR_CHARACTERS = 300
"""All texts are cut to this many characters for that comparison."""
MIN_ANCHORS = 10
PERCENTILE = 90.0
"""An output is detached when its own chrF is not above this percentile of the anchors'."""
ODD_LENGTH = 2.5
"""Deviations of length from which on it is enough that one anchor is as near (percentile 100)."""
DEVIATIONS = 5.0
"""Deviations of the logarithm of the length ratio from which on a length is an outlier."""
MIN_SIGMA = 0.15
SHORT = math.log(0.6)
"""Logarithm of output to reference length below which an output is short for its reference."""
SHORT_DEVIATIONS = 1.0
"""Deviations below the median that such an output must be short of for its source, too."""
EXCESS = 2
"""Occurrences of a repeated phrase beyond the most that source or a reference repeats one."""
COVERED = 0.3
"""Share of the output's tokens that such phrases must hold, twice as many for single words."""
WRONG_SCRIPT = 0.5
"""Share of letters in other scripts above which an output is off target."""
MAX_BLIND_NAMES = 0.1
"""Names are looked at when at most this share of the references has one that the source lacks."""
_SHOWN = 20
_WORDS = (1, 2, 3, 4)
_CHARACTERS = (2, 3, 4)
_ORDERS = 6

Floats = npt.NDArray[np.float64]


class Anchors:
    """References of other entries, with their character n-grams counted once."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        """Take pairs of an entry's id and its reference."""
        self.ids = [id for id, _ in texts]
        self.texts = [cut_text(text) for _, text in texts]
        counts = [grams(text) for text in self.texts]
        self._places: dict[str, int] = {}
        for counted in counts:
            for gram in counted:
                self._places.setdefault(gram, len(self._places))
        self._counts = np.zeros((len(self._places), len(texts)), np.int16)
        for column, counted in enumerate(counts):
            for gram, count in counted.items():
                self._counts[self._places[gram], column] = count
        self._totals = np.array([totals(text) for text in self.texts]).reshape(-1, _ORDERS)

    def chrf(self, text: str, counted: Mapping[str, int]) -> Floats:
        """Return the chrF of a text, whose n-grams are given, against each anchor."""
        matches = np.zeros((len(self.texts), _ORDERS))
        known = [(self._places[g], len(g) - 1, c) for g, c in counted.items() if g in self._places]
        if known:
            places, orders, most = np.array(known).T
            least = np.minimum(self._counts[places], most[:, None])
            for order in range(_ORDERS):
                matches[:, order] = least[orders == order].sum(axis=0)
        return f_scores(matches, np.array(totals(text)), self._totals)


def cut_text(text: str) -> str:
    """Return the beginning of a text as it is compared: without blanks."""
    return "".join(text[:ANCHOR_CHARACTERS].split())


def grams(text: str) -> Counter[str]:
    """Return the character n-grams of length 1 to 6."""
    return Counter(
        text[start : start + n] for n in range(1, _ORDERS + 1) for start in range(len(text) - n + 1)
    )


def totals(text: str) -> list[int]:
    """Return how many n-grams of each length a text has."""
    return [max(len(text) - n, 0) for n in range(_ORDERS)]


def f_scores(matches: Floats, outputs: npt.NDArray[Any], references: npt.NDArray[Any]) -> Floats:
    """Return chrF (0-100, beta 2, effective order) from counts of shape (pairs, 6)."""
    counted = (outputs > 0) & (references > 0)
    orders = np.maximum(counted.sum(axis=1), 1)
    share = np.where(counted, matches, 0.0)
    precision = (share / np.maximum(outputs, 1)).sum(axis=1) / orders
    recall = (share / np.maximum(references, 1)).sum(axis=1) / orders
    below = 4 * precision + recall
    scores = np.zeros(len(below))
    np.divide(500 * precision * recall, below, where=below > 0, out=scores)
    return scores


def pair_chrf(text: str, counted: Mapping[str, int], reference: str) -> float:
    """Return the chrF of a text, whose n-grams are given, against one reference, both cut."""
    matches = [0] * _ORDERS
    for gram, count in grams(reference).items():
        if gram in counted:
            matches[len(gram) - 1] += min(count, counted[gram])
    precision = recall = 0.0
    orders = 0
    for match, mine, theirs in zip(matches, totals(text), totals(reference), strict=True):
        if mine and theirs:
            precision += match / mine
            recall += match / theirs
            orders += 1
    if not precision or not recall:
        return 0.0
    return 500 * precision * recall / (4 * precision + recall) / orders


@dataclass(frozen=True)
class Fit:
    """What was learnt from the references of a suite."""

    scripts: tuple[str, ...] = ()
    median: float | None = None
    """Of the logarithm of reference to source length; None when it was not fitted."""
    sigma: float = MIN_SIGMA
    """1.4826 times the median absolute deviation, at least ``MIN_SIGMA``."""
    anchors: tuple[tuple[str, str], ...] = ()
    """Entry ids and texts; empty when ``detached`` was not fitted."""
    ceiling: float = 100.0
    """The highest ``PERCENTILE`` of chrF of a reference against anchors: above is not detached."""
    names: bool = False
    """Whether capitalised words are looked at."""
    detector: SourceDetector | None = None

    @cached_property
    def counted(self) -> Anchors:
        """The anchors with their n-grams."""
        return Anchors(self.anchors)

    def deviations(self, source: str, output: str) -> float:
        """Return how far a length is from the usual one, in deviations; 0 when not fitted."""
        if self.median is None or not source.strip():
            return 0.0
        return (length_ratio(source, output) - self.median) / self.sigma

    def stored(self) -> dict[str, Json]:
        """Return it as JSON values."""
        return {
            "scripts": list(self.scripts),
            "median": self.median,
            "sigma": self.sigma,
            "anchors": [list(anchor) for anchor in self.anchors],
            "ceiling": self.ceiling,
            "names": self.names,
            "detector": None if self.detector is None else self.detector.stored(),
        }


def restored_fit(stored: Mapping[str, Json]) -> Fit:
    """Return the fit that ``stored`` was made from."""
    detector = stored["detector"]
    return Fit(
        **{
            **stored,
            "scripts": tuple(stored["scripts"]),
            "anchors": tuple((str(id), str(text)) for id, text in stored["anchors"]),
            "detector": None if detector is None else restored_detector(detector),
        }
    )


@dataclass(frozen=True)
class Hallucination(PooledMetric):
    """Share of the entries with any of types 1 to 5, 0-1, lower is better.

    A failed attempt or a blank output invents nothing: not flagged, counted among the entries.
    """

    validation: Validation = "heuristic"
    direction: MetricDirection = "lower"
    columns: tuple[str, ...] = ("flagged", "entries", *TYPES)
    source_language: LanguageFacts = field(default_factory=LanguageFacts)
    target_language: LanguageFacts = field(default_factory=LanguageFacts)
    unsegmented: bool = False
    identify: bool = False
    """Whether the language of outputs may be identified."""
    fit: Fit = field(default_factory=Fit)

    def find(self, one: MetricInput) -> Finding:
        """Return which types the output is, with the evidence of each."""
        if not one.output.strip():
            return Finding((0.0, 1.0, *[0.0] * len(TYPES)), 0.0)
        evidence = {
            "copy": copied(one) or None,
            "oscillatory": oscillation(one, self.unsegmented),
            "length_outlier": self._length(one),
            "detached": self._detached(one),
            "off_target": self._off_target(one),
            "fabricated": fabricated(one, names=self.fit.names),
        }
        found = {name: what for name, what in evidence.items() if what is not None}
        flagged = any(name != "fabricated" for name in found)
        return Finding(
            (float(flagged), 1.0, *(float(name in found) for name in TYPES)),
            float(flagged),
            evidence=found or None,
        )

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Fit lengths, anchors and scripts to the references, then judge these.

        With itself as its reference no reference is detached or short of it; ``rate`` says
        something of the other types.
        """
        gold = [one for one in gold if one.references]
        if not gold:
            return cast("Metric", self), Calibration(n=0, rate=None)
        fitted = replace(self, fit=self._fitted(gold))
        findings = [fitted.find(one) for one in gold]
        counts = [sum(f.statistics[c] for f in findings if f.statistics) for c in range(8)]
        facts: dict[str, Json] = {"flagged_references": dict(zip(TYPES, counts[2:], strict=True))}
        not_fitted = fitted._not_fitted(len(gold))
        if not_fitted:
            facts["not_fitted"] = not_fitted
        return cast("Metric", fitted), Calibration(
            n=len(gold), rate=counts[0] / len(gold), fit=fitted.fit.stored(), facts=facts
        )

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric as a stored calibration fitted it."""
        if not calibration.fit:
            return cast("Metric", self)
        return cast("Metric", replace(self, fit=restored_fit(calibration.fit)))

    def _not_fitted(self, n: int) -> dict[str, str]:
        few = f"needs {MIN_TEXTS} entries, the suite has {n}"
        found = {}
        if self.fit.median is None:
            found["length_outlier"] = few if n < MIN_TEXTS else "too few source texts"
        if not self.fit.anchors:
            found["detached"] = few if n < MIN_TEXTS else "the references are too few or all alike"
        detector = self.fit.detector
        if not self.identify:
            found["off_target"] = "by script only: language identification was not asked for"
        elif detector is not None and detector.reason is not None:
            found["off_target"] = f"by script only: {detector.reason}"
        return found

    def _fitted(self, gold: Sequence[MetricInput]) -> Fit:
        references = [one.references[0][:MAX_CHARACTERS] for one in gold]
        sources = [one.source[:MAX_CHARACTERS] for one in gold]
        scripts = target_scripts(references, self.target_language.scripts)
        fit = Fit(scripts=tuple(sorted(scripts)), names=_names_tell(gold))
        if self.identify:
            detector = fit_detector(sources, references, self.source_language, self.target_language)
            fit = replace(fit, detector=detector)
        fit = _with_lengths(fit, gold)
        return _with_anchors(fit, gold) if len(gold) >= MIN_TEXTS else fit

    def _length(self, one: MetricInput) -> Json:
        off = self.fit.deviations(one.source, one.output)
        lengths = [length_ratio(reference, one.output) for reference in one.references]
        # A reference of about the same length vouches for it.
        vouched = any(abs(length) < -SHORT / 2 for length in lengths)
        if abs(off) > DEVIATIONS and not vouched:
            return {"deviations": round(off, 2)}
        longest = max(lengths)
        if longest < SHORT and off < -SHORT_DEVIATIONS:
            return {"deviations": round(off, 2), "of_reference": round(math.exp(longest), 2)}
        return None

    def _detached(self, one: MetricInput) -> Json:
        if not self.fit.anchors:
            return None
        text = cut_text(one.output)
        counted = grams(text)
        references = [cut_text(reference) for reference in one.references]
        own = max(pair_chrf(text, counted, reference) for reference in references)
        if own > self.fit.ceiling:
            return None
        anchors = self.fit.counted
        others = [
            score
            for id, other, score in zip(
                anchors.ids, anchors.texts, anchors.chrf(text, counted).tolist(), strict=True
            )
            if id != one.id and other not in references
        ]
        if len(others) < MIN_ANCHORS:
            return None
        odd = abs(self.fit.deviations(one.source, one.output)) > ODD_LENGTH
        limit = max(others) if odd else percentile(others, PERCENTILE)
        if own > limit:
            return None
        return {"chrf": round(own, 2), "chrf_to_others": round(limit, 2)}

    def _off_target(self, one: MetricInput) -> Json:
        letters = scripts_of(one.output[:MAX_CHARACTERS])
        total = letters.total()
        if not total:
            return None
        right = set(self.fit.scripts) or target_scripts(
            one.references, self.target_language.scripts
        )
        wrong = {script: count for script, count in letters.items() if script not in right}
        # What a reference writes in another script too is no fault: a name, a formula.
        for reference in one.references:
            if wrong:
                theirs = scripts_of(reference[:MAX_CHARACTERS])
                wrong = {s: c for s, c in wrong.items() if theirs[s] < c / 2}
        if sum(wrong.values()) > WRONG_SCRIPT * total:
            return {"script": max(wrong, key=wrong.__getitem__)}
        detector = self.fit.detector
        if (
            detector is not None
            and detector.reason is None
            and all(compared(one.output) != compared(text) for text in one.references)
            and detector.flags(one.output)
        ):
            return {"language": detector.source}
        return None


def _with_lengths(fit: Fit, gold: Sequence[MetricInput]) -> Fit:
    ratios = [length_ratio(one.source, one.references[0]) for one in gold if one.source.strip()]
    if len(ratios) < MIN_TEXTS:
        return fit
    median = statistics.median(ratios)
    spread = 1.4826 * statistics.median(abs(ratio - median) for ratio in ratios)
    return replace(fit, median=median, sigma=max(spread, MIN_SIGMA))


def _with_anchors(fit: Fit, gold: Sequence[MetricInput]) -> Fit:
    last = len(gold) - 1
    count = min(ANCHORS, len(gold))
    chosen = [gold[round(place * last / (count - 1))] for place in range(count)]
    unlike: dict[str, tuple[str, str]] = {}
    for one in chosen:
        text = one.references[0][:ANCHOR_CHARACTERS]
        if cut_text(text):
            unlike.setdefault(cut_text(text), (one.id, text))
    if len(unlike) < MIN_ANCHORS:
        return fit
    fit = replace(fit, anchors=tuple(unlike.values()))
    return replace(fit, ceiling=_ceiling(fit.counted, gold))


def _ceiling(anchors: Anchors, gold: Sequence[MetricInput]) -> float:
    """Return the highest percentile that a reference reaches against anchors not its own."""
    step = max(1, len(gold) // 200)
    highest = 0.0
    for one in gold[::step]:
        text = cut_text(one.references[0])
        scores = anchors.chrf(text, grams(text)).tolist()
        others = [
            score
            for id, other, score in zip(anchors.ids, anchors.texts, scores, strict=True)
            if id != one.id and other != text
        ]
        if others:
            highest = max(highest, percentile(others, PERCENTILE))
    return highest


def percentile(values: Sequence[float], rank: float) -> float:
    """Return a percentile, interpolated; of few values faster than numpy's."""
    ordered = sorted(values)
    place = rank / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def length_ratio(one: str, other: str) -> float:
    """Return the logarithm of the second text's length to the first's."""
    return math.log((len(other.strip()) + 1) / (len(one.strip()) + 1))


def compared(text: str) -> str:
    """Return a text as copies are compared: letters, marks and digits, NFKC, case folded."""
    plain = text[:MAX_CHARACTERS]
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)
    return "".join(filter(_is_compared, plain.casefold()))


def _is_compared(char: str) -> bool:
    return char.isalnum() or (not char.isascii() and unicodedata.category(char)[0] == "M")


def copied(one: MetricInput) -> bool:
    """Say whether the output is the source and no reference is, but for case and punctuation."""
    if abs(len(one.source) - len(one.output)) > 50 + len(one.output) // 2:
        return False
    output = compared(one.output)
    return (
        bool(output)
        and output == compared(one.source)
        and all(output != compared(reference) for reference in one.references)
    )


def oscillation(one: MetricInput, unsegmented: bool = False) -> Json:
    """Return the phrase that the output repeats too often, and how often; None when it does not."""
    output = _tokens(one.output, unsegmented)
    if len(output) <= EXCESS:
        return None
    if len(set(output)) == len(output):
        return None
    # What the source or a reference repeats may be repeated.
    others = [_tokens(text, _by_character(text)) for text in (one.source, *one.references)]
    for length in _CHARACTERS if unsegmented else _WORDS:
        counted = _phrases(output, length)
        usual = max((_most(tokens, length) for tokens in others), default=1)
        # In the order of the text, and no set: of several as frequent ones every process has to
        # name the same.
        repeated = [phrase for phrase, count in counted.items() if count >= usual + EXCESS]
        # A single word is repeated in good texts: it has to make up most of the output.
        least = 2 * COVERED if length == 1 else COVERED
        if repeated and _covered(output, length, frozenset(repeated)) >= least:
            phrase = max(repeated, key=counted.__getitem__)
            joined = ("" if unsegmented else " ").join(phrase)
            return {"repeated": cut(joined, 200), "times": counted[phrase]}
    return None


def _tokens(text: str, unsegmented: bool) -> list[str]:
    if len(text) > MAX_CHARACTERS:
        half = MAX_CHARACTERS // 2
        text = f"{text[:half]} {text[-half:]}"
    text = text.casefold()
    return [char for char in text if char.isalnum()] if unsegmented else text.split()


def _phrases(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[offset:] for offset in range(length)), strict=False))


def _most(tokens: Sequence[str], length: int) -> int:
    return max(_phrases(tokens, length).values(), default=1)


def _by_character(text: str) -> bool:
    return main_script(text[:MAX_CHARACTERS]) in CHARACTER_SCRIPTS | {"Kana"}


def _covered(tokens: Sequence[str], length: int, phrases: Container[tuple[str, ...]]) -> float:
    """Return the share of the tokens that are in one of the phrases of this length."""
    places = bytearray(len(tokens))
    windows = zip(*(tokens[offset:] for offset in range(length)), strict=False)
    for start, window in enumerate(windows):
        if window in phrases:
            places[start : start + length] = b"\x01" * length
    return sum(places) / len(tokens)


_NUMBER = regex.compile(r"\p{Nd}++(?:[.,'’٫٬\u00a0\u202f]\p{Nd}++)*+")
_NAME = regex.compile(r"(?<![.!?:…\"“«(]\s{0,2})(?<=\s)\p{Lu}[\p{L}\p{M}'’-]++")
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_SPOKEN = 12
"""Numbers up to this are often written as words."""
_STEM = 3
"""Letters that two forms of one name share at least."""


def fabricated(one: MetricInput, *, names: bool) -> Json:
    """Return numbers and names of the output that neither source nor reference has."""
    output = one.output[:MAX_CHARACTERS]
    others = [text[:MAX_CHARACTERS] for text in (one.source, *one.references)]
    found = _new_numbers(output, others)
    if names:
        found += _new_names(output, others)
    return {"new": [cut(text, 200) for text in found[:_SHOWN]]} if found else None


def _new_numbers(output: str, others: Sequence[str]) -> list[str]:
    mine = _NUMBER.findall(output)
    if not mine:
        return []
    known = {_digits(number) for text in others for number in _NUMBER.findall(text)}
    return [
        number
        for number in mine
        if (value := _digits(number)) not in known
        and (known or len(value) > 2 or int(value) > _SPOKEN)
    ]


def _digits(number: str) -> str:
    """Return the digits of a number as ASCII, without separators and leading zeros."""
    digits = "".join(str(unicodedata.digit(char)) for char in number if char.isdecimal())
    return digits.lstrip("0") or "0"


def _new_names(output: str, others: Sequence[str]) -> list[str]:
    mine = _NAME.findall(output)
    if not mine:
        return []
    known = {_stem(word) for text in others for word in _WORD.findall(text)}
    return [name for name in mine if _stem(name) not in known]


def _stem(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(filter(str.isalpha, plain))[:_STEM]


def _names_tell(gold: Sequence[MetricInput]) -> bool:
    """Say whether names of references stand in the sources too.

    They do not where nouns have capitals or names are written in another script.
    """
    new = sum(
        bool(_new_names(one.references[0][:MAX_CHARACTERS], [one.source[:MAX_CHARACTERS]]))
        for one in gold
    )
    return new <= MAX_BLIND_NAMES * len(gold)


@dataclass(frozen=True)
class LegacyHallucination(PooledMetric):
    """The documented formula 0.4 L + 0.3 R + 0.2 E + 0.1 C, 0-1, mean over the entries.

    L: character length outside 0.3 to 3 times the source's. R: share of repeated word trigrams.
    E: share of the output's words with an ASCII capital that the source lacks. C: 1 for an equal
    text, 0.5 for nearly the same characters. It is kept so that cards can be compared: it flags
    correct translations that begin with a capital and misses copies of the source. A failed
    attempt or blank output has rate 0.
    """

    validation: Validation = "unvalidated"
    direction: MetricDirection = "lower"
    role: MetricRole = "informational"

    def find(self, one: MetricInput) -> Finding:
        """Return the entry's rate."""
        value = legacy_rate(one.source, one.output)
        return Finding((value, 1.0), value)


def legacy_rate(source: str, output: str) -> float:
    """Return the legacy rate of an output, 0-1."""
    if not output.strip():
        return 0.0
    source, output = source.strip(), output.strip()
    rate = (
        0.4 * _legacy_length(source, output)
        + 0.3 * _legacy_repetition(output)
        + 0.2 * _legacy_entities(source, output)
        + 0.1 * _legacy_echo(source, output)
    )
    return min(rate, 1.0)


def _legacy_length(source: str, output: str) -> float:
    if not source:
        return float(len(output) > 10)
    ratio = len(output) / len(source)
    if ratio > 3.0:
        return min((ratio - 3.0) / 3.0, 1.0)
    return (0.3 - ratio) / 0.3 if ratio < 0.3 else 0.0


def _legacy_repetition(output: str) -> float:
    words = output.lower().split()
    if len(words) < 4:
        return 0.0
    counted = Counter(zip(words, words[1:], words[2:], strict=False))
    return (counted.total() - len(counted)) / counted.total()


_CAPITALISED = regex.compile(r"\b[A-Z][a-zA-Z]{2,}+\b")


def _legacy_entities(source: str, output: str) -> float:
    mine = {word.lower() for word in _CAPITALISED.findall(output)}
    theirs = {word.lower() for word in _CAPITALISED.findall(source)}
    return len(mine - theirs) / len(mine) if mine else 0.0


def _legacy_echo(source: str, output: str) -> float:
    one, other = source.lower(), output.lower()
    if not one:
        return 0.0
    if one == other:
        return 1.0
    shared = (Counter(one) & Counter(other)).total()
    return 0.5 if shared / max(len(one), len(other)) > 0.85 else 0.0


def make(setting: Setting) -> list[Metric]:
    """Return the two metrics for one run."""
    by_type = Hallucination(
        id="hallucination_rate",
        title="hallucination",
        needs=("20 entries for two of the types",),
        reproducible=not (setting.resources.language_id or setting.has_cards),
        source_language=setting.source,
        target_language=setting.target,
        unsegmented=setting.unsegmented,
        identify=setting.resources.language_id,
    )
    legacy = LegacyHallucination(id="hallucination_rate_legacy", title="hallucination (legacy)")
    return [cast("Metric", by_type), cast("Metric", legacy)]
