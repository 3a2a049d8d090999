"""Gettext catalogues: msgid is the source, msgstr the reference, msgctxt the public context.

An id is a digest of context and msgid (``po-…``), so it outlives reordering and new messages. A
message with plural forms makes two entries: ``…-one`` for the form that the header's rule takes
for 1, ``…-other`` for msgid_plural with every other form as a reference, since the catalogue does
not say which number is meant.
"""

from __future__ import annotations

import gettext
import hashlib
import re
from pathlib import Path

import polib

from pytest_mtarena.errors import SuiteError
from pytest_mtarena.records import Json
from pytest_mtarena.suites.formats.document import Document, RawEntry
from pytest_mtarena.suites.formats.text import split_lines
from pytest_mtarena.suites.problems import Problems

_LINE = re.compile(r'(?:(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d+\])\s*)?"(?:[^"\\]|\\.)*"')
_RULE = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


def read_po(text: str, path: Path, problems: Problems) -> Document:
    """Read a catalogue that is known to be UTF-8; what is not translated is left out, noted."""
    _check_lines(text, problems)
    try:
        # Given a path, polib splits lines as a file does; given text, it splits at U+2028 as well.
        catalogue = polib.pofile(str(path), encoding="utf-8-sig", check_for_duplicates=False)
    except (OSError, ValueError, IndexError) as error:
        told = " ".join(str(error).replace(f"po file {path} ", "").split())
        raise SuiteError(path, f"not a gettext catalogue: {told}") from error
    head = catalogue.metadata
    one, count = _plural_rule(head.get("Plural-Forms", ""), path)
    skipped = {"fuzzy": 0, "obsolete": 0, "untranslated": 0}
    entries: list[RawEntry] = []
    for message in catalogue:
        reason = _why_not(message)
        if reason is not None:
            skipped[reason] += 1
            continue
        key = message.msgid if message.msgctxt is None else f"{message.msgctxt}\4{message.msgid}"
        id = f"po-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        common: dict[str, Json] = {"flags": list(message.flags)} if message.flags else {}
        if message.msgctxt:
            common["context"] = message.msgctxt
        if message.comment:
            common["comment"] = message.comment
        found: list[dict[str, Json]]
        if not message.msgid_plural:
            found = [{"id": id, "source": message.msgid, "reference": message.msgstr}]
        else:
            forms = {int(number): text for number, text in message.msgstr_plural.items()}
            wanted = range(count or len(forms))
            if sorted(forms) != list(wanted):
                problems.add(
                    f"{len(forms)} plural forms, but Plural-Forms says {len(wanted)}",
                    line=message.linenum,
                )
                continue
            others = [forms[number] for number in wanted if number != one] or [forms[one]]
            found = [
                {"id": f"{id}-one", "source": message.msgid, "reference": forms[one]},
                {"id": f"{id}-other", "source": message.msgid_plural, "references": others},
            ]
        for fields in found:
            entries.append(RawEntry({**fields, **common}, len(entries) + 1, message.linenum))
    problems.check()
    left_out = ", ".join(f"{number} {reason}" for reason, number in skipped.items() if number)
    if not entries:
        raise SuiteError(path, f"0 entries{f' ({left_out} left out)' if left_out else ''}")
    notes = [f"messages left out: {left_out}"] if left_out else []
    envelope: dict[str, Json] = {
        "name": head.get("Project-Id-Version", ""),
        "source_lang": head.get("X-Source-Language", ""),
        "target_lang": head.get("Language", ""),
    }
    return Document("po", entries, envelope, notes, fixed=True)


def _check_lines(text: str, problems: Problems) -> None:
    """Check the quotation marks: polib takes the last sign of a line for one, whatever it is."""
    for number, line in enumerate(split_lines(text), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if "\r" in bare or not _LINE.fullmatch(bare):
            problems.add(f"not a gettext catalogue: found {bare!r:.60}", line=number)
    problems.check()


def _why_not(message: polib.POEntry) -> str | None:
    """Return why a message is no entry, or None when it is one."""
    if message.obsolete:
        return "obsolete"
    if message.fuzzy:
        return "fuzzy"
    return None if message.translated() else "untranslated"


def _plural_rule(text: str, path: Path) -> tuple[int, int | None]:
    """Return the form for 1 and the number of forms (None: not said) of a Plural-Forms header."""
    if not text.strip():
        return 0, None
    found = _RULE.search(text)
    try:
        if found is None:
            raise ValueError("no nplurals=...; plural=...")
        count = int(found[1])
        one = int(gettext.c2py(found[2])(1))
        if not 0 <= one < count:
            raise ValueError(f"form {one} of {count}")
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise SuiteError(
            path, f"the header Plural-Forms {text.strip()[:80]!r} cannot be read: {error}"
        ) from error
    return one, count
