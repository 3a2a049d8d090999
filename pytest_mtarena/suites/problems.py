"""Collecting what is wrong with a suite, so that one look at the message mends the whole file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_mtarena.errors import SuiteError

SHOWN = 20
"""How many problems of one file are printed."""


class Problems:
    """The problems of one file, told together."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: list[tuple[int, int | None, str]] = []
        self._count = 0

    def add(self, text: str, *, line: int | None = None, entry: int | None = None) -> None:
        """Note a problem; ``line`` and ``entry`` count from 1, a line says more than an entry."""
        self._count += 1
        # One problem on each of a million lines needs no million messages.
        if len(self._found) < 1000:
            words = text if line is not None or entry is None else f"entry {entry}: {text}"
            self._found.append((line or entry or 0, line, words))

    def check(self) -> None:
        """Raise when anything was found."""
        if not self._found:
            return
        found = sorted(self._found, key=lambda one: one[0])
        _, line, first = found[0]
        more = [
            text if line is None else f"line {line}: {text}" for _, line, text in found[1:SHOWN]
        ]
        hidden = self._count - 1 - len(more)
        if hidden > 0:
            more.append(f"and {hidden} more")
        raise SuiteError(self.path, first, line=line, more=more)


def shown(text: str) -> str:
    """Return an id or a name as it may stand in a message: one printable line."""
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return short if short.isprintable() and short == short.strip() else ascii(short)


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Return names joined by commas, the rest as a number."""
    every = list(names)
    head = ", ".join(shown(name) for name in every[:limit])
    return head if len(every) <= limit else f"{head} and {len(every) - limit} more"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 entry`` or ``3 entries``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
