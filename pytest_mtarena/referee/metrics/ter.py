"""TER (Snover et al. 2006) in percent, lower is better, equal to sacreBLEU's; it can exceed 100.

Tercom's tokenisation, lower case, punctuation kept; for Chinese and Japanese with Asian support,
which counts characters. With several references: the fewest edits over the average length. Sides
longer than ``TER_CHARACTERS`` are cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.ter import TER

from pytest_mtarena.protocols import (
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import finite_or_none, present, sacrebleu_signature
from pytest_mtarena.referee.metrics.bleu import forget
from pytest_mtarena.referee.metrics.edits import count_edits
from pytest_mtarena.referee.metrics.ids import TER_CHARACTERS


@dataclass
class Ter:
    """TER; the statistics of an entry are its edits and the (average) reference length."""

    asian: bool = False
    """Whether Chinese characters and kana count one by one."""
    id: str = "ter"
    title: str = "TER"
    scale: str = "0 and up"
    direction: MetricDirection = "lower"
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
        return sacrebleu_signature(self._sacrebleu, references)

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return rows (edits, reference length in words)."""
        rows = np.zeros((len(inputs), 2))
        for row, one in zip(rows, inputs, strict=True):
            own = self._tokens(one.output)
            references = [self._tokens(text) for text in one.references]
            row[0] = min(count_edits(own, reference) for reference in references)
            row[1] = sum(map(len, references)) / len(references)
        forget(self._sacrebleu.tokenizer)
        return rows

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return 100 * edits / reference length."""
        edits, length = sums.T
        # Without any reference word an edit is a miss of everything.
        rates = np.where(edits > 0, 1.0, 0.0)
        np.divide(edits, length, where=length > 0, out=rates)
        return 100 * rates

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return the score of each entry."""
        return finite_or_none(np.where(present(rows), self.score(rows), np.nan))

    def _tokens(self, text: str) -> list[str]:
        tokens: list[str] = self._sacrebleu.tokenizer(text[:TER_CHARACTERS].rstrip()).split()
        return tokens

    @cached_property
    def _sacrebleu(self) -> TER:
        return TER(normalized=self.asian, asian_support=self.asian)
