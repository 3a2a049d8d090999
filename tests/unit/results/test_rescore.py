"""Scoring stored runs again: what stays, what is new, what is refused."""

from __future__ import annotations

import json

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from pytest_mtarena import mean_metric
from pytest_mtarena.card.environment import environment
from pytest_mtarena.card.fingerprint import ids_digest
from pytest_mtarena.card.gates import gate_problem
from pytest_mtarena.card.seal import seal
from pytest_mtarena.card.store import write_card
from pytest_mtarena.errors import CardError, UsageError
from pytest_mtarena.records import Scoring
from pytest_mtarena.registry import Registry, make_registry
from pytest_mtarena.results.rescore import Changes, from_journal, read_source, rescore
from pytest_mtarena.results.verify import verify
from tests.unit.card.making import ToyPlugin, sealed_card
from tests.unit.results.reports import ENTRIES, make_config, make_entry, write_report

FEW = Changes(metrics=("chrf_plus_plus", "bleu", "ter"), n_bootstrap=20)


class Shape:
    """A plug-in with two metrics: one well, one that breaks on an entry."""

    def mtarena_metrics(self):
        def odd(entry):
            if entry.id == "a2":
                raise LookupError("no shape")
            return 0.5

        return {
            "shape": mean_metric("shape", lambda e: float(len(e.output)), scale="characters"),
            "odd": mean_metric("odd", odd, scale="0-1", direction="lower"),
        }


@pytest.fixture
def registry():
    return make_registry()


@pytest.fixture
def report(tmp_path):
    return write_report(tmp_path)


@pytest.fixture
def stored(tmp_path, report, registry):
    """A run card of the report, in a file."""
    return write_card(rescore(read_source(report), registry, FEW), tmp_path, "stored")


def altered(path, **changes):
    """Change a card in its file and leave the seal as it was."""
    card = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(card), encoding="utf-8")
    return path


def test_a_report_has_the_scores_of_sacrebleu_and_holds(report, registry):
    card = rescore(read_source(report), registry, Changes(bleu_tokenize="13a", n_bootstrap=20))
    outputs = [predicted for *_, predicted in ENTRIES]
    references = [[expected for _, _, expected, _ in ENTRIES]]
    scores = card["scores"]
    chrf = CHRF(word_order=2).corpus_score(outputs, references).score
    assert scores["chrf_plus_plus"] == round(chrf, 2)
    assert scores["bleu"] == round(BLEU(tokenize="13a").corpus_score(outputs, references).score, 2)
    assert scores["ter"] == round(TER().corpus_score(outputs, references).score, 2)
    assert scores["exact_match_rate"] == 0.2
    assert verify(card, registry) == []
    assert card["extra"]["rescored_from"]["run_id"].startswith("run_20260203_040506")
    assert card["extra"]["report"]["overall"]["corpus_chrf"] == 1.0


def test_failures_of_a_report_are_misses_and_missing_references_are_none(tmp_path, registry):
    entries = [make_entry(0), make_entry(1, error="HTTP 500", predicted=""), make_entry(2)]
    entries[2]["expected"] = ""
    card = rescore(read_source(write_report(tmp_path, entries=entries)), registry, FEW)
    scores = card["scores"]
    assert (scores["total"], scores["evaluated"], scores["errors"]) == (3, 2, 1)
    assert scores["n_no_reference"] == 1
    assert scores["chrf_plus_plus"] < 100
    assert verify(card, registry) == []


def test_a_card_keeps_what_the_run_was_and_says_where_it_is_from(stored, registry):
    before = json.loads(stored.read_text(encoding="utf-8"))
    card = rescore(read_source(stored), registry)
    for key in ("timestamp", "dataset", "fingerprint", "setup_fingerprint", "scores", "config"):
        assert card[key] == before[key], key
    assert card["run_id"] != before["run_id"]
    origin = card["extra"]["rescored_from"]
    assert origin["run_id"] == before["run_id"]
    assert origin["run_card_hash"] == before["run_card_hash"]
    assert origin["package_version"] == before["environment"]["package_version"]
    assert origin["rescored_from"]["what"] == "report of another harness"
    assert card["extra"]["rescored_at"].endswith("Z")
    assert verify(card, registry) == []


