"""Word for word from English to Portuguese: no grammar, no engine, a floor above copying.

The longest phrase that ``lexicon.json`` knows is taken first. Everything else stays as it is:
words that are not in it, punctuation, white space, placeholders, tags and addresses. The case of
a word (lower, Title, UPPER) carries over to its translation.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

LONGEST = 3
"""Words in the longest phrase that is looked up."""
_TOKEN = re.compile(
    r"(?P<kept>https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|</?[A-Za-z][^<>]*>|&\w+;"
    r"|[$#%@]?\{[^{}]*\}+|%\([^()\s]+\)[-#0+]*\d*[A-Za-z]|%(?:\d+\$)?[-#0+]*[\d.]*[A-Za-z@%]"
    r"|\$\w+|`[^`]*`|(?<!\w):[A-Za-z_]\w*|\\[nrt])"
    r"|(?P<word>(?<!\w)[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w))"
)


class Lexicon:
    """Looks words up in the method's own list."""

    def __init__(self, method_dir):
        self._words = json.loads((Path(method_dir) / "lexicon.json").read_text("utf-8"))

    def translate(self, entries, config):
        check_pair(config.source_code, config.target_code)
        return [
            {
                "id": entry["id"],
                "predicted": self.translate_text(entry["source"]),
                "cost_usd": 0.0,
            }
            for entry in entries
        ]

    def translate_text(self, text: str) -> str:
        """Translate a text, leaving everything between known words as it is."""
        tokens = list(_TOKEN.finditer(text))
        pieces, reached, place = [], 0, 0
        while place < len(tokens):
            count, translated = self._longest(text, tokens, place)
            start, end = tokens[place].start(), tokens[place + count - 1].end()
            pieces += [text[reached:start], translated]
            reached, place = end, place + count
        return "".join([*pieces, text[reached:]])

    def _longest(self, text, tokens, place):
        """Return how many tokens the longest known phrase has, and its translation."""
        for count in range(min(LONGEST, len(tokens) - place), 0, -1):
            group = tokens[place : place + count]
            if any(token["word"] is None for token in group):
                continue
            joined = all(
                text[one.end() : other.start()] == " " for one, other in itertools.pairwise(group)
            )
            written = text[group[0].start() : group[-1].end()]
            found = self._words.get(written.lower().replace("’", "'")) if joined else None
            if found is not None:
                return count, in_case_of(written, found)
        return 1, tokens[place][0]


def in_case_of(written: str, translated: str) -> str:
    """Give a translation the case of the written word."""
    if len(written) > 1 and written.isupper():
        return translated.upper()
    if written[0].isupper() and written.lower() != "i":
        return translated[0].upper() + translated[1:]
    return translated


def check_pair(source: str, target: str) -> None:
    """Raise ValueError unless the pair is English to Portuguese."""
    languages = [code.replace("_", "-").split("-")[0].lower() for code in (source, target)]
    if languages[0] not in ("en", "eng") or languages[1] not in ("pt", "por"):
        raise ValueError(f"the lexicon has eng>por only, not {source or '?'}>{target or '?'}")
