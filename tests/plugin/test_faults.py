"""What a method does wrong: an error on exactly its entries, and the run goes on."""

from __future__ import annotations

import pytest

BATCH_TWO = """
class Method:
    calls = 0
    def translate(self, entries, config):
        if entries[0]["id"] == "e4":
            {fault}
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("{}['gloss']", "KeyError: 'gloss'"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return None", "must return a list"),
        ("return ['a', 'b', 'c']", "must return a list"),
        ("return 7", "must return a list"),
    ],
)
def test_a_fault_marks_exactly_its_batch(arena, corpus, method, fault, told):
    directory = method(BATCH_TWO.format(fault=fault))
    result = arena(str(corpus(7)), f"--mt-method={directory}", "--mt-batch-size=3")
    assert result.code == 1, result.text
    result.outcomes(passed=4, failed=3)
    assert [row["status"] for row in result.rows] == ["ok"] * 3 + ["error"] * 3 + ["ok"]
    assert told in result.rows[3]["error"]
    assert told.split(":")[0] in result.text
    assert "Traceback (most recent call last)" not in result.text
    card = result.card
    assert card["scores"]["evaluated"] == 7
    assert card["scores"]["errors"] == 3
    assert card["complete"]


def test_the_methods_own_frames_are_kept(arena, corpus, method, mode):
    directory = method(BATCH_TWO.format(fault="{}['gloss']"))
    result = arena(str(corpus(4)), f"--mt-method={directory}", "--mt-batch-size=3", *mode)
    failure = result.rows[3]["failure"]
    assert "module.py" in failure["traceback"]
    assert "pytest_mtarena" not in failure["traceback"]


ONE_BY_ONE = """
class Method:
    def translate(self, entries, config):
        results = [{{"id": e["id"], "predicted": "x"}} for e in entries]
        {change}
        return results
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("results[1]['latency_s'] = float('nan')", "latency_s"),
        ("results[1]['usage'] = {'prompt_tokens': -1}", "usage"),
        ("results[1]['predicted'] = None", "predicted"),
        ("results[1]['predicted'] = 3", "predicted"),
        ("del results[1]['predicted']", "predicted"),
        ("results[1]['predicted'] = '\\ud800'", "Unicode"),
        ("results[1]['metadata'] = {'x': object()}", "metadata"),
        ("del results[1]", "no result"),
        ("results[1]['error'] = 'quota'", "quota"),
    ],
)
def test_a_wrong_result_marks_exactly_its_entry(arena, corpus, method, change, told):
    directory = method(ONE_BY_ONE.format(change=change))
    result = arena(str(corpus(3)), f"--mt-method={directory}")
    assert result.code == 1, result.text
    assert [row["status"] for row in result.rows] == ["ok", "error", "ok"]
    assert told in result.rows[1]["error"]


def test_missing_results_and_an_unknown_id_shrink_nothing(arena, corpus, method, mode):
    directory = method(
        ONE_BY_ONE.format(change="results = results[:40] + [{'id': 'zz', 'predicted': 'x'}]")
    )
    result = arena(str(corpus(47)), f"--mt-method={directory}", "--mt-batch-size=50", *mode)
    assert result.code == 1
    card = result.card
    assert card["scores"]["evaluated"] == 47
    assert card["scores"]["errors"] == 7
    assert [row["status"] for row in card["results"]].count("error") == 7
    [fault] = [line for line in card["caveats"] if "zz" in line]
    assert "zz" in result.text
    assert fault


def test_a_hanging_call_times_out_and_the_rest_goes_on(arena, corpus, method):
    directory = method(BATCH_TWO.format(fault="import time; time.sleep(60)"))
    result = arena(
        str(corpus(7)), f"--mt-method={directory}", "--mt-batch-size=3", "--mt-timeout=1"
    )
    assert [row["status"] for row in result.rows] == ["ok"] * 3 + ["timeout"] * 3 + ["ok"]
    assert "no answer within 1 s" in result.text
    assert result.run.duration < 20


CHEAT = '''
import gc, inspect, os, sys, threading, types

SEEN = []

def walk(value, depth=0, seen=None):
    """Everything within reach: containers, attributes, closures; not the whole interpreter."""
    seen = set() if seen is None else seen
    if depth > 6 or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, str):
        SEEN.append(value)
    elif isinstance(value, dict):
        for key, inner in list(value.items()):
            walk(key, depth + 1, seen); walk(inner, depth + 1, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in list(value):
            walk(inner, depth + 1, seen)
    elif isinstance(value, types.ModuleType):
        return
    else:
        for name in dir(value):
            if not name.startswith("__"):
                try:
                    inner = inspect.getattr_static(value, name)
                    inner = getattr(value, name) if not callable(inner) else inner
                except Exception:
                    continue
                walk(inner, depth + 1, seen)
        walk(getattr(value, "__dict__", None), depth + 1, seen)

class Method:
    async def translate(self, entries, config):
        before = set(os.listdir("."))
        walk(entries); walk(config)
        frame = inspect.currentframe()
        while frame is not None:
            walk(dict(frame.f_locals)); frame = frame.f_back
        walk(dict(os.environ))
        for name in os.listdir("."):
            if os.path.isfile(name) and not name.endswith((".json", ".ini")):
                with open(name, errors="replace") as file:
                    SEEN.append(file.read())
        wanted = "".join(["pal", "avra", " n"])
        found = [text for text in SEEN if wanted in text]
        return [{"id": e["id"], "predicted": repr(found[:3]) if found else "clean"}
                for e in entries]
'''


def test_no_reference_is_within_reach_of_a_method(arena, corpus, method, mode):
    result = arena(str(corpus(6)), f"--mt-method={method(CHEAT)}", "--mt-batch-size=3", *mode)
    assert {row["predicted"] for row in result.rows} == {"clean"}


def test_entries_hold_only_what_is_public(arena, corpus, method):
    directory = method(
        """
class Method:
    def translate(self, entries, config):
        keys = sorted({key for entry in entries for key in entry})
        return [{"id": e["id"], "predicted": " ".join(keys)} for e in entries]
"""
    )
    path = corpus(2, metadata_note="secret")
    result = arena(str(path), f"--mt-method={directory}")
    assert result.rows[0]["predicted"] == "domain id index segment source"


def test_a_broken_method_directory_is_told_with_all_its_problems(arena, corpus, method):
    directory = method("class Other: pass", entry_point="module:Method", dependency_class="Z")
    result = arena(str(corpus(2)), f"--mt-method={directory}")
    assert result.code == 4
    assert "dependency_class" in result.text
    assert "Traceback" not in result.text


def test_an_item_that_runs_again_asks_again_and_has_one_row(arena, corpus, method, pytester, mode):
    mark = pytester.path / "first.mark"
    directory = method(
        f"""
import os
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e1" and not os.path.exists({str(mark)!r}):
            open({str(mark)!r}, "w").close()
            raise ValueError("first time")
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""
    )
    result = arena(
        str(corpus(5)), f"--mt-method={directory}", "--mt-batch-size=2", "--reruns=1", *mode
    )
    assert result.code == 0, result.text
    result.outcomes(passed=5, rerun=2)
    assert [row["status"] for row in result.rows] == ["ok"] * 5
