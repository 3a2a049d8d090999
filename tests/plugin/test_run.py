"""A run from beginning to end: items, card, summary, exit code."""

from __future__ import annotations

import json

import pytest
from sacrebleu.metrics import CHRF

from pytest_mtarena.registry import make_registry
from pytest_mtarena.results.verify import verify


def test_a_run_passes_and_seals_a_card_that_verifies(arena, corpus, good, mode):
    result = arena(str(corpus(7)), f"--mt-method={good}", "--mt-batch-size=3", *mode)
    assert result.code == 0, result.text
    result.outcomes(passed=7)
    card = result.card
    assert verify(card, make_registry()) == []
    assert card["complete"]
    assert card["model_slug"].startswith("method/mine@")
    assert card["scores"]["exact_match_rate"] == 1.0
    assert card["scores"]["chrf_plus_plus"] == 100.0
    assert card["dataset"]["language_pair"] == "eng>por"
    assert [row["entry_id"] for row in card["results"]] == [f"e{i}" for i in range(1, 8)]
    assert [row["request"] for row in card["results"]] == [0, 0, 0, 3, 3, 3, 6]
    assert result.journals == []
    assert "mtarena: mine@" in result.text
    assert "(eng→por, 7 entries) · 3 batches of 3" in result.text
    assert "chrF++" in result.text
    assert "card eval/logs/harness/" in result.text


SHAKY = """
class Method:
    def translate(self, entries, config):
        return [
            {"id": e["id"], "predicted": e["source"].replace("word", "palavra")} for e in entries
        ]
"""


def test_scores_intervals_and_rows_do_not_depend_on_how_it_ran(arena, corpus, method, pytester):
    path, directory = corpus(40), method(SHAKY)
    cards = [
        arena(str(path), f"--mt-method={directory}", "--mt-batch-size=4", *how).card
        for how in ([], ["-n2"], ["-n2", "--dist=worksteal"], ["-n2", "--dist=loadfile"])
    ]
    for card in cards:
        assert card["scores"]["n_invalid"] == 0

    def stable(card):
        timed = ("latency", "per_minute", "per_second")
        scores = {k: v for k, v in card["scores"].items() if not any(t in k for t in timed)}
        rows = [
            {k: v for k, v in row.items() if k not in ("request_seconds", "latency_seconds")}
            for row in card["results"]
        ]
        return scores, rows, card["fingerprint"], card["setup_fingerprint"]

    assert stable(cards[0])[0]["chrf_plus_plus"] > 0
    for card in cards[1:]:
        assert stable(card) == stable(cards[0])


def test_the_score_is_sacrebleus(arena, corpus, method):
    card = arena(str(corpus(9)), f"--mt-method={method(SHAKY)}").card
    rows = card["results"]
    score = CHRF(word_order=2).corpus_score(
        [row["predicted"] for row in rows], [[row["reference"] for row in rows]]
    )
    assert card["scores"]["chrf_plus_plus"] == round(score.score, 2)


def test_random_order_changes_neither_batches_nor_rows(arena, corpus, method, pytester):
    log = pytester.path / "calls.txt"
    directory = method(
        f"""
class Method:
    def translate(self, entries, config):
        with open({str(log)!r}, "a") as file:
            file.write(" ".join(e["id"] for e in entries) + "\\n")
        return [{{"id": e["id"], "predicted": "x"}} for e in entries]
"""
    )
    arguments = (str(corpus(10)), f"--mt-method={directory}", "--mt-batch-size=4")
    result = arena(*arguments, "-p", "randomly", "-p", "no:mtarena-none", "-p", "randomly")
    rows = [row["entry_id"] for row in result.rows]
    assert rows == [f"e{i}" for i in range(1, 11)]
    assert sorted(log.read_text().splitlines()) == ["e1 e2 e3 e4", "e5 e6 e7 e8", "e9 e10"]


def test_several_contestants_run_at_once_with_a_card_each(arena, corpus, method, mode):
    one, two = method(SHAKY, "one"), method(SHAKY, "two")
    result = arena(str(corpus(6)), f"--mt-method={one}", f"--mt-method={two}", "-v", *mode)
    assert result.code == 0, result.text
    result.outcomes(passed=12)
    assert {card["model_slug"].split("@")[0] for card in result.cards} == {
        "method/one",
        "method/two",
    }
    assert "::eng-por::e1[one]" in result.text
    assert all(len(card["results"]) == 6 for card in result.cards)


def test_the_same_method_twice_is_refused(arena, corpus, good):
    result = arena(str(corpus()), f"--mt-method={good}", f"--mt-method={good}")
    assert result.code == 4
    assert "is given twice" in result.text


