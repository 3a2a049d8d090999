"""Run cards become a method plug-in: a directory that ships what was measured, and the figures.

``method.json`` says what the plug-in is, holds the config in eight fields, and for every locale
that was measured its benchmarks, with intervals and the digests of card and suite. What was not
measured is listed in ``provenance.flags``; nothing is taken over that a card contradicts.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_mtarena import __version__
from pytest_mtarena.contestants.asked import served
from pytest_mtarena.contestants.manifest import MANIFEST, read_manifest
from pytest_mtarena.contestants.sources import copy_directory, hash_directory
from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.keys import variable_in
from pytest_mtarena.records import Json, Record
from pytest_mtarena.registry import Registry
from pytest_mtarena.results.method_config import (
    API,
    COACHED,
    GOOGLE,
    LLM,
    METHOD,
    TYPES,
    locale_of,
    method_config,
    prompt_of,
    shortened,
    type_of,
)
from pytest_mtarena.results.readme import readme
from pytest_mtarena.results.verify import verify

COACHING, INNER = "coaching", "method"
"""Directories of a plug-in: the coaching of each locale; a method as it was measured."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_LOCALE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_ENDINGS = (".json", ".txt", ".md")
_LONGEST_NAME = 64

Sources = Sequence[tuple[str, Mapping[str, Json]]]
"""Run cards, each with the name of its file."""


class Wishes(Record):
    """What the user says of a plug-in, beside the cards."""

    name: str
    """Words of lower-case letters and digits, joined by hyphens."""
    type: str | None = None
    """One of ``TYPES``; None: what the cards were runs of."""
    locales: tuple[str, ...] = ()
    """None: the target languages of the cards."""
    version: str = "1.0.0"
    description: str | None = None
    author: str | None = None
    register_text: str | None = None
    coaching_dir: Path | None = None
    """Holds ``LOCALE.json``, ``.txt`` or ``.md``."""
    endpoint: str | None = None
    method: Path | None = None
    """The directory of the method that was measured."""
    commercial_ready: bool = False


class Plugin(Record):
    """A plug-in before it is written."""

    manifest: Mapping[str, Json]
    files: Mapping[str, bytes]
    """Path inside the directory to the bytes."""
    method: Path | None
    """A directory to be copied to ``INNER``."""
    method_sha256: str | None


def require_sound(name: str, card: Mapping[str, Json], registry: Registry) -> None:
    """Raise UsageError for a card whose seal or numbers do not hold."""
    if problems := verify(card, registry):
        raise UsageError(
            f"{name}: the card does not hold, so nothing is made of it: {problems[0]} "
            "(mt-eval verify shows everything)"
        )


