"""BLEU (Papineni et al. 2002), scale 0-100, equal to sacreBLEU's but never above 100.

Length 1 to 4, exponential smoothing, case kept. The corpus score is sacreBLEU's default; the
value of a single entry uses the effective order, so that a perfect entry of three words has 100
and not 0. Sides longer than ``BLEU_CHARACTERS`` are cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from pytest_mtarena.protocols import (
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import finite_or_none, present, sacrebleu_signature
from pytest_mtarena.referee.metrics.ids import BLEU_CHARACTERS
from pytest_mtarena.referee.metrics.ngrams import Numbers, shared, shared_plain

ORDER = 4

_LOG_OF_ZERO = -9999999999.0
"""What an order without any n-gram contributes: the corpus score becomes 0."""


@dataclass
class Bleu:
    """BLEU with one of sacreBLEU's tokenizers.

    The statistics of an entry are the lengths of hypothesis and closest reference, the matches
    of each order, and the hypothesis's n-grams of each order.
    """

    tokenizer: str = "13a"
    id: str = "bleu"
    title: str = "BLEU"
    scale: str = "0-100"
    direction: MetricDirection = "higher"
    level: MetricLevel = "corpus"
    role: MetricRole = "secondary"
    version: str = "1"
    validation: Validation = "externally validated"

    @property
    def signature(self) -> str:
        """sacreBLEU's, for any number of references."""
        return self.signed(-1)

    def signed(self, references: int) -> str:
        """Return the signature for a number of references; -1: it varies."""
        return sacrebleu_signature(BLEU(tokenize=self.tokenizer), references)

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return one row of 10 counts an entry."""
        hypotheses = [self._tokens(one.output) for one in inputs]
        references = [[self._tokens(text) for text in one.references] for one in inputs]
        forget(self._tokenize)
        rows = np.zeros((len(inputs), 2 + 2 * ORDER))
        sizes = np.fromiter(map(len, hypotheses), np.int64, len(inputs))
        rows[:, 0] = sizes
        rows[:, 1] = [
            min(map(len, several), key=lambda size: (abs(size - len(own)), size))
            for own, several in zip(hypotheses, references, strict=True)
        ]
        rows[:, 2 + ORDER :] = np.maximum(sizes[:, None] - np.arange(ORDER), 0)
        rows[:, 2 : 2 + ORDER] = _matches(hypotheses, references)
        return rows

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the corpus score of each row of counts."""
        return _bleu(sums, effective=False)

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the score of each entry by itself, with the effective order."""
        known = present(rows)
        return finite_or_none(np.where(known, _bleu(rows, effective=True), np.nan))

    def _tokens(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenize(text[:BLEU_CHARACTERS].rstrip()).split()
        return tokens

    @cached_property
    def _tokenize(self) -> Callable[[str], str]:
        tokenizer: Callable[[str], str] = BLEU(tokenize=self.tokenizer).tokenizer
        return tokenizer


def forget(tokenizer: Any) -> None:
    """Empty the caches of a sacreBLEU tokenizer, which would keep the texts of a whole run."""
    for one in (tokenizer, getattr(tokenizer, "_post_tokenizer", None)):
        clear = getattr(type(one).__call__, "cache_clear", None)
        if clear is not None:
            clear()


def _matches(hypotheses: Sequence[list[str]], references: Sequence[list[list[str]]]) -> Numbers:
    numbers: dict[str, int] = {}

    def numbered(tokens: list[str]) -> Numbers:
        return np.array([numbers.setdefault(one, len(numbers) + 1) for one in tokens], np.int64)

    matches = np.zeros((len(hypotheses), ORDER), np.int64)
    single = [index for index, several in enumerate(references) if len(several) == 1]
    pairs = [(numbered(hypotheses[index]), numbered(references[index][0])) for index in single]
    matches[single] = shared(pairs, ORDER)
    for index, several in enumerate(references):
        if len(several) != 1:
            matches[index] = shared_plain(hypotheses[index], several, ORDER)
    return matches


def _bleu(rows: Statistics, *, effective: bool) -> npt.NDArray[np.float64]:
    # Row by row with math.log and math.exp: numpy's may differ in the last digit.
    scores = [0.0 if row[0] != row[0] else _score(row, effective) for row in rows.tolist()]
    return np.array(scores, np.float64)


def _score(row: list[float], effective: bool) -> float:
    """Return the score of one row of counts, in the order of operations of sacreBLEU."""
    size, wanted = row[:2]
    matches, totals = row[2 : 2 + ORDER], row[2 + ORDER :]
    if not any(matches):
        return 0.0
    penalty = math.exp(1 - wanted / size) if size < wanted else 1.0
    logs, smoothing, order = [_LOG_OF_ZERO] * ORDER, 1.0, ORDER
    for n, (match, total) in enumerate(zip(matches, totals, strict=True)):
        if total == 0:
            break
        if effective:
            order = n + 1
        if match == 0:
            smoothing *= 2
            logs[n] = math.log(100.0 / (smoothing * total))
        else:
            logs[n] = math.log(100.0 * match / total)
    # Rounding can give 100.00000000000004.
    return min(penalty * math.exp(sum(logs[:order]) / order), 100.0)
