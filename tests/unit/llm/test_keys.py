"""Keys: where they come from, and that nothing shows them."""

from __future__ import annotations

import copy
import pickle

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.keys import HIDDEN, Key, MissingKey, is_loopback, key_for, mask, variable_in

SECRET = "sk-verySecret+1/2"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openrouter", "OPENROUTER_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("compatible", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
        ("mine", "MINE_API_KEY"),
    ],
)
def test_the_variable_of_each_provider(provider: str, variable: str) -> None:
    key = key_for(provider, environ={variable: f" {SECRET}\n"})
    assert key is not None
    assert key.reveal() == SECRET
    assert key.variable == variable


def test_the_first_variable_that_is_set_counts() -> None:
    key = key_for("gemini", environ={"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "second"})
    assert key is not None
    assert key.reveal() == "second"
    both = key_for("gemini", environ={"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"})
    assert both is not None
    assert both.reveal() == "first"


def test_a_missing_key_names_its_variables() -> None:
    with pytest.raises(MissingKey, match="GEMINI_API_KEY or GOOGLE_API_KEY") as caught:
        key_for("gemini", environ={})
    assert caught.value.variable == "GEMINI_API_KEY"
    assert isinstance(caught.value, UsageError)
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        key_for("compatible", base_url="https://models.example/v1", environ={})


def test_this_machine_needs_no_key_but_gets_one_that_is_set() -> None:
    assert key_for("compatible", base_url="http://127.0.0.1:1/v1", environ={}) is None
    given = {"OPENAI_API_KEY": SECRET}
    assert key_for("compatible", base_url="http://127.0.0.1:1/v1", environ=given) is not None


@pytest.mark.parametrize("value", ["two words", "sk-“quoted”", "sk-a\x07b"])
def test_what_no_key_can_be_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        key_for("openai", environ={"OPENAI_API_KEY": value})
    assert value not in str(caught.value)


def test_a_key_shows_itself_to_nobody() -> None:
    key = Key(SECRET, "OPENAI_API_KEY")
    assert SECRET not in f"{key} {key!r}"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.copy(key)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://api.localhost/", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:80/v1", True),
        ("http://10.0.0.1/v1", False),
        ("http://127.0.0.1.example/v1", False),
        ("http://localhost.example/", False),
        ("http://user@localhost@evil.example/", False),
        ("http://[broken", False),
        ("", False),
    ],
)
def test_what_is_this_machine(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_mask_hides_each_form_and_the_longer_secret_first() -> None:
    text = f"bad key {SECRET}, sk-verySecret%2B1%2F2, {SECRET}more, x"
    shown = mask(text, [SECRET, SECRET + "more", "x", ""])
    assert shown == f"bad key {HIDDEN}, {HIDDEN}, {HIDDEN}, x"


def test_a_key_in_a_file_is_found_by_its_variable():
    environ = {"OPENAI_API_KEY": " sk-secret-1 ", "GEMINI_API_KEY": "x", "HOME": "/home/ana"}
    assert variable_in(b"say sk-secret-1 twice", environ) == "OPENAI_API_KEY"
    assert variable_in(b"x marks /home/ana", environ) is None, "too short, and no key"
    assert variable_in(b"", {}) is None
