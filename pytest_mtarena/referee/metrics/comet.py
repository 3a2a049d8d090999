"""COMET (Rei et al. 2020, 2022): a neural metric trained on human judgements.

It needs the package ``unbabel-comet`` and a checkpoint on disk. No package holds a checkpoint, and
none is fetched here: the user gives the path of one that was downloaded before, in the layout of
the download (``hparams.yaml`` beside the directory ``checkpoints``), with its encoder's tokenizer
in the cache of ``transformers``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibration, Finding, Metric, MetricInput
from pytest_mtarena.records import LanguageFacts
from pytest_mtarena.referee.metrics.base import fault
from pytest_mtarena.referee.metrics.ids import NON_FINITE
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting

MAX_CHARACTERS = 20_000
"""Longer texts are cut; the models read some 500 pieces only."""
BATCH = 16
EMPTY_AS_ZERO = "the model cannot score an empty text: counted as 0"


@dataclass(frozen=True)
class CometScore(PooledMetric):
    """The mean of COMET's scores of the entries, on the scale of the checkpoint (mostly 0-1).

    Every entry is sent to the model, in one list, and each score goes back to the entry it was
    computed for; nothing is skipped, so nothing can shift. An empty output (a failed attempt, too)
    is scored as the model scores an empty text, which is what published system scores do; where
    the model raises or gives no finite number for it, it counts as 0 and the evidence says so.
    With several references the highest score counts. The system score is the mean over the entries.
    """

    checkpoint: Path | None = None
    languages: tuple[LanguageFacts, LanguageFacts] = (LanguageFacts(), LanguageFacts())

    @property
    def signature(self) -> str:
        """The id, the version, and how references and empty outputs are dealt with."""
        return f"{super().signature}|refs:best|empty:scored"

    def examine(self, inputs: Sequence[MetricInput]) -> Sequence[Finding]:
        """Score a batch; what goes wrong with the model is the reason of all its entries."""
        if self.missing is not None:
            return [nothing(self.missing)] * len(inputs)
        if isinstance(self._model, str):
            return [nothing(self._model)] * len(inputs)
        try:
            return self._scored(inputs)
        except Exception as error:  # foreign code: costs the values of this metric only
            return [nothing(f"COMET failed: {fault(error)}")] * len(inputs)

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Return the metric as it is, and how well its encoder knows the two languages.

        COMET is not tried on references: against themselves they score highest by construction.
        """
        return self, Calibration(n=0, rate=None, reason=self.missing, facts=self.facts())

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric as it is: nothing is fitted."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return XLM-R's tier of source and target and whether scores are doubtful for them.

        ``low_resource_warning`` is true unless both languages are known to be of the tier high.
        """
        source, target = (one.xlmr for one in self.languages)
        return {
            "xlmr_source": source or None,
            "xlmr_target": target or None,
            "low_resource_warning": not source == target == "high",
        }

    @cached_property
    def _model(self) -> Any:
        """The model, or a text that says why there is none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _load(str(self.checkpoint))
        except Exception as error:  # whatever a foreign file or package does
            # Reasons go to the card, where nobody's directories belong.
            text = fault(error).replace(str((self.checkpoint or Path()).parent.parent), "…")
            return f"the COMET checkpoint cannot be loaded: {text}"

    def _scored(self, inputs: Sequence[MetricInput]) -> list[Finding]:
        places = [(i, text) for i, one in enumerate(inputs) for text in one.references]
        samples = [
            {
                "src": inputs[i].source[:MAX_CHARACTERS],
                "mt": inputs[i].output[:MAX_CHARACTERS],
                "ref": text[:MAX_CHARACTERS],
            }
            for i, text in places
        ]
        scores: list[list[float | None]] = [[] for _ in inputs]
        for (i, _), score in zip(places, self._predict(samples), strict=True):
            scores[i].append(score)
        return [_finding(one, several) for one, several in zip(inputs, scores, strict=True)]

    def _predict(self, samples: list[dict[str, str]]) -> list[float | None]:
        """Return a score for each sample, None for an empty one that the model cannot score."""
        try:
            return list(self._ask(samples))
        except Exception:  # models differ in what they raise for an empty text, if they do
            full = [one for one in samples if one["mt"]]
            if len(full) == len(samples):
                raise
        given = iter(self._ask(full))
        return [next(given) if one["mt"] else None for one in samples]

    def _ask(self, samples: list[dict[str, str]]) -> list[float]:
        if not samples:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = self._model.predict(
                samples, batch_size=BATCH, gpus=0, progress_bar=False, num_workers=0
            )
        scores = [float(score) for score in answer.scores]
        if len(scores) != len(samples):
            raise ValueError(f"{len(scores)} scores for {len(samples)} texts")
        return scores


def make(setting: Setting) -> list[Metric]:
    """Return the metric.

    Raises UsageError when the checkpoint that was given is no file. Whether it can be loaded shows
    when the first entry is judged.
    """
    path = setting.resources.comet_model
    if path is not None and not path.is_file():
        raise UsageError(f"--mt-comet-model: {path}: no such file; give the path of a checkpoint")
    metric = CometScore(
        "comet_score",
        "COMET",
        role="secondary",
        validation="externally validated",
        needs=("unbabel-comet and a checkpoint",),
        missing=_lacking(path),
        columns=("score", "entries"),
        reproducible=False,
        checkpoint=path,
        languages=(setting.source, setting.target),
    )
    return [metric]


def _load(path: str) -> Any:
    load = import_module("comet").load_from_checkpoint
    # The encoder's tokenizer would be fetched from the network; older versions cannot be told.
    offline = "local_files_only" in signature(load).parameters
    return load(path, local_files_only=True) if offline else load(path)


def _lacking(path: Path | None) -> str | None:
    if path is None:
        return "needs --mt-comet-model PATH (a COMET checkpoint) and unbabel-comet"
    if not _installed("comet"):
        return "needs unbabel-comet: pip install unbabel-comet 'setuptools<81'"
    return None


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module that is loaded without a spec
        return True


def _finding(one: MetricInput, scores: Iterable[float | None]) -> Finding:
    finite = [score for score in scores if score is not None and math.isfinite(score)]
    if finite:
        best = max(finite)
        return Finding((best, 1.0), best)
    if not one.output:
        return Finding((0.0, 1.0), 0.0, None, {"note": EMPTY_AS_ZERO})
    return nothing(NON_FINITE)
