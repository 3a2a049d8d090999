"""What a run takes from a champollion config: one precedence, and never another language's."""

from __future__ import annotations

import argparse
import json

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.plugin.importing import Importing
from pytest_mtarena.plugin.options import OPTIONS
from pytest_mtarena.plugin.settings import read_settings
from pytest_mtarena.records import Language

ENGLISH = Language(code="eng", name="English")


@pytest.fixture
def importing(tmp_path):
    """Make an Importing of a config and options."""

    def make(value, methods=(), **given):
        path = tmp_path / "champollion.config.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        option = argparse.Namespace(
            **{one.dest: one.keywords["default"] for one in OPTIONS},
        )
        vars(option).update({"mt_champollion_config": str(path), "mt_model": ["m"], **given})
        return Importing(read_settings(option, tmp_path), methods)

    return make


def origins(settings):
    return settings.champollion["origin"]


LEVELS = {
    "default": {},
    "top level": {"temperature": 0.1, "batchSize": 11, "model": "m1", "registerPreset": "r1"},
    "language pt": {"temperature": 0.2, "batchSize": 12, "model": "m2", "register": "r2"},
    "pair en:pt": {"temperature": 0.3, "batchSize": 13, "model": "m3", "register": "r3"},
}


@pytest.mark.parametrize("first", range(1, 4))
def test_each_level_goes_before_the_next(importing, first):
    names = list(LEVELS)
    values = {name: LEVELS[name] for name in names[1 : first + 1]}
    config = {
        **values.get("top level", {}),
        "languages": {"pt": values.get("language pt", {})},
        "pairs": {"en:pt": values.get("pair en:pt", {})},
    }
    found = importing(config, mt_model=None).settings_for(ENGLISH, Language(code="por"))
    assert (found.temperature, found.batch_size) == (first / 10, 10 + first)
    assert found.model.models == (f"m{first}",)
    assert found.model.tone == f"r{first}"
    for name in ("temperature", "batch_size", "model", "register"):
        assert origins(found)[name] == names[first]


def test_what_nobody_says_is_the_default(importing):
    found = importing({}).settings_for(ENGLISH, Language(code="por"))
    assert (found.temperature, found.batch_size, found.model.tone) == (0.0, 25, "")
    assert origins(found)["temperature"] == origins(found)["register"] == "default"
    assert origins(found)["model"] == "flag"


def test_given_is_what_was_given_and_not_what_differs(importing):
    config = {"temperature": 0.5, "batchSize": 3}
    found = importing(config, mt_temperature=0.0, mt_batch_size=25).settings_for(
        ENGLISH, Language(code="por")
    )
    assert (found.temperature, found.batch_size) == (0.0, 25)
    assert origins(found)["temperature"] == origins(found)["batch_size"] == "flag"


@pytest.mark.parametrize(
    ("codes", "target", "chosen"),
    [
        (["pt", "fr"], Language(code="por"), "pt"),
        (["pt", "fr"], Language(code="POR_Latn"), "pt"),
        (["pt", "pt-BR"], Language(code="pt_br"), "pt-BR"),
        (["pt", "pt-BR"], Language(code="pt-PT"), "pt"),
        (["pt", "pt-BR"], Language(code="por"), "pt"),
        (["fra", "por"], Language(name="French"), "fra"),
        (["ar"], Language(code="arb"), "ar"),
        (["crk-x-plains", "crk"], Language(code="crk-x-plains"), "crk-x-plains"),
        (["zh-Hant", "zh-Hans"], Language(code="zho_Hans"), "zh-Hans"),
        (["x-toki"], Language(code="x-toki"), "x-toki"),
    ],
)
def test_the_block_of_a_language(importing, codes, target, chosen):
    config = {"languages": {code: {"register": f"of {code}"} for code in codes}}
    assert importing(config).settings_for(ENGLISH, target).model.tone == f"of {chosen}"


@pytest.mark.parametrize(
    ("codes", "target"),
    [
        (["pt-BR"], Language(code="por")),
        (["fr"], Language(code="por")),
        (["zh-Hans"], Language(code="zho_Hant")),
        (["fr"], Language()),
        (["nb"], Language(code="nno")),
    ],
)
def test_another_language_is_never_taken(importing, codes, target):
    config = {"languages": {code: {"register": "x"} for code in codes}}
    with pytest.raises(UsageError, match=r"knows nothing of .*--mt-target-lang-code"):
        importing(config).settings_for(ENGLISH, target)


def test_a_pair_is_of_its_source_and_target(importing):
    pairs = {"en:pt": {"register": "a"}, "de:pt": {"register": "b"}, "en:fr": {"register": "c"}}
    config = {"registerPreset": "top", "inputLocale": "de", "pairs": pairs}
    made = importing(config)
    assert made.settings_for(Language(code="en-GB"), Language(code="por")).model.tone == "a"
    assert made.settings_for(Language(), Language(code="por")).model.tone == "b"
    assert made.settings_for(ENGLISH, Language(code="fr-CA")).model.tone == "c"
    assert made.settings_for(Language(code="spa"), Language(code="por")).model.tone == "top"


