"""Every documented flag changes something that can be seen, of pytest and of ``mt-eval run``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.cli import FIRST, main
from tests.plugin.conftest import Result
from tests.plugin.test_models import HOOK, KEY, TOOLS, Server, calling, misspelling, say


class AnyServer(Server):
    """An endpoint that answers whatever it is asked for, also a JSON object of texts."""

    def answer(self, handler: Any, body: dict[str, Any], number: int) -> None:
        given = body["messages"][-1]["content"]
        if given.startswith("{"):
            told = {key: say(text) for key, text in json.loads(given).items()}
            event = {"model": self.name, "choices": [{"delta": {"content": json.dumps(told)}}]}
            text = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n"
            self._send(handler, 200, text.encode(), "text/event-stream")
        else:
            super().answer(handler, body, number)


@dataclass
class Bench:
    """Runs a small suite with a model, in one of the two ways."""

    run: Callable[..., Result]
    """Takes flags as ``name`` or ``name=value``; ``suite=None`` names no suite."""
    server: Server
    path: Path
    analyser: Path

    def write(self, name: str, text: str | dict[str, Any]) -> str:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return name

    def system(self, *flags: str) -> str:
        """Return the system prompt that a run sends."""
        result = self.run(*flags)
        assert result.code == 0, result.text
        return str(self.server.requests[-1]["messages"][0]["content"])

    def ids(self, *flags: str) -> list[str]:
        return [row["entry_id"] for row in self.run(*flags).rows]


SUITE = {
    "corpus_id": "tiny",
    "language_pair": {
        "source": "eng",
        "target": "por",
        "source_name": "English",
        "target_name": "Portuguese",
    },
    "entries": [
        {
            "id": str(number),
            "source": f"word number {number}",
            "reference": f"palavra número {number}",
            "segment": "dev" if number % 2 else "test",
        }
        for number in range(1, 7)
    ],
}


def pytest_way(arena: Callable[..., Result], flags: list[str], suite: str | None) -> Result:
    return arena(*([] if suite is None else [suite]), *(f"--mt-{flag}" for flag in flags))


def run_way(arena: Callable[..., Result], flags: list[str], suite: str | None) -> Result:
    return arena("run", *([] if suite is None else [suite]), *(f"--{flag}" for flag in flags))


@pytest.fixture
def mt_eval(pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run ``mt-eval`` in a directory of its own."""
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    def run(*args: str) -> Result:
        for old in (pytester.path / "eval/logs/harness").glob("*.json"):
            old.unlink()
        quick = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        code = main([*args, "--", *quick])
        out, error = capfd.readouterr()
        made = pytest.RunResult(code, out.splitlines(), error.splitlines(), 0.0)
        return Result(made, pytester.path)

    return run


@pytest.fixture(params=["pytest", "mt-eval run"])
def bench(
    request: pytest.FixtureRequest,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    analyser: Path,
) -> Iterator[Bench]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (pytester.path / "tiny.json").write_text(json.dumps(SUITE), encoding="utf-8")
    way = {"pytest": pytest_way, "mt-eval run": run_way}[request.param]
    program = request.getfixturevalue({"pytest": "arena", "mt-eval run": "mt_eval"}[request.param])
    server = AnyServer()

    def run(*flags: str, suite: str | None = "tiny.json") -> Result:
        asked = [*flags, "provider=openai", f"base-url={server.url}"]
        if not any(flag.startswith(("model", "method=", "champollion-config")) for flag in flags):
            asked.append("model=tiny-model")
        if not any(flag.startswith(("fst=", "style-profile=")) for flag in flags):
            asked += ["metrics=exact_match_rate", "no-ci"]  # others take a second to load
        return way(program, asked, suite)

    yield Bench(run, server, pytester.path, analyser)
    server.close()


# -- what each flag changes -----------------------------------------------------------------


def corpus(bench: Bench) -> None:
    bench.write("tiny.json", {**SUITE, "corpus_id": "renamed"})
    card = bench.run("corpus=tiny.json", suite=None).card
    assert card["dataset"]["id"] == "renamed"
    assert card["dataset"]["entry_count"] == 6


def source_file(bench: Bench) -> None:
    bench.write("in.txt", "word number 8\nword number 9\n")
    bench.write("out.txt", "palavra número 8\npalavra número 9\n")
    files = ("source-file=in.txt", "reference-file=out.txt")
    rows = bench.run(*files, "target-lang=Portuguese", suite=None).rows
    assert [row["source"] for row in rows] == ["word number 8", "word number 9"]
    assert [row["reference"] for row in rows] == ["palavra número 8", "palavra número 9"]


def model(bench: Bench) -> None:
    cards = bench.run("model=one-model,other-model").cards
    assert {card["model_slug"] for card in cards} == {"openai/one-model", "openai/other-model"}
    assert {request["model"] for request in bench.server.requests} == {"one-model", "other-model"}


