"""The client against a server on this machine: streams, faults, retries, secrets."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import threading
import time
import warnings
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any

import pytest

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.breaker import Breaker
from pytest_mtarena.llm.budget import Budget, Toll
from pytest_mtarena.llm.chat import Chat, ChatError, ChatReply, ChatRequest, Message
from pytest_mtarena.llm.client import ProviderChat, checked_url
from pytest_mtarena.llm.keys import Key, MissingKey
from pytest_mtarena.llm.proxies import place_of
from pytest_mtarena.llm.retry import Gate, RealClock, Retry
from tests.unit.llm.loopback import Answer, Loopback, Seen, events, good, named, piece

SECRET = "sk-verySecretWord"
ASK = ChatRequest(model="m", messages=(Message(role="user", content="Ola"),))


class QuickClock(RealClock):
    """Real time for measuring; waits are noted and over at once."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


def chat_for(server: Loopback, **given: Any) -> ProviderChat:
    given.setdefault("environ", {})
    given.setdefault("clock", QuickClock())
    return ProviderChat(given.pop("provider", "compatible"), base_url=server.url, **given)


def run(of: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(of)


def asked(*answers: Answer, request: ChatRequest = ASK, **given: Any) -> tuple[ChatReply, Loopback]:
    """Ask once and return the reply and what the server saw."""

    async def go() -> tuple[ChatReply, Loopback]:
        async with Loopback(*answers) as server:
            chat = chat_for(server, **given)
            try:
                return await chat.ask(request), server
            finally:
                await chat.aclose()

    result: tuple[ChatReply, Loopback] = run(go())
    return result


def refused(*answers: Answer, **given: Any) -> tuple[ChatError, Loopback]:
    """Ask once and return the error and what the server saw."""

    async def go() -> tuple[ChatError, Loopback]:
        async with Loopback(*answers) as server:
            chat = chat_for(server, **given)
            with pytest.raises(ChatError) as caught:
                await chat.ask(ASK)
            await chat.aclose()
            return caught.value, server

    result: tuple[ChatError, Loopback] = run(go())
    return result


def test_a_stream() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    slow = events(
        piece(None, role="assistant"),
        piece("Bom "),
        piece("día"),
        piece(finish="stop"),
        {"model": "served-1", "choices": [], "usage": usage},
    )
    reply, server = asked(slow)
    assert (reply.text, reply.finish, reply.model, reply.tries) == (
        "Bom día",
        "stop",
        "served-1",
        1,
    )
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 5)
    assert reply.first_token_seconds is not None
    assert 0 < reply.first_token_seconds <= reply.seconds < 5
    assert server.seen[0].path == "/v1/chat/completions"
    assert server.seen[0].body["stream"] is True
    assert "authorization" not in server.seen[0].headers


def test_the_first_token_is_timed_by_itself() -> None:
    reply, _ = asked(Answer(chunks=good().chunks, hang=0.15))
    assert reply.first_token_seconds is not None
    assert reply.first_token_seconds < 0.1
    silent = Answer(chunks=[b": wait\n\n", *events(piece("x", finish="stop")).chunks], delay=0.1)
    reply, _ = asked(silent)
    assert reply.first_token_seconds is not None
    assert reply.first_token_seconds >= 0.1


def test_it_is_a_chat() -> None:
    assert isinstance(ProviderChat("compatible", base_url="http://localhost/v1", environ={}), Chat)


def test_usage_in_a_last_chunk_that_still_has_a_choice() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 600},
    }
    for choices in ([], [{"index": 0, "delta": {}}]):
        reply, _ = asked(
            events(piece("ola"), piece(finish="stop"), {"choices": choices, "usage": usage})
        )
        assert reply.usage is not None
        assert reply.usage.cached_tokens == 600
        assert (reply.text, reply.finish) == ("ola", "stop")


def test_a_stream_without_usage_has_none() -> None:
    assert asked(good())[0].usage is None


