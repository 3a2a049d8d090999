"""Replies on disk: what is one request, what is kept, and many processes at once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.cache import CachingChat, cache_stats, prune_cache
from pytest_mtarena.llm.chat import (
    Chat,
    ChatError,
    ChatReply,
    ChatRequest,
    Message,
    ToolCall,
    Usage,
)
from pytest_mtarena.records import Json

GOOD = ChatReply(text="Olá", finish="stop")


class Counter:
    """Answers ``reply 1``, ``reply 2``, … and can be made to fail or to wait."""

    def __init__(self, facts: dict[str, Json] | None = None) -> None:
        self.facts = facts or {"provider": "counter", "endpoint": "3f1a"}
        self.calls = 0
        self.make: Callable[[int], ChatReply] = lambda n: GOOD.model_copy(
            update={"text": f"reply {n}"}
        )
        self.gate: asyncio.Event | None = None
        self.closed = False

    async def ask(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        mine = self.calls
        if self.gate is not None:
            await self.gate.wait()
        return self.make(mine)

    async def aclose(self) -> None:
        self.closed = True


def request(text: str = "Bom dia", **more: Json) -> ChatRequest:
    messages = (Message(role="system", content="Translate."), Message(role="user", content=text))
    return ChatRequest(**{"model": "m-1", "messages": messages, "temperature": 0.0, **more})


def cached(inner: Counter, directory: Path, **more: Json) -> CachingChat:
    return CachingChat(inner, directory, **{"parser_version": "1", **more})


def ask(chat: Chat, *requests: ChatRequest) -> list[ChatReply]:
    async def main() -> list[ChatReply]:
        return [await chat.ask(one) for one in requests]

    return asyncio.run(main())


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_an_equal_request_is_paid_once(tmp_path):
    inner = Counter()
    usage = Usage(prompt_tokens=9, completion_tokens=3, cost_usd=0.01)
    call = ToolCall(id="1", name="look_up", arguments="{}")
    inner.make = lambda n: GOOD.model_copy(
        update={"usage": usage, "seconds": 1.5, "tool_calls": (call,), "model": "m-1-0528"}
    )
    first, second = ask(cached(inner, tmp_path), request(), request())
    assert (first.from_cache, second.from_cache, inner.calls) == (False, True, 1)
    assert second == first.model_copy(update={"from_cache": True})
    # Another process, another object: the same file.
    (third,) = ask(cached(Counter(), tmp_path), request())
    assert third == second


def test_what_makes_a_request_another_one(tmp_path):
    inner = Counter()
    chat = cached(inner, tmp_path)

    def new(chat: Chat, inner: Counter, *requests: ChatRequest) -> int:
        before = inner.calls
        ask(chat, *requests)
        return inner.calls - before

    assert new(chat, inner, request()) == 1
    assert new(chat, inner, request()) == 0
    assert new(chat, inner, request(temperature=0.7)) == 1
    assert new(chat, inner, request(temperature=None)) == 1
    assert new(chat, inner, request(max_tokens=50)) == 1
    assert new(chat, inner, request(model="m-2")) == 1
    assert new(chat, inner, request(messages=(Message(role="user", content="Bom dia"),))) == 1
    assert new(chat, inner, request("café")) == 1
    assert new(chat, inner, request("cafe\N{COMBINING ACUTE ACCENT}")) == 1
    assert new(chat, inner, request("café ")) == 1
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    assert new(chat, inner, request(tools=(tool,))) == 1
    turned = {"function": {"parameters": {}, "name": "f"}, "type": "function"}
    assert new(chat, inner, request(tools=(turned,))) == 0, "the order of keys is no difference"
    schema = {"type": "object"}
    assert new(chat, inner, request(reply_schema=schema, reply_schema_name="a")) == 1
    elsewhere = Counter({"provider": "counter", "endpoint": "77aa"})
    assert new(cached(elsewhere, tmp_path), elsewhere, request()) == 1
    assert new(cached(inner, tmp_path, parser_version="2"), inner, request()) == 1
    samples = [cached(inner, tmp_path, facts={"sample": n}) for n in range(3)]
    texts = [ask(one, request(temperature=0.7))[0].text for one in samples]
    assert len(set(texts)) == 3
    assert [ask(one, request(temperature=0.7))[0].text for one in samples] == texts


@pytest.mark.parametrize(
    "change",
    [
        {"finish": "length"},
        {"finish": "content_filter"},
        {"finish": "unknown"},
        {"text": ""},
        {"text": " \n"},
        {"seconds": float("inf")},
    ],
    ids=str,
)
def test_a_reply_that_is_not_whole_is_not_kept(tmp_path, change):
    inner = Counter()
    inner.make = lambda n: GOOD.model_copy(update=change)
    chat = cached(inner, tmp_path)
    replies = ask(chat, request(), request())
    assert inner.calls == 2
    assert not any(reply.from_cache for reply in replies)
    assert files(tmp_path) == []
    assert chat.counts()["not_kept"] == 2


def test_a_call_of_a_tool_needs_no_text(tmp_path):
    inner = Counter()
    call = ToolCall(id="1", name="look_up", arguments="{}")
    inner.make = lambda n: ChatReply(text="", tool_calls=(call,), finish="tool_calls")
    assert ask(cached(inner, tmp_path), request(), request())[1].tool_calls == (call,)
    assert inner.calls == 1


def test_an_error_is_never_kept(tmp_path):
    inner = Counter()
    good = inner.make

    def fail(n: int) -> ChatReply:
        raise ChatError("server", "down", status=500, tries=3)

    inner.make = fail
    chat = cached(inner, tmp_path)
    with pytest.raises(ChatError, match="down"):
        ask(chat, request())
    assert files(tmp_path) == []
    inner.make = good
    assert ask(chat, request())[0].text == "reply 2"


def damages() -> dict[str, Callable[[bytes], bytes]]:
    def edited(**change: Json) -> Callable[[bytes], bytes]:
        return lambda body: json.dumps(json.loads(body) | change).encode()

    return {
        "empty": lambda body: b"",
        "half": lambda body: body[: len(body) // 2],
        "zeros": lambda body: b"\0" * len(body),
        "other text": lambda body: body.replace(b"reply 1", b"reply 9"),
        "list": lambda body: b"[]",
        "deep": lambda body: b"[" * 100_000,
        "other key": edited(key="0" * 64),
        "other format": edited(format=0),
        "no reply": edited(reply=None),
        "not UTF-8": lambda body: b"\xff" + body,
    }


@pytest.mark.parametrize("name", damages())
def test_a_damaged_file_is_a_miss_and_is_replaced(tmp_path, name):
    inner = Counter()
    chat = cached(inner, tmp_path)
    ask(chat, request())
    (path,) = files(tmp_path)
    path.write_bytes(damages()[name](path.read_bytes()))
    assert [reply.text for reply in ask(chat, request(), request())] == ["reply 2", "reply 2"]
    assert chat.counts()["damaged"] == 1
    assert files(tmp_path) == [path]


@settings(max_examples=60, deadline=None)
@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_flipped_bit_gives_another_reply(tmp_path_factory, position, bit):
    directory = tmp_path_factory.mktemp("bits")
    chat = cached(Counter(), directory)
    ask(chat, request())
    (path,) = files(directory)
    body = bytearray(path.read_bytes())
    body[position % len(body)] ^= 1 << bit
    path.write_bytes(body)
    (reply,) = ask(cached(Counter(), directory), request())
    assert reply.text == "reply 1"


def test_equal_requests_at_once_make_one_call(tmp_path):
    inner = Counter()
    chat, twin = cached(inner, tmp_path), cached(inner, tmp_path)

    async def main() -> list[ChatReply]:
        inner.gate = asyncio.Event()
        tasks = [asyncio.create_task(one.ask(request())) for one in (chat, chat, twin)]
        await asyncio.sleep(0)
        inner.gate.set()
        return await asyncio.gather(*tasks)

    replies = asyncio.run(main())
    assert inner.calls == 1
    assert [reply.from_cache for reply in replies] == [False, True, True]
    assert {reply.text for reply in replies} == {"reply 1"}
    assert twin.counts()["shared"] == 1
    assert CachingChat._flights == {}


def test_those_who_wait_get_the_error_too(tmp_path):
    inner = Counter()

    def fail(n: int) -> ChatReply:
        raise ChatError("rate_limit", "too many", status=429, tries=5)

    inner.make = fail
    chat = cached(inner, tmp_path)

    async def main() -> list[object]:
        inner.gate = asyncio.Event()
        tasks = [asyncio.create_task(chat.ask(request())) for _ in range(3)]
        await asyncio.sleep(0)
        inner.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ends = asyncio.run(main())
    assert [(end.kind, end.status, end.tries) for end in ends] == [("rate_limit", 429, 5)] * 3
    assert inner.calls == 1


def test_another_takes_over_when_the_first_is_cancelled(tmp_path):
    inner = Counter()
    chat = cached(inner, tmp_path)

    async def main() -> ChatReply:
        inner.gate = asyncio.Event()
        first = asyncio.create_task(chat.ask(request()))
        second = asyncio.create_task(chat.ask(request()))
        third = asyncio.create_task(chat.ask(request()))
        await asyncio.sleep(0)
        first.cancel()
        third.cancel()
        await asyncio.sleep(0)
        inner.gate.set()
        return await second

    assert asyncio.run(main()).text == "reply 2"
    assert inner.calls == 2


def test_no_secret_gets_into_a_file(tmp_path, monkeypatch):
    secret = 'sk-"secret"-0123456789'
    monkeypatch.setenv("SOME_API_KEY", secret)
    inner = Counter({"provider": "counter", "authorization": f"Bearer {secret}"})
    chat = cached(inner, tmp_path)
    ask(chat, request(f"my key is {secret}"))
    assert all(b"secret" not in path.read_bytes() for path in files(tmp_path))
    assert "secret" not in repr(chat)
    inner.make = lambda n: GOOD.model_copy(update={"text": f"you sent {secret}"})
    ask(chat, request("say it"))
    assert len(files(tmp_path)) == 1
    assert chat.counts()["not_kept"] == 1


def test_a_reply_that_cannot_be_written_is_used_all_the_same(tmp_path):
    inner = Counter()
    chat = cached(inner, tmp_path)
    shard = tmp_path / chat.key(request())[:2]
    shard.write_text("in the way", encoding="utf-8")
    (reply,) = ask(chat, request())
    assert reply.text == "reply 1"
    assert chat.counts()["write_errors"] == 1
    assert reply.not_kept
    assert str(tmp_path) not in reply.not_kept
    assert "not_kept" not in reply.model_dump()
    assert not ask(chat, request("another"))[0].not_kept


def test_a_directory_that_cannot_be_one(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be the directory of the cache"):
        cached(Counter(), tmp_path / "file")


def test_forgetting(tmp_path):
    inner = Counter()
    chat = cached(inner, tmp_path)
    ask(chat, request())
    assert chat.forget(request())
    assert not chat.forget(request())
    assert ask(chat, request())[0].text == "reply 2"


def aged(chat: CachingChat, text: str, days: float) -> None:
    key = chat.key(request(text))
    then = time.time() - days * 86400
    os.utime(chat._store.path(key), (then, then))


def test_pruning_by_age_and_size(tmp_path):
    chat = cached(Counter(), tmp_path)
    for days, text in enumerate("abcd"):
        ask(chat, request(text))
        aged(chat, text, 10 * days)
    stats = chat.stats()
    assert stats.entries == 4
    assert stats.bytes == sum(path.stat().st_size for path in files(tmp_path))
    assert stats.oldest_days == pytest.approx(30, abs=0.1)
    ask(chat, request("d"))
    assert chat.stats().oldest_days == pytest.approx(20, abs=0.1), "use makes young"
    done = chat.prune(max_age_days=15)
    assert (done.removed, done.entries) == (1, 3)
    size = files(tmp_path)[0].stat().st_size
    done = chat.prune(max_bytes=2 * size)
    assert (done.removed, done.removed_bytes, done.entries, done.bytes) == (1, size, 2, 2 * size)
    assert chat._store.path(chat.key(request("d"))).exists()
    assert chat.prune().removed == 0
    assert chat.prune(max_bytes=0).entries == 0


def test_pruning_touches_nothing_of_others(tmp_path):
    chat = cached(Counter(), tmp_path)
    ask(chat, request())
    (path,) = files(tmp_path)
    key = chat.key(request())
    mine = tmp_path / "README.json"
    beside = path.with_name("notes.json")
    elsewhere = tmp_path / "elsewhere" / path.name
    elsewhere.parent.mkdir()
    young, old = (path.with_name(f"{key}.1.{name}.tmp") for name in ("aa", "bb"))
    for one in (mine, beside, elsewhere, young, old):
        one.write_text("x", encoding="utf-8")
    os.utime(old, (0, 0))
    chat.prune(max_bytes=0)
    assert files(tmp_path) == sorted([mine, beside, elsewhere, young])


def test_what_cannot_be_removed_is_counted_and_stops_nothing(tmp_path):
    chat = cached(Counter(), tmp_path)
    for text in "abc":
        ask(chat, request(text))
    stuck = tmp_path / "aa" / f"{'a' * 64}.json"
    (stuck / "inside").mkdir(parents=True)  # in place of a file that the system does not let go
    done = chat.prune(max_bytes=0)
    assert (done.removed, done.not_removed, done.entries) == (3, 1, 1)
    assert done.why
    assert str(tmp_path) not in done.why


def test_a_directory_that_is_missing_is_an_empty_cache(tmp_path):
    assert cache_stats(tmp_path / "none").entries == 0
    assert prune_cache(tmp_path / "none", max_bytes=0).removed == 0


def test_it_is_a_chat_with_the_facts_of_the_inner_one(tmp_path):
    inner = Counter()
    chat = cached(inner, tmp_path)
    assert isinstance(chat, Chat)
    assert chat.facts == inner.facts
    asyncio.run(chat.aclose())
    assert inner.closed


WORKER = """
import asyncio, random, sys
from pathlib import Path
from pytest_mtarena.llm.cache import CachingChat, prune_cache
from pytest_mtarena.llm.chat import ChatReply, ChatRequest, Message

