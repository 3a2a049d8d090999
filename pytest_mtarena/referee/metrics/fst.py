"""FST acceptance: how many of the words of an output a morphological analyser knows.

A word form that a finite-state analyser of the language rejects is likely not a word of it. Only
words count: numbers, URLs, e-mail addresses and placeholders are left out, and so are capitalised
words within a sentence that the analyser does not know, since they are names as a rule. What
stands at the beginning of a sentence is looked up in lower case too. An analyser that does not
know the suite's own references says nothing of outputs: the score is then null.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pytest_mtarena.protocols import (
    Calibration,
    Finding,
    Metric,
    MetricInput,
    MetricRole,
    Validation,
)
from pytest_mtarena.records import Json
from pytest_mtarena.referee.analysers import (
    Lookup,
    NoAnalyser,
    Reader,
    find_analyser,
    open_analyser,
)
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.referee.words import Word, parts, words_of

MIN_REFERENCE_ACCEPTANCE = 0.80
"""An analyser that accepts a smaller share of the words of the references is not used."""
NEEDS = ("an analyser of the target language (--mt-fst)",)
NO_WORDS = "no words to look up"
ALL_FAULTS = "every look-up failed"

MAX_WORDS = 5_000
"""Words further on in an output are not looked up."""
MAX_LISTED = 20
MAX_TEXT = 200

_SENTENCE_END = re.compile(r"[.!?…。！？؟۔।॥։።\n\r]")
_CAPITAL_NOUNS = frozenset({"deu", "ltz", "gsw", "bar", "nds", "pfl", "frr", "stq"})
"""Languages that write all nouns with a capital: it is no sign of a name there."""


@dataclass
class Tally:
    """What the words of a text came to."""

    valid: int = 0
    words: int = 0
    """Words that count: neither names that are not known nor look-ups that failed."""
    names: int = 0
    faults: int = 0
    pieces: int = 0
    """Everything that is no punctuation, numbers and the like too."""
    rejected: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another text; its rejected words are not kept."""
        self.valid += other.valid
        self.words += other.words
        self.names += other.names
        self.faults += other.faults
        self.pieces += other.pieces


class Placed(NamedTuple):
    """A word and whether it begins a sentence."""

    word: Word
    initial: bool


def placed_words(text: str) -> Iterable[Placed | None]:
    """Yield the words of a text, and None for each number, URL, address or placeholder."""
    initial, end = True, 0
    for word in words_of(text):
        initial = initial or bool(_SENTENCE_END.search(text, end, word.start))
        end = word.end
        if word.kind == "word":
            yield Placed(word, initial)
            initial = False
        else:
            yield None


def tally(reader: Reader, text: str) -> Tally:
    """Look up the words of a text."""
    found = Tally()
    for placed in islice(placed_words(text), MAX_WORDS):
        found.pieces += 1
        if placed is None:
            continue
        try:
            accepted = reader.accepts(placed.word.text)
        except Exception:  # of a look-up, whatever it is: it says nothing of the word
            found.faults += 1
            continue
        if not accepted and _may_be_name(placed, reader.language):
            found.names += 1
            continue
        found.words += 1
        found.valid += accepted
        if not accepted and len(found.rejected) < MAX_LISTED:
            found.rejected.append(placed.word.text[:MAX_TEXT])
    return found


def _may_be_name(placed: Placed, language: str) -> bool:
    """Return whether a capital says that a word is a name: ``Xoán``, ``l'Hospitalet``."""
    if language in _CAPITAL_NOUNS:
        return False
    pieces = parts(placed.word)[1:] if placed.initial else parts(placed.word)
    return any(piece[0].isupper() for piece in pieces)


