"""From bytes to lines, strictly: UTF-8, a signature only at byte 0, lines end at LF or CRLF."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from pytest_mtarena.errors import SuiteError


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file; anything else is an error and is never opened."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise SuiteError(path, "is a directory, not a suite file")
        if not stat.S_ISREG(kind):
            raise SuiteError(path, "is not a regular file (a pipe, socket or device)")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise SuiteError(path, "no such file") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SuiteError(path, f"cannot be read: {reason}") from error


def decode(data: bytes, path: Path) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark at the very beginning."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF32_BE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            raise SuiteError(path, f"is {name}: save it as UTF-8")
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        # The whole buffer is decoded, so that an offset in an error is the offset in the file.
        return data.decode("utf-8")[1 if start else 0 :]
    except UnicodeDecodeError as error:
        raise SuiteError(
            path,
            f"not valid UTF-8 at byte {error.start} (0x{data[error.start]:02x})"
            f"{_guess(data)}: save it as UTF-8",
            line=data.count(b"\n", 0, error.start) + 1,
        ) from error


def split_lines(text: str) -> list[str]:
    """Return the lines: LF and CRLF end one, nothing else does, and the last end makes none."""
    lines = text.split("\n")
    last = lines.pop()
    # A carriage return is part of a line's end only before a line feed.
    lines = [line.removesuffix("\r") for line in lines]
    if last:
        lines.append(last)
    return lines


def no_entries(text: str) -> str:
    """Return what to say of a text without any entry."""
    if "\r" in text and "\n" not in text:
        return "0 entries: its lines end with CR alone; save it with LF or CRLF line ends"
    return "0 entries"


def _guess(data: bytes) -> str:
    if data.count(0) > len(data) // 4:
        return "; it looks like UTF-16"
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return "; it looks like Latin-1 or Windows-1252"
