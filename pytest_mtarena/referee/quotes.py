"""Pairs of quotation marks in a text, told from apostrophes, primes and strays."""

from __future__ import annotations

import re
from collections.abc import Collection

Pair = tuple[str, str]

KNOWN: frozenset[Pair] = frozenset(
    {
        *(('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("‚", "‘"), ("„", "”")),
        *(("‚", "’"), ("”", "”"), ("’", "’"), ("«", "»"), ("»", "«"), ("»", "»"), ("‹", "›")),
        *(("›", "‹"), ("「", "」"), ("『", "』"), ("《", "》"), ("〈", "〉")),
        *(("〝", "〟"), ("＂", "＂")),
    }
)
"""The pairs that are in use somewhere."""

_MARK = re.compile("[" + "".join(sorted({mark for pair in KNOWN for mark in pair})) + "]")
_SINGLE = frozenset("'’‘‚")
"""Marks that may be an apostrophe as well."""
_MOST_SINGLE = 8
"""Single marks that may be open at once; of more the oldest are apostrophes."""


def find_pairs(text: str, allowed: Collection[Pair] = KNOWN) -> list[Pair] | None:
    """Return the pairs of quotation marks of a text, in the order in which they end.

    Only allowed pairs are pairs. None means that a mark has no partner or that pairs are not
    properly nested. An apostrophe is no mark: a single mark opens at the beginning of a word
    only, closes at the end of one only, and without a partner is an apostrophe. A double prime
    behind a digit without an open mark is a measure.
    """
    openers = {pair[0] for pair in allowed}
    found: list[Pair] = []
    open: list[str] = []
    stray = False
    for match in _MARK.finditer(text):
        at, mark = match.start(), match.group()
        before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        single = mark in _SINGLE
        if _closes(open, mark, allowed, before, after):
            while (pair := (open.pop(), mark)) not in allowed:
                pass  # single marks that were left open are apostrophes
            found.append(pair)
        elif mark in openers and _may_open(mark, single, before, after):
            if single and len(open) >= _MOST_SINGLE and _SINGLE.issuperset(open[-_MOST_SINGLE:]):
                del open[-_MOST_SINGLE]
            open.append(mark)
        elif not single and not (mark == '"' and before.isdigit()):
            stray = True
    if stray or any(mark not in _SINGLE for mark in open):
        return None
    return found


def _closes(open: list[str], mark: str, allowed: Collection[Pair], before: str, after: str) -> bool:
    """Say whether a mark closes the innermost open one, single marks left open aside."""
    if mark in _SINGLE and (not before or before.isspace() or after.isalnum()):
        return False
    for other in reversed(open):
        if (other, mark) in allowed:
            return True
        if other not in _SINGLE:
            return False
    return False


def _may_open(mark: str, single: bool, before: str, after: str) -> bool:
    if mark == '"':
        return not before.isdigit() or not (not after or after.isspace())
    if not single:
        return True
    return not before.isalnum() and bool(after) and not after.isspace()
