"""Run cards on disk: written whole or not at all, read with every doubt spoken out."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from pytest_mtarena.card.canonical import ROWS, is_rows, row_text
from pytest_mtarena.card.model import RunCard
from pytest_mtarena.errors import CardError
from pytest_mtarena.records import Json

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\..*)?", re.IGNORECASE)
_STEM_LENGTH = 100
_TRIES = 10_000


def safe_stem(text: str) -> str:
    """Return a file name, without its ending, that every operating system takes.

    ASCII letters, digits, ``.``, ``_`` and ``-``, at most 100 of them; a name that had to be cut
    ends in eight hex of its digest.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", plain).strip("._-") or "card"
    if _RESERVED.fullmatch(stem):
        stem = f"card_{stem}"
    if len(stem) > _STEM_LENGTH:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        stem = f"{stem[: _STEM_LENGTH - 9]}-{digest}"
    return stem


def write_card(
    card: Mapping[str, Json], directory: Path, stem: str, rows: Sequence[str] | None = None
) -> Path:
    """Write a card as ``STEM.json`` and return its path; a card that is there stays.

    ``rows`` are the texts of the rows by ``row_text``, if known. When the name is taken a counter
    is added. The file appears only when all of it is on disk. Raises CardError when it cannot be
    written.
    """
    directory = Path(directory)
    name = safe_stem(stem)
    temporary = directory / f".card-{uuid.uuid4().hex}.tmp"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.writelines(card_lines(card, rows))
            file.flush()
            os.fsync(file.fileno())
        return _place(temporary, directory, name)
    except OSError as error:
        raise CardError(f"{directory}: cannot write a run card: {_reason(error)}") from None
    except (ValueError, TypeError) as error:
        raise CardError(f"the run card cannot be written as JSON: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def card_lines(card: Mapping[str, Json], rows: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the text of a card's file: one row a line, the rest indented."""
    yield "{"
    for number, (key, value) in enumerate(card.items()):
        yield f"{',' if number else ''}\n  {json.dumps(key, ensure_ascii=False)}: "
        if key == ROWS and is_rows(value) and len(value):
            for at in range(len(value)):
                text = row_text(value[at], at) if rows is None else rows[at]
                yield f"{',' if at else '['}\n    {text}"
            yield "\n  ]"
        else:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
            yield text.replace("\n", "\n  ")
    yield "\n}\n"


def read_card(path: Path) -> dict[str, Any]:
    """Return the card in a file, checked against the schema; its seal is not checked here.

    Raises CardError, one line naming the file: not readable, not JSON, a number or a key that
    JSON does not have, no card, another schema.
    """
    card: dict[str, Any] = read_json(path)
    if problems := card_problems(card):
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise CardError(f"{path}: {problems[0]}{more}")
    return card


def read_json(path: Path) -> Json:
    """Return the value in a JSON file, read strictly: no NaN, no key twice, UTF-8.

    Raises CardError, one line naming the file.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CardError(f"{path}: cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError as error:
        raise CardError(f"{path}: not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise CardError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise CardError(f"{path}: nested too deeply") from None
    except ValueError as error:
        raise CardError(f"{path}: not JSON: {error}") from None


def card_problems(card: Json) -> list[str]:
    """Return why a JSON value is no run card of this schema, one line each."""
    if not isinstance(card, dict):
        return [f"not a run card: a JSON {_json_type(card)}, not an object"]
    if "run_card_hash" not in card and "scores" not in card:
        return ["not a run card: it has neither scores nor run_card_hash"]
    version = card.get("harness_version")
    if version != "2.0":
        return [f"a run card of schema {version!r}; this version reads schema '2.0'"]
    # The rows are many and open: they are checked by hand, not copied into a model.
    rows = card.get(ROWS)
    try:
        RunCard.model_validate({**card, ROWS: []} if isinstance(rows, list) else card)
    except ValidationError as error:
        return [
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
            for each in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    return [
        f"results[{at}]: {problem}"
        for at, row in enumerate(rows or ())
        if (problem := _row_problem(row))
    ]


def _row_problem(row: Json) -> str | None:
    if not isinstance(row, dict):
        return f"a JSON {_json_type(row)}, not an object"
    if not isinstance(row.get("entry_id"), str):
        return "entry_id is no string"
    index = row.get("index")
    if not isinstance(index, int) or isinstance(index, bool):
        return "index is no integer"
    if not isinstance(row.get("status"), str):
        return "status is no string"
    return None


def _place(temporary: Path, directory: Path, name: str) -> Path:
    """Give the finished file its name without ever taking one that is in use."""
    for number in range(1, _TRIES):
        final = directory / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        try:
            os.link(temporary, final)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links: reserve the name, then fill it
            try:
                os.close(os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                continue
            os.replace(temporary, final)
        _sync(directory)
        return final
    raise CardError(f"{directory}: there are {_TRIES} run cards named {name} already")


def _sync(directory: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can open a directory
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} comes twice in one object")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large for a number")
    return value


def _json_type(value: Json) -> str:
    names = {list: "array", dict: "object", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