def test_the_environment_is_that_of_now(stored, registry):
    before = json.loads(stored.read_text(encoding="utf-8"))["environment"]
    altered(stored, environment={**before, "python_version": "3.0", "package_version": "0.0.1"})
    card = rescore(read_source(stored), registry)
    assert card["environment"] == environment()
    assert card["extra"]["rescored_from"]["package_version"] == "0.0.1"


def test_a_broken_seal_is_a_note_and_a_warning(stored, registry):
    source = read_source(altered(stored, elapsed_seconds=77.0))
    [warning] = source.warnings
    assert warning.startswith("re-scored from a card whose seal does not hold: run_card_digest")
    card = rescore(source, registry)
    assert warning in card["notes"]
    assert warning in card["caveats"]
    assert verify(card, registry) == []
    assert read_source(stored).card["elapsed_seconds"] == 77.0


def test_old_values_are_not_taken_over(stored, registry):
    rows = json.loads(stored.read_text(encoding="utf-8"))["results"]
    for row in rows:
        row |= {"entry_chrf": 1.0, "predicted": row["reference"], "cut": ["bleu"]}
    card = rescore(read_source(altered(stored, results=rows)), registry)
    assert card["scores"]["chrf_plus_plus"] == 100
    assert {row["entry_chrf"] for row in card["results"]} == {100}
    assert verify(card, registry) == []


def test_changes_say_what_is_scored_in_another_way():
    before = Scoring(metrics=("bleu",), intervals=False, bleu_tokenize="char", n_bootstrap=7)
    assert Changes().scoring(before) == before
    fresh = Changes(metrics=("all",), bleu_tokenize="auto", n_bootstrap=9).scoring(before)
    assert (fresh.metrics, fresh.bleu_tokenize, fresh.n_bootstrap) == (None, None, 9)
    assert fresh.intervals
    assert not Changes(n_bootstrap=9, intervals=False).scoring(before).intervals
    assert Changes(normalization="none").scoring(before).normalization == "none"


def test_the_resources_of_the_run_are_forgotten(tmp_path, stored, registry):
    config = json.loads(stored.read_text(encoding="utf-8"))["config"]
    config["scoring"]["resource_facts"] = {"glossary": {"name": "g.tsv", "sha256": "0"}}
    card = rescore(read_source(altered(stored, config=config)), registry)
    assert card["config"]["scoring"]["resource_facts"] == {}


def test_normalization_stands_in_both_places(stored, registry):
    card = rescore(read_source(stored), registry, Changes(normalization="none"))
    assert card["config"]["normalization"] == "none"
    assert card["config"]["scoring"]["normalization"] == "none"
    assert verify(card, registry) == []


def test_a_contributed_metric_is_scored_and_one_that_breaks_says_why(report):
    known = make_registry([Shape()])
    changes = Changes(metrics=("chrf_plus_plus", "shape", "odd"), n_bootstrap=20)
    card = rescore(read_source(report), known, changes)
    assert card["directions"]["odd"] == "lower"
    assert card["directions"]["shape"] == "higher"
    assert card["scores"]["odd"] == 0.5
    values = {row["entry_id"]: row["plugin_metrics"]["odd"] for row in card["results"]}
    assert values["a1"] == 0.5
    assert values["a2"] is None
    reasons = [row["metric_reasons"] for row in card["results"]]
    assert "LookupError" in reasons[1]["odd"]
    assert verify(card, known) == []


