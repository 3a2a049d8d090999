"""Names of models: short ones, lists, and names that can mean another model tomorrow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.names import (
    ALIASES,
    find_aliases,
    floating_reason,
    parse_models,
    read_aliases,
    resolve_model,
    resolve_models,
    suggestions,
)


def test_every_alias_is_a_name_with_a_vendor():
    assert all(model.count("/") == 1 for model in ALIASES.values())


@pytest.mark.parametrize(
    ("name", "provider", "wanted", "how"),
    [
        ("gemini-pro", "openrouter", "google/gemini-3.1-pro-preview", "alias"),
        ("GPT", "openrouter", "openai/gpt-5.5", "alias"),
        ("deepseek-r1", "openrouter", "deepseek/deepseek-r1-0528", "alias"),
        ("acme/linguist-2", "openrouter", "acme/linguist-2", "given"),
        ("claude-opus-4.8", "openrouter", "anthropic/claude-opus-4.8", "family"),
        ("o3-mini", "openrouter", "openai/o3-mini", "family"),
        ("llama-3.1-8b-instruct", "openrouter", "meta-llama/llama-3.1-8b-instruct", "family"),
        ("glm-5", "openrouter", "z-ai/glm-5", "family"),
        ("gpt", "openai", "gpt-5.5", "alias"),
        ("openai/gpt-5.5", "openai", "gpt-5.5", "vendor"),
        ("my-tuned-model", "openai", "my-tuned-model", "given"),
        ("claude-sonnet", "anthropic", "claude-sonnet-4-0", "alias"),
        ("anthropic/claude-opus-4.7", "anthropic", "claude-opus-4-7", "vendor"),
        ("claude-sonnet-4-20250514", "anthropic", "claude-sonnet-4-20250514", "given"),
        ("gemini-flash", "gemini", "gemini-3.5-flash", "alias"),
        ("models/gemini-2.5-pro", "gemini", "gemini-2.5-pro", "vendor"),
        ("gpt", "compatible", "gpt", "given"),
    ],
)
def test_a_name_resolves(name, provider, wanted, how):
    model = resolve_model(name, provider)
    assert (model.given, model.id, model.how) == (name, wanted, how)


def test_an_endpoint_of_ones_own_gets_the_name_as_it_stands():
    assert resolve_model("gpt", "openai", custom_endpoint=True).id == "gpt"


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("claude-sonnet", "openai"),
        ("claude-opus-4.8", "openai"),
        ("acme/linguist-2", "openai"),
        ("gpt", "anthropic"),
        ("gpt", "gemini"),
    ],
)
def test_a_model_of_another_vendor_is_told(name, provider):
    with pytest.raises(UsageError, match=f"{provider}.*OpenRouter"):
        resolve_model(name, provider)


def test_an_unknown_name_suggests_what_is_like_it():
    with pytest.raises(UsageError, match=r"did you mean .*gemini-flash") as caught:
        resolve_model("gemni-flash", "openrouter")
    assert "VENDOR/MODEL" in str(caught.value)
    with pytest.raises(UsageError, match="short names: claude-opus"):
        resolve_model("zzz", "openrouter")
    # A word that only begins like a family is none of it.
    with pytest.raises(UsageError, match="unknown model 'commander'"):
        resolve_model("commander", "openrouter")
    assert suggestions("sonnet")[0].count("sonnet")


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-2024-08-06",
        "claude-sonnet-4-20250514",
        "deepseek/deepseek-r1-0528",
        "deepseek/deepseek-r1-0528:free",
        "gpt-4-1106-preview",
        "mistral-large-2407",
        "gemini-2.0-flash-001",
        "gemini-2.5-flash-preview-09-2025",
        "claude-sonnet-4@20250514",
    ],
)
def test_a_dated_name_is_tied_to_one_model(name):
    assert floating_reason(name) == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("chatgpt-4o-latest", "latest"),
        ("llama3:latest", "latest"),
        ("mistral-large-latest-2407", "latest"),
        ("openai/gpt-5.5", "no date"),
        ("qwen/qwen3-235b-a22b", "no date"),
        ("context-8192", "no date"),
        ("model-20259999", "no date"),
        ("latestbloom", "no date"),
    ],
)
def test_a_floating_name_says_why(name, why):
    assert why in floating_reason(name)


def test_a_note_tells_what_is_sent_and_that_it_floats():
    assert resolve_model("deepseek-r1", "openrouter").note == (
        "deepseek-r1 is deepseek/deepseek-r1-0528"
    )
    assert "gpt is openai/gpt-5.5; openai/gpt-5.5 has no date" in (
        resolve_model("gpt", "openrouter").note
    )
    assert resolve_model("gpt-4o-2024-08-06", "openai").note == ""


def test_a_list_of_models():
    assert parse_models("a, b/c ,d") == ("a", "b/c", "d")
    assert [model.id for model in resolve_models("gpt,acme/x", "openrouter")] == [
        "openai/gpt-5.5",
        "acme/x",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "model 1 of '' has no name"),
        ("a,,b", "model 2"),
        ("a,", "model 2"),
        ("a,b,a", "'a' stands twice"),
        ("a b", "blanks or controls"),
        ("a\x1b[2J", "blanks or controls"),
    ],
)
def test_a_list_that_is_none(text, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        parse_models(text)
    assert str(caught.value).isprintable()


def test_two_names_of_one_model_are_told():
    with pytest.raises(UsageError, match=r"gpt and openai/gpt-5\.5 are the same model"):
        resolve_models("gpt,openai/gpt-5.5", "openrouter")


@given(st.text(max_size=60), st.sampled_from(["openrouter", "openai", "anthropic", "gemini", "x"]))
def test_any_text_resolves_or_is_one_clear_error(text, provider):
    try:
        models = resolve_models(text, provider)
    except UsageError:
        return
    assert [model.given for model in models] == [name.strip() for name in text.split(",")]
    assert all(model.id and model.note.isprintable() for model in models)


def test_aliases_of_a_file_go_before_the_table(tmp_path):
    (tmp_path / "shared").mkdir()
    path = tmp_path / "shared" / "model-aliases.json"
    path.write_text('{"_about": ["ours"], "gpt": "acme/own", "mine": "tuned-1"}', encoding="utf-8")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    aliases = find_aliases(deep)
    assert resolve_model("gpt", "openrouter", aliases=aliases).id == "acme/own"
    assert resolve_model("gemini-pro", "openrouter", aliases=aliases).how == "alias"
    assert resolve_model("mine", "openai", aliases=aliases).id == "tuned-1"
    too_deep = tmp_path.joinpath(*"1234567")
    too_deep.mkdir(parents=True)
    assert find_aliases(too_deep)["gpt"] == ALIASES["gpt"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n"a": }', ":2: aliases have to be JSON"),
        ("[]", "have to be an object"),
        ('{"a": 1}', "'a' has to be the name of a model"),
        ('{"a": " "}', "'a' has to be"),
    ],
)
def test_a_broken_file_of_aliases(tmp_path, text, problem):
    path = tmp_path / "aliases.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem):
        read_aliases(path)


def test_a_file_of_aliases_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot read the aliases"):
        read_aliases(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read_aliases(tmp_path / "bytes.json")