def dataset(bench: Bench) -> None:
    assert bench.ids("dataset=all") == ["1", "2", "3", "4", "5", "6"]
    assert bench.ids("dataset=dev") == ["1", "3", "5"]
    assert bench.ids("dataset=2-4") == ["2", "3", "4"]


def ids(bench: Bench) -> None:
    assert bench.ids("ids=5,1") == ["1", "5"]


def source_lang(bench: Bench) -> None:
    assert "from French into" in bench.system("source-lang=French")
    pair = {"target": "por", "target_name": "Portuguese"}
    bench.write("tiny.json", {**SUITE, "language_pair": pair})
    assert "from English into" in bench.system(), "the documented default"
    told = bench.run().card["caveats"]
    assert any("English is assumed" in line for line in told)


def target_lang(bench: Bench) -> None:
    assert "into Galician" in bench.system("target-lang=Galician")


def prompt(bench: Bench) -> None:
    assert bench.run().card["condition"] == "naive"
    assert bench.run("prompt=champollion").card["condition"] == "champollion"
    assert bench.server.requests[-1]["messages"][-1]["content"].startswith("{")


def coaching_file(bench: Bench) -> None:
    path = bench.write("coach.txt", "Translate, and mind the accents.")
    assert bench.system(f"coaching-file={path}") == "Translate, and mind the accents."


def coaching(bench: Bench) -> None:
    assert bench.system("coaching=Only the translation, please.") == "Only the translation, please."


def method(bench: Bench) -> None:
    bench.write("mine/method.json", {"name": "Mine", "method_id": "mine", "entry_point": "m:Mine"})
    bench.write(
        "mine/m.py",
        "class Mine:\n"
        "    async def translate(self, entries, config):\n"
        "        return [{'id': e['id'], 'predicted': 'mine'} for e in entries]\n",
    )
    rows = bench.run("method=mine").rows
    assert {row["predicted"] for row in rows} == {"mine"}
    assert bench.server.requests == []


def method_card(bench: Bench) -> None:
    path = bench.write("card.json", {"name": "Described by hand"})
    assert bench.run(f"method-card={path}").card["method_card"]["name"] == "Described by hand"
    missing = bench.run("method-card=nowhere.json")
    assert missing.code == 4
    assert "nowhere.json" in missing.text


def fst_retries(bench: Bench) -> None:
    misspelling(bench.server, "palabra", "palavra")
    asked = (f"fst={bench.analyser}", "batch-size=1", "ids=1", "no-cache")
    assert bench.run(*asked).card["scores"]["exact_matches"] == 0, "none by default"
    assert len(bench.server.requests) == 1
    card = bench.run(*asked, "fst-retries=2").card
    assert card["scores"]["exact_matches"] == 1
    assert card["config"]["fst_retries"] == 2
    assert card["setup_fingerprint"]["components"]["fst_retries"] == 2
    assert len(bench.server.requests) == 1 + 2


def skip_fst(bench: Bench) -> None:
    asked = f"fst={bench.analyser}"
    assert bench.run(asked).card["scores"]["fst_acceptance_rate"] == 1.0
    assert bench.run(asked, "skip-fst").card["scores"]["fst_acceptance_rate"] is None


def tools(bench: Bench) -> None:
    bench.write("conftest.py", TOOLS)
    bench.run()
    assert "tools" not in bench.server.requests[-1]
    calling(bench.server, '{"word": "word"}')
    card = bench.run("tools").card
    assert {row["tool_call_count"] for row in card["results"]} == {1}
    assert card["setup_fingerprint"]["components"]["tools"]["names"] == ["look_up", "other"]


def tools_list(bench: Bench) -> None:
    bench.write("conftest.py", TOOLS)
    calling(bench.server, '{"word": "word"}')
    bench.run("tools", "tools-list=look_up", "ids=1")
    [shown] = bench.server.requests[0]["tools"]
    assert shown["function"]["name"] == "look_up"


def max_tool_rounds(bench: Bench) -> None:
    bench.write("conftest.py", TOOLS)
    calling(bench.server, '{"word": "word"}', times=9)
    [row] = bench.run("tools", "ids=1").rows
    assert row["tool_call_count"] == 8, "the documented default"
    calling(bench.server, '{"word": "word"}', times=9)
    [row] = bench.run("tools", "ids=1", "max-tool-rounds=3").rows
    assert row["tool_call_count"] == 3


def hooks(bench: Bench) -> None:
    bench.write("conftest.py", HOOK.format(hook="def hook(e, o, c): return [f'<{t}>' for t in o]"))
    [row] = bench.run("hooks=again,more", "ids=1").rows
    assert (row["raw_predicted"], row["predicted"]) == ("palavra número 1", "<palavra número 1>?")
    [row] = bench.run("hooks=more,again", "ids=1").rows
    assert row["predicted"] == "<palavra número 1?>", "in the order that is given"


