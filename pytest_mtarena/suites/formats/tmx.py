"""TMX translation memories, read by translate-toolkit.

Each unit makes an entry per target language. Its id is the ``tuid`` when all units have different
ones, else a digest of the text; with several target languages the language is put behind it.
Inline elements keep their text, without the tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import MissingExtra, SuiteError
from pytest_mtarena.records import Json, SuiteSettings
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.formats.xml import digest_ids, look_at
from pytest_mtarena.suites.languages import is_code
from pytest_mtarena.suites.problems import Problems, counted, listed

_LANG = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")


def read_tmx(data: bytes, path: Path, settings: SuiteSettings, problems: Problems) -> Document:
    """Read a memory; ``--mt-target-lang`` picks one of several target languages."""
    if look_at(data, path).name != "tmx":
        raise SuiteError(path, "is no TMX file: its root element is not <tmx>")
    memory = _parse(data, path)
    header = memory.document.getroot().find("header")
    source = (header.get("srclang") or "") if header is not None else ""
    if not source or source == "*all*":
        if settings.source_lang is None:
            raise SuiteError(path, "the header names no source language: pass --mt-source-lang")
        source = settings.source_lang
    units = [_texts(unit) for unit in memory.units]
    source = _meant(source, [code for texts in units for code in texts]) or source
    targets = list(
        dict.fromkeys(code for texts in units for code in texts if code not in ("", source))
    )
    wanted = settings.target_lang
    if wanted is not None and is_code(wanted) and len(targets) > 1:
        picked = _meant(wanted, targets)
        if picked is None:
            raise SuiteError(
                path, f"--mt-target-lang: there is no {wanted!r} (languages: {listed(targets)})"
            )
        targets = [picked]
    return _document(memory.units, units, source, targets, path, problems)


def _document(
    elements: Sequence[Any],
    units: Sequence[dict[str, str]],
    source: str,
    targets: list[str],
    path: Path,
    problems: Problems,
) -> Document:
    tuids = [unit.xmlelement.get("tuid") or "" for unit in elements]
    if not all(tuids) or len(set(tuids)) < len(tuids):
        keys = ["\4".join(f"{code}={texts[code]}" for code in sorted(texts)) for texts in units]
        tuids = digest_ids(keys, "tu")
    entries: list[RawEntry] = []
    left_out = inline = 0
    for unit, texts, tuid in zip(elements, units, tuids, strict=True):
        line = unit.xmlelement.sourceline
        pairs = [code for code in targets if texts.get(code, "").strip()]
        if source not in texts or not pairs:
            left_out += 1
            continue
        inline += any(len(segment) for segment in unit.xmlelement.iter("seg"))
        for code in pairs:
            fields: dict[str, Json] = {
                "id": tuid if len(targets) == 1 else f"{tuid}-{code}",
                "source": texts[source],
                "reference": texts[code],
                "target_lang": code,
            }
            note = unit.getnotes()
            if note:
                fields["notes"] = note
            entries.append(RawEntry(fields, len(entries) + 1, line))
    problems.check()
    if not entries:
        raise SuiteError(path, f"0 entries with source language {source!r} and a translation")
    notes = []
    if left_out:
        notes.append(f"{counted(left_out, 'unit')} without source or translation left out")
    if inline:
        notes.append(f"{counted(inline, 'unit')} with inline elements: their tags are left out")
    envelope: dict[str, Json] = {"source_lang": source}
    return Document("tmx", entries, envelope, notes, fixed=True)


def _parse(data: bytes, path: Path) -> Any:
    try:
        from translate.storage.tmx import tmxfile
    except ImportError as error:
        raise MissingExtra("TMX files", "formats") from error
    parse: Any = tmxfile.parsestring
    try:
        return parse(data)
    except Exception as error:  # the toolkit has no common base for what it raises
        raise SuiteError(path, f"not a TMX file: {_line(error)}") from error


def _texts(unit: Any) -> dict[str, str]:
    """Return the text of each language of a unit; the first variant of a language counts."""
    texts: dict[str, str] = {}
    for node in unit.getlanguageNodes():
        code = next((node.get(name) for name in _LANG if node.get(name)), "")
        texts.setdefault(code, unit.getNodeText(node, "preserve") or "")
    return texts


def _meant(wanted: str, have: Sequence[str]) -> str | None:
    """Return the code that is meant: the same one, else the only one of that language."""
    every = list(dict.fromkeys(have))
    plain = wanted.replace("_", "-").casefold()
    for code in every:
        if code.replace("_", "-").casefold() == plain:
            return code
    near = [code for code in every if code.replace("_", "-").casefold().split("-")[0] == plain]
    return near[0] if len(near) == 1 else None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
