"""Language cards: JSON files in which users describe languages, above what the table knows.

A card is an object; only ``code`` is needed::

    {
      "code": "crk-x-plains",
      "name": "Plains Cree (SRO)",
      "aliases": ["Nêhiyawêwin"],
      "iso639_1": null,
      "extends": "crk",
      "scriptUnicodeName": "Latin",
      "scripts": ["Latn"],
      "direction": "ltr",
      "spaces": true,
      "orthography": {"letters": "acehikmnopstwyâêîô", "auxiliary": "bdfg", "marks": "-"},
      "rules": {
        "typography": {"quoteStart": "“", "quoteEnd": "”"},
        "capitalization": {"hasCase": true},
        "variables": {"format": "{name}"}
      },
      "metricModelSupport": {"xlmr": {"tier": "none"}},
      "vendorCodes": {"google": "cr"}
    }

All other fields (``registers``, ``resources``, ``evalPack``) are kept as they are in
``LanguageFacts.card``. A card with ``extends`` takes from its parent what it does not say itself,
objects key by key; a null takes the parent's value, a list replaces the parent's list. Names of
the parent that only stand in its ``aliases`` are not the child's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Json
from pytest_mtarena.text import cut, printable

Card = Mapping[str, Json]
"""A language card as JSON."""

_MAX_BYTES = 4_000_000
_SCRIPT = re.compile("[A-Z][a-z]{3}")

_STRINGS = ("name", "iso639_1", "extends", "scriptUnicodeName")
_OBJECTS = ("rules", "orthography", "metricModelSupport", "vendorCodes", "resources")
_INNER_OBJECTS = (
    ("rules", "typography"),
    ("rules", "capitalization"),
    ("metricModelSupport", "xlmr"),
)
_INNER_STRINGS = (
    ("rules", "typography", "quoteStart"),
    ("rules", "typography", "quoteEnd"),
    ("metricModelSupport", "xlmr", "tier"),
)

UNICODE_NAMES = {
    "adlam": "Adlm",
    "arabic": "Arab",
    "armenian": "Armn",
    "balinese": "Bali",
    "bengali": "Beng",
    "bopomofo": "Bopo",
    "canadian aboriginal": "Cans",
    "cherokee": "Cher",
    "coptic": "Copt",
    "cyrillic": "Cyrl",
    "devanagari": "Deva",
    "ethiopic": "Ethi",
    "georgian": "Geor",
    "greek": "Grek",
    "gujarati": "Gujr",
    "gurmukhi": "Guru",
    "han": "Hani",
    "hangul": "Hang",
    "hebrew": "Hebr",
    "hiragana": "Hira",
    "javanese": "Java",
    "kannada": "Knda",
    "katakana": "Kana",
    "khmer": "Khmr",
    "lao": "Laoo",
    "latin": "Latn",
    "lisu": "Lisu",
    "malayalam": "Mlym",
    "meetei mayek": "Mtei",
    "mongolian": "Mong",
    "myanmar": "Mymr",
    "nko": "Nkoo",
    "ol chiki": "Olck",
    "oriya": "Orya",
    "osage": "Osge",
    "sinhala": "Sinh",
    "syriac": "Syrc",
    "tagalog": "Tglg",
    "tamil": "Taml",
    "telugu": "Telu",
    "thaana": "Thaa",
    "thai": "Thai",
    "tibetan": "Tibt",
    "tifinagh": "Tfng",
    "vai": "Vaii",
    "yi": "Yiii",
}
"""Script names of the Unicode character database, in small letters, to ISO 15924."""


@dataclass(frozen=True)
class Cards:
    """The language cards of a directory, each merged with those that it extends."""

    by_code: Mapping[str, Card] = field(default_factory=dict)
    """Code in small letters, with hyphens, to the merged card."""
    by_name: Mapping[str, Card | None] = field(default_factory=dict)
    """Other codes and names in small letters; None for what two cards claim."""

    def find(self, *wanted: str) -> Card | None:
        """Return the card of the first code, other code or name that there is one for."""
        for one in wanted:
            if one and (card := self.by_code.get(key_of_code(one))) is not None:
                return card
        for one in wanted:
            if one and (card := self.by_name.get(_key(one))) is not None:
                return card
        return None


def key_of_code(code: str) -> str:
    """Return a code as codes are compared: small letters, hyphens."""
    return _key(code).replace("_", "-")


def load_cards(directory: Path) -> Cards:
    """Return the cards in a directory: its ``*.json`` files, but not ``_*.json``.

    Raises UsageError, which names the file, for a directory that cannot be read and for a card
    that is no JSON object, lacks its code, has a field of another type, repeats the code of another
    card, or extends a card that is not there or, over others, itself.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(".json"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"language cards: {directory} cannot be read ({reason})") from None
    paths = [path for path in paths if not path.name.startswith(("_", "."))]
    if not paths:
        raise UsageError(f"language cards: there is no *.json file in {directory}")
    cards: dict[str, Card] = {}
    files: dict[str, Path] = {}
    for path in paths:
        card = _read(path)
        key = key_of_code(card["code"])
        if key in cards:
            raise UsageError(
                f"{path}: {_shown(card['code'])} has a card already, in {files[key].name}: "
                "remove one or change its code"
            )
        cards[key], files[key] = card, path
    merged = {key: _merged(key, cards, files) for key in cards}
    return Cards(merged, _names(cards, merged))


