"""A language model as a contestant: a batch is one request, and what is unanswered is asked again.

Answers are joined by number or key only. What has no answer of its own goes into a smaller batch,
then alone, and then fails: no entry ever gets a text that another may own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pytest_mtarena.contestants.calling import clean as storable
from pytest_mtarena.contestants.calling import describe, one_line
from pytest_mtarena.contestants.kept import Kept
from pytest_mtarena.contestants.tools import Toolbox
from pytest_mtarena.llm import keyed, numbered
from pytest_mtarena.llm.cache import CachingChat
from pytest_mtarena.llm.chat import Chat, ChatError, ChatReply, ChatRequest, Message, Usage
from pytest_mtarena.llm.cleaning import Problem, clean, is_unicode, without_thought
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

READING_VERSION = "3"
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
_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_COST_UNIT = 10**12
"""Costs are divided in whole units of 1e-12 US dollars."""
_SHOWN = 8
_SHOWN_CALL = 500
"""Characters of a tool call's arguments and result that stand in a row."""
_T = TypeVar("_T")

CostOf = Callable[[ChatReply], Cost]
"""What a call cost, as the provider says and as computed."""


def reported_cost(reply: ChatReply) -> Cost:
    """Return what the provider says that a call cost, and nothing computed."""
    said = None if reply.usage is None else reply.usage.cost_usd
    return Cost(reason="no prices were given", reported_usd=said)


def served(model: str) -> str:
    """Return the name of the model that answered; servers on this machine may name a file."""
    is_path = model.startswith(("/", "\\")) or model[1:3] in (":\\", ":/")
    return re.split(r"[\\/]", model.rstrip("\\/"))[-1] if is_path else model


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
        states = [_State(str(entry["id"]), str(entry["source"]), entry) for entry in entries]
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

    async def _ask_all(self, states: list[_State], config: RunConfig) -> None:
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

    def _claim(self, states: Sequence[_State]) -> dict[str, asyncio.Future[None]]:
        """Take on the entries that nobody asks for; return the others, with what to wait for."""
        others: dict[str, asyncio.Future[None]] = {}
        for state in states:
            if self._kept is not None and state.key:
                other = self._kept.claim(state.key)
                if other is not None:
                    others[state.id] = other
        return others

    def _release(self, states: Sequence[_State]) -> None:
        for state in states:
            if self._kept is not None and state.key:
                self._kept.release(state.key)

    async def revise(self, entry: Entry, output: str, wish: str, config: RunConfig) -> Attempt:
        """Ask again for one entry: the model sees its translation, then the wish.

        Without tools. The attempt has the time, tokens and cost of this call alone; never raises.
        """
        state = _State(str(entry["id"]), str(entry["source"]), entry)
        request: ChatRequest | None = None
        try:
            request, message = self._revision(entry, output, wish, config)
            reply = await self._further.ask(request)
        except Exception as error:
            state.fail(error, 1, free=self._is_free(request))
            return state.attempt()
        _bill([state], reply, self._cost_of(reply))
        _take_single(state, reply, message)
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

    def _find(self, states: Sequence[_State], config: RunConfig) -> dict[str, Attempt]:
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

    async def _keep(self, states: Sequence[_State]) -> None:
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
        self, group: list[_State], config: RunConfig, gate: asyncio.Semaphore
    ) -> list[_State]:
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
        _bill(group, reply, self._cost_of(reply))
        left: list[_State] = []
        if len(group) == 1:
            _take_single(group[0], reply, message)
            if reply.finish == "interrupted":
                group[0].asked_again.append("interrupted")
                left = group
        else:
            left = _take_batch(group, reply, message)
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
        state: _State,
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
        state: _State,
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
            _bill([state], reply, self._cost_of(reply))
            if not reply.tool_calls or reply.finish in _NOT_DONE:
                _take_single(state, reply, message)
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


