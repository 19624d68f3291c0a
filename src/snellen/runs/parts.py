"""Parts: the immutable files that hold a run's replies, and the writer that makes them.

On a local disk a reply is appended to `replies/NAME.jsonl` the moment it comes; every N replies, bytes or seconds the
part is closed: compressed beside, renamed to `NAME.jsonl.gz`, and the open one removed. A process killed at any
moment leaves at most a last line without its end, which readers leave out. Elsewhere a part is one upload.
"""

from __future__ import annotations

import gzip
import os
import secrets
import time
from collections.abc import Iterator
from threading import Lock
from typing import NamedTuple

from snellen.core.errors import StoreError
from snellen.core.stages import Failed, Key, Reply
from snellen.models import records
from snellen.runs.places import LocalPlace, Place

FOLDER = "replies"
OPEN, CLOSED = ".jsonl", ".jsonl.gz"
SYNC_SECONDS = 5.0


class Limits(NamedTuple):
    """When a part is closed: after so many replies, bytes (uncompressed) or seconds."""

    replies: int = 1000
    size: int = 16 * 2**20
    seconds: float = 300.0


REMOTE = Limits(seconds=30.0)
"""Where nothing can be appended to, replies wait in memory: not for long."""


class PartWriter:
    """Appends replies to parts of its own; several writers may write to one run at once.

    Safe to use from several threads. `tick()` closes a part that has grown old; `close()` closes the last one.
    """

    def __init__(self, place: Place, limits: Limits | None = None) -> None:
        self._place = place
        self._limits = limits or (Limits() if isinstance(place, LocalPlace) else REMOTE)
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        self.name = f"{stamp}{int(now % 1 * 1e6):06d}-{secrets.token_hex(4)}"
        self._lock = Lock()
        self._number = 0
        self._file: int | None = None
        self._lines: list[bytes] = []
        self._count = self._size = 0
        self._born = self._synced = 0.0
        self._broken = False

    def append(self, key: Key, answer: Reply | Failed) -> None:
        """Stores one answer. On return it outlives this process (on a local disk)."""
        line = records.write(key, answer)
        with self._lock:
            if self._broken:
                raise StoreError(f"an earlier reply could not be written: {self._place}")
            if not self._count:
                self._born = self._synced = time.monotonic()
            self._store(line)
            self._count += 1
            self._size += len(line)
            if self._count >= self._limits.replies or self._size >= self._limits.size:
                self._roll()

    def tick(self) -> None:
        """Brings a local part to the disk, and closes one that is older than the limit."""
        with self._lock:
            if not self._count or self._broken:
                return
            now = time.monotonic()
            if now - self._born >= self._limits.seconds:
                self._roll()
            elif self._file is not None and now - self._synced >= SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = now

    def close(self) -> None:
        """Closes the part being written."""
        with self._lock:
            if self._count and not self._broken:
                self._roll()

    def _name(self) -> str:
        return f"{FOLDER}/{self.name}-{self._number:05d}"

    def _store(self, line: bytes) -> None:
        if not isinstance(self._place, LocalPlace):
            self._lines.append(line)
            return
        try:
            if self._file is None:
                path = self._place.path / (self._name() + OPEN)
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            written = os.write(self._file, line)
        except OSError as error:
            self._broken = True
            raise StoreError(f"a reply cannot be written: {error.strerror or error}: {self._place}") from error
        if written < len(line):
            self._broken = True
            raise StoreError(f"a reply was written in part only (is the disk full?): {self._place}")

    def _roll(self) -> None:
        if isinstance(self._place, LocalPlace) and self._file is not None:
            os.close(self._file)
            self._file = None
            close_part(self._place, self._name() + OPEN)
        else:
            self._place.write(self._name() + CLOSED, gzip.compress(b"".join(self._lines), 6, mtime=0))
            self._lines = []
        self._number += 1
        self._count = self._size = 0


def close_part(place: Place, name: str) -> None:
    """Closes an open part, also one that a killed writer left: whole lines are kept, nothing else changes."""
    kept = b"".join(_whole(place.read(name)))
    if kept:
        place.write(name.removesuffix(OPEN) + CLOSED, gzip.compress(kept, 6, mtime=0))
    place.remove(name)


def part_names(place: Place) -> list[str]:
    """All parts, closed or open, in the order in which their replies count."""
    found = [name for name in place.names(FOLDER) if name.endswith((OPEN, CLOSED))]
    closed = {name.removesuffix(CLOSED) for name in found if name.endswith(CLOSED)}
    return [name for name in found if name.endswith(CLOSED) or name.removesuffix(OPEN) not in closed]


def part_lines(place: Place, name: str) -> Iterator[bytes]:
    """The whole lines of a part. An open part that is closed meanwhile is read where it went."""
    try:
        data = place.read(name)
    except FileNotFoundError:
        if not name.endswith(OPEN):
            raise
        name = name.removesuffix(OPEN) + CLOSED
        data = place.read(name)
    if not name.endswith(CLOSED):
        return _whole(data)
    try:
        return iter(gzip.decompress(data).splitlines(keepends=True))
    except (OSError, EOFError) as error:
        raise StoreError(f"a part of the replies is damaged ({error}): {place}/{name}") from error


def _whole(data: bytes) -> Iterator[bytes]:
    return (line for line in data.splitlines(keepends=True) if line.endswith(b"\n"))
