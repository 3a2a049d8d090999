"""Names of items: short, unique, printable, and the same in every process."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_BYTES = 120
_DIGEST = 10
_PLAIN = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_BYTES}}}")
"""Most ids need no encoding."""


def node_name(text: str) -> str:
    """Return an id as it stands in a node id.

    Letters of any script stay. What a terminal, a shell line or pytest's own syntax would
    misread is percent-encoded: control and format characters, brackets, the percent sign, a
    colon next to another one, blanks at either end. Different ids give different names; a name
    over 120 bytes of UTF-8 is cut and ends in a digest of the whole id.
    """
    if _PLAIN.fullmatch(text):
        return text
    name = "".join(map(_safe, text))
    name = re.sub(r":(?=:)|(?<=:):", "%3A", name)
    name = re.sub(r"^\s+|\s+$", lambda blank: _percent(blank.group()), name)
    raw = name.encode()
    if len(raw) <= MAX_BYTES:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return raw[: MAX_BYTES - _DIGEST - 1].decode(errors="ignore") + "~" + digest


def _safe(character: str) -> str:
    if character in "[]%" or unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}:
        return _percent(character)
    return character


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())
