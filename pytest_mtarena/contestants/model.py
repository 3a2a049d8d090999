"""A language model as a contestant: a batch is one request, and what is unanswered is asked again.

Answers are joined by number or key only. What has no answer of its own goes into a smaller batch,
then alone, and then fails: no entry ever gets a text that another may own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pytest_mtarena.contestants.asked import EntryState, bill
from pytest_mtarena.contestants.calling import clean as storable
from pytest_mtarena.contestants.kept import Kept
from pytest_mtarena.contestants.replies import take_batch, take_single
from pytest_mtarena.contestants.tools import Toolbox
from pytest_mtarena.llm import keyed
from pytest_mtarena.llm.cache import CachingChat
from pytest_mtarena.llm.chat import Chat, ChatError, ChatReply, ChatRequest, Message, Usage
from pytest_mtarena.llm.prices import Cost, Estimate, tokens_about
from pytest_mtarena.llm.prompts import (
    ASSUMED_SOURCE,
    Prompt,
    SystemPrompt,
    UserMessage,
    assumes_source,
    keyed_message,
    numbered_message,
    single_message,
)
from pytest_mtarena.protocols import CallGate, Entry, Identity
from pytest_mtarena.records import CACHE_ERROR, Attempt, Failure, Json, RunConfig
from pytest_mtarena.text import cut

READING_VERSION = "4"
"""Changes when the same reply may be read as other texts: one of the facts of an identity."""

SINGLY = 4
"""A batch of so many, or fewer, whose reply cannot be used at all is asked again one by one."""

TOOL_SECONDS = 60.0
"""How long a tool may take for one call, and never more than half of the call's own limit."""

_TOO_LONG = re.compile(
    r"context[ _-]?(length|size|window|limit)|too (long|large|many (input )?tokens)"
    r"|maximum (context|input|prompt|number of tokens)|exceed\w* .{0,40}(tokens|context|length)",
    re.IGNORECASE,
)

ANSWER_TOKENS = 4
"""About what numbers or keys add to the translation of an entry."""

_NOT_DONE = ("length", "content_filter", "interrupted")
"""Ends of replies that may ask for tools with half of the arguments."""
_SHOWN_CALL = 500
"""Characters of a tool call's arguments and result that stand in a row."""
_T = TypeVar("_T")

CostOf = Callable[[ChatReply], Cost]
"""What a call cost, as the provider says and as computed."""


def reported_cost(reply: ChatReply) -> Cost:
    """Return what the provider says that a call cost, and nothing computed."""
    said = None if reply.usage is None else reply.usage.cost_usd
    return Cost(reason="no prices were given", reported_usd=said)


