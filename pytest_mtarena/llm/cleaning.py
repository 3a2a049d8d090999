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
_TRANSLATION = re.compile(
    "translat|tradu|übersetz|vertal|перевод|перевед|переклад|превод|prevod|prijevod|tłumacz"
    "|p[rř]eklad|çevir|tercüme|fordít|käänn|översätt|oversæt|oversett|þýð|μετ[αά]φρα|ترجم|תרגו"
    "|अनुवाद|অনুবাদ|bản dịch|dịch|terjemah|tafsiri|翻[译譯訳]|[译譯訳]文|번역|แปล",
    re.IGNORECASE,
)
"""Words for a translation: a label line has one, unless the text itself speaks of it."""
_PREAMBLE = re.compile(
    r"(?:(?:sure|certainly|of course|ok|okay)[,.!]* *)?(?:here(?: it is| you (?:go|are))?)?"
    r"|(?:the |final )?(?:output|answer|reply|response|result)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[^\w\s'’](?=\s*\S)|['’](?!\w)|(?<!\w)['’]")
"""A mark within a text, where a translation may begin a new line."""
_OPENING = "".join(_MARKS) + "*_ \n"
_LABEL_WORDS = 9
_NOTE = re.compile(
    r"[\s*_#>•(\[（【-]*(?:(?:translator'?s?|translation) )?"
    r"(?:notes?|notas?|noot|opmerking|remarques?|hinweis|anmerkung(?:en)?|примечани[ея]|примітка"
    r"|uwaga|poznámka|huomautus|explanation|explicación|explicação|explication|erklärung"
    r"|spiegazione|alternativ\w*|literal\w*|注意?|注[释釋]|说明|說明|備考|補足|참고|ملاحظة)"
    r"[^\n:：]{0,30}[:：]",
    re.IGNORECASE,
)
"""How a paragraph begins that speaks of the translation."""
_ABBREVIATED = re.compile(
    r"(?:^|[^\w])(?:\w|(?:\w\.)+\w|mrs?|ms|dr|st|prof|sra?|jr|vs|etc|inc|ltd|no|approx|dept)$",
    re.IGNORECASE,
)
"""What stands before a full stop that ends no sentence."""
_SHORT = 8
"""Characters of an exclamation (``Uh...``) that may be answered by its marks alone."""
_SENTENCE = re.compile(r"(?<![.!?…؟।])[.!?…؟।]+(?=[\"'”’»)\]]*(?:\s|$))|[。！？]+")


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
    bare = text.strip()
    if not bare or not _has_marks_only(bare):
        return not bare
    exclaimed = source.strip().replace("...", "...…")
    is_exclamation = len(source.strip()) <= _SHORT and len(re.findall(r"\w+", source)) <= 1
    return not (_has_marks_only(source) or (is_exclamation and set(bare) <= set(exclaimed)))


def _has_marks_only(text: str) -> bool:
    return all(unicodedata.category(char)[0] in "PZC" for char in text)


def clean(reply: str, source: str, target: str = "") -> str:
    """Return the translation that a reply to one source holds.

    - White space around it goes, and a code fence, a tag (``<translation>``), bold or quotation
      marks that wrap all of it; each only when the source has none of its kind.
    - A label line before it goes when it says that it is one: by a word for a translation
      (``Translation:``) that the source does not have, or by a fence around all that is below it;
      also by the name of the language (``target``) or a phrase (``Here it is:``), when what is
      below has as many marks as the source. One that may be a part of the translation stays, as
      where the source has more colons than what is below, or as many lines.
    - All lines are kept when the source has several lines. For a source of one line what follows
      a blank line goes, save below a colon, and save where what is above it has fewer sentences
      than the source: it is a note on the translation.

    Linear in the length of the reply; the empty text when there is nothing.
    """
    text = reply.strip().strip("\ufeff\u200b").strip()
    for _ in range(4):  # a label above a fence around quotation marks, at most
        before = text
        text = _unlabelled(_untagged(_unfenced(text, source), source), source, target)
        text = _unquoted(_unbolded(text, source), source)
        if text == before:
            break
    if not has_lines(source) and has_lines(text):
        text = _unquoted(_unbolded(_without_note(text, source), source), source)
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


def _unlabelled(text: str, source: str, target: str) -> str:
    first, _, rest = text.partition("\n")
    rest = rest.strip()
    label = first[: 2 * _LABEL].strip("*_#> \t\r")
    if not rest or len(first) > _LABEL or not label.endswith(_COLONS):
        return text
    if not _is_label(label.rstrip("：:*_ "), rest, source, target):
        return text
    if len(_COLON.findall(rest)) < len(_COLON.findall(source)):  # the label is a part of it
        return text
    if has_lines(source) and _count(text) <= _count(source):  # the first of as many lines
        return text
    return rest


def _is_label(label: str, rest: str, source: str, target: str) -> bool:
    """Say whether a line speaks of the translation and not of what the source speaks of."""
    if _TRANSLATION.search(label) and not _TRANSLATION.search(source):
        return True
    if FENCE not in source and _unfenced(rest, source) != rest:
        return True
    if _joints(rest) < _joints(source):  # it may end where a mark was
        return False
    language = target.partition("(")[0].strip().casefold()
    if language and language not in source.casefold() and label.count(" ") < _LABEL_WORDS:
        words = re.findall(r"\w+", label.casefold())
        if all(word in words for word in re.findall(r"\w+", language)):
            return True
    return _PREAMBLE.fullmatch(label) is not None


def _joints(text: str) -> int:
    return len(_JOINT.findall(text.lstrip(_OPENING)))


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


def _without_note(text: str, source: str) -> str:
    """Return the paragraphs up to the first one that is no part of the translation of a line."""
    wanted = sum(
        not _ABBREVIATED.search(source[max(0, end.start() - 10) : end.start()])
        for end in _SENTENCE.finditer(source)
    )
    sentences = 0
    kept: list[str] = []
    last = ""
    lines = [line.rstrip() for line in text.splitlines()]
    for number, line in enumerate(lines):
        is_unfinished = wanted > 1 and sentences < wanted
        if not line and not last.endswith(_COLONS) and not is_unfinished:
            break
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not line and not _COLON.search(source) and _NOTE.match(following):
            break
        kept.append(line)
        sentences += len(_SENTENCE.findall(line))
        last = line or last
    return "\n".join(kept).rstrip()
