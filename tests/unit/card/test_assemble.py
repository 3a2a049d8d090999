"""Assembling: keys, order, what an incomplete card may say, and what never gets in."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.card.assemble import assemble
from pytest_mtarena.card.environment import environment
from pytest_mtarena.card.fingerprint import fingerprint
from pytest_mtarena.card.seal import seal
from pytest_mtarena.card.store import card_problems
from pytest_mtarena.errors import CardError
from pytest_mtarena.protocols import Identity
from pytest_mtarena.records import RunConfig, Scoring
from tests.unit.card.making import ToyReferee, make_card, make_facts, make_rows

DOCUMENTED = [
    *("run_id", "harness_version", "model_slug", "model_id", "condition", "timestamp"),
    *("elapsed_seconds", "dataset", "config", "method_card", "system_prompt_sha256"),
    *("system_prompt_used", "fingerprint", "scores", "totals", "environment", "results"),
    "run_card_hash",
]


def test_documented_keys_come_in_their_order() -> None:
    assert [key for key in seal(make_card()) if key in DOCUMENTED] == DOCUMENTED


def test_card_is_of_the_schema_sealed_or_not() -> None:
    card = make_card()
    assert card_problems(card) == []
    assert card_problems(seal(card)) == []


def test_run_id_is_a_new_uuid4_each_time() -> None:
    one, other = make_card()["run_id"], make_card()["run_id"]
    assert one != other
    assert uuid.UUID(one).version == 4


def test_timestamp_is_utc() -> None:
    started = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert make_card(started=started)["timestamp"] == "2025-12-31T23:30:00Z"


def test_rows_come_in_canonical_order_and_are_not_touched() -> None:
    rows = make_rows(12)
    random.Random(1).shuffle(rows)
    before = json.dumps(rows)
    card = assemble(make_facts(12), rows, ToyReferee().score(rows))
    assert [row["index"] for row in card["results"]] == list(range(12))
    assert json.dumps(rows) == before


def test_nothing_of_the_machine_gets_in() -> None:
    identity = Identity(
        name="m",
        slug="method/m@1",
        facts={"options": {"model": "/home/someone/models/m.bin", "sep": "/", "w": "C:\\x\\y"}},
    )
    card = make_card(identity=identity, method_dir=Path("/home/someone/methods/echo"))
    text = json.dumps(card)
    assert "/somewhere" not in text
    assert "/home" not in text
    assert card["config"]["method_path"] == "echo"
    assert card["config"]["options"] == {"model": "m.bin", "sep": "/", "w": "y"}
    assert card["config"]["suite"]["reference_file"] == "refs.txt"
    assert card["dataset"]["file"] == "tiny.json"


@pytest.mark.parametrize(
    ("given", "published"),
    [("methods/echo", "methods/echo"), ("../echo", "echo"), ("/a/b/echo", "echo")],
)
def test_method_path(given: str, published: str) -> None:
    assert make_card(method_dir=Path(given))["config"]["method_path"] == published


def test_language_pair_is_of_codes_with_names_where_there_are_none() -> None:
    assert make_card()["dataset"]["language_pair"] == "eng>por"
    facts = make_facts()
    bare = facts.suite.model_copy(update={"languages": {}})
    told = RunConfig(source_lang="Shona")
    assert make_card(suite=bare, run_config=told)["dataset"]["language_pair"] == "Shona>?"
    assert make_card(suite=bare, run_config=RunConfig())["dataset"]["language_pair"] is None


def test_system_prompt_has_a_digest_only_when_there_is_one() -> None:
    assert make_card()["system_prompt_sha256"] == ""
    card = make_card(system_prompt="Traduz.")
    assert card["system_prompt_sha256"] == hashlib.sha256(b"Traduz.").hexdigest()


def test_rows_outside_the_selection_are_an_error() -> None:
    rows = make_rows()
    report = ToyReferee().score(rows)
    with pytest.raises(CardError, match="'e6' has a row but was not selected"):
        assemble(make_facts(selected_ids=tuple(f"e{at}" for at in range(6))), rows, report)
    with pytest.raises(CardError, match="'e2' has two rows"):
        assemble(make_facts(), [*rows, rows[2]], report)


def test_a_value_that_is_not_json_is_named() -> None:
    rows = make_rows()
    report = ToyReferee().score(rows)
    rows[4]["metadata"] = {"p": float("nan")}
    with pytest.raises(CardError, match=r"^results\[4\]\.metadata\.p: nan"):
        assemble(make_facts(), rows, report)


@pytest.mark.parametrize(("said", "present"), [(True, 5), (False, 7), (False, 5)])
def test_an_incomplete_card_has_counts_but_no_scores(said: bool, present: int) -> None:
    rows = make_rows()[:present]
    card = assemble(make_facts(complete=said), rows, ToyReferee().score(rows))
    scores, why = card["scores"], card["metric_availability"]
    assert card["complete"] is False
    for key in ("alike", "confidence_intervals", "by_domain"):
        assert scores[key] is None
        assert why[key] == f"incomplete: {present} of 7 entries"
    assert why["fst_acceptance_rate"] == "there is no analyser"
    assert scores["total"] == present
    assert card["totals"]["total_cost_usd"] == 0.25 * present
    assert scores["avg_latency_seconds"] is not None
    assert card_problems(card) == []


def test_a_score_that_happens_to_be_an_integer_is_no_count() -> None:
    rows = make_rows()[:2]
    report = ToyReferee().score(rows)
    report = report.model_copy(update={"scores": {**report.scores, "alike": 1}})
    assert assemble(make_facts(), rows, report)["scores"]["alike"] is None


def test_an_incomplete_card_says_how_attempts_failed() -> None:
    rows = make_rows()[:2]
    report = ToyReferee().score(rows)
    kinds = {"blocked": 1, "parse_error": 1}
    report = report.model_copy(update={"scores": {**report.scores, "errors_by_kind": kinds}})
    assert assemble(make_facts(), rows, report)["scores"]["errors_by_kind"] == kinds


def test_notes_stand_behind_the_caveats() -> None:
    card = make_card(notes=("the metric x broke",))
    assert card["notes"] == ["the metric x broke"]
    assert card["caveats"] == ["few entries", "the metric x broke"]


def test_every_null_has_a_reason() -> None:
    rows = make_rows(usage={}, cost_usd=None, request_seconds=None)
    card = assemble(make_facts(elapsed_seconds=0), rows, ToyReferee().score(rows))
    nulls = {key for key, value in card["scores"].items() if value is None}
    nulls |= {f"totals.{key}" for key, value in card["totals"].items() if value is None}
    assert len(nulls) == 6 + 12
    assert nulls == set(card["metric_availability"])


def test_fingerprint_is_of_six_components() -> None:
    found = fingerprint(
        dataset_sha256="a",
        model_slug="méthode",
        condition="c",
        system_prompt_sha256="",
        temperature=0.5,
        harness_version="2.0",
    )
    text = (
        '{"condition": "c", "dataset_sha256": "a", "harness_version": "2.0", '
        '"model_slug": "méthode", "system_prompt_sha256": "", "temperature": 0.5}'
    )
    assert found["hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert make_card()["fingerprint"]["components"].keys() == json.loads(text).keys()


OTHER = Identity(name="echo", slug="method/echo@12345678", content_sha256="9" * 64)
SETTINGS = RunConfig(batch_size=3, source_lang="English", target_lang="por")


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"worker_count": 4, "peak_in_flight": 3, "run_name": "again"}, False),
        ({"run_config": SETTINGS.model_copy(update={"concurrency": 2})}, False),
        ({"scoring": Scoring(n_bootstrap=10)}, False),
        ({"method_dir": Path("/elsewhere/echo")}, False),
        ({"run_config": SETTINGS.model_copy(update={"batch_size": 4})}, True),
        ({"run_config": SETTINGS.model_copy(update={"max_tokens": 4})}, True),
        ({"run_config": SETTINGS.model_copy(update={"temperature": 0.1})}, True),
        ({"run_config": SETTINGS.model_copy(update={"timeout_seconds": 1.0})}, True),
        ({"hooks": ("strip", "lower")}, True),
        ({"identity": OTHER}, True),
        ({"condition": "coached"}, True),
        ({"system_prompt": "x"}, True),
        ({"selected_ids": ("e0",), "complete": False}, True),
    ],
)
def test_setup_fingerprint_covers_what_changes_outputs(changes: Any, differs: bool) -> None:
    rows = make_rows()[:1]
    report = ToyReferee().score(rows)
    one = assemble(make_facts(), rows, report)["setup_fingerprint"]
    other = assemble(make_facts(**changes), rows, report)["setup_fingerprint"]
    assert (one["hash"] != other["hash"]) is differs


def test_order_of_hooks_is_part_of_the_setup() -> None:
    one = make_card(hooks=("a", "b"))["setup_fingerprint"]["hash"]
    assert one != make_card(hooks=("b", "a"))["setup_fingerprint"]["hash"]


def test_line_ends_of_a_check_out_change_only_the_documented_fingerprint() -> None:
    facts = make_facts()
    crlf = facts.suite.model_copy(update={"sha256": "c" * 64})
    one, other = make_card(), make_card(suite=crlf)
    assert one["setup_fingerprint"] == other["setup_fingerprint"]
    assert one["fingerprint"] != other["fingerprint"]


def test_environment_says_versions_and_no_names() -> None:
    import getpass
    import platform

    found = environment()
    assert found["python_version"] == platform.python_version()
    assert found["sacrebleu_version"]
    text = json.dumps(found)
    assert platform.node() not in text
    assert f'"{getpass.getuser()}"' not in text
