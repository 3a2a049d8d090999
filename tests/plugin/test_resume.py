"""Resuming: what is kept, what is asked again, what is refused."""

from __future__ import annotations

import json

import pytest

from pytest_mtarena.run.journal import read_rows
from tests.plugin.conftest import GOOD


@pytest.fixture
def stopped(arena, corpus, method, pytester):
    """A session that -x has stopped at its third entry, and how to go on with it."""
    mended = pytester.path / "mended"
    directory = method(
        f"""
import os
class Method:
    def translate(self, entries, config):
        if entries[0]["id"] == "e3" and not os.path.exists({str(mended)!r}):
            raise ValueError("no")
        return [{{"id": e["id"], "predicted": "x" if e["id"] == "e1" else e["source"]}}
                for e in entries]
"""
    )
    path = corpus(40)
    args = [str(path), f"--mt-method={directory}", "--mt-batch-size=1", "--mt-concurrency=4"]
    first = arena(*args, "-x")
    assert first.code == 1, first.text
    [journal] = first.journals
    mended.touch()
    return args, journal, path


def test_answers_that_were_paid_are_kept_when_x_stops(stopped):
    _, journal, _ = stopped
    kept = {payload["row"]["entry_id"] for *_, payload in read_rows(journal)}
    assert {"e1", "e2", "e3"} < kept


def test_a_limit_for_items_holds_for_resumed_ones_too(arena, stopped):
    args, journal, _ = stopped
    result = arena(*args, f"--mt-resume={journal}", "--mt-item-min=chrf_plus_plus=1")
    assert result.code == 1, result.text
    assert "::e1" in result.text
    assert "at least 1 is asked for" in result.text


def test_a_suite_in_another_order_is_refused(arena, stopped):
    args, journal, path = stopped
    suite = json.loads(path.read_text())
    suite["entries"].reverse()
    path.write_text(json.dumps(suite))
    result = arena(*args, f"--mt-resume={journal}")
    assert result.code == 4, result.text
    assert "belongs to another order" in result.text


def test_a_run_the_journal_does_not_know_is_refused(arena, stopped, corpus):
    args, journal, _ = stopped
    result = arena(*args, str(corpus(2, "other.json")), f"--mt-resume={journal}")
    assert result.code == 4, result.text
    assert "knows nothing of" in result.text


def test_failed_rows_of_a_finished_run_can_be_tried_again(arena, corpus, method, pytester):
    mended = pytester.path / "mended"
    directory = method(
        f"""
import os
class Method:
    def translate(self, entries, config):
        if not os.path.exists({str(mended)!r}):
            raise ValueError("no")
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""
    )
    args = [str(corpus(3)), f"--mt-method={directory}"]
    first = arena(*args)
    assert first.card["complete"]
    [journal] = first.journals
    assert "what failed can be tried again with --mt-resume" in first.text
    mended.touch()
    again = arena(*args, f"--mt-resume={journal}")
    assert again.code == 0, again.text
    assert again.journals == []


@pytest.mark.parametrize("text", ["", "{}\n", '{"journal": 1}\n'])
def test_a_file_that_is_no_journal_is_one_line(arena, corpus, good, pytester, text):
    path = pytester.path / "x.jsonl"
    path.write_text(text)
    result = arena(str(corpus(2)), f"--mt-method={good}", f"--mt-resume={path}")
    assert result.code == 4, result.text
    assert "Traceback" not in result.text


def test_suites_outside_the_root_directory_keep_apart(arena, corpus, method, pytester, mode):
    outside = pytester.path.parent / f"{pytester.path.name}-outside"
    outside.mkdir()
    for name in ("a.json", "b.json"):
        corpus(3, name).rename(outside / name)
    result = arena(
        f"--mt-corpus={outside / 'a.json'}",
        f"--mt-corpus={outside / 'b.json'}",
        f"--mt-method={method(GOOD)}",
        f"--rootdir={pytester.path}",
        *mode,
    )
    assert result.code == 0, result.text
    assert sorted(card["dataset"]["id"] for card in result.cards) == ["a", "b"]
    assert all(len(card["results"]) == 3 for card in result.cards)


def test_an_entry_that_is_named_twice_is_sent_once(arena, corpus, good):
    path = str(corpus(3))
    result = arena(path, path, f"--mt-method={good}", "--keep-duplicates")
    assert result.code == 0, result.text
    assert [row["status"] for row in result.rows] == ["ok"] * 3


def test_a_contestant_that_answers_nonsense_fails_and_nothing_hangs(arena, corpus, pytester):
    pytester.makeconftest(
        """
from pytest_mtarena.protocols import Identity

class Odd:
    identity = Identity(name="odd", slug="odd", label="odd")
    async def attempt(self, entries, config):
        return 7

def mtarena_methods():
    return {"odd": lambda options: Odd()}
"""
    )
    result = arena(str(corpus(2)), "--mt-method=odd")
    assert result.code == 1, result.text
    assert [row["status"] for row in result.rows] == ["error", "error"]
