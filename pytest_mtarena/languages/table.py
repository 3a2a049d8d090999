"""The table of languages: what a code or an English name stands for, and how it is written.

The table is made by ``scripts/make_languages.py`` from the Unicode CLDR, the registry of language
subtags and a few tables of its own; it is loaded when the first language is looked up.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pytest_mtarena.languages.cards import Cards, facts_of, key_of_code
from pytest_mtarena.records import LanguageFacts

_WRITTEN_ALIKE = {
    "Aran": "Arab",
    "Cyrs": "Cyrl",
    "Hang": "Kore",
    "Hira": "Jpan",
    "Hrkt": "Jpan",
    "Kana": "Jpan",
    "Latf": "Latn",
    "Latg": "Latn",
}
"""Scripts that are another script's style or part, and have its letters here."""

_OWN_TO_WRITING = ("letters", "auxiliary", "marks", "quotes")
_SUBTAGS = re.compile(r"[A-Za-z0-9]{1,8}(?:[-_][A-Za-z0-9]{1,8})*")
_MIXED = re.compile(r"[^A-Za-z ()]")
"""What makes a name look different in its plain form."""
_NOTED = re.compile(r"([^()]{1,100})\(([^()]{1,100})\)")


@dataclass(frozen=True)
class _Tag:
    """A code taken apart; ``given`` tells a script that was asked for from a usual one."""

    language: str
    script: str = ""
    region: str = ""
    given: bool = False


@dataclass(frozen=True)
class _Row:
    """A language's line of the table."""

    alpha2: str
    name: str
    aliases: tuple[str, ...]
    scripts: tuple[str, ...]
    same_as: str
    """The code whose written form it shares, such as ``ara`` for ``arb``."""
    member_of: str
    """The macrolanguage."""


def find_language(code: str = "", name: str = "", *, cards: Cards | None = None) -> LanguageFacts:
    """Return what is known of a language; never raises, and never guesses.

    ``code`` is ISO 639-3, 639-1 or 639-2/B, alone or with script and region (``pt-BR``,
    ``zho_Hans``); the script decides what depends on it. Where there is no code, or one that
    nobody knows, ``name`` decides: an English name, with its accents or without, or with what it is
    written in (``Serbian (Latin)``). A name that belongs to several languages is not known, unless
    it is what the CLDR calls one of them (``Malay``). A member of a macrolanguage has the
    macrolanguage's facts where the CLDR takes it for its standard form (``arb`` is written as
    ``ara``).

    What a card says goes before the table, field by field. A language that is unknown has just the
    code and the name that were given.
    """
    code, name = _clean(code), _clean(name)
    tag = _tag_of_code(code)
    named = _tag_of_name(name) if name and not (tag and (tag.script or tag.region)) else None
    if named is None and not tag and not name:
        named = _tag_of_name(code)
    if tag is None or (named is not None and named.language == tag.language):
        tag = named or tag
    facts = _facts(tag) if tag else LanguageFacts(code=code, name=name)
    if cards is None:
        return facts
    base = re.split("[-_]", code)[0] if tag else ""
    card = cards.find(code, base, facts.code, facts.alpha2) or cards.find(name, facts.name)
    return facts if card is None else _with_card(facts, card, tag)


