"""The words of a text, and what stands between them that is no word.

One pass finds words, numbers, URLs, e-mail addresses and placeholders. Word boundaries follow
UAX 29 with these differences, all of them towards what a lexicon calls a word: hyphens join
(``dixo-me``), a full stop joins abbreviations of short pieces only (``p.ex.``, ``EE.UU.``), and
scripts written without spaces and without a rule in UAX 29 (Thai, Lao, Khmer, Burmese) stay whole
runs. Every repetition that can fail is bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

import regex

WordKind = Literal["word", "number", "url", "email", "placeholder"]
"""What a piece of text is; only a ``word`` belongs to the language."""


class Word(NamedTuple):
    """A word or something that stands in its place, with where it is: ``text[start:end]``."""

    text: str
    start: int
    end: int
    kind: WordKind


APOSTROPHES = "'’‘ʼ＇ʹ׳"
"""What is written for an apostrophe inside a word; some of them are letters to Unicode."""
HYPHENS = "-‐‑"
"""Hyphens that join words: the one of the keyboard, the real one, the unbreakable one."""
MIDDLE_DOTS = "·‧"
"""The dot of the Catalan ``l·l``."""

_JOINTS = regex.escape(f"{APOSTROPHES}״{HYPHENS}{MIDDLE_DOTS}_")
_INSIDE = r"\p{L}\p{M}\p{N}\u00ad\u200c\u200d"
_DOMAINS = "com|org|net|edu|gov|mil|int|info|dev|app|gal|cat|eus"
"""Ends of names that are taken for a web site without ``www.`` or ``https://``."""

_PLACEHOLDER = r"""
    \{\{[^{}\n]{1,100}\}\}                                          # {{ name }}
  | [$%\#]\{[^{}\n]{1,100}\}                                        # ${name} %{name} #{name}
  | \{\s{0,9}\w{1,64}\s{0,9},\s{0,9}(?:plural|select|selectordinal)\s{0,9},  # {n, plural,
  | (?:=\d{1,9}|\b(?:zero|one|two|few|many|other))\s{0,9}\{          # one {
  | \{\s{0,9}\w{1,64}\s{0,9},\s{0,9}[a-z]{1,20}\b[^{}\n]{0,100}\}     # {n, number, percent}
  | \{[\w.:!<>^+,\#\[\]-]{0,100}\}                                    # {name} {0:.2f} {}
  | %\([^()\n]{1,64}\)[-+\#0]{0,5}\d{0,4}(?:\.\d{1,4})?[diouxXeEfFgGcrsa]        # %(name)s
  | %(?:\d{1,3}\$)?[-+\#0]{0,5}\d{0,4}(?:\.\d{1,4})?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcrsaAp@]
  | %%
  | </?[A-Za-z][\w:.-]{0,64}(?:\s[^<>]{0,1000})?/?>                 # <b> </b> <br/>
  | &(?:[A-Za-z][A-Za-z0-9]{1,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});  # &amp; &#39;
"""

_URL = rf"""
    (?:https?|ftp)://[^\s<>"«»“”„]{{1,4000}}
  | mailto:(?=\S)
  | www\.[^\s<>"«»“”„]{{1,4000}}
  | (?:[\p{{L}}\p{{N}}-]{{1,63}}\.){{1,8}}(?:{_DOMAINS})(?![\p{{L}}\p{{N}}])
    (?:[/?\#][^\s<>"«»“”„]{{0,4000}})?
"""

_NUMBER = r"""
    (?:(?<![\p{L}\p{N}])[-+−])?\p{Sc}?
    (?: \p{Nd}{1,3}(?:[\ \u00a0\u2009\u202f]\p{Nd}{3}(?!\p{Nd}))+ | \p{Nd}++ | [\p{No}\p{Nl}]++ )
    (?:[.,:/'’٫٬xX×hHT-]\p{Nd}++)*+
    [\p{No}]*+
    (?: [\ \u00a0\u202f]?(?:%(?![\p{L}\p{N}(\{])|[‰°]|\p{Sc}(?![\p{L}\p{N}{]))[CFK]?(?!\p{L})
      | \.?[ºª]\p{L}{0,2}(?!\p{L})
      | \p{L}{1,4}(?![\p{L}\p{M}\p{N}]) )?
"""

_PLAIN_WORD = r"""
    [A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u052f]++
    (?=[\ ,;!?\n](?!\s{0,8}\{)|\Z)
"""
"""Most words: letters, and behind them what can only end a word. Tried first, for speed."""

_WORD = rf"""
    \p{{Script=Han}}\p{{M}}*+ | \p{{Script=Hiragana}}\p{{M}}*+
  | \p{{L}}(?:(?!\p{{Script=Han}}|\p{{Script=Hiragana}})[{_INSIDE}])*+
    (?:[{_JOINTS}](?!\p{{Script=Han}})[\p{{L}}\p{{N}}][{_INSIDE}]*+)*+
"""

_TOKEN = regex.compile(
    rf"""
    (?P<plain>{_PLAIN_WORD})
  | (?P<placeholder>{_PLACEHOLDER})
  | (?P<url>{_URL})
  | (?P<email>[\p{{L}}\p{{N}}._+-]{{1,64}}+@(?:[\p{{L}}\p{{N}}-]{{1,63}}\.){{1,8}}\p{{L}}{{2,24}})
  | (?P<number>{_NUMBER})
  | (?P<abbreviation>(?:\p{{L}}\p{{M}}*+\p{{L}}?\p{{M}}*+\.){{2,8}}(?!\p{{L}}))
  | (?P<word>{_WORD})
    """,
    regex.VERBOSE | regex.VERSION0,
)
_JOINT = regex.compile(f"([{_JOINTS}])")
_TRAILING = ".,;:!?…'’)]}*_"
"""What ends a sentence behind a URL rather than the URL."""


def words_of(text: str) -> list[Word]:
    """Return the words of a text and what stands in their place, in order, without overlaps.

    Punctuation, symbols and blanks are left out. An apostrophe, hyphen or middle dot between
    letters belongs to the word; see ``parts``. Numbers come with sign, separators, currency or
    unit where they have them (``1.234,5``, ``10:30``, ``2024-05-01``, ``10 %``, ``5km``).
    """
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        start, end = match.span()
        if kind in ("plain", "abbreviation"):
            kind = "word"
        elif kind == "url":
            end = _end_of_url(text, start, end)
        found.append(Word(text[start:end], start, end, cast(WordKind, kind)))
    return found


def _end_of_url(text: str, start: int, end: int) -> int:
    """Return where a URL ends when the punctuation of the sentence is taken off."""
    while end > start and text[end - 1] in _TRAILING:
        if text[end - 1] == ")" and text.count("(", start, end) >= text.count(")", start, end):
            break
        end -= 1
    return end


def parts(word: Word | str) -> list[str]:
    """Return the parts of a word between its apostrophes, hyphens and middle dots.

    ``l’arc-en-ciel`` gives ``l``, ``arc``, ``en``, ``ciel``; a simple word is its only part.
    """
    return [part for part in joined_parts(word)[::2] if part]


def joined_parts(word: Word | str) -> list[str]:
    """Return parts and what joins them in turn: ``d'ara`` gives ``d``, ``'``, ``ara``."""
    return cast("list[str]", _JOINT.split(word if isinstance(word, str) else word.text))
