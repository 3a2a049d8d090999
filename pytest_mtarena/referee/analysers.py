"""Morphological analysers: finite-state transducers in HFST's optimized-lookup format (.hfstol).

``Analyser`` reads the format itself, weighted and unweighted, without a library (Silfverberg and
Lindén 2009, "HFST runtime format"). The libraries that read it were tried and do not serve:
pyhfst 1.4.1 takes the first character that an analyser does not know for the end of the word, so
that ``col·legi`` is accepted as ``col``; hfst-optimized-lookup 0.0.14 refuses weighted files; and
a cycle of empty transitions ends the process with either. A look-up takes about 0.1 ms, and words
are remembered, so that speed matters little.

A weight is a cost: analyses are ordered by it, and only an infinite one means rejection.
"""

from __future__ import annotations

import math
import re
import struct
import sys
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import LanguageFacts
from pytest_mtarena.referee.words import APOSTROPHES, HYPHENS, joined_parts

SUFFIX = ".hfstol"
MAX_WORD = 200
"""Longer strings are no words: they are rejected without a look-up."""
MAX_STEPS = 50_000
"""How many transitions a look-up may follow. One that needs more is a fault of the analyser."""
MAX_ANALYSES = 500
MEMO = 200_000
"""How many words are remembered."""

_NONE = 0xFFFF
_TRANSITIONS = 0x80000000
"""Targets from here on are in the table of transitions, smaller ones in that of indices."""
_UNKNOWN = ("@_IDENTITY_SYMBOL_@", "@_UNKNOWN_SYMBOL_@")
_FLAG = re.compile(r"@([PNRDCU])\.([^.@]+)(?:\.([^@]*))?@")


class NoAnalyser(UsageError):
    """A directory of analysers without one of the language."""


class AnalyserFault(Exception):
    """A look-up that found no answer; it says nothing of the word."""


class Lookup(Protocol):
    """What analyses words."""

    def analyses(self, word: str) -> tuple[str, ...]:
        """Return the analyses of a word exactly as it is written, none if it is not known."""
        ...


