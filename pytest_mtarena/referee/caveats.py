"""Things to worry about in a run's outputs, one line each, with up to eight ids."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_mtarena.protocols import Statistics
from pytest_mtarena.records import Json
from pytest_mtarena.referee.inputs import row_references
from pytest_mtarena.referee.metrics.ids import LIMITS
from pytest_mtarena.referee.normalization import is_blank
from pytest_mtarena.referee.placeholders import (
    find_placeholders,
    same_variables,
    tags_of,
    variables_of,
)
from pytest_mtarena.referee.scripts import Tokenization
from pytest_mtarena.referee.table import Table
from pytest_mtarena.text import cut, printable, some

FEW_ENTRIES = 30
MANY_ERRORS = 0.05
INFLATED = 1.5
DEFLATED = 0.67
REPEATED = 3
REPEATED_SHARE = 0.1
LEAKED_WORDS = 4
"""Shorter sources may well be terms."""

_MARKS = re.compile(r"[%{<$@]")
"""One of these is in every placeholder."""

ALARMS = frozenset({"copies", "repetition", "length", "leak"})
"""The kinds that are worth a warning of pytest."""


class Caveat(NamedTuple):
    """One thing to worry about."""

    kind: str
    text: str


def caveats(
    counted: Sequence[Mapping[str, Json]],
    table: Table,
    scores: Mapping[str, Json],
    tokenization: Tokenization,
    cut_ids: Sequence[str],
    copies: tuple[Sequence[str], int],
) -> list[Caveat]:
    """Return the caveats of a run, the gravest first."""
    said = [row for row in counted if row["status"] == "ok" and not is_blank(row.get("predicted"))]
    lines = [
        *_kind("errors", _errors(counted)),
        *_kind("truncated", _truncated(said)),
        *_kind("unknown_end", _unknown_ends(said)),
        *_kind("repetition", _repeated(said)),
        *_kind("copies", _copies(copies)),
        *_kind("leak", _leaks(counted)),
        *_kind("placeholders", _placeholders(said)),
        *_kind("length", _lengths(said)),
        *_kind("bleu", _bleu(table, scores, tokenization)),
    ]
    if cut_ids:
        limits = ", ".join(
            f"{table.metrics[name].title} {limit:,}"
            for name, limit in LIMITS.items()
            if name in table.metrics
        )
        text = (
            f"{_number(len(cut_ids), 'entry', 'entries')} scored on the first characters only "
            f"({limits}): {some(cut_ids)}"
        )
        lines.append(Caveat("cut", text))
    if 0 < len(counted) < FEW_ENTRIES:
        text = (
            f"only {_number(len(counted), 'entry', 'entries')}: "
            f"intervals from fewer than {FEW_ENTRIES} are not to be relied on"
        )
        lines.append(Caveat("few", text))
    return lines


def _kind(kind: str, lines: Sequence[str]) -> list[Caveat]:
    return [Caveat(kind, line) for line in lines]


def count_copies(ids: Sequence[str], eligible: int) -> dict[str, Json]:
    """Return the counts of ``find_copies``; ``rate`` is null when no entry is eligible."""
    rate = round(len(ids) / eligible, 4) if eligible else None
    return {"count": len(ids), "eligible": eligible, "rate": rate}


def _key(text: Json) -> str:
    text = str(text or "")
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def _id(row: Mapping[str, Json]) -> str:
    return str(row.get("entry_id"))


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def find_copies(counted: Sequence[Mapping[str, Json]]) -> tuple[list[str], int]:
    """Return the ids of outputs that equal their source, and how many entries could.

    Those are the entries of which no reference equals the source. Compared after NFC without
    white space around.
    """
    copies, eligible = [], 0
    for row in counted:
        source = _key(row.get("source"))
        if not source or any(_key(reference) == source for reference in row_references(row)):
            continue
        eligible += 1
        if row["status"] == "ok" and _key(row.get("predicted")) == source:
            copies.append(_id(row))
    return copies, eligible


def _copies(found: tuple[Sequence[str], int]) -> list[str]:
    copies, eligible = found
    if not copies:
        return []
    what = "output equals its source" if len(copies) == 1 else "outputs equal their source"
    return [f"{len(copies)} of {eligible} {what}: {some(copies)}"]


def _leaks(counted: Sequence[Mapping[str, Json]]) -> list[str]:
    """Name the entries whose whole source is a term of the glossary that came with the run."""
    given = []
    for row in counted:
        terms = (row.get("fields") or {}).get("glossary")
        source = _folded(row.get("source"))
        if (
            isinstance(terms, Mapping)
            and source.count(" ") >= LEAKED_WORDS - 1
            and any(_folded(term) == source for term in terms)
        ):
            given.append(_id(row))
    if not given:
        return []
    whose = "entry stands" if len(given) == 1 else "entries stand"
    return [f"{len(given)} {whose} whole in the glossary: {some(given)}"]


def _folded(text: Json) -> str:
    return " ".join(_key(text).casefold().split()).rstrip(".!?")


def _errors(counted: Sequence[Mapping[str, Json]]) -> list[str]:
    failed = [_id(row) for row in counted if row["status"] != "ok"]
    if len(failed) <= MANY_ERRORS * len(counted):
        return []
    return [f"{len(failed)} of {len(counted)} attempts failed and count as misses: {some(failed)}"]


def _truncated(said: Sequence[Mapping[str, Json]]) -> list[str]:
    """Name the outputs that a language model could not end within its limit of tokens."""
    ids = [_id(row) for row in said if (row.get("metadata") or {}).get("truncated") is True]
    if not ids:
        return []
    what = "output was" if len(ids) == 1 else "outputs were"
    return [f"{len(ids)} {what} cut at the limit of tokens (--mt-max-tokens): {some(ids)}"]


def _unknown_ends(said: Sequence[Mapping[str, Json]]) -> list[str]:
    """Name the outputs that may be cut, since the provider gives no known reason for their end."""
    words = {_id(row): (row.get("metadata") or {}).get("unknown_end") for row in said}
    found = {id: word for id, word in words.items() if word}
    if not found:
        return []
    what = "output" if len(found) == 1 else "outputs"
    told = ", ".join(cut(printable(str(word)), 30) for word in dict.fromkeys(found.values()))
    return [
        f"{len(found)} {what} may be cut: how the model's reply ended is unknown "
        f"({cut(told, 100)}): {some(list(found))}"
    ]


def _repeated(said: Sequence[Mapping[str, Json]]) -> list[str]:
    sources: dict[str, dict[str, str]] = {}
    for row in said:
        output = _key(row["predicted"])
        if all(_key(reference) != output for reference in row_references(row)):
            sources.setdefault(output, {}).setdefault(_key(row.get("source")), _id(row))
    output, ids = max(sources.items(), key=lambda item: len(item[1]), default=("", {}))
    if len(ids) < max(REPEATED, REPEATED_SHARE * len(said)):
        return []
    return [
        f'one output for {len(ids)} different sources ("{cut(printable(output), 30)}"): '
        f"{some(list(ids.values()))}"
    ]


def _placeholders(said: Sequence[Mapping[str, Json]]) -> list[str]:
    changed = []
    for row in said:
        source = str(row.get("source") or "")
        if not _MARKS.search(source):  # as in most texts
            continue
        wanted = _placed(source)
        # Where every reference changes them too, the translation is meant to.
        if (
            any(wanted)
            and any(_same(wanted, _placed(reference)) for reference in row_references(row))
            and not _same(wanted, _placed(str(row["predicted"])))
        ):
            changed.append(_id(row))
    if not changed:
        return []
    what = _number(len(changed), "output", "outputs")
    return [f"{what} lost or changed a placeholder or tag: {some(changed)}"]


_Placed = tuple[list[str], Counter[tuple[str, str]]]


def _placed(text: str) -> _Placed:
    """Return the variables and the tags of a text."""
    found = find_placeholders(text)
    return variables_of(found), Counter(tags_of(found))


def _same(one: _Placed, other: _Placed) -> bool:
    return same_variables(one[0], other[0]) and one[1] == other[1]


def _lengths(said: Sequence[Mapping[str, Json]]) -> list[str]:
    own = wanted = 0
    long, short = [], []
    for row in said:
        size = len(str(row["predicted"]))
        closest = min(map(len, row_references(row)), key=lambda other: (abs(other - size), other))
        own, wanted = own + size, wanted + closest
        if size > INFLATED * closest:
            long.append(_id(row))
        elif size < DEFLATED * closest:
            short.append(_id(row))
    total = own / wanted if wanted else 1.0
    if total > INFLATED:
        return [f"outputs are {total:.2f} times as long as the references: {some(long)}"]
    if total < DEFLATED:
        return [f"outputs are only {total:.2f} times as long as the references: {some(short)}"]
    return []


def _bleu(table: Table, scores: Mapping[str, Json], tokenization: Tokenization) -> list[str]:
    lines = []
    rows: Statistics | None = table.statistics.get("bleu")
    if rows is not None and len(rows) and not rows[:, 9].any():
        lines.append("BLEU is 0 by definition: no 4-grams, no output has four words")
    if rows is not None and tokenization.unsegmented and tokenization.bleu in ("13a", "none"):
        lines.append(
            f"BLEU with tokenizer {tokenization.bleu} takes a {tokenization.script} sentence, "
            "written without spaces, for one word"
        )
    if "ter" in table.metrics and tokenization.unsegmented and not tokenization.asian:
        lines.append(f"TER counts words, and {tokenization.script} script has no spaces: see chrF")
    return lines
