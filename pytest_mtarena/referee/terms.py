"""Terms and texts: finding a term in a source, and its targets in an output."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import regex

from pytest_mtarena.referee.placeholders import without_placeholders

_UNSEGMENTED = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\u30fc]"
)
_WORD = regex.compile(rf"[[\p{{L}}\p{{M}}\p{{N}}\u200c\u200d]--{_UNSEGMENTED}]+", regex.V1)
_PHRASE = regex.compile(
    rf"(?:[[\p{{L}}\p{{M}}\p{{N}}\u200c\u200d\s'’ʼ·‐-]--{_UNSEGMENTED}])++", regex.V1
)
_SKIPPED = dict.fromkeys((*range(0x064B, 0x0653), 0x0640, 0x00AD, 0x0670))
"""Vowel signs of Arabic, its long stroke, and the soft hyphen: often left out."""

_PROCLITICS = {
    "Arabic": ("وال", "بال", "كال", "فال", "لل", "ال", "و", "ب", "ل", "ف", "ك"),
    "Hebrew": ("וה", "שה", "מה", "ו", "ה", "ב", "ל", "כ", "מ", "ש"),
}
"""Articles, conjunctions and prepositions that are written together with the next word."""

_SHORTEST = 3
"""Letters that have to remain of a word when a proclitic is taken off."""


class Term(NamedTuple):
    """A term and how it may, and may not, be translated."""

    source: str
    accept: tuple[str, ...]
    """Empty when all but ``forbid`` will do."""
    forbid: tuple[str, ...] = ()


class Phrase(NamedTuple):
    """A term as it is searched for."""

    text: str
    """Folded."""
    words: tuple[str, ...]
    """Its words; empty when it is searched for character by character."""


class Span(NamedTuple):
    """Where a phrase was found."""

    start: int
    end: int


class Found(NamedTuple):
    """A term that a source has."""

    term: Term
    times: int
    """How often."""


class Use(NamedTuple):
    """What became of a term in an output."""

    term: Term
    times: int
    """How often the source has it."""
    kept: int
    """How often the output has an accepted target, ``times`` at most, forbidden ones taken off."""
    target: str
    """The first of the accepted targets that was found, in the glossary's order; else empty."""
    forbidden: tuple[str, ...]
    """The forbidden targets that were found, one for each occurrence."""


