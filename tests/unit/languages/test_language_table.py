"""What the table says of real languages, and that nothing is guessed."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.languages import table
from pytest_mtarena.languages.cards import Cards
from pytest_mtarena.languages.table import find_language, vendor_code
from pytest_mtarena.records import LanguageFacts


@pytest.mark.parametrize(
    ("code", "name", "alpha2"),
    [
        ("por", "Portuguese", "pt"),
        ("pt", "Portuguese", "pt"),
        ("CYM", "Welsh", "cy"),
        ("wel", "Welsh", "cy"),
        ("ger", "German", "de"),
        ("iw", "Hebrew", "he"),
        ("sme", "Northern Sami", "se"),
        ("pam", "Pampanga", ""),
        ("crk", "Plains Cree", ""),
    ],
)
def test_every_sort_of_code_finds_the_language(code, name, alpha2):
    facts = find_language(code)
    assert (facts.name, facts.alpha2) == (name, alpha2)
    assert len(facts.code) == 3


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Welsh", "cym"),
        ("welsh", "cym"),
        ("Northern Sami", "sme"),
        ("Northern Sámi", "sme"),
        ("Kapampangan", "pam"),
        ("Shona", "sna"),
        ("Faroese", "fao"),
        ("Plains Cree", "crk"),
        ("Luganda", "lug"),
        ("Serbian (Latin)", "srp"),
        ("Brazilian Portuguese", "por"),
        ("Portuguese (Brazil)", "por"),
        ("Swahili", "swa"),
        ("Malay", "msa"),
        ("Modern Standard Arabic", "arb"),
        ("Haitian-Creole", "hat"),
    ],
)
def test_english_names_find_the_language(name, code):
    assert find_language(name=name).code == code
    assert find_language(name).code == code, "a name in the place of the code"


def test_what_is_unknown_keeps_code_and_name():
    assert find_language("qaa", "Elvish") == LanguageFacts(code="qaa", name="Elvish")
    assert find_language() == LanguageFacts()
    assert find_language("und") == LanguageFacts(code="und")


def test_a_name_of_several_languages_is_unknown():
    usual, other, _ = table._names()
    several = [name for name, code in other.items() if code == "?" and name not in usual]
    assert several
    assert find_language(name=several[0]) == LanguageFacts(name=several[0])


def test_the_code_goes_before_the_name():
    assert find_language("cym", "Breton").name == "Welsh"
    assert find_language("zzz9", "Welsh").code == "cym"
    assert find_language("pt", "Brazilian Portuguese").vendor_codes["deepl"] == "PT-BR"


@pytest.mark.parametrize(
    ("member", "whole"), [("arb", "ara"), ("swh", "swa"), ("zsm", "msa"), ("pes", "fas")]
)
def test_the_standard_member_has_the_facts_of_the_macrolanguage(member, whole):
    one, other = find_language(member), find_language(whole)
    assert one.code == member
    assert one.name != other.name
    assert one.letters == other.letters != ""
    assert (one.alpha2, one.scripts, one.quotes, one.xlmr) == (
        other.alpha2,
        other.scripts,
        other.quotes,
        other.xlmr,
    )


def test_another_member_is_not_taken_for_the_macrolanguage():
    facts = find_language("arz")
    assert (facts.letters, facts.alpha2, facts.xlmr) == ("", "", "")
    assert facts.scripts == ("Arab",)
    assert facts.direction == "rtl"


def test_a_script_decides_what_depends_on_it():
    latin, cyrillic = find_language("uzb"), find_language("uzb_Cyrl")
    assert (latin.scripts[0], cyrillic.scripts[0]) == ("Latn", "Cyrl")
    assert "q" in latin.letters
    assert "қ" in cyrillic.letters
    assert "q" not in cyrillic.letters
    arabic = find_language("uz-Arab")
    assert (arabic.direction, arabic.has_case, latin.has_case) == ("rtl", False, True)


def test_a_script_without_data_has_no_letters():
    facts = find_language("crk-Latn")
    assert (facts.scripts[0], facts.has_case, facts.letters) == ("Latn", True, "")
    assert find_language("por-Arab").letters == ""
    assert find_language("por-Arab").quotes == ()
    assert find_language("por-Arab").direction == "rtl"


def test_a_region_decides_script_and_quotes():
    assert find_language("zh-TW").scripts[0] == "Hant"
    assert find_language("zh-TW").quotes[0] == ("「", "」")
    assert find_language("zho_Hans").quotes[0] == ("“", "”")
    assert find_language("pt-PT").quotes[0] == ("«", "»")
    assert find_language("pt-BR").quotes[0] == ("“", "”")
    assert "ß" in find_language("de").letters
    assert "ß" not in find_language("de-CH").letters
    assert find_language("pt-BR").name == "Brazilian Portuguese"


@pytest.mark.parametrize("code", ["zho", "cmn", "yue", "jpn", "tha", "lao", "khm", "mya", "bod"])
def test_languages_without_spaces(code):
    assert find_language(code).spaces is False


@pytest.mark.parametrize("code", ["por", "kor", "vie", "amh", "arb", "hin"])
def test_languages_with_spaces(code):
    assert find_language(code).spaces is True


def test_letters_are_written_out():
    portuguese = find_language("por")
    assert portuguese.letters.startswith("abcdef")
    assert "-" not in portuguese.letters
    assert {*"ãõçáê"} <= {*portuguese.letters}
    assert {"ñ", "ü"} <= {*portuguese.auxiliary}
    assert len(find_language("kor").letters) == 11_172
    assert "ʻ" in find_language("haw").letters


def test_how_much_xlm_r_has_seen():
    tiers = {code: find_language(code).xlmr for code in ("por", "swa", "cym", "sme", "arb")}
    assert tiers == {"por": "high", "swa": "medium", "cym": "low", "sme": "none", "arb": "high"}


def test_codes_of_services():
    assert vendor_code(find_language("cym"), "google") == "cy"
    assert vendor_code(find_language("ceb"), "google") == "ceb"
    assert vendor_code(find_language("heb"), "google") == "iw"
    assert vendor_code(find_language("zho"), "google") == "zh-CN"
    assert vendor_code(find_language("cmn_Hant"), "google") == "zh-TW"
    assert vendor_code(find_language("zho"), "amazon") == "zh"
    assert vendor_code(find_language("srp-Latn"), "microsoft") == "sr-Latn"
    assert vendor_code(find_language("por"), "deepl") == "PT-PT"
    assert vendor_code(find_language("pt-BR"), "deepl") == "PT-BR"
    assert vendor_code(find_language("deu"), "deepl") == "DE"


def test_every_line_of_the_table_is_sound():
    data = table._table()
    for code in data["languages"]:
        facts = find_language(code)
        assert facts.code == code
        assert facts.name
        assert not {*facts.letters} & {*facts.auxiliary}
    for tag in data["facts"]:
        assert find_language(tag).code == tag[:3], tag
    assert set(data["codes"].values()) <= set(data["languages"])
    licenses = [source["license"] for source in data["about"]["sources"]]
    assert "Unicode-3.0" in licenses
    assert "Unicode, Inc." in data["about"]["sources"][0]["notice"]


def test_the_table_is_small_and_quick():
    path = table.files("pytest_mtarena.languages").joinpath("languages.json")
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 500_000
    start = time.process_time()
    json.loads(text)
    assert time.process_time() - start < 0.3  # 6 ms; a machine under load may take longer


def test_nothing_is_loaded_before_it_is_asked_for():
    code = (
        "from pytest_mtarena.languages import table; print(table._table.cache_info().currsize)\n"
        "table.find_language('por'); print(table._names.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


SUBTAG = st.one_of(
    st.sampled_from(["pt", "por", "zho", "Latn", "Hans", "BR", "419", "x", "arb", "sr", "ME"]),
    st.text(max_size=5),
)
ANYTHING = st.one_of(
    st.text(),
    st.text(st.characters(min_codepoint=0xD7FF, max_codepoint=0xE001, categories=["Cs", "Co"])),
    st.lists(SUBTAG, max_size=5).map("-".join),
    st.lists(SUBTAG, max_size=5).map("_".join),
    st.sampled_from(["Serbian (Latin)", "Malay (", "((", "a(b)", "Welsh"]),
)


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
def test_finding_a_language_never_raises(code, name):
    facts = find_language(code, name)
    assert LanguageFacts.model_validate(facts.model_dump()) == facts
    assert find_language(code, name, cards=Cards()) == facts
    assert f"{facts.code} {facts.name}".encode()


def test_a_lone_surrogate_is_not_kept():
    assert find_language("\ud800", "x\udfff") == LanguageFacts(code="?", name="x?")
