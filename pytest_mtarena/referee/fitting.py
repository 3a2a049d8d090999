"""Metrics are tried on the suite's own references before they judge anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mtarena.errors import ArenaError
from pytest_mtarena.protocols import Calibrating, Calibration, Metric, MetricInput
from pytest_mtarena.records import Json
from pytest_mtarena.referee.inputs import own_copies
from pytest_mtarena.referee.jsonvalue import as_json
from pytest_mtarena.referee.metrics.ids import EVERY_ID

NOTHING = "no reference to calibrate on"
FAILED = "calibration failed: "


@dataclass(frozen=True)
class Fitted:
    """The metrics of a run as fitted to its suite."""

    metrics: dict[str, Metric]
    """Those that can be used."""
    calibration: dict[str, Calibration] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    """Why others cannot be used."""


def fit(metrics: Mapping[str, Metric], gold: Sequence[MetricInput]) -> Fitted:
    """Calibrate the metrics that can be; one that fails has no value, with the reason.

    Raises ArenaError for a resource that cannot be used.
    """
    fitted = Fitted({})
    for name, metric in metrics.items():
        if missing := getattr(metric, "missing", None):
            fitted.unavailable[name] = str(missing)
        elif not isinstance(metric, Calibrating):
            fitted.metrics[name] = metric
        elif not gold:
            fitted.unavailable[name] = NOTHING
        else:
            _calibrate(name, metric, gold, fitted)
    return fitted


def restore(
    metrics: Mapping[str, Metric],
    stored: Mapping[str, Mapping[str, Json]],
    reasons: Mapping[str, Json],
) -> Fitted:
    """Fit metrics as a card says that they were; one that it does not know of has no value.

    ``reasons`` are the card's own for scores that are null.
    """
    fitted = Fitted({})
    for name, metric in metrics.items():
        if missing := getattr(metric, "missing", None):
            fitted.unavailable[name] = str(missing)
        elif not isinstance(metric, Calibrating):
            fitted.metrics[name] = metric
        elif name not in stored:
            failed = str(reasons.get(name))
            fitted.unavailable[name] = failed if failed.startswith(FAILED) else NOTHING
        else:
            calibration = Calibration.model_validate(stored[name])
            fitted.calibration[name] = calibration
            if calibration.reason is None:
                _restore(name, metric, calibration, fitted)
            else:
                fitted.unavailable[name] = calibration.reason
    return fitted


def _restore(name: str, metric: Calibrating, calibration: Calibration, fitted: Fitted) -> None:
    from pytest_mtarena.referee.metrics.base import FAULTS, fault

    try:
        ready = metric.restore(calibration)
        _check_same(name, ready)
    except ArenaError:
        raise
    except FAULTS as error:  # a card's calibration is foreign material, and so may be the metric
        fitted.unavailable[name] = f"the calibration cannot be restored: {fault(error)}"
        return
    fitted.metrics[name] = ready


def _sound(calibration: Calibration) -> Calibration:
    """Return a calibration that a card can hold; raises TypeError or ValueError."""
    from pytest_mtarena.referee.metrics.base import one_line

    if not isinstance(calibration, Calibration):
        raise TypeError(f"a Calibration is needed, not {type(calibration).__name__}")
    told = as_json(calibration.model_dump(), "calibration")
    if told["reason"] is not None:
        told["reason"] = one_line(told["reason"])
    return Calibration(**told)


def _check_same(name: str, ready: object) -> None:
    if not isinstance(ready, Metric) or ready.id != name:
        raise TypeError(f"the fitted metric is not {name}")


def _calibrate(name: str, metric: Metric, gold: Sequence[MetricInput], fitted: Fitted) -> None:
    from pytest_mtarena.referee.metrics.base import FAULTS, fault

    assert isinstance(metric, Calibrating)
    try:
        ready, calibration = metric.calibrate(gold if name in EVERY_ID else own_copies(gold))
        calibration = _sound(calibration)
        _check_same(name, ready)
    except ArenaError:  # a broken glossary or analyser is the user's to mend
        raise
    except FAULTS as error:  # a plug-in's fault costs its own score only
        fitted.unavailable[name] = f"{FAILED}{fault(error)}"
        return
    fitted.calibration[name] = calibration
    if calibration.reason is None:
        fitted.metrics[name] = ready
    else:
        fitted.unavailable[name] = calibration.reason
