"""The string metrics of translation, which are always there."""

from __future__ import annotations

from pytest_mtarena.protocols import Metric
from pytest_mtarena.referee.metrics.bleu import Bleu
from pytest_mtarena.referee.metrics.chrf import make_chrf
from pytest_mtarena.referee.metrics.exact import make_exact
from pytest_mtarena.referee.metrics.length import LengthRatio, TotalLengthRatio
from pytest_mtarena.referee.metrics.ter import Ter


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
