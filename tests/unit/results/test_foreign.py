"""Reports of another harness: read whole, or refused in one line."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mtarena.card.store import card_problems
from pytest_mtarena.errors import CardError
from pytest_mtarena.results.foreign import is_foreign, read_foreign
from tests.unit.results.reports import ENTRIES, make_config, make_entry, make_report


def read(report):
    return read_foreign(report, "report.json", "d" * 64)[0]


def with_entry(**changes):
    return make_report(entries=[make_entry(0), make_entry(1, **changes)])


def test_the_run_is_described_as_far_as_the_report_does():
    card = read(make_report())
    assert card["model_slug"] == "house/model-1"
    assert card["model_id"] == "house/model-1-of-may"
    assert card["condition"] == "plain"
    assert card["timestamp"] == "2026-02-03T04:05:06Z"
    assert card["config"]["temperature"] == 0.01
    assert (card["config"]["batch_size"], card["config"]["concurrency"]) == (5, 3)
    dataset = card["dataset"]
    assert (dataset["id"], dataset["file"]) == ("eng-fra-small", "eng-fra-small.json")
    assert dataset["sha256"] == "d" * 64
    assert any("dataset.sha256 is that of the report" in note for note in card["notes"])
    assert dataset["language_pair"] == "English>fra"
    assert dataset["languages"]["target_name"] == "French"
    assert "/home/somebody" not in json.dumps(card)
    assert card["extra"]["report"]["overall"]["corpus_chrf"] == 1.0


def test_it_is_a_card_but_for_scores():
    problems = card_problems({**read(make_report()), "scores": {}})
    assert {problem.partition(":")[0] for problem in problems} <= {
        *("fingerprint", "setup_fingerprint", "totals", "signatures", "directions", "headline"),
        *("metric_availability", "caveats", "run_card_hash"),
    }


def test_every_entry_is_a_row_and_nothing_of_it_is_lost():
    report = with_entry(hint="a noun", cached=True, register="formal")
    row = read(report)["results"][1]
    assert row["entry_id"] == "a2"
    assert row["index"] == 1
    assert row["status"] == "ok"
    assert (row["reference"], row["predicted"]) == ENTRIES[1][2:]
    assert row["raw_predicted"] == ENTRIES[1][3] + " "
    assert (row["segment"], row["domain"], row["difficulty"]) == (None, "conv", 2)
    assert row["register"] == "formal"
    assert (row["latency_seconds"], row["cost_usd"]) == (0.25, 0.001)
    assert row["fields"] == {"hint": "a noun"}
    assert row["metadata"]["cached"] is True
    assert row["metadata"]["reported"]["plugin_metrics"] == {"shape": {"shape_rate": 0.5}}


def test_failures_and_missing_references_have_their_status():
    entries = [
        make_entry(0, error="HTTP 500", predicted="", raw_predicted=""),
        make_entry(1, expected=" \u00a0\n"),
        make_entry(2, predicted=""),
        make_entry(3, error="", difficulty=0),
    ]
    failed, unreferenced, empty, well = read(make_report(entries=entries))["results"]
    assert (failed["status"], failed["error"], failed["predicted"]) == ("error", "HTTP 500", None)
    assert failed["failure"]["kind"] == "reported"
    assert unreferenced["status"] == "no_reference"
    assert (empty["status"], empty["predicted"]) == ("ok", "")
    assert (well["status"], well["difficulty"]) == ("ok", None)


def test_number_ids_become_text():
    rows = read(make_report(entries=[make_entry(0, id=7), make_entry(1, id="8")]))["results"]
    assert [row["entry_id"] for row in rows] == ["7", "8"]


def test_a_report_that_counts_more_than_it_lists_says_so():
    notes = read(make_report(overall={"total_entries": 9}))["notes"]
    assert f"the report counts 9 entries and lists {len(ENTRIES)}: these are scored" in notes


def test_reports_on_one_corpus_have_one_content():
    one = read(make_report())["dataset"]["content_sha256"]
    other = make_report(entries=[make_entry(at, predicted="x") for at in range(len(ENTRIES))])
    assert read(other)["dataset"]["content_sha256"] == one
    third = make_report(entries=[make_entry(at, expected="x") for at in range(len(ENTRIES))])
    assert read(third)["dataset"]["content_sha256"] != one


def test_a_log_says_more_and_is_read_too():
    log = make_report()
    log["results"] = log.pop("entries")
    log["results"][0] |= {"usage": {"prompt_tokens": 5}, "tool_calls": [], "metadata": {"a": 1}}
    log |= {
        "timestamp_start": "2026-02-03T06:05:06+02:00",
        "elapsed_s": 12.5,
        "provenance": {"system_prompt_used": "Translate.", "corpus_sha256": "e" * 64},
    }
    del log["overall"]
    assert is_foreign(log)
    card = read(log)
    assert (card["timestamp"], card["elapsed_seconds"]) == ("2026-02-03T04:05:06Z", 12.5)
    assert card["system_prompt_sha256"] == hashlib.sha256(b"Translate.").hexdigest()
    assert card["dataset"]["sha256"] == "e" * 64
    assert card["results"][0]["usage"] == {"prompt_tokens": 5}
    assert card["results"][0]["metadata"]["a"] == 1


@pytest.mark.parametrize(
    ("named", "code", "told"),
    [
        ("", "", ("", "")),
        ("Lao", "", ("", "Lao")),
        ("sme", "", ("sme", "")),
        ("Northern Sámi", "sme", ("sme", "Northern Sámi")),
        ("", "pt-BR", ("pt-BR", "")),
    ],
)
def test_a_language_is_read_by_name_and_code(named, code, told):
    config = make_config(target_lang=named, target_lang_code=code)
    languages = read(make_report(config=config))["dataset"]["languages"]
    assert (languages["target_code"], languages["target_name"]) == told


BROKEN = {
    "no id of the run": (make_report(run_id=None), "run_id is null"),
    "no configuration": ({k: v for k, v in make_report().items() if k != "config"}, "'config'"),
    "configuration is a list": (make_report(config=[]), "config is a list"),
    "no model": (make_report(config={"prompt_version": "x"}), "'model'"),
    "a model that is none": (make_report(config=make_config(model=3)), "config: model is a number"),
    "a batch size that is none": (make_report(config=make_config(batch_size="5")), "batch_size"),
    "a language that is none": (make_report(config=make_config(source_lang=3)), "source_lang"),
    "no entries": (make_report(entries=[]), "there is no entry"),
    "entries that are none": (make_report(entries={}), "entries is an object"),
    "an entry that is none": (make_report(entries=[make_entry(0), 3]), "entry 2: it is a number"),
    "an id that is none": (with_entry(id=True), "entry 2: id is no text"),
    "an id twice": (with_entry(id="a1"), "entry 2: the id 'a1' is that of entry 1 too"),
    "no output": (with_entry(predicted=None), "entry 2 ('a2'): predicted is null"),
    "an output that is none": (with_entry(predicted=4), "predicted is a number"),
    "an error that is none": (with_entry(error={}), "error is an object"),
    "a cost that is none": (with_entry(cost_usd="1"), "cost_usd is text, not a number"),
    "a cost below zero": (with_entry(cost_usd=-1), "cost_usd is below 0"),
    "a time without end": (with_entry(latency_s=10**400), "latency_s"),
    "half of a character": (with_entry(hint="\ud800"), "entry 2 ('a2'): it holds one half"),
    "a label that is none": (with_entry(domain=[]), "domain is a list"),
}


@pytest.mark.parametrize(("report", "told"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_one_line_with_its_entry(report, told):
    assert is_foreign(report)
    with pytest.raises(CardError) as caught:
        read(report)
    text = str(caught.value)
    assert text.startswith("report.json: ")
    assert told in text
    assert "\n" not in text


@pytest.mark.parametrize("key", ["id", "source", "expected", "predicted"])
def test_a_key_that_is_missing_is_named(key):
    entry = make_entry(1)
    del entry[key]
    with pytest.raises(CardError, match=r"report\.json: entry 2"):
        read(make_report(entries=[make_entry(0), entry]))


@pytest.mark.parametrize(
    "value",
    [[], 3, "x", None, {}, {"entries": []}, {"corpus_id": "x", "entries": []}, {"results": []}],
)
def test_other_json_is_no_report(value):
    assert not is_foreign(value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("\udcff"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=200, deadline=None)
@given(
    st.sampled_from(["", "config", "entry"]),
    st.sampled_from([*make_report(), *make_config(), *make_entry(0), "usage", "metadata"]),
    JUNK,
)
def test_junk_anywhere_is_read_or_refused_and_never_a_traceback(where, key, junk):
    report = make_report()
    {"": report, "config": report["config"], "entry": report["entries"][0]}[where][key] = junk
    count = len(report["entries"]) if isinstance(report["entries"], list) else 0
    try:
        rows = read(report)["results"]
    except CardError as error:
        told = str(error)
    else:
        told = f"report.json: {len(rows)}"
        assert len(rows) == count
    assert told.startswith("report.json: ")