def fold(text: str) -> str:
    """Return a text as terms are compared: without case, in NFC, without optional marks."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.casefold()).translate(_SKIPPED)


@lru_cache(maxsize=65_536)
def phrase_of(text: str) -> Phrase:
    """Return a term as it is searched for.

    One of words is found at the boundaries of words, blanks and hyphens alike between them. One
    with other signs (``C++``), or in a script without spaces, is found as it is written.
    """
    folded = " ".join(fold(text).split())
    if _PHRASE.fullmatch(folded):
        return Phrase(folded, tuple(_WORD.findall(folded)))
    return Phrase(folded, ())


class Prose:
    """A text to search: folded, without its placeholders."""

    def __init__(self, text: str) -> None:
        self.text = fold(without_placeholders(text))

    @cached_property
    def words(self) -> list[str]:
        """The words in order."""
        return [word for word, _ in self._parsed]

    @cached_property
    def spans(self) -> list[Span]:
        """Where the words stand."""
        return [span for _, span in self._parsed]

    @cached_property
    def _parsed(self) -> list[tuple[str, Span]]:
        return [(match.group(), Span(*match.span())) for match in _WORD.finditer(self.text)]

    def exact(self, phrase: Phrase) -> Iterator[Span]:
        """Yield where a phrase stands as it is."""
        if not phrase.words:
            yield from self._literal(phrase.text)
            return
        size = len(phrase.words)
        first = phrase.words[0]
        if first not in self._places:
            return
        for place in self._places[first]:
            if tuple(self.words[place : place + size]) == phrase.words:
                yield Span(self.spans[place].start, self.spans[place + size - 1].end)

    def inflected(self, phrase: Phrase, *, strict: bool = False) -> Iterator[Span]:
        """Yield where a phrase stands in some form of its words."""
        size = len(phrase.words)
        if not size or size > len(self.words):
            return
        first, *others = phrase.words
        for word, places in self._places.items():
            if not is_form(word, first, strict=strict):
                continue
            for place in places:
                following = self.words[place + 1 : place + size]
                if len(following) == size - 1 and all(
                    is_form(one, other, strict=strict)
                    for one, other in zip(following, others, strict=True)
                ):
                    yield Span(self.spans[place].start, self.spans[place + size - 1].end)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    def _literal(self, text: str) -> Iterator[Span]:
        at = self.text.find(text)
        while at >= 0:
            if self.stands(text, at):
                yield Span(at, at + len(text))
            at = self.text.find(text, at + len(text))

    def stands(self, text: str, at: int) -> bool:
        """Say whether a text stands at a place without cutting a word.

        Scripts without spaces have no words to cut.
        """
        end = at + len(text)
        if not self.text.startswith(text, at):
            return False
        before, after = self.text[max(0, at - 1) : at], self.text[end : end + 1]
        return not (
            (_WORD.match(before) and _WORD.match(text[0]))
            or (_WORD.match(after) and _WORD.match(text[-1]))
        )


@lru_cache(maxsize=50_000)
def is_form(word: str, term: str, *, strict: bool = False) -> bool:
    """Say whether a word may be an inflected form of a term; both folded, one word each.

    A term of three letters or fewer has no other forms. One of four letters may have two more at
    its end (``chat``, ``chats``; never ``achat``). A longer one is recognised by its beginning:
    all but its last two letters (three from nine letters on), four at least, and behind those two
    letters at most (four from seven letters on); the whole term may be followed by eight, as in
    languages that put several endings or words together. A word in Arabic or Hebrew letters may
    begin with proclitics. ``strict`` allows two letters more at the end and nothing else: for
    what is forbidden, where a mistake accuses.
    """
    if word == term:
        return True
    script = _script(term)
    if script not in _PROCLITICS:
        return _has_form(word, term, script, strict)
    bare = _without_article(term)
    return any(
        one == bare or _has_form(one, bare, script, strict)
        for one in (word, *_without_proclitics(word, script))
    )


_LONGEST_ENDING = 8
"""Letters that may follow a whole term, at most."""


def _has_form(word: str, term: str, script: str, strict: bool) -> bool:
    size = len(term)
    rooted = script in ("Arabic", "Hangul")  # words are short, and written with their particles
    if size < (2 if script == "Hangul" else 3 if rooted else 4):
        return False
    if word.startswith(term):
        return len(word) - size <= (2 if strict or (size < 5 and not rooted) else _LONGEST_ENDING)
    if strict or size < 5:
        return False
    least = max(4, size - (3 if size >= 9 else 2))
    return word.startswith(term[:least]) and len(word) - least <= (4 if size >= 7 else 2)


def _without_article(term: str) -> str:
    """Return a term without the article of Arabic, which must not count as its beginning."""
    return term[2:] if term.startswith("ال") and len(term) >= _SHORTEST + 2 else term


def _without_proclitics(word: str, script: str) -> Iterator[str]:
    for prefix in _PROCLITICS[script]:
        if word.startswith(prefix) and len(word) - len(prefix) >= _SHORTEST:
            yield word[len(prefix) :]


def _script(word: str) -> str:
    """Return the name of a script that has rules of its own, by the first letter."""
    code = ord(word[0])
    if 0x0600 <= code < 0x0700:
        return "Arabic"
    if 0x0590 <= code < 0x0600:
        return "Hebrew"
    return "Hangul" if 0xAC00 <= code < 0xD7B0 else ""


class Glossary:
    """Terms, ready to be found in sources."""

    def __init__(self, terms: Iterable[Term]) -> None:
        """Terms of the same source (folded) are put together."""
        self.terms: dict[str, Term] = {}
        for term in terms:
            key = phrase_of(term.source).text
            other = self.terms.get(key)
            if other is not None:
                term = Term(
                    other.source,
                    tuple(dict.fromkeys((*other.accept, *term.accept))),
                    tuple(dict.fromkeys((*other.forbid, *term.forbid))),
                )
            self.terms[key] = term
        self._by_word: dict[str, list[Phrase]] = {}
        self._by_sign: dict[str, list[Phrase]] = {}
        for key in self.terms:
            phrase = phrase_of(key)
            if phrase.words:
                self._by_word.setdefault(phrase.words[0], []).append(phrase)
            else:
                self._by_sign.setdefault(phrase.text[0], []).append(phrase)
        signs = "".join(map(re.escape, sorted(self._by_sign)))
        self._signs = re.compile(f"[{signs}]") if signs else None

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, source: Prose, but: Glossary | None = None) -> list[tuple[Span, Term]]:
        """Return every place of every term in a source, those of ``but`` left out."""
        places: list[tuple[Span, Term]] = []
        for place, word in enumerate(source.words if self._by_word else ()):
            for phrase in self._by_word.get(word, ()):
                size = len(phrase.words)
                if size == 1 or tuple(source.words[place : place + size]) == phrase.words:
                    span = Span(source.spans[place].start, source.spans[place + size - 1].end)
                    places.append((span, self.terms[phrase.text]))
        for match in self._signs.finditer(source.text) if self._signs else ():
            at = match.start()
            places += [
                (Span(at, at + len(phrase.text)), self.terms[phrase.text])
                for phrase in self._by_sign[match.group()]
                if source.stands(phrase.text, at)
            ]
        if but is None:
            return places
        return [one for one in places if phrase_of(one[1].source).text not in but.terms]


def found_terms(source: Prose, glossaries: Sequence[Glossary]) -> list[Found]:
    """Return the terms of a source, each once with how often; the longest match counts.

    An earlier glossary says what counts for a term that several have.
    """
    places: list[tuple[Span, Term]] = []
    for number, glossary in enumerate(glossaries):
        places += glossary.find(source, glossaries[0] if number else None)
    places.sort(key=lambda one: (one[0].start - one[0].end, one[0].start))
    taken = _Taken(len(source.text))
    counts: dict[Term, int] = {}
    for span, term in places:
        if taken.take(span):
            counts[term] = counts.get(term, 0) + 1
    return [Found(term, count) for term, count in counts.items()]


def uses_of(found: Sequence[Found], output: Prose) -> list[Use]:
    """Return what became of a source's terms in an output.

    A word of the output counts for one term only: first for those that it is a target of as it
    is written, then for what is forbidden so, then for what it is a form of. Terms with long
    targets come first.
    """
    if not found or not output.text.strip():
        return [Use(term, times, 0, "", ()) for term, times in found]
    order = sorted(found, key=lambda one: -max(map(len, one.term.accept), default=0))
    taken = _Taken(len(output.text))
    accepted = {one.term: _Tally() for one in order}
    forbidden = {one.term: _Tally() for one in order}
    for one in order:
        accepted[one.term].exact(one.term.accept, output, taken, one.times)
    for one in order:
        forbidden[one.term].exact(one.term.forbid, output, taken)
    for one in order:
        left = one.times - len(accepted[one.term].found)
        accepted[one.term].inflected(one.term.accept, output, taken, left)
    for one in order:
        # More of an accepted target than the source has of the term is no forbidden one.
        _Tally().inflected(one.term.accept, output, taken)
        forbidden[one.term].inflected(one.term.forbid, output, taken, strict=True)
    return [_use(one, accepted[one.term].found, forbidden[one.term].found) for one in found]


def _use(one: Found, accepted: Sequence[str], forbidden: Sequence[str]) -> Use:
    has = len(accepted) if one.term.accept else one.times
    kept = min(has, max(0, one.times - len(forbidden)))
    first = next((target for target in one.term.accept if target in accepted), "")
    return Use(one.term, one.times, kept, first, tuple(forbidden))


class _Taken:
    """Which characters of a text are used up."""

    def __init__(self, size: int) -> None:
        self._marks = bytearray(size)

    def take(self, span: Span) -> bool:
        """Use a span up if all of it is free; return whether it was."""
        if self._marks.find(1, span.start, span.end) >= 0:
            return False
        self._marks[span.start : span.end] = b"\x01" * (span.end - span.start)
        return True


class _Tally:
    """The targets of one term that were found."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def exact(
        self, targets: Sequence[str], output: Prose, taken: _Taken, most: int | None = None
    ) -> None:
        """Add the targets that stand in an output as they are written."""
        self._add(((one, output.exact(phrase_of(one))) for one in targets), taken, most)

    def inflected(
        self,
        targets: Sequence[str],
        output: Prose,
        taken: _Taken,
        most: int | None = None,
        *,
        strict: bool = False,
    ) -> None:
        """Add the targets that stand in an output in some form."""
        pairs = ((one, output.inflected(phrase_of(one), strict=strict)) for one in targets)
        self._add(pairs, taken, most)

    def _add(
        self, pairs: Iterable[tuple[str, Iterator[Span]]], taken: _Taken, most: int | None
    ) -> None:
        if most == 0:
            return
        places = sorted(
            ((span, target) for target, spans in pairs for span in spans),
            key=lambda one: (one[0].start - one[0].end, one[0].start),
        )
        for span, target in places:
            if most is not None and most <= 0:
                break
            if taken.take(span):
                self.found.append(target)
                most = None if most is None else most - 1


def digest(text: str) -> int:
    """Return 64 bits that stand for a text, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