def test_letters_split_by_the_network() -> None:
    text = "Mun ñu 🏔️ 你好"
    body = b"".join(events(piece(text), piece(finish="stop")).chunks)
    reply, _ = asked(Answer(chunks=[body[at : at + 1] for at in range(len(body))]))
    assert reply.text == text


def test_halves_of_a_letter_in_two_events() -> None:
    halves = [b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n']
    halves += [b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00 \\ud83d"}}]}\n\n']
    reply, _ = asked(Answer(chunks=[*halves, b"data: [DONE]\n\n"]))
    assert reply.text == "😀 \ufffd"


def test_half_a_letter_in_the_request_is_sent_as_it_is() -> None:
    request = ChatRequest(model="m", messages=(Message(role="user", content="a\ud83d"),))
    _, server = asked(good(), request=request)
    assert server.seen[0].body["messages"][0]["content"] == "a\ud83d"


def test_a_line_of_half_a_megabyte_and_more() -> None:
    text = "ñ" * 400_000
    body = b"".join(events(piece(text), piece(finish="stop")).chunks)
    chunks = [body[at : at + 65_537] for at in range(0, len(body), 65_537)]
    assert asked(Answer(chunks=chunks))[0].text == text


def test_json_although_a_stream_was_asked_for() -> None:
    whole = {
        "model": "served-2",
        "choices": [{"index": 0, "message": {"content": "ola"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    reply, _ = asked(Answer(json=whole))
    assert (reply.text, reply.model, reply.first_token_seconds) == ("ola", "served-2", None)
    assert reply.usage is not None


def test_without_streaming_none_is_asked_for() -> None:
    whole = {"choices": [{"message": {"content": "ola"}, "finish_reason": "stop"}]}
    reply, server = asked(Answer(json=whole), stream=False)
    assert reply.text == "ola"
    assert "stream" not in server.seen[0].body
    assert "stream_options" not in server.seen[0].body


def test_a_stream_ends_at_its_marker_though_the_connection_stays() -> None:
    begun = time.monotonic()
    reply, _ = asked(Answer(chunks=good().chunks, hang=0.3))
    assert reply.text == "ola"
    assert reply.seconds < 0.25
    assert time.monotonic() - begun < 2


def test_connections_are_used_again() -> None:
    async def go() -> int:
        async with Loopback(good()) as server:
            chat = chat_for(server)
            for _ in range(5):
                await chat.ask(ASK)
            await chat.aclose()
            return len(server.connections)

    assert run(go()) == 1


def test_kept_connections_that_died_cost_no_try() -> None:
    """A server that answers once on each connection and hangs up when asked again."""
    body = json.dumps({"choices": [{"message": {"content": "ola"}, "finish_reason": "stop"}]})
    reply = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"

    async def go() -> tuple[list[int], int]:
        connections = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            await reader.readexactly(length)
            await asyncio.sleep(0.01)
            writer.write(f"{reply}\r\n\r\n{body}".encode())
            await reader.read(1)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        chat = ProviderChat(
            "compatible", base_url=f"http://{host}:{port}/v1", environ={}, retry=Retry(tries=1)
        )
        replies = await asyncio.gather(*(chat.ask(ASK) for _ in range(8)))
        replies += [await chat.ask(ASK), await chat.ask(ASK)]
        await chat.aclose()
        server.close()
        return [reply.tries for reply in replies], connections

    assert run(go()) == ([1] * 10, 10)


def test_a_chat_can_be_used_after_closing() -> None:
    async def go() -> str:
        async with Loopback(good()) as server:
            chat = chat_for(server)
            await chat.ask(ASK)
            await chat.aclose()
            text = (await chat.ask(ASK)).text
            await chat.aclose()
            await chat.aclose()
            return text

    assert run(go()) == "ola"


# Faults


@pytest.mark.parametrize(
    ("status", "kind", "requests"),
    [
        (400, "request", 1),
        (401, "auth", 1),
        (402, "auth", 1),
        (403, "auth", 1),
        (404, "not_found", 1),
        (422, "request", 1),
        (408, "timeout", 3),
        (429, "rate_limit", 3),
        (500, "server", 3),
        (503, "server", 3),
        (529, "server", 3),
    ],
)
def test_statuses(status: int, kind: str, requests: int) -> None:
    answer = Answer(status=status, json={"error": {"message": "the provider's word"}})
    error, server = refused(answer, retry=Retry(tries=3))
    assert (error.kind, error.status, error.tries) == (kind, status, requests)
    assert len(server.seen) == requests
    assert "the provider's word" in str(error)
    assert str(status) in str(error)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "plain words"}, "plain words"),
        ({"detail": "of a framework"}, "of a framework"),
        ({"detail": [{"msg": "wrong field"}]}, "wrong field"),
        ({"object": "error", "message": "older form"}, "older form"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"error": {"message": "outer", "metadata": {"raw": "inner"}}}, "outer: inner"),
        ({"error": {}}, "Bad Request"),
        ([], "Bad Request"),
    ],
)
def test_messages_in_all_forms(body: Any, said: str) -> None:
    error, _ = refused(Answer(status=400, json=body))
    assert said in str(error)


def test_a_long_message_is_cut_and_made_printable() -> None:
    error, _ = refused(Answer(status=400, json={"error": {"message": "\x1b[2J" + "x" * 100_000}}))
    assert len(str(error)) < 400
    assert "\x1b" not in str(error)


def test_an_error_page_is_shown_short() -> None:
    page = Answer(status=502, chunks=[b"<html>Bad gateway</html>"], content_type="text/html")
    error, _ = refused(page, retry=Retry(tries=1))
    assert error.kind == "server"
    assert "<html>Bad gateway" in str(error)


def test_an_account_without_money_is_not_asked_again() -> None:
    body = {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}
    error, server = refused(Answer(status=429, json=body))
    assert (error.kind, error.status, len(server.seen)) == ("auth", 429, 1)


def test_redirects_are_not_followed() -> None:
    error, server = refused(Answer(status=307, headers={"Location": "http://127.0.0.1:1/"}))
    assert (error.kind, error.status, len(server.seen)) == ("request", 307, 1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(json={"error": {"code": 429, "message": "slow down"}}), "rate_limit"),
        (Answer(json={"error": {"code": "429", "message": "slow down"}}), "rate_limit"),
        (Answer(json={"error": {"message": "unknown"}}), "server"),
        (events({"error": {"code": 502, "message": "upstream"}}, done=False), "server"),
        (events(piece("half"), {"error": {"message": "upstream"}}), "server"),
        (events(piece("half"), piece(finish="error")), "server"),
        (named(("error", {"message": "in an event"})), "server"),
        (Answer(chunks=[b"event: error\ndata: no json\n\n"]), "server"),
        (Answer(json={"choices": []}), "bad_reply"),
        (Answer(json={"choices": None}), "bad_reply"),
        (Answer(json={}), "bad_reply"),
        (Answer(json="text"), "bad_reply"),
        (Answer(chunks=[]), "bad_reply"),
        (Answer(chunks=[b"<html></html>"], content_type="text/html"), "bad_reply"),
        (Answer(chunks=[b"Just words"], content_type="text/plain"), "bad_reply"),
        (Answer(chunks=[b"data: {broken\n\n"]), "bad_reply"),
        (Answer(chunks=[b"data: " + b"[" * 100_000 + b"\n\n"]), "bad_reply"),
        (Answer(chunks=[b"data: \xff\n\n"]), "bad_reply"),
        (events({"choices": []}), "bad_reply"),
        (events(piece("half"), done=False), "connection"),
        (Answer(chunks=[b": comment\n\n"]), "connection"),
        (Answer(chunks=[*events(piece("half"), done=False).chunks, b'data: {"choi']), "bad_reply"),
        (Answer(chunks=events(piece("half"), done=False).chunks, cut=True), "connection"),
        (Answer(cut=True), "connection"),
    ],
)
def test_a_200_that_is_no_reply_is_tried_again(answer: Answer, kind: str) -> None:
    reply, server = asked(answer, good())
    assert (reply.text, reply.tries, len(server.seen)) == ("ola", 2, 2)
    error, _ = refused(answer, retry=Retry(tries=1))
    assert error.kind == kind