def test_the_code_that_is_given_picks_the_block_of_one_language(importing):
    config = {"languages": {"pt-BR": {"register": "br"}, "pt-PT": {"register": "pt"}}}
    made = importing(config, mt_target_lang_code="pt-BR")
    assert made.settings_for(ENGLISH, Language(code="por")).model.tone == "br"
    with pytest.raises(UsageError, match="would hold for suites into pt and into fr"):
        made.settings_for(ENGLISH, Language(code="fra"))


def test_two_codes_of_one_language_are_told(importing):
    config = {"languages": {"pt": {}}, "pairs": {"en:pt": {}, "eng:por": {}}}
    with pytest.raises(UsageError, match="pairs has one language as en:pt and as eng:por"):
        importing(config).settings_for(ENGLISH, Language(code="por"))
    with pytest.raises(UsageError, match="languages has one language as pt and as POR"):
        importing({"languages": {"pt": {}, "POR": {}}}).settings_for(ENGLISH, Language(code="por"))


CARD = {
    "code": "por",
    "registers": {"warm": {"prompt": "As among friends."}, "cold": {"prompt": "Keep away."}},
    "formality": {"default": "cold"},
    "gender": {"inclusiveGuidance": "Prefer collective nouns."},
}


@pytest.mark.parametrize(
    ("config", "tone", "origin"),
    [
        ({"registerPreset": "warm"}, "As among friends.", "top level"),
        ({"registerPreset": "Be warm."}, "Be warm.", "top level"),
        ({}, "Keep away.", "language card"),
    ],
)
def test_a_register_is_a_preset_of_the_card_or_the_text_itself(
    importing, tmp_path, config, tone, origin
):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "por.json").write_text(json.dumps(CARD), encoding="utf-8")
    made = importing(config, mt_champollion_cards_dir="cards")
    found = made.settings_for(ENGLISH, Language(code="por"))
    assert found.model.tone == tone
    assert found.model.gender == "Prefer collective nouns."
    assert origins(found)["register"] == origin
    other = made.settings_for(ENGLISH, Language(code="fra"))
    assert other.model.gender == ""


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        (None, {"register", "context", "coaching_file"}),
        ("champollion", {"register", "context", "coaching_file"}),
        ("custom", {"coaching_file"}),
        ("naive", set()),
    ],
)
def test_a_prompt_gets_only_what_it_has_a_place_for(importing, tmp_path, prompt, kept):
    (tmp_path / "coach.txt").write_text("Be kind.", encoding="utf-8")
    config = {"registerPreset": "warm", "promptContext": "A shop.", "coachingFile": "coach.txt"}
    found = importing(config, mt_prompt=prompt).settings_for(ENGLISH, Language(code="por"))
    assert found.model.prompt == (prompt or "champollion")
    assert {"register", "context", "coaching_file"} & set(origins(found)) == kept
    assert bool(found.model.tone) == ("register" in kept)
    assert (found.model.coaching_file is not None) == ("coaching_file" in kept)


def test_the_contestant_is_a_flag_a_directory_a_method_or_a_model(importing, tmp_path):
    def who(config, **given):
        made = importing(config, methods=("mine",), **{"mt_model": None, **given})
        found = made.settings_for(ENGLISH, Language(code="por"))
        return found.methods or found.model.models

    (tmp_path / "plug").mkdir()
    pair = {"pairs": {"en:pt": {"methodPlugin": "plug"}}, "model": "m1"}
    assert who(pair) == (str((tmp_path / "plug").resolve()),)
    assert who(pair, mt_model=["m2"]) == ("m2",)
    assert who(pair, mt_method=["other"]) == ("other",)
    assert who({"model": "m1", "defaultMethod": "mine"}) == ("mine",)
    assert who({"model": "m1", "defaultMethod": "llm-coached"}) == ("m1",)
    assert who({"model": "m1", "defaultMethod": "deepl"}, mt_model=["m2"]) == ("m2",)
    with pytest.raises(UsageError, match="'deepl', which is no method here"):
        who({"model": "m1", "defaultMethod": "deepl"})
    with pytest.raises(UsageError, match="names no model for eng>por"):
        who({})


def test_unknown_keys_are_one_note(importing):
    assert importing({"a": 1, "languages": {"pt": {"b": 1}}}).notes == [
        "champollion.config.json has keys that are not used here: languages.pt.b, a"
    ]
    assert importing({"format": "json", "_x": 1}).notes == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"mt_target_lang_code": "pt", "mt_champollion_config": None}, "needs --mt-champollion"),
        ({"mt_target_lang_code": " "}, "is empty"),
        ({"mt_champollion_config": "nowhere.json"}, "no such file"),
        ({"mt_cards_dir": "a", "mt_champollion_cards_dir": "b"}, "mean the same"),
    ],
)
def test_options_that_do_not_fit(importing, given, told):
    with pytest.raises(UsageError, match=told):
        importing({}, **given)


def test_one_directory_of_cards_by_both_names_is_no_conflict(importing, tmp_path):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "por.json").write_text(json.dumps(CARD), encoding="utf-8")
    importing({}, mt_cards_dir="cards", mt_champollion_cards_dir="./cards")
