"""Writing style: targets, evidence, rules of a profile, and the trial on references."""

from __future__ import annotations

import json
import time

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibrating, Examining, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.judging import judge, total
from pytest_mtarena.referee.metrics.style import NO_EVIDENCE, NO_TARGET, make, read_profile
from pytest_mtarena.referee.setting import Setting


def one(output, reference="Bonne journée.", **fields):
    return MetricInput(id="e1", source="s", output=output, references=(reference,), fields=fields)


@pytest.fixture
def style(tmp_path):
    def made(code="fra", profile=None, **setting):
        path = None
        if profile is not None:
            path = tmp_path / "profile.json"
            path.write_text(json.dumps(profile), encoding="utf-8")
        resources = Resources(style_profile=path)
        target = LanguageFacts(code=code)
        return make(Setting(target=target, resources=resources, **setting))[0]

    return made


@pytest.mark.parametrize(
    ("label", "output", "verdict", "value"),
    [
        ("formal", "Où voulez-vous aller ?", "FORMAL_MATCH", 1.0),
        ("ceremonial", "Où veux-tu aller ?", "REGISTER_MISMATCH", 0.0),
        ("conversational", "Où veux-tu aller ?", "INFORMAL_MATCH", 1.0),
        ("informal", "Où voulez-vous aller ?", "REGISTER_MISMATCH", 0.0),
        ("formal", "Dis-lui que vous et ton père venez, toi d'abord.", "REGISTER_MISMATCH", 0.0),
        ("technical", "Où veux-tu aller ?", "INFORMAL_MATCH", 1.0),
        ("formal", "Il pleut.", None, None),
        ("formal", "Le rendez-vous est chez nous.", None, None),
        (None, "Où voulez-vous aller ?", "UNDETERMINED", None),
        ("formal", "", None, None),
    ],
)
def test_a_label_is_the_target(style, label, output, verdict, value):
    fields = {} if label is None else {"register": label}
    (found,) = style().examine([one(output, **fields)])
    told = found.evidence and found.evidence["style_verdict"]
    assert (told, found.value) == (verdict, value), "an output that shows nothing tells nothing"
    if value is None:
        assert found.reason == (NO_TARGET if label is None else NO_EVIDENCE)


def test_only_entries_with_target_and_evidence_count(style):
    metric = style()
    inputs = [
        one("Vous avez raison.", register="formal"),
        one("Tu as raison.", register="formal"),
        one("Il pleut.", register="formal"),
        one("Tu as raison."),
        one("Tu as raison.", register="technical"),
    ]
    judged = judge(metric, inputs)
    assert judged.values == [1.0, 0.0, None, None, 1.0]
    sums = dict(zip(metric.columns, judged.rows.sum(axis=0).tolist(), strict=True))
    assert sums == {
        "matches": 2,
        "entries": 3,
        "mismatches": 1,
        "no_evidence": 1,
        "no_target": 1,
        "prohibited": 0,
        "required_missing": 0,
        "neutral_target": 1,
    }
    assert total(metric, judged.rows) == (2 / 3, None)
    assert total(metric, judged.rows[2:4])[0] is None
    assert metric.reproducible
    assert isinstance(metric, Examining)
    assert isinstance(metric, Calibrating)


def test_a_profile_goes_before_the_label(style):
    metric = style(profile={"target_register": "formal"})
    found = metric.find(one("Vous venez ?", register="informal"))
    assert found.evidence["style_verdict"] == "FORMAL_MATCH"
    assert found.evidence["style_formality_score"] == 1.0
    assert metric.find(one("Tu viens ?")).value == 0.0
    assert not metric.reproducible


@pytest.mark.parametrize(
    ("level", "value"), [(1, 1.0), (0.2, 0.0), ("official", 1.0), ("casual", 0.0), (0.5, 1.0)]
)
def test_the_formality_level_stands_in_for_the_register(style, level, value):
    assert style(profile={"formality_level": level}).find(one("Vous venez ?")).value == value


