"""chrF and chrF++ (Popović 2015, 2017), scale 0-100, equal to sacreBLEU's.

Character n-grams of length 1 to 6 without white space, for chrF++ also word n-grams of length 1
and 2 with punctuation split off; beta 2; case kept; effective order. With several references the
one with the highest score of the entry counts. Sides longer than ``CHRF_CHARACTERS`` are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.chrf import CHRF

from pytest_mtarena.protocols import (
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import finite_or_none, present, sacrebleu_signature
from pytest_mtarena.referee.metrics.ids import CHRF_CHARACTERS
from pytest_mtarena.referee.metrics.ngrams import Numbers, shared

CHARACTER_ORDER = 6
WORD_ORDER = 2
BETA = 2

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class GramCounter:
    """Counts the n-grams of a batch once for both metrics."""

    def __init__(self) -> None:
        self._batch: list[tuple[str, tuple[str, ...]]] = []
        self._counts: tuple[Numbers, Numbers] = (_NONE, np.zeros(1, np.int64))

    def counts(self, inputs: Sequence[MetricInput]) -> tuple[Numbers, Numbers]:
        """Return the counts of all pairs, and where each entry's pairs begin (and the end).

        Counts have the shape (pairs, 8, 3): six lengths of characters, two of words; n-grams of
        the hypothesis, of the reference, and matches. An entry has a pair for each reference.
        """
        batch = [(one.output, one.references) for one in inputs]
        if batch != self._batch:
            self._counts = _count(batch)
            self._batch = batch
        return self._counts


_NONE: Numbers = np.zeros((0, CHARACTER_ORDER + WORD_ORDER, 3), np.int64)


@dataclass
class Chrf:
    """chrF with word n-grams up to ``word_order`` (0: chrF, 2: chrF++)."""

    id: str
    title: str
    word_order: int
    counter: GramCounter = field(default_factory=GramCounter, repr=False, compare=False)
    role: MetricRole = "secondary"
    scale: str = "0-100"
    direction: MetricDirection = "higher"
    level: MetricLevel = "corpus"
    version: str = "1"
    validation: Validation = "externally validated"

    @property
    def signature(self) -> str:
        """sacreBLEU's, for any number of references."""
        return self.signed(-1)

    def signed(self, references: int) -> str:
        """Return the signature for a number of references; -1: it varies."""
        return sacrebleu_signature(CHRF(word_order=self.word_order), references)

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return hypothesis, reference and match counts of each order."""
        counts, begins = self.counter.counts(inputs)
        used = counts[:, : CHARACTER_ORDER + self.word_order]
        rows: Statistics = used.reshape(len(counts), -1).astype(np.float64)
        if len(rows) == len(inputs):
            return rows
        values = self.score(rows)
        best = [
            first + int(np.argmax(values[first:end]))
            for first, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True)
        ]
        chosen: Statistics = rows[best]
        return chosen

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the F score of each row of counts."""
        precision = np.zeros(len(sums))
        recall = np.zeros(len(sums))
        effective = np.zeros(len(sums))
        # In sacreBLEU's order of additions, so that not even the last digit differs.
        for order in range(CHARACTER_ORDER + self.word_order):
            hypothesis, reference, match = sums[:, 3 * order : 3 * order + 3].T
            counted = (hypothesis > 0) & (reference > 0)
            precision += np.divide(match, hypothesis, where=counted, out=np.zeros(len(sums)))
            recall += np.divide(match, reference, where=counted, out=np.zeros(len(sums)))
            effective += counted
        effective[effective == 0] = 1
        precision /= effective
        recall /= effective
        above = (1 + BETA**2) * precision * recall
        below = BETA**2 * precision + recall
        return 100 * np.divide(above, below, where=below > 0, out=np.zeros(len(sums)))

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the score of each entry."""
        return finite_or_none(np.where(present(rows), self.score(rows), np.nan))


def make_chrf() -> tuple[Chrf, Chrf]:
    """Return chrF++ and chrF, which share their counts."""
    counter = GramCounter()
    return (
        Chrf("chrf_plus_plus", "chrF++", WORD_ORDER, counter, role="headline"),
        Chrf("chrf", "chrF", 0, counter),
    )


def split_words(text: str) -> list[str]:
    """Return the words as chrF++ sees them: one punctuation mark at an end stands alone."""
    words: list[str] = []
    for word in text.split():
        if len(word) == 1:
            words.append(word)
        elif word[-1] in _PUNCTUATION:
            words += (word[:-1], word[-1])
        elif word[0] in _PUNCTUATION:
            words += (word[0], word[1:])
        else:
            words.append(word)
    return words


def _count(batch: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[Numbers, Numbers]:
    begins = np.cumsum([0, *(len(references) for _, references in batch)])
    counts = np.zeros((int(begins[-1]), CHARACTER_ORDER + WORD_ORDER, 3), np.int64)
    numbers: dict[str, int] = {}
    characters: list[tuple[Numbers, Numbers]] = []
    words: list[tuple[Numbers, Numbers]] = []
    for output, references in batch:
        letters, tokens = _letters(output), _words(output, numbers)
        for reference in references:
            characters.append((letters, _letters(reference)))
            words.append((tokens, _words(reference, numbers)))
    _fill(counts[:, :CHARACTER_ORDER], characters)
    _fill(counts[:, CHARACTER_ORDER:], words)
    return counts, begins


def _fill(counts: Numbers, pairs: Sequence[tuple[Numbers, Numbers]]) -> None:
    order = counts.shape[1]
    lengths = np.arange(order)
    for side in (0, 1):
        sizes = np.fromiter((len(pair[side]) for pair in pairs), np.int64, len(pairs))
        counts[:, :, side] = np.maximum(sizes[:, None] - lengths, 0)
    # An order that the reference does not have at all is left out of the precision.
    counts[:, :, 0][counts[:, :, 1] == 0] = 0
    counts[:, :, 2] = shared(pairs, order)


def _letters(text: str) -> Numbers:
    joined = "".join(text[:CHRF_CHARACTERS].split())
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    return codes.astype(np.int64) + 1


def _words(text: str, numbers: dict[str, int]) -> Numbers:
    words = split_words(text[:CHRF_CHARACTERS])
    return np.array([numbers.setdefault(word, len(numbers) + 1) for word in words], np.int64)
