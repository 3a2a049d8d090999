"""Evaluation as test suites: pytest runs a suite of cases and seals a run card.

Only what plug-ins need stands here; nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_mtarena.hookspecs import hookimpl

if TYPE_CHECKING:
    from pytest_mtarena.referee.metrics.base import mean_metric as mean_metric

__version__ = "0.1.0"

__all__ = ["__version__", "hookimpl", "mean_metric"]


def __getattr__(name: str) -> Any:
    if name == "mean_metric":
        from pytest_mtarena.referee.metrics.base import mean_metric

        return mean_metric
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
