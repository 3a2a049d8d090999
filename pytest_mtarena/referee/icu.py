"""Messages in the format of ICU: arguments, plural and select branches, quoting.

The parser looks at each character once and never goes back, so that it is linear, also on
texts that only look like messages. It knows where things stand in the text, so that what is
skeleton can be told from what is to be translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 20
"""How deep arguments may be nested."""

BRANCHING = frozenset({"plural", "select", "selectordinal"})
"""The types of arguments that have branches."""

_BLANKS = re.compile(r"\s*+")
_NAME = re.compile(r"[\w.-]{1,200}")
_SELECTOR = re.compile(r"=\d{1,20}|[\w-]{1,100}")
_OFFSET = re.compile(r"offset\s*+:\s*+\d{1,9}")
_SPECIAL = re.compile(r"['{}#]")
_IN_STYLE = re.compile(r"['{}]")


class IcuError(ValueError):
    """A text that is no message; says what is wrong and at which character (from 0)."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"{problem} at character {position}")
        self.problem = problem
        self.position = position


@dataclass(frozen=True)
class Literal:
    """Text of the message, with its quoting resolved."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Number:
    """A ``#``: the number of the plural around it."""

    argument: str
    start: int
    end: int


@dataclass(frozen=True)
class Branch:
    """One branch of a plural or select: what stands between its braces."""

    selector: str
    start: int
    end: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Argument:
    """An argument in braces; ``type`` is empty for a plain ``{name}``."""

    name: str
    type: str
    start: int
    end: int
    branches: tuple[Branch, ...] = field(default=())


Part = Literal | Number | Argument


def parse_message(text: str) -> tuple[Part, ...]:
    """Return the parts of a whole message; raises IcuError when it is none."""
    parts, end = _Parser(text).message(0, "", 0)
    if end < len(text):  # pragma: no cover - a message of depth 0 ends with the text
        raise IcuError("unexpected text", end)
    return parts


def parse_argument(text: str, start: int) -> Argument:
    """Return the argument that begins with the brace at ``start``; raises IcuError."""
    return _Parser(text).argument(start, "", 0)


def arguments_of(parts: tuple[Part, ...]) -> frozenset[tuple[str, str]]:
    """Return (name, type) of every argument in any branch.

    An argument that chooses a branch may also be shown, so that a plain ``{n}`` beside
    ``{n, plural, ...}`` is not told: languages differ in where they show the number.
    """
    found = {(one.name, one.type) for one in _arguments(parts)}
    chosen = {name for name, type in found if type}
    return frozenset(pair for pair in found if pair[1] or pair[0] not in chosen)


def keywords_of(parts: tuple[Part, ...]) -> frozenset[tuple[str, str]]:
    """Return (argument, keyword) of every select: those are values of a program."""
    return frozenset(
        (one.name, branch.selector)
        for one in _arguments(parts)
        if one.type == "select"
        for branch in one.branches
    )


def has_branches(parts: tuple[Part, ...]) -> bool:
    """Say whether a message has a plural or a select."""
    return any(isinstance(one, Argument) and one.branches for one in parts)


def flat(parts: tuple[Part, ...]) -> str:
    """Return the message as it reads with the branch ``other`` taken everywhere."""
    said: list[str] = []
    for one in parts:
        if isinstance(one, Literal):
            said.append(one.text)
        elif isinstance(one, Number):
            said.append(f"{{{one.argument}}}")
        elif one.branches:
            said += [flat(branch.parts) for branch in one.branches if branch.selector == "other"]
        else:
            said.append(f"{{{one.name},{one.type}}}" if one.type else f"{{{one.name}}}")
    return "".join(said)


def _arguments(parts: tuple[Part, ...]) -> Iterator[Argument]:
    for one in parts:
        if isinstance(one, Argument):
            yield one
            for branch in one.branches:
                yield from _arguments(branch.parts)


class _Parser:
    """A parser by descent; every method returns where it stopped."""

    def __init__(self, text: str) -> None:
        self.text = text

    def message(self, at: int, plural: str, depth: int) -> tuple[tuple[Part, ...], int]:
        """Read until the brace that closes the branch, at depth 0 until the end."""
        parts: list[Part] = []
        said: list[str] = []
        begun = at
        while True:
            match = _SPECIAL.search(self.text, at)
            stop = len(self.text) if match is None else match.start()
            said.append(self.text[at:stop])
            sign = self.text[stop : stop + 1]
            if sign == "'":
                quoted, at = self._quoted(stop, plural)
                said.append(quoted)
                continue
            if (sign == "#" and not plural) or (sign == "}" and not depth):
                said.append(sign)
                at = stop + 1
                continue
            if text := "".join(said):
                parts.append(Literal(text, begun, stop))
            said = []
            if sign == "{":
                parts.append(found := self.argument(stop, plural, depth))
                at = begun = found.end
            elif sign == "#":
                parts.append(Number(plural, stop, stop + 1))
                at = begun = stop + 1
            elif sign or not depth:
                return tuple(parts), stop
            else:
                raise IcuError("a branch is not closed", stop)

    def argument(self, start: int, plural: str, depth: int) -> Argument:
        """Read an argument from its opening brace to behind its closing one."""
        if depth >= MAX_DEPTH:
            raise IcuError(f"nested deeper than {MAX_DEPTH}", start)
        name, at = self._word(start + 1, "a name of an argument")
        if self._sign(at) == "}":
            return Argument(name, "", start, at + 1)
        at = self._take(at, ",")
        type, at = self._word(at, "a type of an argument")
        if type in BRANCHING:
            at = self._take(at, ",")
            return self._branches(name, type, start, at, plural, depth)
        if self._sign(at) == "}":
            return Argument(name, type, start, at + 1)
        return Argument(name, type, start, self._style(self._take(at, ",")))

    def _branches(
        self, name: str, type: str, start: int, at: int, plural: str, depth: int
    ) -> Argument:
        inner = plural if type == "select" else name
        at = self._skip(at)
        if type != "select" and (offset := _OFFSET.match(self.text, at)):
            at = self._skip(offset.end())
        found: dict[str, Branch] = {}
        while self._sign(at) != "}":
            match = _SELECTOR.match(self.text, at)
            if match is None:
                raise IcuError(f"a keyword of the {type} {name!r} is missing", at)
            selector = match.group()
            if selector in found:
                raise IcuError(f"the {type} {name!r} has {selector!r} twice", at)
            opened = self._take(self._skip(match.end()), "{")
            parts, closed = self.message(opened, inner, depth + 1)
            found[selector] = Branch(selector, opened, closed, parts)
            at = self._skip(closed + 1)
        if "other" not in found:
            raise IcuError(f"the {type} {name!r} has no branch 'other'", at)
        return Argument(name, type, start, at + 1, tuple(found.values()))

    def _style(self, at: int) -> int:
        """Return where a style ends: behind the brace that closes its argument."""
        open = 1
        while open:
            match = _IN_STYLE.search(self.text, at)
            if match is None:
                raise IcuError("an argument is not closed", len(self.text))
            at = match.end()
            if match.group() == "'":
                at = self.text.find("'", at) + 1
                if not at:
                    raise IcuError("a quotation is not closed", match.start())
            else:
                open += 1 if match.group() == "{" else -1
        return at

    def _quoted(self, at: int, plural: str) -> tuple[str, int]:
        """Return what an apostrophe stands for, and where the text goes on behind it.

        Only before a sign of the syntax it begins a quotation; elsewhere it is an apostrophe.
        """
        following = self.text[at + 1 : at + 2]
        if following == "'":
            return "'", at + 2
        if following not in ("{", "}") and not (following == "#" and plural):
            return "'", at + 1
        said: list[str] = []
        at += 1
        while True:
            end = self.text.find("'", at)
            if end < 0:
                said.append(self.text[at:])
                return _inert("".join(said)), len(self.text)
            said.append(self.text[at:end])
            if not self.text.startswith("''", end):
                return _inert("".join(said)), end + 1
            said.append("'")
            at = end + 2

    def _word(self, at: int, what: str) -> tuple[str, int]:
        at = self._skip(at)
        match = _NAME.match(self.text, at)
        if match is None:
            raise IcuError(f"{what} is missing", at)
        return match.group(), self._skip(match.end())

    def _take(self, at: int, sign: str) -> int:
        if self._sign(at) != sign:
            raise IcuError(f"{sign!r} is missing", at)
        return self._skip(at + 1) if sign == "," else at + 1

    def _sign(self, at: int) -> str:
        return self.text[at : at + 1]

    def _skip(self, at: int) -> int:
        match = _BLANKS.match(self.text, at)
        return at if match is None else match.end()


def _inert(text: str) -> str:
    """Return quoted text without its braces, which stand for themselves."""
    return text.replace("{", " ").replace("}", " ")
