"""The manifest of a method directory (``method.json``) and its card (``method_card.json``)."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_mtarena.contestants.dependencies import audit_dependencies, read_requirements
from pytest_mtarena.errors import MethodError
from pytest_mtarena.records import Json, Record

MANIFEST = "method.json"
CARD = "method_card.json"
CLASSES = ("raw-llm", "coached-llm", "pipeline", "custom-plugin", "api", "human")
CLASS_ALIASES = {"example": "custom-plugin", "machine-translation-api": "api"}
"""Older words that manifests in the wild still use."""
EXPORTED = "method-plugin"
"""The type of a plug-in that ships a method in a directory of its own."""
_MODELS = ("llm", "llm-coached", "api", "google-translate")
_INNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]*")
_TAG = r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*"
_PAIR = re.compile(f"{_TAG}>{_TAG}")
_ENTRY_POINT = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")
_CARD_KEYS = (
    "author",
    "description",
    "tools_used",
    "supported_pairs",
    "open_source",
    "license",
    "homepage",
)


class Manifest(Record):
    """A method's own description, checked."""

    directory: Path
    name: str
    method_id: str
    module: str
    """Dotted name of the module inside the directory."""
    attribute: str
    """Name of the class in that module."""
    method_class: str | None = None
    dependency_class: str | None = None
    """Derived from the dependencies; None when they are not declared."""
    notes: tuple[str, ...] = ()
    card: Mapping[str, Json] | None = None
    """What ``method_card.json`` says; None when there is no such file."""
    metrics: tuple[tuple[str, str], ...] = ()
    """Module and attribute of each metric that the method brings (``metric_plugins``)."""
    raw: Mapping[str, Json]
    """The manifest as written, for the method's constructor."""

    def default_card(self) -> dict[str, Json]:
        """Return the card that the manifest alone supports."""
        card = {key: self.raw[key] for key in _CARD_KEYS if key in self.raw}
        return {
            "method_id": self.method_id,
            "name": self.name,
            "class": self.method_class,
            "dependency_class": self.dependency_class,
            **card,
        }

    def complete_card(self, card: Mapping[str, Json]) -> dict[str, Json]:
        """Return a card with what it leaves out taken from the manifest."""
        completed = {**self.default_card(), **card}
        written = completed["class"]
        completed["class"] = CLASS_ALIASES.get(written, written)
        return completed


def read_manifest(directory: Path, *, _inside: bool = False) -> Manifest:
    """Read and check ``method.json`` and ``method_card.json``; MethodError holds all problems.

    Of a plug-in that ``mt-eval export`` made of a method, it is the manifest of the method inside.
    """
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "there is no such directory"
        raise MethodError(directory, f"{what}; a method is a directory with a {MANIFEST}")
    if not (directory / MANIFEST).is_file():
        raise MethodError(directory, f"{MANIFEST} is missing; it needs at least name, entry_point")
    raw = _read_object(directory / MANIFEST)
    if raw.get("type") == EXPORTED and "entry_point" not in raw and not _inside:
        return read_manifest(directory / _inner(raw, directory), _inside=True)
    problems = _problems(raw)
    method_class = _class_of(raw, problems)
    audit = audit_dependencies(
        raw.get("dependency_class"),
        raw.get("dependencies"),
        method_class,
        read_requirements(directory),
    )
    problems += audit.errors
    list(_metrics(raw, problems))

    card = None
    if (directory / CARD).exists():
        try:
            card = _read_object(directory / CARD)
        except MethodError as error:
            problems += [f"{CARD}: {problem}" for problem in error.problems]
        else:
            problems += [
                f"{CARD}: {problem}" for problem in card_problems(card, raw, audit.derived)
            ]
    if problems:
        raise MethodError(directory / MANIFEST, problems)

    match = _ENTRY_POINT.fullmatch(raw["entry_point"])
    assert match is not None  # _problems has seen to that
    return Manifest(
        directory=directory,
        name=raw["name"],
        method_id=raw.get("method_id") or make_method_id(raw["name"], directory.resolve().name),
        module=match[1],
        attribute=match[2],
        method_class=method_class,
        dependency_class=audit.derived,
        notes=audit.notes,
        card=card,
        metrics=tuple(_metrics(raw, [])),
        raw=raw,
    )


def make_method_id(*names: str) -> str:
    """Return an id made from the first of the names that has any letter or digit to offer."""
    for name in names:
        if slug := re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_"):
            return slug
    return "method"


def card_problems(
    card: Mapping[str, Json], manifest: Mapping[str, Json], derived: str | None
) -> list[str]:
    """Return what is wrong with a method card, alone and beside its manifest."""
    problems = _shared_problems(card)
    if card.get("name") is not None and not _is_text(card["name"]):
        problems.append("name: must be a text")
    declared = card.get("dependency_class")
    stated = derived if derived is not None else manifest.get("dependency_class")
    if declared is not None and declared != stated:
        problems.append(f"dependency_class: {declared!r} here, but the manifest gives {stated}")
    for key in ("method_id", "class"):
        here, there = card.get(key), manifest.get(key)
        if isinstance(here, str) and isinstance(there, str):
            here, there = CLASS_ALIASES.get(here, here), CLASS_ALIASES.get(there, there)
            if here != there:
                problems.append(f"{key}: {here!r} here, but {there!r} in {MANIFEST}")
    _class_of(card, problems)
    return problems


