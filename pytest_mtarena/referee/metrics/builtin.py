"""The metrics of translation that are always there."""

from __future__ import annotations

from pytest_mtarena.protocols import Metric
from pytest_mtarena.referee.metrics.bleu import MAX_CHARACTERS as BLEU_CHARACTERS
from pytest_mtarena.referee.metrics.bleu import Bleu
from pytest_mtarena.referee.metrics.chrf import MAX_CHARACTERS as CHRF_CHARACTERS
from pytest_mtarena.referee.metrics.chrf import make_chrf
from pytest_mtarena.referee.metrics.exact import make_exact
from pytest_mtarena.referee.metrics.length import LengthRatio, TotalLengthRatio
from pytest_mtarena.referee.metrics.ter import MAX_CHARACTERS as TER_CHARACTERS
from pytest_mtarena.referee.metrics.ter import Ter

LIMITS = {
    "chrf_plus_plus": CHRF_CHARACTERS,
    "chrf": CHRF_CHARACTERS,
    "bleu": BLEU_CHARACTERS,
    "ter": TER_CHARACTERS,
}
"""Metric id to the number of characters of a side that it looks at."""

IDS = (
    "chrf_plus_plus",
    "chrf",
    "bleu",
    "ter",
    "exact_match_rate",
    "exact_match_strict",
    "exact_match_lenient",
    "length_ratio",
    "length_ratio_total",
)


def make_builtin(tokenizer: str, *, asian: bool) -> dict[str, Metric]:
    """Return the built-in metrics by id, headline first."""
    metrics: list[Metric] = [
        *make_chrf(),
        Bleu(tokenizer),
        Ter(asian),
        *make_exact(),
        LengthRatio(),
        TotalLengthRatio(),
    ]
    return {metric.id: metric for metric in metrics}
