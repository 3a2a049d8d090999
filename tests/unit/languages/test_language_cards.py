"""Language cards of the user: reading, extending, and what they say above the table."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.languages.cards import Cards, load_cards
from pytest_mtarena.languages.table import find_language

CREE = {
    "code": "crk",
    "name": "Plains Cree (SRO)",
    "aliases": ["Paskwâwinîmowin"],
    "scriptUnicodeName": "Latin",
    "orthography": {"letters": "acehikmnopstwyâêîô", "auxiliary": ["b", "d", "ā ē ī ō"]},
    "rules": {
        "typography": {"quoteStart": "“", "quoteEnd": "”"},
        "capitalization": {"hasCase": False},
        "variables": {"format": "{name}"},
    },
    "metricModelSupport": {"xlmr": {"tier": "none"}},
    "resources": {"fsts": []},
}


@pytest.fixture
def deck(tmp_path):
    """Return a function that writes cards and loads them."""

    def load(*cards: object) -> Cards:
        for number, card in enumerate(cards):
            text = card if isinstance(card, str) else json.dumps(card)
            (tmp_path / f"card{number}.json").write_text(text, encoding="utf-8")
        return load_cards(tmp_path)

    return load


def test_a_card_goes_before_the_table_field_by_field(deck):
    facts = find_language("crk", cards=deck(CREE))
    assert (facts.code, facts.name) == ("crk", "Plains Cree (SRO)")
    assert facts.aliases == ("Paskwâwinîmowin", "nêhiyawêwin")
    assert facts.scripts == ("Latn",)
    assert facts.has_case is False, "the card says so, whatever the script"
    assert facts.spaces is True
    assert facts.quotes == (("“", "”"),)
    assert facts.letters == "acehikmnopstwyâêîô"
    assert facts.auxiliary == "bdāēīō"
    assert facts.xlmr == "none"
    assert facts.card["rules"]["variables"]["format"] == "{name}"


def test_what_a_card_does_not_say_is_the_tables(deck):
    bare, full = find_language("cym"), find_language("cym", cards=deck({"code": "cy"}))
    assert full.card == {"code": "cy"}
    assert full.model_copy(update={"card": {}}) == bare


def test_a_card_is_found_by_all_its_names(deck):
    cards = deck({**CREE, "iso639_1": "cr"}, {"code": "xx-test", "name": "Testish"})
    for code, name in [("crk", ""), ("crk_Latn", ""), ("cr", ""), ("", "paskwâwinîmowin")]:
        assert find_language(code, name, cards=cards).name == "Plains Cree (SRO)", (code, name)
    assert find_language(name="Plains Cree", cards=cards).name == "Plains Cree (SRO)"
    assert find_language(name="Testish", cards=cards).code == "xx-test"
    assert find_language("deu", cards=cards).card == {}


def test_a_name_of_two_cards_is_nobodys(deck):
    cards = deck({"code": "qab", "aliases": ["Foo"]}, {"code": "qac", "aliases": ["foo"]})
    assert find_language(name="Foo", cards=cards).card == {}


def test_a_script_that_the_suite_names_is_not_the_cards_to_say(deck):
    facts = find_language("crk-Cans", cards=deck(CREE))
    assert facts.scripts == ("Cans", "Latn")
    assert find_language("srp", cards=deck({"code": "srp", "scripts": ["Latn"]})).letters[0] == "a"


def test_extending_merges_deeply(deck):
    cards = deck(
        CREE,
        {
            "code": "crk-north",
            "name": "Northern",
            "extends": "crk",
            "rules": {"typography": {"quoteStart": "«", "quoteEnd": None}},
            "metricModelSupport": None,
        },
        {"code": "crk-far", "extends": "CRK_north", "resources": {"fsts": [1]}},
    )
    card = cards.by_code["crk-far"]
    assert card["code"] == "crk-far"
    assert card["name"] == "Northern"
    assert "aliases" not in card
    assert card["rules"]["typography"] == {"quoteStart": "«", "quoteEnd": "”"}
    assert card["rules"]["capitalization"] == {"hasCase": False}
    assert card["metricModelSupport"] == {"xlmr": {"tier": "none"}}
    assert card["resources"] == {"fsts": [1]}
    assert cards.by_code["crk"]["resources"] == {"fsts": []}, "the parent stays as it is"
    assert find_language("crk-north", cards=cards).quotes == (("«", "”"),)
    assert find_language("crk", cards=cards).name == "Plains Cree (SRO)"


def test_extending_in_a_circle(deck):
    with pytest.raises(UsageError, match=r"card\d\.json: the card extends itself: .*qa.* -> qa"):
        deck({"code": "qab", "extends": "qac"}, {"code": "qac", "extends": "qab"})
    with pytest.raises(UsageError, match="qab -> qab"):
        deck({"code": "qab", "extends": "qab"}, {"code": "qac"})


def test_extending_nobody(deck):
    with pytest.raises(UsageError, match=r"card0\.json: it extends crk, but there is no card"):
        deck({"code": "qab", "extends": "crk"})


def test_two_cards_with_one_code(deck):
    with pytest.raises(UsageError, match=r"card1\.json: QAB has a card already, in card0\.json"):
        deck({"code": "qab"}, {"code": "QAB"})


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        ("{\n'code': 1}", r"card0\.json:2: the language card is no JSON"),
        ("[]", "is an object"),
        ("[" * 100_000, "cannot be read as JSON"),
        ({"code": "x", "name": "\ud800"}, "is not UTF-8"),
        ('{"code": "x", "n": %s}' % ("9" * 5000), "cannot be read as JSON"),
        ({"name": "x"}, "has no code"),
        ({"code": " "}, "has no code"),
        ({"code": "x", "name": 1}, "name must be text"),
        ({"code": "x", "aliases": "a"}, "aliases must be a list"),
        ({"code": "x", "aliases": [1]}, "aliases must be a list of texts"),
        ({"code": "x", "rules": []}, "rules must be an object"),
        ({"code": "x", "rules": {"typography": 1}}, r"rules\.typography must be an object"),
        ({"code": "x", "rules": {"typography": {"quoteEnd": 1}}}, "quoteEnd must be text"),
        ({"code": "x", "rules": {"capitalization": {"hasCase": "no"}}}, "hasCase must be true"),
        ({"code": "x", "spaces": 1}, "spaces must be true"),
        ({"code": "x", "direction": "up"}, "direction must be"),
        ({"code": "x", "orthography": {"letters": 5}}, r"orthography\.letters must be"),
        ({"code": "x", "vendorCodes": {"google": 5}}, "vendorCodes must be texts"),
        ({"code": "x", "metricModelSupport": {"xlmr": {"tier": 3}}}, "tier must be text"),
        ({"code": "x", "scriptUnicodeName": "Elvish"}, "scriptUnicodeName Elvish is not known"),
    ],
)
def test_a_broken_card_is_one_clear_error(deck, card, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        deck(card)
    assert "card0.json" in str(caught.value)


def test_a_card_that_is_no_text(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"code": "\xff"}')
    with pytest.raises(UsageError, match=r"a\.json: the language card is not UTF-8"):
        load_cards(tmp_path)


def test_a_directory_without_cards(tmp_path):
    (tmp_path / "_notes.json").write_text("not a card")
    with pytest.raises(UsageError, match=r"there is no \*\.json file"):
        load_cards(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_cards(tmp_path / "missing")


SCALARS = st.sampled_from([None, True, 0, "", "Latn", "crk", "ltr", "\ud800", 1.5])
JSON = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(SCALARS.map(str), SCALARS)
FIELDS = st.sampled_from(
    ["name", "aliases", "rules", "orthography", "scripts", "iso639_1", "extends", "vendorCodes",
     "metricModelSupport", "scriptUnicodeName", "direction", "spaces"]
)  # fmt: skip
PARTS = st.dictionaries(
    st.sampled_from(["typography", "capitalization", "xlmr", "letters", "marks", "google"]),
    JSON | st.dictionaries(st.sampled_from(["quoteStart", "quoteEnd", "hasCase", "tier"]), JSON),
)


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(card=st.dictionaries(FIELDS, JSON | PARTS, max_size=6), code=st.sampled_from(["crk", "qaa"]))
def test_any_card_is_read_or_refused(tmp_path, card, code):
    (tmp_path / "card.json").write_text(json.dumps({"code": code, **card}))
    try:
        cards = load_cards(tmp_path)
    except UsageError:
        return
    facts = find_language(code, cards=cards)
    assert type(facts).model_validate(facts.model_dump()) == facts