@dataclass(slots=True)
class _State:
    """What is known of one entry while it is being attempted."""

    id: str
    source: str
    entry: Entry
    output: str | None = None
    raw: str | None = None
    failure: Failure | None = None
    batch_sizes: list[int] = field(default_factory=list)
    finishes: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    tries: int = 0
    seconds: float = 0.0
    first_token: float | None = None
    usage: dict[str, int] = field(default_factory=dict)
    calls_without_usage: int = 0
    costs: list[float | None] = field(default_factory=list)
    cached_costs: list[float | None] = field(default_factory=list)
    computed: list[float | None] = field(default_factory=list)
    """Computed costs of the calls for which the provider reported one."""
    cost_sources: list[str] = field(default_factory=list)
    cached_calls: int = 0
    asked_again: list[str] = field(default_factory=list)
    facts: dict[str, Json] = field(default_factory=dict)
    tool_calls: list[Json] = field(default_factory=list)
    key: str | None = None
    """The name under which its translation is kept; None when it is not to be."""

    def fail(self, error: Exception, size: int, *, free: bool) -> None:
        """Note a call that had no reply; ``free``: it can have cost nothing."""
        if not isinstance(error, ChatError) or error.tries:
            self.batch_sizes.append(size)
        if not isinstance(error, ChatError):
            self.costs.append(0.0 if free else None)
            self.failure = Failure(kind="exception", message=describe(error).message)
            return
        self.tries += error.tries
        self.costs.append(0.0 if free or error.free else None)
        self.facts["error_kind"] = error.kind
        status = "" if error.status is None else f" (HTTP {error.status})"
        if error.status is not None:
            self.facts["error_status"] = error.status
        self.failure = Failure(kind="api_error", message=f"{error.kind}{status}: {one_line(error)}")

    def attempt(self) -> Attempt:
        """Return what became of the entry."""
        failure = self.failure
        if failure is None and self.output is None:
            why = "; ".join(self.asked_again) or "no answer"
            failure = Failure(kind="parse_error", message=f"no answer for this entry: {why}")
        calls, from_cache = len(self.batch_sizes), self.cached_calls > 0
        metadata: dict[str, Json] = {
            "calls": calls,
            "batch_sizes": self.batch_sizes,
            "finish_reasons": self.finishes,
            "served_model": self.models[-1] if self.models else None,
            "tries": self.tries,
            "from_cache": from_cache,
            **self.facts,
        }
        if len(set(self.models)) > 1:
            metadata["served_models"] = sorted(set(self.models))
        if self.asked_again:
            metadata["asked_again"] = self.asked_again
        if self.calls_without_usage:
            metadata["calls_without_usage"] = self.calls_without_usage
        if self.cost_sources:
            metadata["cost_source"] = ", ".join(self.cost_sources)
        if (computed := _total(self.computed)) is not None:
            metadata["computed_cost_usd"] = computed
        if self.first_token is not None:
            metadata["first_token_seconds"] = self.first_token
        if from_cache:
            metadata["cached_calls"] = self.cached_calls
            metadata["original_cost_usd"] = _total([*self.costs, *self.cached_costs])
        return Attempt(
            id=self.id,
            output=self.output if failure is None else None,
            raw_output=self.raw,
            failure=failure,
            latency_seconds=self.seconds if self.finishes and not from_cache else None,
            usage=self.usage,
            cost_usd=_total([*self.costs, *(0.0 for _ in self.cached_costs)]),
            tool_calls=tuple(self.tool_calls),
            metadata=metadata,
        )


def _take_single(state: _State, reply: ChatReply, message: UserMessage) -> None:
    """Take the reply to a request for one entry."""
    state.raw = storable(reply.text)
    said, why = without_thought(reply.text, [state.source]), f"finish reason {reply.finish}"
    if message.keys:
        found = keyed.read(said, message.keys, cut=reply.finish == "length")
        said = "" if found.whole else found.texts.get(message.keys[0], "")
        why = ", ".join(dict.fromkeys(one.kind for one in found.problems)) or why
    text = clean(said, state.source, message.target)
    if reply.finish == "content_filter":
        told = "the provider held the reply back (content_filter)"
        state.failure = Failure(kind="blocked", message=told)
    elif reply.finish == "interrupted":
        told = f"the provider broke the reply off{_in_its_words(reply)}"
        state.failure = Failure(kind="interrupted", message=told)
    elif reply.finish == "length" and not text:
        state.failure = Failure(kind="truncated", message=f"{_spent(reply)}; raise --mt-max-tokens")
    elif not text:
        what = "the reply has no answer for this key" if message.keys else "the reply is empty"
        state.failure = Failure(kind="parse_error", message=f"{what} ({why})")
    elif not is_unicode(text):
        told = "the reply is not valid Unicode (a lone surrogate)"
        state.failure = Failure(kind="parse_error", message=told)
    else:
        state.output = text
        if reply.finish == "length":  # scored as it is: the limit is a part of the setup
            state.facts["truncated"] = True
        _flag_unknown_end(state, reply)


def _flag_unknown_end(state: _State, reply: ChatReply) -> None:
    """Note of a text that it may be cut: nobody says how the reply that it stood in ended."""
    if reply.finish == "unknown":
        state.facts["unknown_end"] = one_line(reply.finish_word) or "not told"


def _in_its_words(reply: ChatReply) -> str:
    return f" ({one_line(reply.finish_word)})" if reply.finish_word else ""


def _spent(reply: ChatReply) -> str:
    reasoning = None if reply.usage is None else reply.usage.reasoning_tokens
    where = f" ({reasoning} of them for reasoning)" if reasoning else ""
    return f"no text before the limit of tokens was reached{where}"


