"""What models said, on disk, so that nothing is paid twice.

One file a record, named by the SHA-256 of everything that can change it. Files are written beside
their place and moved there, so that a reader sees a whole file or none and any number of processes
can share a directory. A file that is damaged counts as none.

``Store`` keeps records of any kind. ``CachingChat`` keeps replies: under the whole request, the
facts of the chat behind the cache, and the version of what makes requests and reads replies; only
replies that a model finished by itself, and never the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import Chat, ChatError, ChatReply, ChatRequest
from pytest_mtarena.records import Json, Record

FORMAT = 1
"""Version of the files; another one is a miss."""
STALE_SECONDS = 3600.0
"""A file that is this long in the writing was given up by its process."""
DAY = 86400.0
KEPT = frozenset({"stop", "tool_calls"})
"""How a reply has to end to be kept. One whose end is unknown may be cut."""

_NAME = re.compile(r"[0-9a-f]{64}\.json")
_TEMPORARY = re.compile(r"[0-9a-f]{64}\.\d+\.[0-9a-f]+\.tmp")
_SHARD = re.compile(r"[0-9a-f]{2}")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_LENGTH = 12
"""A shorter value of the environment is no key, and would be found by chance."""


class CacheStats(Record):
    """What is in a directory."""

    entries: int = 0
    bytes: int = 0
    oldest_days: float | None = None
    """Days since the entry that rested longest was last used; None without entries."""


class Pruned(Record):
    """What a pruning removed and left."""

    removed: int = 0
    removed_bytes: int = 0
    entries: int = 0
    bytes: int = 0
    not_removed: int = 0
    """Entries that should have gone, and could not be removed; they are among ``entries``."""
    why: str = ""
    """What the system said of the first of those."""


class Store:
    """Records by key in a directory that many processes may share."""

    def __init__(self, directory: Path) -> None:
        """Raises UsageError when the directory cannot be made."""
        self._directory = directory
        self.counts = dict.fromkeys(("stored", "not_kept", "damaged", "write_errors"), 0)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{directory}: cannot be the directory of the cache: {error.strerror}; "
                "choose another one or go without a cache"
            ) from None

    def path(self, key: str) -> Path:
        """Return the file of a key, SHA-256 hex."""
        return self._directory / key[:2] / f"{key}.json"

    def read(self, key: str) -> Json:
        """Return a record; None when there is none or its file is damaged."""
        path = self.path(key)
        try:
            body = path.read_bytes()
        except OSError:
            return None
        data = _decoded(body, key)
        if data is None:
            self.counts["damaged"] += 1
            return None
        # Pruning goes by when an entry was last of use.
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def keep_all(self, records: Mapping[str, Json]) -> dict[str, str]:
        """Write records; one that is no JSON, or has a secret of the environment, is not kept.

        A failure costs the record and nothing else: returns the keys of those that could not be
        written, with the system's words for it. Takes about 0.2 ms a record, most of it
        without the interpreter's lock: worth a thread when there are many.
        """
        secret = _secrets()
        failed: dict[str, str] = {}
        for key, data in records.items():
            body = _encoded(key, data, secret)
            if body is None:
                self.counts["not_kept"] += 1
                continue
            try:
                _write(self.path(key), body)
            except OSError as error:
                self.counts["write_errors"] += 1
                failed[key] = _reason(error)
            else:
                self.counts["stored"] += 1
        return failed


class CachingChat:
    """A chat that remembers replies.

    A reply from the cache has ``from_cache`` set; its ``usage``, ``seconds`` and ``tries`` are
    those of the call that was once made. Equal requests that are under way at the same time in one
    event loop make one call; all but the first get its reply as from the cache, or its error.
    """

    _flights: ClassVar[
        dict[tuple[asyncio.AbstractEventLoop, Path], asyncio.Future[ChatReply | ChatError | None]]
    ] = {}
    """Calls under way, of all caches of the process. None: the caller was cancelled."""

    def __init__(
        self,
        inner: Chat,
        directory: Path,
        *,
        parser_version: str,
        facts: Mapping[str, Json] | None = None,
    ) -> None:
        """``parser_version``: of what makes requests and reads replies; another one is a miss.

        ``facts``: what else distinguishes calls, such as the number of a repetition: without it
        an equal request has an equal reply. Raises UsageError when the directory cannot be made.
        """
        self._inner = inner
        self._directory = directory
        self._parser_version = parser_version
        self._more = dict(facts or {})
        self._store = Store(directory)
        self._counts = dict.fromkeys(("hits", "misses", "shared"), 0)

    @property
    def facts(self) -> Mapping[str, Json]:
        """Those of the inner chat: a cache changes no reply."""
        return self._inner.facts

    def counts(self) -> dict[str, int]:
        """Return what this cache did.

        ``hits``: from a file; ``shared``: from an equal call under way; ``misses``: calls made;
        ``stored``; ``not_kept``: replies that are not worth keeping; ``damaged``: files that were
        no good; ``write_errors``: replies that could not be written (they are used all the same).
        """
        return {**self._counts, **self._store.counts}

    def stats(self) -> CacheStats:
        """Return what is in the directory."""
        return cache_stats(self._directory)

    def prune(self, max_age_days: float | None = None, max_bytes: int | None = None) -> Pruned:
        """Remove entries; see ``prune_cache``."""
        return prune_cache(self._directory, max_age_days=max_age_days, max_bytes=max_bytes)

    def key(self, request: ChatRequest) -> str:
        """Return the name of a request: SHA-256 hex."""
        named = {
            "format": FORMAT,
            "parser": self._parser_version,
            "chat": dict(self._inner.facts),
            "more": self._more,
            "request": request.model_dump(mode="json"),
        }
        return sha256_of(named)

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Return the reply, from the cache when it is there; raises ChatError."""
        key = self.key(request)
        place = (asyncio.get_running_loop(), self._store.path(key))
        while (flight := self._flights.get(place)) is not None:
            landed = await asyncio.shield(flight)
            if isinstance(landed, ChatReply):
                self._counts["shared"] += 1
                return landed.model_copy(update={"from_cache": True})
            if landed is not None:
                raise ChatError(landed.kind, str(landed), status=landed.status, tries=landed.tries)
        kept = self._read(key)
        if kept is not None:
            self._counts["hits"] += 1
            return kept
        return await self._call(request, key, place)

    def forget(self, request: ChatRequest) -> bool:
        """Remove the reply to a request, one that turned out useless; return whether it was there.

        A reply that ended well and still cannot be read would otherwise be replayed for ever.
        """
        try:
            self._store.path(self.key(request)).unlink()
        except OSError:
            return False
        return True

    async def aclose(self) -> None:
        """Close the inner chat."""
        await self._inner.aclose()

    async def _call(
        self, request: ChatRequest, key: str, place: tuple[asyncio.AbstractEventLoop, Path]
    ) -> ChatReply:
        loop, _ = place
        flight: asyncio.Future[ChatReply | ChatError | None] = loop.create_future()
        self._flights[place] = flight
        landed: ChatReply | ChatError | None = None
        self._counts["misses"] += 1
        try:
            reply = await self._inner.ask(request)
            landed = reply
            why = self._keep(key, reply)
            if why:
                landed = reply = reply.model_copy(update={"not_kept": why})
        except ChatError as error:
            landed = error
            raise
        finally:
            # Only now, with the file in its place, may the next equal request look for it.
            del self._flights[place]
            flight.set_result(landed)
        return reply

    def _read(self, key: str) -> ChatReply | None:
        """Return a kept reply; None when there is none or it is damaged."""
        data = self._store.read(key)
        if data is None:
            return None
        try:
            reply = ChatReply.model_validate(data)
        except ValueError:
            reply = None
        if reply is None or not _worth_keeping(reply):
            self._store.counts["damaged"] += 1
            return None
        return reply.model_copy(update={"from_cache": True})

    def _keep(self, key: str, reply: ChatReply) -> str:
        """Write a reply, if it is one to keep; return why that could not be done."""
        if not _worth_keeping(reply):
            self._store.counts["not_kept"] += 1
            return ""
        data = reply.model_copy(update={"from_cache": False}).model_dump(mode="json")
        return self._store.keep_all({key: data}).get(key, "")


