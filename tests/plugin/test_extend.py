"""Extensions: from an installed package, a conftest and a -p module; clashes and misspellings."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

EXTENSION = """
from pytest_mtarena import hookimpl, mean_metric

class Shout:
    def translate(self, entries, config):
        return [{{"id": e["id"], "predicted": e["source"].upper()}} for e in entries]

@hookimpl
def mtarena_methods():
    return {{"{name}_shout": Shout}}

@hookimpl
def mtarena_metrics():
    def vowels(entry):
        return sum(c in "aeiouAEIOU" for c in entry.output) / max(1, len(entry.output))
    return {{"{name}_vowels": mean_metric("{name}_vowels", vowels, scale="0-1")}}

@hookimpl
def mtarena_post_translation():
    return {{"{name}_mark": lambda entries, outputs, config: [o + " {name}" for o in outputs]}}

@hookimpl
def mtarena_run_card(card):
    card["extra"]["{name}"] = len(card["results"])
"""


@pytest.fixture
def package(pytester, monkeypatch):
    """An installed package with an entry point of the group mtarena."""
    site = pytester.path / "site"
    info = site / "ext_pack-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "ext_pack.py").write_text(EXTENSION.format(name="pack"))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ext-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mtarena]\npack = ext_pack\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    return site


def test_a_package_and_a_conftest_both_contribute(arena, corpus, package, pytester, mode):
    pytester.makeconftest(EXTENSION.format(name="conf"))
    result = arena(
        str(corpus(5)),
        "--mt-method=pack_shout",
        "--mt-method=conf_shout",
        "--mt-hooks=conf_mark,pack_mark",
        "--mt-fail-under=pack_vowels=0.01",
        "--mt-item-min=conf_vowels=0.01",
        *mode,
    )
    assert result.code == 0, result.text
    for card in result.cards:
        assert card["extra"] == {"conf": 5, "pack": 5}
        assert card["scores"]["pack_vowels"] == card["scores"]["conf_vowels"] > 0
        assert card["config"]["hooks"] == ["conf_mark", "pack_mark"]
        row = card["results"][0]
        assert row["raw_predicted"] == "WORD NUMBER 1"
        assert row["predicted"] == "WORD NUMBER 1 conf pack"
        assert set(row["plugin_metrics"]) == {"conf_vowels", "pack_vowels"}
    verify = subprocess.run(
        [sys.executable, "-m", "pytest_mtarena.cli", "verify"]
        + [str(p) for p in sorted((pytester.path / "eval/logs/harness").glob("*.json"))],
        capture_output=True,
        text=True,
        cwd=pytester.path,
    )
    assert verify.returncode == 0, verify.stdout + verify.stderr
    assert "note: conf_vowels is not installed here" in verify.stdout
    assert "pack_vowels" not in verify.stdout


def test_a_hook_that_fails_marks_its_batch_and_keeps_the_raw_output(arena, corpus, good, pytester):
    pytester.makeconftest(
        textwrap.dedent(
            """
            def mtarena_post_translation():
                def bad(entries, outputs, config):
                    if entries[0]["id"] == "e1":
                        raise RuntimeError("broken hook")
                    return outputs
                return {"bad": bad}
            """
        )
    )
    result = arena(str(corpus(4)), f"--mt-method={good}", "--mt-hooks=bad", "--mt-batch-size=2")
    assert result.code == 1
    assert [row["status"] for row in result.rows] == ["error", "error", "ok", "ok"]
    assert "broken hook" in result.rows[0]["error"]
    assert result.rows[0]["raw_predicted"] == "palavra número 1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def mtarena_metrisc(): return {}", "there is no hook mtarena_metrisc; did you mean"),
        ("def mtarena_metrics(wrong): return {}", "wrong"),
        ("def mtarena_metrics(): return 7", "must return a mapping"),
        ("def mtarena_metrics(): return 1 / 0", "ZeroDivisionError"),
        (
            EXTENSION.format(name="pack"),
            "is defined twice: by pack and by",
        ),
        (
            "from pytest_mtarena import mean_metric\n"
            "def mtarena_metrics():\n"
            "    return {'bleu': mean_metric('bleu', lambda e: 1.0, scale='0-1')}",
            "bleu",
        ),
    ],
)
def test_a_mistake_in_an_extension_is_one_line(arena, corpus, good, package, pytester, text, told):
    pytester.makeconftest(text)
    result = arena(str(corpus(2)), f"--mt-method={good}")
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text


def test_an_entry_point_that_cannot_be_imported_is_named(arena, corpus, good, package):
    (package / "ext_pack.py").write_text("import nosuchmodule")
    result = arena(str(corpus(2)), f"--mt-method={good}")
    assert result.code == 4, result.text
    assert "entry point pack = ext_pack: ModuleNotFoundError" in result.text


def test_a_p_module_contributes_too(arena, corpus, pytester, monkeypatch):
    (pytester.path / "extra_module.py").write_text(EXTENSION.format(name="mod"))
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    result = arena(str(corpus(2)), "-p", "extra_module", "--mt-method=mod_shout")
    assert result.code == 0, result.text
    assert "mod_vowels" in result.card["scores"]


def test_a_metric_that_raises_is_null_on_its_entry(arena, corpus, good, pytester, mode):
    pytester.makeconftest(
        textwrap.dedent(
            """
            from pytest_mtarena import mean_metric
            def mtarena_metrics():
                values = {"e1": 0.8, "e2": float("nan"), "e3": float("inf")}
                def odd(entry):
                    if entry.id == "e4":
                        raise LookupError("no value")
                    return values[entry.id]
                return {"odd": mean_metric("odd", odd, scale="0-1")}
            """
        )
    )
    result = arena(str(corpus(4)), f"--mt-method={good}", *mode)
    assert result.code == 0, result.text
    assert [row["plugin_metrics"]["odd"] for row in result.rows] == [0.8, None, None, None]
    assert "non-finite" in result.rows[1]["metric_reasons"]["odd"]
    assert "LookupError" in result.rows[3]["metric_reasons"]["odd"]
    assert result.card["scores"]["odd"] == 0.8


def test_a_metric_that_only_workers_know_is_an_error(arena, corpus, good, pytester):
    (pytester.path / "deep").mkdir()
    path = corpus(4, "deep/tiny.json")
    (pytester.path / "deep" / "conftest.py").write_text(EXTENSION.format(name="deep"))
    result = arena("deep", f"--mt-method={good}", "-n2")
    assert path.exists()
    if "deep_vowels" not in result.card["scores"]:
        assert result.code == 1
        assert "known to the workers only" in result.text