class Echo:
    facts = {"provider": "echo"}
    async def ask(self, request):
        text = request.messages[0].content
        return ChatReply(text=text * 20000, finish="stop")
    async def aclose(self):
        pass

directory, seed, damage = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True"
draw = random.Random(seed)
chat = CachingChat(Echo(), directory, parser_version="1")

def request(n):
    return ChatRequest(model="m", messages=(Message(role="user", content=f"text {n} "),))

async def main():
    for turn in range(200):
        n = draw.randrange(12)
        reply = await chat.ask(request(n))
        assert reply.text == f"text {n} " * 20000, reply.text[:40]
        if draw.random() < 0.3:
            prune_cache(directory, max_bytes=draw.choice([0, 1_000_000]))
        if damage and draw.random() < 0.1:
            try:
                chat._store.path(chat.key(request(n))).write_bytes(b"{broken")
            except FileNotFoundError:
                pass

asyncio.run(main())
print(chat.counts())
"""


@pytest.mark.parametrize("damage", [True, False])
def test_processes_that_share_a_directory_never_see_a_wrong_reply(tmp_path, damage):
    command = [sys.executable, "-W", "error", "-c", WORKER, str(tmp_path)]
    started = [
        subprocess.Popen(
            [*command, str(seed), str(damage)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for seed in range(4)
    ]
    for process in started:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
        assert b"'write_errors': 0" in output
        assert damage or b"'damaged': 0" in output, "a file was seen before it was whole"
    assert not list(tmp_path.rglob("*.tmp"))