def make_plugin(sources: Sources, wishes: Wishes, registry: Registry) -> Plugin:
    """Return the plug-in of one card or of several, one a locale; raises UsageError.

    Every card is verified and must be complete, and all must be of one method with one config.
    """
    _check_wishes(wishes)
    for name, card in sources:
        require_sound(name, card, registry)
        if not card["complete"]:
            raise UsageError(
                f"{name}: the run is not complete, so it has no scores to ship: finish it with "
                "--mt-resume, or join its shards with mt-eval merge"
            )
    kind = _type(sources, wishes)
    config, flags = _shared_config(sources), []
    measured = _assign(sources, wishes)
    flags += [f"not-benchmarked:{code}" for code, source in measured.items() if source is None]
    if wishes.register_text is not None:
        if config["register"] not in (None, wishes.register_text):
            raise UsageError("--register differs from the register that was measured")
        if config["register"] is None:
            flags.append("register-not-benchmarked")
        config["register"] = wishes.register_text
    coaching = _coaching(measured, wishes) if kind == COACHED else {}
    config["coachingPrompt"] = None
    config["coachingFile"] = next(iter(coaching)) if len(coaching) == 1 else None
    first = sources[0][1]
    told = first["method_card"] or {}
    manifest: dict[str, Any] = {
        "name": wishes.name,
        "type": kind,
        "version": wishes.version,
        "description": _first(wishes.description, told.get("description"), _described(first)),
        "author": _first(wishes.author, told.get("author"), ""),
        "config": config,
        "locales": list(measured),
    }
    if coaching:
        manifest["coaching"] = {"dir": COACHING}
    if kind == API:
        manifest["endpoint"] = wishes.endpoint
        if not _was_asked(first, str(wishes.endpoint)):
            flags.append("endpoint-not-checked")
    if kind == METHOD:
        manifest["method"] = INNER
        manifest["options"] = first["config"]["options"]
    if not all(card["dataset"]["rankable"] for _, card in sources):
        flags.append("demo-suite")
    manifest["benchmarks"] = {
        code: _benchmark(card) for code, card in measured.items() if card is not None
    }
    manifest["provenance"] = {
        "generator": f"pytest-mtarena {__version__}",
        "resources": _resources([card for _, card in sources], wishes, kind),
        "commercialReady": wishes.commercial_ready,
        "flags": flags,
    }
    files = dict(coaching)
    files[MANIFEST] = (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode()
    files["README.md"] = readme(manifest, [card for _, card in sources]).encode()
    is_method = kind == METHOD
    return Plugin(
        manifest=manifest,
        files=files,
        method=wishes.method if is_method else None,
        method_sha256=first["config"]["method_sha256"] if is_method else None,
    )


def write_plugin(plugin: Plugin, directory: Path) -> list[str]:
    """Write a plug-in, whole or not at all; return the paths of its files inside the directory.

    Raises UsageError when the directory holds something, when it cannot be written, or when the
    value of a key of the environment would stand in a file.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        what = "holds something already" if directory.is_dir() else "is no directory"
        raise UsageError(f"{directory}: it {what}; name another one with -o")
    temporary = directory.absolute().parent / f".export-{uuid.uuid4().hex}.tmp"
    try:
        temporary.mkdir(parents=True)
        for name, data in plugin.files.items():
            path = temporary / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        if plugin.method is not None:
            copy_directory(plugin.method, temporary / INNER)
            if hash_directory(temporary / INNER) != plugin.method_sha256:
                raise UsageError(f"--method {plugin.method}: it changed while it was copied")
        written = sorted(path for path in temporary.rglob("*") if path.is_file())
        for path in written:
            if variable := variable_in(path.read_bytes()):
                where = path.relative_to(temporary).as_posix()
                raise UsageError(f"{where} would hold the value of {variable}: take it out")
        if directory.exists():
            directory.rmdir()
        temporary.rename(directory.absolute())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{directory}: the plug-in cannot be written: {reason}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [path.relative_to(temporary).as_posix() for path in written]


def config_text(card: Mapping[str, Json]) -> str:
    """Return the config of a card as JSON; raises UsageError when a key would stand in it."""
    text = json.dumps(method_config(card), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    if variable := variable_in(text.encode()):
        raise UsageError(f"the config would hold the value of {variable}: take it out")
    return text


def write_config(path: Path, text: str) -> None:
    """Write the text of a config, whole or not at all; raises UsageError as write_plugin does."""
    temporary = path.absolute().parent / f".export-{uuid.uuid4().hex}.tmp"
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path.absolute())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


# -- what was asked -------------------------------------------------------------------------


def _check_wishes(wishes: Wishes) -> None:
    if not _NAME.fullmatch(wishes.name) or len(wishes.name) > _LONGEST_NAME:
        raise UsageError(
            f"--name {wishes.name!r}: a name is words of lower-case letters and digits with "
            "hyphens between, such as gemini-formal-pt"
        )
    if not _VERSION.fullmatch(wishes.version):
        raise UsageError(f"--version {wishes.version!r}: write three numbers, such as 1.0.0")
    for code in wishes.locales:
        if not _LOCALE.fullmatch(code):
            raise UsageError(f"--locales: {code!r} is no code of a locale, such as pt or pt-BR")
    if len({code.lower() for code in wishes.locales}) < len(wishes.locales):
        raise UsageError("--locales: a locale stands there twice")
    if wishes.endpoint is not None:
        _check_endpoint(wishes.endpoint)


def _check_endpoint(url: str) -> None:
    try:
        parts = urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname
    except ValueError:
        wrong = True
    if wrong:
        raise UsageError("--endpoint: an address begins with https:// and has a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "--endpoint: leave out what stands before @ and after ? or #: it would be shipped, and "
            "keys belong into the environment"
        )


def _type(sources: Sources, wishes: Wishes) -> str:
    """Return the type of the plug-in, when the cards were runs of something that can be it."""
    first_name, first = sources[0]
    found = type_of(first)
    for name, card in sources[1:]:
        if type_of(card) != found:
            raise UsageError(
                f"{name} is a run of type {type_of(card)}, {first_name} of {found}: "
                "a plug-in is of one type"
            )
    kind = wishes.type or found
    possible = (API, GOOGLE, METHOD) if found == METHOD else (found, API)
    if kind not in possible:
        raise UsageError(
            f"--type {kind}: {first_name} measured something else; it can be exported as "
            f"{', '.join(sorted(possible, key=TYPES.index))}"
        )
    needs = (("--endpoint", wishes.endpoint, API), ("--method", wishes.method, METHOD))
    for option, value, only in needs:
        needed = kind == only
        if needed and value is None:
            where = first["config"]["method_path"]
            more = f"; the card calls it {where}" if option == "--method" and where else ""
            raise UsageError(f"a plug-in of type {kind} needs {option}{more}")
        if value is not None and not needed:
            raise UsageError(f"{option} is not for a plug-in of type {kind}")
    if wishes.coaching_dir is not None and kind != COACHED:
        raise UsageError(
            f"--coaching-dir is not for a plug-in of type {kind}: {first_name} was measured "
            "without coaching, or the coaching is not shipped"
        )
    if wishes.method is not None:
        _check_method(wishes.method, sources)
    return kind


def _check_method(directory: Path, sources: Sources) -> None:
    read_manifest(directory)
    content = hash_directory(directory)
    for name, card in sources:
        wanted = card["config"]["method_sha256"]
        if content != wanted:
            raise UsageError(
                f"--method {directory}: it is not what {name} measured: the content is "
                f"{content[:12]}, that of {card['model_slug']} was {wanted[:12]}; check that "
                "version out, or run the suite again"
            )


def _shared_config(sources: Sources) -> dict[str, Any]:
    """Return the one config of all cards; texts and tiers may differ from locale to locale."""
    first_name, first = sources[0]
    config = method_config(first)
    config["provider"] = first["config"]["api_provider"]
    config["prompt"] = prompt_of(first)
    config["options"] = first["config"]["options"]
    for name, card in sources[1:]:
        other = method_config(card)
        other["provider"] = card["config"]["api_provider"]
        other["prompt"] = prompt_of(card)
        other["options"] = card["config"]["options"]
        for key in config:
            if key in ("coachingFile", "coachingPrompt"):
                continue
            if key == "qualityTier":
                config[key] = config[key] if config[key] == other[key] else None
            elif config[key] != other[key]:
                raise UsageError(
                    f"{name} has {key} {other[key]!r}, {first_name} {config[key]!r}: "
                    "the cards of a plug-in are of one config"
                )
    for key in ("provider", "prompt", "options"):
        del config[key]
    return config


# -- locales and coaching -------------------------------------------------------------------

Measured = dict[str, Mapping[str, Json] | None]
"""Locale to its card; None when it was not measured."""


def _assign(sources: Sources, wishes: Wishes) -> Measured:
    """Return the locales with their cards; every card must have one, and none two cards."""
    own: dict[str, str] = {}
    for name, card in sources:
        code = locale_of(card)
        if not _LOCALE.fullmatch(code):
            raise UsageError(f"{name}: the card does not say its target language by a code")
        own[name] = code
    measured: Measured = {}
    used: set[str] = set()
    for code in wishes.locales or own.values():
        tag = shortened(code).lower()
        exact = [one for one in sources if own[one[0]].lower() == tag]
        found = exact or [one for one in sources if _related(own[one[0]].lower(), tag)]
        if len(found) > 1:
            names = " and ".join(name for name, _ in found)
            raise UsageError(f"{code}: {names} are cards of this locale; give one a locale")
        measured[code] = found[0][1] if found else None
        used |= {name for name, _ in found}
    for name, _ in sources:
        if name not in used:
            raise UsageError(f"--locales has no {own[name]}, which {name} measured")
    return measured


def _related(one: str, other: str) -> bool:
    """Say whether one locale is a part of the other: pt-br of pt, never of pt-pt."""
    return one.startswith(f"{other}-") or other.startswith(f"{one}-")


def _coaching(measured: Measured, wishes: Wishes) -> dict[str, bytes]:
    """Return the files with the coaching of each locale, by path.

    A file of the user's must be the coaching that the card measured; without one it is the
    system prompt as it was sent.
    """
    files: dict[str, bytes] = {}
    for code, card in measured.items():
        given = _given_file(wishes.coaching_dir, code)
        if given is not None:
            text, data = _read(given)
            if card is not None and not _is_measured(text, card):
                raise UsageError(
                    f"{given}: it is not the coaching that was measured for {code}; run the suite "
                    "with it (--mt-coaching-file), and export that card"
                )
            files[f"{COACHING}/{code}{given.suffix}"] = data
        elif card is not None and card["system_prompt_used"]:
            text = card["system_prompt_used"]
            files[f"{COACHING}/{code}{_ending(text)}"] = text.encode()
        else:
            raise UsageError(f"there is no coaching for {code}: give --coaching-dir a {code}.json")
    return files


def _given_file(directory: Path | None, code: str) -> Path | None:
    if directory is None:
        return None
    if not directory.is_dir():
        raise UsageError(f"--coaching-dir: there is no directory {directory}")
    found = [path for end in _ENDINGS if (path := directory / f"{code}{end}").is_file()]
    if len(found) > 1:
        raise UsageError(f"--coaching-dir: {found[0]} and {found[1].name} are for one locale")
    return found[0] if found else None


def _read(path: Path) -> tuple[str, bytes]:
    """Return a file as the run would have read it, and its bytes."""
    try:
        return path.read_text(encoding="utf-8-sig"), path.read_bytes()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _is_measured(text: str, card: Mapping[str, Json]) -> bool:
    digest = hashlib.sha256(text.encode()).hexdigest()
    facts = card["config"]["method_facts"]
    return digest in (facts.get("coaching_sha256"), card["system_prompt_sha256"])


def _ending(text: str) -> str:
    try:
        return ".json" if isinstance(json.loads(text), dict) else ".txt"
    except (ValueError, RecursionError):
        return ".txt"


# -- what was measured ----------------------------------------------------------------------


def _benchmark(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return what a card says of one locale, with what is needed to find and check the card."""
    scores, dataset = card["scores"], card["dataset"]
    return {
        "date": card["timestamp"][:10],
        "corpus_size": card["selection"]["n_rows"],
        "exact_match_rate": scores.get("exact_match_rate"),
        "model": method_config(card)["model"] or card["model_slug"],
        "harness_version": card["harness_version"],
        "corpus_chrf": scores.get("chrf_plus_plus"),
        "corpus_bleu": scores.get("bleu"),
        "errors": scores.get("errors"),
        "quality_tier": scores.get("quality_tier"),
        "package_version": card["environment"]["package_version"],
        "model_slug": served(card["model_slug"]),
        "model_id": served(card["model_id"]),
        "condition": card["condition"],
        "system_prompt_sha256": card["system_prompt_sha256"],
        "language_pair": dataset["language_pair"],
        "suite": {
            key: dataset[key]
            for key in ("id", "version", "sha256", "content_sha256", "entry_count", "rankable")
        },
        "scores": _scores(card),
        "card": {
            "run_id": card["run_id"],
            "run_card_hash": card["run_card_hash"],
            "run_card_digest": card["run_card_digest"],
            "setup_fingerprint": card["setup_fingerprint"]["hash"],
        },
    }


def _scores(card: Mapping[str, Json]) -> dict[str, Any]:
    """Return every score that has a value, with its interval and the entries that it is of."""
    scores = card["scores"]
    intervals = scores.get("confidence_intervals") or {}
    found = {}
    for key, direction in card["directions"].items():
        value = scores.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        interval = intervals.get(key) or {}
        found[key] = {
            "value": value,
            "ci_lower": interval.get("ci_lower"),
            "ci_upper": interval.get("ci_upper"),
            "confidence_level": interval.get("confidence_level"),
            "n": interval.get("n_entries", scores.get(f"{key}_n_scored")),
            "direction": direction,
            "signature": card["signatures"].get(key),
        }
    return found


def _resources(
    cards: Sequence[Mapping[str, Json]], wishes: Wishes, kind: str
) -> list[dict[str, Any]]:
    """Return what the plug-in and its figures rest on, with licences."""
    found = [
        {
            "id": card["dataset"]["id"],
            "kind": "suite",
            "license": card["dataset"]["license"] or None,
            "attribution": card["dataset"]["attribution"] or None,
        }
        for card in cards
    ]
    if kind == METHOD and wishes.method is not None:
        needed = read_manifest(wishes.method).raw.get("dependencies") or []
        keys = ("id", "kind", "license", "source", "pin")
        found += [{key: one[key] for key in keys if key in one} for one in needed]
    unique = {json.dumps(one, sort_keys=True): one for one in found}
    return list(unique.values())


def _was_asked(card: Mapping[str, Json], endpoint: str) -> bool:
    """Say whether a run asked this address, of which its card keeps the digest."""
    wanted = card["config"]["method_facts"].get("endpoint")
    forms = {endpoint, endpoint.rstrip("/")}
    return wanted in {hashlib.sha256(form.encode()).hexdigest()[:16] for form in forms}


def _described(card: Mapping[str, Json]) -> str:
    kind = type_of(card)
    name = str(method_config(card)["model"] or card["config"]["method_name"])
    return {LLM: f"{name}, asked to translate", COACHED: f"{name}, with coaching"}.get(kind, name)


def _first(*texts: Json) -> str:
    return next((text for text in texts if isinstance(text, str) and text), "")