class ModelContestant:
    """Asks a model for translations.

    A batch goes out as one request: as a JSON object with a schema when ``keyed``, else as
    numbered lines. An entry alone goes out as it is. With a keyed prompt every request is a JSON
    object, with a schema when ``keyed``.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        model: str,
        prompt: Prompt,
        identity: Identity,
        keyed: bool = False,
        temperature: float | None = None,
        max_tokens: int | None = None,
        cost_of: CostOf = reported_cost,
        together: int = 1,
        worst_case: Callable[[ChatRequest], float | None] | None = None,
        tools: Toolbox | None = None,
        max_tool_rounds: int = 8,
        gate: CallGate | None = None,
        kept: Kept | None = None,
        further: Chat | None = None,
        as_given: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Make a contestant.

        ``temperature`` and ``max_tokens`` are sent as they are given; None: not sent.
        ``together`` is how many of an attempt's own calls may run at once when it has to ask
        again: 1 unless the chat itself limits how many calls are out, with ``gate``.
        ``worst_case`` says what a request can cost at most, for estimates. With ``tools`` every
        entry goes out alone; the model may ask for tools in at most ``max_tool_rounds`` replies.
        ``kept`` has the translations of entries that were paid before. ``further`` is asked
        instead of ``chat`` for what belongs to no batch: rounds of tools, and revisions.
        ``as_given``: the model's name as the user wrote it. ``notes``: what is to be known of the
        model itself, such as a name that moves.
        """
        self.identity = identity
        self._kept = kept
        self._further = further or chat
        self._as_given = as_given
        self._notes = tuple(notes)
        self._chat = chat
        self._model = model
        self._prompt = prompt
        self._keyed = keyed
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._cost_of = cost_of
        self._together = together
        self._worst_case = worst_case
        self._tools = tools
        self._max_rounds = max_tool_rounds
        self.gate = gate

    def check(self, config: RunConfig) -> None:
        """Raise UsageError when there can be no system prompt for a run."""
        self.system_prompt(config)

    def system_prompt(self, config: RunConfig) -> SystemPrompt:
        """Return the system prompt of a run, for its card and for a dry run."""
        return self._prompt.system(config)

    def notes(self, config: RunConfig) -> list[str]:
        """Return what has to be known of how the model is asked in a run, one line each."""
        notes = list(self._notes)
        if assumes_source(config) and ASSUMED_SOURCE in self.system_prompt(config).text:
            notes.append(
                f"the suite names no source language: {ASSUMED_SOURCE} is assumed "
                "(--mt-source-lang)"
            )
        return notes

    def run_facts(self, config: RunConfig) -> dict[str, Json]:
        """Return what the card of a run says of how the model was asked."""
        prompt = self.system_prompt(config)
        return {
            "condition": "coached"
            if self._prompt.coaching and not self._prompt.keyed
            else prompt.name,
            "system_prompt": prompt.text,
            "api_provider": self._chat.facts.get("provider"),
            "coaching_file": self._prompt.coaching_file,
            "model_as_given": self._as_given,
        }

    def estimate(self, batches: Iterable[Sequence[Entry]], config: RunConfig) -> Estimate:
        """Return what batches will take, when each is answered at once."""
        total = Estimate()
        system = self.system_prompt(config).text
        for batch in batches:
            left = [entry for entry in batch if not self._is_kept(entry, system, config)]
            kept = len(batch) - len(left)
            if not left:
                total = total.plus(Estimate(kept=kept))
                continue
            request = self._request(_sources(left), left, config)[0]
            asked = sum(tokens_about(message.content) for message in request.messages)
            said = sum(ANSWER_TOKENS + tokens_about(text) for text in _sources(left))
            usage = Usage(prompt_tokens=asked, completion_tokens=said)
            cost = self._cost_of(ChatReply(text="", usage=usage))
            most = None if self._worst_case is None else self._worst_case(request)
            total = total.plus(
                Estimate(
                    calls=1,
                    kept=kept,
                    prompt_tokens=asked,
                    completion_tokens=said,
                    usd=cost.usd,
                    most_usd=most,
                    dearest_usd=most or 0.0,
                )
            )
        return total

    def _is_kept(self, entry: Entry, system: str, config: RunConfig) -> bool:
        if self._kept is None or self._tools is not None:
            return False
        return self._kept.find(self._kept.key(entry, system, config)) is not None

    async def attempt(self, entries: Sequence[Entry], config: RunConfig) -> list[Attempt]:
        """Return one attempt per entry, in their order; raises only if cancelled."""
        states = [EntryState(str(entry["id"]), str(entry["source"]), entry) for entry in entries]
        found: dict[str, Attempt] = {}
        left = states
        while left:
            found |= self._find(left, config)
            left = [state for state in left if state.id not in found]
            others = self._claim(left)
            mine = [state for state in left if state.id not in others]
            try:
                await self._ask_all(mine, config)
            finally:
                self._release(mine)
            # Only now, when nobody waits for us: they may fail, and then it is our turn.
            if others:
                await asyncio.wait(others.values())
            left = [state for state in left if state.id in others]
        return [found.get(state.id) or state.attempt() for state in states]

    async def _ask_all(self, states: list[EntryState], config: RunConfig) -> None:
        """Ask for entries in one batch, and again for what got no answer."""
        alone = self._prompt.template is not None or self._tools is not None
        groups = [[one] for one in states] if alone else [states]
        gate = asyncio.Semaphore(max(1, self._together))
        for asked in range(3 if states else 0):
            left = await asyncio.gather(*(self._ask(group, config, gate) for group in groups))
            groups = [
                smaller
                for group, rest in zip(groups, left, strict=True)
                for smaller in ask_again(group, rest, is_first=asked == 0)
            ]
            if not groups:
                break

    def _claim(self, states: Sequence[EntryState]) -> dict[str, asyncio.Future[None]]:
        """Take on the entries that nobody asks for; return the others, with what to wait for."""
        others: dict[str, asyncio.Future[None]] = {}
        for state in states:
            if self._kept is not None and state.key:
                other = self._kept.claim(state.key)
                if other is not None:
                    others[state.id] = other
        return others

    def _release(self, states: Sequence[EntryState]) -> None:
        for state in states:
            if self._kept is not None and state.key:
                self._kept.release(state.key)

    async def revise(self, entry: Entry, output: str, wish: str, config: RunConfig) -> Attempt:
        """Ask again for one entry: the model sees its translation, then the wish.

        Without tools. The attempt has the time, tokens and cost of this call alone; never raises.
        """
        state = EntryState(str(entry["id"]), str(entry["source"]), entry)
        request: ChatRequest | None = None
        try:
            request, message = self._revision(entry, output, wish, config)
            reply = await self._further.ask(request)
        except Exception as error:
            state.fail(error, 1, free=self._is_free(request))
            return state.attempt()
        bill([state], reply, self._cost_of(reply))
        take_single(state, reply, message)
        if state.failure is not None:
            self._forget([request])
        return state.attempt()

    def forget_revision(self, entry: Entry, output: str, wish: str, config: RunConfig) -> None:
        """Have the reply to a revision forgotten, since what was made of it is an error."""
        self._forget([self._revision(entry, output, wish, config)[0]])

    def _revision(
        self, entry: Entry, output: str, wish: str, config: RunConfig
    ) -> tuple[ChatRequest, UserMessage]:
        request, message = self._request([str(entry["source"])], [entry], config)
        form = output
        if message.keys:
            form = json.dumps({message.keys[0]: output}, ensure_ascii=False)
        said = (
            Message(role="assistant", content=form),
            Message(role="user", content=wish),
        )
        update = {"messages": (*request.messages, *said), "tools": ()}
        return request.model_copy(update=update), message

    def _forget(self, requests: Iterable[ChatRequest]) -> None:
        """Have replies forgotten that ended in an error: kept, they would make it last for ever."""
        if isinstance(self._further, CachingChat):
            for request in requests:
                self._further.forget(request)

    async def aclose(self) -> None:
        """Close the chats."""
        await self._chat.aclose()
        if self._further is not self._chat:
            await self._further.aclose()

    def _find(self, states: Sequence[EntryState], config: RunConfig) -> dict[str, Attempt]:
        """Return the attempts that are kept, by id; give the others the key to keep theirs under.

        With tools nothing is kept by entry: what a model asks of them is part of the answer.
        """
        if self._kept is None or self._tools is not None:
            return {}
        system = self.system_prompt(config).text
        found: dict[str, Attempt] = {}
        for state in states:
            state.key = self._kept.key(state.entry, system, config)
            kept = self._kept.find(state.key)
            if kept is not None:
                found[state.id] = kept
        return found

    async def _keep(self, states: Sequence[EntryState]) -> None:
        """Keep what has an answer now, before anything else can go wrong."""
        if self._kept is not None:
            done = {one.key: one.attempt() for one in states if one.key and one.output is not None}
            if done:
                failed = await asyncio.to_thread(self._kept.keep, done)
                for one in states:
                    if one.key in failed:
                        one.facts[CACHE_ERROR] = failed[one.key]

    def _request(
        self, sources: Sequence[str], entries: Sequence[Entry], config: RunConfig
    ) -> tuple[ChatRequest, UserMessage]:
        if self._prompt.template is None and (
            self._prompt.keyed or (self._keyed and len(sources) > 1)
        ):
            ids = [str(entry["id"]) for entry in entries]
            message = keyed_message(ids, sources, self._prompt, config)
        elif len(sources) == 1 or self._prompt.template is not None:
            has_tools = self._tools is not None
            message = single_message(sources[0], self._prompt, config, has_tools=has_tools)
        else:
            message = numbered_message(sources, self._prompt, config)
        has_schema = self._keyed and bool(message.keys)
        request = ChatRequest(
            model=self._model,
            messages=(
                Message(role="system", content=self._prompt.system(config).text),
                Message(role="user", content=message.text),
            ),
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            reply_schema_name=keyed.SCHEMA_NAME if has_schema else None,
            reply_schema=keyed.schema(message.keys) if has_schema else None,
            tools=() if self._tools is None else self._tools.definitions,
        )
        return request, message

    async def _ask(
        self, group: list[EntryState], config: RunConfig, gate: asyncio.Semaphore
    ) -> list[EntryState]:
        """Ask for a group and return those of it that have to be asked again."""
        entries = [state.entry for state in group]
        request: ChatRequest | None = None
        for state in group:
            state.failure = None
        try:
            request, message = self._request([one.source for one in group], entries, config)
            async with gate:
                if self._tools is not None:
                    await self._with_tools(group[0], request, message, config, self._tools)
                    return []
                reply = await self._chat.ask(request)
        except Exception as error:
            free = self._is_free(request)
            for state in group:
                state.fail(error, len(group), free=free)
            if len(group) == 1 or not _is_too_long(error):
                return []
            for state in group:
                state.asked_again.append("too long")
            return group
        bill(group, reply, self._cost_of(reply))
        left: list[EntryState] = []
        if len(group) == 1:
            take_single(group[0], reply, message)
            if reply.finish == "interrupted":
                group[0].asked_again.append("interrupted")
                left = group
        else:
            left = take_batch(group, reply, message)
        # An answer alone that was cut is none to keep; one whose end is unknown may have been.
        may_be_cut = reply.finish in ("unknown", "interrupted")
        if not may_be_cut and not (reply.finish == "length" and len(group) == 1):
            await self._keep(group)
        return left

    def _is_free(self, request: ChatRequest | None) -> bool:
        """Say whether a call costs nothing whatever becomes of it."""
        return (
            request is not None and self._worst_case is not None and self._worst_case(request) == 0
        )

    async def _with_tools(
        self,
        state: EntryState,
        request: ChatRequest,
        message: UserMessage,
        config: RunConfig,
        tools: Toolbox,
    ) -> None:
        """Ask for an entry; answer what the model asks of tools until it answers itself.

        Its replies are forgotten when the entry fails by what they say. A call that failed by
        itself says nothing of those before it, and they are not paid again.
        """
        asked: list[ChatRequest] = []
        try:
            await self._rounds(state, request, message, config, tools, asked)
        except ChatError as error:
            if error.kind == "request":
                self._forget(asked)
            raise
        if state.failure is not None:
            self._forget(asked)

    async def _rounds(
        self,
        state: EntryState,
        request: ChatRequest,
        message: UserMessage,
        config: RunConfig,
        tools: Toolbox,
        asked: list[ChatRequest],
    ) -> None:
        """Do the rounds of an entry, and add what is asked to ``asked``."""
        seconds = min(TOOL_SECONDS, config.timeout_seconds / 2)
        for number in range(1, self._max_rounds + 2):
            asked.append(request)
            reply = await self._further.ask(request)
            bill([state], reply, self._cost_of(reply))
            if not reply.tool_calls or reply.finish in _NOT_DONE:
                take_single(state, reply, message)
                return
            if number > self._max_rounds:
                break
            said = [Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls)]
            for call in reply.tool_calls:
                answer = await tools.answer(call, config, seconds)
                state.tool_calls.append(
                    {
                        "round": number,
                        "name": cut(storable(call.name), _SHOWN_CALL),
                        "arguments": cut(storable(call.arguments), _SHOWN_CALL),
                        "result": cut(answer.text, _SHOWN_CALL),
                        "error": answer.fault,
                    }
                )
                said.append(Message(role="tool", content=answer.text, tool_call_id=call.id))
            request = request.model_copy(update={"messages": (*request.messages, *said)})
        state.raw = storable(reply.text)
        why = f"the model still asks for tools after {self._max_rounds} rounds of them"
        state.failure = Failure(kind="tool_rounds", message=f"{why}; raise --mt-max-tool-rounds")


def _is_too_long(error: Exception) -> bool:
    """Say whether a provider refused a request for its length; there is no status for that."""
    if not isinstance(error, ChatError) or error.kind != "request":
        return False
    return error.status == 413 or bool(_TOO_LONG.search(str(error)))


def ask_again(group: list[_T], left: list[_T], *, is_first: bool) -> list[list[_T]]:
    """Return the groups in which what is left of a group is asked again.

    After the first request: one smaller batch, or two when more than half is left; one by one
    when nothing of a small batch (``SINGLY``) could be used. After that: one by one.
    """
    half = (len(group) + 1) // 2
    if not left:
        return []
    if not is_first or (len(left) == len(group) <= SINGLY):
        return [[one] for one in left]
    if len(left) <= half:
        return [left]
    middle = (len(left) + 1) // 2
    return [left[:middle], left[middle:]]


def _sources(entries: Sequence[Entry]) -> list[str]:
    return [str(entry["source"]) for entry in entries]
