"""Evaluation as test suites: pytest runs a suite of cases and seals a run card.

Only what plug-ins need stands here; nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_mtarena.hookspecs import hookimpl

if TYPE_CHECKING:
    from pytest_mtarena.errors import ArenaWarning as ArenaWarning
    from pytest_mtarena.errors import CopyWarning as CopyWarning
    from pytest_mtarena.errors import LeakWarning as LeakWarning
    from pytest_mtarena.errors import LengthWarning as LengthWarning
    from pytest_mtarena.errors import RepetitionWarning as RepetitionWarning
    from pytest_mtarena.protocols import Calibration as Calibration
    from pytest_mtarena.protocols import Finding as Finding
    from pytest_mtarena.protocols import MetricInput as MetricInput
    from pytest_mtarena.referee.metrics.base import mean_metric as mean_metric
    from pytest_mtarena.referee.metrics.pooled import PooledMetric as PooledMetric

__version__ = "0.1.0"

_HOME = {
    "ArenaWarning": "errors",
    "CopyWarning": "errors",
    "LeakWarning": "errors",
    "LengthWarning": "errors",
    "RepetitionWarning": "errors",
    "Calibration": "protocols",
    "Finding": "protocols",
    "MetricInput": "protocols",
    "mean_metric": "referee.metrics.base",
    "PooledMetric": "referee.metrics.pooled",
}
"""Name to the module that it comes from, imported at the first use."""

__all__ = [
    "ArenaWarning",
    "Calibration",
    "CopyWarning",
    "Finding",
    "LeakWarning",
    "LengthWarning",
    "MetricInput",
    "PooledMetric",
    "RepetitionWarning",
    "__version__",
    "hookimpl",
    "mean_metric",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"pytest_mtarena.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
