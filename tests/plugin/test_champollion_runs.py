"""The champollion prompt and config, against a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_mtarena.cli import main
from pytest_mtarena.results.method_config import method_config
from pytest_mtarena.results.verify import verify
from tests.plugin.test_models import KEY, Server, say


class JsonServer(Server):
    """An endpoint that translates the values of the JSON object that it is sent."""

    def answer(self, handler: Any, body: dict[str, Any], number: int) -> None:
        given = json.loads(body["messages"][-1]["content"])
        text = json.dumps({key: say(value) for key, value in given.items()}, ensure_ascii=False)
        events = [
            {"model": body["model"], "choices": [{"index": 0, "delta": {"content": text}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}},
        ]
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        self._send(handler, 200, f"{stream}data: [DONE]\n\n".encode(), "text/event-stream")

    @property
    def systems(self) -> set[str]:
        return {text_of(request["messages"][0]) for request in self.requests}

    @property
    def sizes(self) -> list[int]:
        asked = (json.loads(text_of(request["messages"][-1])) for request in self.requests)
        return sorted(len(one) for one in asked)


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running = JsonServer()
    yield running
    running.close()


@pytest.fixture
def config(pytester: pytest.Pytester) -> Callable[..., str]:
    """Write a config and return the option that names it."""

    def write(value: dict[str, Any] | None = None, **more: Any) -> str:
        whole = {"version": 3, "inputLocale": "en", **(value or {}), **more}
        path = pytester.path / "app" / "champollion.config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(whole), encoding="utf-8")
        return "--mt-champollion-config=app/champollion.config.json"

    return write


@pytest.fixture
def coaching(pytester: pytest.Pytester) -> str:
    path = pytester.path / "app" / "coach" / "pt.json"
    path.parent.mkdir(parents=True)
    value = {"grammar_rules": ["Mind the gender."], "dictionary": {"word": "palavra"}}
    path.write_text(json.dumps(value), encoding="utf-8")
    return "coach/pt.json"


def asked(server: Server, *more: str) -> list[str]:
    return ["--mt-provider=openai", f"--mt-base-url={server.url}", *more]


FULL: dict[str, Any] = {
    "model": "top-model",
    "temperature": 0.9,
    "batchSize": 7,
    "registerPreset": "stiff",
    "promptContext": "A shop for bicycles.",
    "languages": {
        "pt": {"model": "pt-model", "temperature": 0.4, "batchSize": 3, "register": "chatty"},
        "fr": {"model": "fr-model", "register": "like a lawyer"},
    },
    "pairs": {"en→pt": {"temperature": 0.3}, "de:pt": {"batchSize": 1, "register": "loud"}},
}


def test_model_temperature_size_register_context_and_coaching_are_taken(
    arena, corpus, server, config, coaching, mode
):
    flag = config(FULL, coachingFile=coaching)
    result = arena(str(corpus(8)), flag, *asked(server), *mode)
    assert result.code == 0, result.text
    assert server.sizes == [2, 3, 3]
    assert {request["model"] for request in server.requests} == {"pt-model"}
    assert {request["temperature"] for request in server.requests} == {0.3}
    assert all("response_format" not in request for request in server.requests)
    [system] = server.systems
    order = ["from English into Portuguese", "A shop for bicycles.", "chatty", "Mind the gender."]
    places = [system.index(one) for one in [*order, "word: palavra", "Rules:"]]
    assert places == sorted(places)
    assert "grammar_rules" not in system
    assert "lawyer" not in system
    card = result.card
    assert card["scores"]["exact_matches"] == 8
    assert card["condition"] == "champollion"
    assert card["system_prompt_used"] == system
    assert card["config"]["temperature"] == 0.3
    assert card["config"]["batch_size"] == 3
    told = card["config"]["champollion"]
    assert told["file"] == "champollion.config.json"
    assert told["origin"] == {
        "temperature": "pair en:pt",
        "batch_size": "language pt",
        "model": "language pt",
        "prompt": "default",
        "coaching_file": "top level",
        "register": "language pt",
        "context": "top level",
    }
    exported = method_config(card)
    assert exported["register"] == "chatty"
    assert exported["promptContext"] == "A shop for bicycles."
    assert str(result.directory) not in json.dumps(card)
    assert verify(card) == []


def test_flags_win_even_when_they_say_the_default(arena, corpus, server, config, coaching, mode):
    flag = config(FULL, coachingFile=coaching)
    given = ("--mt-temperature=0.0", "--mt-batch-size=25", "--mt-model=my-model")
    result = arena(str(corpus(8)), flag, *given, "--mt-coaching=Mine.", *asked(server), *mode)
    assert result.code == 0, result.text
    [request] = server.requests
    assert request["temperature"] == 0
    assert request["model"] == "my-model"
    assert server.sizes == [8]
    [system] = server.systems
    assert "Mine." in system
    assert "Mind the gender." not in system
    assert "chatty" in system
    origin = result.card["config"]["champollion"]["origin"]
    won = ("temperature", "batch_size", "model", "coaching_file")
    assert {origin[name] for name in won} == {"flag"}


def test_flags_of_the_ini_file_were_given(arena, corpus, server, config, pytester):
    pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
        "addopts = --mt-temperature=0.0 --mt-batch-size=25\n"
    )
    result = arena(str(corpus(8)), config(FULL), *asked(server))
    assert result.code == 0, result.text
    assert server.sizes == [8]
    assert server.requests[0]["temperature"] == 0
    assert server.requests[0]["model"] == "pt-model"


def test_mt_eval_run_takes_the_same_flags(corpus, server, config, pytester, monkeypatch):
    config(FULL)
    monkeypatch.chdir(pytester.path)
    common = [
        "run", str(corpus(4)), "--champollion-config", "app/champollion.config.json",
        "--provider", "openai", "--base-url", server.url, "--no-cache",
    ]  # fmt: skip
    assert main([*common, "--", "-p", "no:cacheprovider"]) == 0
    assert server.sizes == [1, 3]
    assert server.requests[0]["temperature"] == 0.3
    server.requests.clear()
    assert main([*common, "-b", "25", "--temperature", "0", "--", "-p", "no:cacheprovider"]) == 0
    assert server.sizes == [4]
    assert server.requests[0]["temperature"] == 0


def test_the_prompt_alone_sends_an_object_for_one_entry_too(arena, corpus, server):
    result = arena(
        str(corpus(3)), "--mt-model=m", "--mt-prompt=champollion", "--mt-batch-size=1",
        *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    assert server.sizes == [1, 1, 1]
    [system] = server.systems
    assert "Context:" not in system
    assert "Register" not in system
    assert "champollion" not in result.card["config"]


def test_every_suite_has_the_values_of_its_language(arena, corpus, server, config, pytester, mode):
    french = {"source": "en", "target": "fra", "source_name": "English", "target_name": "French"}
    paths = [str(corpus(4)), str(corpus(5, "other.json", language_pair=french))]
    result = arena(*paths, config(FULL), *asked(server), *mode)
    assert result.code in (0, 1), result.text
    by_model: dict[str, list[dict[str, Any]]] = {}
    for request in server.requests:
        by_model.setdefault(request["model"], []).append(request)
    assert {len(by_model["pt-model"]), len(by_model["fr-model"])} == {2, 1}
    for name, register in (("pt-model", "chatty"), ("fr-model", "like a lawyer")):
        assert all(register in text_of(one["messages"][0]) for one in by_model[name])
    cards = {card["dataset"]["id"]: card for card in result.cards}
    assert cards["other"]["model_slug"] == "openai/fr-model"
    assert cards["tiny"]["config"]["batch_size"] == 3
    assert cards["other"]["config"]["batch_size"] == 7
    assert cards["other"]["config"]["temperature"] == 0.9


def test_a_card_gives_the_register_and_the_word_on_gender(arena, corpus, server, config, pytester):
    cards = pytester.path / "cards"
    cards.mkdir()
    card = {
        "code": "por",
        "registers": {"chatty": {"label": "Chatty", "prompt": "As among friends."}},
        "gender": {"inclusiveGuidance": "Prefer collective nouns."},
    }
    (cards / "por.json").write_text(json.dumps(card), encoding="utf-8")
    result = arena(str(corpus(2)), config(FULL), "--mt-champollion-cards-dir=cards", *asked(server))
    assert result.code == 0, result.text
    [system] = server.systems
    assert "As among friends." in system
    assert "chatty" not in system
    assert "Prefer collective nouns." in system
    other = arena(
        str(corpus(2)), config(FULL), "--mt-champollion-cards-dir=cards", "--mt-cards-dir=app",
        *asked(server),
    )  # fmt: skip
    assert other.code == 4
    assert "mean the same" in other.text


def test_a_dry_run_shows_what_is_from_where(arena, corpus, server, config):
    result = arena(str(corpus(8)), config(FULL), "--mt-dry-run", *asked(server))
    assert "pt-model × tiny (8 entries) = 3 calls" in result.text
    assert "temperature: 0.3 (pair en:pt)" in result.text
    assert "register: chatty (language pt)" in result.text
    assert "prompt champollion, sha256" in result.text
    assert server.requests == []


def test_a_method_of_a_pair_is_the_contestant_unless_one_is_given(
    arena, corpus, server, config, good, pytester
):
    good.rename(pytester.path / "plugin-x")
    value = {**FULL, "pairs": {"en:pt": {"methodPlugin": "../plugin-x"}}}
    result = arena(str(corpus(4)), config(value))
    assert result.code == 0, result.text
    assert result.card["config"]["method_name"] == "mine"
    assert result.card["config"]["batch_size"] == 3
    assert result.card["config"]["champollion"]["origin"]["method"] == "pair en:pt"
    assert str(pytester.path) not in json.dumps(result.card)
    model = arena(str(corpus(4)), config(value), "--mt-model=m", *asked(server))
    assert model.code == 0, model.text
    assert model.card["model_slug"] == "openai/m"


@pytest.mark.parametrize(
    ("value", "options", "told"),
    [
        ({"version": 2}, [], "version 2 is not known"),
        ({"languages": {"pt": {}}}, [], "names no model for eng>por"),
        ({"languages": {"fr": {}, "pt-BR": {}}}, [], "knows nothing of por (it has: fr, pt-BR)"),
        ({"languages": {"pt": {}, "por": {}}}, [], "one language as pt and as por"),
        ({"coachingFile": "nowhere.txt"}, [], "nowhere.txt cannot be read"),
        ({"method": "deepl"}, [], "'deepl', which is no method here"),
        ({"pairs": {"en:pt": {"methodPlugin": "gone"}}}, [], "there is no directory"),
        ({"temperature": True, "model": 3}, [], "temperature must be a number"),
    ],
)
def test_what_is_wrong_is_one_message(arena, corpus, server, config, value, options, told, mode):
    result = arena(str(corpus(2)), config(value), *options, *asked(server), *mode)
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text
    assert server.requests == []


def test_the_limit_of_costs_holds_for_all_languages_together(
    arena, corpus, server, config, pytester
):
    price = {"input": 0, "output": 100}
    (pytester.path / "prices.json").write_text(
        json.dumps({"pt-model": price, "fr-model": price}), encoding="utf-8"
    )
    french = {"source": "en", "target": "fra"}
    paths = [str(corpus(3)), str(corpus(3, "other.json", language_pair=french))]
    result = arena(
        *paths, config(FULL), "--mt-prices=prices.json", "--mt-max-tokens=100",
        "--mt-max-cost=0.0105", "--mt-concurrency=1", *asked(server),
    )  # fmt: skip
    assert result.code == 1
    assert len(server.requests) == 1, "9 of 105 hundredths are spent, and 100 may be needed"
    assert "limit" in result.text


def test_the_language_can_be_said_and_unknown_keys_are_noted(arena, corpus, server, config):
    value = {"model": "m", "colour": 1, "languages": {"pt-BR": {"register": "chatty"}}}
    result = arena(str(corpus(2)), config(value), "--mt-target-lang-code=pt-BR", *asked(server))
    assert result.code == 0, result.text
    assert "chatty" in server.systems.pop()
    assert result.text.count("has keys that are not used here: colour") == 1


def test_what_changes_no_request_is_the_same_experiment(arena, corpus, server, config):
    def setup(**more: Any) -> str:
        result = arena(str(corpus(2)), config(FULL, **more), *asked(server))
        assert result.code == 0, result.text
        fingerprint: str = result.card["setup_fingerprint"]["hash"]
        return fingerprint

    first = setup()
    sent = len(server.requests)
    assert setup(localesDir="elsewhere") == first
    assert len(server.requests) == sent, "answers are kept"
    assert setup(promptContext="A bank.") != first
    assert len(server.requests) > sent


def test_shards_are_cut_into_batches_of_the_config_s_size(arena, corpus, server, config, pytester):
    first = arena(str(corpus(8)), config(FULL), "--mt-shard=1/2", *asked(server))
    assert first.code == 0, first.text
    second = arena(str(corpus(8)), config(FULL), "--mt-shard=2/2", *asked(server), fresh=False)
    assert second.code == 0, second.text
    assert server.sizes == [2, 3, 3]
