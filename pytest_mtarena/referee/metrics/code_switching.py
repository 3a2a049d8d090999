"""Code switching: how much of the outputs is not in the target language.

A token is a word, or one character of a script that is written without spaces between words;
numbers, URLs, e-mail addresses and placeholders are none. A token counts as switched when

- its letters are in a script that the target language is not written in,
- it belongs to a run of at least three words (six characters of scripts without spaces) that
  stands in the source in the same order and in no reference,
- the whole output is the source while no reference is, whatever its length, or
- the whole output is in the source language, where the language can be identified (same-script
  pairs only, and only when that was tried on the suite's own texts),

and no reference holds it (save for a copy of the whole source). A script that is neither the
target's nor the source's counts too. Half-translated outputs in the script of the source are
found as far as three words in a row were left; single words left in it are not found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricDirection,
    MetricInput,
    Validation,
)
from pytest_mtarena.records import Json, LanguageFacts
from pytest_mtarena.referee.language_id import (
    CHARACTER_SCRIPTS,
    SourceDetector,
    fit_detector,
    main_script,
    restored_detector,
    target_scripts,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.words import words_of
from pytest_mtarena.text import cut

MAX_CHARACTERS = 20_000
"""Longer texts are cut before they are looked at."""
RUN = 3
"""Words in a row that make a copied run; of characters it takes twice as many."""
THRESHOLD = 0.2
"""An entry is flagged when its rate is above this, unless the references ask for more."""
_THRESHOLDS = (THRESHOLD, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MAX_FALSE_ALARMS = 0.02
"""Share of the references that may be flagged when they are judged without themselves."""
MIN_FOUND = 0.9
"""Share of copied sources that must be flagged."""
NO_SOURCE = "no source text"
_SHOWN = 20


class Token(NamedTuple):
    """A word, or a character of a script without spaces."""

    key: str
    """As it is compared: NFKC, case folded."""
    text: str
    script: str
    """ISO 15924 code; empty when its characters belong to all scripts."""
    single: bool
    """Whether it is a character of a script without spaces."""


class Reading(NamedTuple):
    """What is needed of a text."""

    tokens: list[Token]
    plain: str
    """As copies are compared: words and numbers alone, NFKC, case folded, without blanks."""


@dataclass(frozen=True)
class CodeSwitching(PooledMetric):
    """Mean over the entries of the share of output tokens that are not in the target language.

    Scale 0-1, lower is better. A failed attempt and a blank output hold no token: rate 0, counted
    among the entries. An entry without a source has no value.
    """

    validation: Validation = "heuristic"
    direction: MetricDirection = "lower"
    columns: tuple[str, ...] = (
        "rate",
        "entries",
        "wrong_script_tokens",
        "copied_tokens",
        "tokens",
        "flagged",
    )
    source_language: LanguageFacts = field(default_factory=LanguageFacts)
    target_language: LanguageFacts = field(default_factory=LanguageFacts)
    identify: bool = False
    """Whether the language of outputs may be identified."""
    scripts: frozenset[str] = frozenset()
    """Scripts of the target language; empty: not fitted, those of the entry's references."""
    detector: SourceDetector | None = None
    threshold: float = THRESHOLD

    def find(self, one: MetricInput) -> Finding:
        """Return the entry's rate and what makes it."""
        if not one.source.strip():
            return nothing(NO_SOURCE)
        return self._judge(one, [read(text) for text in one.references])

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Fit scripts, language identification and threshold to the suite's references.

        Each reference is judged as an output that has no reference: with itself to compare with
        it could not be flagged at all. ``rate`` is the share that is flagged then.
        """
        gold = [one for one in gold if one.source.strip() and one.references]
        if not gold:
            return cast("Metric", self), Calibration(n=0, rate=None, reason=NO_SOURCE)
        fitted = self._fitted(gold)
        blind = [_rate(fitted._judge(_as_output(one, one.references[0]), [])) for one in gold]
        copies = [
            _rate(fitted.find(_as_output(one, one.source)))
            for one in gold
            if read(one.source).plain not in [read(text).plain for text in one.references]
        ]
        threshold = next(
            (
                one
                for one in _THRESHOLDS
                if _above(blind, one) <= MAX_FALSE_ALARMS and _above(copies, one, 1.0) >= MIN_FOUND
            ),
            None,
        )
        reason = None
        if threshold is None:
            reason = (
                f"{_above(blind, _THRESHOLDS[-1]):.0%} of the references look like another "
                "language than the target"
            )
        fitted = replace(fitted, threshold=threshold or THRESHOLD)
        return cast("Metric", fitted), Calibration(
            n=len(gold),
            rate=_above(blind, fitted.threshold),
            reason=reason,
            fit=fitted._stored(),
            facts={
                "references": "judged as outputs without a reference",
                "mean_rate_of_references": sum(blind) / len(blind),
                "source_copies_flagged": _above(copies, fitted.threshold, 1.0),
                "language_identification": fitted._about_identification(),
            },
        )

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric as a stored calibration fitted it."""
        fit = calibration.fit
        if not fit:
            return cast("Metric", self)
        fitted = replace(
            self,
            scripts=frozenset(fit["scripts"]),
            threshold=float(fit["threshold"]),
            detector=None if fit["detector"] is None else restored_detector(fit["detector"]),
        )
        return cast("Metric", fitted)

    def _fitted(self, gold: Sequence[MetricInput]) -> CodeSwitching:
        references = [one.references[0][:MAX_CHARACTERS] for one in gold]
        sources = [one.source[:MAX_CHARACTERS] for one in gold]
        scripts = target_scripts(references, self.target_language.scripts)
        same = target_scripts(sources) <= scripts
        detector = None
        if self.identify and same:
            detector = fit_detector(sources, references, self.source_language, self.target_language)
        return replace(self, scripts=scripts, detector=detector)

    def _stored(self) -> dict[str, Json]:
        return {
            "scripts": sorted(self.scripts),
            "threshold": self.threshold,
            "detector": None if self.detector is None else self.detector.stored(),
        }

    def _about_identification(self) -> str:
        if not self.identify:
            return "off: not asked for"
        if self.detector is None:
            return "off: the languages differ in script"
        if self.detector.reason is not None:
            return f"off: {self.detector.reason}"
        return (
            f"on: finds {self.detector.found:.0%} of the sources, "
            f"{self.detector.false_alarms:.1%} of the references are taken for one"
        )

    def _judge(self, one: MetricInput, references: Sequence[Reading]) -> Finding:
        output, plain = read(one.output)
        if not output:
            return Finding((0.0, 1.0, 0.0, 0.0, 0.0, 0.0), 0.0)
        source = read(one.source)
        known = {token.key for reference in references for token in reference.tokens}
        fresh = [token.single or token.key not in known for token in output]
        equal = any(plain == reference.plain for reference in references)
        whole = plain == source.plain and not equal
        copied = [True] * len(output)
        if not whole:
            places = copied_places(output, source.tokens, [other.tokens for other in references])
            copied = [covered and new for covered, new in zip(places, fresh, strict=True)]
        wrong = self._wrong_script(output, known, one)
        foreign = (
            self.detector is not None and not (whole or equal) and self.detector.flags(one.output)
        )
        switched = [
            a or b or (foreign and new) for a, b, new in zip(copied, wrong, fresh, strict=True)
        ]
        rate = sum(switched) / len(output)
        flagged = rate > self.threshold
        evidence = None
        if rate:
            evidence = {
                "flagged": flagged,
                "copied": list(_runs(output, copied)),
                "wrong_script": [
                    cut(token.text, 200)
                    for token, is_wrong in zip(output, wrong, strict=True)
                    if is_wrong
                ][:_SHOWN],
                "language": self.detector.source if foreign and self.detector else None,
            }
        counts = (sum(wrong), sum(copied), len(output), flagged)
        return Finding((rate, 1.0, *map(float, counts)), rate, evidence=evidence)

    def _wrong_script(
        self, output: Sequence[Token], known: AbstractSet[str], one: MetricInput
    ) -> list[bool]:
        right = self.scripts or target_scripts(one.references, self.target_language.scripts)
        if not right:
            return [False] * len(output)
        return [
            bool(token.script) and token.script not in right and token.key not in known
            for token in output
        ]


