"""Cards of real sessions that hold, that cannot be forged, and that no metric can cost."""

from __future__ import annotations

import copy
import json

import pytest

from pytest_mtarena.card.seal import seal
from pytest_mtarena.registry import make_registry
from pytest_mtarena.results.verify import absent_metrics, verify

QUOTING = """
class Method:
    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"].replace('"', "~")} for e in entries]
"""

COLUMNS = """
from pytest_mtarena import Finding, PooledMetric, hookimpl

class Letters(PooledMetric):
    def find(self, one):
        many = len(one.output)
        return Finding((many, 2 * many), 0.25, None, {"letters": many})

@hookimpl
def mtarena_metrics():
    return {"letters": Letters("letters", "letters")}
"""

MISBEHAVING = """
import numpy as np
from pytest_mtarena import Finding, PooledMetric, hookimpl
from pytest_mtarena.protocols import Calibration

class Evil(PooledMetric):
    def __init__(self):
        super().__init__("evil", "evil")
    def find(self, one):
        return Finding((1.0, 1.0), 1.0)

class Huge(Evil):
    def find(self, one):
        return Finding((1e308, 1e308), 1.0)

class Vast(Evil):
    def find(self, one):
        return Finding((1e300, 1.0), 1.0)

class Exits(Evil):
    def find(self, one):
        raise SystemExit(3)

class ExitsLate(Evil):
    def score(self, sums):
        raise SystemExit(3)

class Telling(Evil):
    def find(self, one):
        return Finding((1.0, 1.0), 1.0, None, {"seen": {1, 2}})

class Surrogate(Evil):
    def examine(self, inputs):
        return [Finding(None, None, "\\ud800", is_fault=True) for _ in inputs]

class Numbered(Evil):
    def examine(self, inputs):
        return [Finding(None, None, 5) for _ in inputs]

class Text(Evil):
    def examine(self, inputs):
        return [Finding("ab", "x") for _ in inputs]

class NoNumber(Evil):
    def calibrate(self, gold):
        return self, Calibration(n=1, rate=float("nan"))
    def restore(self, calibration):
        return self

class NoCalibration(NoNumber):
    def calibrate(self, gold):
        return self, 5

class AnotherOne(NoNumber):
    def calibrate(self, gold):
        return PooledMetric("other", "other"), Calibration(n=1, rate=0.5)

class Whole(Evil):
    def statistics_of_all(self, inputs):
        return 1 / 0

class Endless(Evil):
    def statistics_of_all(self, inputs):
        return np.full((len(list(inputs)), 2), np.inf)

class Short(Evil):
    def statistics_of_all(self, inputs):
        return np.ones((1, 2))

class Quits(Evil):
    def statistics_of_all(self, inputs):
        raise SystemExit(3)

class Counted(Evil):
    columns = (1, 2)

class Meddling(Evil):
    def find(self, one):
        for value in one.fields.values():
            if isinstance(value, list):
                value.append("palavra")
        object.__setattr__(one, "output", "x")
        return Finding((1.0, 1.0), 1.0)

@hookimpl
def mtarena_metrics():
    return {"evil": KIND()}
"""