def facts_of(card: Card) -> dict[str, Any]:
    """Return the fields of LanguageFacts that a card gives, without ``code`` and ``card``."""
    rules, orthography = _part(card, "rules"), _part(card, "orthography")
    typography = _part(rules, "typography")
    start, end = typography.get("quoteStart"), typography.get("quoteEnd")
    given = {
        "name": card.get("name"),
        "aliases": tuple(card.get("aliases") or ()) or None,
        "alpha2": card.get("iso639_1"),
        "scripts": _scripts(card) or None,
        "direction": card.get("direction"),
        "spaces": card.get("spaces"),
        "has_case": _part(rules, "capitalization").get("hasCase"),
        "quotes": ((start, end),) if start and end else None,
        "letters": _letters(orthography.get("letters")),
        "auxiliary": _letters(orthography.get("auxiliary")),
        "marks": _letters(orthography.get("marks")),
        "vendor_codes": card.get("vendorCodes"),
        "xlmr": _part(_part(card, "metricModelSupport"), "xlmr").get("tier"),
    }
    return {key: value for key, value in given.items() if value is not None}


def _read(path: Path) -> dict[str, Json]:
    try:
        raw = path.read_bytes()
        if len(raw) > _MAX_BYTES:
            raise UsageError(f"{path}: a language card of more than {_MAX_BYTES} bytes")
        card = json.loads(raw.decode("utf-8-sig"))
        json.dumps(card, ensure_ascii=False).encode()  # a lone surrogate cannot be written again
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{path}: the language card cannot be read ({reason})") from None
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}:{error.lineno}: the language card is no JSON: {error.msg}"
        ) from None
    except (UnicodeError, RecursionError, ValueError) as error:
        what = "is not UTF-8" if isinstance(error, UnicodeError) else "cannot be read as JSON"
        raise UsageError(f"{path}: the language card {what}") from None
    if not isinstance(card, dict):
        raise UsageError(f"{path}: a language card is an object {{...}} with a code")
    for problem in _problems(card):
        raise UsageError(f"{path}: {problem}")
    return card


