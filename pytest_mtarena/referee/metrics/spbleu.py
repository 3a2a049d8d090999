"""spBLEU (Goyal et al. 2022; NLLB team 2022): BLEU over the pieces of FLORES-200's SentencePiece.

One tokenizer for two hundred languages, so that languages without word tokenizers can be compared.
sacreBLEU would fetch the tokenizer's model from the network; here nothing is ever fetched: the
metric works where the model already lies in sacreBLEU's cache, and says what it needs elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pytest_mtarena.protocols import Metric, MetricInput, MetricRole, Statistics, Validation
from pytest_mtarena.referee.metrics.bleu import ORDER, Bleu
from pytest_mtarena.referee.setting import Setting

TOKENIZER = "flores200"


@dataclass
class SpBleu(Bleu):
    """BLEU, scale 0-100, with sacreBLEU's tokenizer ``flores200``; statistics as ``Bleu`` has."""

    tokenizer: str = TOKENIZER
    id: str = "spbleu"
    title: str = "spBLEU"
    role: MetricRole = "diagnostic"
    validation: Validation = "externally validated"
    needs: tuple[str, ...] = ("the SentencePiece model of FLORES-200",)
    missing: str | None = None
    """Why it cannot work here; None when it can."""
    reproducible: bool = False
    """The model is a file, so the texts of a stored card are not enough."""

    def signed(self, references: int) -> str:
        """Return sacreBLEU's signature; the model is not needed for it."""
        # To ask sacreBLEU for a metric with this tokenizer would make it fetch the model.
        return Bleu("none").signed(references).replace("|tok:none|", f"|tok:{self.tokenizer}|")

    def statistics(self, inputs: Sequence[MetricInput]) -> Statistics:
        """Return one row of 10 counts an entry; NaN throughout where the model is missing."""
        if self.missing is not None:
            return np.full((len(inputs), 2 + 2 * ORDER), np.nan)
        return super().statistics(inputs)


def make(setting: Setting) -> list[Metric]:
    """Return the metric, which lacks something unless the model is in sacreBLEU's cache."""
    return [SpBleu(missing=_lacking())]


def _lacking() -> str | None:
    path = model_path()
    if not path.is_file():
        return (
            f"needs the FLORES-200 SentencePiece model as models/{path.name} in sacreBLEU's cache"
        )
    if find_spec("sentencepiece") is None:
        return "needs sentencepiece: pip install sentencepiece"
    return None


def model_path() -> Path:
    """Return where sacreBLEU would look for the model (its cache, or ``$SACREBLEU``)."""
    from sacrebleu import utils
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

    return Path(utils.SACREBLEU_DIR) / "models" / Path(SPM_MODELS[TOKENIZER]["url"]).name
