"""The public reports of another harness, the one behind the MT Eval Arena, as run cards.

A *report* has the keys ``run_id``, ``config``, ``overall``, breakdowns and ``entries``; a *log*,
from which a report is made, has ``results`` instead of ``entries`` and says a little more. Each
entry becomes a row; what a row has no place for stays in it as ``fields``, and what the report
says of the whole run stays in ``extra["report"]``. Its scores are never taken over.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from pytest_mtarena.card.environment import HARNESS_VERSION, environment
from pytest_mtarena.card.fingerprint import ids_digest, prompt_digest
from pytest_mtarena.errors import CardError
from pytest_mtarena.records import (
    NO_REFERENCE,
    Attempt,
    Case,
    Failure,
    Json,
    Language,
    Scoring,
    base_row,
)
from pytest_mtarena.referee.normalization import is_blank
from pytest_mtarena.suites.languages import BadLanguage, complete, group_name, read_language

_LABELS = ("segment", "domain", "difficulty", "register", "provenance")
_TEXTS = ("source", "expected", "predicted")
_OWN = frozenset(
    {
        *("id", "raw_predicted", "latency_s", "cost_usd", "tool_call_count", "error"),
        *("usage", "tool_calls", "metadata", "cached"),
        *_LABELS,
        *_TEXTS,
    }
)
"""The keys of an entry that a row has a place for."""
_REPORTED = frozenset(
    {
        *("exact_match", "chrf_score", "bleu_score", "ter_score", "length_ratio"),
        *("plugin_metrics", "comet_score"),
    }
)
"""The keys of an entry that hold scores of then: kept in the row's metadata."""
_OUTPUT = (
    *("dataset", "tools_enabled", "tools_list", "max_tool_rounds", "custom_prompt_path"),
    *("style_profile", "process_name", "target_lang_code"),
)
"""The keys of the configuration that can change an output and have no place of their own."""
_RUN_ID = re.compile(r"run_(\d{8})_(\d{6})_")
_LOGGED = "timestamp_start"
_LARGEST = 2**53
"""Beyond it not every program reads the same number."""


def is_foreign(value: Json) -> bool:
    """Say by its keys whether a JSON value is meant to be a report or a log."""
    if not isinstance(value, Mapping) or "run_card_hash" in value:
        return False
    if "entries" in value:
        return "overall" in value or ("config" in value and "run_id" in value)
    return "results" in value and _LOGGED in value and "scores" not in value


def read_foreign(
    value: Mapping[str, Json], where: str, digest: str
) -> tuple[dict[str, Any], dict[str, Json]]:
    """Return a card without scores, and what is to be said of its origin.

    ``where`` is the file for messages, ``digest`` the SHA-256 hex of its bytes. Raises CardError,
    one line naming file and entry, for a value that is missing, of the wrong type or given twice.
    """
    reader = _Reader(where)
    run_id = reader.text(value, "run_id")
    config = reader.mapping(value, "config")
    listed = reader.listing(value, "entries" if "entries" in value else "results")
    if not listed:
        raise CardError(f"{where}: there is no entry in it")
    rows = [_row(reader, entry, at) for at, entry in enumerate(listed)]
    reader.encodable(_rest(value))
    ids = [row["entry_id"] for row in rows]
    _check_ids(where, ids)
    notes: list[str] = []
    card: dict[str, Any] = {
        "run_id": str(uuid.uuid4()),
        "harness_version": HARNESS_VERSION,
        **_model(reader, config),
        **_time(reader, value, run_id, notes),
        "dataset": _dataset(reader, value, config, rows, digest, notes),
        "config": _config(reader, config),
        **_prompt(reader, value),
        "environment": environment(),
        "kind": "translation",
        "complete": True,
        "interrupted": False,
        "selection": _selection(reader, config, ids),
        "notes": notes,
        "provenance": {"method": None, "suite": None},
        "extra": {"report": _rest(value)},
        "results": rows,
    }
    _count(reader, value, len(rows), notes)
    origin: dict[str, Json] = {
        "what": "report of another harness",
        "run_id": run_id,
        "run_card_hash": None,
        "package_version": None,
        "sha256": digest,
    }
    return card, origin


