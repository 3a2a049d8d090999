"""Server-sent events, read from bytes as they come.

The format is the "event stream" of the HTML standard (section 9.2). Chunks of the network may end
anywhere: inside a letter, inside a line end, inside a line of half a megabyte. Two things are read
that the standard does not know: a body that is no event stream at all (JSON although a stream was
asked for, a page of HTML), and a last event that no blank line ends.
"""

from __future__ import annotations

from typing import NamedTuple

DONE = "[DONE]"
"""The data that ends a stream of the OpenAI form."""

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


class Event(NamedTuple):
    """One event: its data lines joined by line feeds, and the name of its type ("" if none)."""

    data: str
    name: str = ""


class EventParser:
    """Turns chunks of bytes into events; the same events however the bytes were cut.

    The work is linear in the number of bytes, whatever the size of chunks and lines.
    """

    def __init__(self) -> None:
        self.plain = False
        """Whether the body is no event stream: ``close`` then returns it as one event."""
        self._begun = False
        self._parts: list[bytes] = []
        self._after_return = False
        self._data: list[str] = []
        self._name = ""

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that this chunk completes.

        Raises:
            UnicodeDecodeError: a line is not UTF-8. Replaced letters would be scored as text.
        """
        if not self._begun:
            self._parts.append(chunk)
            if not self._begin():
                return []
            chunk = b"".join(self._parts)
            self._parts.clear()
        if self.plain:
            self._parts.append(chunk)
            return []
        return self._split(chunk)

    def close(self) -> list[Event]:
        """Return what the end of the body completes: the last event, or the body if ``plain``.

        Raises:
            UnicodeDecodeError: as in ``feed``.
        """
        rest = b"".join(self._parts)
        self._parts.clear()
        if self.plain or not self._begun:
            text = rest.removeprefix(_BOM).decode("utf-8")
            self.plain = self.plain or bool(text.strip())
            return [Event(text)] if text.strip() else []
        if rest:
            self._line(rest)
        event = self._finish()
        return [event] if event is not None else []

    def _begin(self) -> bool:
        """Decide what the body is by its first byte that is not a blank."""
        # Only a body that starts with blanks gets here twice; it is short until a byte decides.
        head = b"".join(self._parts)
        self._parts[:] = [head]
        if len(head) < len(_BOM) and _BOM.startswith(head):
            return False
        head = head.removeprefix(_BOM)
        first = head.lstrip(_SPACE)[:1]
        if not first and len(head) < 4096:
            return False
        self._parts[:] = [head]
        self._begun = True
        # No field of an event stream starts like JSON or HTML.
        self.plain = first in (b"{", b"[", b"<", b'"')
        return True

    def _split(self, chunk: bytes) -> list[Event]:
        events = []
        if self._after_return and chunk:
            # The line ended at the carriage return; its line feed came with this chunk.
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        lines = chunk.splitlines(keepends=True)
        for line in lines:
            ended = line.endswith((b"\n", b"\r"))
            if not ended:
                self._parts.append(line)
                continue
            self._parts.append(line.rstrip(b"\r\n"))
            whole = b"".join(self._parts)
            self._parts.clear()
            if whole:
                self._line(whole)
            elif (event := self._finish()) is not None:
                events.append(event)
        self._after_return = bool(lines) and lines[-1].endswith(b"\r")
        return events

    def _line(self, line: bytes) -> None:
        field, _, value = line.decode("utf-8").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _finish(self) -> Event | None:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        return Event("\n".join(data), name) if data else None
