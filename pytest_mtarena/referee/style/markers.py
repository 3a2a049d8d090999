"""Finds the words, phrases and endings that show the register of a text.

Each language has a file ``data/CODE.json`` with groups of markers. A group says which register its
texts show, how strongly (``weight``), and how they are looked for (``match``):

=============  ===================================================================
``word``       whole words or phrases, whatever the case
``exact``      the same with the case as written
``inner``      the same with the case as written, never as the first word of a sentence
``suffix``     the end of any word
``ending``     the end of the last word of a sentence
``anywhere``   any place, for scripts without spaces between words
=============  ===================================================================

The register ``none`` is for look-alikes: what such a text covers counts for nothing. The longest
text wins where several fit.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, cast, get_args

MarkerRegister = Literal["formal", "informal", "none"]
Match = Literal["word", "exact", "inner", "suffix", "ending", "anywhere"]

MATCHES: frozenset[str] = frozenset(get_args(Match))
REGISTERS: frozenset[str] = frozenset(get_args(MarkerRegister))
MAX_CHARACTERS = 20_000
"""Longer texts are cut before they are searched."""

_ALSO = {
    "msa": "zsm",
    "zho": "cmn",
    "ara": "arb",
    "fas": "pes",
    "prs": "pes",
    "hbs": "bos",
    "hrv": "bos",
    "cnr": "bos",
    "fil": "tgl",
    "uzn": "uzb",
    "khk": "mon",
}
"""Codes of languages that a file of another code serves."""

_PUNCTUATION = (
    r"!-/:-@\[-`{-~¡«»¿"
    r"\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u301f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u1361-\u1368"
)
_TOKENS = re.compile(rf"[^\s{_PUNCTUATION}]+|[{_PUNCTUATION}]")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´＇", "'"))
_ENDS = frozenset(".!?…。．！？؟۔।॥။።:")
"""Marks after which a sentence starts; a colon counts, for capitals after it say nothing."""


@dataclass(frozen=True)
class Marker:
    """One text that shows a register."""

    text: str
    register: MarkerRegister
    weight: float
    match: Match


@dataclass(frozen=True)
class Hits:
    """What was found in a text."""

    formal: float = 0.0
    """Sum of the weights of formal markers."""
    informal: float = 0.0
    texts: tuple[str, ...] = ()
    """The markers that were found, in order of first appearance, each once."""

    @property
    def weight(self) -> float:
        """How much evidence there is."""
        return self.formal + self.informal


def code_of(language: str) -> str | None:
    """Return the code of the marker file for a language (ISO 639-3); None when there is none."""
    code = _ALSO.get(language, language)
    return code if code.isalpha() and code.isascii() and _path(code).is_file() else None


def languages() -> list[str]:
    """Return the codes of all languages with markers, sorted."""
    folder = files(__package__).joinpath("data")
    return sorted(one.name[:-5] for one in folder.iterdir() if one.name.endswith(".json"))


@cache
def load(code: str) -> Finder:
    """Return the finder of a language that ``code_of`` knows."""
    given = json.loads(_path(code).read_text(encoding="utf-8"))
    return Finder.of(
        Marker(
            text,
            cast("MarkerRegister", group["register"]),
            float(group["weight"]),
            cast("Match", group["match"]),
        )
        for group in given["markers"]
        for text in group["texts"]
    )


def tokens_of(text: str) -> list[str]:
    """Return words and single marks, in order; apostrophes are one kind, words have no marks."""
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return _TOKENS.findall(text.translate(_APOSTROPHES))


@dataclass(frozen=True)
class Finder:
    """Finds markers in texts, in time linear in the text."""

    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], Marker]]]
    """First word in lower case to the phrases that start with it, longest first."""
    suffixes: Mapping[str, Marker]
    endings: Mapping[str, Marker]
    anywhere: Sequence[Marker]
    """Longest first."""
    _lengths: tuple[Sequence[int], Sequence[int]] = field(default=((), ()))
    """Lengths of suffixes and of endings, longest first."""

    @classmethod
    def of(cls, markers: Iterable[Marker]) -> Finder:
        """Return a finder of these markers; of equal ones the last counts."""
        phrases: dict[str, list[tuple[tuple[str, ...], Marker]]] = defaultdict(list)
        ends: dict[str, dict[str, Marker]] = {"suffix": {}, "ending": {}}
        anywhere = []
        for marker in markers:
            if marker.match == "anywhere":
                anywhere.append(marker)
            elif marker.match in ends:
                ends[marker.match][marker.text.lower()] = marker
            elif words := tokens_of(marker.text):
                phrases[words[0].lower()].append((tuple(words), marker))
        for several in phrases.values():
            # Of equal length, one that looks at the case is the more particular.
            several.sort(key=lambda one: (-len(one[0]), one[1].match == "word"))
        anywhere.sort(key=lambda one: -len(one.text))
        lengths = [sorted({len(text) for text in one}, reverse=True) for one in ends.values()]
        return cls(phrases, ends["suffix"], ends["ending"], anywhere, (lengths[0], lengths[1]))

    def find(self, text: str) -> Hits:
        """Return what shows the register of a text."""
        tokens = tokens_of(text[:MAX_CHARACTERS])
        found = [*self._words(tokens), *self._places(text[:MAX_CHARACTERS])]
        weights = {"formal": 0.0, "informal": 0.0, "none": 0.0}
        for marker, count in found:
            weights[marker.register] += marker.weight * count
        names = dict.fromkeys(one.text for one, _ in found if one.register != "none")
        return Hits(weights["formal"], weights["informal"], tuple(names))

    def _words(self, tokens: Sequence[str]) -> list[tuple[Marker, int]]:
        found: list[tuple[Marker, int]] = []
        lowered = [token.lower() for token in tokens]
        position, initial = 0, True
        while position < len(tokens):
            phrase = self._phrase(tokens, lowered, position, initial)
            if phrase is not None:
                size, marker = phrase
                found.append((marker, 1))
            else:
                size = 1
                end = self._end(lowered, position)
                if end is not None:
                    found.append((end, 1))
            for token in tokens[position : position + size]:
                # A quotation mark neither starts nor continues a sentence.
                initial = token in _ENDS or (initial and not _is_word(token))
            position += size
        return found

    def _phrase(
        self, tokens: Sequence[str], lowered: Sequence[str], position: int, initial: bool
    ) -> tuple[int, Marker] | None:
        for words, marker in self.phrases.get(lowered[position], ()):
            size = len(words)
            if marker.match == "word":
                same = lowered[position : position + size] == [word.lower() for word in words]
            else:
                same = list(tokens[position : position + size]) == list(words)
            if same and not (initial and marker.match == "inner"):
                return size, marker
        return None

    def _end(self, lowered: Sequence[str], position: int) -> Marker | None:
        word = lowered[position]
        if not _is_word(word):
            return None
        if self.endings and _is_last(lowered, position):
            for size in self._lengths[1]:
                if size <= len(word) and (marker := self.endings.get(word[-size:])):
                    return marker
        for size in self._lengths[0]:
            if size < len(word) and (marker := self.suffixes.get(word[-size:])):
                return marker
        return None

    def _places(self, text: str) -> list[tuple[Marker, int]]:
        found = []
        for marker in self.anywhere:
            if marker.text in text:
                found.append((marker, text.count(marker.text)))
                text = text.replace(marker.text, "\0")
        return found


def _is_word(token: str) -> bool:
    return len(token) > 1 or token[0].isalnum()


def _is_last(tokens: Sequence[str], position: int) -> bool:
    """Say whether the word is the last of a sentence; closing quotation marks may follow."""
    for token in tokens[position + 1 : position + 5]:
        if token in _ENDS:
            return True
        if _is_word(token) or token in ",、،;":
            return False
    return position + 5 >= len(tokens)


def _path(code: str) -> Traversable:
    return files(__package__).joinpath("data", f"{code}.json")
