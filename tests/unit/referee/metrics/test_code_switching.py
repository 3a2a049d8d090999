"""Code switching: wrong script, copied runs, whole copies, identified language, calibration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.protocols import Calibrating, Calibration, Examining, Metric, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.metrics import code_switching
from pytest_mtarena.referee.metrics.code_switching import copied_places, make, read
from pytest_mtarena.referee.setting import Setting

ENGLISH = LanguageFacts(code="eng", alpha2="en", name="English", scripts=("Latn",))
WELSH = LanguageFacts(code="cym", alpha2="cy", name="Welsh", scripts=("Latn",))
RUSSIAN = LanguageFacts(code="rus", alpha2="ru", name="Russian", scripts=("Cyrl",))
JAPANESE = LanguageFacts(code="jpn", alpha2="ja", name="Japanese", scripts=("Jpan",))
THAI = LanguageFacts(code="tha", alpha2="th", name="Thai", scripts=("Thai",))


def metric(target=WELSH, source=ENGLISH, **more):
    (made,) = make(Setting(source=source, target=target, **more))
    return made


def entry(source, output, *references, id="e"):
    return MetricInput(id=id, source=source, output=output, references=references)


def judged(made, source, output, *references):
    (found,) = made.examine([entry(source, output, *references)])
    return found


def test_is_a_metric_that_examines_and_calibrates():
    made = metric()
    assert isinstance(made, Metric)
    assert isinstance(made, Examining)
    assert isinstance(made, Calibrating)
    assert made.missing is None
    assert made.direction == "lower"


def test_latin_words_in_a_cyrillic_output_are_switched_unless_a_reference_has_them():
    found = judged(
        metric(RUSSIAN),
        "I bought a Samsung phone yesterday in {city}.",
        "Я купил phone Samsung вчера в {city} за 10 %, см. https://example.org/a",
        "Вчера я купил телефон Samsung в {city}.",
    )
    rate, entries, wrong, copied, tokens, flagged = found.statistics
    assert (wrong, copied, tokens, entries, flagged) == (1, 0, 8, 1, 0)
    assert found.value == rate == 1 / 8
    assert found.evidence["wrong_script"] == ["phone"]
    assert found.evidence["flagged"] is False


@pytest.mark.parametrize("word", ["ክረምት", "зима", "χειμώνας", "ฤดูหนาว", "冬天", "ზამთარი", "ጋ"])
def test_any_other_script_counts(word):
    found = judged(metric(), "The winter is cold.", f"Mae'r {word} yn oer.", "Mae'r gaeaf yn oer.")
    assert found.evidence["wrong_script"]
    assert found.value > 0


def test_three_words_in_a_row_are_a_copied_run_and_two_are_not():
    source = "The old bridge over the river is closed."
    reference = "Mae'r hen bont dros yr afon ar gau."
    run = judged(metric(), source, "Mae'r bridge over the afon ar gau.", reference)
    assert run.statistics[3] == 3
    assert run.evidence["copied"] == ["bridge over the"]
    assert run.value == 3 / 7
    assert judged(metric(), source, "Mae'r over the afon bridge ar gau.", reference).value == 0


def test_names_in_a_row_that_a_reference_has_are_no_run():
    source = "Anna Petra Oslo"
    assert judged(metric(), source, "Anna Petra Oslo a mwy", "Petra, Anna, Oslo").value == 0


def test_width_and_case_make_no_difference():
    found = judged(metric(RUSSIAN), "See the ABC", "Смотри АБВ abc", "Смотри АБВ ＡＢＣ")
    assert found.value == 0


def test_a_second_reference_excuses():
    source, output = "Read the user guide first", "Read the user guide yn gyntaf"
    assert judged(metric(), source, output, "Darllenwch y canllaw").value == 4 / 6
    both = judged(
        metric(), source, output, "Darllenwch y canllaw", "Darllenwch Read the user guide"
    )
    assert both.value == 0


def test_a_whole_copy_counts_whatever_its_length_unless_a_reference_is_the_same():
    assert judged(metric(), "Good morning!", "good morning", "Bore da!").value == 1
    # Every word also stands in the reference, yet the text is the source's.
    assert judged(metric(), "Tom a Mari", "Tom a Mari", "Mari a Tom").value == 1
    assert judged(metric(), "Radio!", "Radio", "Radio").value == 0


def test_scripts_without_spaces_are_counted_by_characters():
    found = judged(metric(JAPANESE), "Open the file now", "ファイルを開く now", "ファイルを開く")
    assert found.statistics[4] == 5  # ファイル を 開 く now
    assert found.value == 1 / 5
    whole = judged(metric(THAI), "Hello", "สวัสดี", "สวัสดี")
    assert whole.statistics[4] == len("สวัสดี")


def test_a_run_of_characters_must_be_longer():
    japanese, chinese = JAPANESE, LanguageFacts(code="zho", scripts=("Hans",))
    made = metric(japanese, chinese)
    long = judged(
        made, "我们明天去东京大学参观", "あす我们明天去东京だ", "明日は東大を見に行きます"
    )
    assert long.evidence["copied"] == ["我们明天去东京"]
    again = judged(made, "我们明天去东京大学参观", "あす我们明天去东京だ", "我们明天去东京です")
    assert again.statistics[3] == 0
    short = judged(made, "我们在东京大学", "あす东京大学へ", "明日は東大へ行きます")
    assert short.statistics[3] == 0


def test_blank_counts_as_nothing_found_and_no_source_has_no_value():
    made = metric()
    assert judged(made, "Hello there", "", "Helo").statistics == (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    assert judged(made, "Hello there", "1,5 % {x}", "Helo").value == 0
    none = judged(made, " ", "Helo", "Helo")
    assert (none.value, none.statistics, none.reason) == (None, None, "no source text")


def test_same_language_is_missing():
    assert "same language" in metric(ENGLISH, ENGLISH).missing


def test_score_is_the_mean_of_the_rates():
    made = metric()
    rows = made.statistics(
        [
            entry("Good morning!", "Good morning!", "Bore da!"),
            entry("Good night!", "Nos da!", "Nos da!"),
            entry("Good night!", "", "Nos da!"),
        ]
    )
    assert made.score(rows.sum(axis=0)[None]).tolist() == [1 / 3]


SENTENCES = [
    (f"The {a} is near the {b}.", f"Стоит {c} около {d}.")
    for a, c in (("house", "дом"), ("tree", "дуб"), ("table", "стол"), ("well", "колодец"))
    for b, d in (("lake", "озера"), ("road", "дороги"), ("wall", "стены"), ("field", "поля"))
]


def gold(pairs):
    return [
        entry(source, reference, reference, id=f"e{n}")
        for n, (source, reference) in enumerate(pairs)
    ]


def test_calibration_judges_references_without_themselves():
    pairs = [*SENTENCES, ("The CD is near the DVD.", "Лежит CD около DVD player.")]
    fitted, calibration = metric(RUSSIAN).calibrate(gold(pairs))
    assert calibration.n == 17
    assert calibration.rate == 0  # the lone one would be 1/17: above 2 %, so the threshold rises
    assert fitted.threshold == calibration.fit["threshold"] == 0.6
    assert calibration.reason is None
    assert calibration.facts["source_copies_flagged"] == 1
    again = metric(RUSSIAN).restore(Calibration.model_validate(calibration.model_dump()))
    assert again == fitted


def test_no_value_where_the_references_look_like_the_source():
    pairs = [(source, f"{source} да") for source, _ in SENTENCES]
    made = metric(RUSSIAN)
    _, calibration = made.calibrate(gold(pairs))
    assert "references" in calibration.reason


def test_scripts_are_those_of_the_references_not_of_single_names():
    fitted, calibration = metric(RUSSIAN.model_copy(update={"scripts": ()})).calibrate(
        gold([*SENTENCES, ("Radio Nova is on.", "Радио Nova играет.")])
    )
    assert calibration.fit["scripts"] == ["Cyrl"]
    assert judged(fitted, "A new word", "Новое word", "Новое слово").value == 0.5


def test_without_sources_there_is_nothing_to_calibrate():
    _, calibration = metric().calibrate([entry("", "Helo", "Helo")])
    assert (calibration.n, calibration.rate, calibration.reason) == (0, None, "no source text")


def test_identified_language_counts_where_it_was_tried(monkeypatch):
    english = {"the", "is", "near", "and", "a", "big", "house", "tree"}

    def identify(texts, candidates=()):
        return ["en" if set(text.lower().strip(".").split()) & english else "cy" for text in texts]

    monkeypatch.setattr("pytest_mtarena.referee.language_id.identify", identify)
    monkeypatch.setattr("pytest_mtarena.referee.language_id.missing", lambda: None)
    monkeypatch.setattr(
        "pytest_mtarena.referee.language_id.known_languages", lambda: frozenset({"en", "cy"})
    )
    pairs = [(s, f"Mae hen dy {n} ger afon") for n, (s, _) in enumerate(SENTENCES * 2)]
    made = metric(resources=Resources(language_id=True))
    assert made.reproducible is False
    fitted, calibration = made.calibrate(gold(pairs))
    assert calibration.facts["language_identification"].startswith("on: finds 100%")
    found = judged(fitted, "The well is near the wall.", "A big house and tree", "Mae tree yma")
    assert found.value == 4 / 5
    assert found.evidence["language"] == "en"
    assert judged(made, "The well is near.", "A big house and tree", "Mae tree yma").value == 0
    assert made.restore(calibration) == fitted


def test_identification_is_off_between_scripts():
    made = metric(RUSSIAN, resources=Resources(language_id=True))
    _, calibration = made.calibrate(gold(SENTENCES))
    assert "differ in script" in calibration.facts["language_identification"]


def test_huge_texts_are_cut():
    text = "ab cd ef " * 230_000
    found = judged(metric(), text, f"x {text}", "Helo")
    assert found.value > 0.9
    assert found.statistics[4] <= code_switching.MAX_CHARACTERS
    assert len(str(found.evidence)) < 1000


@given(st.text(max_size=60), st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_rates_are_shares_and_references_are_clean(source, output, reference):
    made = metric(RUSSIAN)
    found = judged(made, source, output, reference)
    assert found.value is None or 0 <= found.value <= 1
    assert (judged(made, source, reference, reference).value or 0) == 0


@given(
    st.lists(st.sampled_from("abcde"), max_size=12), st.lists(st.sampled_from("abcde"), max_size=9)
)
def test_copied_places_are_exactly_those_of_common_trigrams(output, source):
    def naive(place):
        return any(
            output[start : start + 3] == source[other : other + 3]
            for start in range(max(0, place - 2), place + 1)
            if start + 3 <= len(output)
            for other in range(len(source) - 2)
        )

    tokens, others = (read(" ".join(letters)).tokens for letters in (output, source))
    assert copied_places(tokens, others, []) == [naive(place) for place in range(len(output))]