class _Reader:
    """Takes typed values out of JSON objects; what is wrong is one line."""

    def __init__(self, where: str) -> None:
        self._where = where

    def fail(self, what: str, problem: str) -> CardError:
        return CardError(f"{self._where}: {what}{problem}")

    def _get(self, of: Mapping[str, Json], key: str, within: str, need: bool) -> Json:
        if key not in of and need:
            raise self.fail(within, f"there is no key {key!r}")
        return of.get(key)

    def text(
        self,
        of: Mapping[str, Json],
        key: str,
        within: str = "",
        *,
        need: bool = True,
        null: bool = False,
    ) -> str:
        """Return a text; an empty one for null where that may be."""
        found = self._get(of, key, within, need)
        if found is None and (null or (not need and key not in of)):
            return ""
        if not isinstance(found, str):
            raise self.fail(within, f"{key} is {_type(found)}, not text")
        return found

    def number(
        self, of: Mapping[str, Json], key: str, within: str = "", *, whole: bool = False
    ) -> Any:
        """Return a number from 0, or None when there is none."""
        found = of.get(key)
        if found is None:
            return None
        kinds = int if whole else (int, float)
        if isinstance(found, bool) or not isinstance(found, kinds):
            raise self.fail(within, f"{key} is {_type(found)}, not a {'whole ' * whole}number")
        if not 0 <= found <= _LARGEST:
            raise self.fail(within, f"{key} is below 0 or far too large")
        return found

    def encodable(self, value: Json, within: str = "") -> None:
        """Raise for text that is no text: an escape for one half of a character."""
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise self.fail(within, "it holds one half of a character (a surrogate)") from None

    def mapping(
        self, of: Mapping[str, Json], key: str, within: str = "", *, need: bool = True
    ) -> Mapping[str, Json]:
        """Return an object; an empty one when none is given and none is needed."""
        found = self._get(of, key, within, need)
        if found is None and not need:
            return {}
        if not isinstance(found, Mapping):
            raise self.fail(within, f"{key} is {_type(found)}, not an object")
        return found

    def listing(
        self, of: Mapping[str, Json], key: str, within: str = "", *, need: bool = True
    ) -> list[Json]:
        """Return a list; an empty one when none is given and none is needed."""
        found = self._get(of, key, within, need)
        if found is None and not need:
            return []
        if not isinstance(found, list):
            raise self.fail(within, f"{key} is {_type(found)}, not a list")
        return found


# -- entries --------------------------------------------------------------------------------


def _row(reader: _Reader, entry: Json, at: int) -> dict[str, Json]:
    """Return the row of an entry, without scores."""
    within = f"entry {at + 1}: "
    if not isinstance(entry, Mapping):
        raise reader.fail(within, f"it is {_type(entry)}, not an object")
    given = entry.get("id")
    if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
        raise reader.fail(within, "id is no text and no whole number")
    id = str(given)
    within = f"entry {at + 1} ({id[:60]!a}): "
    reader.encodable(entry, within)
    error = reader.text(entry, "error", within, need=False, null=True)
    source = reader.text(entry, "source", within)
    expected = reader.text(entry, "expected", within, null=True)
    # Only a failure may be without an output.
    output = reader.text(entry, "predicted", within, null=bool(error))
    raw = reader.text(entry, "raw_predicted", within, need=False, null=True)
    tools = reader.listing(entry, "tool_calls", within, need=False)
    case = Case(
        id=id,
        index=at,
        group="",
        kind="translation",
        public={"source": source},
        hidden={},
        labels=_labels(reader, entry, within),
        problem=NO_REFERENCE if is_blank(expected) else None,
    )
    attempt = Attempt(
        id=id,
        output=None if error and not output else output,
        raw_output=raw if "raw_predicted" in entry and not (error and not raw) else None,
        failure=Failure(kind="reported", message=error) if error else None,
        latency_seconds=reader.number(entry, "latency_s", within),
        usage=dict(reader.mapping(entry, "usage", within, need=False)),
        cost_usd=reader.number(entry, "cost_usd", within),
        tool_calls=tuple(tools),
        metadata=_metadata(reader, entry, within),
    )
    row = base_row(case, attempt)
    row |= {"source": source, "reference": expected}
    count = reader.number(entry, "tool_call_count", within, whole=True)
    if count is not None:
        row["tool_call_count"] = count
    if more := {key: entry[key] for key in entry if key not in _OWN and key not in _REPORTED}:
        row["fields"] = more
    return row


def _labels(reader: _Reader, entry: Mapping[str, Json], within: str) -> dict[str, str | int]:
    labels: dict[str, str | int] = {}
    for name in _LABELS:
        found = entry.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and name == "difficulty":
            if found:  # 0 is how that harness writes that there is none
                labels[name] = found
        elif text := reader.text(entry, name, within, need=False, null=True):
            labels[name] = text
    return labels


