"""Keeping placeholders, tags and the like out of an engine's reach.

Each protected span becomes a short code word that the engine tends to carry over unchanged. When
it did not, the caller translates the pieces between the spans on their own instead.
"""

from __future__ import annotations

import re

_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
PROTECTED = re.compile(
    "|".join(
        [
            r"https?://\S*[^\s.,;:!?)\]}'\"]",  # addresses
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
            r"`[^`\n]+`",  # code
            r"</?[A-Za-z][^<>\n]*>",  # tags and entities
            r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
            r"\{%[^%\n]*%\}",  # {% tag %}
            rf"[$#%@]?{_BRACES}",  # {0} {name} {{name}} ${name} %{name} and ICU arguments
            r"%\([^()\s]+\)[-#0+]*\d*(?:\.\d+)?[A-Za-z]",  # %(name)s
            r"%(?:\d+\$)?[-#0+]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[diouxXeEfgGcsp@](?![A-Za-z])",
            r"%%",
            r"%\w+%",
            r"\$\w+",  # $1 $name
            r"(?<![\w:/]):[A-Za-z_]\w*",  # :name
            r"(?<!\w)[@!][A-Za-z_]\w*",  # @name !name
            r"\[\[[^\[\]\n]*\]\]",
            r"\\[nrt\"'\\]",  # escapes spelt out
            r"[\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F\u200D\u20E3]+",  # emoji
        ]
    )
)
_WORDS = ("XZ", "KQ", "QZ", "ZX")
"""Beginnings of code words; one that does not occur in the text is taken."""


def split(text: str) -> list[str]:
    """Return the text cut at its protected spans: plain text at even places, spans at odd."""
    pieces = []
    end = 0
    for match in PROTECTED.finditer(text):
        pieces += [text[end : match.start()], match[0]]
        end = match.end()
    return [*pieces, text[end:]]


def mask(pieces: list[str]) -> tuple[str, list[str]] | None:
    """Return text with a code word for each span, and the code words; None if all are taken.

    A code word next to a letter or digit gets a space between, or the engine would read both as
    one word.
    """
    plain = "".join(pieces[::2])
    word = next((word for word in _WORDS if word not in plain), None)
    if word is None:
        return None
    codes = [f"{word}{number}" for number in range(1, len(pieces) // 2 + 1)]
    masked = pieces[0]
    for code, following in zip(codes, pieces[2::2], strict=True):
        before = " " if masked[-1:].isalnum() else ""
        after = " " if following[:1].isalnum() else ""
        masked += f"{before}{code}{after}{following}"
    return masked, codes


def unmask(text: str, codes: list[str], pieces: list[str]) -> str | None:
    """Put the spans back, without the spaces that :func:`mask` has added.

    None unless every code word came back exactly once, and tags in the order they had.
    """
    found: list[tuple[int, int, str]] = []
    for place, code in enumerate(codes):
        matches = list(re.finditer(rf"(?<!\w){code}(?!\d)", text))
        if len(matches) != 1:
            return None
        start, end = matches[0].span()
        before, span, following = pieces[2 * place : 2 * place + 3]
        if before[-1:].isalnum() or (not before and place):
            start = len(text[:start].rstrip(" "))
        if following[:1].isalnum():
            end = len(text) - len(text[end:].lstrip(" "))
        found.append((start, end, span))
    ordered = sorted(found)
    if [span for *_, span in ordered if span[0] == "<"] != [
        span for *_, span in found if span[0] == "<"
    ]:
        return None
    restored, reached = "", 0
    for start, end, span in ordered:
        restored += text[reached : max(start, reached)] + span
        reached = end
    return restored + text[reached:]
