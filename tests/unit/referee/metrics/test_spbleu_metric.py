"""spBLEU: sacreBLEU's own value where the model is there, and no download where it is not."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from sacrebleu import utils
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers import tokenizer_spm

from pytest_mtarena.protocols import MetricInput
from pytest_mtarena.referee.metrics import spbleu
from pytest_mtarena.referee.metrics.spbleu import make, model_path
from pytest_mtarena.referee.setting import Setting

LINES = [
    "the river is wide and the boat is small",
    "a small boat on a wide river",
    "the bridge over the river is old",
    "old people sit on the bridge and talk",
    "children run to the boat and laugh",
    "rain falls on the town, wind moves the trees",
]
PAIRS = [(LINES[0], LINES[1]), (LINES[3], LINES[2]), ("the boat", LINES[4]), (LINES[5], LINES[5])]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    def no_network(*args, **kwargs):
        raise AssertionError("a download")

    monkeypatch.setattr(utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", no_network)
    (tmp_path / "models").mkdir()
    return tmp_path


def inputs():
    return [
        MetricInput(id=str(n), source="s", output=output, references=(reference,))
        for n, (output, reference) in enumerate(PAIRS)
    ]


def test_without_the_model_it_is_missing_and_nothing_is_fetched(cache):
    (metric,) = make(Setting())
    assert metric.missing == (
        "needs the FLORES-200 SentencePiece model as models/flores200sacrebleuspm in sacreBLEU's "
        "cache"
    )
    assert "|tok:flores200|" in metric.signature
    rows = metric.statistics(inputs())
    assert np.isnan(rows).all()
    assert metric.entry(inputs(), rows) == [None] * 4
    assert metric.reproducible is False


def test_without_sentencepiece(cache, monkeypatch):
    model_path().write_bytes(b"")
    monkeypatch.setattr(spbleu, "find_spec", lambda name: None)
    assert make(Setting())[0].missing == "needs sentencepiece: pip install sentencepiece"


@pytest.mark.skipif(find_spec("sentencepiece") is None, reason="needs sentencepiece")
def test_with_a_model_it_is_what_sacrebleu_says(cache):
    # Any model will do to compare with sacreBLEU: this one learns from six lines.
    import sentencepiece

    with model_path().open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES * 5),
            model_writer=file,
            vocab_size=45,
            minloglevel=2,
            hard_vocab_limit=False,
        )
    (metric,) = make(Setting())
    assert metric.missing is None
    sums = metric.statistics(inputs()).sum(axis=0)[None]
    theirs = BLEU(tokenize="flores200")
    outputs, references = zip(*PAIRS, strict=True)
    expected = theirs.corpus_score(list(outputs), [list(references)])
    assert metric.score(sums)[0] == pytest.approx(expected.score, abs=1e-9)
    assert 0 < expected.score < 100
    assert metric.signed(1) == str(theirs.get_signature().format())
