"""Hallucinations by type, their calibration, chrF against anchors, and the legacy formula."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from pytest_mtarena.protocols import Calibrating, Calibration, Examining, Metric, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.metrics import hallucination
from pytest_mtarena.referee.metrics.hallucination import (
    TYPES,
    Anchors,
    cut_text,
    fabricated,
    grams,
    legacy_rate,
    make,
    oscillation,
    pair_chrf,
    percentile,
)
from pytest_mtarena.referee.setting import Setting

ENGLISH = LanguageFacts(code="eng", alpha2="en", name="English", scripts=("Latn",))
SAMI = LanguageFacts(code="sme", alpha2="se", name="Northern Sami", scripts=("Latn",))


def metric(target=SAMI, source=ENGLISH, **more):
    return make(Setting(source=source, target=target, **more))[0]


def entry(source, output, *references, id="x"):
    return MetricInput(id=id, source=source, output=output, references=references)


def types(found):
    return {name for name, value in zip(TYPES, found.statistics[2:], strict=True) if value}


def judged(made, source, output, *references, id="x"):
    (found,) = made.examine([entry(source, output, *references, id=id)])
    return types(found)


def suite(count, seed=1):
    """Invented sentences: words of two vocabularies, about as long as each other."""
    rng = random.Random(seed)
    english = ["".join(rng.choices("aeostrnldw", k=rng.randint(2, 7))) for _ in range(400)]
    sami = ["".join(rng.choices("aáoivhkmčđju", k=rng.randint(3, 8))) for _ in range(400)]
    found = []
    for number in range(count):
        n = rng.randint(4, 9)
        source, reference = " ".join(rng.sample(english, n)), " ".join(rng.sample(sami, n))
        found.append(entry(source, reference, reference, id=f"e{number}"))
    return found


@pytest.fixture(scope="module")
def gold():
    return suite(60)


@pytest.fixture(scope="module")
def fitted(gold):
    return metric().calibrate(gold)[0]


def with_outputs(gold, outputs):
    return [
        one.model_copy(update={"output": text}) for one, text in zip(gold, outputs, strict=True)
    ]


def share(fitted, inputs, column=0):
    rows = fitted.statistics(inputs)
    return rows[:, column].mean()


def test_are_metrics():
    by_type, legacy = make(Setting(source=ENGLISH, target=SAMI))
    for made in (by_type, legacy):
        assert isinstance(made, Metric)
        assert isinstance(made, Examining)
        assert made.missing is None
    assert isinstance(by_type, Calibrating)
    assert not isinstance(legacy, Calibrating)
    assert by_type.reproducible
    assert not metric(resources=Resources(language_id=True)).reproducible
    assert legacy.role == "informational"


def test_references_are_not_flagged(gold, fitted):
    assert share(fitted, gold) == 0


def test_swapped_sentences_are_detached(gold, fitted):
    texts = [one.output for one in gold]
    inputs = with_outputs(gold, texts[5:] + texts[:5])
    assert share(fitted, inputs, 2 + TYPES.index("detached")) >= 0.85


def test_truncations_are_length_outliers(gold, fitted):
    inputs = with_outputs(gold, [one.output[: int(0.4 * len(one.output))] for one in gold])
    assert share(fitted, inputs, 2 + TYPES.index("length_outlier")) >= 0.95
    assert share(fitted, with_outputs(gold, [one.output * 4 for one in gold]), 4) >= 0.95


def test_a_reference_of_that_length_vouches_for_it(fitted):
    source, reference = "one two three four five", "áv"
    assert "length_outlier" not in judged(fitted, source, "áb", reference)
    assert "length_outlier" in judged(fitted, source, "áb", "ávkki čájeha dan ollásit")
    assert "length_outlier" not in judged(fitted, source, "áb", "ávkki čájeha dan", "áv")


def test_a_paraphrase_like_its_reference_is_not_detached(gold, fitted):
    for one in gold:
        words = one.references[0].split()
        changed = " ".join(words[:-1][::-1])
        assert judged(fitted, one.source, changed, one.references[0], id=one.id) == set()


def without_ceiling(fitted):
    return replace(fitted, fit=replace(fitted.fit, ceiling=100.0))


def test_the_limit_is_the_likeness_to_other_references(gold, fitted):
    made = without_ceiling(fitted)
    for one in gold:
        changed = " ".join(one.references[0].split()[:-1][::-1])
        assert judged(made, one.source, changed, one.references[0], id=one.id) == set()


def test_above_the_ceiling_nothing_is_detached(gold, fitted):
    texts = [one.output for one in gold]
    swapped = with_outputs(gold, texts[9:] + texts[:9])
    low = replace(fitted, fit=replace(fitted.fit, ceiling=-1.0))
    assert share(low, swapped, 2 + TYPES.index("detached")) == 0
    assert 10 < fitted.fit.ceiling < 60


def test_the_own_reference_is_no_anchor(gold, fitted):
    made = without_ceiling(fitted)
    one = next(one for one in gold if one.id == made.fit.anchors[3][0])
    # The odd length asks for more likeness than to any anchor, but not than to itself.
    output = " ".join(one.references[0].split()[:2])
    for source, name in ((one.source * 9, one.id), (one.source * 9, "another id")):
        assert "detached" not in judged(made, source, output, one.references[0], id=name)


def test_an_odd_length_asks_for_more_likeness(gold, fitted):
    made = without_ceiling(fitted)
    texts = [one.output for one in gold]
    swapped = with_outputs(gold, texts[9:] + texts[:9])
    odd = [one.model_copy(update={"source": one.source * 3}) for one in swapped]
    column = 2 + TYPES.index("detached")
    assert share(made, odd, column) > share(made, swapped, column)


def test_best_of_several_references_counts(gold, fitted):
    one, other = gold[0], gold[7]
    assert "detached" in judged(fitted, one.source, other.output, one.output)
    assert judged(fitted, one.source, other.output, one.output, other.output) == set()


def test_an_anchor_with_the_same_text_is_no_other_reference(gold):
    # All entries but one have their text twice: the twin must not count against them.
    twins = [*gold[:20], *(one.model_copy(update={"id": f"t{one.id}"}) for one in gold[:20])]
    fitted, calibration = metric().calibrate(twins)
    assert calibration.rate == 0
    texts = [text for _, text in fitted.fit.anchors]
    assert len(texts) == len(set(texts))


def test_copies():
    made = metric()
    assert "copy" in judged(made, "Good morning!", "good  morning", "Buorre iđit!")
    assert "copy" in judged(made, "ＧＯＯＤ morning", "good morning.", "Buorre iđit!")
    assert judged(made, "Radio!", "Radio", "radio") == set()
    assert judged(made, "?!", "?!", "!") == set()
    assert judged(made, "Good morning", "Good evening", "Good morning") == set()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("mun boađán boađán boađán boađán boađán", True),
        ("ii ii ii", True),
        ("mun boađán odne ja mun boađán ihttin", False),
        ("son bođii ja son manai ja son bođii fas", False),
        ("gávdno gávdno", False),
    ],
)
def test_oscillation(output, expected):
    assert bool(oscillation(entry("He came and went.", output, "Son bođii ja manai."))) is expected


def test_what_source_or_reference_repeats_may_be_repeated():
    output = "na na na na na na"
    assert oscillation(entry("la la la la la la", output, "x")) is None
    assert oscillation(entry("sing", output, output)) is None
    assert oscillation(entry("sing", output, "x"))["times"] == 6


def test_of_phrases_that_are_as_frequent_the_first_is_named():
    """What is named must not hang on the order of a set: another process has another one."""
    for words in ("ab cd ef gh", "mi na po ru", "one two three four", "u v w x y z"):
        found = oscillation(entry("x", " ".join([words] * 5), "y"))
        assert found == {"repeated": words.split()[0], "times": 5}, words


def test_oscillation_by_characters():
    one = entry("It is a quiet night.", "静かな夜です夜です夜です夜です", "静かな夜です。")
    assert oscillation(one, unsegmented=True)["times"] == 4
    assert oscillation(one) is None
    fine = entry("The cat is a cat.", "猫は猫です。犬は犬です。", "猫は猫だ。")
    assert oscillation(fine, unsegmented=True) is None


def test_long_texts_may_repeat_common_phrases():
    rng = random.Random(3)
    words = [f"w{n}" for n in range(300)]
    output = " ".join(" ".join([*rng.choices(words, k=8), "ja", "de"]) for _ in range(60))
    assert oscillation(entry("short", output, "short")) is None


def test_off_target_by_script(fitted):
    source, reference = "The winter is cold here.", "Dálvi lea čoaskkis dáppe."
    assert "off_target" in judged(fitted, source, "Зима здесь холодная.", reference)
    assert "off_target" not in judged(fitted, source, "Dálvi lea зима.", reference)
    assert "off_target" not in judged(fitted, "Say мир", "мир", "мир")


def test_off_target_by_language(gold, monkeypatch):
    monkeypatch.setattr(
        "pytest_mtarena.referee.language_id.identify",
        lambda texts, candidates=(): ["se" if set(t) & set("áčđ") else "en" for t in texts],
    )
    monkeypatch.setattr("pytest_mtarena.referee.language_id.missing", lambda: None)
    monkeypatch.setattr(
        "pytest_mtarena.referee.language_id.known_languages", lambda: frozenset({"en", "se"})
    )
    accented = [
        one.model_copy(update={"output": f"{one.output} á", "references": (f"{one.output} á",)})
        for one in gold
    ]
    made = metric(resources=Resources(language_id=True))
    fitted, calibration = made.calibrate(accented)
    assert "not_fitted" not in calibration.facts
    assert "off_target" in judged(fitted, "Hello there", "Hi you there", "Bures dutnje á")
    assert "off_target" not in judged(fitted, "Hello there", "Hi you there", "Hi, you there!")
    assert made.restore(calibration).fit == fitted.fit


def test_fabricated_numbers_and_names():
    def new(source, output, *references, names=True):
        return (fabricated(entry(source, output, *references), names=names) or {}).get("new")

    assert new("It costs 1,500 euro.", "Dat máksá 1.500 euro.", "x") is None
    assert new("It costs 1,500 euro.", "Dat máksá 1900 euro.", "x") == ["1900"]
    assert new("Three cows", "3 gusa", "Golbma gusa") is None
    assert new("٣٤ cows", "34 gusa", "x") is None
    assert new("Tom came.", "Son, Pekka, bođii Tomain.", "Tom bođii.") == ["Pekka"]
    assert new("Tom came.", "Son, Pekka, bođii.", "Tom bođii.", names=False) is None
    assert new("He left.", "Vulggii. Odne.", "Vulggii.") is None


def test_fabricated_is_not_in_the_rate():
    (found,) = metric().examine([entry("It came", "Dat bođii 4711", "Dat bođii")])
    assert types(found) == {"fabricated"}
    assert found.value == 0


def test_blank_is_no_hallucination(fitted):
    (found,) = fitted.examine([entry("It came", " ", "Dat bođii")])
    assert found.statistics == (0.0, 1.0, *[0.0] * 6)
    assert found.evidence is None


def test_score_is_the_share_of_flagged_entries(fitted):
    rows = fitted.statistics(
        [entry("It came", "It came", "Dat bođii"), entry("It came", "Dat bođii", "Dat bođii")]
    )
    assert fitted.score(rows.sum(axis=0)[None]).tolist() == [0.5]


def test_small_suites_say_what_is_not_fitted(gold):
    fitted, calibration = metric().calibrate(gold[:19])
    assert set(calibration.facts["not_fitted"]) == {"length_outlier", "detached", "off_target"}
    assert "has 19" in calibration.facts["not_fitted"]["detached"]
    assert judged(fitted, "Good morning!", "Good morning!", "Buorre iđit!") == {"copy"}
    _, enough = metric().calibrate(gold[:20])
    assert set(enough.facts["not_fitted"]) == {"off_target"}


def test_calibration_restores_from_json(gold, fitted):
    _, calibration = metric().calibrate(gold)
    assert calibration.n == 60
    assert len(calibration.fit["anchors"]) == hallucination.ANCHORS
    again = metric().restore(Calibration.model_validate_json(calibration.model_dump_json()))
    inputs = with_outputs(gold, [one.source for one in gold])
    assert again.examine(inputs) == fitted.examine(inputs)
    assert metric().calibrate([])[1].n == 0


def test_evidence_is_told(gold, fitted):
    one = gold[0]
    (found,) = fitted.examine([one.model_copy(update={"output": one.source})])
    assert found.evidence["copy"] is True
    assert found.evidence["detached"]["chrf"] <= found.evidence["detached"]["chrf_to_others"]


letters = st.text(st.sampled_from("abcá漢 "), max_size=30)


@settings(deadline=None)
@given(letters, st.lists(letters.filter(str.strip), min_size=1, max_size=4))
def test_chrf_is_sacrebleus(output, references):
    text = cut_text(output)
    expected = [CHRF().sentence_score(output, [one]).score for one in references]
    anchors = Anchors([(str(n), one) for n, one in enumerate(references)])
    assert anchors.chrf(text, grams(text)).tolist() == pytest.approx(expected)
    pairs = [pair_chrf(text, grams(text), cut_text(one)) for one in references]
    assert pairs == pytest.approx(expected)


def test_percentile_is_interpolated():
    assert percentile([3.0, 1.0, 2.0], 50) == 2
    assert percentile([float(n) for n in range(11)], 95) == 9.5
    assert percentile([4.0], 90) == 4


@given(st.text(max_size=80), st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_any_text_is_judged(source, output, reference):
    (found,) = metric().examine([entry(source, output, reference)])
    assert found.reason is None
    assert 0 <= legacy_rate(source, output) <= 1


def test_huge_texts_take_little_time(gold, fitted):
    texts = ["č" * 2_000_000, "ab čd " * 350_000, "1 " * 1_000_000, "Aa" * 1_000_000, "A'" * 10**6]
    start = time.process_time()
    for text in texts:
        (found,) = fitted.examine([entry(text, text + ".", "Dat bođii")])
        assert found.reason is None
        assert len(str(found.evidence)) < 10_000
    assert time.process_time() - start < 5


def test_legacy_parts():
    # Half the words with a capital are new; the length is fine; nothing repeats.
    assert legacy_rate("I saw Anna there", "Anna lei Oslos ikte") == pytest.approx(0.1)
    # Four words three times: 10 trigrams, 4 distinct.
    assert legacy_rate("a b c d e f g", "p q r s p q r s p q r s") == pytest.approx(0.3 * 0.6)
    assert legacy_rate("same text", "Same text") == pytest.approx(0.1 + 0.2)
    assert legacy_rate("abcd efgh", "efgh abcd") == pytest.approx(0.05)
    assert legacy_rate("a" * 100, "b" * 15) == pytest.approx(0.4 * 0.5)
    assert legacy_rate("abcd", "z" * 18) == pytest.approx(0.4 * 0.5)
    assert legacy_rate("", "long enough text") == pytest.approx(0.4)
    assert legacy_rate("text", "  ") == 0


def test_legacy_score_is_the_mean():
    legacy = make(Setting())[1]
    rows = legacy.statistics([entry("abcd", "z" * 18, "y"), entry("abcd", "", "y")])
    assert legacy.score(rows.sum(axis=0)[None]).tolist() == pytest.approx([0.1])