def vendor_code(facts: LanguageFacts, service: str) -> str:
    """Return a translation service's code for a target language.

    It is the one in ``vendor_codes``, else ISO 639-1, or 639-3 for a language without; DeepL
    writes capitals. Whether the service knows the language at all is not said.
    """
    if given := facts.vendor_codes.get(service):
        return given
    obvious = facts.alpha2 or facts.code
    return obvious.upper() if service == "deepl" else obvious


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = files("pytest_mtarena.languages").joinpath("languages.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _row(code: str) -> _Row:
    alpha2, name, aliases, scripts, relation, _ = _fields(_table()["languages"][code])
    return _Row(
        alpha2=alpha2,
        name=name,
        aliases=tuple(aliases.split(";")) if aliases else (),
        scripts=tuple(scripts.split()),
        same_as=relation[1:] if relation.startswith("=") else "",
        member_of=relation[1:] if relation.startswith("<") else "",
    )


def _fields(line: str) -> list[str]:
    """Return a line's six fields; those at its end that are empty are not written."""
    return (line + "|" * 5).split("|")[:6]


def _tag_of_code(code: str) -> _Tag | None:
    """Take a code apart; None when nobody knows its language."""
    if not _SUBTAGS.fullmatch(code):
        return None
    first, *rest = re.split("[-_]", code)
    table = _table()
    language = first.lower()
    if language not in table["languages"]:
        language = table["codes"].get(language, "")
    if not language:
        return None
    script = region = ""
    for part in rest:
        if len(part) == 1:
            break  # what follows is private or an extension
        if len(part) == 4 and part.isalpha() and not script:
            script = part.title()
        elif re.fullmatch("[A-Za-z]{2}|[0-9]{3}", part) and not region:
            region = part.upper()
    return _settled(language, script, region)


def _settled(language: str, script: str, region: str) -> _Tag:
    """Return the tag, with the script that is usual in its region."""
    if not script and region:
        base = _row(language).same_as or language
        usual = _table()["regions"].get(f"{base}-{region}", "")
        return _Tag(language, usual, region)
    return _Tag(language, script, region, given=bool(script))


def _tag_of_name(name: str) -> _Tag | None:
    if found := _unique(name):
        language, _, rest = found.partition("-")
        return _settled(language, *((rest, "") if len(rest) == 4 else ("", rest)))
    if match := _NOTED.fullmatch(name):
        outer, noted = (_plain(part) for part in match.groups())
        language = _unique(outer)
        script = _table()["script_names"].get(noted, "")
        region = _table()["places"].get(noted, "")
        if language and "-" not in language and bool(script) != bool(region):
            return _settled(language, script, region)
    return None


def _unique(name: str) -> str:
    """Return the code, or tag, that a name stands for; empty when that is none or several."""
    for index in _names():
        for key in dict.fromkeys((_folded(name), _plain(name))):
            if found := index.get(key):
                return "" if found == "?" else found
    return ""


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, str], ...]:
    """Return names to codes, ``?`` for several codes: the CLDR's names, others, varieties."""
    usual: dict[str, str] = {}
    other: dict[str, str] = {}
    for code, line in _table()["languages"].items():
        _, name, aliases, _, _, listed = _fields(line)
        _enter(usual if listed else other, name, code)
        for alias in filter(None, aliases.split(";")):
            _enter(other, alias, code)
    varieties: dict[str, str] = {}
    for tag, name in _table()["tags"].items():
        _enter(varieties, name, tag)
    return usual, other, varieties


def _enter(index: dict[str, str], name: str, code: str) -> None:
    for key in {_folded(name), _plain(name)} if _MIXED.search(name) else (name.casefold(),):
        if index.setdefault(key, code) != code:
            index[key] = "?"


def _facts(tag: _Tag) -> LanguageFacts:
    code = tag.language
    row = _row(code)
    base_code = row.same_as or code
    base = _row(base_code) if row.same_as else row
    usual = row.scripts or base.scripts
    data = dict(_of_script(base_code, usual[:1], tag.script))
    scripts = tuple(dict.fromkeys((tag.script, *usual))) if tag.script else usual
    for part in _varieties(base_code, tag):
        for key, value in part.items():
            data[key] = {**data.get(key, {}), **value} if key == "vendors" else value
    if own := _table()["facts"].get(code) if row.same_as else None:
        data["vendors"] = {**data.get("vendors", {}), **own.get("vendors", {})}
        data["xlmr"] = own.get("xlmr", data.get("xlmr", ""))
    script = _properties(scripts[:1])
    if "rtl" in data and not script:
        script = {"direction": "rtl" if data["rtl"] else "ltr"}
    name, aliases = _called(row, tag)
    unknown_tier = "" if row.member_of else "none"
    return LanguageFacts(
        code=code,
        alpha2=row.alpha2 or base.alpha2,
        name=name,
        aliases=aliases,
        scripts=scripts,
        letters=_expanded(data.get("letters", "")),
        auxiliary=_expanded(data.get("auxiliary", "")),
        marks=data.get("marks", ""),
        quotes=tuple((start, end) for start, end in data.get("quotes", ())),
        vendor_codes=data.get("vendors", {}),
        xlmr=data.get("xlmr", unknown_tier),
        **script,
    )


