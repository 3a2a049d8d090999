"""Replays translations that some other system has made, to score them.

The option ``file=PATH`` names them:

- ``.jsonl``: one object a line with ``id`` and ``predicted`` (or ``output``);
- ``.json``: a list of such objects, or one object from ids to texts;
- ``.tsv``: two columns, id and text, or any columns named ``id`` and ``predicted`` in a first
  line; a cell is taken as it is, without quoting;
- anything else: plain text, one translation a line, as many lines as the suite has entries.

Only a line feed (or CR LF) ends a line. Files with ids may list them in any order.
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_mtarena.errors import UsageError

TEXT_KEYS = ("predicted", "output")


class Hypotheses:
    """Looks translations up, by id where the file has ids, else by the entry's position."""

    def __init__(self, options):
        given = options.get("file")
        if not given:
            raise UsageError("the method hypotheses needs the option file=PATH")
        self._path = Path(given)
        text = read_text(self._path)
        reader = {".jsonl": read_jsonl, ".json": read_json, ".tsv": read_tsv}.get(
            self._path.suffix.lower()
        )
        self._by_id = None if reader is None else collect(reader(text, self._path), self._path)
        self._lines = split_lines(text) if reader is None else None

    def translate(self, entries, config):
        if self._lines is not None:
            self._check_count(len(self._lines), config, exact=True)
            return [
                {"id": entry["id"], "predicted": self._lines[entry["index"]]} for entry in entries
            ]
        self._check_count(len(self._by_id), config, exact=False)
        return [self._result(entry["id"]) for entry in entries]

    def _check_count(self, found, config, *, exact):
        if found > config.entry_count or (exact and found != config.entry_count):
            what = "lines" if exact else "ids"
            raise ValueError(
                f"{self._path.name} has {found} {what}, but the suite has "
                f"{config.entry_count} entries"
            )

    def _result(self, key):
        if key not in self._by_id:
            return {"id": key, "error": f"{self._path.name} has no translation for this id"}
        text = self._by_id[key]
        if text is None:
            return {"id": key, "error": f"{self._path.name} has null for this id"}
        return {"id": key, "predicted": text}


def read_text(path):
    """Read UTF-8, with or without a byte order mark."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{line}: not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}; "
            "save the file as UTF-8"
        ) from error


def split_lines(text):
    """Split at line feeds only: U+2028 and its like are part of a text."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_jsonl(text, path):
    """Return (place, id, text) for each line."""
    for number, line in enumerate(split_lines(text), start=1):
        if line.strip():
            place = f"{path}:{number}"
            yield from objects([parse(line, place)], lambda _, place=place: place)


def read_json(text, path):
    """Return (place, id, text) for each object of a list, or for each key of an object."""
    value = parse(text, path)
    if isinstance(value, dict):
        return [(f"{path}: {key!r}", key, inner) for key, inner in value.items()]
    if isinstance(value, list):
        return objects(value, lambda position: f"{path}: item {position}")
    raise UsageError(f"{path}: must hold a list of objects or an object from ids to texts")


def read_tsv(text, path):
    """Return (place, id, text) for each row."""
    rows = [line.split("\t") for line in split_lines(text)]
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    first, id_column, text_column, width = 1, 0, 1, 2
    if "id" in header:
        column = next((key for key in TEXT_KEYS if key in header), None)
        if column is None:
            raise UsageError(f"{path}:1: there is no column predicted beside id")
        first, width = 2, len(header)
        id_column, text_column = header.index("id"), header.index(column)
    found = []
    for number, row in enumerate(rows[first - 1 :], start=first):
        if row == [""]:
            continue
        if len(row) != width:
            raise UsageError(f"{path}:{number}: {len(row)} columns instead of {width}")
        found.append((f"{path}:{number}", row[id_column], row[text_column]))
    return found


def parse(text, place):
    """Parse JSON; a key that is given twice is an error."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: unique(pairs, place))
    except json.JSONDecodeError as error:
        where = f"{place}:{error.lineno}" if "\n" in text else place
        raise UsageError(f"{where}: not valid JSON: {error.msg}") from error


def unique(pairs, place):
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise UsageError(f"{place}: {twice!r} is given twice")
    return found


def objects(values, place_of):
    """Return (place, id, text) for each object with an id."""
    found = []
    for position, value in enumerate(values, start=1):
        place = place_of(position)
        if not isinstance(value, dict) or "id" not in value:
            raise UsageError(f"{place}: must be an object with id and predicted")
        column = next((key for key in TEXT_KEYS if key in value), None)
        if column is None:
            raise UsageError(f"{place}: has no predicted")
        found.append((place, value["id"], value[column]))
    return found


def collect(records, path):
    """Return texts by id; an id may be an integer, a text may be null."""
    by_id = {}
    for place, key, text in records:
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise UsageError(f"{place}: the id must be a text or an integer")
        if text is not None and not isinstance(text, str):
            raise UsageError(f"{place}: the translation must be a text or null")
        if str(key) in by_id:
            raise UsageError(f"{place}: the id {str(key)!r} is given twice")
        by_id[str(key)] = text
    if not by_id:
        raise UsageError(f"{path}: there are no translations in it")
    return by_id
