"""COMET: alignment, errors of the model, and what is said when something is missing.

The model is a stand-in with the interface of ``unbabel-comet``: no package holds a checkpoint.
"""

from __future__ import annotations

import sys
import types
import warnings

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibrating, Examining, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.metrics import comet
from pytest_mtarena.referee.metrics.comet import EMPTY_AS_ZERO, make
from pytest_mtarena.referee.setting import Setting


class Model:
    """Scores a translation by its length, and remembers what it was asked."""

    def __init__(self, blind=False, short=False, nan=False):
        self.blind, self.short, self.nan = blind, short, nan
        self.asked = []

    def predict(self, samples, batch_size=8, gpus=1, progress_bar=True, num_workers=None):
        warnings.warn("as Lightning does", UserWarning, stacklevel=1)
        assert (gpus, progress_bar) == (0, False)
        self.asked.append(samples)
        if self.blind and any(not one["mt"] for one in samples):
            raise RuntimeError("empty")
        empty = float("nan") if self.nan else 0.05
        scores = [len(one["mt"]) / (10 * len(one["ref"])) or empty for one in samples]
        return types.SimpleNamespace(scores=scores[self.short :], system_score=0.5)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    def install(model):
        def load_from_checkpoint(path):
            if isinstance(model, Exception):
                raise model
            return model

        module = types.ModuleType("comet")
        module.load_from_checkpoint = load_from_checkpoint
        monkeypatch.setitem(sys.modules, "comet", module)
        path = tmp_path / "model.ckpt"
        path.write_bytes(b"")
        return make(Setting(resources=Resources(comet_model=path)))[0]

    return install


def inputs(*outputs):
    return [
        MetricInput(id=f"e{n}", source="s", output=output, references=("a",))
        for n, output in enumerate(outputs)
    ]


def test_an_empty_output_shifts_no_score(installed):
    model = Model()
    metric = installed(model)
    given = inputs("a", "", "aaa", "aa")
    assert [one.value for one in metric.examine(given)] == [0.1, 0.05, 0.3, 0.2]
    assert metric.score(metric.statistics(given).sum(axis=0)[None])[0] == pytest.approx(0.65 / 4)
    assert model.asked[0][1] == {"src": "s", "mt": "", "ref": "a"}
    assert metric.reproducible is False


@pytest.mark.parametrize("model", [Model(blind=True), Model(nan=True)])
def test_a_model_that_cannot_score_an_empty_text(installed, model):
    found = installed(model).examine(inputs("a", "", "aaa", ""))
    assert [one.value for one in found] == [0.1, 0.0, 0.3, 0.0]
    assert found[1].evidence == {"note": EMPTY_AS_ZERO}
    assert found[0].evidence is None


def test_nothing_is_fetched_and_no_directory_is_told(installed, tmp_path):
    metric = installed(Model())
    given = []

    def load_from_checkpoint(path, strict=False, local_files_only=False):
        given.append(local_files_only)
        raise ValueError(f"hparams.yaml file is missing from {tmp_path.parent}!")

    sys.modules["comet"].load_from_checkpoint = load_from_checkpoint
    (found,) = metric.examine(inputs("a"))
    assert given == [True]
    assert found.reason.endswith("ValueError: hparams.yaml file is missing from …!")


def test_the_best_reference_counts(installed):
    several = MetricInput(id="e", source="s", output="aa", references=("aaaa", "a", "aa"))
    found = installed(Model()).examine([several, *inputs("a")])
    assert [one.value for one in found] == [0.2, 0.1]


def test_faults_of_the_model_are_one_reason(installed):
    (found,) = installed(Model(short=True)).examine(inputs("a"))
    assert found.reason == "COMET failed: ValueError: 0 scores for 1 texts"
    (found,) = installed(RuntimeError("bad\nmagic number")).examine(inputs("a"))
    assert found.reason == ("the COMET checkpoint cannot be loaded: RuntimeError: bad magic number")
    assert found.value is None


def test_the_model_is_loaded_once_and_late(installed):
    loaded = []
    metric = installed(Model())
    sys.modules["comet"].load_from_checkpoint = lambda path: loaded.append(path) or Model()
    assert loaded == []
    metric.examine(inputs("a"))
    metric.examine(inputs("b"))
    assert len(loaded) == 1


def test_what_is_missing(monkeypatch, tmp_path):
    (metric,) = make(Setting())
    assert metric.missing.startswith("needs --mt-comet-model PATH")
    assert metric.examine(inputs("a"))[0].reason == metric.missing
    with pytest.raises(UsageError, match="no such file"):
        make(Setting(resources=Resources(comet_model=tmp_path / "none.ckpt")))
    with pytest.raises(UsageError, match="no such file"):
        make(Setting(resources=Resources(comet_model=tmp_path)))
    monkeypatch.setattr(comet, "find_spec", lambda name: None)
    (tmp_path / "m.ckpt").write_bytes(b"")
    (metric,) = make(Setting(resources=Resources(comet_model=tmp_path / "m.ckpt")))
    assert "pip install unbabel-comet" in metric.missing


@pytest.mark.parametrize(
    ("source", "target", "warned"),
    [("high", "high", False), ("high", "low", True), ("", "high", True), ("", "", True)],
)
def test_the_warning_of_low_resources(source, target, warned):
    (metric,) = make(Setting(source=LanguageFacts(xlmr=source), target=LanguageFacts(xlmr=target)))
    ready, calibration = metric.calibrate([])
    assert calibration.facts["low_resource_warning"] is warned
    assert calibration.facts["xlmr_target"] == (target or None)
    assert ready.restore(calibration) is metric
    assert isinstance(metric, Examining)
    assert isinstance(metric, Calibrating)