def test_prohibited_and_required_terms(style):
    profile = {
        "prohibited_terms": ["e-mail", "OK"],
        "required_terms": ["courriel", "Ville de Lyon"],
    }
    metric = style(profile=profile)
    found = metric.find(one("Un E-mail de la ville de Lyon, ok ?"))
    assert found.value == 0.0
    assert found.evidence["style_prohibited_terms_found"] == ["e-mail", "OK"]
    assert found.evidence["style_required_terms_missing"] == ["courriel"]
    clean = metric.find(one("Il regarde les okapis."))
    assert clean.value == 1.0
    assert clean.statistics[5:7] == (0.0, 1.0)
    assert metric.find(one("")).value is None


def test_rules_work_without_markers_and_without_spaces(style):
    metric = style("xxx", {"prohibited_terms": ["禁止"]}, unsegmented=True)
    assert metric.missing is None
    assert metric.find(one("これは禁止です。")).value == 0.0


def test_the_longest_sentence_counts(style):
    metric = style(profile={"target_register": "formal", "max_sentence_length": 4})
    assert metric.find(one("Vous venez. Vous venez demain matin.")).value == 1.0
    found = metric.find(one("Il vient. Il vient demain matin avec elle."))
    assert (found.value, found.evidence["style_sentence_too_long"]) == (0.0, True)
    characters = style("jpn", {"max_sentence_length": 5}, unsegmented=True)
    assert characters.find(one("あいうえお。かきくけこ。")).value == 1.0
    assert characters.find(one("あいうえおか。")).value == 0.0


def test_sentence_length_ratio(style):
    metric = style()
    toi = "a b c d e f toi"
    ratio = "style_sentence_length_ratio"
    assert metric.find(one("Un deux toi.", "Un deux. Trois quatre.")).evidence[ratio] == 1.5
    assert metric.find(one(toi, "a")).evidence[ratio] == 2.0
    assert metric.find(one(toi, "...")).evidence[ratio] is None


def test_a_language_without_markers_is_missing():
    assert "Basque" in make(Setting(target=LanguageFacts(code="eus", name="Basque")))[0].missing
    assert make(Setting())[0].missing is not None


def test_references_that_disagree_with_their_labels_take_the_score_away(style):
    gold = [one("Tu viens ?", register="formal")] * 13 + [one("Vous ?", register="formal")] * 7
    silent = [one("Il pleut.", register="formal")] * 20 + [one("Tu ?", register="technical")]
    metric, calibration = style().calibrate(gold + silent)
    assert (calibration.n, calibration.rate) == (20, 0.35)
    assert calibration.facts["coverage"] == 0.5
    assert calibration.reason == "markers agree with only 35% of 20 register labels"
    assert metric.restore(calibration) is metric
    assert style().calibrate(gold[1:])[1].reason is None
    assert style(profile={"target_register": "formal"}).calibrate(gold)[1].reason is None
    assert style().calibrate([])[1].rate is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{\n'a'", ":2: not JSON"),
        ("[]", "JSON object"),
        ('{"target": "formal"}', "unknown key 'target'"),
        ('{"target_register": "posh"}', "target_register"),
        ('{"target_register": ["formal"]}', "target_register"),
        ('{"formality_level": true}', "formality_level"),
        ('{"formality_level": NaN}', "formality_level"),
        ('{"max_sentence_length": 0}', "max_sentence_length"),
        ('{"prohibited_terms": "a"}', "prohibited_terms"),
        ('{"required_terms": [" "]}', "required_terms"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_a_bad_profile_is_one_error(tmp_path, text, word):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        make(Setting(resources=Resources(style_profile=path)))
    assert word in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_profile_that_is_not_there_or_not_utf_8(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_profile(tmp_path / "none.json")
    (tmp_path / "p.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(UsageError, match="UTF-8"):
        read_profile(tmp_path / "p.json")


def test_two_megabytes_are_no_trouble(style):
    metric = style("deu", {"target_register": "formal", "prohibited_terms": ["a b"]})
    began = time.process_time()
    for text in ("a" * 2_000_000, "a " * 1_000_000, "'-" * 1_000_000, "." * 2_000_000):
        metric.find(one(text))
    assert time.process_time() - began < 2
