"""The journal: one line per finished row, written at once, so that a crash loses nothing.

The first line is a header; each further line is the JSON object that the item shipped. A line is
one ``write`` to a file opened for appending, so a killed process leaves at most a torn last line,
which reading ignores and appending cuts off. Nothing here waits for the disk: the journal
survives the process, not the power.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_mtarena.errors import ResumeError

FORMAT = 2


class Journal:
    """An open journal. ``fault`` is the first error of writing, such as a full disk."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.fault: OSError | None = None
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size

    @classmethod
    def create(cls, path: Path, header: Mapping[str, Any]) -> Journal:
        """Create a journal; raises OSError when that is impossible."""
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
        journal = cls(path, os.open(path, flags, 0o644))
        journal.append(json.dumps({"journal": FORMAT, **header}))
        return journal

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Open a journal to go on with it; a torn last line is cut off."""
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        os.ftruncate(descriptor, _whole(path))
        return cls(path, descriptor)

    def append(self, line: str) -> int | None:
        """Write one line at once; return where it stands, None if it was not written.

        After a failure nothing more is tried.
        """
        if self.fault is not None:
            return None
        start, data = self._end, line.encode() + b"\n"
        try:
            while data:
                written = os.write(self._descriptor, data)
                data, self._end = data[written:], self._end + written
        except OSError as error:
            self.fault = error
            return None
        return start

    def read(self, offset: int, length: int) -> str:
        """Return a line again."""
        return os.pread(self._descriptor, length, offset).decode()

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_header(path: Path) -> dict[str, Any]:
    """Return a journal's header; raises ResumeError when the file is no journal."""
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise ResumeError(f"--mt-resume {path}: {error.strerror or error}") from error
    try:
        header = json.loads(first)
    except ValueError:
        header = None
    if (
        not isinstance(header, dict)
        or header.get("journal") != FORMAT
        or not isinstance(header.get("setups"), dict)
    ):
        raise ResumeError(f"--mt-resume {path}: is no journal of this version")
    return header


def read_rows(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each whole line after the header: where it stands, as text, and parsed.

    A torn last line is ignored.
    """
    with path.open("rb") as file:
        offset = len(file.readline())
        for number, raw in enumerate(file, start=2):
            if not raw.endswith(b"\n"):
                return
            try:
                yield offset, raw[:-1].decode(), json.loads(raw)
            except ValueError as error:
                raise ResumeError(
                    f"--mt-resume {path}:{number}: a damaged line inside the journal; "
                    "delete that line to run its entry again"
                ) from error
            offset += len(raw)


def _whole(path: Path) -> int:
    """Return the length of the file up to its last line feed, reading blocks from the end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            at = file.read(end - start).rfind(b"\n")
            if at >= 0:
                return start + at + 1
            end = start
    return 0