def find_analyser(path: Path, language: LanguageFacts) -> Path:
    """Return the analyser of a language.

    ``path`` is a file, which is taken for an analyser of the language whatever its name, or a
    directory with files named by language code: ``glg.hfstol`` or ``gl.hfstol``. Raises
    ``NoAnalyser`` when the directory has none of the language and UsageError when there is nothing.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise UsageError(
            f"{path}: no such analyser; give a {SUFFIX} file or a directory of them (--mt-fst PATH)"
        )
    codes = list(dict.fromkeys(code for code in (language.code, language.alpha2) if code))
    for code in codes:
        if (path / f"{code}{SUFFIX}").is_file():
            return path / f"{code}{SUFFIX}"
    wanted = " or ".join(f"{code}{SUFFIX}" for code in codes) or "the target language's code"
    there = ", ".join(sorted(each.name for each in path.glob(f"*{SUFFIX}"))[:8]) or "none"
    raise NoAnalyser(f"{path.name}: needs an analyser of the language: {wanted}; found: {there}")


def open_analyser(path: Path) -> Analyser:
    """Return the analyser of a file; files that did not change are shared.

    The header is checked at once, the tables are read with the first look-up. Raises UsageError
    when the file is no analyser that can be used.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return _open(path.resolve(), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _open(path: Path, _modified: int, _size: int) -> Analyser:
    return Analyser(path, read_layout(path))


class Layout(NamedTuple):
    """What the head of an analyser's file says."""

    weighted: bool
    inputs: int
    """How many of the symbols can be read; the first ones."""
    symbols: tuple[str, ...]
    indices: int
    """Number of entries of the table of indices."""
    transitions: int
    start: int
    """Offset of the tables in bytes."""


def read_layout(path: Path) -> Layout:
    """Read the head of a ``.hfstol`` file and check that the tables are there in full.

    Raises UsageError for anything but an optimized-lookup transducer.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
            size = path.stat().st_size
            return (
                _layout(path, head, size) or _layout(path, head + file.read(), size) or _cut(path)
            )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _cut(path: Path) -> Layout:
    raise UsageError(f"{path}: the file is incomplete; build or download it again")


def _layout(path: Path, data: bytes, size: int) -> Layout | None:
    """Return the layout, None when it goes on behind ``data``."""
    if data[:5] != b"HFST\0":
        raise UsageError(
            f"{path}: not an HFST transducer; needs optimized-lookup format (hfst-fst2fst -O)"
        )
    if len(data) < 8:
        return None
    at = 8 + int.from_bytes(data[5:7], "little")
    kind = data[8:at].split(b"\0")
    named = dict(zip(kind[::2], kind[1::2], strict=False)).get(b"type", b"")
    if named not in (b"HFST_OL", b"HFST_OLW"):
        raise UsageError(
            f"{path}: a transducer of type {named.decode('ascii', 'replace')[:40] or 'unknown'}; "
            "needs optimized-lookup format (hfst-fst2fst -O)"
        )
    if len(data) < at + 56:
        return None
    inputs, count, indices, transitions, _, _, weighted = struct.unpack_from("<HHIIIII", data, at)
    at += 56
    symbols: list[str] = []
    while len(symbols) < count:
        end = data.find(b"\0", at)
        if end < 0:
            return None
        symbols.append(data[at:end].decode("utf-8", "replace"))
        at = end + 1
    if size < at + 6 * indices + (12 if weighted else 8) * transitions or not indices:
        _cut(path)
    return Layout(bool(weighted), inputs, tuple(symbols), indices, transitions, at)


class _Tables(NamedTuple):
    """The tables as unsigned shorts: indices of 3, transitions of 4 (6 with weights)."""

    indices: array[int]
    transitions: array[int]


@dataclass(frozen=True)
class Analyser:
    """A transducer from words to analyses.

    Flag diacritics are obeyed, the symbols for unknown characters work, and cycles of empty
    transitions are followed once.
    """

    path: Path
    layout: Layout
    _memo: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def analyses(self, word: str) -> tuple[str, ...]:
        """Return the analyses of a word exactly as it is written, those of least weight first.

        Raises AnalyserFault when the look-up does not come to an end.
        """
        known = self._memo.get(word)
        if known is None:
            known = self._look_up(word) if 0 < len(word) <= MAX_WORD else ()
            if len(self._memo) >= MEMO:
                self._memo.clear()
            self._memo[word] = known
        return known

    @cached_property
    def _tables(self) -> _Tables:
        layout = self.layout
        width = 6 if layout.weighted else 4
        try:
            with self.path.open("rb") as file:
                file.seek(layout.start)
                indices = _shorts(file.read(6 * layout.indices))
                transitions = _shorts(file.read(2 * width * layout.transitions))
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read: {error.strerror}") from error
        if len(indices) < 3 * layout.indices or len(transitions) < width * layout.transitions:
            _cut(self.path)
        return _Tables(indices, transitions)

    @cached_property
    def _flags(self) -> dict[int, tuple[str, str, str]]:
        """Number of each flag diacritic to operator, feature and value."""
        matches = ((n, _FLAG.fullmatch(symbol)) for n, symbol in enumerate(self.layout.symbols))
        return {n: (m[1], m[2], m[3] or "") for n, m in matches if m}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Each symbol that can stand in a word to its number."""
        return {
            symbol: number
            for number, symbol in enumerate(self.layout.symbols[: self.layout.inputs])
            if number and symbol and number not in self._flags and symbol not in _UNKNOWN
        }

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._numbers), default=1)

    @cached_property
    def _outputs(self) -> list[str]:
        """What each symbol writes; nothing for the empty symbol and for flags."""
        symbols = ["" if n in self._flags else each for n, each in enumerate(self.layout.symbols)]
        return ["" if n == 0 or each == "@0@" else each for n, each in enumerate(symbols)]

    @cached_property
    def _wild(self) -> list[int]:
        """Numbers of the symbols that stand for any character that the analyser does not know."""
        symbols = self.layout.symbols[: self.layout.inputs]
        return [number for number, symbol in enumerate(symbols) if symbol in _UNKNOWN]

    def _tokens(self, word: str) -> list[tuple[str, list[int]]] | None:
        """Return the word as symbols, the longest first; None if a character is not known."""
        tokens: list[tuple[str, list[int]]] = []
        numbers, at = self._numbers, 0
        while at < len(word):
            for length in range(min(self._longest, len(word) - at), 0, -1):
                piece = word[at : at + length]
                if piece in numbers:
                    tokens.append((piece, [numbers[piece]]))
                    break
            else:
                if not self._wild:
                    return None
                tokens.append((word[at], self._wild))
                length = 1
            at += length
        return tokens

    def _look_up(self, word: str) -> tuple[str, ...]:
        tokens = self._tokens(word)
        return () if tokens is None else self._search(tokens)

    def _search(self, tokens: list[tuple[str, list[int]]]) -> tuple[str, ...]:
        """Follow all paths that read the tokens, depth first, and return what they write."""
        found: dict[str, float] = {}
        steps = 0
        todo = [_Path(0, 0, "", 0.0, (), ())]
        while todo and len(found) < MAX_ANALYSES:
            path = todo.pop()
            if path.read == len(tokens):
                weight = self._final(path.state)
                total = math.inf if weight is None else path.weight + weight
                if total < found.get(path.written, math.inf):
                    found[path.written] = total
            steps += 1
            if steps > MAX_STEPS:
                if not found:
                    raise AnalyserFault(f"more than {MAX_STEPS} steps")
                break
            todo += self._empty(path)
            if path.read < len(tokens):
                todo += self._reading(path, *tokens[path.read])
        return tuple(sorted(found, key=lambda each: (found[each], each)))

    def _final(self, state: int) -> float | None:
        """Return the weight of ending in a state, None if a word cannot end there."""
        indices, transitions = self._tables
        if state < _TRANSITIONS:
            at = 3 * state
            low, high = indices[at + 1], indices[at + 2]
            if indices[at] != _NONE or (low == _NONE and high == _NONE):
                return None
            return _float(low, high) if self.layout.weighted else 0.0
        width = 6 if self.layout.weighted else 4
        at = width * (state - _TRANSITIONS)
        if transitions[at : at + 4].tolist() != [_NONE, _NONE, 1, 0]:
            return None
        return _float(transitions[at + 4], transitions[at + 5]) if width == 6 else 0.0

    def _arcs(self, state: int, symbol: int) -> Iterator[tuple[int, int, int, float]]:
        """Yield (input, output, target, weight) of the transitions of a state that read a symbol.

        Symbol 0 gives the empty ones, flags among them.
        """
        indices, transitions = self._tables
        simple = state >= _TRANSITIONS
        if simple:
            number = state - _TRANSITIONS + 1
        else:
            at = 3 * (state + 1 + symbol)
            if at + 2 >= len(indices) or indices[at] != symbol:
                return
            number = (indices[at + 1] | indices[at + 2] << 16) - _TRANSITIONS
        width = 6 if self.layout.weighted else 4
        flags = self._flags
        for at in range(width * number, len(transitions), width):
            read = transitions[at]
            if read == _NONE:
                return
            if read == symbol or (symbol == 0 and read in flags):
                weight = _float(transitions[at + 4], transitions[at + 5]) if width == 6 else 0.0
                target = transitions[at + 2] | transitions[at + 3] << 16
                yield read, transitions[at + 1], target, weight
            elif not simple:
                return

    def _empty(self, path: _Path) -> Iterator[_Path]:
        """Yield the paths that go on without reading."""
        for read, wrote, target, weight in self._arcs(path.state, 0):
            flags: _Flags | None = path.flags
            if read:
                flags = _flagged(path.flags, *self._flags[read])
            since = (*path.since, (path.state, path.flags))
            if flags is None or (target, flags) in since:
                continue
            written = path.written + self._outputs[wrote]
            yield _Path(target, path.read, written, path.weight + weight, flags, since)

    def _reading(self, path: _Path, piece: str, numbers: list[int]) -> Iterator[_Path]:
        """Yield the paths that go on by reading a piece of the word."""
        for number in numbers:
            for _, wrote, target, weight in self._arcs(path.state, number):
                symbol = self._outputs[wrote]
                written = path.written + (piece if symbol in _UNKNOWN else symbol)
                yield _Path(target, path.read + 1, written, path.weight + weight, path.flags, ())


