"""What can be wrong with a reply, and the translation inside a reply that is right.

A model wraps what it was asked for: in quotation marks, in a code fence, in bold, below a label.
Only what the source cannot explain is taken off, and nothing is taken out of the middle.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from pytest_mtarena.records import Record

ProblemKind = Literal[
    "missing",
    "duplicate",
    "doubtful",
    "out_of_range",
    "empty",
    "stray",
    "not_text",
    "no_object",
    "several_objects",
]
"""``missing``: no answer; ``duplicate``: several; ``doubtful``: one that may be a part of another
answer, or lack a part; ``out_of_range``: a number or key that was not asked for; ``empty``: an
answer without text; ``stray``: text that belongs to no answer; ``not_text``: a JSON value that is
no string; ``no_object``, ``several_objects``: no JSON object, or more than one with answers."""

_SHOWN = 80


class Problem(Record):
    """One thing that is wrong with the reply to a batch."""

    kind: ProblemKind
    where: str = ""
    """The number or the key that it is about; empty when it is about none."""
    text: str = ""
    """What stood there, cut to 80 characters."""


def problem(kind: ProblemKind, where: object = "", text: str = "") -> Problem:
    """Return a problem; its texts are cut."""
    return Problem(kind=kind, where=str(where)[:_SHOWN], text=text.strip()[:_SHOWN])


FENCE = "```"
_TAGS = ("source", "text", "translation", "target")
_LABEL = 80
"""Characters that a label line has at most."""
_PAIRS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "”": "”",
    "„": "“”",
    "‘": "’",
    "’": "’",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
    "《": "》",
    "＂": "＂",
}
"""Opening mark to the marks that close it."""
_MARKS = frozenset([*_PAIRS, *"".join(_PAIRS.values())])
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_CLOSING = re.compile(r"(?<=\w)['’]")
"""An apostrophe, or a single quotation mark at the end; a mark at the beginning it is not."""
_COLON = re.compile(r":(?!\S)|：")
_COLONS = (":", "：")


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8; JSON can name a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_THOUGHT = ("think", "thinking", "thought", "reasoning")


def without_thought(reply: str, sources: Sequence[str]) -> str:
    """Return a reply without the reasoning that some models put before it, between tags.

    The opening tag may be missing, since some templates put it into the prompt. One that is never
    closed leaves nothing: the model did not get to its answer. A tag that stands in a source is
    text.
    """
    text = reply.lstrip("\ufeff \t\r\n")
    for name in _THOUGHT:
        opening, closing = f"<{name}>", f"</{name}>"
        if any(tag in source for source in sources for tag in (opening, closing)):
            continue
        is_open = text.startswith(opening)
        before, found, after = text.partition(closing)
        if found and (is_open or opening not in before):
            return after.lstrip()
        if is_open:
            return ""
    return reply


def has_lines(text: str) -> bool:
    """Say whether a text has several lines, blank ones at its ends not counted."""
    return len(text.strip().splitlines()) > 1


def is_nothing(text: str, source: str) -> bool:
    """Say whether an answer is empty: no text, or marks alone (``""``, ``-``) where the source
    is more than marks."""
    return not text.strip() or (_has_marks_only(text) and not _has_marks_only(source))


def _has_marks_only(text: str) -> bool:
    return all(unicodedata.category(char)[0] in "PZC" for char in text)


def clean(reply: str, source: str) -> str:
    """Return the translation that a reply to one source holds.

    - White space around it goes, and a code fence, a tag (``<translation>``), bold or quotation
      marks that wrap all of it; each only when the source has none of its kind.
    - A label line before it goes (``Translation:``), unless the source begins with one, or has more
      colons than what is below the label.
    - All lines are kept when the source has several lines. For a source of one line what follows
      a blank line goes, save below a colon: it is a note on the translation.

    Linear in the length of the reply; the empty text when there is nothing.
    """
    text = reply.strip().strip("\ufeff\u200b").strip()
    for _ in range(4):  # a label above a fence around quotation marks, at most
        before = text
        text = _unlabelled(_untagged(_unfenced(text, source), source), source)
        text = _unquoted(_unbolded(text, source), source)
        if text == before:
            break
    if not has_lines(source) and has_lines(text):
        text = _unquoted(_unbolded(_first_paragraph(text), source), source)
    return text


def _unfenced(text: str, source: str) -> str:
    if FENCE in source or not text.startswith(FENCE) or not text.endswith(FENCE):
        return text
    first, line_feed, rest = text.partition("\n")
    if not line_feed:
        first, rest = FENCE, text[len(FENCE) :]
    inner = rest[: -len(FENCE)]
    if len(text) < 2 * len(FENCE) or FENCE in inner or " " in first.strip():
        return text
    return inner.strip()


def _untagged(text: str, source: str) -> str:
    if not text.startswith("<") or not text.endswith(">"):
        return text
    name = text[1 : text.find(">")]
    kind = name.partition("-")[0].lower()
    opening, closing = f"<{name}>", f"</{name}>"
    if kind not in _TAGS or f"<{kind}" in source.lower() or not text.endswith(closing):
        return text
    return text[len(opening) : -len(closing)].strip() if text.count(closing) == 1 else text


def _unlabelled(text: str, source: str) -> str:
    first, _, rest = text.partition("\n")
    label = first.rstrip("*_ \t\r").rstrip()
    if not rest.strip() or len(label) > _LABEL or not label.endswith(_COLONS):
        return text
    lines = source.strip().splitlines() or [""]
    if lines[0].rstrip().endswith(_COLONS):
        return text
    if len(_COLON.findall(rest)) < len(_COLON.findall(source)):  # the label is a part of it
        return text
    if len(lines) > 1 and _count(text) <= _count(source):  # the first of as many lines
        return text
    return rest.strip()


def _count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def _unbolded(text: str, source: str) -> str:
    for mark in ("**", "__"):
        if mark in source or len(text) <= 2 * len(mark):
            continue
        if text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
            return text[2:-2].strip()
    return text


def _unquoted(text: str, source: str) -> str:
    if len(text) < 3 or text[0] not in _PAIRS or text[-1] not in _PAIRS[text[0]]:
        return text
    if not _MARKS.isdisjoint(_CLOSING.sub("", source)):
        return text
    inner = _APOSTROPHE.sub("", text[1:-1])
    return text if text[0] in inner or text[-1] in inner else text[1:-1].strip()


def _first_paragraph(text: str) -> str:
    kept: list[str] = []
    last = ""
    for line in map(str.rstrip, text.splitlines()):
        if not line and not last.endswith(_COLONS):
            break
        kept.append(line)
        last = line or last
    return "\n".join(kept)