def test_a_wrong_key_said_in_a_200_is_not_tried_again() -> None:
    error, server = refused(Answer(json={"error": {"code": 401, "message": "no"}}))
    assert (error.kind, error.status, len(server.seen)) == ("auth", 401, 1)


def test_a_stream_that_told_its_end_is_complete_without_the_marker() -> None:
    told = events(piece("ola"), piece(finish="stop"), done=False)
    assert asked(told)[0].text == "ola"
    reply, server = asked(Answer(chunks=told.chunks, cut=True))
    assert (reply.text, len(server.seen)) == ("ola", 1)


def test_an_error_that_is_null_is_none() -> None:
    whole = {"error": None, "choices": [{"message": {"content": "ola"}, "finish_reason": "stop"}]}
    assert asked(Answer(json=whole))[0].text == "ola"


def test_a_stall_is_tried_again() -> None:
    stalled = Answer(chunks=events(piece("half"), done=False).chunks, hang=0.3)
    reply, server = asked(stalled, good(), stall=0.1)
    assert (reply.text, reply.tries, len(server.seen)) == ("ola", 2, 2)
    reply, _ = asked(Answer(delay=0.3), good(), stall=0.1)
    assert (reply.text, reply.tries) == ("ola", 2)
    error, _ = refused(Answer(delay=0.3), stall=0.05, retry=Retry(tries=1))
    assert error.kind == "timeout"


