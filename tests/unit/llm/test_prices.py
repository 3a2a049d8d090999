"""What calls cost: each token once, and what is not known is not free."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ChatReply, ChatRequest, Message, ToolCall, Usage
from pytest_mtarena.llm.prices import (
    FREE,
    Cost,
    Pricer,
    PriceTable,
    Rate,
    fetch_openrouter,
    is_loopback,
    price_of,
    prompt_tokens_at_most,
    read_prices,
)
from pytest_mtarena.records import Json

TOKENS = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=600)
RATE = Rate(input=1.0, cached=0.1, output=2.0)
MINE = PriceTable(file={"m": RATE}, packaged=False)
BUNDLED = PriceTable()


@pytest.fixture
def offline(monkeypatch):
    """Make every attempt to reach the network a failure."""

    def refuse(*args: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def close(usd: float) -> object:
    return pytest.approx(usd, abs=1e-12)


def test_cached_tokens_are_paid_once_at_their_own_price():
    assert price_of("x", "m", TOKENS, table=MINE) == Cost(usd=0.00066, source="file")


def test_without_a_price_of_their_own_cached_tokens_cost_as_much_as_others():
    table = PriceTable(file={"m": Rate(input=1.0, output=2.0)})
    assert price_of("x", "m", TOKENS, table=table).usd == close(0.0012)


def test_reasoning_tokens_are_part_of_the_completion():
    usage = Usage(prompt_tokens=0, completion_tokens=100, reasoning_tokens=80)
    assert price_of("x", "m", usage, table=MINE).usd == close(0.0002)
    dear = PriceTable(file={"m": Rate(input=1.0, output=2.0, reasoning=5.0)})
    assert price_of("x", "m", usage, table=dear).usd == close((20 * 2 + 80 * 5) / 1e6)


def test_a_price_for_each_request_is_added():
    table = PriceTable(file={"m": Rate(input=0, output=0, request=0.005)})
    assert price_of("x", "m", TOKENS, table=table).usd == close(0.005)


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        (None, "no usage"),
        (Usage(), "only a part"),
        (Usage(prompt_tokens=5), "only a part"),
        (Usage(prompt_tokens=5, completion_tokens=1, cached_tokens=6), "contradict"),
        (Usage(prompt_tokens=5, completion_tokens=1, reasoning_tokens=2), "contradict"),
        (Usage(prompt_tokens=-5, completion_tokens=1), "contradict"),
    ],
)
def test_usage_that_says_too_little_gives_no_price(usage, reason):
    cost = price_of("x", "m", usage, table=MINE)
    assert (cost.usd, cost.best_usd) == (None, None)
    assert reason in cost.reason


def test_an_unknown_price_is_none_with_its_reason():
    cost = price_of("openai", "nobody-knows-1", TOKENS, table=BUNDLED)
    assert cost.usd is None
    assert cost.reason == "no price of nobody-knows-1 is known for this endpoint"
    assert price_of("x", "other", TOKENS, table=MINE).reason == "no price of other is known"


def test_what_the_provider_reports_stands_beside():
    usage = TOKENS.model_copy(update={"cost_usd": 0.5})
    cost = price_of("x", "m", usage, table=MINE)
    assert (cost.usd, cost.reported_usd, cost.best_usd) == (close(0.00066), 0.5, 0.5)
    cost = price_of("x", "other", usage, table=MINE)
    assert (cost.usd, cost.best_usd) == (None, 0.5)
    silly = TOKENS.model_copy(update={"cost_usd": float("nan")})
    assert price_of("x", "m", silly, table=MINE).reported_usd is None


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://localhost:1234", True),
        ("HTTP://LOCALHOST./v1", True),
        ("http://[::1]:80/v1", True),
        ("http://[::ffff:127.0.0.1]/v1", True),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://127.0.0.1@example.org/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://0.0.0.0/v1", False),
        ("localhost:80", False),
        ("http://[::1", False),
        ("", False),
        (None, False),
    ],
)
def test_loopback(url, loopback):
    assert is_loopback(url) is loopback


def test_loopback_is_free_unless_the_file_says_otherwise():
    url = "http://127.0.0.1:8080/v1"
    cost = price_of("openai", "tiny", None, table=BUNDLED, base_url=url)
    assert (cost.usd, cost.source) == (0.0, "loopback")
    cost = price_of("x", "m", TOKENS, table=MINE, base_url=url)
    assert cost.source == "file"


# Prices change; what is checked is how they are used.


def test_the_package_knows_prices_without_a_network(offline):
    cost = price_of("openai", "gpt-4o-2024-08-06", TOKENS, table=BUNDLED)
    assert cost.usd is not None
    assert cost.usd > 0
    assert cost.source.startswith("genai-prices ")
    plain = price_of(
        "openai",
        "gpt-4o-2024-08-06",
        Usage(prompt_tokens=1000, completion_tokens=100),
        table=BUNDLED,
    )
    assert cost.usd < plain.usd, "cached tokens are cheaper"
    reasoned = TOKENS.model_copy(update={"reasoning_tokens": 90})
    assert price_of("openai", "gpt-4o-2024-08-06", reasoned, table=BUNDLED).usd == cost.usd


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-20250514"),
        ("gemini", "gemini-2.5-flash"),
        ("openrouter", "google/gemini-2.5-flash"),
    ],
)
def test_the_package_knows_our_providers(offline, provider, model):
    cost = price_of(provider, model, TOKENS, table=BUNDLED)
    assert cost.usd is not None, cost.reason
    assert 0 < cost.usd < 1


def test_the_address_decides_at_an_endpoint_of_ones_own(offline):
    def at(url: str) -> Cost:
        return price_of("openai", "gpt-4o", TOKENS, table=BUNDLED, base_url=url)

    assert (
        at("https://api.openai.com/v1").usd
        == price_of("openai", "gpt-4o", TOKENS, table=BUNDLED).usd
    )
    assert at("https://user:pass@models.example.org/v1").usd is None
    assert "pass" not in at("https://user:pass@models.example.org/v1").reason


def test_what_the_package_lists_without_a_price_is_not_free(offline):
    from genai_prices.data import providers

    unpriced = [
        (provider.id, model.id)
        for provider in providers
        if provider.id in ("openai", "openrouter", "mistral")
        for model in provider.models
        if not isinstance(model.prices, list)
        and (model.prices.input_mtok is None or model.prices.output_mtok is None)
    ]
    assert unpriced
    for provider, model in unpriced:
        cost = price_of(provider, model, TOKENS, table=BUNDLED)
        assert cost.usd is None, model
        assert cost.reason


def test_without_the_package_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    cost = price_of("openai", "gpt-4o", TOKENS, table=BUNDLED)
    assert cost.reason == "no price data: pip install genai-prices"


# OpenRouter's list


def listed(model: str, **pricing: Json) -> Json:
    return {"id": model, "canonical_slug": f"{model}-2025-01-01", "pricing": pricing}


def fetch(handler: Callable[[web.Request], object], timeout: float = 3.0) -> dict[str, Rate]:
    async def main() -> dict[str, Rate]:
        app = web.Application()
        app.router.add_get("/models", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.05)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with aiohttp.ClientSession() as session:
                url = f"http://127.0.0.1:{port}/models"
                return await fetch_openrouter(session, url=url, timeout=timeout)
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def test_openrouter_s_list_is_read():
    models = [
        listed("a/b", prompt="0.00000125", completion="0.00001", input_cache_read="0.00000031"),
        listed("a/b:free", prompt="0", completion="0"),
        listed("router/auto", prompt="-1", completion="-1"),
        listed("a/zero", prompt="0.000001", completion="0.000002", internal_reasoning="0"),
        listed("a/request", prompt="0", completion="0", request="0.005", input_cache_read="x"),
        listed("a/nan", prompt="NaN", completion="1e999999"),
        {"id": "a/none", "pricing": None},
        {"id": 7},
        "text",
    ]

    async def handler(request: web.Request) -> web.Response:
        assert "Authorization" not in request.headers
        return web.json_response({"data": models})

    rates = fetch(handler)
    assert rates["a/b"] == rates["a/b-2025-01-01"] == Rate(input=1.25, output=10, cached=0.31)
    assert rates["a/b:free"] == FREE
    assert rates["a/zero"] == Rate(input=1, output=2)
    assert rates["a/request"].request == 0.005
    assert {"router/auto", "a/nan", "a/none"}.isdisjoint(rates)
    table = PriceTable(openrouter=rates)
    cost = price_of("openrouter", "a/b", TOKENS, table=table)
    assert cost.usd == close((400 * 1.25 + 600 * 0.31 + 100 * 10) / 1e6)
    assert cost.source == "openrouter"
    free = price_of("openrouter", "a/b:free", TOKENS, table=table)
    assert (free.usd, free.source) == (0.0, "openrouter")
    # Its prices are its own.
    assert price_of("openai", "a/b", TOKENS, table=table).usd is None
    far, near = "https://models.example.org/v1", "https://openrouter.ai/api/v1"
    assert price_of("openrouter", "a/b", TOKENS, table=table, base_url=far).usd is None
    assert price_of("openai", "a/b", TOKENS, table=table, base_url=near).usd == cost.usd


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, "{}"),
        (200, "<html>"),
        (200, ""),
        (200, "[]"),
        (200, '{"data": 7}'),
        (200, '{"models": []}'),
        (200, "[" * 100_000),
        (200, "\udcff"),
    ],
    ids=lambda value: str(value)[:12].encode("ascii", "replace").decode(),
)
def test_a_broken_list_is_an_empty_one(status, body):
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, body=body.encode("utf-8", "surrogateescape"))

    assert fetch(handler) == {}


def test_a_slow_list_is_not_waited_for():
    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(5)
        return web.Response()

    begin = time.perf_counter()
    assert fetch(handler, timeout=0.05) == {}
    assert time.perf_counter() - begin < 3


def test_a_list_that_breaks_off_is_an_empty_one():
    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b'{"data": [')
        request.transport.close()
        return answer

    assert fetch(handler) == {}


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/models"

        async def main() -> dict[str, Rate]:
            async with aiohttp.ClientSession() as session:
                return await fetch_openrouter(session, url=url)

        assert asyncio.run(main()) == {}


# The user's file


def write(directory: Path, text: str) -> Path:
    path = directory / "prices.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_prices(tmp_path):
    text = {
        "_about": "ours",
        "m": {"input": 1.0, "output": 2, "cached": 0.1, "_from": "contract"},
        "openai:m": {"input": 5, "output": 5},
    }
    table = PriceTable(file=read_prices(write(tmp_path, json.dumps(text))))
    assert set(table.file) == {"m", "openai:m"}
    assert price_of("x", "m", TOKENS, table=table).usd == close(0.00066)
    assert price_of("openai", "m", TOKENS, table=table).usd == close(0.0055)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n"m": }', r"prices\.json:2: prices have to be JSON"),
        ("[]", "have to be an object"),
        ('{"m": 3}', "m: has to be an object"),
        ('{"m": {"input": 1}}', "m: output missing; a free model says 0"),
        ('{"m": {}}', "input and output missing"),
        ('{"m": {"input": "1", "output": 2}}', "input has to be a number"),
        ('{"m": {"input": true, "output": 2}}', "input has to be a number"),
        ('{"m": {"input": -1, "output": 2}}', "0 or more"),
        ('{"m": {"input": NaN, "output": 2}}', "input has to be a number"),
        ('{"m": {"input": 1, "output": 2, "prompt": 3}}', "unknown key prompt; known: input"),
        ('{"m": {"input": 1, "output": 2}, "m": {}}', "m stands there twice"),
        ("[" * 100_000, "have to be JSON"),
        ("9" * 5000, "have to be JSON"),
        ('{"m": {"input": 1, "output": 1%s}}' % ("0" * 400), "output has to be a number"),
    ],
    ids=lambda text: text[:30],
)
def test_a_broken_file_of_prices(tmp_path, text, problem):
    with pytest.raises(UsageError, match=problem):
        read_prices(write(tmp_path, text))


def test_a_file_of_prices_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot read the prices"):
        read_prices(tmp_path / "none.json")


# The worst case


def request(content: str = "Olá", **more: Json) -> ChatRequest:
    return ChatRequest(
        **{"model": "m", "messages": (Message(role="user", content=content),), **more}
    )


def test_the_worst_case_is_every_byte_a_token_and_the_longest_reply():
    pricer = Pricer("x", table=MINE)
    one = request("日本", max_tokens=1000)
    tokens = prompt_tokens_at_most(one)
    assert tokens >= 6
    assert pricer.worst_case(one) == close((tokens * 1.0 + 1000 * 2.0) / 1e6)


def test_the_worst_case_takes_the_dearest_price_of_a_token():
    rate = Rate(input=1, cached=0.1, cache_write=1.25, output=2, reasoning=3)
    pricer = Pricer("x", table=PriceTable(file={"m": rate}))
    one = request(max_tokens=1000)
    assert pricer.worst_case(one) == close((prompt_tokens_at_most(one) * 1.25 + 3000) / 1e6)


def test_everything_that_is_sent_counts():
    def more(**change: Json) -> int:
        return prompt_tokens_at_most(request(**change)) - prompt_tokens_at_most(request())

    text = "x" * 500
    schema = {"type": "object", "description": text}
    assert more(content=text) == 500 - len("Olá".encode())
    assert more(reply_schema=schema) > 500
    assert more(tools=(schema,)) > 500
    call = ToolCall(id="1", name="f", arguments=text)
    assert more(messages=(Message(role="assistant", tool_calls=(call,)),)) > 480


def test_without_a_bound_of_the_reply_only_what_is_free_has_a_worst_case():
    assert Pricer("x", table=MINE).worst_case(request()) is None
    assert Pricer("x", table=PriceTable(file={"m": FREE})).worst_case(request()) == 0
    loopback = Pricer("x", table=BUNDLED, base_url="http://localhost:1/v1")
    assert loopback.worst_case(request()) == 0
    assert Pricer("openai", table=BUNDLED).worst_case(request(model="unheard-of")) is None


@given(
    prompt=st.integers(0, 200),
    completion=st.integers(0, 300),
    cached=st.floats(0, 1),
    reasoning=st.floats(0, 1),
    provider_and_model=st.sampled_from(
        [("x", "m"), ("openai", "gpt-4o"), ("perplexity", "sonar-deep-research")]
    ),
)
def test_no_call_within_its_bounds_costs_more_than_the_worst_case(
    prompt, completion, cached, reasoning, provider_and_model
):
    provider, model = provider_and_model
    pricer = Pricer(provider, table=PriceTable(file={"m": RATE}))
    one = request("x" * prompt, model=model, max_tokens=300)
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=int(prompt * cached),
        reasoning_tokens=int(completion * reasoning),
    )
    cost = pricer.cost_of(one, ChatReply(text="", usage=usage))
    assert cost is not None
    assert cost <= pricer.worst_case(one)
