"""All metrics of translation that the package brings, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

from pytest_mtarena.protocols import Metric
from pytest_mtarena.referee.scripts import Tokenization
from pytest_mtarena.referee.setting import Setting

MODULES = (
    "spbleu",
    "equivalent",
    "fst",
    "morphology",
    "orthography",
    "semantic",
    "comet",
    "code_switching",
    "hallucination",
    "terminology",
    "consistency",
    "compliance",
    "style",
)
"""Modules with ``make(setting) -> list[Metric]``, imported when a referee is made."""


def make_catalog(tokenization: Tokenization, setting: Setting) -> dict[str, Metric]:
    """Return all metrics by id, headline first; what cannot work here says so in ``missing``."""
    # The string metrics bring sacreBLEU along, which a session without metrics can do without.
    from pytest_mtarena.referee.metrics.builtin import make_builtin

    metrics: dict[str, Metric] = make_builtin(tokenization.bleu, asian=tokenization.asian)
    for name in MODULES:
        module = import_module(f"pytest_mtarena.referee.metrics.{name}")
        make = cast("Callable[[Setting], list[Metric]]", module.make)
        metrics.update({metric.id: metric for metric in make(setting)})
    return metrics


def describe(metric: Metric) -> Mapping[str, Any]:
    """Return what a metric says of itself, as JSON."""
    return {
        "title": metric.title,
        "scale": metric.scale,
        "direction": metric.direction,
        "level": metric.level,
        "role": metric.role,
        "validation": getattr(metric, "validation", "unvalidated"),
        "version": metric.version,
        "needs": list(getattr(metric, "needs", ())),
    }