def test_the_whole_time_is_limited_and_not_tried_again() -> None:
    error, server = refused(Answer(delay=0.3), timeout=0.1)
    assert (error.kind, len(server.seen)) == ("timeout", 1)
    assert "0.1 s" in str(error)


def test_nobody_there() -> None:
    async def go() -> ChatError:
        async with Loopback(good()) as server:
            url = server.url
        clock = QuickClock()
        chat = ProviderChat("compatible", base_url=url, environ={}, clock=clock)
        with pytest.raises(ChatError) as caught:
            await chat.ask(ASK)
        await chat.aclose()
        return caught.value

    error = run(go())
    assert (error.kind, error.tries) == ("connection", 5)
    assert "127.0.0.1" not in str(error)


# Blocked and cut


def test_an_empty_reply_cut_by_its_limit_is_a_reply() -> None:
    for content in ("", None):
        usage = {
            "prompt_tokens": 5,
            "completion_tokens": 16,
            "total_tokens": 21,
            "completion_tokens_details": {"reasoning_tokens": 16},
        }
        last = {"choices": [], "usage": usage}
        reply, server = asked(events(piece(content), piece(finish="length"), last))
        assert (reply.text, reply.finish, len(server.seen)) == ("", "length", 1)
        assert reply.usage is not None
        assert reply.usage.completion_tokens == 16
        assert reply.usage.reasoning_tokens == 16