def _metadata(reader: _Reader, entry: Mapping[str, Json], within: str) -> dict[str, Json]:
    metadata = dict(reader.mapping(entry, "metadata", within, need=False))
    if "cached" in entry:
        metadata["cached"] = entry["cached"]
    if reported := {key: entry[key] for key in entry if key in _REPORTED}:
        metadata["reported"] = reported
    return metadata


def _check_ids(where: str, ids: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for at, id in enumerate(ids, 1):
        if id in first:
            raise CardError(
                f"{where}: entry {at}: the id {id[:60]!a} is that of entry {first[id]} too"
            )
        first[id] = at


# -- the run --------------------------------------------------------------------------------


def _model(reader: _Reader, config: Mapping[str, Json]) -> dict[str, Json]:
    slug = reader.text(config, "model", "config: ")
    return {
        "model_slug": slug,
        "model_id": reader.text(config, "_model_id", "config: ", need=False, null=True) or slug,
        "condition": reader.text(config, "prompt_version", "config: "),
    }


def _time(
    reader: _Reader, value: Mapping[str, Json], run_id: str, notes: list[str]
) -> dict[str, Json]:
    """Return when the run was and how long it took, as far as is known."""
    seconds = reader.number(value, "elapsed_s")
    form = "%Y-%m-%dT%H:%M:%SZ"
    try:
        stamp = datetime.fromisoformat(reader.text(value, _LOGGED, need=False, null=True))
        timestamp, known = stamp.astimezone(UTC).strftime(form), ""
    except ValueError:
        found = _RUN_ID.match(run_id)
        try:
            moment = datetime.strptime("".join(found.groups()), "%Y%m%d%H%M%S") if found else None
        except ValueError:
            moment = None
        timestamp = (moment or datetime.now(UTC)).strftime(form)
        known = f"; the time stamp is {'from the run id' if moment else 'that of reading it'}"
    lacking = "the time limit is" if seconds is not None else "elapsed time and time limit are"
    notes.append(f"the report lacks times: {lacking} 0 here{known}")
    return {"timestamp": timestamp, "elapsed_seconds": float(seconds or 0)}


def _dataset(
    reader: _Reader,
    value: Mapping[str, Json],
    config: Mapping[str, Json],
    rows: Sequence[Mapping[str, Json]],
    digest: str,
    notes: list[str],
) -> dict[str, Json]:
    within = "config: "
    path = reader.text(config, "corpus_path", within, need=False, null=True)
    path = path or reader.text(config, "source_file", within, need=False, null=True)
    name = _last(path)
    source, target = (_language(reader, config, side) for side in ("source", "target"))
    pair = [language.code or language.name for language in (source, target)]
    told = reader.mapping(value, "provenance", need=False)
    sha256 = reader.text(told, "corpus_sha256", "provenance: ", need=False, null=True)
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        sha256 = digest
        notes.append(
            "the report does not identify its corpus: dataset.sha256 is that of the report's file"
        )
    # Not what a suite's content gives, but the same for every report on these entries.
    content = [[row["entry_id"], row["source"], row["reference"]] for row in rows]
    dataset_id = reader.text(config, "dataset_id", within, need=False, null=True)
    return {
        "id": dataset_id or name.rpartition(".")[0] or name or "unknown",
        "version": "",
        "name": "",
        "language_pair": ">".join(part or "?" for part in pair) if any(pair) else None,
        "languages": {
            "group": group_name(source, target),
            "source_code": source.code,
            "source_name": source.name,
            "target_code": target.code,
            "target_name": target.name,
        },
        "sha256": sha256,
        "content_sha256": hashlib.sha256(
            json.dumps(sorted(content), ensure_ascii=False).encode("utf-8")
        ).hexdigest(),
        "entry_count": len(rows),
        "format": "report",
        "license": "",
        "attribution": "",
        "provenance": [],
        "rankable": True,
        "file": name,
    }


def _language(reader: _Reader, config: Mapping[str, Json], side: str) -> Language:
    """Return a language by the name (or code) and the code that the configuration gives."""
    named = reader.text(config, f"{side}_lang", "config: ", need=False, null=True).strip()
    code = reader.text(config, f"{side}_lang_code", "config: ", need=False, null=True)
    try:
        # "Lao" has the form of a code, and is a name.
        told = Language(name=named) if named.istitle() else read_language(named)
        return complete(Language(code=code.strip(), name=told.name), told)
    except BadLanguage as error:
        raise reader.fail("config: ", f"{side}_lang: {error}") from error


def _config(reader: _Reader, config: Mapping[str, Json]) -> dict[str, Json]:
    def text(key: str) -> str | None:
        return reader.text(config, key, "config: ", need=False, null=True) or None

    def count(key: str) -> int:
        return int(reader.number(config, key, "config: ", whole=True) or 0)

    def last(key: str) -> str | None:
        found = text(key)
        return None if found is None else _last(found)

    sent = reader.number(config, "_effective_temperature", "config: ")
    asked = reader.number(config, "temperature", "config: ")
    hooks = reader.listing(config, "post_hooks", "config: ", need=False)
    scoring = Scoring()
    return {
        "api_provider": text("provider"),
        "temperature": float((asked or 0) if sent is None else sent),
        "max_tokens": count("max_tokens"),
        "batch_size": count("batch_size"),
        "concurrency": count("concurrency"),
        "coaching_file": last("coaching_file"),
        "method_path": last("method_path"),
        "fst_retries": count("fst_retries"),
        "timeout_seconds": 0.0,
        "hooks": [hook if isinstance(hook, str) else json.dumps(hook) for hook in hooks],
        "options": {},
        "method_name": reader.text(config, "model", "config: "),
        "method_sha256": "",
        "method_facts": {
            key: _without_directories(config[key]) for key in _OUTPUT if key in config
        },
        "scoring": scoring.model_dump(mode="json"),
        "suite": {
            "source_field": text("source_field"),
            "target_field": text("target_field"),
            "source_lang": text("source_lang"),
            "target_lang": text("target_lang"),
            "allow_missing_reference": False,
            "reference_file": last("reference_file"),
        },
        "run_name": text("run_name"),
        "normalization": scoring.normalization,
        "workers": 1,
        "peak_in_flight": None,
    }


def _prompt(reader: _Reader, value: Mapping[str, Json]) -> dict[str, Json]:
    """Return the prompt and the method's card, which only a log has."""
    told = reader.mapping(value, "provenance", need=False)
    prompt = reader.text(told, "system_prompt_used", "provenance: ", need=False, null=True)
    return {
        "method_card": dict(reader.mapping(told, "method_card", "provenance: ", need=False))
        or None,
        "system_prompt_sha256": prompt_digest(prompt),
        "system_prompt_used": prompt,
    }


def _selection(reader: _Reader, config: Mapping[str, Json], ids: Sequence[str]) -> dict[str, Json]:
    digest = ids_digest(ids)
    wanted = reader.listing(config, "entry_ids", "config: ", need=False)
    return {
        "ids_sha256": digest,
        "n_selected": len(ids),
        "n_rows": len(ids),
        "dataset": reader.text(config, "dataset", "config: ", need=False, null=True) or "all",
        "ids": [str(id) for id in wanted],
        "domains": [],
        "difficulties": [],
        "shard": None,
        "ids_sha256_all": digest,
        "n_selected_all": len(ids),
    }


def _count(reader: _Reader, value: Mapping[str, Json], listed: int, notes: list[str]) -> None:
    """Say so when the report counts other entries than it lists."""
    within = "overall: " if "overall" in value else ""
    of = reader.mapping(value, "overall", need=False) if within else value
    told = reader.number(of, "total_entries", within, whole=True)
    if told is not None and told != listed:
        notes.append(f"the report counts {told} entries and lists {listed}: these are scored")


def _rest(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a report says beside its entries, without anybody's directories."""
    listed = "entries" if "entries" in value else "results"
    return {key: _without_directories(value[key]) for key in value if key != listed}


def _without_directories(value: Json) -> Json:
    if isinstance(value, str):
        windows = PureWindowsPath(value)
        if value.startswith(("/", "~", "\\\\")) or (windows.drive and windows.root):
            return _last(value)
        return value
    if isinstance(value, Mapping):
        return {key: _without_directories(inner) for key, inner in value.items()}
    return [_without_directories(inner) for inner in value] if isinstance(value, list) else value


def _last(path: str) -> str:
    """Return the last part of a path of any system."""
    return PurePosixPath(path.replace("\\", "/")).name


def _type(value: Json) -> str:
    names = {list: "a list", dict: "an object", str: "text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
