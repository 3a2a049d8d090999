"""Placeholders of all common syntaxes: what a translation has to keep as it is.

One pass over the text. Every repetition is bounded or cannot give back what it took, so that
megabytes of braces cost no more than megabytes of prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_mtarena.referee.icu import Argument, IcuError, Number, parse_argument

VARIABLES = frozenset(
    {"printf", "brace", "mustache", "dollar", "ruby", "qt", "call", "template", "icu"}
)
"""The kinds that stand for a value; a translation has each as often as its source."""

TAGS = frozenset({"open", "close", "void"})
"""The kinds that are a tag of HTML or XML."""


class Placeholder(NamedTuple):
    """A piece of text that is not prose, ``text[start:end]``.

    Kinds beside ``VARIABLES`` and ``TAGS``: ``entity`` (``&amp;``), ``escape`` (``%%``, ``{{``),
    and ``icu_part`` (what stands between the branches of an ICU message, and ``#``).
    """

    kind: str
    text: str
    start: int
    end: int
    key: str
    """What two placeholders have in common that stand for the same: a tag's name; a variable
    without its width and precision."""


_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
"""Tags of HTML that are never closed, with or without a slash."""

_TRIGGER = re.compile(r"[%{<&$]")

_PLACEHOLDER = re.compile(
    r"""
    (?=[%{}<&$\#])(?:
    (?P<template> \{%[^%{}\n]{1,200}%\} | <%[^%<>\n]{1,200}%> )
  | (?P<mustache>
        \{\{\{?[~-]?\s{0,9}
        (?: [\#/^][^{}\n]{1,200}
          | [&>!]?\s{0,9}[\w$@.\[\]'-]{1,100}\s{0,9}(?:[|,:?(][^{}\n]{0,200})? )
        [~-]?\}\}\}? )
  | (?P<braces> (?:\{\{)++ | (?:\}\})++ )
  | (?P<icu> \{\s{0,9}[\w.-]{1,100}\s{0,9},\s{0,9}(?:plural|selectordinal|select)\s{0,9}, )
  | (?P<typed>
        \{\s{0,9}[\w.-]{1,100}\s{0,9},\s{0,9}
        (?:number|date|time|choice|spellout|ordinal|duration|list)\b[^{}\n]{0,200}\} )
  | (?P<brace>
        \{\s{0,3}\$?[\w.\[\]-]{0,100}\s{0,3}(?:![rsa])?
        (?: :[^{}\s]{0,60} | :[^{}\n%]{0,20}%[^{}\n]{0,60} )?\} )
  | (?P<call> \$t\([^()\n]{1,200}\) )
  | (?P<dollar> \$\{[^{}\n]{1,200}\} )
  | (?P<ruby> [%\#]\{[^{}\n]{1,200}\} | %<\w{1,60}>[-+0\#]{0,5}\d{0,5}(?:\.\d{1,5})?[A-Za-z] )
  | (?P<percent> %% )
  | (?P<url> (?:%[0-9A-Fa-f]{2}){2,} | %[2-7][0-9A-Fa-f](?<=[A-Za-z0-9/=._-]%..)(?=[\w/%.-]) )
  | (?P<named> %\([^()\n]{1,100}\)[-+\#0]{0,5}(?:\d{1,5}|\*)?(?:\.(?:\d{1,5}|\*))?
        [hlLqjzt]{0,2}[diouxXeEfFgGcrsaA@] )
  | (?P<printf> (?<!\d)%(?:\d{1,3}\$)?[-+\#0']{0,5}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?
        (?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcCrsSaApnb@] )
  | (?P<spaced> (?<!\d)(?<!\d\s)%\ \d{0,4}(?:\.\d{1,4})?[dif](?![^\W\d_]|['’]) )
  | (?P<qt> (?<!\d)%L?\d{1,2}(?![\d$]) )
  | (?P<tag> </?[A-Za-z][\w:.-]{0,60}
        (?: (?:\s[^<>"']*+(?:"[^"<]*+"[^<>"']*+|'[^'<]*+'[^<>"']*+)*+)?/?>
          | \s[^<>]{0,2000}> ) )
  | (?P<entity> &(?:[A-Za-z][A-Za-z0-9]{1,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}); )
    )""",
    re.VERBOSE,
)

_TAG_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")
_CONVERSION = re.compile(
    r"%(\([^()]*\)|\d+\$)?[-+#0' ]*(?:\d+|\*)?(?:\.(?:\d+|\*))?([A-Za-z@]{1,3})"
)
_BLANKS = re.compile(r"\s+")
_NUMBERED = re.compile(r"%(\d+)\$(.+)|\{(\d+)([^{}]*)\}")
_UNNUMBERED = re.compile(r"%([^(\d%].*)|\{((?:[!:][^{}]*)?)\}")


def find_placeholders(text: str) -> list[Placeholder]:
    """Return the placeholders, tags and entities of a text, in order.

    A variable inside a tag follows its tag; all others do not overlap. The text inside the
    branches of an ICU message is searched like any other.
    """
    if _TRIGGER.search(text) is None:
        return []
    found: list[Placeholder] = []
    _Search(text, found).between(0, len(text))
    return found


def without_placeholders(text: str) -> str:
    """Return the prose of a text: each placeholder, tag and entity is replaced by one blank."""
    return blanked(text, find_placeholders(text))


def blanked(text: str, found: Sequence[Placeholder], variable: str = " ") -> str:
    """Return a text with the placeholders that were found in it replaced by blanks.

    ``variable`` is what stands for a variable instead, for those who need to see a word there.
    """
    if not found:
        return text
    pieces: list[str] = []
    at = 0
    for one in found:
        if one.start >= at:  # else it stands inside a tag
            stands = one.kind in VARIABLES and one.kind != "icu"
            pieces += [text[at : one.start], variable if stands else " "]
            at = one.end
    pieces.append(text[at:])
    return "".join(pieces)


def variables_of(found: Sequence[Placeholder]) -> list[str]:
    """Return the keys of the variables among placeholders, in their order."""
    return [one.key for one in found if one.kind in VARIABLES]


def numbered(keys: Sequence[str]) -> list[str]:
    """Return keys with positions written out: ``%s %d`` and ``%1$s %2$d`` give the same.

    Keys that have numbers already, or mix both, stay as they are.
    """
    if any(_NUMBERED.fullmatch(key) for key in keys):
        return list(keys)
    told: list[str] = []
    printf = brace = 0
    for key in keys:
        match = _UNNUMBERED.fullmatch(key)
        if match is None:
            told.append(key)
        elif match[1] is not None:
            printf += 1
            told.append(f"%{printf}${match[1]}")
        else:
            told.append(f"{{{brace}{match[2]}}}")
            brace += 1
    return told


def same_variables(one: Sequence[str], other: Sequence[str]) -> bool:
    """Say whether two texts have the same variables, each as often, in any order."""
    return sorted(one) == sorted(other) or sorted(numbered(one)) == sorted(numbered(other))


class _Search:
    """One search of a text; what is found is added to a list."""

    def __init__(self, text: str, found: list[Placeholder]) -> None:
        self.text = text
        self.found = found
        self.messages = True
        """Whether ICU messages are still looked for: one that is broken ends that, since its
        end is not known and looking again and again would not be linear."""

    def between(self, start: int, end: int) -> None:
        """Search a part of the text."""
        at: int | None = start
        while at is not None:
            at = self._until_message(at, end)

    def _until_message(self, start: int, end: int) -> int | None:
        """Search up to the end, or up to behind the next ICU argument."""
        for match in _PLACEHOLDER.finditer(self.text, start, end):
            kind = match.lastgroup or ""
            if kind == "icu":
                behind = self._message(match)
                if behind is not None:
                    return behind
            elif kind != "url" and not (kind == "printf" and self._is_prose(match)):
                self._add(kind, match)
        return None

    def _is_prose(self, match: re.Match[str]) -> bool:
        """Say whether a conversion is a percentage with a word stuck to it: ``5 %de``."""
        start, end = match.span()
        following = self.text[end : end + 1]
        before = self.text[max(0, start - 2) : start]
        return (
            following.isascii()
            and following.isalpha()
            and len(before) == 2
            and before[0].isdigit()
            and before[1].isspace()
        )

    def _add(self, kind: str, match: re.Match[str]) -> None:
        said, (start, end) = match.group(), match.span()
        if kind == "tag":
            self._tag(said, start, end)
            return
        if kind in ("named", "printf", "spaced"):
            kind, key = "printf", _conversion(said)
        elif kind == "typed":
            kind, key = "brace", ",".join(part.strip() for part in said[1:-1].split(",")[:2])
            key = f"{{{key}}}"
        elif kind == "brace":
            key = _without_format(said)
        elif kind in ("mustache", "template", "dollar", "call"):
            key = _BLANKS.sub("", said)
        else:
            kind = "escape" if kind in ("percent", "braces") else kind
            key = said
        self.found.append(Placeholder(kind, said, start, end, key))

    def _tag(self, said: str, start: int, end: int) -> None:
        match = _TAG_NAME.match(said)
        assert match is not None
        name = match[1].lower()
        if name in _VOID or said.endswith("/>"):
            kind = "void"
        else:
            kind = "close" if said.startswith("</") else "open"
        self.found.append(Placeholder(kind, said, start, end, name))
        if _TRIGGER.search(said, match.end()):
            inside = _PLACEHOLDER.finditer(self.text, start + match.end(), end)
            for one in inside:
                if one.lastgroup not in ("url", "icu", "tag", None):
                    self._add(one.lastgroup, one)

    def _message(self, match: re.Match[str]) -> int | None:
        """Add an ICU argument with branches; return where it ends, None when it is broken."""
        start, end = match.span()
        if self.messages:
            try:
                argument = parse_argument(self.text, start)
            except IcuError:
                self.messages = False
            else:
                self._argument(argument)
                return argument.end
        key = f"{_BLANKS.sub('', match.group()).removesuffix(',')}}}"
        self.found.append(Placeholder("icu", match.group(), start, end, key))
        return None

    def _argument(self, one: Argument) -> None:
        at, kind, key = one.start, "icu", f"{{{one.name},{one.type}}}"
        for branch in one.branches:
            self._piece(kind, at, branch.start, key)
            self._branch(branch.start, branch.end, branch.parts)
            at, kind, key = branch.end, "icu_part", ""
        self._piece(kind, at, one.end, key)

    def _branch(self, start: int, end: int, parts: Sequence[object]) -> None:
        for part in parts:
            if isinstance(part, Number):
                self.between(start, part.start)
                self._piece("icu_part", part.start, part.end, "#")
                start = part.end
            elif isinstance(part, Argument) and part.branches:
                self.between(start, part.start)
                self._argument(part)
                start = part.end
        self.between(start, end)

    def _piece(self, kind: str, start: int, end: int, key: str) -> None:
        self.found.append(Placeholder(kind, self.text[start:end], start, end, key))


def _conversion(said: str) -> str:
    """Return a conversion without flags, width and precision: ``%-5.2f`` is ``%f``."""
    match = _CONVERSION.fullmatch(said)
    return said if match is None else f"%{match[1] or ''}{match[2]}"


def _without_format(said: str) -> str:
    """Return a field in braces without what says how it is written: ``{n:>5}`` is ``{n}``.

    Blanks beside the name stay: for a program they belong to the name.
    """
    inner = said[1:-1]
    for sign in "!:":
        inner = inner.partition(sign)[0]
    return f"{{{inner}}}"


def tags_of(found: Sequence[Placeholder]) -> list[tuple[str, str]]:
    """Return (kind, name) of the tags among placeholders, in their order."""
    return [(one.kind, one.key) for one in found if one.kind in TAGS]


def is_nested(tags: Sequence[tuple[str, str]]) -> bool:
    """Say whether tags are balanced and properly nested."""
    open: list[str] = []
    for kind, name in tags:
        if kind == "open":
            open.append(name)
        elif kind == "close" and (not open or open.pop() != name):
            return False
    return not open


def written(tags: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield tags as they are written, without attributes."""
    for kind, name in tags:
        yield {"open": f"<{name}>", "close": f"</{name}>", "void": f"<{name}/>"}[kind]