def calibration_of(reader: Reader | None, gold: Sequence[MetricInput]) -> Calibration:
    """Return how many words of the references an analyser accepts, and whether that is enough."""
    if reader is None:
        return Calibration(n=0, rate=None)
    total = Tally()
    for one in gold:
        total.add(tally(reader, one.output))
    facts: dict[str, Json] = {
        "words": total.words,
        "valid_words": total.valid,
        "names_excluded": total.names,
        "lookup_faults": total.faults,
        "threshold": MIN_REFERENCE_ACCEPTANCE,
    }
    rate = total.valid / total.words if total.words else None
    reason = None
    if rate is None:
        why = ALL_FAULTS if total.faults else "they have no words"
        reason = f"fst_reference_acceptance cannot be measured on the references: {why}"
    elif rate < MIN_REFERENCE_ACCEPTANCE:
        shown = math.floor(rate * 100 + 1e-9) / 100  # cut: 0.7999 must not be shown as 0.80
        reason = (
            f"fst_reference_acceptance {shown:.2f} is below {MIN_REFERENCE_ACCEPTANCE:.2f}: "
            "the analyser does not know the words of the references"
        )
    return Calibration(n=len(gold), rate=rate, reason=reason, facts=facts)


@dataclass(frozen=True)
class FstAcceptance(PooledMetric):
    """The mean over the entries of the share of words that the analyser accepts, 0-1.

    Every entry weighs the same, however long (the micro rate over words is in the columns
    ``valid_words`` and ``words``). An empty output is 0, and so is one of punctuation alone when
    the reference has words; an output whose words are all left out has no value.
    """

    id: str = "fst_acceptance_rate"
    title: str = "FST acceptance"
    role: MetricRole = "secondary"
    validation: Validation = "proxy"
    needs: tuple[str, ...] = NEEDS
    columns: tuple[str, ...] = (
        "entry_rate",
        "entries",
        "valid_words",
        "words",
        "accepted_entries",
        "names_excluded",
        "lookup_faults",
    )
    reproducible: bool = False
    reader: Reader | None = None
    """None when there is no analyser; ``missing`` says why."""

    def find(self, one: MetricInput) -> Finding:
        """Look up the words of the output.

        The evidence names rejected words and says whether every counted word was accepted.
        """
        if self.reader is None:
            return nothing(self.missing or NEEDS[0])
        found = tally(self.reader, one.output)
        if _says_nothing(one, found):
            return Finding((0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0.0, evidence={"accepted": False})
        if not found.words:
            return nothing(ALL_FAULTS if found.faults else NO_WORDS)
        rate = found.valid / found.words
        accepted = found.valid == found.words
        counts = (found.valid, found.words, accepted, found.names, found.faults)
        evidence: dict[str, Json] = {"accepted": accepted}
        if found.rejected:
            evidence["rejected"] = found.rejected
        return Finding((rate, 1.0, *map(float, counts)), rate, evidence=evidence)

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Measure the acceptance on the references; nothing is fitted."""
        return self, calibration_of(self.reader, gold)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric itself: nothing was fitted."""
        return self


def _says_nothing(one: MetricInput, found: Tally) -> bool:
    """Return whether an output counts as empty: blank, or bare of what the reference has."""
    if found.pieces:
        return False
    return not one.output.strip() or any(words_of(each) for each in one.references)


def reader_for(setting: Setting, *, union: bool = False) -> tuple[Reader | None, str | None]:
    """Return what reads words of the target language, or None and why there is nothing.

    Raises UsageError for a file that is no analyser.
    """
    path = setting.resources.fst
    if path is None:
        return None, "needs --mt-fst PATH"
    if setting.unsegmented:
        return None, "needs words with spaces between them"
    try:
        lookup: Lookup = open_analyser(find_analyser(path, setting.target))
    except NoAnalyser as error:
        return None, str(error)
    return Reader(lookup, setting.target.code, union), None


def make(setting: Setting) -> list[Metric]:
    """Return the metric for a run; the analyser's tables are read with the first word."""
    reader, missing = reader_for(setting)
    return [FstAcceptance(missing=missing, reader=reader)]
