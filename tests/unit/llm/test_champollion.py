"""The champollion config: everything that is wrong is told at once, and nothing else is raised."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.champollion import (
    TOP,
    Block,
    pick,
    read_config,
    readable_coaching,
)


def write(directory, value):
    path = directory / "champollion.config.json"
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def read(directory, value):
    return read_config(write(directory, value))


def test_everything_that_is_known(tmp_path):
    (tmp_path / "coach").mkdir()
    (tmp_path / "coach" / "all.txt").write_text("Be kind.", encoding="utf-8")
    path = write(
        tmp_path,
        {
            "version": 3,
            "inputLocale": "de",
            "localesDir": "locales",
            "format": "json",
            "apiKeyEnvVar": "MY_KEY",
            "registerPreset": "formal",
            "promptContext": "A shop.",
            "model": "vendor/name",
            "temperature": 1,
            "batchSize": 40,
            "defaultMethod": "llm",
            "coachingFile": "coach/all.txt",
            "languages": {"fr": "casual", "pt-BR": {"register": "formal", "temperature": 0.0}},
            "pairs": {"en:crk": {"methodPlugin": "methods/crk"}, "de → fr": {"method": "x"}},
        },
    )
    config = read_config(path)
    assert config.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (config.source, config.context, config.unknown) == ("de", "A shop.", ())
    assert config.top == Block(
        register="formal",
        model="vendor/name",
        temperature=1.0,
        batch_size=40,
        coaching_file=(tmp_path / "coach" / "all.txt").resolve(),
        method="llm",
    )
    assert config.languages == {
        "fr": Block(register="casual"),
        "pt-BR": Block(register="formal", temperature=0.0),
    }
    assert config.pairs == {
        ("en", "crk"): Block(method_plugin=(tmp_path / "methods" / "crk").resolve()),
        ("de", "fr"): Block(method="x"),
    }


@pytest.mark.parametrize("key", ["en:crk", "en→crk", "en>crk", "en->crk", " en : crk "])
def test_a_pair_is_written_in_several_ways(tmp_path, key):
    assert list(read(tmp_path, {"pairs": {key: {}}}).pairs) == [("en", "crk")]


def test_languages_may_be_a_list_and_the_version_may_be_left_out(tmp_path):
    config = read(tmp_path, {"languages": ["fr", "pt"]})
    assert config.languages == {"fr": Block(), "pt": Block()}
    assert config.source == "en"


def test_an_empty_value_is_none(tmp_path):
    config = read(tmp_path, {"model": None, "languages": {"fr": None}, "pairs": {"en:fr": None}})
    assert config.top == Block()
    assert config.languages["fr"] == config.pairs["en", "fr"] == Block()


@pytest.mark.parametrize("keys", [("method", "defaultMethod"), ("defaultMethod", "method")])
def test_the_method_goes_before_the_default_method(tmp_path, keys):
    assert read(tmp_path, {key: key for key in keys}).top.method == "method"


def test_unknown_keys_are_no_errors_and_comments_are_not_even_unknown(tmp_path):
    value = {
        "colour": 1,
        "_note": 2,
        "languages": {"pt": {"tone": "x"}},
        "pairs": {"a:b": {"c": 1}},
    }
    assert read(tmp_path, value).unknown == ("languages.pt.tone", "pairs.a:b.c", "colour")


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    value = {
        "version": 4,
        "sourceLocale": "en",
        "inputLocale": "de",
        "model": "a,b",
        "temperature": True,
        "batchSize": 0,
        "promptContext": 7,
        "coachingFile": "nowhere.txt",
        "languages": {"fr": 3, "p t": {}, "pt": {"temperature": 2.5, "batchSize": 1.0}},
        "pairs": {"en-fr": {}, "en:fr": [], "en:de": {"register": ""}},
    }
    with pytest.raises(UsageError) as told:
        read(tmp_path, value)
    for part in (
        "version 4 is not known",
        "both say the source language",
        "model must be the name of one model",
        "\n  temperature must be a number from 0 to 2",
        "\n  batchSize must be a whole number",
        "promptContext must be a text",
        "coachingFile: nowhere.txt cannot be read",
        "languages.fr must be a register or an object",
        "'p t' is no language code",
        "languages.pt.temperature must be",
        "languages.pt.batchSize must be",
        "'en-fr' is no pair",
        "pairs.en:fr must be an object",
        "pairs.en:de.register must be a text",
    ):
        assert part in str(told.value), part


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "must be an object"),
        ("{", "line 1 is no JSON"),
        ('{"temperature": NaN}', "temperature must be a number"),
        ('{"temperature": 1e999}', "temperature must be a number"),
        ('{"version": "3"}', "write a config of version 3"),
        ('{"version": true}', "write a config of version 3"),
        ('{"model": "a", "model": "b"}', "has the key 'model' twice"),
        ('{"pairs": {"en:fr": {}, "en>fr": {}}}', "pairs has en:fr twice"),
        ('{"languages": ["fr", "fr"]}', "names 'fr' twice"),
        ('{"languages": "fr"}', "languages must be an object, or a list"),
        ('{"registerPreset": "\\ud800"}', "registerPreset must be a text"),
        ('{"coachingFile": "a\\u0000b"}', "coachingFile"),
        ('{"coachingFile": "."}', "cannot be read"),
        ("[" * 100_000, "cannot be read as JSON"),
        ('{"batchSize": ' + "9" * 5000 + "}", "cannot be read as JSON"),
    ],
)
def test_what_cannot_be_meant(tmp_path, text, told):
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert told in str(error.value)


def test_a_file_that_is_no_config(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path / "nowhere.json")
    latin = tmp_path / "latin.json"
    latin.write_bytes('{"model": "é"}'.encode("latin-1"))
    with pytest.raises(UsageError, match="is not UTF-8"):
        read_config(latin)


KEYS = st.sampled_from(
    [
        "version", "languages", "pairs", "model", "temperature", "batchSize", "coachingFile",
        "method", "defaultMethod", "methodPlugin", "register", "registerPreset", "promptContext",
        "sourceLocale", "inputLocale", "pt", "en:pt", "en→pt", "format",
    ]
) | st.text(max_size=8)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["pt", "../x", "a\0b", "x" * 5000, "~", "C:\\x", 3]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(KEYS, VALUES, max_size=8) | VALUES)
def test_nothing_but_a_usage_error_is_raised(tmp_path, value):
    path = Path(tmp_path, "any.json")
    path.write_text(json.dumps(value), encoding="utf-8")
    told = ""
    try:
        read_config(path)
    except UsageError as error:
        told = str(error)
    assert len(told) < 20_000
    told.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_are_a_traceback(tmp_path, data):
    path = Path(tmp_path, "any.json")
    path.write_bytes(data)
    with contextlib.suppress(UsageError):
        read_config(path)


def test_the_pair_goes_before_the_language_and_that_before_the_top():
    pair, language, top = (
        Block(temperature=0.0),
        Block(temperature=1.0, model="l"),
        Block(model="t"),
    )
    levels = (("the pair", pair), ("the language", language), top)
    assert pick("temperature", *levels) == (0.0, "the pair")
    assert pick("model", *levels) == ("l", "the language")
    assert pick("model", None, None, top) == ("t", TOP)
    assert pick("register", *levels) == (None, None)


def test_coaching_in_json_becomes_lines():
    text = json.dumps(
        {
            "dictionary": {"house": "casa", "ship": ["navio", "barco"]},
            "grammar_rules": ["Mind the\ngender.", "Use the infinitive."],
            "style_notes": "Short.",
            "level": 2,
        }
    )
    assert readable_coaching(text).splitlines() == [
        "Grammar rules:",
        "- Mind the gender.",
        "- Use the infinitive.",
        "",
        "Dictionary (source: translation):",
        "- house: casa",
        "- ship: navio / barco",
        "",
        "Style notes:",
        "- Short.",
        "",
        "Also:",
        "- level: 2",
    ]


@pytest.mark.parametrize("text", ["Be kind.\n", "{", '{"a": 1}', "[1]", "", "[" * 100_000])
def test_other_coaching_stays_as_it_is(text):
    assert readable_coaching(text) == text


@pytest.mark.parametrize(
    "value",
    [{"grammar_rules": 1}, {"style_notes": [1]}, {"dictionary": []}, {"dictionary": {"a": 1}}],
)
def test_coaching_of_another_type_is_told(value):
    with pytest.raises(UsageError, match=r"coach\.json: (grammar_rules|style_notes|dictionary)"):
        readable_coaching(json.dumps(value), "coach.json")
