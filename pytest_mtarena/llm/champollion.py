"""``champollion.config.json`` version 3, and the files that it names.

A config has values at three levels: for a pair of languages, for a target language, for all. The
reader only says what stands there; which value counts is for ``pick``::

    {
      "version": 3,
      "inputLocale": "en",
      "registerPreset": "formal",
      "promptContext": "A shop for bicycles.",
      "model": "vendor/name", "temperature": 0.2, "batchSize": 40,
      "coachingFile": "coaching/all.txt",
      "languages": {"fr": "casual", "pt": {"register": "formal", "temperature": 0}},
      "pairs": {"en:crk": {"methodPlugin": "methods/crk"}}
    }
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Json
from pytest_mtarena.text import cut, printable

VERSION = 3
TOP = "top level"
"""The origin of a value that holds for every pair."""

LARGEST_BATCH = 10**9
_MAX_BYTES = 4_000_000
_SHOWN = 20
"""Problems, or unknown keys, that are told at most."""
_PAIR = re.compile(r"\s*([^\s:→>]+?)\s*(?:->|:|→|>)\s*([^\s:→>]+)\s*")
_CODE = re.compile(r"[A-Za-z0-9]{1,8}([-_][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class Block:
    """The values of one level; None where it says nothing."""

    register: str | None = None
    """A preset of the language card, or the text itself."""
    model: str | None = None
    temperature: float | None = None
    batch_size: int | None = None
    coaching_file: Path | None = None
    """Absolute, and readable when the config was read."""
    method: str | None = None
    method_plugin: Path | None = None
    """Absolute; nobody has looked whether it is there."""


@dataclass(frozen=True)
class ChampollionConfig:
    """What a config says."""

    path: Path
    sha256: str
    """SHA-256 hex over the file's bytes."""
    source: str = "en"
    """The code of the source language, for suites that name none."""
    context: str | None = None
    top: Block = field(default_factory=Block)
    languages: Mapping[str, Block] = field(default_factory=dict)
    """Code, as it is written there, to its values."""
    pairs: Mapping[tuple[str, str], Block] = field(default_factory=dict)
    """Source and target code to the values of the pair."""
    unknown: tuple[str, ...] = ()
    """Keys that mean nothing here, such as ``languages.pt.colour``."""


def pick(
    name: str,
    pair: tuple[str, Block] | None,
    language: tuple[str, Block] | None,
    top: Block,
) -> tuple[Any, str | None]:
    """Return the value of a field of ``Block`` that counts, and its origin; None and None if none.

    The pair goes before the language, and the language before the top level.
    """
    for origin, block in (pair or ("", None), language or ("", None), (TOP, top)):
        value = None if block is None else getattr(block, name)
        if value is not None:
            return value, origin
    return None, None


# -- reading --------------------------------------------------------------------------------


def read_config(path: Path) -> ChampollionConfig:
    """Return what a config says; raises UsageError, once, with everything that is wrong in it.

    A config without a version is taken for one of version 3.
    """
    raw, value = _load(path)
    reader = _Reader(Path(path).parent)
    found = reader.whole(value)
    if reader.problems:
        raise UsageError(_told(path, reader.problems))
    return ChampollionConfig(
        path=path,
        sha256=hashlib.sha256(raw).hexdigest(),
        unknown=tuple(dict.fromkeys(reader.unknown)),
        **found,
    )


def _load(path: Path) -> tuple[bytes, _Object]:
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(_told(path, [f"cannot be read ({reason})"])) from None
    if len(raw) > _MAX_BYTES:
        raise UsageError(_told(path, [f"has more than {_MAX_BYTES} bytes"]))
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        raise UsageError(_told(path, [f"line {error.lineno} is no JSON: {error.msg}"])) from None
    except UnicodeError:
        raise UsageError(_told(path, ["is not UTF-8"])) from None
    except (ValueError, RecursionError):
        raise UsageError(_told(path, ["cannot be read as JSON"])) from None
    if not isinstance(value, _Object):
        raise UsageError(_told(path, ["must be an object {...}"]))
    return raw, value


def _told(path: Path, problems: list[str]) -> str:
    lines = [printable(cut(problem, 300)) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"and {len(problems) - _SHOWN} more")
    name = printable(str(path))
    if len(lines) == 1:
        return f"champollion config {name}: {lines[0]}"
    return "\n  ".join([f"champollion config {name}:", *lines])


class _Object(list[tuple[str, Any]]):
    """An object of JSON with its repeated keys."""


_Check: TypeAlias = Callable[["_Reader", str, Any], Any]
"""Returns a value as it is kept; notes a problem and returns None when it is wrong."""