_Flags = tuple[tuple[str, str], ...]
"""Feature and value of what is set, in order; a value that is excluded begins with ``!``."""


class _Path(NamedTuple):
    """A way through a transducer, as far as it has come."""

    state: int
    read: int
    written: str
    weight: float
    flags: _Flags
    since: tuple[tuple[int, _Flags], ...]
    """Where it was since it last read something; it does not go there again."""


def _flagged(flags: _Flags, operator: str, feature: str, value: str) -> _Flags | None:
    """Return the flags after an operation, None if it forbids to go on."""
    here = dict(flags)
    now = here.get(feature, "")
    if operator == "R":
        return flags if (now == value if value else now) else None
    if operator == "D":
        return None if (now == value if value else now) else flags
    if operator == "U" and now and now != value and (now[0] != "!" or now == f"!{value}"):
        return None
    here.pop(feature, None)
    if operator in "PU":
        here[feature] = value
    elif operator == "N":
        here[feature] = f"!{value}"
    return tuple(sorted(here.items()))


def _shorts(data: bytes) -> array[int]:
    shorts = array("H", data[: len(data) // 2 * 2])
    if sys.byteorder == "big":
        shorts.byteswap()
    return shorts


def _float(low: int, high: int) -> float:
    weight: float = struct.unpack("<f", struct.pack("<HH", low, high))[0]
    return weight


_DOTLESS = frozenset({"tur", "aze", "azj", "azb", "crh", "gag"})
"""Languages whose capital I is that of ``ı``."""


@dataclass(frozen=True)
class Reader:
    """Reads words as they stand in texts: capitals, typographic signs, things joined."""

    lookup: Lookup
    language: str = ""
    """ISO 639-3; it matters for the lower case of a few languages."""
    union: bool = False
    """Whether a word has the analyses of all its spellings, rather than of the first known one."""

    def units(self, word: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the word as units that have analyses, with these; empty if it is rejected.

        A word that is known as a whole is one unit. Otherwise one with apostrophes, hyphens or
        middle dots is as many as are needed so that all are known: ``l'`` and ``home``. Parts
        that are digits alone are known, but not by themselves. What the look-up raises passes.
        """
        whole = self._readings(word)
        if whole:
            return ((word, whole),)
        pieces = joined_parts(word)
        if not 1 < len(pieces) <= 23:
            return ()
        return self._split(pieces)

    def accepts(self, word: str) -> bool:
        """Return whether a word has an analysis, or all units of it."""
        return bool(self.units(word))

    def _split(self, pieces: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Cut at joints (``pieces`` has parts and joints in turn) into as few units as possible."""
        best: dict[int, tuple[tuple[str, tuple[str, ...]], ...]] = {0: ()}
        ends = range(1, len(pieces) + 1, 2)
        for end in ends:
            for start in range(0, end, 2):
                if start not in best or (start == 0 and end == len(pieces)):
                    continue
                unit = self._unit(pieces, start, end)
                if unit and (end + 1 not in best or len(best[start]) + 1 < len(best[end + 1])):
                    best[end + 1] = (*best[start], unit)
        units = best.get(len(pieces) + 1, ())
        return units if any(analyses for _, analyses in units) else ()

    def _unit(
        self, pieces: Sequence[str], start: int, end: int
    ) -> tuple[str, tuple[str, ...]] | None:
        text = "".join(pieces[start:end])
        if text.isdigit():
            return text, ()
        after = pieces[end] if end < len(pieces) else ""
        before = pieces[start - 1] if start else ""
        for form in dict.fromkeys((text + after, text, before + text)):
            analyses = self._readings(form)
            if analyses:
                return form, analyses
        return None

    def _readings(self, word: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for form in self._forms(word):
            found.update(dict.fromkeys(self.lookup.analyses(form)))
            if found and not self.union:
                break
        return tuple(found)

    def _forms(self, word: str) -> list[str]:
        """Return the spellings to try: as it is, lower case, first letter lower, in that order."""
        forms = [word, self._lower(word), self._lower(word[:1]) + word[1:]]
        if len(word) > 1 and word.isupper():
            forms.append(word[:1] + self._lower(word[1:]))  # a name in a line of capitals
        if not word.isascii():
            forms += [each.translate(_PLAIN) for each in forms]
            forms += [unicodedata.normalize("NFC", each) for each in forms]
        return list(dict.fromkeys(forms))

    def _lower(self, text: str) -> str:
        if self.language in _DOTLESS:
            text = text.replace("İ", "i").replace("I", "ı")
        return text.lower()


_PLAIN = str.maketrans(dict.fromkeys(APOSTROPHES[:5], "'") | dict.fromkeys(HYPHENS, "-"))


class Analysis(NamedTuple):
    """A word form explained: its lemma and its features, part of speech among them."""

    lemma: str
    features: frozenset[str]


_TAG = re.compile(r"<([^<>]*)>")
_PREFIX = re.compile(r"[^+]*/[^+]*|Rdpl[A-Z]?|IC")
"""What GiellaLT writes before a lemma: preverbs (``PV/ka``), reduplication, initial change."""


def parse_analysis(text: str) -> Analysis:
    """Read an analysis in Apertium's or in GiellaLT's style.

    ``casa<n><f><sg>`` and ``casa+N+F+Sg`` have the lemma ``casa`` and three features each; tags
    before the lemma (``PV/ka+tam+V``) are features too. Of words that are joined
    (``de<pr>+o<det>``, ``guolli+N+Cmp#biebmu+N``) the lemmas are joined, and each feature of the
    second gets one ``+`` in front, of the third two, so that it is clear which word it is of.
    """
    apertium = "<" in text and ">" in text
    words = re.split(r"(?<=>)\+", text) if apertium else re.split(r"(?<=[^+#])#(?=.)", text)
    read = _apertium if apertium else _giellalt
    lemmas: list[str] = []
    features: set[str] = set()
    for position, each in enumerate(words):
        lemma, tags = read(each)
        lemmas.append(lemma)
        features.update("+" * position + tag for tag in tags if tag)
    return Analysis("+".join(lemmas), frozenset(features))


def _apertium(word: str) -> tuple[str, list[str]]:
    return _TAG.sub("", word), _TAG.findall(word)


def _giellalt(word: str) -> tuple[str, list[str]]:
    if word.startswith("+"):  # the plus sign itself
        return "+", word[1:].split("+")
    pieces = word.split("+")
    first = 0
    while first < len(pieces) - 1 and _PREFIX.fullmatch(pieces[first]):
        first += 1
    return pieces[first], pieces[:first] + pieces[first + 1 :]


def read_lookup(text: str) -> dict[str, tuple[str, ...]]:
    """Read what ``hfst-lookup`` prints: each word to its analyses, none if it was rejected.

    A line has word, analysis and weight. Rejected words have a line too: their analysis ends in
    ``+?`` and their weight is infinite. Other weights are costs and do not reject. Blank input
    lines and messages are no words.
    """
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        columns = line.removeprefix("> ").split("\t")
        if len(columns) < 2 or not columns[0].strip():
            continue
        word, *rest = columns
        analyses = words.setdefault(word, [])
        rejected = any(each == "+?" for each in rest[1:]) or rest[0].endswith("+?")
        infinite = len(rest) > 1 and rest[-1].strip().lower().lstrip("+") in ("inf", "infinity")
        if not rejected and not infinite and rest[0] not in analyses:
            analyses.append(rest[0])
    return {word: tuple(analyses) for word, analyses in words.items()}
