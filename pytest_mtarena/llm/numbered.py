"""A batch as numbered lines: how it is written, and how the reply is read, by number only.

Writing. Every source becomes one line, ``3. text``. A source without a line break stands there
character for character. A line break becomes a mark, ``⟨br⟩``; four or more in a row become one
mark with their count, ``⟨br×40⟩``; one that is no line feed has its code, ``⟨br:d⟩``. When some
source of the batch has ``⟨br`` in it, the marks of the batch are ``⟨br2``, and so on: what looks
like a mark always is one, so nothing has to be escaped and ``unfold`` gives the source back.

Reading. A line belongs to the number at its start, wherever it stands in the reply. What stands
under no number that was asked for is never an answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pytest_mtarena.llm.cleaning import FENCE, Problem, has_lines, is_nothing, problem
from pytest_mtarena.records import Record

_RUN = 4
"""From so many line breaks in a row on, one mark stands for all of them."""
_LINE_BREAK = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029])\\1*")
_LINE_FEED = "\n"

_HEAD = 64
"""Characters at the start of a line that are looked at for its number."""
_MARKER = re.compile(
    r"(?:(?:[>•]|-|#{1,6})[ \t]+)?"  # a quotation, a list, a heading
    r"(?P<bold>\*\*|__|\*)?[#(\[]?(?P<number>\d{1,9})(?P<closed>\*\*|__|\*)?[ \t]?"
    r"(?:(?P<mark>[.:\-–—])|[)\]）、．：。])(?P<second>[.):\]）])?(?P<after>\*\*|__|\*)?"
)
_NUMBER = re.compile(r"(?<!\d)\d{1,9}(?!\d)")


class Marks(Record):
    """How the line breaks of a batch are written."""

    word: str = "br"

    @property
    def line_break(self) -> str:
        """The mark of a line feed."""
        return f"⟨{self.word}⟩"


def marks_for(sources: Sequence[str]) -> Marks:
    """Return marks that occur in no source."""
    word, count = "br", 1
    while any(f"⟨{word}" in source for source in sources):
        count += 1
        word = f"br{count}"
    return Marks(word=word)


def fold(text: str, marks: Marks) -> str:
    """Return a text on one line, its line breaks as marks; ``unfold`` is the way back."""
    return _LINE_BREAK.sub(lambda found: _mark(found[1], len(found[0]), marks), text)


def _mark(char: str, count: int, marks: Marks) -> str:
    code = "" if char == _LINE_FEED else f":{ord(char):x}"
    if count < _RUN:
        return f"⟨{marks.word}{code}⟩" * count
    return f"⟨{marks.word}{code}×{count}⟩"


def unfold(text: str, marks: Marks, source: str) -> str:
    """Return the translation of a source with its marks as line breaks again.

    Nothing is changed when the source has no line break. Marks in plain brackets count too, when
    the source has none of their kind. A mark that stands for more line breaks in a row than the
    source has stays as it is: a reply cannot make itself long.
    """
    runs = [len(found[0]) for found in _LINE_BREAK.finditer(source)]
    if not runs:
        return text
    most = max(runs)
    left, right = ("⟨", "⟩") if f"<{marks.word}" in source else ("[⟨<]", "[⟩>]")
    pattern = (
        rf"{left}{marks.word}(?::(?P<code>[0-9a-f]{{1,4}}))?(?:×(?P<count>[0-9]{{1,9}}))?{right}"
    )

    def broken(found: re.Match[str]) -> str:
        count = int(found["count"] or 1)
        char = chr(int(found["code"] or "a", 16))
        return char * count if count <= most and _LINE_BREAK.fullmatch(char) else found[0]

    return re.sub(pattern, broken, text)


def write(sources: Sequence[str], marks: Marks) -> str:
    """Return the sources as lines numbered from 1."""
    return "\n".join(f"{at}. {fold(text, marks)}" for at, text in enumerate(sources, start=1))


class Numbered(Record):
    """What a reply says, by number."""

    texts: dict[int, str]
    """Number to answer, for the numbers that have exactly one; not cleaned yet."""
    problems: tuple[Problem, ...] = ()
    whole: bool = False
    """Whether the reply as a whole is not to be trusted: it was counted anew, or its end is
    missing or empty, so that every text may belong to another source."""


class _Item(NamedTuple):
    number: int
    lines: list[str]
    bold: str
    """The bold mark that the number opened and that its text has to close."""


def read(
    reply: str, sources: Sequence[str], marks: Marks | None = None, *, cut: bool = False
) -> Numbered:
    """Read a reply by number; never raises.

    Markers are ``1.`` ``1)`` ``1:`` ``1-`` ``1、`` and their kin, bold or not, in the digits of
    any script. Lines below a marker belong to it; for a source of one line only down to the next
    blank line. A line whose number was not asked for is text of a source with several lines, else
    stray. A source may have lines with numbers of the batch, and a reply may write them out as
    lines: then neither its answer nor those under these numbers count. The number 0, or the one
    after the last, shows that the reply was counted anew: then ``whole`` is set, as when the last
    number is missing or has no text.

    ``cut`` says that the reply ended at the limit of tokens: its last answer is then dropped, and
    that those behind it are missing tells nothing.
    """
    marks = marks or marks_for(sources)
    several = [has_lines(source) for source in sources]
    problems: list[Problem] = []
    items = list(_items(reply, sources, several, problems))
    said = [unfold(_text(item), marks, sources[item.number - 1]) for item in items]
    doubtful = _doubtful(items, said, sources)
    if cut and items:
        last = items.pop()
        # A bare "1." may be the beginning of "1.5 litres" in the text before it.
        if items and not any(last.lines) and several[items[-1].number - 1]:
            items.pop()
    found: dict[int, list[str]] = {}
    for item, text in zip(items, said, strict=False):  # the last one may be cut off
        found.setdefault(item.number, []).append(text)
    texts: dict[int, str] = {}
    for number in range(1, len(sources) + 1):
        answers = found.get(number, [])
        if not answers:
            problems.append(problem("missing", number))
        elif len(answers) > 1:
            problems.append(problem("duplicate", number, answers[1]))
        elif number in doubtful:
            problems.append(problem("doubtful", number, answers[0]))
        elif is_nothing(answers[0], sources[number - 1]):
            problems.append(problem("empty", number, answers[0]))
        else:
            texts[number] = answers[0]
    return Numbered(
        texts=texts,
        problems=tuple(problems),
        whole=any(
            one.kind == "out_of_range" and int(one.where) in (0, len(sources) + 1)
            for one in problems
        )
        or (bool(items) and not cut and _has_no_end(found, sources)),
    )


def _has_no_end(found: Mapping[int, Sequence[str]], sources: Sequence[str]) -> bool:
    """Say whether the last number has no text: a model that took two for one fills it up."""
    return all(is_nothing(text, sources[-1]) for text in found.get(len(sources), []))


def _items(
    reply: str, sources: Sequence[str], several: Sequence[bool], problems: list[Problem]
) -> Iterator[_Item]:
    item: _Item | None = None
    stray: list[str] = []
    is_open = False
    for line in reply.removeprefix("\ufeff").split("\n"):
        bare = line.strip()
        if bare.startswith(FENCE) and not (item and FENCE in sources[item.number - 1]):
            text_follows = item is not None and not any(item.lines)
            several_lines = item is not None and several[item.number - 1]
            is_open = is_open and (text_follows or several_lines)
            continue
        started = _start(bare)
        if started is not None and 1 <= started.number <= len(sources):
            if item is not None:
                yield item
            item, is_open = started, True
            continue
        inside = item is not None and is_open
        free = inside and item is not None and several[item.number - 1]
        if started is not None:
            problems.append(problem("out_of_range", started.number, bare))
        if free and item is not None:
            item.lines.append(line.rstrip())
        elif not bare:
            # The text may stand below its number; after it, a blank line is the end.
            is_open = inside and item is not None and not any(item.lines)
        elif started is None and inside and item is not None:
            item.lines.append(bare)
        elif started is None:
            stray.append(bare)
    if item is not None:
        yield item
    if stray:
        problems.append(problem("stray", "", stray[0]))


def _start(line: str) -> _Item | None:
    """Return the item that a line begins; None when it begins with no number."""
    head = line[:_HEAD]
    found = _MARKER.match(head)
    if found is None:
        return None
    rest = line[found.end() :]
    if found["mark"] and not found["second"] and rest[:1].isdigit():  # 1.5, 10:30, 1-2
        return None
    opened = found["bold"] or ""
    closes = found["closed"] or found["after"]
    if closes and not opened:  # "1. **text**": the text's own bold
        rest = closes + rest
    bold = opened if opened and not closes else ""
    return _Item(int(found["number"]), [rest.strip()], bold)


def _doubtful(items: Sequence[_Item], said: Sequence[str], sources: Sequence[str]) -> set[int]:
    """Return the numbers whose answers may be lines of one text that was written out.

    That is so when a number comes next which the text's source has at the start of a line, and the
    answer lacks numbers of such lines.
    """
    inner = [_inner(source, len(sources)) for source in sources]
    wanted = [
        _numbers(source) if own else Counter() for source, own in zip(sources, inner, strict=True)
    ]
    found: set[int] = set()
    written_out: set[int] = set()
    for (item, following), text in zip(pairwise(items), said, strict=False):
        place = item.number - 1
        whole = len(_LINE_BREAK.findall(text)) >= len(_LINE_BREAK.findall(sources[place]))
        if following.number in inner[place] and item.number not in written_out and not whole:
            given = _numbers(text)
            if any(given[number] < wanted[place][number] for number in inner[place]):
                written_out.add(item.number)
                found |= {item.number, *inner[place]}
    return found


def _inner(source: str, count: int) -> set[int]:
    """Return the numbers up to ``count`` at the starts of a source's lines after the first."""
    begun = (_start(line.strip()) for line in _LINE_BREAK.split(source)[2::2])
    return {item.number for item in begun if item is not None and 1 <= item.number <= count}


def _numbers(text: str) -> Counter[int]:
    return Counter(int(found) for found in _NUMBER.findall(text))


def _text(item: _Item) -> str:
    text = "\n".join(item.lines).strip()
    if item.bold and text.endswith(item.bold):
        text = text[: -len(item.bold)].rstrip()
    return text