def _take_batch(group: list[_State], reply: ChatReply, message: UserMessage) -> list[_State]:
    """Take the reply to a request for several entries; return those without an answer."""
    if reply.finish == "content_filter":
        for state in group:
            state.asked_again.append("blocked")
        return list(group)
    is_cut = reply.finish in ("length", "interrupted")
    said = without_thought(reply.text, [state.source for state in group])
    texts, problems, whole = _read(group, said, message, is_cut=is_cut)
    left = []
    for place, state in enumerate(group):
        raw = texts.get(place)
        text = "" if raw is None or whole else clean(raw, state.source, message.target)
        if text and is_unicode(text):
            state.raw, state.output = storable(raw or ""), text
            _flag_unknown_end(state, reply)
        else:
            cut_by = "truncated" if reply.finish == "length" else reply.finish
            why = _why(place, problems, whole=whole, cut_by=cut_by if is_cut else "")
            state.asked_again.append(why)
            left.append(state)
    _flag_duplicates(group)
    return left


def _read(
    group: Sequence[_State], reply: str, message: UserMessage, *, is_cut: bool
) -> tuple[dict[int, str], list[tuple[int | None, Problem]], bool]:
    """Return answers by place in the group, problems with their place, and whether all is lost."""
    if message.keys:
        by_key = keyed.read(reply, message.keys, cut=is_cut)
        places = {key: place for place, key in enumerate(message.keys)}
        return (
            {places[key]: text for key, text in by_key.texts.items()},
            [(places.get(one.where), one) for one in by_key.problems],
            by_key.whole,
        )
    sources = [state.source for state in group]
    by_number = numbered.read(reply, sources, message.marks, cut=is_cut)
    found = [
        (None if one.kind in ("stray", "out_of_range") else int(one.where) - 1, one)
        for one in by_number.problems
    ]
    texts = {number - 1: text for number, text in by_number.texts.items()}
    return texts, found, by_number.whole


def _why(
    place: int, problems: Sequence[tuple[int | None, Problem]], *, whole: bool, cut_by: str
) -> str:
    own = [one.kind for at, one in problems if at == place]
    if whole:
        kinds = list(dict.fromkeys(one.kind for _, one in problems))[:_SHOWN]
        return f"the whole reply was set aside: {', '.join(kinds)}"
    return cut_by or (own[0] if own else "empty")


def _flag_duplicates(group: Sequence[_State]) -> None:
    """Mark equal answers to different sources in one reply: a sign that texts were shifted."""
    by_output: dict[str, list[_State]] = {}
    for state in group:
        if state.output is not None:
            by_output.setdefault(state.output, []).append(state)
    for states in by_output.values():
        if len({state.source.strip() for state in states}) > 1:
            for state in states:
                state.facts["duplicate_output"] = True


def _bill(group: Sequence[_State], reply: ChatReply, cost: Cost) -> None:
    """Divide what a call took among the entries that it carried."""
    usage = reply.usage or Usage()
    counts: dict[str, list[int]] = {}
    for name in _COUNTS:
        total = getattr(usage, name)
        if total is not None:
            counts[name] = divide(total, len(group))
    costs = _shares(cost.best_usd, len(group))
    computed = _shares(cost.usd, len(group))
    for place, state in enumerate(group):
        state.batch_sizes.append(len(group))
        state.finishes.append(reply.finish)
        if reply.not_kept:
            state.facts[CACHE_ERROR] = reply.not_kept
        source = "reported" if cost.reported_usd is not None else cost.source
        if source and source not in state.cost_sources:
            state.cost_sources.append(source)
        if cost.best_usd is None and not reply.from_cache:
            state.facts["cost_unknown"] = cost.reason
        if cost.reported_usd is not None:
            state.computed.append(computed[place])
        state.tries += reply.tries
        state.calls_without_usage += not counts
        for name, shares in counts.items():
            state.usage[name] = state.usage.get(name, 0) + shares[place]
        if reply.model:
            state.models.append(served(reply.model))
        if reply.from_cache:
            state.cached_calls += 1
            state.cached_costs.append(costs[place])
            continue
        state.costs.append(costs[place])
        state.seconds += reply.seconds
        if state.first_token is None:
            state.first_token = reply.first_token_seconds


def divide(total: int, parts: int) -> list[int]:
    """Return whole shares as equal as can be, the larger ones first; their sum is the total."""
    share, rest = divmod(total, parts)
    return [share + (place < rest) for place in range(parts)]


def _shares(cost: float | None, parts: int) -> list[float | None]:
    """Divide a cost; unknown shares of one that is unknown."""
    if cost is None:
        return [None] * parts
    return [share / _COST_UNIT for share in divide(round(cost * _COST_UNIT), parts)]


def _total(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs, to 1e-12 US dollars; None when one is unknown."""
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 12) if costs and len(known) == len(costs) else None


def _sources(entries: Sequence[Entry]) -> list[str]:
    return [str(entry["source"]) for entry in entries]