class _Reader:
    """Walks through a config, and notes what is wrong and what is unknown."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.problems: list[str] = []
        self.unknown: list[str] = []

    def whole(self, value: _Object) -> dict[str, Any]:
        """Return the fields of ChampollionConfig."""
        given = self.keys("", value)
        self.check_version(given.pop("version", None))
        languages = self.languages(given.pop("languages", None))
        pairs = self.pairs(given.pop("pairs", None))
        fields = self.fields("", given, _TOP_KEYS)
        source, other = fields.pop("source", None), fields.pop("input", None)
        if source and other and source != other:
            self.problems.append(
                f"sourceLocale {source!r} and inputLocale {other!r} both say the source language"
            )
        context = fields.pop("context", None)
        return {
            "source": other or source or "en",
            "context": context,
            "top": Block(**fields),
            "languages": languages,
            "pairs": pairs,
        }

    def check_version(self, version: Json) -> None:
        """Note a version that is not 3."""
        if version is None or (type(version) is int and version == VERSION):
            return
        shown = f"version {version!r:.40}" if isinstance(version, int | str) else "the version"
        self.problems.append(f"{shown} is not known here: write a config of version {VERSION}")

    def languages(self, value: Json) -> dict[str, Block]:
        """Return the values by language: from an object, or from a list of codes."""
        if value is None:
            return {}
        if isinstance(value, list) and not isinstance(value, _Object):
            codes = [code for n, one in enumerate(value) if (code := self.listed(n, one))]
            for code in dict.fromkeys(code for code in codes if codes.count(code) > 1):
                self.problems.append(f"languages names {code!r} twice")
            return {code: Block() for code in codes}
        if not isinstance(value, _Object):
            self.problems.append("languages must be an object, or a list of codes")
            return {}
        found = {}
        for code, inner in self.keys("languages", value).items():
            where = f"languages.{code}"
            if not _CODE.fullmatch(code):
                self.problems.append(f"{where}: {code[:60]!r} is no language code")
            elif inner is None:
                found[code] = Block()
            elif isinstance(inner, str):
                found[code] = Block(register=_text(self, where, inner))
            else:
                found[code] = self.block(where, inner, _LANGUAGE_KEYS, "a register or an object")
        return found

    def listed(self, number: int, code: Json) -> str | None:
        """Return a code of a list of languages."""
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
        self.problems.append(f"languages[{number}] must be a language code")
        return None

    def pairs(self, value: Json) -> dict[tuple[str, str], Block]:
        """Return the values by pair."""
        if value is None:
            return {}
        if not isinstance(value, _Object):
            self.problems.append("pairs must be an object")
            return {}
        found: dict[tuple[str, str], Block] = {}
        for key, inner in self.keys("pairs", value).items():
            match = _PAIR.fullmatch(key)
            if match is None or not all(_CODE.fullmatch(code) for code in match.groups()):
                self.problems.append(
                    f"pairs: {key[:60]!r} is no pair: write SOURCE:TARGET, such as en:crk"
                )
                continue
            pair = (match[1], match[2])
            if pair in found:
                self.problems.append(f"pairs has {pair[0]}:{pair[1]} twice")
            found[pair] = self.block(f"pairs.{key}", inner, _PAIR_KEYS, "an object")
        return found

    def block(self, where: str, value: Json, keys: Mapping[str, _Key], what: str) -> Block:
        """Return the values of one level."""
        if value is None:
            return Block()
        if not isinstance(value, _Object):
            self.problems.append(f"{where} must be {what}")
            return Block()
        return Block(**self.fields(where, self.keys(where, value), keys))

    def fields(
        self, where: str, given: Mapping[str, Json], known: Mapping[str, _Key]
    ) -> dict[str, Any]:
        """Return the values by field; null is as good as not there."""
        found: dict[str, Any] = {}
        for key, value in given.items():
            path = f"{where}.{key}" if where else key
            if key not in known:
                # A leading underscore makes a comment of a key.
                if not key.startswith(("_", "$")) and not (key in _IGNORED and not where):
                    self.unknown.append(path)
                continue
            if value is None:
                continue
            name, check = known[key]
            kept = check(self, path, value)
            if kept is None:
                continue
            if name == "method" and key == "method" and name in found:
                found[name] = kept  # beside the default the method itself counts
            else:
                found.setdefault(name, kept)
        return found

    def keys(self, where: str, value: _Object) -> dict[str, Json]:
        """Return an object as a dictionary; a key that comes twice is a problem."""
        found: dict[str, Json] = {}
        for key, inner in value:
            if key in found:
                self.problems.append(f"{where or 'the config'} has the key {key[:60]!r} twice")
            found[key] = inner
        return found


def _text(reader: _Reader, path: str, value: Json) -> str | None:
    if isinstance(value, str) and value.strip() and _is_unicode(value):
        return value.strip()
    reader.problems.append(f"{path} must be a text that is not empty")
    return None


def _model(reader: _Reader, path: str, value: Json) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    if text and text.isprintable() and not re.search(r"[\s,]", text):
        return text
    reader.problems.append(f"{path} must be the name of one model")
    return None


def _locale(reader: _Reader, path: str, value: Json) -> str | None:
    if isinstance(value, str) and _CODE.fullmatch(value.strip()):
        return value.strip()
    reader.problems.append(f"{path} must be a language code")
    return None


def _temperature(reader: _Reader, path: str, value: Json) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 2:
        return float(value)
    reader.problems.append(f"{path} must be a number from 0 to 2")
    return None


def _batch_size(reader: _Reader, path: str, value: Json) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_BATCH:
        return value
    reader.problems.append(f"{path} must be a whole number from 1 to {LARGEST_BATCH:,}")
    return None


def _place(reader: _Reader, path: str, value: Json) -> Path | None:
    text = _text(reader, path, value)
    if text is None:
        return None
    try:
        return (reader.base / text).resolve()
    except (OSError, ValueError, RuntimeError):
        reader.problems.append(f"{path} must be a path")
        return None


def _coaching(reader: _Reader, path: str, value: Json) -> Path | None:
    place = _place(reader, path, value)
    if place is None:
        return None
    try:
        place.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        reader.problems.append(f"{path}: {value} is not UTF-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        reader.problems.append(
            f"{path}: {value} cannot be read ({reason}); it is looked for from the config's place"
        )
    return place


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_Key: TypeAlias = tuple[str, _Check]
"""The field that a key fills, and how its value is checked."""
_COMMON: Mapping[str, _Key] = {
    "model": ("model", _model),
    "temperature": ("temperature", _temperature),
    "batchSize": ("batch_size", _batch_size),
    "coachingFile": ("coaching_file", _coaching),
    "method": ("method", _text),
}
_DEFAULT: Mapping[str, _Key] = {"defaultMethod": ("method", _text)}
_LANGUAGE_KEYS: Mapping[str, _Key] = {**_COMMON, **_DEFAULT, "register": ("register", _text)}
_PAIR_KEYS: Mapping[str, _Key] = {
    **_COMMON,
    "register": ("register", _text),
    "methodPlugin": ("method_plugin", _place),
}
_TOP_KEYS: Mapping[str, _Key] = {
    **_COMMON,
    **_DEFAULT,
    "registerPreset": ("register", _text),
    "promptContext": ("context", _text),
    "sourceLocale": ("source", _locale),
    "inputLocale": ("input", _locale),
}
_IGNORED = frozenset({"localesDir", "format", "apiKeyEnvVar"})
"""Keys of the top level that say where texts and keys are: neither matters to a suite."""


# -- coaching -------------------------------------------------------------------------------

_COACHING_KEYS = ("grammar_rules", "dictionary", "style_notes")


def readable_coaching(text: str, name: str = "the coaching text") -> str:
    """Return a coaching text for people and models: JSON with rules, terms and notes as lines.

    Any other text comes back as it is. ``name`` is what messages call it. Raises UsageError for
    such JSON with a value of another type.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict) or not any(key in value for key in _COACHING_KEYS):
        return text
    rules = _lines(value.get("grammar_rules"), f"{name}: grammar_rules")
    notes = _lines(value.get("style_notes"), f"{name}: style_notes")
    parts = [
        _section("Grammar rules:", rules),
        _section("Dictionary (source: translation):", _terms(value.get("dictionary"), name)),
        _section("Style notes:", notes),
        _section(
            "Also:",
            [
                f"{key}: {json.dumps(inner, ensure_ascii=False)}"
                for key, inner in value.items()
                if key not in _COACHING_KEYS
            ],
        ),
    ]
    return "\n\n".join(filter(None, parts))


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""


def _lines(value: Json, where: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise UsageError(f"{where} must be a text, or a list of texts")
    return [line for one in listed if (line := " ".join(one.split()))]


def _terms(value: Json, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, dict):
        raise UsageError(f"{name}: dictionary must be an object of terms and their translations")
    lines = []
    for term, given in value.items():
        targets = _lines(given, f"{name}: dictionary.{cut(printable(term), 60)}")
        if targets:
            lines.append(f"{term}: {' / '.join(targets)}")
    return lines
