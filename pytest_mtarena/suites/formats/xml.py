"""What is common to the XML formats: a safe look at the file before a library parses it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from pytest_mtarena.errors import SuiteError

DEPTH = 200
"""Elements inside one another that are still read."""


class Root(NamedTuple):
    """The outermost element."""

    name: str
    attributes: dict[str, str]


def look_at(data: bytes, path: Path) -> Root:
    """Check that the bytes are XML that is safe to parse, and return the root element.

    A file that declares entities is refused: expanding them can fill the memory or read other
    files. A DOCTYPE that only names a DTD is harmless: nobody loads it.
    """
    roots: list[Root] = []
    depth = 0
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if not roots:
            roots.append(Root(name.rpartition(":")[2], attributes))
        if depth > DEPTH:
            raise SuiteError(path, "nested too deeply", line=parser.CurrentLineNumber)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(name: str, *_: object) -> None:
        raise SuiteError(
            path,
            f"declares the entity {name[:40]!r}: files with entities are not read; "
            "write the text itself",
            line=parser.CurrentLineNumber,
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        line = getattr(error, "lineno", None)
        raise SuiteError(path, f"not valid XML: {error}", line=line) from error
    return roots[0]


def digest_ids(keys: Sequence[str], prefix: str) -> list[str]:
    """Return an id a key: a digest, and for equal keys a number behind it."""
    seen: Counter[str] = Counter()
    ids = []
    for key in keys:
        seen[key] += 1
        again = f"-{seen[key]}" if seen[key] > 1 else ""
        ids.append(f"{prefix}-{hashlib.sha256(key.encode()).hexdigest()[:16]}{again}")
    return ids
