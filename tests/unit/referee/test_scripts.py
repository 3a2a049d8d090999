"""Which tokenizer is chosen, and that the reason is told."""

from __future__ import annotations

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.referee import scripts
from pytest_mtarena.referee.scripts import choose, dominant_script, tokenization_of


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    monkeypatch.setattr(scripts, "_installed", lambda *modules: not modules)


@pytest.mark.parametrize(
    ("code", "bleu", "asian"),
    [
        ("zh", "zh", True),
        ("zho_Hans", "zh", True),
        ("cmn", "zh", True),
        ("zh-Hant-TW", "zh", True),
        ("zh-Latn", "13a", False),
        ("ja", "char", True),
        ("jpn_Jpan", "char", True),
        ("ko", "13a", False),
        ("kor_Hang", "13a", False),
        ("th", "char", False),
        ("tha_Thai", "char", False),
        ("lo", "char", False),
        ("khm", "char", False),
        ("mya_Mymr", "char", False),
        ("bod", "char", False),
        ("dzo", "char", False),
        ("por", "13a", False),
        ("sr-Cyrl", "13a", False),
        ("", "13a", False),
        ("zhuang", "13a", False),
    ],
)
def test_by_code(code, bleu, asian):
    chosen = choose(code, [])
    assert (chosen.bleu, chosen.asian) == (bleu, asian)
    assert chosen.reason


@pytest.mark.parametrize(
    ("text", "script", "bleu"),
    [
        ("我喜欢读书 and GitHub", "Han", "zh"),
        ("日本語を勉強する学生です", "kana", "char"),
        ("한국어 문장입니다", "Hangul", "13a"),
        ("ฉันอ่านหนังสือ", "Thai", "char"),
        ("ຂ້ອຍອ່ານປຶ້ມ", "Lao", "char"),
        ("ខ្ញុំអានសៀវភៅ", "Khmer", "char"),
        ("ကျွန်တော်စာဖတ်သည်", "Burmese", "char"),
        ("ང་དེབ་ཀློག", "Tibetan", "char"),
        ("Я читаю книгу", "", "13a"),
        ("मैं किताब पढ़ता हूँ", "", "13a"),
        ("12, 34 😀", "", "13a"),
    ],
)
@pytest.mark.parametrize("code", ["", "xyz"])
def test_by_script_when_the_code_says_nothing(text, script, bleu, code):
    assert dominant_script([text]) == script
    chosen = choose(code, iter(["", text]))
    assert chosen.bleu == bleu
    assert not script or script in chosen.reason


def test_what_is_not_installed_is_said(monkeypatch):
    assert "ja-mecab is not installed" in choose("ja", []).words
    assert "ko-mecab is not installed" in choose("ko", []).words
    monkeypatch.setattr(scripts, "_installed", lambda *modules: True)
    assert choose("jpn", []).bleu == "ja-mecab"
    assert choose("kor", []).bleu == "ko-mecab"


def test_the_user_decides():
    chosen = choose("th", [], "intl")
    assert (chosen.bleu, chosen.words, chosen.unsegmented) == ("intl", "intl: asked for", True)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("13b", "there is no BLEU tokenizer '13b' .known: 13a"),
        ("ja-mecab", r"pip install 'sacrebleu\[ja\]'"),
        ("flores200", "pip install sentencepiece"),
    ],
)
def test_a_tokenizer_that_cannot_be_had(name, problem):
    with pytest.raises(UsageError, match=problem):
        choose("por", [], name)


def test_a_card_keeps_its_tokenization():
    chosen = choose("", ["plain words"])
    words = choose("th", []).words
    again = tokenization_of(words, "nrefs:1|case:lc|asian:yes", chosen)
    assert (again.bleu, again.asian, again.words) == ("char", True, words)
    assert tokenization_of(None, None, chosen) == chosen
