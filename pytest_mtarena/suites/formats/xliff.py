"""XLIFF 1.2 and 2.x, read by translate-toolkit.

An id is the unit's (with ``::segment`` in 2.x where a unit has several), behind the name of its
``<file>`` when ids repeat between files. Units that are not to be translated, have no target, or
whose state says that the target still needs work are left out. Inline elements keep their text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_mtarena.errors import MissingExtra, SuiteError
from pytest_mtarena.records import Json
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.formats.xml import look_at
from pytest_mtarena.suites.problems import counted

_UNFINISHED = frozenset(
    {
        "new",
        "initial",
        "needs-translation",
        "needs-adaptation",
        "needs-l10n",
        "needs-review-translation",
        "needs-review-adaptation",
        "needs-review-l10n",
    }
)


def read_xliff(data: bytes, path: Path) -> Document:
    """Read all files of a document; languages are those of each ``<file>`` (1.2) or the root."""
    root = look_at(data, path)
    if root.name != "xliff":
        raise SuiteError(path, "is no XLIFF file: its root element is not <xliff>")
    store, second = _parse(data, path, root.attributes.get("version", "1.2"))
    found: list[tuple[str, str, RawEntry]] = []
    left_out = {"not to be translated": 0, "untranslated": 0, "unfinished": 0}
    inline = 0
    for unit in store.units:
        element = unit.xmlelement
        target = element.find(unit.namespaced("target"))
        state = (
            element.get("state") if second else target.get("state") if target is not None else ""
        )
        reason = (
            "not to be translated"
            if not unit.istranslatable()
            else "untranslated"
            if not (unit.target or "").strip()
            else "unfinished"
            if state in _UNFINISHED
            else None
        )
        if reason is not None:
            left_out[reason] += 1
            continue
        source = element.find(unit.namespaced("source"))
        inline += bool(len(source)) or bool(len(target))
        file = next(element.iterancestors(unit.namespaced("file")))
        fields: dict[str, Json] = {"source": unit.source or "", "reference": unit.target}
        if not second:
            fields["source_lang"] = file.get("source-language") or ""
            fields["target_lang"] = file.get("target-language") or ""
        note = unit.getnotes()
        if note:
            fields["notes"] = note
        id = unit.getid() if second else element.get("id") or ""
        raw = RawEntry(fields, len(found) + 1, element.sourceline)
        found.append(((file.get("id") if second else file.get("original")) or "", id, raw))
    if not found:
        raise SuiteError(path, f"0 entries ({_told(left_out)})")
    unique = len({id for _, id, _ in found}) == len(found)
    for name, id, raw in found:
        raw.fields["id"] = id if unique else f"{name}:{id}"
    notes = [_told(left_out)] if any(left_out.values()) else []
    if inline:
        notes.append(f"{counted(inline, 'unit')} with inline elements: their tags are left out")
    envelope: dict[str, Json] = {}
    if second:
        envelope = {
            "source_lang": root.attributes.get("srcLang", ""),
            "target_lang": root.attributes.get("trgLang", ""),
        }
    return Document("xliff", [raw for _, _, raw in found], envelope, notes, fixed=True)


def _told(left_out: dict[str, int]) -> str:
    told = ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number)
    return f"units left out: {told or 'none'}"


def _parse(data: bytes, path: Path, version: str) -> tuple[Any, bool]:
    """Return the toolkit's store, and whether it is of version 2."""
    second = version.startswith("2")
    try:
        from translate.storage.xliff import Xliff1File
        from translate.storage.xliff2 import Xliff2File
    except ImportError as error:
        raise MissingExtra("XLIFF files", "formats") from error
    parse: Any = (Xliff2File if second else Xliff1File).parsestring
    try:
        return parse(data), second
    except Exception as error:  # the toolkit has no common base for what it raises
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise SuiteError(path, f"not an XLIFF {version} file: {reason}") from error
