"""Text from outside, made safe and short for terminals and messages.

Outputs of contestants are hostile until shown otherwise: a control character can repaint a
terminal, a bidirectional override can turn a line around, a lone surrogate cannot be encoded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}

_HIDDEN = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories that are always escaped: controls, surrogates, private use, unassigned, separators."""

_FORMAT_SHOWN = frozenset("\u200c\u200d\u00ad")
"""Format characters that are part of ordinary spelling: ZWNJ, ZWJ, soft hyphen."""

ELLIPSIS = "…"


def printable(text: str) -> str:
    """Return the text on one line with everything that could act on a terminal made visible."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char == " " or (char.isprintable() and char not in _NAMED):
        return char
    if char in _NAMED:
        return _NAMED[char]
    category = unicodedata.category(char)
    if category == "Zs" or char in _FORMAT_SHOWN:
        return char
    if category == "Cf" or category in _HIDDEN:
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
    return char


def columns(text: str) -> int:
    """Return how many terminal columns a printable text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if char in _FORMAT_SHOWN or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """Return the text, or as much of its beginning as fits ``width`` columns with an ellipsis.

    Combining marks stay with their letter. A width below 1 gives the empty text.
    """
    # Only as much as could fit is looked at: a text of megabytes costs no more than a line.
    if len(text) <= 2 * width and columns(text) <= width:
        return text
    if width < 1:
        return ""
    room = width - 1
    for position, char in enumerate(text):
        room -= _width(char)
        if room < 0:
            return text[:position] + ELLIPSIS
    # Every character fitted: nothing but marks of no width follows, unless one column is missing.
    return text if columns(text) <= width else text[:-1] + ELLIPSIS


def pad(text: str, width: int) -> str:
    """Return the text filled with blanks to ``width`` columns; longer text stays as it is."""
    return text + " " * max(0, width - columns(text))


def some(ids: Sequence[str], limit: int = 8) -> str:
    """Return up to ``limit`` ids in one printable phrase: ``e1 e2 e3 and 4 more``."""
    shown = " ".join(cut(printable(one), 40) for one in ids[:limit])
    rest = len(ids) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown
