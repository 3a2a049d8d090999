"""What a method needs to run: deriving its dependency class from its dependency manifest.

The class is the most restrictive one among the dependencies, in the order S, O, A1, A2, X:
self-contained, open external, substitutable inference, any other service, closed. Where a
combination is contradictory or not covered the rule is to refuse, or to take the stricter class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from pytest_mtarena.records import Json, Record

ORDER = ("S", "O", "A1", "A2", "X")
KINDS = ("data", "model", "software", "service")
ACCESS = ("bundled", "mirrored", "gateway", "external-api")
_TEXTS = ("id", "kind", "license", "access", "source")
_FLAGS = ("redistributable", "transferable")
_FLOATING = frozenset(
    {"head", "latest", "main", "master", "trunk", "stable", "nightly", "dev", "*"}
)
_NETWORKED = frozenset({"raw-llm", "coached-llm", "api"})
_PROVIDER_STATE = re.compile(r"(^|[:/])(ft[:-]|asst_|file-|vs_|assistants?[:/]|files?[:/])", re.I)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


class Audit(Record):
    """What a dependency manifest says when it is read closely."""

    derived: str | None = None
    """The dependency class; None when there is no manifest, or when it has errors."""
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Things a reviewer wants to know that are no error."""


def audit_dependencies(
    declared: Json, dependencies: Json, method_class: str | None, requirements: Sequence[str] = ()
) -> Audit:
    """Derive the class and compare it with the declared one.

    ``dependencies`` is the list as the manifest has it, None when the key is absent;
    ``requirements`` are the package names of a ``requirements.txt`` beside it. A human method
    has no class: for it only the form of the entries is checked.
    """
    errors: list[str] = []
    notes: list[str] = []
    if declared is not None and declared not in ORDER:
        errors.append(f"dependency_class: {declared!r} is none of {', '.join(ORDER)}")
        declared = None
    if dependencies is None:
        if declared is not None and method_class != "human":
            errors.append(
                "dependencies: missing, so dependency_class cannot be checked; "
                "say [] if there are none"
            )
        return Audit(errors=tuple(errors), notes=tuple(notes))
    if not isinstance(dependencies, list):
        errors.append("dependencies: must be a list of objects")
        return Audit(errors=tuple(errors), notes=tuple(notes))

    classes: list[tuple[str, str]] = []
    seen: set[str] = set()
    for position, dependency in enumerate(dependencies, start=1):
        if not isinstance(dependency, Mapping):
            errors.append(f"dependencies: number {position} must be an object")
            continue
        name = dependency.get("id")
        where = f"dependency {name!r}" if isinstance(name, str) else f"dependency {position}"
        wrong = _malformed(dependency)
        if isinstance(name, str):
            if name in seen:
                wrong.append("this id is used twice")
            seen.add(name)
        if not wrong:
            found, wrong, remarks = _classify(dependency)
            notes.extend(f"{where}: {remark}" for remark in remarks)
            classes.append((found, str(name)))
        errors.extend(f"{where}: {problem}" for problem in wrong)

    if not dependencies and method_class in _NETWORKED:
        errors.append(
            f"dependencies: a method of class {method_class} calls a service or a model, "
            "yet the list is empty"
        )
    undeclared = [name for name in requirements if not _covers(dependencies, name)]
    if undeclared:
        errors.append(
            f"dependencies: requirements.txt also needs {', '.join(undeclared)}; declare each"
        )
    if errors or method_class == "human":
        return Audit(errors=tuple(errors), notes=tuple(notes))
    derived, cause = max(classes, key=lambda pair: ORDER.index(pair[0]), default=("S", ""))
    if declared is not None and declared != derived:
        because = f" (by {cause!r})" if cause else ""
        errors.append(
            f"dependency_class: {declared} is declared, "
            f"but the dependencies make it {derived}{because}"
        )
        return Audit(errors=tuple(errors), notes=tuple(notes))
    return Audit(derived=derived, notes=tuple(notes))


def read_requirements(directory: Path) -> list[str]:
    """Return the package names of the ``requirements.txt`` in a directory, if there is one."""
    path = directory / "requirements.txt"
    if not path.is_file():
        return []
    lines = path.read_text("utf-8-sig", errors="replace").split("\n")
    # Options (-r, --index-url) and comments name no package: they match nothing.
    return [match[1] for line in lines if (match := _REQUIREMENT.match(line))]


def _malformed(dependency: Mapping[str, Json]) -> list[str]:
    wrong = [
        f"{key} is missing or no text"
        for key in _TEXTS
        if not isinstance(dependency.get(key), str) or not dependency[key].strip()
    ]
    for key, allowed in (("kind", KINDS), ("access", ACCESS)):
        value = dependency.get(key)
        if isinstance(value, str) and value.strip() and value not in allowed:
            wrong.append(f"{key} {value!r} is none of {', '.join(allowed)}")
    wrong += [
        f"{key} must be true or false"
        for key in _FLAGS
        if not isinstance(dependency.get(key), bool)
    ]
    if "substitutable" in dependency and not isinstance(dependency["substitutable"], bool):
        wrong.append("substitutable must be true or false")
    if dependency.get("pin") is not None and not isinstance(dependency["pin"], str):
        wrong.append("pin must be a text")
    return wrong


def _classify(dependency: Mapping[str, Json]) -> tuple[str, list[str], list[str]]:
    """Return class, errors and notes of one well-formed entry."""
    errors: list[str] = []
    notes: list[str] = []
    access, kind = dependency["access"], dependency["kind"]
    license_ = _license(dependency["license"])
    if access == "external-api":
        found = "A2"
        if dependency.get("substitutable"):
            notes.append("if this is plain model inference, declare it as access gateway (A1)")
    elif access == "gateway":
        found = _classify_gateway(dependency, errors, notes)
    elif access == "mirrored":
        pin = (dependency.get("pin") or "").strip()
        if not pin or pin.lower() in _FLOATING:
            errors.append(f"mirrored needs a fixed pin (version, commit or hash), not {pin!r}")
        if kind == "service":
            errors.append("a service cannot be mirrored")
        if license_ in ("none", "proprietary") or not dependency["redistributable"]:
            found = "X"
        elif not dependency["transferable"]:
            found = "A2"
            notes.append("open, but not transferable: treated as A2")
        else:
            found = "O"
    else:
        found = _classify_bundled(dependency, license_, errors, notes)
    if license_ == "unknown":
        text = f"license {dependency['license']!r} is no SPDX identifier, proprietary or none"
        (errors if found in ("S", "O") else notes).append(text)
    return found, errors, notes


def _classify_gateway(dependency: Mapping[str, Json], errors: list[str], notes: list[str]) -> str:
    if dependency["kind"] != "model":
        errors.append(f"a gateway serves models only, not kind {dependency['kind']}")
    if "substitutable" not in dependency:
        errors.append("a gateway dependency must say substitutable true or false")
    if not dependency.get("substitutable"):
        return "A2"
    if _PROVIDER_STATE.search(dependency["source"]):
        notes.append("the source names state held by the provider, which nothing can replace: A2")
        return "A2"
    return "A1"


def _classify_bundled(
    dependency: Mapping[str, Json], license_: str, errors: list[str], notes: list[str]
) -> str:
    redistributable, transferable = dependency["redistributable"], dependency["transferable"]
    if license_ == "none":
        if redistributable:
            errors.append("license none cannot be redistributable")
        return "X"
    if not redistributable:
        if license_ == "open":
            errors.append(f"license {dependency['license']} contradicts redistributable false")
        return "X"
    if not transferable:
        notes.append("redistributable but not transferable: no prize, counted as X")
        return "X"
    if license_ == "proprietary":
        notes.append("proprietary, with all rights granted: needs a signed statement")
    return "S"


def _license(text: str) -> str:
    """Return ``none``, ``proprietary``, ``open`` (a known SPDX expression) or ``unknown``."""
    if text in ("none", "proprietary"):
        return text
    try:
        canonical = canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        return "unknown"
    return "unknown" if "LicenseRef-" in canonical else "open"


def _covers(dependencies: Sequence[Json], package: str) -> bool:
    wanted = _canonical(package)
    for dependency in dependencies:
        if isinstance(dependency, Mapping):
            source = str(dependency.get("source", "")).rstrip("/")
            last = re.split(r"[/:]", source)[-1]
            if wanted in (_canonical(str(dependency.get("id", ""))), _canonical(last)):
                return True
    return False


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
