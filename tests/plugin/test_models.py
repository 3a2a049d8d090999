"""Language models as contestants, against a server on this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_mtarena.cli import main
from pytest_mtarena.results.verify import verify

KEY = "sk-very-secret-1234567890"
PRICES = {"tiny-model": {"input": 0, "output": 100}}


class Server:
    """An OpenAI-compatible endpoint that translates ``word number N``."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.at_once = self.peak = 0
        self.delay = 0.0
        self.name = "tiny-model-0611"
        self.fail: set[int] = set()
        """Numbers of requests that get a 429 (from 0)."""
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    number = len(outer.requests)
                    outer.requests.append({**body, "auth": self.headers.get("Authorization")})
                    outer.at_once += 1
                    outer.peak = max(outer.peak, outer.at_once)
                time.sleep(outer.delay)
                try:
                    outer.answer(self, body, number)
                finally:
                    with outer.lock:
                        outer.at_once -= 1

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], number: int) -> None:
        """Stream an answer in the OpenAI form."""
        if number in self.fail:
            self._send(handler, 429, b'{"error": {"message": "slow down"}}', "application/json")
            return
        text = translated(body).replace("palavra", body.get("says", "palavra"))
        pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
        events = [
            {"model": self.name, "choices": [{"index": 0, "delta": {"content": piece}}]}
            for piece in pieces
        ]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append(
            {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": len(pieces)}}
        )
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        self._send(handler, 200, f"{stream}data: [DONE]\n\n".encode(), "text/event-stream")

    def _send(self, handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        if status == 429:
            handler.send_header("Retry-After", "0")
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def translated(body: dict[str, Any]) -> str:
    """Translate the last message: numbered lines, a JSON object, or one text."""
    asked = body["messages"][-1]["content"]
    asked = asked if isinstance(asked, str) else "".join(part["text"] for part in asked)
    if "response_format" in body:
        [found] = re.findall(r"\{.*\}", asked, re.DOTALL)[-1:]
        return json.dumps({key: say(text) for key, text in json.loads(found).items()})
    lines = re.findall(r"^(\d+)\. (.*)$", asked, re.MULTILINE)
    if lines:
        return "\n".join(f"{number}. {say(text)}" for number, text in lines)
    [only] = re.findall(r"word number \d+", asked)
    return say(only)


def say(text: str) -> str:
    return text.replace("word number", "palavra número")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running = Server()
    yield running
    running.close()


def asked(server: Server, *more: str) -> list[str]:
    return ["--mt-provider=openai", f"--mt-base-url={server.url}", *more]


def test_a_model_translates_a_suite_and_the_card_says_how(arena, corpus, server, mode):
    result = arena(
        str(corpus(9)), "--mt-model=tiny-model", "--mt-batch-size=4", *asked(server), *mode
    )
    assert result.code == 0, result.text
    card = result.card
    assert card["scores"]["chrf_plus_plus"] == 100
    assert card["model_slug"] == "openai/tiny-model"
    assert card["model_id"] == "tiny-model-0611"
    assert card["condition"] == "naive"
    assert card["config"]["api_provider"] == "openai"
    assert "English into Portuguese" in card["system_prompt_used"]
    assert card["totals"]["prompt_tokens"] == 300
    assert card["totals"]["total_cost_usd"] == 0, "a loopback endpoint is free"
    assert len(server.requests) == 3
    assert all(request["temperature"] == 0 for request in server.requests)
    written = json.dumps(card) + result.text
    assert KEY not in written
    assert "127.0.0.1" not in json.dumps(card)
    assert verify(card) == []


def test_a_second_run_makes_no_call(arena, corpus, server):
    arguments = (str(corpus(6)), "--mt-model=tiny-model", "--mt-batch-size=3", *asked(server))
    first = arena(*arguments).card
    assert len(server.requests) == 2
    second = arena(*arguments).card
    assert len(server.requests) == 2
    assert [row["predicted"] for row in second["results"]] == [
        row["predicted"] for row in first["results"]
    ]
    assert all(row["metadata"]["cached_calls"] == 1 for row in second["results"])
    assert second["scores"]["chrf_plus_plus"] == first["scores"]["chrf_plus_plus"]
    arena(*arguments, "--mt-no-cache")
    assert len(server.requests) == 4


TIME = re.compile(r"_seconds$|_per_second$|_per_minute$|^timestamp$|^peak_in_flight$")
IDENTITY = {"run_id", "run_card_hash", "run_card_digest"}
PAID = {"cost_usd", "total_cost_usd", "known_cost_usd", "cached_cost_usd"}
CACHED = {"from_cache", "cached_calls", "original_cost_usd"}


def lasting(value: Any) -> Any:
    """Return what has to be equal in the card of a second run."""
    if isinstance(value, list):
        return [lasting(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: lasting(one)
        for key, one in value.items()
        if key not in IDENTITY | PAID | CACHED and not TIME.search(key)
    }


def test_the_card_of_a_second_run_is_equal(arena, corpus, server, pytester, mode):
    (pytester.path / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    arguments = (
        str(corpus(9)), "--mt-model=tiny-model", "--mt-batch-size=3", "--mt-prices=prices.json",
        *asked(server), *mode,
    )  # fmt: skip
    first = arena(*arguments).card
    result = arena(*arguments)
    second = result.card
    assert len(server.requests) == 3
    assert lasting(second) == lasting(first)
    once = first["totals"]["total_cost_usd"]
    assert second["totals"]["total_cost_usd"] == 0
    assert second["totals"]["cached_cost_usd"] == once > first["totals"]["cached_cost_usd"] == 0
    assert f"$0 now, ${once:g} before" in result.text
    assert all(row["latency_seconds"] is None for row in second["results"])
    assert second["scores"]["avg_latency_seconds"] is None
    assert verify(second) == []


def test_batches_are_concurrent_and_a_busy_server_loses_nothing(arena, corpus, server):
    server.delay, server.fail = 0.15, {0, 3, 5}
    result = arena(
        str(corpus(40)), "--mt-model=tiny-model", "--mt-batch-size=5", "--mt-concurrency=4",
        *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    assert server.peak == 4
    assert result.card["scores"]["exact_matches"] == 40
    assert len(server.requests) == 8 + 3


def test_structured_answers_and_coaching(arena, corpus, server, pytester):
    (pytester.path / "coach.txt").write_text("Be formal.\n", encoding="utf-8")
    result = arena(
        str(corpus(5)), "--mt-model=tiny-model", "--mt-structured",
        "--mt-coaching-file=coach.txt", *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    [request] = server.requests
    assert request["response_format"]["type"] == "json_schema"
    assert result.card["condition"] == "coached"
    assert "Be formal." in result.card["system_prompt_used"]
    assert result.card["scores"]["exact_matches"] == 5


def test_several_models_are_several_cards_and_one_that_fails_stops_no_other(
    arena, corpus, server, mode
):
    answer = server.answer

    def some(handler: Any, body: dict[str, Any], number: int) -> None:
        if body["model"] == "other-model":
            server._send(handler, 400, b'{"error": {"message": "no such model"}}', "text/json")
        else:
            answer(handler, body, number)

    server.answer = some  # type: ignore[method-assign]
    result = arena(str(corpus(4)), "--mt-model=tiny-model,other-model", *asked(server), *mode)
    assert result.code == 1
    cards = {card["model_slug"]: card for card in result.cards}
    assert cards["openai/tiny-model"]["scores"]["exact_matches"] == 4
    assert cards["openai/other-model"]["scores"]["errors"] == 4
    assert "no such model" in result.text
    assert KEY not in result.text


def test_nothing_is_sent_beyond_the_limit(arena, corpus, server, pytester):
    (pytester.path / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    common = (
        "--mt-model=tiny-model", "--mt-prices=prices.json", "--mt-max-tokens=100",
        "--mt-no-cache", *asked(server),
    )  # fmt: skip
    whole = arena(str(corpus(8)), *common, "--mt-batch-size=2")
    assert whole.code == 0, whole.text
    cost = whole.card["totals"]["total_cost_usd"]
    assert cost == pytest.approx(sum(tokens(whole.card)) * 1e-4)
    sent = len(server.requests)
    stopped = arena(
        str(corpus(8)), *common, "--mt-batch-size=2", "--mt-concurrency=1", "--mt-max-cost=0.0112"
    )
    assert stopped.code == 1
    assert 0 < len(server.requests) - sent < 4
    spent = sum(row["cost_usd"] or 0 for row in stopped.rows)
    assert 0 < spent <= 0.0112, "100 tokens may cost 0.01, so that two or so fit"
    assert "limit" in stopped.rows[-1]["error"]


def tokens(card: dict[str, Any]) -> list[int]:
    """Return the completion tokens of each call of a run."""
    sums: dict[int, int] = {}
    for row in card["results"]:
        count = row["usage"]["completion_tokens"]
        sums[row["request"]] = sums.get(row["request"], 0) + count
    return list(sums.values())


@pytest.mark.parametrize("deaths", [0, 3])
def test_workers_share_one_limit_however_many_die(arena, corpus, server, pytester, deaths):
    pytester.makeconftest(
        "import os, pathlib\n"
        "done = []\n"
        "def pytest_runtest_teardown(item):\n"
        "    worker = os.environ.get('PYTEST_XDIST_WORKER')\n"
        "    if worker:\n"
        "        done.append(item)\n"
        "        dead = pathlib.Path('dead')\n"
        "        dead.mkdir(exist_ok=True)\n"
        f"        if len(done) == 5 and len(list(dead.iterdir())) < {deaths}:\n"
        "            (dead / worker).touch()\n"
        "            os._exit(9)\n"
    )
    (pytester.path / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    result = arena(
        str(corpus(200)), "--mt-model=tiny-model", "--mt-batch-size=1", "--mt-prices=prices.json",
        "--mt-max-tokens=10", "--mt-max-cost=0.05", "--mt-no-cache", "--mt-concurrency=4", "-n2",
        *asked(server),
    )  # fmt: skip
    # A call costs 3 tokens of $0.0001, and $0.001 at most: what a dead worker had out counts so.
    assert result.code == 1
    assert len(list((pytester.path / "dead").iterdir())) == deaths
    sent = len(server.requests)
    assert sent * 0.0003 <= 0.05
    assert sent >= (150 if deaths == 0 else 100)
    assert "not sent: " in result.text
    assert "of the limit of $0.05 are spent" in result.text


def test_a_gateway_on_this_machine_that_costs_is_stopped(arena, corpus, server):
    send = server._send

    def charge(handler: Any, status: int, body: bytes, kind: str) -> None:
        text = body.replace(b'"completion_tokens"', b'"cost": 0.4, "completion_tokens"')
        send(handler, status, text, kind)

    server._send = charge  # type: ignore[method-assign]
    common = (
        str(corpus(20)), "--mt-model=tiny-model", "--mt-batch-size=1", "--mt-concurrency=1",
        "--mt-max-cost=1", *asked(server),
    )  # fmt: skip
    result = arena(*common)
    assert result.code == 1
    assert len(server.requests) == 1, "what the next one costs is unknown from now on"
    assert "unknown is not free" in result.text
    arena(*common, "--mt-allow-unknown-cost")
    assert len(server.requests) == 1 + 3, "until the limit is reached"


def test_workers_that_cannot_keep_the_concurrency_are_refused(arena, corpus, server):
    result = arena(
        str(corpus(9)), "--mt-model=tiny-model", "--mt-concurrency=2", "-n4", *asked(server)
    )
    assert result.code == 4
    assert "--mt-concurrency=2 cannot be kept by 4 workers: take -n2, or more of it" in result.text
    assert server.requests == []


def test_a_dry_run_shows_prompt_and_cost_and_calls_nobody(arena, corpus, server, pytester):
    (pytester.path / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    result = arena(
        str(corpus(9)), "--mt-model=tiny-model", "--mt-batch-size=4", "--mt-dry-run",
        "--mt-prices=prices.json", "--mt-max-tokens=100", *asked(server),
    )  # fmt: skip
    assert "tiny-model × tiny (9 entries) = 3 calls" in result.text
    assert "prompt naive, sha256 " in result.text
    assert "Translate from English into Portuguese" in result.text
    assert "about $0.0072, at most $0.0300, if every call is answered at once" in result.text
    assert "about 380 tokens in, 72 out" in result.text
    assert "would not be sent" not in result.text
    assert "tiny-model has no date" in result.text
    assert server.requests == []
    arena(
        str(corpus(4)), "--mt-model=tiny-model", "--mt-batch-size=4", "--mt-prices=prices.json",
        "--mt-max-tokens=100", *asked(server),
    )  # fmt: skip
    kept = arena(
        str(corpus(9)), "--mt-model=tiny-model", "--mt-batch-size=4", "--mt-dry-run",
        "--mt-prices=prices.json", "--mt-max-tokens=100", *asked(server),
    )  # fmt: skip
    assert "4 entries are in the cache: 2 calls left" in kept.text
    dear = arena(
        str(corpus(9)), "--mt-model=tiny-model", "--mt-batch-size=4", "--mt-dry-run",
        "--mt-prices=prices.json", "--mt-max-tokens=100", "--mt-max-cost=0.005", *asked(server),
    )  # fmt: skip
    assert "a call may cost $0.0100, more than --mt-max-cost=0.005: it would not be" in dear.text


def test_a_contributed_prompt(arena, corpus, server, pytester):
    pytester.makeconftest(
        "from pytest_mtarena import hookimpl\n"
        "@hookimpl\n"
        "def mtarena_prompts():\n"
        "    return {'terse': lambda run: f'Into {run.target_language}, please.'}\n"
    )
    result = arena(str(corpus(2)), "--mt-model=tiny-model", "--mt-prompt=terse", *asked(server))
    assert result.code == 0, result.text
    assert result.card["system_prompt_used"] == "Into Portuguese, please."
    assert result.card["condition"] == "terse"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-prompt=broken"], "the prompt 'broken': ZeroDivisionError: division by zero"),
        (["--mt-prompt=silent"], "the prompt 'silent' has no text for its system prompt"),
        ([], "the suite names none: --mt-target-lang says it"),
    ],
)
@pytest.mark.parametrize("more", ["--mt-dry-run", "-n2"])
def test_without_a_system_prompt_nothing_is_sent(arena, server, pytester, options, told, more):
    pytester.makeconftest(
        "from pytest_mtarena import hookimpl\n"
        "@hookimpl\n"
        "def mtarena_prompts():\n"
        "    return {'broken': lambda run: 1 / 0, 'silent': lambda run: None}\n"
    )
    (pytester.path / "plain.tsv").write_text("source\treference\na\tb\n", encoding="utf-8")
    result = arena("plain.tsv", "--mt-model=tiny-model", *options, *asked(server), more)
    assert result.code == 4
    [line] = result.run.stderr.str().strip().splitlines()
    assert line.startswith("ERROR: ")
    assert told in line
    assert server.requests == []


def test_a_provider_that_only_fails_is_not_asked_for_ever(arena, corpus, server):
    def refuse(handler: Any, body: dict[str, Any], number: int) -> None:
        server._send(handler, 401, b'{"error": {"message": "bad key"}}', "application/json")

    server.answer = refuse  # type: ignore[method-assign]
    result = arena(
        str(corpus(60)), "--mt-model=tiny-model", "--mt-batch-size=2", "--mt-concurrency=2",
        *asked(server),
    )  # fmt: skip
    assert result.code == 1
    assert len(server.requests) <= 4
    assert result.card["scores"]["errors"] == 60
    assert KEY not in result.text


def test_the_cache_can_be_looked_at_and_pruned(arena, corpus, server, pytester, capsys):
    arena(str(corpus(6)), "--mt-model=tiny-model", "--mt-batch-size=3", *asked(server))
    directory = f"--cache-dir={pytester.path / 'eval/cache/harness'}"
    assert main(["cache", directory, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["entries"] == 6
    assert main(["cache", directory, "--prune"]) == 2
    assert "--prune needs" in capsys.readouterr().err
    assert main(["cache", directory, "--prune", "--max-bytes=0"]) == 0
    assert "removed 6 answers" in capsys.readouterr().out
    assert main(["cache", "--cache-dir=nowhere"]) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-model=house/tiny"], "OPENROUTER_API_KEY"),
        (["--mt-model=a,,b"], "has no name"),
        (["--mt-model=x/y", "--mt-provider=nobody"], "nobody"),
        (["--mt-model=x/y", "--mt-coaching=a", "--mt-coaching-file=b"], "--mt-coaching"),
        (["--mt-model=x/y", "--mt-coaching-file=nowhere"], "--mt-coaching-file: no such file"),
        (["--mt-model=x/y", "--mt-max-cost=-1"], "--mt-max-cost"),
        (["--mt-model=x/y", "--mt-allow-unknown-cost"], "--mt-allow-unknown-cost needs"),
        (["--mt-model=x/y", "--mt-prompt=poem"], "there is no prompt 'poem'"),
        (["--mt-model=x/y", "--mt-base-url="], "--mt-base-url is empty"),
        (["--mt-model=x/y", "--mt-cache-dir= "], "--mt-cache-dir is empty"),
        (["--mt-model=x/y", "--mt-coaching="], "--mt-coaching is empty"),
        (["--mt-model=x/y", "--mt-coaching-file=empty.txt"], "there is no text in it"),
        (["--mt-model=x/y", "--mt-prompt=naive", "--mt-coaching=Use tu."], "has no place for"),
        (["--mt-model=x/y", "--mt-name=a\udcff"], "--mt-name is not valid UTF-8"),
        (["--mt-model=x/y", "--mt-coaching=a\udcff"], "--mt-coaching is not valid UTF-8"),
        (["--mt-model=x/y", "--mt-batch-size=99999999999999999999"], "from 1 to 1,000,000,000"),
        (["--mt-model=x/y", "--mt-max-tokens=1000000001"], "from 1 to 1,000,000,000"),
        (["--mt-model=x/y", "--mt-max-cost=1e300"], "US dollars above 0, up to"),
        (["--mt-model=x/y", "--mt-champollion-config=big.json"], "batchSize must be a whole"),
    ],
)
def test_what_cannot_be_asked_for_is_one_line(arena, corpus, monkeypatch, pytester, options, told):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    if len(options) > 1:
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    (pytester.path / "empty.txt").write_text(" \n", encoding="utf-8")
    (pytester.path / "big.json").write_text('{"version": 3, "batchSize": 1' + 30 * "0" + "}")
    result = arena(str(corpus(2)), *options)
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text
    assert KEY not in result.text


# -- tools ----------------------------------------------------------------------------------

TOOLS = '''
from pytest_mtarena import hookimpl

def look_up(word: str) -> str:
    """Return the translation of a word."""
    return {"word": "palavra"}[word]

@hookimpl
def mtarena_tools():
    return {"look_up": look_up, "other": look_up}
'''


def calling(server: Server, arguments: str, *, times: int = 1) -> None:
    """Let the model ask for the tool ``times`` times before it answers with what it got."""
    answer = server.answer

    def some(handler: Any, body: dict[str, Any], number: int) -> None:
        got = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if len(got) >= times:
            [said] = re.findall(r"word number (\d+)", body["messages"][1]["content"])
            body["messages"].append({"content": f"word number {said}" if got else ""})
            answer(handler, body, number)
            return
        cut = len(arguments) // 2
        pieces = [
            {"index": 0, "id": f"call_{number}", "type": "function",
             "function": {"name": "look_up", "arguments": arguments[:cut]}},
            {"index": 0, "function": {"arguments": arguments[cut:]}},
        ]  # fmt: skip
        events = [{"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in pieces]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        events.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        server._send(handler, 200, f"{stream}data: [DONE]\n\n".encode(), "text/event-stream")

    server.answer = some  # type: ignore[method-assign]


def test_a_model_calls_tools(arena, corpus, server, pytester, mode):
    pytester.makeconftest(TOOLS)
    calling(server, '{"word": "word"}')
    result = arena(str(corpus(4)), "--mt-model=tiny-model", "--mt-tools", *asked(server), *mode)
    assert result.code == 0, result.text
    assert len(server.requests) == 8, "one entry at a time, twice"
    first, second = server.requests[0], next(r for r in server.requests if len(r["messages"]) > 3)
    assert [one["function"]["name"] for one in first["tools"]] == ["look_up", "other"]
    assert second["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"word": "word"}'
    assert second["messages"][3]["content"] == "palavra"
    assert second["messages"][3]["tool_call_id"] == second["messages"][2]["tool_calls"][0]["id"]
    card = result.card
    assert card["scores"]["exact_matches"] == 4
    assert all(row["tool_call_count"] == 1 for row in card["results"])
    assert card["results"][0]["tool_calls"] == [
        {
            "round": 1,
            "name": "look_up",
            "arguments": '{"word": "word"}',
            "result": "palavra",
            "error": None,
        }
    ]
    assert card["totals"]["prompt_tokens"] == 4 * 110, "both calls are counted"
    assert card["config"]["batch_size"] == 1
    assert verify(card) == []
    again = arena(str(corpus(4)), "--mt-model=tiny-model", "--mt-tools", *asked(server), *mode)
    assert len(server.requests) == 8, "every round was kept"
    assert again.card["scores"]["exact_matches"] == 4
    assert again.card["totals"]["total_cost_usd"] == 0


def test_a_dialogue_that_ends_in_nothing_is_held_again(arena, corpus, server, pytester):
    pytester.makeconftest(TOOLS)
    calling(server, '{"word": "word"}')
    answer = server.answer

    def thinking(handler: Any, body: dict[str, Any], number: int) -> None:
        if body["messages"][-1]["role"] != "tool":
            answer(handler, body, number)
            return
        said = {"delta": {"content": "<think>hm</think>"}, "index": 0, "finish_reason": "stop"}
        stream = f"data: {json.dumps({'choices': [said]})}\n\ndata: [DONE]\n\n"
        server._send(handler, 200, stream.encode(), "text/event-stream")

    server.answer = thinking  # type: ignore[method-assign]
    arguments = (str(corpus(2)), "--mt-model=tiny-model", "--mt-tools", *asked(server))
    first = arena(*arguments)
    assert [row["failure"]["kind"] for row in first.rows] == ["parse_error"] * 2
    server.answer = answer  # type: ignore[method-assign]
    second = arena(*arguments)
    assert second.code == 0, second.text
    assert len(server.requests) == 8
    assert arena(*arguments).code == 0
    assert len(server.requests) == 8


def test_only_the_tools_that_were_named_are_shown(arena, corpus, server, pytester):
    pytester.makeconftest(TOOLS)
    calling(server, '{"word": "word"}')
    result = arena(
        str(corpus(1)), "--mt-model=tiny-model", "--mt-tools", "--mt-tools-list=look_up",
        *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    assert [one["function"]["name"] for one in server.requests[0]["tools"]] == ["look_up"]


def test_a_bad_call_is_told_to_the_model_and_stands_in_the_row(arena, corpus, server, pytester):
    pytester.makeconftest(TOOLS)
    calling(server, '{"word": "tr')
    result = arena(str(corpus(1)), "--mt-model=tiny-model", "--mt-tools", *asked(server))
    assert result.code == 0, result.text
    assert "bad arguments" in server.requests[1]["messages"][3]["content"]
    assert "bad arguments" in result.card["results"][0]["tool_calls"][0]["error"]


def test_a_model_that_never_answers_fails_after_its_rounds(arena, corpus, server, pytester):
    pytester.makeconftest(TOOLS)
    calling(server, '{"word": "word"}', times=99)
    result = arena(
        str(corpus(1)), "--mt-model=tiny-model", "--mt-tools", "--mt-max-tool-rounds=2",
        *asked(server),
    )  # fmt: skip
    assert result.code == 1
    assert len(server.requests) == 3
    [row] = result.rows
    assert "error (tool_rounds)" in result.text
    assert "still asks for tools after 2 rounds" in row["error"]
    assert row["tool_call_count"] == 2
    assert row["usage"]["prompt_tokens"] == 30


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-model=a/b", "--mt-tools"], "no plug-in contributes a tool"),
        (["--mt-model=a/b", "--mt-tools-list=x"], "--mt-tools-list needs --mt-tools"),
        (["--mt-tools", "--mt-method=methods/x"], "--mt-tools needs --mt-model"),
    ],
)
def test_tools_that_cannot_be_used_are_one_line(arena, corpus, server, options, told):
    result = arena(str(corpus(1)), *options, *asked(server))
    assert result.code == 4, result.text
    assert told in result.text
    assert "Traceback" not in result.text


def test_a_tool_that_does_not_exist_is_told_with_those_that_do(arena, corpus, server, pytester):
    pytester.makeconftest(TOOLS)
    options = ("--mt-model=a/b", "--mt-tools", "--mt-tools-list=lookup")
    result = arena(str(corpus(1)), *options, *asked(server))
    assert result.code == 4
    assert "there is no tool 'lookup'" in result.text
    assert "look_up" in result.text


def test_a_batch_that_waits_to_try_again_holds_up_nobody(arena, corpus, server):
    answer = server.answer

    def wait_first(handler: Any, body: dict[str, Any], number: int) -> None:
        if number:
            answer(handler, body, number)
            return
        handler.send_response(429)
        handler.send_header("Retry-After", "1")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answer = wait_first  # type: ignore[method-assign]
    result = arena(
        str(corpus(8)), "--mt-model=tiny-model", "--mt-batch-size=2", "--mt-concurrency=1",
        *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    texts = [request["messages"][1]["content"] for request in server.requests]
    assert len(texts) == 5
    assert texts.index(texts[0], 1) == 4, "the others go before it is tried again"
    assert server.peak == 1
    assert result.card["scores"]["exact_matches"] == 8
    assert result.card["config"]["peak_in_flight"] == 1


# -- words that an analyser rejects ---------------------------------------------------------


def misspelling(server: Server, *said: str) -> None:
    """Let the model say these words in turn, in its first answer and when it is asked again."""
    answer = server.answer

    def some(handler: Any, body: dict[str, Any], number: int) -> None:
        again = (len(body["messages"]) - 2) // 2
        [which] = re.findall(r"word number (\d+)", body["messages"][1]["content"])
        body["messages"].append({"content": f"word number {which}"})
        answer(handler, {**body, "says": said[again]}, number)

    server.answer = some  # type: ignore[method-assign]


def test_rejected_words_go_back_to_the_model(arena, corpus, server, analyser, mode):
    misspelling(server, "palabra", "palavra")
    arguments = (
        str(corpus(3)), "--mt-model=tiny-model", "--mt-batch-size=1", "--mt-concurrency=2",
        f"--mt-fst={analyser}", *asked(server),
    )  # fmt: skip
    result = arena(*arguments, "--mt-fst-retries=3", *mode)
    assert result.code == 0, result.text
    assert len(server.requests) == 6, "asked again once, since then all is well"
    again = next(one for one in server.requests if len(one["messages"]) == 5)
    assert again["messages"][2]["content"].startswith("palabra")
    assert "“palabra”" in again["messages"][3]["content"]
    card = result.card
    assert card["scores"]["exact_matches"] == 3
    assert card["scores"]["fst_acceptance_rate"] == 1.0
    row = card["results"][0]
    assert row["metadata"]["fst_attempts"] == [
        {"output": row["predicted"].replace("palavra", "palabra"), "rejected": ["palabra"]},
        {"output": row["predicted"], "rejected": []},
    ]
    assert row["metadata"]["calls"] == 2
    assert row["usage"]["prompt_tokens"] == 200
    skipped = arena(*arguments, "--mt-fst-retries=3", "--mt-skip-fst", "--mt-no-cache")
    assert len(server.requests) == 9
    assert skipped.card["scores"]["fst_acceptance_rate"] is None
    assert skipped.card["scores"]["exact_matches"] == 0


def test_a_revision_that_makes_it_worse_is_not_taken(arena, corpus, server, analyser):
    misspelling(server, "palabra", "mala palabra")
    result = arena(
        str(corpus(1)), "--mt-model=tiny-model", f"--mt-fst={analyser}", "--mt-fst-retries=2",
        *asked(server),
    )  # fmt: skip
    assert result.code == 0, result.text
    [row] = result.rows
    assert row["predicted"].startswith("palabra")
    assert [len(one["rejected"]) for one in row["metadata"]["fst_attempts"]] == [1, 2, 2]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--mt-fst-retries=2"], "--mt-fst-retries needs --mt-fst PATH"),
        (["--mt-fst-retries=-1"], "takes a whole number from 0"),
        (["--mt-fst-retries=2", "--mt-fst=empty"], "por.hfstol"),
    ],
)
def test_retries_without_an_analyser_are_one_line(arena, corpus, server, pytester, options, told):
    pytester.mkdir("empty")
    result = arena(str(corpus(1)), "--mt-model=tiny-model", *options, *asked(server))
    assert result.code != 0
    assert told in result.text
    assert "Traceback" not in result.text
    assert server.requests == []


# -- prices ---------------------------------------------------------------------------------


def test_a_limit_for_a_model_without_a_price_is_refused_before_anything_is_sent(
    arena, corpus, server, mode
):
    options = (
        "--mt-model=nobodys-model", "--mt-provider=openai", "--mt-max-cost=1",
        "--mt-base-url=http://192.0.2.1/v1",
    )  # fmt: skip
    result = arena(str(corpus(2)), *options, *mode)
    assert result.code == 4, result.text
    assert "nobodys-model" in result.text
    assert "--mt-prices FILE, or send it all the same with --mt-allow-unknown-cost" in result.text
    assert "Traceback" not in result.text


def test_the_current_prices_of_openrouter_count(arena, corpus, server, pytester, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    listed = {"data": [{"id": "a/new", "pricing": {"prompt": "0.000001", "completion": "0.00001"}}]}
    seen = []

    def do_get(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers.get("Authorization"))
        server._send(handler, 200, json.dumps(listed).encode(), "application/json")

    server._server.RequestHandlerClass.do_GET = do_get  # type: ignore[attr-defined]
    pytester.makeconftest(
        "from pytest_mtarena.plugin import models\n"
        f"models.PRICE_LIST = {server.url!r} + '/models'\n"
    )
    common = (str(corpus(4)), "--mt-model=a/new", "--mt-dry-run", "--mt-max-tokens=1000")
    result = arena(*common)
    assert result.code == 0, result.text
    assert "at most $0.01" in result.text
    assert seen == [None], "fetched once, without the key"
    refused = arena(*common, "--mt-max-cost=5", "--mt-model=a/other")
    assert refused.code == 4
    assert "a/other" in refused.text


# -- hooks that ask the model again ---------------------------------------------------------

ASKING = {
    "async": "async def hook(entries, outputs, config, ask):\n"
    "    return [await ask(e['id'], 'Say it again.') + '!' for e in entries]\n",
    "plain": "def hook(entries, outputs, config, ask):\n"
    "    return [ask(e['id'], 'Say it again.') + '!' for e in entries]\n",
}
HOOK = """
from pytest_mtarena import hookimpl
{hook}
@hookimpl
def mtarena_post_translation():
    return {{"again": hook, "more": lambda e, outputs, c: [o + "?" for o in outputs]}}
"""


def repeating(server: Server) -> None:
    """Let the model translate what it was first asked, whatever the last message is."""
    answer = server.answer

    def first(handler: Any, body: dict[str, Any], number: int) -> None:
        body["messages"].append(body["messages"][1])
        answer(handler, body, number)

    server.answer = first  # type: ignore[method-assign]


@pytest.mark.parametrize("how", list(ASKING))
def test_a_hook_asks_the_model_again(arena, corpus, server, pytester, how):
    pytester.makeconftest(HOOK.format(hook=ASKING[how]))
    repeating(server)
    result = arena(str(corpus(3)), "--mt-model=tiny-model", "--mt-hooks=again,more", *asked(server))
    assert result.code == 0, result.text
    assert len(server.requests) == 1 + 3
    again = server.requests[-1]["messages"]
    assert again[-2]["content"] == "Say it again."
    assert again[2]["role"] == "assistant"
    for row in result.rows:
        assert row["predicted"].endswith("!?")
        assert row["raw_predicted"] + "!?" == row["predicted"]
        assert row["metadata"]["hook_calls"] == 1
        assert row["metadata"]["calls"] == 2
    assert sum(row["usage"]["prompt_tokens"] for row in result.rows) == 400
    assert verify(result.card) == []


PICKY = """
from pytest_mtarena import hookimpl
def hook(entries, outputs, config, ask):
    said = [ask(e["id"], "Say it again.") for e in entries]
    assert not any("bad" in text for text in said)
    return said
@hookimpl
def mtarena_post_translation():
    return {"picky": hook}
"""


def test_what_a_hook_cannot_use_is_asked_again(arena, corpus, server, pytester):
    pytester.makeconftest(PICKY)
    repeating(server)
    answer = server.answer

    def bad(handler: Any, body: dict[str, Any], number: int) -> None:
        again = len(body["messages"]) > 2
        answer(handler, {**body, "says": "bad" if again else "palavra"}, number)

    server.answer = bad  # type: ignore[method-assign]
    arguments = (str(corpus(2)), "--mt-model=tiny-model", "--mt-hooks=picky", *asked(server))
    first = arena(*arguments)
    assert [row["failure"]["kind"] for row in first.rows] == ["hook"] * 2
    assert len(server.requests) == 3
    server.answer = answer  # type: ignore[method-assign]
    second = arena(*arguments)
    assert second.code == 0, second.text
    assert len(server.requests) == 5, "the translation is kept, what the hook asked is not"
    assert arena(*arguments).code == 0
    assert len(server.requests) == 5


def test_a_method_cannot_be_asked_again(arena, corpus, pytester):
    pytester.makeconftest(
        HOOK.format(hook=ASKING["async"])
        + "@hookimpl\ndef mtarena_methods():\n    return {'same': lambda options: Same()}\n"
        "class Same:\n"
        "    def translate(self, entries, config):\n"
        "        return [{'id': e['id'], 'predicted': e['source']} for e in entries]\n"
    )
    result = arena(str(corpus(1)), "--mt-method=same", "--mt-hooks=again")
    assert result.code == 1
    assert "only language models can be asked again" in result.rows[0]["error"]


# -- what is kept ---------------------------------------------------------------------------


def test_an_entry_that_is_there_twice_is_paid_once(arena, corpus, server, pytester):
    server.delay = 0.2
    (pytester.path / "two").mkdir()
    for name in ("two/a.json", "two/b.json"):
        corpus(20, name)
    common = ("--mt-model=tiny-model", "--mt-batch-size=5", *asked(server))
    result = arena("two", *common)
    assert result.code == 0, result.text
    assert len(server.requests) == 4
    assert [len(card["results"]) for card in result.cards] == [20, 20]
    assert all(row["status"] == "ok" for card in result.cards for row in card["results"])
    again = arena("two/a.json", "two/a.json", "--keep-duplicates", "--mt-no-cache", *common)
    assert again.code == 0, again.text
    assert len(server.requests) == 4 + 4


def test_an_entry_more_pays_for_one_entry(arena, corpus, server):
    common = ("--mt-model=tiny-model", "--mt-batch-size=4", *asked(server))
    arena(str(corpus(8)), *common)
    assert len(server.requests) == 2
    path = corpus(9)
    suite = json.loads(path.read_text(encoding="utf-8"))
    suite["entries"].insert(0, suite["entries"].pop())
    path.write_text(json.dumps(suite), encoding="utf-8")
    more = arena(str(path), *common)
    assert more.code == 0, more.text
    assert len(server.requests) == 3, "every batch has shifted, one entry is new"
    assert "word number" in server.requests[2]["messages"][1]["content"]
    assert sum(row["metadata"]["from_cache"] for row in more.rows) == 8
    assert max(card["scores"]["exact_matches"] for card in more.cards) == 9
    arena(str(path), "--mt-model=tiny-model", "--mt-batch-size=3", *asked(server))
    assert len(server.requests) == 6, "other batches are another way of asking"


def test_a_cache_that_cannot_be_written_is_told_once(arena, corpus, server, pytester, mode):
    directory = pytester.path / "eval/cache/harness"
    directory.mkdir(parents=True)
    for number in range(256):
        (directory / f"{number:02x}").write_text("in the way")
    arguments = (str(corpus(7)), "--mt-model=tiny-model", "--mt-batch-size=3", *asked(server))
    result = arena(*arguments, *mode)
    assert result.code == 0, result.text
    assert result.text.count("could not be written to the cache") == 1
    assert "mtarena: 7 answers could not be written to the cache" in result.text
    assert "cache" not in json.dumps(result.card["caveats"])
    assert verify(result.card) == []
    assert "could not be written" not in arena(*arguments, *mode, "--mt-no-cache").text


def test_what_failed_is_tried_again(arena, corpus, server):
    answer = server.answer

    def sorry(handler: Any, body: dict[str, Any], number: int) -> None:
        events = [{"choices": [{"index": 0, "delta": {"content": " "}, "finish_reason": "stop"}]}]
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        server._send(handler, 200, f"{stream}data: [DONE]\n\n".encode(), "text/event-stream")

    server.answer = sorry  # type: ignore[method-assign]
    common = (str(corpus(2)), "--mt-model=tiny-model", *asked(server))
    first = arena(*common)
    assert first.code == 1
    assert [row["failure"]["kind"] for row in first.rows] == ["parse_error"] * 2
    assert len(server.requests) == 3, "together, then one by one"
    server.answer = answer  # type: ignore[method-assign]
    second = arena(*common)
    assert second.code == 0, second.text
    assert len(server.requests) == 4
    assert max(card["scores"]["exact_matches"] for card in second.cards) == 2


# -- which model answered -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "told"),
    [("tiny-model-0611", False), ("house/Tiny-Model", False), ("huge-model", True)],
)
def test_another_model_than_the_one_that_was_asked_for_is_told(
    arena, corpus, server, monkeypatch, answered, told
):
    server.name = answered
    result = arena(str(corpus(2)), "--mt-model=house/tiny-model", *asked(server))
    assert result.code == 0, result.text
    line = "huge-model answered, and house/tiny-model was asked for"
    assert (line in result.text) == told
    assert (line in result.card["caveats"]) == told
    assert verify(result.card) == []


def test_a_model_by_an_alias_is_the_same_model(arena, corpus, server, pytester):
    (pytester.path / "shared").mkdir()
    aliases = {"tiny": "openai/tiny-model"}
    (pytester.path / "shared/model-aliases.json").write_text(json.dumps(aliases), encoding="utf-8")
    # Aliases are for the providers themselves; the address is that of the endpoint here.
    pytester.makeconftest(
        "from pytest_mtarena.llm.providers.openai import OpenAI\n"
        f"OpenAI.base_url = {server.url!r}\n"
    )
    names = ("tiny", "openai/tiny-model", "tiny-model")
    cards = [
        arena(str(corpus(3)), "--mt-provider=openai", f"--mt-model={name}").card for name in names
    ]
    assert len(server.requests) == 1, "paid once, under whatever name"
    assert len({card["setup_fingerprint"]["hash"] for card in cards}) == 1
    assert [card["config"]["model_as_given"] for card in cards] == list(names)
    both = arena(str(corpus(3)), "--mt-provider=openai", "--mt-model=tiny,tiny-model")
    assert both.code == 4
    assert "tiny and tiny-model are the same model" in both.text


def test_a_temperature_is_sent_as_recorded_or_recorded_as_not_sent(arena, corpus, server, mode):
    common = (str(corpus(2)), "--mt-model=tiny-model", *asked(server), *mode)
    none = arena(*common, "--mt-temperature=none")
    assert none.code == 0, none.text
    assert all("temperature" not in request for request in server.requests)
    assert none.card["config"]["temperature"] is None
    assert none.card["fingerprint"]["components"]["temperature"] is None
    assert verify(none.card) == []
    sent = len(server.requests)
    some = arena(*common, "--mt-temperature=0.7", "--mt-output-dir=other")
    assert some.code == 0, some.text
    assert {request["temperature"] for request in server.requests[sent:]} == {0.7}
    assert "takes a temperature from 0 to 2, or none" in arena(*common, "--mt-temperature=3").text


def test_a_run_that_is_killed_pays_for_no_answer_twice(corpus, server, pytester):
    """Four of eight batches are answered and kept when the run dies."""
    answer, stop = server.answer, threading.Event()

    def hold(handler: Any, body: dict[str, Any], number: int) -> None:
        if number >= 4:
            stop.wait(20)
        else:
            answer(handler, body, number)

    server.answer = hold  # type: ignore[method-assign]
    command = [
        *(sys.executable, "-m", "pytest", "-q", str(corpus(16)), "--mt-model=tiny-model"),
        *("--mt-batch-size=2", "--mt-concurrency=2", "--mt-metrics=none", *asked(server)),
    ]
    child = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL)
    kept = pytester.path / "eval/cache/harness"
    until = time.monotonic() + 30
    while len(list(kept.glob("*/*.json"))) < 8 or len(server.requests) < 6:
        assert time.monotonic() < until
        time.sleep(0.02)
    child.kill()
    child.wait()
    stop.set()
    server.answer = answer  # type: ignore[method-assign]
    before = [request["messages"][1]["content"] for request in server.requests]
    again = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
    after = [request["messages"][1]["content"] for request in server.requests[len(before) :]]
    assert len(after) == 4
    assert not set(after) & set(before[:4])
