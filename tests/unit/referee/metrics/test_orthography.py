"""Orthographic accuracy with real languages."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest

from pytest_mtarena.languages.cards import Cards
from pytest_mtarena.languages.table import find_language
from pytest_mtarena.protocols import Calibrating, Calibration, Examining, MetricInput
from pytest_mtarena.referee.metrics.orthography import make, make_orthography
from pytest_mtarena.referee.setting import Setting


def inputs(*outputs: str) -> list[MetricInput]:
    """Return inputs with these outputs, which are the references too."""
    return [
        MetricInput(id=str(number), source="s", output=output, references=(output or "r",))
        for number, output in enumerate(outputs)
    ]


def judge(code: str, output: str, cards: Cards | None = None):
    """Return the finding of one output, without calibration."""
    (found,) = make_orthography(find_language(code, cards=cards)).examine(inputs(output))
    return found


CREE = Cards(
    {
        "crk": {
            "code": "crk",
            "scriptUnicodeName": "Latin",
            "orthography": {"letters": "acehikmnopstwyâêîôāēīō"},
        }
    }
)


def test_it_is_what_the_referee_expects():
    (metric,) = make(Setting(target=find_language("cym")))
    assert isinstance(metric, Examining)
    assert isinstance(metric, Calibrating)
    assert metric.id == "orthographic_accuracy"
    assert metric.missing is None
    assert metric.reproducible
    assert metric.columns == ("accepted_words", "words")


def test_a_language_without_letters_says_what_it_needs():
    (metric,) = make(Setting(target=find_language("pam")))
    assert "the letters of Pampanga are not known" in metric.missing
    (metric,) = make(Setting())
    assert "the letters of the target language are not known" in metric.missing


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("cym", "Mae'r tŷ ar y bryn, a'r ci yn cysgu."),
        ("por", "A avó deu-lhe um pão: não há açúcar. ÀS 10h, em 2024!"),
        ("jpn", "昨日、友達とテレビを見ました。"),
        ("sme", "Mii lea du namma? Ášši lea čielggas, Ŋuoška."),
        ("amh", "ዛሬ ጠዋት ወደ ገበያ ሄድኩ።"),
        ("arb", "ذهبتُ إلى السوقِ صباحَ اليوم، وكان الجوُّ جميلًا."),
        ("tur", "İstanbul'da ılık bir gün. Işık söndü."),
        ("deu", "Die Straße, DIE STRAẞE."),
        ("haw", "ʻO ka hale nui kēia."),
        ("cat", "La col·lecció d'ahir."),
        ("hin", "यह मेरी किताब है।"),
        ("sin", "ශ්‍රී ලංකාව"),
        ("crk", "tânisi, nêhiyawêwin"),
    ],
)
def test_good_texts_are_accepted(code, text):
    found = judge(code, text, CREE)
    assert (found.value, found.evidence) == (1.0, None)


@pytest.mark.parametrize(
    ("code", "text", "wrong"),
    [
        ("cym", "Mae'r señor yma", ["señor"]),
        ("por", "ela веio cedo", ["веio"]),
        ("amh", "ወደ Google ሄድኩ", ["Google"]),
        ("sme", "okta žuoŋga, oktå", ["oktå"]),
        ("spa", "co·operar sin_blancos bien", ["co·operar", "sin_blancos"]),
        ("arb", "كتاب book", ["book"]),
        ("crk", "tânisi fried", ["fried"]),
    ],
)
def test_other_letters_are_found(code, text, wrong):
    metric = make_orthography(find_language(code, cards=CREE))
    fitted = metric.restore(Calibration(n=1, rate=1.0, fit={"auxiliary": "", "long_vowels": ""}))
    (found,) = fitted.examine(inputs(text))
    assert found.evidence == {"words": wrong}
    assert found.statistics[0] == found.statistics[1] - len(wrong)
    assert found.value == found.statistics[0] / found.statistics[1]


def test_what_is_no_word_does_not_count():
    found = judge("por", "Veja https://wörld.example/ŵ, {naïveŵ} e 12ª em 2024.")
    assert found.statistics == (3, 3)


def test_decomposed_text_is_the_same_text():
    text = "Não há pão, vovô."
    assert judge("por", unicodedata.normalize("NFD", text)) == judge("por", text)
    assert judge("yor", unicodedata.normalize("NFD", "Mo fẹ́ ṣòkòtò")).value == 1.0


@pytest.mark.parametrize("text", ["", "   ", "12 %", "…"])
def test_without_words_there_is_no_value(text):
    found = judge("por", text)
    assert (found.statistics, found.value, found.reason) == (None, None, "no words")


def test_evidence_is_small_and_plain():
    found = judge("rus", " ".join(f"{'w' * 500}{chr(97 + n)}" for n in range(26)))
    assert len(found.evidence["words"]) == 20
    assert all(len(word) <= 200 for word in found.evidence["words"])
    assert json.loads(json.dumps(found.evidence)) == found.evidence


def test_scores_come_from_sums_alone():
    metric = make_orthography(find_language("rus"))
    rows = metric.statistics(inputs("да нет", "yes", ""))
    assert rows[:2].tolist() == [[2, 2], [0, 1]]
    assert metric.score(rows[:2].sum(axis=0, keepdims=True)).tolist() == [2 / 3]


def test_auxiliary_letters_need_a_reference():
    metric = make_orthography(find_language("cym"))
    fitted, calibration = metric.calibrate(inputs("Mae Zoe yn y tŷ.", "Nos da."))
    assert calibration.fit == {"auxiliary": "z", "long_vowels": ""}
    assert (calibration.n, calibration.rate, calibration.reason) == (2, 1.0, None)
    (found,) = fitted.examine(inputs("Zoe a Zack, zip, Victor"))
    assert found.evidence == {"words": ["Zack", "Victor"]}
    again = metric.restore(Calibration.model_validate(calibration.model_dump()))
    assert again == fitted


def test_a_capital_does_not_stand_for_another_letter():
    fitted, calibration = make_orthography(find_language("ltz")).calibrate(
        inputs("Iessen ass gutt")
    )
    assert "ı" in find_language("ltz").auxiliary
    assert calibration.fit["auxiliary"] == ""
    assert fitted.examine(inputs("Iessen"))[0].value == 1.0


def test_letters_that_do_not_fit_the_suite_are_not_used():
    _, calibration = make_orthography(find_language("uzb")).calibrate(
        inputs("Бугун ҳаво яхши.", "Men uyga ketdim.")
    )
    assert calibration.rate == 0.5
    assert calibration.reason.startswith("only 50% of the references' words")
    assert "Uzbek" in calibration.reason
    assert calibration.facts["other_letters"]["у"] == 1
    _, empty = make_orthography(find_language("uzb")).calibrate(inputs("12", "!"))
    assert (empty.n, empty.rate, empty.reason) == (0, None, "the references have no words")


def test_japanese_is_judged_sign_by_sign():
    _, calibration = make_orthography(find_language("jpn")).calibrate(
        inputs("東京は日本の首都です。", "コーヒーを飲みましょう。")
    )
    assert (calibration.rate, calibration.reason) == (1.0, None)
    assert judge("jpn", "彳亍する").evidence == {"words": ["彳", "亍"]}


def test_long_vowels_are_written_in_one_way():
    assert judge("crk", "tânisi nêhiyaw", CREE).value == 1.0
    assert judge("crk", "tānisi nēhiyaw", CREE).value == 1.0
    mixed = judge("crk", "tânisi nêhiyaw mīna", CREE)
    assert mixed.evidence == {"words": ["mīna"]}
    assert judge("crk", "TĀNISI nēhiyaw Mîna", CREE).evidence == {"words": ["Mîna"]}
    assert judge("crk", "tânēw nêhiyaw", CREE).evidence == {"words": ["tânēw"]}
    assert judge("crk", "nīpin mîna", CREE).evidence == {"words": ["mîna"]}, "the first goes"


def test_as_many_of_both_go_by_the_references():
    metric = make_orthography(find_language("crk", cards=CREE))
    assert not metric.reproducible
    fitted, calibration = metric.calibrate(inputs("tânisi", "nêhiyaw", "sîpiy", "āpihtaw"))
    assert calibration.fit["long_vowels"] == "circumflex"
    assert fitted.examine(inputs("nīpin mîna"))[0].evidence == {"words": ["nīpin"]}
    assert metric.restore(calibration) == fitted


def test_references_that_mix_both_have_two_letters():
    metric = make_orthography(find_language("crk", cards=CREE))
    fitted, calibration = metric.calibrate(inputs("tânisi mīna", "nêhiyaw nīpin", "sîpiy"))
    assert calibration.fit["long_vowels"] == "distinct"
    assert fitted.examine(inputs("nīpin mîna"))[0].value == 1.0
    assert metric.restore(calibration) == fitted


def test_languages_with_both_marks_as_tones_are_left_alone():
    assert judge("mas", "kâ mā").value == 1.0


def test_a_text_of_megabytes_takes_linear_time():
    start = time.process_time()
    judge("por", "casa ŵ " * 300_000)
    assert time.process_time() - start < 30


def test_of_letters_that_are_as_frequent_the_first_are_named():
    """Another process has another order of sets, and a card is the same everywhere."""
    made, foreign = make_orthography(find_language("eng", "")), "бвгджзийклмн"
    _, calibration = made.calibrate(inputs(foreign))
    assert list(calibration.facts["other_letters"]) == list(foreign[:10])
