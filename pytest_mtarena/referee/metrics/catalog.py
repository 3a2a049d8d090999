"""All metrics of translation that the package brings, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast, get_args

from pytest_mtarena.protocols import (
    Metric,
    MetricDirection,
    MetricLevel,
    MetricRole,
    Validation,
)
from pytest_mtarena.referee.scripts import Tokenization
from pytest_mtarena.referee.setting import Setting
from pytest_mtarena.text import cut, printable

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


def problem_of(metric: object) -> str | None:
    """Return what is wrong in what a contributed metric says of itself; None when nothing is.

    Asked before anything is sent: a card that cannot be written would come too late.
    """
    if not isinstance(metric, Metric):
        return "it is no metric: see docs/extending.md"
    if not metric.id or not metric.id.isprintable():
        return "its id is not a printable text"
    for name in ("title", "scale", "version", "signature"):
        text = getattr(metric, name)
        if not isinstance(text, str):
            return f"{name} must be a text, not {type(text).__name__}"
        if any("\ud800" <= char <= "\udfff" for char in text):
            return f"{name} holds a lone surrogate"
    told = {name: getattr(metric, name) for name in _CHOICES if name != "validation"}
    told["validation"] = getattr(metric, "validation", "unvalidated")
    for name, value in told.items():
        if not isinstance(value, str) or value not in get_args(_CHOICES[name]):
            known = ", ".join(get_args(_CHOICES[name]))
            return f"{name} must be one of {known}, not {cut(printable(repr(value)), 40)}"
    needs = getattr(metric, "needs", ())
    if not isinstance(needs, tuple | list) or not all(isinstance(one, str) for one in needs):
        return "needs must be a tuple of texts"
    missing = getattr(metric, "missing", None)
    if missing is not None and not isinstance(missing, str):
        return f"missing must be a text or None, not {type(missing).__name__}"
    return None


_CHOICES: Mapping[str, Any] = {
    "direction": MetricDirection,
    "level": MetricLevel,
    "role": MetricRole,
    "validation": Validation,
}


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