def test_values_of_a_metric_that_is_not_here_are_left_out_aloud(tmp_path, report):
    known = make_registry([Shape()])
    path = write_card(rescore(read_source(report), known, Changes(n_bootstrap=20)), tmp_path, "x")
    card = rescore(read_source(path), make_registry())
    assert "shape" not in card["scores"]
    [note] = [note for note in card["notes"] if "not installed here" in note]
    assert note.endswith("odd shape")
    assert verify(card) == []


def test_a_metric_that_the_card_names_and_nobody_has_is_the_cards_fault(tmp_path, report):
    changes = Changes(metrics=("shape",), n_bootstrap=20)
    card = rescore(read_source(report), make_registry([Shape()]), changes)
    source = read_source(write_card(card, tmp_path, "x"))
    with pytest.raises(CardError, match=r"there is no metric 'shape'.*--metrics"):
        rescore(source, make_registry())
    with pytest.raises(UsageError, match="there is no metric 'none_such'"):
        rescore(source, make_registry(), Changes(metrics=("none_such",)))


def test_a_gate_must_name_a_score(report, registry):
    with pytest.raises(UsageError, match="--fail-under blue: there is no such score"):
        rescore(read_source(report), registry, FEW, [("blue", 3.0)])
    assert "best at a target" in str(
        gate_problem({"length_ratio": "target"}, [("length_ratio", 1)])
    )
    assert gate_problem({"bleu": "higher"}, [("bleu", 1)]) is None


def test_a_kind_that_cannot_or_is_not_known_is_one_line(tmp_path):
    path = write_card(sealed_card(), tmp_path, "toy")
    with pytest.raises(CardError, match=r"toy\.json: kind \"toy\" cannot score stored rows again"):
        rescore(read_source(path), Registry([ToyPlugin()]))
    with pytest.raises(CardError, match='kind "toy" is not known here'):
        rescore(read_source(path), make_registry())


@pytest.mark.parametrize(
    "change",
    [
        {"predicted": 3},
        {"reference": None, "references": 7},
        {"source": {"a": 1}},
        {"fields": 3},
        {"plugin_metrics": True},
    ],
)
def test_rows_of_the_wrong_form_are_no_traceback(stored, registry, change):
    rows = json.loads(stored.read_text(encoding="utf-8"))["results"]
    rows[2] |= change
    source = read_source(altered(stored, results=rows))
    try:
        card = rescore(source, registry)
    except CardError as error:
        told = str(error)
    else:
        told = f"{stored}: {len(card['results'])} rows"
    assert told.startswith(f"{stored}: ")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not a run card: a JSON array"),
        ('{"corpus_id": "x", "entries": []}', "nor is it the report"),
        ('{"run_card_hash": "x", "harness_version": "1.0"}', "schema '1.0'"),
        ('{"run_id": "r", "config": {}, "entries": []}', "there is no entry"),
        ('{"a": ' + "[" * 100_000, ""),
        ('{"run_id": NaN}', "NaN"),
    ],
)
def test_another_file_is_one_line(tmp_path, text, told):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(CardError) as caught:
        read_source(path)
    assert str(caught.value).startswith(f"{path}")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


# -- journals -------------------------------------------------------------------------------


@pytest.fixture
def journal(stored, tmp_path):
    """The header and the payloads that would have led to the stored card, under one name."""
    card = json.loads(stored.read_text(encoding="utf-8"))
    rows = card["results"]
    skeleton = seal({**card, "results": [], "complete": False, "notes": [], "extra": {}})
    header = {"journal": 1, "setups": {"one": {}}, "cards": {"one": skeleton}}
    payloads = [
        {"run": "one", "index": row["index"], "row": row, "worked": 0.5 + at, "statistics": {}}
        for at, row in enumerate(rows)
    ]
    return header, payloads, tmp_path / "x.journal.jsonl"


