"""What the reply of a language model says of the entries that it was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mtarena.contestants.asked import EntryState
from pytest_mtarena.contestants.calling import clean as storable
from pytest_mtarena.contestants.calling import one_line
from pytest_mtarena.llm import keyed, numbered
from pytest_mtarena.llm.chat import ChatReply
from pytest_mtarena.llm.cleaning import Problem, clean, is_unicode, without_thought
from pytest_mtarena.llm.prompts import UserMessage
from pytest_mtarena.records import Failure

_SHOWN = 8
"""Kinds of problems that are told at most."""


def take_single(state: EntryState, reply: ChatReply, message: UserMessage) -> None:
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


def _flag_unknown_end(state: EntryState, reply: ChatReply) -> None:
    """Note of a text that it may be cut: nobody says how the reply that it stood in ended."""
    if reply.finish == "unknown":
        state.facts["unknown_end"] = one_line(reply.finish_word) or "not told"


def _in_its_words(reply: ChatReply) -> str:
    return f" ({one_line(reply.finish_word)})" if reply.finish_word else ""


def _spent(reply: ChatReply) -> str:
    reasoning = None if reply.usage is None else reply.usage.reasoning_tokens
    where = f" ({reasoning} of them for reasoning)" if reasoning else ""
    return f"no text before the limit of tokens was reached{where}"


def take_batch(group: list[EntryState], reply: ChatReply, message: UserMessage) -> list[EntryState]:
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
    group: Sequence[EntryState], reply: str, message: UserMessage, *, is_cut: bool
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


def _flag_duplicates(group: Sequence[EntryState]) -> None:
    """Mark equal answers to different sources in one reply: a sign that texts were shifted."""
    by_output: dict[str, list[EntryState]] = {}
    for state in group:
        if state.output is not None:
            by_output.setdefault(state.output, []).append(state)
    for states in by_output.values():
        if len({state.source.strip() for state in states}) > 1:
            for state in states:
                state.facts["duplicate_output"] = True
