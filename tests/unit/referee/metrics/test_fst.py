"""How many words of an output an analyser knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.protocols import Calibrating, Examining, Metric, MetricInput
from pytest_mtarena.records import LanguageFacts, Resources
from pytest_mtarena.referee.analysers import Reader
from pytest_mtarena.referee.metrics.fst import FstAcceptance, make
from pytest_mtarena.referee.setting import Setting

KNOWN = "a o e casa gato ten come na de peixe l' María bo día non"


class Lexicon:
    """An analyser of a few words, and one on which it breaks."""

    def __init__(self, words: str = KNOWN) -> None:
        self.words = set(words.split())

    def analyses(self, word: str) -> tuple[str, ...]:
        if word == "rompe":
            raise RuntimeError("broken transducer")
        return (f"{word}<x>",) if word in self.words else ()


def metric(words: str = KNOWN, language: str = "glg") -> FstAcceptance:
    return FstAcceptance(reader=Reader(Lexicon(words), language))


def one(output: str, *references: str) -> MetricInput:
    return MetricInput(id="e", source="s", output=output, references=references or ("A casa.",))


def counts(output: str, **options: str) -> dict[str, float]:
    made = metric(**options)
    (found,) = made.examine([one(output)])
    assert found.statistics is not None
    return dict(zip(made.columns, found.statistics, strict=True))


def rate(output: str, **options: str) -> float | None:
    (found,) = metric(**options).examine([one(output)])
    return found.value


def setting(path: Path | None, code: str = "glg", alpha2: str = "gl", **more: Any) -> Setting:
    target = LanguageFacts(code=code, alpha2=alpha2)
    return Setting(target=target, resources=Resources(fst=path), **more)


def test_the_share_of_known_words():
    assert rate("O gato come peixe.") == 1.0
    assert rate("O gato zampa peixe.") == 0.75
    assert rate("zampa") == 0.0


def test_a_capital_at_the_beginning_of_a_sentence_is_no_error():
    assert rate("Casa. Gato! «Come?»\nPeixe… O gato") == 1.0
    assert rate("CASA NON") == 1.0


def test_what_is_no_word_is_not_counted():
    text = (
        "O gato {name} ten 1.234,5 € e 10 % <b>na</b> https://gl.gal/x %s a@b.gal &amp; %1$d ${x}"
    )
    assert counts(text)["words"] == counts(text)["valid_words"] == 5


def test_unknown_names_within_a_sentence_are_left_out_and_counted():
    found = counts("O gato de Xanaxe come. Xanaxe non.")
    assert (found["valid_words"], found["words"], found["names_excluded"]) == (5, 6, 1)
    assert rate("O gato de María") == 1.0
    assert counts("a casa de l'Hospi")["names_excluded"] == 1


def test_what_follows_a_number_or_a_tag_still_begins_the_sentence():
    assert counts("1. <b>Xanaxe</b> come")["names_excluded"] == 0


def test_where_nouns_have_capitals_a_capital_says_nothing():
    assert counts("a casa Xanaxe", language="deu")["names_excluded"] == 0


def test_compounds_are_accepted_by_their_parts():
    assert rate("l’casa bo-día") == 1.0
    assert rate("bo-xyz") == 0.0


def test_a_broken_look_up_says_nothing_of_the_word():
    found = counts("o gato rompe")
    assert (found["valid_words"], found["words"], found["lookup_faults"]) == (2, 2, 1)
    (alone,) = metric().examine([one("rompe")])
    assert (alone.value, alone.reason) == (None, "every look-up failed")


def test_an_output_without_words_that_count_has_no_value():
    for output in ("42", "{x}", "7, 8: https://a.gal"):
        (found,) = metric().examine([one(output)])
        assert (found.value, found.statistics) == (None, None)
        assert found.reason == "no words to look up"


def test_an_empty_output_is_a_miss_and_so_is_bare_punctuation():
    for output in ("", "  \n", "...", "—"):
        (found,) = metric().examine([one(output)])
        assert found.statistics == (0, 1, 0, 0, 0, 0, 0)
        assert found.value == 0.0
    (found,) = metric().examine([one("...", "…")])
    assert found.value is None


def test_the_score_is_the_mean_of_the_entries():
    made = metric()
    rows = made.statistics([one("zampa"), one("O gato come peixe na casa"), one("42"), one("")])
    sums = np.nansum(rows, axis=0)[None]
    assert made.score(sums).tolist() == [1 / 3]
    shown = dict(zip(made.columns, sums[0].tolist(), strict=True))
    assert (shown["valid_words"], shown["words"], shown["accepted_entries"]) == (6, 7, 1)
    assert np.isnan(made.score(np.zeros((1, 7))))[0]


def test_the_evidence_names_rejected_words_and_is_small():
    (found,) = metric().examine([one("O gato zampa")])
    assert found.evidence == {"accepted": False, "rejected": ["zampa"]}
    (found,) = metric().examine([one("O gato come")])
    assert found.evidence == {"accepted": True}
    (found,) = metric().examine([one(" ".join("z" * n for n in range(1, 400)))])
    assert len(json.dumps(found.evidence)) < 20 * 210


def test_a_very_long_output_is_looked_up_in_part():
    assert counts("casa " * 3000)["words"] == 3000
    assert counts("casa " * 400_000)["words"] == 5000


def test_it_is_calibrated_on_the_references():
    gold = [one("O gato come peixe."), one("A casa zampa.")]
    fitted, calibration = metric().calibrate(gold)
    assert (calibration.n, calibration.rate, calibration.reason) == (2, 6 / 7, None)
    assert calibration.facts["words"] == 7
    assert fitted.statistics(gold).shape == (2, 7)


def test_an_analyser_that_does_not_know_the_references_has_no_say():
    _, calibration = metric().calibrate([one("O gato zampa peixe.")])
    assert calibration.rate == 0.75
    assert calibration.reason is not None
    assert calibration.reason.startswith("fst_reference_acceptance 0.75 is below 0.80: ")
    _, calibration = metric().calibrate([one("o " * 3999 + "z " * 1001)])
    assert calibration.reason is not None
    assert "0.79 is below" in calibration.reason
    _, calibration = metric().calibrate([one("o o o o z")])
    assert calibration.reason is None


def test_references_without_words_measure_nothing():
    for text in ("42", "rompe"):
        _, calibration = metric().calibrate([one(text)])
        assert calibration.rate is None
        assert "cannot be measured" in str(calibration.reason)


def test_what_is_missing_is_told():
    for where, said in [
        (setting(None), "needs --mt-fst PATH"),
        (setting(Path("x.hfstol"), unsegmented=True), "spaces"),
    ]:
        (made,) = make(where)
        assert said in str(made.missing)
        assert made.examine([one("casa")])[0].reason == made.missing
        assert made.calibrate([one("casa")])[1].rate is None


def test_a_directory_without_the_language(tmp_path):
    (made,) = make(setting(tmp_path))
    assert "glg.hfstol or gl.hfstol" in str(made.missing)


def test_a_path_that_cannot_be_used_is_one_error(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        make(setting(tmp_path / "nowhere"))
    (tmp_path / "x.hfstol").write_text("hello")
    with pytest.raises(UsageError, match="not an HFST transducer"):
        make(setting(tmp_path / "x.hfstol"))


def test_it_has_the_shapes_of_a_metric():
    (made,) = make(setting(None))
    assert isinstance(made, Metric)
    assert isinstance(made, Examining)
    assert isinstance(made, Calibrating)
    assert not made.reproducible
    assert made.restore(made.calibrate([])[1]) == made


def test_galician(galician):
    (made,) = make(setting(galician))
    gold = [
        one(text)
        for text in (
            "Non sei onde está a miña casa.",
            "A nena quere comer unha mazá vermella.",
            "Mañá imos á praia cos nosos amigos.",
            "O meu pai traballa nun hospital. Falounos diso onte.",
        )
    ]
    _, calibration = made.calibrate(gold)
    assert calibration.rate is not None
    assert calibration.rate >= 0.95
    nonsense = [one("Nzq sre edno ztáse a amiñ csaa"), one("bexo qruza trulip mnaxo zabelote")]
    values = [found.value or 0.0 for found in made.examine(nonsense)]
    assert max(values) < 0.5


def test_another_languages_analyser_has_no_say(catalan):
    (made,) = make(setting(catalan))
    _, calibration = made.calibrate([one("Non sei onde está a miña casa nova, nena.")])
    assert calibration.reason is not None
    assert "below 0.80" in calibration.reason


def test_a_directory_with_the_language(tiny, tmp_path):
    (tmp_path / "tin.hfstol").write_bytes(tiny.read_bytes())
    (made,) = make(setting(tmp_path, "tin", ""))
    assert made.missing is None
    assert made.examine([one("Lum katam dorilo.")])[0].value == pytest.approx(2 / 3)
