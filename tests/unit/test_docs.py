"""The documentation says what is there: metrics, keys of a card, links, examples that run."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from pytest_mtarena.card.model import RunCard
from pytest_mtarena.plugin.options import OPTIONS
from pytest_mtarena.protocols import MetricInput
from pytest_mtarena.referee.composite import COST_UNIT_USD, PROFILES, TIERS
from pytest_mtarena.referee.judging import judge
from pytest_mtarena.referee.translation import TranslationKind
from pytest_mtarena.registry import Registry

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]

METRICS = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def cells(page: str) -> list[list[str]]:
    """Return the cells of all rows of all tables of a page."""
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def metric_examples() -> list[str]:
    """Return the examples of the page on extending that contribute metrics."""
    blocks = re.findall(r"```python\n(.*?)```", EXTENDING, re.DOTALL)
    return [block for block in blocks if "def mtarena_metrics" in block]


def test_the_list_of_metrics_is_that_of_the_catalog():
    listed = {row[0].strip("`"): row[1:6] for row in cells(METRICS) if len(row) == 7}
    listed.pop("id")
    assert listed == {
        metric.id: [
            metric.scale,
            metric.direction,
            metric.level,
            metric.role,
            getattr(metric, "validation", "unvalidated"),
        ]
        for metric in TranslationKind().catalog().values()
    }


def test_the_weights_and_bounds_of_the_composite():
    listed = {row[0].strip("`"): row[1:] for row in cells(METRICS) if len(row) == 3}
    for name in {*PROFILES["A"], *PROFILES["B"]}:
        wanted = [f"{PROFILES[p][name]:.2f}" if name in PROFILES[p] else "" for p in "AB"]
        assert listed[name] == wanted, name
    for bound, name in TIERS:
        assert re.search(rf"`{name}` from\s{bound:.2f}", METRICS), name
    assert f"${COST_UNIT_USD}" in METRICS


def test_every_key_of_a_card_is_explained():
    page = (ROOT / "docs" / "run-card.md").read_text(encoding="utf-8")
    explained = {name for row in cells(page) for name in re.findall(r"`(\w+)`", row[0])}
    assert set(RunCard.model_fields) <= explained


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_options_of_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert "://" in target or (page.parent / target).exists(), target
    flags = {option.pytest_flag for option in OPTIONS}
    assert set(re.findall(r"--mt-[a-z-]*[a-z]", text)) <= flags


@pytest.mark.parametrize("example", metric_examples(), ids=lambda text: text.split()[1])
def test_an_example_of_a_metric_runs(example, tmp_path, monkeypatch):
    (tmp_path / "pasted_example.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pasted_example", raising=False)
    plugin = importlib.import_module("pasted_example")
    entries = [
        MetricInput(
            id=f"e{i}",
            source=f"Take bus {i} to the old harbour at noon.",
            output=f"Tome o ônibus {i % 2} até o porto velho ao meio-dia.",
            references=(f"Pegue o ônibus {i} até o porto velho ao meio-dia.",),
        )
        for i in range(3)
    ]
    metrics = Registry([plugin]).metrics()
    assert metrics
    gold = [one.model_copy(update={"output": one.references[0]}) for one in entries]
    for name, metric in metrics.items():
        assert f"`{name}`" not in METRICS, "an example must not have the name of a real metric"
        if hasattr(metric, "calibrate"):
            fitted, calibration = metric.calibrate(gold)
            assert calibration.reason is None
            assert metric.restore(calibration) == fitted
            metric = fitted
        judged = judge(metric, entries)
        assert [reason for reason in judged.reasons if reason and "Error" in reason] == []
        score = metric.score(judged.rows.sum(axis=0)[None])[0]
        assert 0 <= score <= 2, name