def _inner(raw: Mapping[str, Json], directory: Path) -> str:
    """Return the name of the directory with the method that a plug-in ships."""
    name = raw.get("method")
    if isinstance(name, str) and _INNER.fullmatch(name):
        return name
    raise MethodError(
        directory / MANIFEST, f"method: must name a directory beside it, not {name!r}"
    )


def _problems(raw: Mapping[str, Json]) -> list[str]:
    problems = []
    for key in ("name", "entry_point"):
        if key not in raw and key == "entry_point" and raw.get("type") in _MODELS:
            problems.append(
                f"entry_point: missing: a plug-in of type {raw['type']} has no code to run; its "
                "README.md says how to run a model (--mt-model)"
            )
        elif key not in raw:
            near = difflib.get_close_matches(key, [str(other) for other in raw], n=1)
            problems.append(f"{key}: missing{f'; is {near[0]!r} meant to be it?' if near else ''}")
        elif not _is_text(raw[key]):
            problems.append(f"{key}: must be a text that is not empty")
    point = raw.get("entry_point")
    if isinstance(point, str) and point.strip() and not _ENTRY_POINT.fullmatch(point):
        problems.append(f"entry_point: {point!r} must look like module:Class")
    return problems + _shared_problems(raw)


def _shared_problems(raw: Mapping[str, Json]) -> list[str]:
    """Return the problems of keys that manifest and card have in common."""
    problems = []
    if (given := raw.get("method_id")) is not None and not (
        isinstance(given, str) and _ID.fullmatch(given)
    ):
        problems.append(
            f"method_id: {given!r} must be lower-case letters, digits, '-' and '_', "
            "beginning with a letter or digit"
        )
    problems += [
        f"{key}: must be a text"
        for key in ("author", "description", "license", "homepage", "cost_note")
        if raw.get(key) is not None and not isinstance(raw[key], str)
    ]
    problems += [
        f"{key}: must be true or false"
        for key in ("open_source", "prompt_published")
        if raw.get(key) is not None and not isinstance(raw[key], bool)
    ]
    for key in ("supported_pairs", "tools_used"):
        value = raw.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            problems.append(f"{key}: must be a list of texts")
        elif key == "supported_pairs":
            wrong = [item for item in value if not _PAIR.fullmatch(item)]
            problems += [f"{key}: {item!r} must look like eng>crk" for item in wrong]
    return problems


def _class_of(raw: Mapping[str, Json], problems: list[str]) -> str | None:
    given = raw.get("class")
    if given is None:
        return None
    name = CLASS_ALIASES.get(given, given) if isinstance(given, str) else given
    if name in CLASSES:
        return str(name)
    near = difflib.get_close_matches(str(given), CLASSES, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    problems.append(f"class: {given!r} is none of {', '.join(CLASSES)}{meant}")
    return None


def _metrics(raw: Mapping[str, Json], problems: list[str]) -> Iterator[tuple[str, str]]:
    """Yield module and attribute of each metric of the manifest; what is wrong is a problem."""
    given = raw.get("metric_plugins") or []
    if not isinstance(given, list):
        problems.append("metric_plugins: must be a list of objects with an entry_point")
        return
    for place, one in enumerate(given):
        point = one.get("entry_point") if isinstance(one, Mapping) else None
        match = _ENTRY_POINT.fullmatch(point) if isinstance(point, str) else None
        if match is None:
            problems.append(
                f"metric_plugins[{place}]: entry_point must look like module:Class, not {point!r}"
            )
        else:
            yield match[1], match[2]


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _read_object(path: Path) -> dict[str, Json]:
    """Read a JSON object strictly: no NaN, no key given twice."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            keys = [key for key, _ in items]
            repeated.extend(sorted({key for key in keys if keys.count(key) > 1}))
        return found

    def constant(word: str) -> Any:
        raise ValueError(f"{word} is no JSON value")

    try:
        text = path.read_bytes().decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
        text.encode()  # escapes such as \ud800 only show in the decoded value
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise MethodError(
            f"{path}:{error.lineno}", f"not valid JSON: {error.msg} (column {error.colno})"
        ) from error
    except UnicodeDecodeError as error:
        raise MethodError(path, f"not UTF-8: byte {error.start} is wrong") from error
    except UnicodeEncodeError as error:
        raise MethodError(path, "holds a lone surrogate, which is no character") from error
    except (OSError, ValueError, RecursionError) as error:
        raise MethodError(path, f"cannot be read: {error}") from error
    if repeated:
        raise MethodError(path, [f"the key {key!r} is given twice" for key in repeated])
    if not isinstance(value, dict):
        raise MethodError(path, f"must hold one object, not {type(value).__name__}")
    return value