@pytest.mark.parametrize(
    "answer",
    [
        Answer(
            json={"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
        ),
        Answer(status=400, json={"error": {"code": "content_filter", "message": "filtered"}}),
        Answer(
            status=403,
            json={"error": {"code": 403, "metadata": {"reasons": ["x"], "flagged_input": "y"}}},
        ),
        Answer(
            json={
                "choices": [
                    {"message": {"content": None, "refusal": "I can't"}, "finish_reason": "stop"}
                ]
            }
        ),
        events(piece(refusal="I ca"), piece(refusal="n't"), piece(finish="stop")),
        events({"error": {"code": "content_filter", "message": "filtered"}}),
    ],
)
def test_blocked_is_a_reply_of_its_own(answer: Answer) -> None:
    reply, server = asked(answer)
    assert (reply.text, reply.finish, len(server.seen)) == ("", "content_filter", 1)


# Retry-After


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after(status: int) -> None:
    def waits(**headers: str) -> list[float]:
        clock = QuickClock()
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        answer = Answer(status=status, json={"error": {"message": "wait"}}, headers=given)
        asked(answer, good(), clock=clock, random=lambda: 0.5)
        return clock.slept

    assert waits(Retry_After="2") == [2.25]
    now = time.time()
    for shift in (0, -7200):
        header = formatdate(now + shift + 4, usegmt=True)
        (wait,) = waits(Retry_After=header, Date=formatdate(now + shift, usegmt=True))
        assert 3 <= wait <= 6
    for nonsense in ("0", "-5", "soon"):
        assert waits(Retry_After=nonsense) == [0.5]


def test_a_day_is_not_waited_for() -> None:
    answer = Answer(status=429, json={}, headers={"Retry-After": "86400"})
    error, server = refused(answer)
    assert (error.kind, len(server.seen)) == ("rate_limit", 1)
    assert "86400" in str(error)


def test_a_wait_in_the_body_counts() -> None:
    clock = QuickClock()
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    body = {"error": {"code": 429, "message": "quota", "details": [detail]}}
    asked(Answer(status=429, json=body), good(), clock=clock, random=lambda: 0.0)
    assert clock.slept == [7.5]


# Many at once


def test_many_calls_with_faults_all_end_and_none_twice() -> None:
    """One in five is answered 429 and one in twenty is reset; 40 calls, 8 places."""
    counter = iter(range(10_000))
    served: list[str] = []

    def make(seen: Seen) -> Answer:
        number = next(counter)
        if number % 5 == 3:
            return Answer(status=429, json={"error": {"message": "slow"}}, delay=0.01)
        if number % 20 == 7:
            return Answer(cut=True, delay=0.01)
        served.append(seen.body["messages"][0]["content"])
        return Answer(chunks=good(served[-1]).chunks, delay=0.01)

    async def go() -> tuple[list[ChatReply], Loopback]:
        async with Loopback(make=make) as server:
            chat = chat_for(server, gate=asyncio.Semaphore(8))
            requests = [
                ChatRequest(model="m", messages=(Message(role="user", content=f"e{at}"),))
                for at in range(40)
            ]
            replies = await asyncio.gather(*map(chat.ask, requests))
            await chat.aclose()
            return replies, server

    replies, server = run(go())
    assert [reply.text for reply in replies] == [f"e{at}" for at in range(40)]
    assert sorted(served) == sorted(f"e{at}" for at in range(40))
    assert server.peak == 8
    assert len(server.seen) <= 1.4 * 40
    assert sum(reply.tries for reply in replies) == len(server.seen)


def test_the_breaker_stops_what_was_not_sent() -> None:
    async def go() -> tuple[list[Any], Loopback]:
        bad = Answer(status=500, json={"error": {"message": "down"}})
        async with Loopback(bad) as server:
            chat = chat_for(
                server,
                gate=asyncio.Semaphore(1),
                breaker=Breaker(limit=3),
                retry=Retry(tries=1),
            )
            found = await asyncio.gather(
                *(chat.ask(ASK) for _ in range(10)), return_exceptions=True
            )
            await chat.aclose()
            return found, server

    found, server = run(go())
    assert [error.kind for error in found] == ["server"] * 3 + ["stopped"] * 7
    assert len(server.seen) == 3
    assert "down" in str(found[-1])


BROKEN_OFF = events(piece("Boa"), {"error": {"code": 502, "message": "gone"}}, done=False)
"""Text was generated before the error came."""


@pytest.mark.parametrize(
    ("bad", "spent", "tries"),
    [
        (BROKEN_OFF, 0.75, 3),
        (events(piece("Boa"), {"error": {"code": 429, "message": "busy"}}, done=False), 0.75, 3),
        (Answer(chunks=good("x").chunks[:1], cut=True), 0.75, 3),
        (Answer(status=504, json={"error": {"message": "gave up"}}), 0.75, 3),
        (Answer(status=503, json={"error": {"message": "busy"}}), 0.0, 5),
        (Answer(status=429, json={"error": {"message": "busy"}}), 0.0, 5),
        (Answer(status=400, json={"error": {"message": "no"}}), 0.0, 1),
    ],
)
def test_every_try_that_may_be_billed_counts(bad: Answer, spent: float, tries: int) -> None:
    budget = Budget(0.8)
    toll = Toll(budget, lambda request: 0.25, lambda request, reply: 0.1)
    error, server = refused(*[bad] * 6, toll=toll)
    assert budget.spent_usd == spent
    assert error.free == (spent == 0)
    assert len(server.seen) == error.tries == tries
    assert budget.held_usd == 0
    assert (error.kind == "stopped") == (tries == 3)


def test_a_try_that_broke_off_counts_beside_the_one_that_was_answered() -> None:
    budget = Budget(0.8)
    toll = Toll(budget, lambda request: 0.25, lambda request, reply: 0.1)
    reply, _ = asked(BROKEN_OFF, good("Bom dia"), toll=toll)
    assert (reply.text, reply.tries) == ("Bom dia", 2)
    assert budget.report()["in_doubt_usd"] == 0.25
    assert budget.spent_usd == 0.35


def test_nothing_is_sent_that_is_not_paid_for() -> None:
    toll = Toll(Budget(0.1), lambda request: 0.25, lambda request, reply: 0.1)
    error, server = refused(good("x"), toll=toll)
    assert (error.kind, error.tries, error.free, len(server.seen)) == ("stopped", 0, True, 0)


def test_an_endpoint_that_sends_the_key_back_does_not_make_it_known() -> None:
    secret = "sk-0123456789abcdef"
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": f'{{"k": "{secret}"}}'}}
    answer = events(
        {**piece(f"Boa {secret}."), "model": f"m-{secret}"},
        {**piece(None, "stop", tool_calls=[call]), "model": f"m-{secret}"},
    )
    reply, _ = asked(answer, key=Key(secret, "X"))
    assert secret not in repr(reply)
    assert reply.text.startswith("Boa ")
    assert reply.model.startswith("m-")


def test_a_wrong_key_stops_at_once() -> None:
    async def go() -> tuple[list[Any], Loopback]:
        async with Loopback(Answer(status=401, json={"error": {"message": "no"}})) as server:
            chat = chat_for(server, gate=asyncio.Semaphore(1), breaker=Breaker())
            found = await asyncio.gather(*(chat.ask(ASK) for _ in range(5)), return_exceptions=True)
            await chat.aclose()
            return found, server

    found, server = run(go())
    assert [error.kind for error in found] == ["auth"] + ["stopped"] * 4
    assert len(server.seen) == 1


def test_a_loop_that_is_blocked_for_ever_can_be_left_for_another() -> None:
    gate, release, blocked = Gate(1), threading.Event(), threading.Event()

    async def go() -> ChatReply:
        async with Loopback(good("well")) as server:
            chat = chat_for(server, gate=gate)

            async def block() -> None:
                await chat.ask(ASK)
                async with gate:
                    blocked.set()
                    release.wait(20)

            thread = threading.Thread(target=lambda: asyncio.run(block()))
            thread.start()
            await asyncio.to_thread(blocked.wait, 20)
            reply = await asyncio.wait_for(chat.ask(ASK), 10)
            release.set()
            await asyncio.to_thread(thread.join)
            await chat.ask(ASK)
            await chat.aclose()
            return reply

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the first connection is left open
        assert run(go()).text == "well"
        gc.collect()
    assert gate.peak == 1


def test_who_waited_for_the_budget_is_not_sent_after_the_end() -> None:
    async def go() -> tuple[int, int]:
        async with Loopback(Answer(chunks=good("x").chunks, delay=0.3), good("y")) as server:
            gate = Gate(2)
            toll = Toll(Budget(0.3), lambda request: 0.2, lambda request, reply: 0.0)
            chat = chat_for(server, gate=gate, toll=toll)
            calls = [asyncio.create_task(chat.ask(ASK)) for _ in range(2)]
            await asyncio.sleep(0.1)
            gate.close()
            done, waiting = await asyncio.wait(calls, timeout=1)
            found = len(done), len(server.seen)
            assert len(gate.parked) == len(waiting) == 1
            for one in waiting:
                one.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await chat.aclose()
            return found

    assert run(go()) == (1, 1)


def test_a_call_can_be_cancelled() -> None:
    async def go() -> bool:
        async with Loopback(Answer(delay=0.3)) as server:
            gate = asyncio.Semaphore(1)
            chat = chat_for(server, gate=gate)
            task = asyncio.create_task(chat.ask(ASK))
            while not server.seen:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await chat.aclose()
            return gate.locked()

    assert run(go()) is False


# Secrets and addresses


def test_the_key_is_in_its_header_and_nowhere_else() -> None:
    echo = Answer(status=400, json={"error": {"message": f"bad key: {SECRET}."}})
    for provider in ("compatible", "openai", "openrouter", "anthropic", "gemini"):
        key = Key(SECRET, "SOME_KEY")
        error, server = refused(echo, provider=provider, key=key)
        assert SECRET not in str(error)
        assert SECRET not in repr(error)
        assert "bad key: [hidden]" in str(error)
        seen = server.seen[0]
        assert SECRET not in seen.path
        assert SECRET not in json.dumps(seen.body)
        assert sum(SECRET in value for value in seen.headers.values()) == 1
        chat = ProviderChat(provider, base_url="http://10.1.2.3/v1", key=key)
        assert SECRET not in repr(chat) + str(chat.facts)
        assert "10.1.2.3" not in repr(chat) + str(chat.facts)


def test_a_missing_key_is_said_before_anything_is_sent() -> None:
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        ProviderChat("anthropic", environ={})


def test_facts_tell_endpoints_apart() -> None:
    def digest(url: str) -> object:
        return ProviderChat("compatible", base_url=url, environ={}).facts["endpoint"]

    assert digest("http://localhost/v1") == digest("http://localhost/v1/")
    assert digest("http://localhost/v1") != digest("http://localhost/v2")


def test_proxies_of_the_environment_are_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert asked(good())[0].text == "ola"


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> tuple[str, str]:
        async with Loopback(good()) as proxy:
            monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            key = Key("x", "SOME_KEY")
            chat = ProviderChat("compatible", base_url="http://models.invalid/v1", key=key)
            reply = await chat.ask(ASK)
            await chat.aclose()
            return reply.text, proxy.seen[0].headers["host"]

    assert run(go()) == ("ola", "models.invalid")


def through(
    monkeypatch: pytest.MonkeyPatch, proxy: str, url: str = "http://models.invalid/v1"
) -> ChatError:
    """Return how a call through a proxy fails."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, proxy)

    async def go() -> ChatError:
        key = Key("x", "SOME_KEY")
        chat = ProviderChat("compatible", base_url=url, key=key, retry=QUICK)
        with pytest.raises(ChatError) as caught:
            await chat.ask(ASK)
        await chat.aclose()
        return caught.value

    error = run(go())
    assert "pass-word" not in str(error)
    return error


QUICK = Retry(tries=3, base=0.001)


@pytest.mark.parametrize("port", ["bad", "99999", "pass-word"])
def test_a_proxy_whose_address_is_none_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    error = through(monkeypatch, f"http://user:pass-word@127.0.0.1:{port}")
    assert (error.kind, error.tries) == ("connection", 1)
    assert "proxy 127.0.0.1" in str(error)


@pytest.mark.parametrize("proxy", ["socks5://user:pass-word@127.0.0.1:9", "SOCKS4://127.0.0.1:9"])
def test_nobody_goes_round_a_proxy_of_a_kind_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    error = through(monkeypatch, proxy)
    assert "proxy 127.0.0.1:9 is of a kind that cannot be used (socks" in str(error)
    assert "pass-word" not in str(error)
    assert (error.tries, error.free) == (1, True)


@pytest.mark.parametrize("form", ["{}", "HTTP://{}", "http://{}", " http://{} "])
def test_a_proxy_may_be_written_without_a_scheme(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    async def go() -> str:
        async with Loopback(good()) as proxy:
            place = proxy.url.removeprefix("http://").removesuffix("/v1")
            monkeypatch.setenv("http_proxy", form.format(place))
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            url, key = "http://models.invalid/v1", Key("x", "SOME_KEY")
            chat = ProviderChat("compatible", base_url=url, key=key)
            reply = await chat.ask(ASK)
            await chat.aclose()
            return proxy.seen[0].headers["host"] + reply.text

    assert run(go()).startswith("models.invalid")


def test_a_proxy_that_nobody_knows_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    error = through(monkeypatch, "http://user:pass-word@proxy.invalid:3128")
    assert (error.kind, error.tries) == ("connection", 1)
    assert "cannot connect to the proxy proxy.invalid:3128 (its host is not known)" in str(error)


@pytest.mark.parametrize("url", ["http://models.invalid/v1", "https://models.invalid/v1"])
def test_a_proxy_that_does_not_listen_is_named(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    error = through(monkeypatch, "http://user:pass-word@127.0.0.1:1", url)
    assert (error.kind, error.tries) == ("connection", 3)
    assert "cannot connect to the proxy 127.0.0.1:1 (" in str(error)


async def proxy_that_says(status: int, reader: Any, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(f"HTTP/1.1 {status} Not today\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()
    writer.close()


@pytest.mark.parametrize(
    ("scheme", "status", "kind", "tries"),
    [
        ("http", 407, "auth", 1),
        ("https", 407, "auth", 1),
        ("https", 403, "auth", 1),
        ("https", 400, "request", 1),
        ("https", 502, "server", 3),
    ],
)
def test_what_a_proxy_says_is_told_as_its_word(
    monkeypatch: pytest.MonkeyPatch, scheme: str, status: int, kind: str, tries: int
) -> None:
    said = functools.partial(proxy_that_says, status)

    async def serve() -> tuple[asyncio.Server, int]:
        server = await asyncio.start_server(said, "127.0.0.1", 0)
        return server, server.sockets[0].getsockname()[1]

    loop = asyncio.new_event_loop()
    server, port = loop.run_until_complete(serve())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        proxy = f"http://user:pass-word@127.0.0.1:{port}"
        error = through(monkeypatch, proxy, f"{scheme}://models.invalid/v1")
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert (error.kind, error.status, error.tries) == (kind, status, tries)
    assert f"the proxy 127.0.0.1:{port} answered {status}: Not today" in str(error)


@pytest.mark.parametrize(
    ("proxy", "place"),
    [
        ("http://proxy.example:3128", "proxy.example:3128"),
        ("http://user:pass-word@proxy.example:3128/path?x", "proxy.example:3128"),
        ("http://user:pass/word@proxy.example", "proxy.example"),
        ("http://user:pass@word@[::1]:80", "[::1]:80"),
        ("http://user:pass-word", "user"),
        ("http://user:12pass-word", "user"),
        ("http://user:pass-word@", "without a host"),
        ("http://", "without a host"),
    ],
)
def test_what_may_be_said_of_a_proxy(proxy: str, place: str) -> None:
    assert place_of(proxy) == place


@pytest.mark.parametrize(
    "url",
    [
        "",
        "models.example/v1",
        "ftp://models.example/",
        "http://",
        "http://[broken/v1",
        "http://host:port/v1",
        "http://a b/v1",
        "https://user:password@models.example/v1",
        "https://models.example/v1?key=sk-1",
        "https://models.example/v1#x",
    ],
)
def test_addresses_that_cannot_work(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked_url(url)
    assert "password" not in str(caught.value)
    assert "sk-1" not in str(caught.value)
