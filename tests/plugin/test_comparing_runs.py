"""Runs against each other, over the cards that real sessions leave behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pytest_mtarena.registry import make_registry
from pytest_mtarena.results.baseline import against

METHOD = """
class Method:
    def translate(self, entries, config):
        return [{{"id": e["id"], "predicted": e["source"].replace("word number", {words!r})
                 if int(e["id"][1:]) % {every} == 0 else e["source"].upper()}} for e in entries]
"""


@pytest.fixture
def run(arena, method, pytester):
    """Run a method that is right on every so many entries; return the file of its card."""

    def of(path, name, every, words="palavra número", *args):
        directory = method(METHOD.format(words=words, every=every), name)
        known = {*(pytester.path / "eval/logs/harness").glob("*.json")}
        options = [f"--mt-method={directory}", "--mt-n-bootstrap=20", *args]
        arena(str(path), *options, fresh=False)
        [card] = {*(pytester.path / "eval/logs/harness").glob("*.json")} - known
        return card

    return of


@pytest.fixture
def mt_eval(pytester):
    def call(*args):
        command = [sys.executable, "-W", "error", "-m", "pytest_mtarena.cli", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=pytester.path)
        assert "Traceback" not in done.stderr
        return done

    return call


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_two_methods_on_one_suite(run, corpus, mt_eval):
    path = corpus(16)
    good, bad = run(path, "good", 1), run(path, "bad", 3)
    done = mt_eval("compare", good, bad, "--json", "--fail-on-difference")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    [system] = told["systems"]
    first = system["metrics"][0]
    assert first["metric"] == "chrf_plus_plus"
    assert round(first["score_a"], 2) == read(good)["scores"]["chrf_plus_plus"]
    assert round(first["score_b"], 2) == read(bad)["scores"]["chrf_plus_plus"]
    assert first["verdict"] == "worse"
    assert system["compared"]["words"] == "16 entries"
    assert "warnings" in system
    done = mt_eval("compare", good, bad)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "B against A: 16 entries, tiny" in done.stdout
    done = mt_eval("significance", good, bad, "--metric=exact_match_rate")
    assert "McNemar, exact" in done.stdout
    assert mt_eval("power", good, bad).stdout.count("this suite of 16 entries can see") == 1


def test_documents_of_the_suite_reach_the_test(run, corpus, mt_eval):
    path = corpus(12)
    suite = json.loads(path.read_text(encoding="utf-8"))
    for at, entry in enumerate(suite["entries"]):
        entry["document"] = f"d{at // 3}"
    path.write_text(json.dumps(suite), encoding="utf-8")
    cards = [run(path, "good", 1), run(path, "bad", 3)]
    assert "12 entries in 4 documents, resampled together" in mt_eval("compare", *cards).stdout


def test_a_longer_suite_shares_entries_with_a_shorter(run, corpus, mt_eval):
    one = run(corpus(8), "good", 1)
    other = run(corpus(12, "longer.json"), "bad", 3)
    done = mt_eval("compare", one, other)
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR: A (")
    assert "--shared compares the 8 entries" in done.stderr
    done = mt_eval("compare", "--shared", one, other)
    assert done.returncode == 0
    assert "left out: 4 only in B" in " ".join(done.stdout.split())


def test_a_shard_is_another_selection(run, corpus, mt_eval):
    path = corpus(8)
    whole = run(path, "good", 1)
    shard = run(path, "good", 1, "palavra número", "--mt-shard=1/2", "--mt-batch-size=2")
    done = mt_eval("compare", whole, shard)
    assert done.returncode == 2
    assert "of different entries" in done.stderr


def test_the_card_of_a_session_against_its_baseline(run, corpus):
    path = corpus(16)
    then, now = read(run(path, "good", 1)), read(run(path, "good", 3))
    drops = {"chrf_plus_plus": 5.0, "composite": 0.01}
    verdict = against(now, then, make_registry(), max_drops=drops, significant=True)
    assert [line.split()[1] for line in verdict.missed] == ["chrF++", "composite", "chrF++"]
    assert verdict.problem is None
    assert verdict.n_worse == 11
    assert len(verdict.worst) == 10
    assert verdict.worst[0].output_b == verdict.worst[0].source.upper()
    assert against(then, now, make_registry(), max_drops=drops, significant=True).missed == ()


def test_a_changed_suite_is_no_baseline(run, corpus):
    then = read(run(corpus(8), "good", 1))
    now = read(run(corpus(9), "good", 1))
    problem = against(now, then, make_registry(), where="main.json").problem
    assert problem.startswith("baseline (main.json) and now are of different suites: tiny ")
