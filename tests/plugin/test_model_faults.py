"""What endpoints do wrong: each fault ends at its own entry, with its name and the right bill.

Every fault is an entry of its own, asked alone, so that one run shows many.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from endpoint import KEY, Endpoint, Reply, asked_for, completion, piece, stream

from pytest_mtarena.results.verify import verify

ALONE = "--mt-batch-size=1"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    running = Endpoint()
    yield running
    running.close()


@pytest.fixture
def run(arena, corpus, endpoint):
    """Run a suite with an entry of each name; the right translation of each is ``Ok.``"""

    def go(names, *options):
        entries = [{"id": name, "source": f"<{name}>", "reference": "Ok."} for name in names]
        return arena(str(corpus(entries=entries)), *endpoint.options, *options)

    return go


def named(
    replies: Mapping[str, Callable[[int], Reply]],
) -> tuple[Callable[[dict[str, Any]], Reply], Counter[str]]:
    """Return what answers each entry with its own reply, and how often each was asked for.

    A reply is made from how often the entry was asked for before.
    """
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> Reply:
        [name] = [name for name in replies if f"<{name}>" in asked_for(body)]
        seen[name] += 1
        return replies[name](seen[name] - 1)

    return answer, seen


def of(rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return {row["entry_id"]: row[key] for row in rows}


# -- usage and cost -------------------------------------------------------------------------

USAGE = {
    "prompt_tokens": 2000,
    "completion_tokens": 50,
    "total_tokens": 2050,
    "prompt_tokens_details": {"cached_tokens": 1500},
}
SMALL = {"prompt_tokens": 2000, "completion_tokens": 1, "total_tokens": 2001}
PRICE = {"tiny-model": {"input": 2, "cached": 0.5, "output": 8}}
COST = (500 * 2 + 1500 * 0.5 + 50 * 8) / 1e6
END = piece(finish="stop")

USAGES = {
    "no choice": stream(piece("Ok."), END, {"choices": [], "usage": USAGE}),
    "an empty choice": stream(piece("Ok."), END, piece(usage=USAGE)),
    "with the end": stream(piece("Ok."), piece(finish="stop", usage=USAGE)),
    "with the text": stream(piece("Ok.", finish="stop", usage=USAGE)),
    "in every piece": stream(piece("O", usage=SMALL), piece("k.", usage=USAGE), END),
    "null before": stream(piece("Ok.", usage=None), END, {"choices": [], "usage": USAGE}),
    "null after": stream(piece("Ok."), piece(finish="stop", usage=USAGE), piece(usage=None)),
    "in one piece": completion("Ok.", usage=USAGE),
}


def test_cached_tokens_are_billed_wherever_a_stream_tells_its_usage(run, endpoint, pytester):
    (pytester.path / "prices.json").write_text(json.dumps(PRICE), encoding="utf-8")
    endpoint.answer, _ = named({name: lambda n, r=reply: r for name, reply in USAGES.items()})
    result = run(USAGES, ALONE, "--mt-prices=prices.json")
    assert result.code == 0, result.text
    tokens = {"prompt_tokens": 2000, "completion_tokens": 50, "cached_tokens": 1500}
    assert of(result.rows, "usage") == dict.fromkeys(USAGES, tokens)
    assert of(result.rows, "cost_usd") == pytest.approx(dict.fromkeys(USAGES, COST), abs=1e-12)
    totals = result.card["totals"]
    assert totals["cached_tokens"] == 1500 * len(USAGES)
    assert totals["total_cost_usd"] == pytest.approx(COST * len(USAGES), abs=1e-10)
    assert verify(result.card) == []


SILENT = {
    "silent": stream(piece("Ok."), END),
    "null": stream(piece("Ok."), END, piece(usage=None)),
    "empty": completion("Ok.", usage={}),
}


def test_a_reply_without_usage_is_of_unknown_cost_and_not_free(run, endpoint, pytester):
    (pytester.path / "prices.json").write_text(json.dumps(PRICE), encoding="utf-8")
    replies = {**SILENT, "told": completion("Ok.", usage=USAGE)}
    endpoint.answer, _ = named({name: lambda n, r=reply: r for name, reply in replies.items()})
    result = run(replies, ALONE, "--mt-prices=prices.json")
    assert result.code == 0, result.text
    for row in result.rows[:-1]:
        assert (row["usage"], row["cost_usd"]) == ({}, None)
        assert row["metadata"]["cost_unknown"] == "the provider reported no usage"
    totals = result.card["totals"]
    assert totals["total_cost_usd"] is totals["cost_per_entry_usd"] is None
    assert totals["known_cost_usd"] == pytest.approx(COST)
    assert totals["entries_of_unknown_cost"] == len(SILENT)
    assert f"${COST:g} and 3 entries of unknown cost" in result.text
    assert "3 of 4 entries" in result.card["metric_availability"]["totals.total_cost_usd"]
    assert verify(result.card) == []


def test_a_reply_without_usage_counts_as_the_worst_case_under_a_limit(run, endpoint, pytester):
    price = {"tiny-model": {"input": 0, "output": 100}}
    (pytester.path / "prices.json").write_text(json.dumps(price), encoding="utf-8")
    endpoint.answer = lambda body: SILENT["silent"]
    result = run(
        "abcd", ALONE, "--mt-prices=prices.json", "--mt-max-tokens=100", "--mt-max-cost=0.025",
        "--mt-concurrency=1",
    )  # fmt: skip
    assert result.code == 1
    assert len(endpoint.requests) == 2, "100 tokens are at most $0.01"
    assert of(result.rows, "predicted") == {"a": "Ok.", "b": "Ok.", "c": None, "d": None}
    assert "not sent: $0.02 of the limit of $0.025 are spent" in result.rows[2]["error"]


# -- errors that pass, and that do not ------------------------------------------------------

QUICK = {"Retry-After": "0.01"}
ERRORS = {
    "an error in a 200": Reply('{"error": {"message": "slow down", "code": 429}}', headers=QUICK),
    "no choices": Reply('{"choices": []}'),
    "an empty body": Reply(""),
    "a page": Reply("<html>502</html>", kind="text/html"),
    "half of a reply": Reply('data: {"choices": [{"ind', kind="text/event-stream"),
    "a server error": Reply('{"error": {"message": "boom"}}', status=500, headers=QUICK),
    "a busy server": Reply("later", status=503, kind="text/plain", headers=QUICK),
}


def test_an_error_that_passes_costs_one_more_try(run, endpoint):
    endpoint.answer, seen = named(
        {name: lambda n, r=reply: completion("Ok.") if n else r for name, reply in ERRORS.items()}
    )
    result = run(ERRORS, ALONE)
    assert result.code == 0, result.text
    assert seen == dict.fromkeys(ERRORS, 2)
    assert all(row["metadata"]["tries"] == 2 for row in result.rows)
    assert result.card["scores"]["exact_matches"] == len(ERRORS)


def test_an_error_is_not_kept(run, endpoint, pytester):
    names = ["a server error", "an error in a 200"]
    endpoint.answer, seen = named({name: lambda n, r=ERRORS[name]: r for name in names})
    result = run(names, ALONE)
    assert result.code == 1
    assert seen == dict.fromkeys(names, 5)
    assert of(result.rows, "predicted") == dict.fromkeys(names)
    assert result.card["scores"]["errors_by_kind"] == {"api_error": 2}
    assert result.card["totals"]["total_cost_usd"] == 0, "an endpoint on this machine is free"
    assert not list((pytester.path / "eval/cache/harness").glob("*/*.json"))
    endpoint.answer, seen = named({name: lambda n: completion("Ok.") for name in names})
    again = run(names, ALONE)
    assert again.code == 0, again.text
    assert seen == dict.fromkeys(names, 1)
    assert again.card["scores"]["exact_matches"] == 2


# -- no answer, half an answer, a refusal ---------------------------------------------------

THOUGHT = {
    "prompt_tokens": 20,
    "completion_tokens": 16,
    "total_tokens": 36,
    "completion_tokens_details": {"reasoning_tokens": 16},
}
FILTERED = '{"error": {"code": "content_filter", "message": "filtered"}}'
HELD = {
    "only thought": ("truncated", completion("", "length", usage=THOUGHT)),
    "only thought null": ("truncated", completion(None, "length", usage=THOUGHT)),
    "only thought stream": (
        "truncated",
        stream(piece(reasoning_content="hm"), piece(finish="length"), piece(usage=THOUGHT)),
    ),
    "filtered": ("blocked", completion(None, "content_filter")),
    "filtered in part": ("blocked", completion("O", "content_filter")),
    "filtered 400": ("blocked", Reply(FILTERED, status=400)),
    "filtered in a 200": ("blocked", Reply(FILTERED)),
    "refused": ("blocked", completion(None, refusal="I cannot help with that.")),
    "empty": ("parse_error", completion("")),
    "null": ("parse_error", completion(None)),
    "a day": ("api_error", Reply("{}", status=429, headers={"Retry-After": "86400"})),
    "no such model": ("api_error", Reply('{"error": {"message": "none"}}', status=404)),
    "cut": (None, completion("O", "length")),
    "good": (None, completion("Ok.")),
}


def test_what_is_no_answer_has_its_name_and_stays_in_the_denominator(run, endpoint):
    endpoint.answer, seen = named({name: lambda n, r=reply: r for name, (_, reply) in HELD.items()})
    result = run(HELD, ALONE)
    assert result.code == 1
    kinds = {
        name: failure and failure["kind"] for name, failure in of(result.rows, "failure").items()
    }
    assert kinds == {name: kind for name, (kind, _) in HELD.items()}
    assert seen == dict.fromkeys(HELD, 1), "none of them is worth a second try"
    said = {name: text for name, text in of(result.rows, "predicted").items() if text is not None}
    assert said == {"cut": "O", "good": "Ok."}
    usage = of(result.rows, "usage")
    for name in ("only thought", "only thought null", "only thought stream"):
        assert (usage[name]["completion_tokens"], usage[name]["reasoning_tokens"]) == (16, 16)
    errors = of(result.rows, "error")
    assert "--mt-max-tokens" in errors["only thought"]
    assert "content_filter" in errors["filtered"]
    assert "86400" in errors["a day"]
    assert of(result.rows, "metadata")["cut"]["truncated"] is True
    scores = result.card["scores"]
    assert scores["evaluated"] == len(HELD)
    assert scores["errors"] == len(HELD) - 2
    assert scores["errors_by_kind"] == {
        "api_error": 2, "blocked": 5, "parse_error": 2, "truncated": 3
    }  # fmt: skip
    assert scores["exact_match_rate"] == pytest.approx(1 / len(HELD), abs=1e-4)
    assert "Traceback" not in result.text
    assert verify(result.card) == []
    again = run(HELD, ALONE)
    assert seen == dict.fromkeys(HELD, 2) | {"good": 1}, "only what is whole was kept"
    assert of(again.rows, "predicted") == of(result.rows, "predicted")


@pytest.mark.parametrize("options", [(), ("--mt-structured",)], ids=["numbered", "keyed"])
def test_what_a_model_never_answers_is_red_and_no_text(run, endpoint, options, mode):
    """The batch leaves one entry out, each time, and an entry alone gets nothing."""

    def answer(body: dict[str, Any]) -> Reply:
        text = asked_for(body)
        if "<b>" not in text or "the text between" in text:
            return completion("Ok." if "<b>" not in text else " ")
        if "response_format" in body:
            return completion('{"a": "Ok.", "b": "", "c": "Ok."}')
        return completion("1. Ok.\n3. Ok.")

    endpoint.answer = answer
    result = run("abc", *options, *mode)
    result.outcomes(passed=2, failed=1)
    assert "error (parse_error)" in result.text
    assert of(result.rows, "predicted") == {"a": "Ok.", "b": None, "c": "Ok."}
    row = result.rows[1]
    assert (row["status"], row["failure"]["kind"]) == ("error", "parse_error")
    assert (row["entry_chrf"], row["exact_match"]) == (0, False)
    scores = result.card["scores"]
    assert (scores["evaluated"], scores["errors"]) == (3, 1)
    assert scores["exact_match_rate"] == pytest.approx(2 / 3, abs=1e-4)
    assert scores["hallucination_rate"] in (None, 0)
    assert "PARSE_ERROR" not in json.dumps(result.card)
    assert len(endpoint.requests) == 2


# -- what is kept ---------------------------------------------------------------------------


def test_another_question_is_another_answer(arena, corpus, endpoint, monkeypatch):
    """Every run asks for one entry; what was asked in the same way before is not sent."""
    other = Endpoint()
    for one in (endpoint, other):
        one.answer = lambda body: completion(f"reply {total()}")

    def total() -> int:
        return len(endpoint.requests) + len(other.requests)

    def ask(
        source: str, *options: str, to: Endpoint = endpoint, model: str = "--mt-model=tiny-model"
    ) -> str:
        before = total()
        path = corpus(entries=[{"id": "a", "source": source, "reference": "r"}])
        result = arena(str(path), model, *to.options[1:], "--mt-metrics=none", *options)
        assert result.code == 0, result.text
        [row] = result.rows
        assert total() - before == (0 if row["metadata"]["from_cache"] else 1)
        return str(row["predicted"])

    text = "Olá, café"
    new = [
        ask(text),
        ask(text, "--mt-temperature=0.7"),
        ask(text, "--mt-temperature=none"),
        ask(text, "--mt-max-tokens=50"),
        ask(text, "--mt-coaching=Be formal."),
        ask(text, model="--mt-model=other-model"),
        ask(text, to=other),
        ask(unicodedata.normalize("NFD", text)),
        ask(f"{text} "),
        ask(text, "--mt-target-lang=French"),
    ]
    assert new == [f"reply {number}" for number in range(1, len(new) + 1)]
    kept = [ask(text), ask(text, "--mt-max-tokens=50", "--mt-temperature=0"), ask(text, to=other)]
    assert kept == ["reply 1", "reply 4", "reply 7"]
    other.close()