def make(setting: Setting) -> list[Metric]:
    """Return the metric for one run."""
    source, target = setting.source, setting.target
    same = bool(source.code) and source.code == target.code
    metric = CodeSwitching(
        id="code_switching_rate",
        title="code switching",
        needs=("a source text",),
        missing="source and target are the same language" if same else None,
        reproducible=not (setting.resources.language_id or setting.has_cards),
        source_language=source,
        target_language=target,
        identify=setting.resources.language_id,
    )
    return [cast("Metric", metric)]


def read(text: str) -> Reading:
    """Return the tokens of a text that belong to a language, and the text to compare."""
    tokens = []
    plain = []
    for word in words_of(text[:MAX_CHARACTERS]):
        plain.append(word.text)
        if word.kind != "word":
            continue
        script = main_script(word.text)
        if script in CHARACTER_SCRIPTS:
            tokens += [Token(char, char, main_script(char), True) for char in word.text]
        else:
            tokens.append(Token(_folded(word.text), word.text, script, False))
    return Reading(tokens, "".join(_folded("".join(plain)).split()))


def _folded(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return plain.casefold()


def copied_places(
    output: Sequence[Token], source: Sequence[Token], references: Iterable[Sequence[Token]]
) -> list[bool]:
    """Say of each output token whether it belongs to a run copied from the source.

    A run is made of trigrams that the source has and no reference has. It counts from three words
    on, two characters of a script without spaces being worth one word.
    """
    places = [False] * len(output)
    known = set(_trigrams(source))
    for reference in references:
        known.difference_update(_trigrams(reference))
    if not known:
        return places
    for start, trigram in enumerate(_trigrams(output)):
        if trigram in known:
            places[start : start + RUN] = [True] * RUN
    for start, end in _stretches(places):
        if sum(1 if token.single else 2 for token in output[start:end]) < 2 * RUN:
            places[start:end] = [False] * (end - start)
    return places


def _trigrams(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    keys = [token.key for token in tokens]
    return zip(*(keys[offset:] for offset in range(RUN)), strict=False)


def _stretches(places: Sequence[bool]) -> Iterator[tuple[int, int]]:
    start = None
    for index, covered in enumerate([*places, False]):
        if covered and start is None:
            start = index
        elif not covered and start is not None:
            yield start, index
            start = None


def _runs(output: Sequence[Token], places: Sequence[bool]) -> Iterator[str]:
    for number, (start, end) in enumerate(_stretches(places)):
        if number == _SHOWN:
            return
        parts = [token.text if token.single else f"{token.text} " for token in output[start:end]]
        yield cut("".join(parts).strip(), 200)


def _as_output(one: MetricInput, text: str) -> MetricInput:
    return one.model_copy(update={"output": text})


def _rate(found: Finding) -> float:
    return found.value or 0.0


def _above(rates: Sequence[float], threshold: float, empty: float = 0.0) -> float:
    return sum(rate > threshold for rate in rates) / len(rates) if rates else empty