def cache_stats(directory: Path) -> CacheStats:
    """Return what is in a cache; a directory that is missing is an empty one."""
    found = [(size, used) for _, size, used in _entries(directory)]
    if not found:
        return CacheStats()
    oldest = min(used for _, used in found)
    return CacheStats(
        entries=len(found),
        bytes=sum(size for size, _ in found),
        oldest_days=max(0.0, time.time() - oldest) / DAY,
    )


def prune_cache(
    directory: Path, *, max_age_days: float | None = None, max_bytes: int | None = None
) -> Pruned:
    """Remove entries that were not used for so many days, then the longest unused above a size.

    Left-overs of processes that died are removed too; files that are not the cache's stay. Safe
    while others use the cache: what they lose is asked again. What cannot be removed is counted.
    """
    now = time.time()
    _sweep(directory, now)
    found = sorted(_entries(directory), key=lambda entry: entry[2])
    total = sum(size for _, size, _ in found)
    removed = removed_bytes = not_removed = 0
    why = ""
    for path, size, used in found:
        too_old = max_age_days is not None and now - used > max_age_days * DAY
        too_much = max_bytes is not None and total > max_bytes
        if not (too_old or too_much):
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            not_removed += 1
            why = why or _reason(error)
            continue
        total -= size
        removed += 1
        removed_bytes += size
    return Pruned(
        removed=removed,
        removed_bytes=removed_bytes,
        entries=len(found) - removed,
        bytes=total,
        not_removed=not_removed,
        why=why,
    )