KINDS = (
    *("Huge", "Vast", "Exits", "ExitsLate", "Telling", "Surrogate", "Numbered", "Text"),
    *("NoNumber", "NoCalibration", "AnotherOne", "Whole", "Endless", "Short", "Quits"),
    *("Counted", "Meddling"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_no_metric_costs_more_than_its_own_values(arena, corpus, good, pytester, kind):
    suite = json.loads(corpus(6).read_text(encoding="utf-8"))
    for entry in suite["entries"]:
        entry["acceptable_variants"] = ["outra"]
    (pytester.path / "tiny.json").write_text(json.dumps(suite), encoding="utf-8")
    pytester.makeconftest(MISBEHAVING.replace("KIND", kind))
    result = arena("tiny.json", f"--mt-method={good}")
    assert result.code == 0, result.text
    card = result.card
    assert card["complete"]
    assert card["scores"]["chrf_plus_plus"] == card["scores"]["equivalent_match_rate"] * 100 == 100
    assert all(row["fields"]["acceptable_variants"] == ["outra"] for row in card["results"])
    assert verify(card) == [], "without the metric, too"


@pytest.mark.parametrize(
    ("attribute", "value", "told"),
    [
        ("direction", "'sideways'", "direction must be one of higher, lower, target"),
        ("title", "5", "title must be a text, not int"),
        ("scale", "None", "scale must be a text"),
        ("title", r"'\ud800'", "title holds a lone surrogate"),
        ("needs", "5", "needs must be a tuple of texts"),
        ("missing", "5", "missing must be a text or None"),
        ("role", "object()", "role must be one of"),
    ],
)
def test_a_metric_that_describes_itself_wrongly_is_one_line(
    arena, corpus, good, pytester, attribute, value, told
):
    body = MISBEHAVING.replace("KIND()", f"made({attribute!r}, {value})")
    made = (
        "\ndef made(name, value):\n    one = Evil()\n"
        "    object.__setattr__(one, name, value)\n    return one\n"
    )
    pytester.makeconftest(body + made)
    result = arena(str(corpus(2)), f"--mt-method={good}")
    assert result.code == 4
    assert f"metric 'evil': {told}" in result.text
    assert "Traceback" not in result.text


@pytest.mark.parametrize("id", ["tokens_per_second", "bleu_tokenizer", "ter_n_scored"])
def test_an_id_that_would_overwrite_another_score_is_refused(arena, corpus, good, pytester, id):
    pytester.makeconftest(
        "from pytest_mtarena import hookimpl, mean_metric\n@hookimpl\ndef mtarena_metrics():\n"
        f"    return {{{id!r}: mean_metric({id!r}, lambda e: 1.0, scale='0-1')}}\n"
    )
    result = arena(str(corpus(2)), f"--mt-method={good}")
    assert result.code == 4
    assert f"metric {id!r} has the name of a built-in score" in result.text


def test_evidence_and_ratio_of_an_absent_metric_are_taken_as_stored(arena, corpus, good, pytester):
    pytester.makeconftest(COLUMNS)
    card = arena(str(corpus(6)), f"--mt-method={good}").card
    assert card["scores"]["letters"] == 0.5, "the ratio of the sums is no mean of the values"
    assert verify(card) == []
    assert absent_metrics(card, make_registry()) == ["letters"]
    made_up = copy.deepcopy(card)
    made_up["metrics"]["beauty"] = {"title": "beauty"}
    made_up["scores"]["beauty"] = 0.99
    assert any("scores.beauty" in line for line in verify(seal(made_up)))


def test_a_card_of_a_style_profile_holds_without_the_profile(arena, corpus, good, pytester):
    profile = {"target_register": "formal", "prohibited_terms": ["palavra"]}
    (pytester.path / "style.json").write_text(json.dumps(profile), encoding="utf-8")
    card = arena(str(corpus(6)), f"--mt-method={good}", "--mt-style-profile=style.json").card
    assert "rules:yes" in card["signatures"]["style_consistency_rate"]
    assert verify(card) == []


def test_a_card_of_language_cards_holds_without_them(arena, corpus, method, pytester):
    cards = pytester.path / "cards"
    cards.mkdir()
    own = {
        "code": "por",
        "name": "Portuguese",
        "rules": {"typography": {"quoteStart": "‹", "quoteEnd": "›"}},
    }
    (cards / "por.json").write_text(json.dumps(own), encoding="utf-8")
    suite = json.loads(corpus(25).read_text(encoding="utf-8"))
    for entry in suite["entries"]:
        entry["source"] = f'He said "yes" to {entry["id"]}.'
        entry["reference"] = f'Disse "sim" a {entry["id"]}.'
    (pytester.path / "tiny.json").write_text(json.dumps(suite), encoding="utf-8")
    body = QUOTING.replace('replace(\'"\', "~")', "replace('\"yes\"', '‹sim›')")
    result = arena("tiny.json", f"--mt-method={method(body)}", "--mt-cards-dir=cards")
    card = result.card
    assert card["scores"]["compliance_index"] == 1
    assert verify(card) == []


def test_statistics_of_a_metric_that_follows_from_the_texts_cannot_be_brought(
    arena, corpus, method
):
    """A row that brings the statistics of chrF++ would else give a card any headline."""
    copying = QUOTING.replace('.replace(\'"\', "~")', "")
    card = arena(str(corpus(6)), f"--mt-method={method(copying)}").card
    for name, numbers in (("exact_match_rate", [1, 1]), ("fst_acceptance_rate", [1] * 7)):
        forged = copy.deepcopy(card)
        for row in forged["results"]:
            row["metric_statistics"] = {name: numbers}
        assert verify(seal(forged)), name


def test_a_value_that_its_own_statistics_do_not_give_is_noticed(arena, corpus, good, pytester):
    profile = {"target_register": "formal", "prohibited_terms": ["palavra"]}
    (pytester.path / "style.json").write_text(json.dumps(profile), encoding="utf-8")
    card = arena(str(corpus(6)), f"--mt-method={good}", "--mt-style-profile=style.json").card
    card["results"][2]["metrics"]["style_consistency_rate"] = 1
    assert verify(seal(card)) == [
        "results[2].metrics.style_consistency_rate: 1 in the card, 0.0 from its text"
    ]


def test_a_calibration_is_made_again_from_the_rows(arena, corpus, good):
    card = arena(str(corpus(25)), f"--mt-method={good}").card
    assert verify(card) == []
    for name, path, value in (
        ("hallucination_rate", ("rate",), 0.5),
        ("code_switching_rate", ("fit", "threshold"), 0.9),
        ("compliance_index", ("n",), 3),
    ):
        forged = copy.deepcopy(card)
        inner = forged["detector_calibration"][name]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        assert any(
            line.startswith(f"detector_calibration.{name}.") for line in verify(seal(forged))
        ), name


def test_a_journal_is_not_gone_on_with_by_another_glossary(arena, corpus, method, pytester):
    failing = method("class Method:\n    def translate(self, entries, config): return []\n")
    for name, target in (("one", "palavra"), ("other", "termo")):
        text = json.dumps({"word": target})
        (pytester.path / f"{name}.json").write_text(text, encoding="utf-8")
    first = arena(str(corpus(3)), f"--mt-method={failing}", "--mt-glossary=one.json")
    [journal] = first.journals
    again = (str(corpus(3)), f"--mt-method={failing}", f"--mt-resume={journal}")
    for options in (("--mt-glossary=other.json",), ()):
        result = arena(*again, *options)
        assert result.code == 4
        assert "belongs to another setup: resources" in result.text
    assert arena(*again, "--mt-glossary=one.json").code == 1


def test_ids_of_64_bits_in_an_entry_cost_nothing(arena, corpus, good, pytester):
    suite = json.loads(corpus(3).read_text(encoding="utf-8"))
    suite["entries"][0]["metadata"] = {"tweets": [1234567890123456789, 5]}
    (pytester.path / "tiny.json").write_text(json.dumps(suite), encoding="utf-8")
    result = arena("tiny.json", f"--mt-method={good}")
    assert result.code == 0, result.text
    assert result.rows[0]["fields"]["metadata"] == {"tweets": ["1234567890123456789", 5]}
    assert verify(result.card) == []


def test_a_label_that_reads_like_none_is_counted(arena, corpus, good, pytester):
    suite = json.loads(corpus(3).read_text(encoding="utf-8"))
    suite["entries"][0]["domain"] = "(none)"
    del suite["entries"][1]["domain"]
    (pytester.path / "tiny.json").write_text(json.dumps(suite), encoding="utf-8")
    parts = arena("tiny.json", f"--mt-method={good}").card["scores"]["by_domain"]
    assert {name: part["n"] for name, part in parts.items()} == {"conv": 1, "(none)": 2}


COMET = """
class Model:
    def predict(self, samples, **options):
        class Answer:
            scores = [0.5 for _ in samples]
        return Answer

def load_from_checkpoint(path, local_files_only=False):
    return Model()
"""


def test_the_card_names_the_model_of_comet(arena, corpus, good, pytester, monkeypatch):
    package = pytester.path / "fakes" / "comet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(COMET, encoding="utf-8")
    (pytester.path / "some.ckpt").write_text("x", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    card = arena(str(corpus(3)), f"--mt-method={good}", "--mt-comet-model=some.ckpt").card
    assert (card["scores"]["comet_score"], card["scores"]["comet_model"]) == (0.5, "some.ckpt")
    assert verify(card) == []