def test_a_whole_journal_is_the_card_that_it_would_have_become(journal, stored, registry):
    header, payloads, path = journal
    shuffled = [payloads[3], payloads[0], payloads[4], payloads[1], payloads[2]]
    [source], empty = from_journal(header, shuffled, path)
    assert empty == []
    card = rescore(source, registry)
    before = json.loads(stored.read_text(encoding="utf-8"))
    assert card["complete"]
    assert not card["interrupted"]
    assert card["elapsed_seconds"] == 4.5
    assert card["scores"]["chrf_plus_plus"] == before["scores"]["chrf_plus_plus"]
    assert [row["entry_id"] for row in card["results"]] == [id for id, *_ in ENTRIES]
    assert card["extra"]["rescored_from"]["what"] == "journal"
    assert verify(card, registry) == []


def test_a_journal_that_lacks_rows_is_incomplete(journal, registry):
    header, payloads, path = journal
    [source], _ = from_journal(header, payloads[:3], path)
    card = rescore(source, registry)
    assert not card["complete"]
    assert card["interrupted"]
    assert (card["selection"]["n_rows"], card["selection"]["n_selected"]) == (3, 5)
    assert card["scores"]["chrf_plus_plus"] is None
    assert card["scores"]["total"] == 3
    assert verify(card, registry) == []


def test_the_last_row_of_an_entry_counts_and_faults_are_noted(journal):
    header, payloads, path = journal
    late = {**payloads[1], "row": {**payloads[1]["row"], "predicted": "x"}, "faults": ["odd"]}
    [source], _ = from_journal(header, [*payloads, late], path)
    assert source.card["results"][1]["predicted"] == "x"
    assert source.card["notes"] == ["odd"]


@pytest.mark.parametrize("selected", [["a1", "a2"], ["a1", "a2", "a3", "a4", "b5"]])
def test_a_journal_that_went_on_with_other_entries_is_never_complete(journal, registry, selected):
    header, payloads, path = journal
    skeleton = header["cards"]["one"]
    skeleton["selection"] |= {"n_selected": len(selected), "ids_sha256": ids_digest(selected)}
    [source], _ = from_journal(header, payloads, path)
    card = rescore(source, registry)
    assert not card["complete"]
    assert "the journal holds other entries than its first session selected" in card["notes"]
    assert verify(card, registry) == []


def test_several_runs_of_a_journal_and_one_without_a_row(journal, registry):
    header, payloads, path = journal
    cards = {"one": header["cards"]["one"], "two": header["cards"]["one"], "three": {}}
    other = [{**payload, "run": "two"} for payload in payloads[:2]]
    sources, empty = from_journal({**header, "cards": cards}, [*payloads, *other], path)
    assert [source.where for source in sources] == [f"{path}: one", f"{path}: two"]
    assert [len(source.card["results"]) for source in sources] == [5, 2]
    assert empty == [f"{path}: three: no row yet"]


@pytest.mark.parametrize(
    ("changes", "payloads", "told"),
    [
        ({"cards": None}, None, "finish it with --mt-resume"),
        ({"cards": {}}, None, 'does not say what "one" was'),
        ({"cards": {"one": {}}}, None, "not a run card"),
        ({"cards": {"one": 3}}, None, "not a run card"),
        ({}, [], "no row yet"),
        ({}, [{"run": "one"}], ":2: the line is no row"),
        ({}, [3], ":2: the line is no row"),
        ({}, [{"run": "one", "index": 0, "row": 3}], "results[0]"),
        ({}, [{"run": "one", "index": 0, "row": {"entry_id": 3}}], "results[0]"),
    ],
)
def test_a_journal_that_cannot_be_scored_is_one_line(journal, changes, payloads, told):
    header, known, path = journal
    with pytest.raises(CardError) as caught:
        from_journal({**header, **changes}, known if payloads is None else payloads, path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_report_with_a_path_in_its_model_config_is_scored(tmp_path, registry):
    config = make_config(method_path="C:\\methods\\mine", corpus_path="", dataset_id="small-1")
    card = rescore(read_source(write_report(tmp_path, config=config)), registry, FEW)
    assert card["config"]["method_path"] == "mine"
    assert card["dataset"]["id"] == "small-1"