def _problems(card: Mapping[str, Json]) -> Iterator[str]:
    if not isinstance(code := card.get("code"), str) or not code.strip():
        yield 'the language card has no code: write "code": "..." (ISO 639-3)'
    for key in _STRINGS:
        if not isinstance(card.get(key), str | None):
            yield f"{key} must be text"
    for key in _OBJECTS:
        if not isinstance(card.get(key), dict | None):
            yield f"{key} must be an object"
    for outer, key in _INNER_OBJECTS:
        if not isinstance(_part(card, outer).get(key), dict | None):
            yield f"{outer}.{key} must be an object"
    for outer, inner, key in _INNER_STRINGS:
        if not isinstance(_part(_part(card, outer), inner).get(key), str | None):
            yield f"{outer}.{inner}.{key} must be text"
    has_case = _part(_part(card, "rules"), "capitalization").get("hasCase")
    if not isinstance(has_case, bool | None):
        yield "rules.capitalization.hasCase must be true or false"
    if not isinstance(card.get("spaces"), bool | None):
        yield "spaces must be true or false"
    if card.get("direction") not in (None, "ltr", "rtl"):
        yield 'direction must be "ltr" or "rtl"'
    for key in ("aliases", "scripts"):
        if not isinstance(card.get(key), list | None):
            yield f"{key} must be a list"
    if not all(isinstance(one, str) for one in card.get("aliases") or ()):
        yield "aliases must be a list of texts"
    if not all(isinstance(one, str) for one in _part(card, "vendorCodes").values()):
        yield "vendorCodes must be texts"
    for key in ("letters", "auxiliary", "marks"):
        value = _part(card, "orthography").get(key)
        listed = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not listed and not isinstance(value, str | None):
            yield f"orthography.{key} must be a text or a list of texts"
    name = card.get("scriptUnicodeName")
    if isinstance(name, str) and name and not _script(name):
        yield (
            f"scriptUnicodeName {_shown(name)} is not known: write a name such as Latin or a code "
            "of ISO 15924 such as Latn"
        )


def _merged(key: str, cards: Mapping[str, Card], files: Mapping[str, Path]) -> Card:
    chain = [key]
    while parent := cards[chain[-1]].get("extends"):
        parent_key = key_of_code(parent)
        here = files[chain[-1]]
        if parent_key in chain:
            round_trip = " -> ".join(cards[one]["code"] for one in [*chain, parent_key])
            raise UsageError(f"{here}: the card extends itself: {_shown(round_trip)}")
        if parent_key not in cards:
            raise UsageError(
                f"{here}: it extends {_shown(parent)}, but there is no card with that code in "
                f"{here.parent}"
            )
        chain.append(parent_key)
    whole: dict[str, Json] = {}
    for one in reversed(chain):
        whole.pop("aliases", None)
        whole = _over(whole, cards[one])
    return whole


def _over(parent: Mapping[str, Json], child: Mapping[str, Json]) -> dict[str, Json]:
    whole = dict(parent)
    for key, value in child.items():
        above = parent.get(key)
        if isinstance(value, dict) and isinstance(above, Mapping):
            whole[key] = _over(above, value)
        elif value is not None or key not in parent:
            whole[key] = value
    return whole


def _names(cards: Mapping[str, Card], merged: Mapping[str, Card]) -> dict[str, Card | None]:
    found: dict[str, Card | None] = {}
    for key, card in cards.items():
        names = [card.get("name"), card.get("iso639_1"), *(card.get("aliases") or ())]
        for name in {_key(name) for name in names if name}:
            found[name] = None if name in found else merged[key]
    return found


def _scripts(card: Card) -> tuple[str, ...]:
    listed = []
    for one in card.get("scripts") or ():
        name = one.get("code") or one.get("script") if isinstance(one, Mapping) else one
        listed.append(_script(name) if isinstance(name, str) else "")
    first = _script(card.get("scriptUnicodeName") or "")
    return tuple(one for one in dict.fromkeys([first, *listed]) if one)


def _script(name: str) -> str:
    if _SCRIPT.fullmatch(name) and name.casefold() not in UNICODE_NAMES:
        return name
    return UNICODE_NAMES.get(" ".join(re.split(r"[\s_-]+", name.strip().casefold())), "")


def _letters(value: Json) -> str | None:
    if value is None:
        return None
    return "".join(dict.fromkeys("".join("".join(value).split())))


def _part(card: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    part = card.get(key)
    return part if isinstance(part, Mapping) else {}


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _shown(text: str) -> str:
    return cut(printable(text), 80)