def _reason(error: OSError) -> str:
    """Return the system's words for an error, without a path."""
    return error.strerror or type(error).__name__


def _entries(directory: Path) -> Iterator[tuple[Path, int, float]]:
    """Yield path, bytes and time of last use of all entries."""
    for path in _files(directory):
        if _NAME.fullmatch(path.name):
            with contextlib.suppress(OSError):
                facts = path.stat()
                yield path, facts.st_size, facts.st_mtime


def _sweep(directory: Path, now: float) -> None:
    for path in _files(directory):
        if _TEMPORARY.fullmatch(path.name):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()


def _files(directory: Path) -> Iterator[Path]:
    """Yield all files of a cache's own subdirectories, those that can be read."""
    for shard in _within(directory):
        if _SHARD.fullmatch(shard.name):
            yield from _within(shard)


def _within(directory: Path) -> list[Path]:
    """Return what is in a directory, in order; nothing when it cannot be read, or is none."""
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _worth_keeping(reply: ChatReply) -> bool:
    return reply.finish in KEPT and bool(reply.text.strip() or reply.tool_calls)


def _encoded(key: str, data: Json, secret: Sequence[str]) -> bytes | None:
    """Return the bytes of an entry; None when it is no JSON or has a secret in it."""
    try:
        entry = {"format": FORMAT, "key": key, "sha256": sha256_of(data), "reply": data}
    except ValueError:
        return None
    body = json.dumps(entry)
    if any(json.dumps(one)[1:-1] in body for one in secret):
        return None
    return body.encode("ascii")


def _secrets() -> list[str]:
    """Return the values of the environment that look like keys."""
    return [
        value
        for name, value in os.environ.items()
        if len(value) >= _SECRET_LENGTH and _SECRET_NAME.search(name)
    ]


def _decoded(body: bytes, key: str) -> Json:
    """Return the record of an entry; None when the bytes are not exactly those of the key."""
    try:
        entry = json.loads(body)
        if entry["format"] != FORMAT or entry["key"] != key:
            return None
        data: Json = entry["reply"]
        return data if entry["sha256"] == sha256_of(data) else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _write(path: Path, body: bytes) -> None:
    """Put a file in its place in one step."""
    beside = f"{str(path)[: -len(path.suffix)]}.{os.getpid()}.{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        try:
            place = os.open(beside, flags, 0o666)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            place = os.open(beside, flags, 0o666)
        with open(place, "wb", buffering=0) as file:
            file.write(body)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def sha256_of(data: Json) -> str:
    """Return the SHA-256 hex of a JSON value, whatever the order of its keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