def test_an_ordinary_project_stays_ordinary(arena, corpus, pytester):
    corpus()
    pytester.makepyfile(test_it="def test_it(): pass")
    result = arena()
    result.outcomes(passed=1)
    assert "mtarena:" not in result.text.replace("plugins:", "")
    assert result.cards == []


def test_without_a_path_the_ini_says_what_runs(arena, corpus, good, pytester):
    (pytester.path / "quality").mkdir()
    corpus(3, "quality/a.json")
    pytester.makepyfile(test_it="def test_it(): pass")
    missing = arena(f"--mt-method={good}")
    assert missing.code == 4
    assert "set mt_suites in the ini file" in missing.text
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nmt_suites = quality\n"
    )
    result = arena(f"--mt-method={good}")
    result.outcomes(passed=3)


def test_a_corpus_can_be_named_by_option_and_parallel_text_too(arena, good, corpus, pytester):
    path = corpus(2)
    result = arena(f"--mt-corpus={path}", f"--mt-method={good}")
    result.outcomes(passed=2)
    (pytester.path / "src.txt").write_text("One\n\nThree\n")
    (pytester.path / "ref.txt").write_text("Um\nDois\nTrês\n")
    parallel = arena(
        "--mt-source-file=src.txt", "--mt-reference-file=ref.txt", f"--mt-method={good}"
    )
    assert parallel.code == 0, parallel.text
    parallel.outcomes(passed=2, skipped=1)
    assert [(r["entry_id"], r["status"]) for r in parallel.rows] == [
        ("1", "ok"),
        ("2", "invalid"),
        ("3", "ok"),
    ]
    assert parallel.card["scores"]["evaluated"] == 2


def test_a_dry_run_checks_and_counts_and_calls_nothing(arena, corpus, method, mode):
    directory = method("class Method:\n    def translate(self, e, c):\n        raise SystemExit")
    result = arena(
        str(corpus(7)), f"--mt-method={directory}", "--mt-batch-size=3", "--mt-dry-run", *mode
    )
    assert result.code == 0, result.text
    assert "would run   mine × tiny (7 entries) = 3 calls, 8 at once" in result.text
    assert result.cards == []
    assert result.journals == []


def test_collect_only_needs_no_call(arena, corpus, good):
    result = arena(str(corpus(2)), f"--mt-method={good}", "--collect-only", "-q")
    assert result.code == 0
    assert "tiny.json::eng-por::e1" in result.text
    assert result.cards == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--mt-batch-size=0"], "takes a whole number from 1 to 1,000,000,000, not '0'"),
        (["--mt-timeout=-1"], "takes a number of seconds above 0"),
        (["--mt-temperature=9"], "takes a temperature from 0 to 2"),
        (["--mt-shard=3/2"], "takes I/N with 1 <= I <= N"),
        (["--mt-fail-under=chrf"], "takes METRIC=VALUE"),
        (["--mt-fail-under=nosuch=3"], "there is no such score"),
        (["--mt-metrics=nosuch"], "nosuch"),
        (["--mt-hooks=nosuch"], "--mt-hooks: there is no hook 'nosuch'"),
        (["--mt-ids=e1", "--mt-dataset=e2"], "both say which entries"),
        (["--mt-ids=e1,zz"], "no entry has the id 'zz'"),
        (["--mt-source-file=x.txt"], "needs --mt-reference-file"),
        (["--mt-resume=nosuch.jsonl"], "no such journal"),
        (["--mt-normalization=NFX"], "takes NFC or none"),
        (["--dist=each", "-n2"], "would count it twice"),
    ],
)
def test_a_mistake_is_one_line_and_exit_4(arena, corpus, good, args, told):
    result = arena(str(corpus(2)), f"--mt-method={good}", *args)
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text


def test_an_option_without_a_contestant_is_a_mistake(arena, corpus):
    result = arena(str(corpus(2)), "--mt-batch-size=3")
    assert result.code == 4
    assert "--mt-batch-size needs a contestant: --mt-method or --mt-model" in result.text


def test_a_broken_suite_is_a_collection_error_and_nothing_is_sent(arena, good, pytester, mode):
    path = pytester.path / "twice.jsonl"
    ids = ["e1", "e2", "e3", "e2"]
    path.write_text("\n".join(json.dumps({"id": i, "src": i, "ref": i}) for i in ids))
    result = arena(str(path), f"--mt-method={good}", *mode)
    assert result.code == (2 if mode != ["-n2"] else result.code)
    assert result.code not in (0, 5)
    assert "e2" in result.text
    assert "twice.jsonl:4" in result.text
    assert "Traceback" not in result.text
    assert result.cards == []
