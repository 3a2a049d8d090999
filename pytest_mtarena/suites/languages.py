"""Languages as suites write them: codes, names, pairs, and the groups they make."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_mtarena.records import Json, Language

UNKNOWN = "und"
"""The code of ISO 639 for a language that is not known."""

_CODE = re.compile(r"(?:[A-Za-z]{2,3}|[xi](?=[-_]))(?:[-_][A-Za-z0-9]{1,8})*")
_STRICT = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Z]{2}|[0-9]{3}))?")
_ARROW = re.compile(r"\s*(?:→|->|=>|>|:|/|\|)\s*|\s+(?:to|-|–)\s+")
_UNSAFE = re.compile(r"\W+")


class BadLanguage(ValueError):
    """A language or pair that cannot be read; the text says why, for people."""


def is_code(text: str) -> bool:
    """Say whether a text looks like a language code: ``en``, ``crk``, ``por_Latn``, ``pt-BR``."""
    return _CODE.fullmatch(text) is not None


def read_language(value: Json) -> Language:
    """Return the language behind a code, a name, or an object with ``code`` and ``name``."""
    if value is None:
        return Language()
    if isinstance(value, Mapping):
        code, name = value.get("code"), value.get("name")
        return Language(code=_text(code), name=_text(name))
    text = _text(value)
    return Language(code=text) if is_code(text) else Language(name=text)


def read_pair(value: Json) -> tuple[Language, Language]:
    """Return source and target of a ``language_pair``: an object or a text such as ``EN→CRK``."""
    if value is None or value == "":
        return Language(), Language()
    if isinstance(value, Mapping):
        return _side(value, "source"), _side(value, "target")
    parts = split_pair(_text(value))
    return read_language(parts[0]), read_language(parts[1])


def split_pair(text: str) -> tuple[str, str]:
    """Split a written pair: at an arrow, a colon, or the one hyphen that leaves two codes.

    ``pt-BR-en`` has only one reading, since a region is written in capitals.
    """
    parts = [part.strip() for part in _ARROW.split(text.strip())]
    if len(parts) == 2 and all(parts):
        return parts[0], parts[1]
    if len(parts) == 1:
        hyphens = [place for place, sign in enumerate(text) if sign == "-"]
        halves = [(text[:place].strip(), text[place + 1 :].strip()) for place in hyphens]
        if len(halves) == 1 and all(halves[0]):
            return halves[0]
        fitting = [pair for pair in halves if all(_STRICT.fullmatch(half) for half in pair)]
        if len(fitting) == 1:
            return fitting[0]
    raise BadLanguage(
        f"language pair {text[:60]!r} cannot be split into two languages: write "
        '{"source": ..., "target": ...} or source→target'
    )


def complete(language: Language, other: Language) -> Language:
    """Return the language with what it lacks taken from another description of it."""
    code, name = language.code or other.code, language.name or other.name
    # A three-letter name ("Lao") looks like a code; beside a code it can only be the name.
    if not name and language.code and other.code.istitle() and other.code != code:
        name = other.code
    return Language(code=code, name=name)


def override(language: Language, value: str | None) -> Language:
    """Return the language as the user names it, by a code or by a name."""
    text = (value or "").strip()
    if not text:
        return language
    if not is_code(text):
        return Language(code=language.code, name=text)
    same = text.casefold() == language.code.casefold()
    return Language(code=text, name=language.name if same else "")


def group_name(source: Language, target: Language) -> str:
    """Return ``eng-por``: short, printable, without blanks, brackets, slashes or colons."""
    return f"{handle(source)}-{handle(target)}"


def handle(language: Language) -> str:
    """Return the part of a group's name that stands for one language."""
    code = re.sub(r"[^A-Za-z0-9_-]+", "_", language.code)[:32]
    name = _UNSAFE.sub("_", language.name)[:32].strip("_")
    return code.strip("_-") or name or UNKNOWN


def _side(pair: Mapping[str, Json], side: str) -> Language:
    whole = read_language(pair.get(side))
    return complete(whole, Language(name=_text(pair.get(f"{side}_name"))))


def _text(value: Json) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadLanguage(f"a language must be text, not {value!r:.60}: put it in quotes")
    text = value.strip()
    if not text.isprintable():
        raise BadLanguage(f"language {ascii(text)[:60]} has control characters")
    return text