def _of_script(code: str, usual: tuple[str, ...], wanted: str) -> dict[str, Any]:
    """Return a language's facts; when another script is wanted, without what is written."""
    data: dict[str, Any] = _table()["facts"].get(code, {})
    if not wanted or not usual or _alike(wanted, usual[0]):
        return data
    return {key: value for key, value in data.items() if key in ("vendors", "xlmr")}


def _alike(one: str, other: str) -> bool:
    han = {"Hani", "Hans"}
    one, other = _WRITTEN_ALIKE.get(one, one), _WRITTEN_ALIKE.get(other, other)
    return one == other or (one in han and other in han)


def _varieties(code: str, tag: _Tag) -> Iterator[dict[str, Any]]:
    """Yield what script and region change, in the order in which it applies.

    A variety in another script stands as a difference to the language, so the language's own facts
    come first.
    """
    table = _table()["facts"]
    if tag.script and (other := table.get(f"{code}-{tag.script}")) is not None:
        base = table.get(code, {})
        if "letters" in other:
            yield {key: base[key] for key in _OWN_TO_WRITING if key in base}
        yield other
    if tag.region:
        yield table.get(f"{code}-{tag.region}", {})
        if tag.script:
            yield table.get(f"{code}-{tag.script}-{tag.region}", {})


def _called(row: _Row, tag: _Tag) -> tuple[str, tuple[str, ...]]:
    """Return name and aliases; a variety with a name of its own has that."""
    names = _table()["tags"]
    wanted = [f"{tag.language}-{part}" for part in (tag.region, tag.script) if part]
    if own := next((names[one] for one in wanted if one in names), ""):
        return own, (row.name, *row.aliases)
    return row.name, row.aliases


def _properties(scripts: tuple[str, ...]) -> dict[str, Any]:
    """Return direction, case and spaces of the first script; nothing when it is not known."""
    signs = _table()["scripts"].get(scripts[0]) if scripts else None
    if signs is None:
        return {}
    return {
        "direction": "rtl" if "r" in signs else "ltr",
        "has_case": "c" in signs,
        "spaces": "u" not in signs,
    }


def _with_card(facts: LanguageFacts, card: Mapping[str, Any], tag: _Tag | None) -> LanguageFacts:
    given = facts_of(card)
    if tag is None:
        canonical = _tag_of_code(key_of_code(card["code"]))
        facts = _facts(canonical) if canonical else facts.model_copy(update={"code": card["code"]})
    if tag is not None and tag.given:  # the suite names the script: that is not the card's to say
        given["scripts"] = tuple(dict.fromkeys((tag.script, *given.get("scripts", ()))))
    if scripts := given.get("scripts"):
        changed = not facts.scripts or not _alike(scripts[0], facts.scripts[0])
        if changed:
            other = _tag_of_code(f"{facts.code}-{scripts[0]}") if facts.code else None
            facts = _facts(other) if other else facts
        given = {**_properties(scripts), **given}
    if "aliases" in given:
        given["aliases"] = tuple(dict.fromkeys((*given["aliases"], *facts.aliases)))
    if "vendor_codes" in given:
        given["vendor_codes"] = {**facts.vendor_codes, **given["vendor_codes"]}
    return facts.model_copy(update={**given, "card": card})


@lru_cache(maxsize=64)
def _expanded(letters: str) -> str:
    """Return letters with their ranges written out."""
    return re.sub(
        "(.)-(.)",
        lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))),
        letters,
        flags=re.DOTALL,
    )


def _clean(text: str) -> str:
    """Return a text that can be kept: without lone surrogates, not endless."""
    return text[:200].encode("utf-8", "replace").decode("utf-8").strip()


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split()).casefold()


def _plain(name: str) -> str:
    """Return a name without accents, with blanks for what is neither letter nor digit."""
    folded = _folded(name)
    if not folded.isascii():
        parts = unicodedata.normalize("NFD", folded)
        plain = "".join(char for char in parts if not unicodedata.combining(char))
        folded = unicodedata.normalize("NFC", plain)
    return " ".join(re.sub(r"[-_'’‘ʼ,/]", " ", folded).split())
