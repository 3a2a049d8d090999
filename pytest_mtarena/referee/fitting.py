"""Metrics are tried on the suite's own references before they judge anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mtarena.errors import ArenaError
from pytest_mtarena.protocols import Calibrating, Calibration, Metric, MetricInput
from pytest_mtarena.records import Json

NOTHING = "no reference to calibrate on"


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


def restore(metrics: Mapping[str, Metric], stored: Mapping[str, Mapping[str, Json]]) -> Fitted:
    """Fit metrics as a card says that they were; one that it does not know of has no value."""
    fitted = Fitted({})
    for name, metric in metrics.items():
        if missing := getattr(metric, "missing", None):
            fitted.unavailable[name] = str(missing)
        elif not isinstance(metric, Calibrating):
            fitted.metrics[name] = metric
        elif name not in stored:
            fitted.unavailable[name] = NOTHING
        else:
            calibration = Calibration.model_validate(stored[name])
            fitted.calibration[name] = calibration
            if calibration.reason is None:
                fitted.metrics[name] = metric.restore(calibration)
            else:
                fitted.unavailable[name] = calibration.reason
    return fitted


def _calibrate(name: str, metric: Metric, gold: Sequence[MetricInput], fitted: Fitted) -> None:
    assert isinstance(metric, Calibrating)
    try:
        ready, calibration = metric.calibrate(gold)
    except ArenaError:  # a broken glossary or analyser is the user's to mend
        raise
    except Exception as error:  # a plug-in's fault costs its own score only
        from pytest_mtarena.referee.metrics.base import fault

        fitted.unavailable[name] = f"calibration failed: {fault(error)}"
        return
    fitted.calibration[name] = calibration
    if calibration.reason is None:
        fitted.metrics[name] = ready
    else:
        fitted.unavailable[name] = calibration.reason