def style_profile(bench: Bench) -> None:
    path = bench.write("style.json", {"prohibited_terms": ["palavra"]})
    card = bench.run(f"style-profile={path}").card
    assert card["scores"]["style_consistency_rate"] == 0.0
    assert "rules:yes" in card["signatures"]["style_consistency_rate"]
    assert bench.run("style-profile=nowhere.json").code == 4


def batch_size(bench: Bench) -> None:
    bench.run()
    assert len(bench.server.requests) == 1, "the documented default is 25"
    bench.run("batch-size=2", "no-cache")
    assert len(bench.server.requests) == 1 + 3


def concurrency(bench: Bench) -> None:
    bench.server.delay = 0.3
    bench.run("batch-size=1")
    assert bench.server.peak == 6, "the documented default is 8"
    bench.server.peak = 0
    bench.run("batch-size=1", "concurrency=2", "no-cache")
    assert bench.server.peak == 2


def max_tokens(bench: Bench) -> None:
    bench.run()
    assert bench.server.requests[-1]["max_completion_tokens"] == 32768, "the documented default"
    bench.run("max-tokens=77")
    assert bench.server.requests[-1]["max_completion_tokens"] == 77


def temperature(bench: Bench) -> None:
    bench.run()
    assert bench.server.requests[-1]["temperature"] == 0.0, "the documented default"
    card = bench.run("temperature=0.5").card
    assert bench.server.requests[-1]["temperature"] == card["config"]["temperature"] == 0.5


def no_cache(bench: Bench) -> None:
    bench.run()
    bench.run()
    assert len(bench.server.requests) == 1
    bench.run("no-cache")
    assert len(bench.server.requests) == 2


def cache_dir(bench: Bench) -> None:
    bench.run("cache-dir=kept")
    assert any((bench.path / "kept").rglob("*.json"))
    assert not (bench.path / "eval/cache").exists()
    bench.run()
    assert any((bench.path / "eval/cache/harness").rglob("*.json")), "the documented default"


def output_dir(bench: Bench) -> None:
    bench.run("output-dir=cards")
    assert len(list((bench.path / "cards").glob("*.json"))) == 1
    assert not (bench.path / "eval/logs").exists()
    bench.run()
    assert len(list((bench.path / "eval/logs/harness").glob("*.json"))) == 1


def name(bench: Bench) -> None:
    assert bench.run("name=Tuesday's run").card["config"]["run_name"] == "Tuesday's run"


def dry_run(bench: Bench) -> None:
    result = bench.run("dry-run")
    assert result.code == 0
    assert "would run   tiny-model × tiny (6 entries) = 1 call" in result.text
    assert bench.server.requests == []
    assert result.cards == []


def champollion_config(bench: Bench) -> None:
    config = {"version": 3, "inputLocale": "en", "model": "openai/from-the-config", "batchSize": 4}
    path = bench.write("champollion.config.json", config)
    bench.run(f"champollion-config={path}")
    assert {one["model"] for one in bench.server.requests} == {"openai/from-the-config"}
    assert len(bench.server.requests) == 2


def champollion_cards_dir(bench: Bench) -> None:
    card = {"code": "por", "registers": {"chatty": {"label": "x", "prompt": "As among friends."}}}
    bench.write("cards/por.json", card)
    config = {"version": 3, "inputLocale": "en", "model": "m", "registerPreset": "chatty"}
    asked = f"champollion-config={bench.write('champollion.config.json', config)}"
    assert "As among friends." not in bench.system(asked)
    assert "As among friends." in bench.system(asked, "champollion-cards-dir=cards")


def target_lang_code(bench: Bench) -> None:
    languages = {"pt-BR": {"register": "as in Recife"}, "pt": {"register": "as in Porto"}}
    config = {"version": 3, "inputLocale": "en", "model": "m", "languages": languages}
    asked = f"champollion-config={bench.write('champollion.config.json', config)}"
    assert "as in Porto" in bench.system(asked)
    assert "as in Recife" in bench.system(asked, "target-lang-code=pt-BR")


CHECKS: dict[str, Callable[[Bench], None]] = {
    check.__name__.replace("_", "-"): check
    for check in (
        *(corpus, source_file, model, dataset, ids, source_lang, target_lang, prompt),
        *(coaching_file, coaching, method, method_card, fst_retries, skip_fst, tools, tools_list),
        *(max_tool_rounds, hooks, style_profile, batch_size, concurrency, max_tokens, temperature),
        *(no_cache, cache_dir, output_dir, name, dry_run, champollion_config),
        *(champollion_cards_dir, target_lang_code),
    )
}
TOGETHER = {"reference-file": "source-file"}
"""Flags that work with another one, which is where they are looked at."""


def test_no_documented_flag_is_left_out():
    assert {*CHECKS, *TOGETHER} == set(FIRST)


@pytest.mark.parametrize("flag", CHECKS)
def test_each_documented_flag_changes_what_it_says(bench, flag):
    CHECKS[flag](bench)
