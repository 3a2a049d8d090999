"""Exact match: the share of outputs that equal a reference, 0 to 1, in three strictnesses.

An empty output never matches. All three compare what the run's normalisation left (NFC unless
switched off); several references: any of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_mtarena.protocols import (
    MetricDirection,
    MetricInput,
    MetricLevel,
    MetricRole,
    Statistics,
    Validation,
)
from pytest_mtarena.referee.metrics.base import finite_or_none, ratio

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼʻ′`´‹›", "'"),
        **dict.fromkeys("“”„‟″«»「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "。": ".",
        "、": ",",
    }
)
"""Quotation marks, apostrophes, dashes and full stops that differ only in their form."""


def strict(text: str) -> str:
    """Return the text as it is."""
    return text


def plain(text: str) -> str:
    """Return the text in lower case, without white space around it, inner white space as one."""
    return " ".join(text.lower().split())


def lenient(text: str) -> str:
    """Return the text without differences of case, compatibility form or kind of punctuation."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.translate(_FOLDED).split())


@dataclass
class ExactMatch:
    """The share of entries whose output equals a reference after ``fold``."""

    id: str
    title: str
    fold: Callable[[str], str]
    rule: str
    """What ``fold`` does, for the signature."""
    role: MetricRole = "secondary"
    scale: str = "0-1"
    direction: MetricDirection = "higher"
    level: MetricLevel = "corpus"
    version: str = "1"
    validation: Validation = "proxy"

    @property
    def signature(self) -> str:
        """How texts are compared."""
        return f"exact|{self.rule}|refs:any|version:{self.version}"

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return rows (1 for a match else 0, 1)."""
        rows = np.ones((len(inputs), 2))
        rows[:, 0] = [self._matches(one) for one in inputs]
        return rows

    def score(self, sums: Statistics) -> npt.NDArray[np.float64]:
        """Return the shares."""
        return ratio(sums[:, 0], sums[:, 1])

    def entry(self, inputs: Sequence[MetricInput], rows: Statistics) -> Sequence[float | None]:
        """Return 1.0 for a match, else 0.0."""
        return finite_or_none(rows[:, 0])

    def _matches(self, one: MetricInput) -> bool:
        output = self.fold(one.output)
        return bool(output) and any(output == self.fold(text) for text in one.references)


def make_exact() -> tuple[ExactMatch, ...]:
    """Return the documented rule, the strict one and the lenient one."""
    return (
        ExactMatch("exact_match_rate", "exact", plain, "strip|lower|spaces"),
        ExactMatch("exact_match_strict", "exact (strict)", strict, "strict", "diagnostic"),
        ExactMatch(
            "exact_match_lenient",
            "exact (lenient)",
            lenient,
            "nfkc|casefold|punctuation|spaces",
            "diagnostic",
        ),
    )
