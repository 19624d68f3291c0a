"""Reads a large JSON document in pieces: top-level arrays come as lists of items, a quarter of a MB of text at a time.

A whole COCO file parsed at once costs about 1 kB of objects per annotation; read like this, memory stays at the size
of a piece. Python's own NaN and Infinity, which are no JSON, are read where they occur.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import orjson

from snellen.core.errors import DataError

PIECE = 1 << 18
"""Bytes of text per piece: what is made of it stays near the processor."""

_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*')
_SPACE = b" \t\r\n"
_NEXT = re.compile(rb"\s*,\s*\{")
_CLOSE = re.compile(rb"\}\s*\]")


class JsonStream:
    """Walks the document at `path` (`.gz` too). After the walk, `sha256` is that of the bytes on disk, if `hashed`.

    rows: gets the text of a piece of an array first, itself a JSON array; what it makes of that comes instead of the
    list of items. None: it is left to the walk. It must refuse what is no JSON.
    """

    def __init__(
        self, path: Path, *, piece: int = PIECE, rows: Callable[[bytes], object] | None = None, hashed: bool = True
    ) -> None:
        self.path = path
        self.piece = piece
        self.rows = rows
        self.sha256 = ""
        self._digest = hashlib.sha256() if hashed else None
        self._buffer = b""
        self._at = 0
        self._before = 0  # bytes of the document that have left the buffer
        self._ended = False

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """`(key, value)` of the top-level object in order; an array gives several `(key, list)`, at least one.

        A document that is itself an array has the key "". DataError where the text is no JSON, with the byte.
        """
        try:
            with self._open() as file:
                self._file = file
                yield from self._document()
                self._fill(1 << 40)
        except (OSError, EOFError, zlib.error) as error:  # the last two: a damaged .gz
            raise DataError(f"file cannot be read: {getattr(error, 'strerror', None) or error}: {self.path}") from error
        if self._digest and not self.sha256:
            self.sha256 = self._digest.hexdigest()

    def _open(self) -> IO[bytes]:
        if self.path.suffix != ".gz":
            return self.path.open("rb")
        self.sha256 = hashlib.sha256(self.path.read_bytes()).hexdigest()
        return cast("IO[bytes]", gzip.open(self.path, "rb"))

    def _document(self) -> Iterator[tuple[str, Any]]:
        self._fill(self.piece)
        if self._buffer.startswith(b"\xef\xbb\xbf"):
            self._at = 3
        opening = self._skip()
        self._at += 1
        if opening == b"[":
            yield from (("", items) for items in self._array())
        elif opening == b"{":
            yield from self._members()
        else:
            self._at -= 1
            raise self._wrong("a JSON object or array is expected")
        if self._skip():
            raise self._wrong("text after the end of the document")

    def _members(self) -> Iterator[tuple[str, Any]]:
        met: set[str] = set()
        while (sign := self._skip(commas=True)) != b"}":
            if not sign:
                raise self._wrong("the file ends inside the document: it is cut short")
            key = self._key()
            if key in met:
                raise self._wrong(f"the key {key!r} stands twice")
            met.add(key)
            if self._skip() == b"[":
                self._at += 1
                for items in self._array():
                    yield key, items
            else:
                end = self._scan(array=False)
                yield key, self._parse(self._buffer[self._at : end])
                self._at = end
        self._at += 1

    def _key(self) -> str:
        self._fill(1 << 12)
        found = _KEY.match(self._buffer, self._at)
        if not found:
            raise self._wrong('a name in quotes and ":" are expected')
        self._at = found.end()
        return str(self._parse(b'"' + found.group(1) + b'"'))

    def _array(self) -> Iterator[Any]:
        empty = True
        while (sign := self._skip(commas=True)) != b"]":
            if not sign:
                raise self._wrong("the file ends inside a list: it is cut short")
            self._fill(self.piece)
            items, self._at = self._items()
            empty = False
            yield items
        self._at += 1
        if empty:
            yield []

    def _items(self) -> tuple[Any, int]:
        """Whole items from here on and where they end: first by guesses that parsing confirms, else by counting."""
        for guess in self._guesses():
            text = b"".join((b"[", memoryview(self._buffer)[self._at : guess + 1], b"]"))
            found = self.rows(text) if self.rows else None
            if found is not None:
                return found, guess + 1
            try:
                return orjson.loads(text), guess + 1
            except orjson.JSONDecodeError:
                pass
        end = self._scan(array=True)
        return self._parse(b"[" + self._buffer[self._at : end] + b"]"), end

    def _guesses(self) -> Iterator[int]:
        """Where the last item in reach may end: before another one, or, where the list closes earlier, there."""
        last = self._buffer.rfind(b"}", self._at, self._at + self.piece)
        if last > 0 and _NEXT.match(self._buffer, last + 1):
            yield last
        close = _CLOSE.search(self._buffer, self._at, self._at + self.piece)
        if close:
            yield close.start()

    def _scan(self, *, array: bool) -> int:
        """Where the value that starts here ends; of an array, where its last whole item in reach ends."""
        reach = self.piece
        while True:
            self._fill(reach)
            text = self._buffer[self._at : self._at + reach]
            end = _end_of(text, array=array)
            if end is not None:
                return self._at + end
            if self._ended and self._at + reach >= len(self._buffer):
                raise self._wrong("the file ends inside a value: it is cut short", at=len(self._buffer))
            reach *= 2

    def _parse(self, text: bytes) -> Any:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"this is no JSON ({error})") from error

    def _skip(self, *, commas: bool = False) -> bytes:
        """The next sign that is no space (nor comma), which stays; b"" at the end."""
        skipped = _SPACE + (b"," if commas else b"")
        while True:
            while self._at < len(self._buffer):
                sign = self._buffer[self._at : self._at + 1]
                if sign not in skipped:
                    return sign
                self._at += 1
            if self._ended:
                return b""
            self._fill(self.piece)

    def _fill(self, ahead: int) -> None:
        """At least `ahead` bytes from here on in the buffer, where the file has so many."""
        missing = ahead - (len(self._buffer) - self._at)
        if missing <= 0 or self._ended:
            return
        parts = [self._buffer[self._at :]]
        self._before += self._at
        self._at = 0
        while missing > 0:
            part = self._file.read(min(max(missing, self.piece), 1 << 24))
            if not part:
                self._ended = True
                break
            if self._digest:
                self._digest.update(part)
            parts.append(part)
            missing -= len(part)
        self._buffer = b"".join(parts)

    def _wrong(self, what: str, *, at: int | None = None) -> DataError:
        return DataError(f"{what}, at byte {self._before + (self._at if at is None else at):,}: {self.path}")


def _end_of(text: bytes, *, array: bool) -> int | None:
    """Where a value ends in `text`, by counting brackets outside strings; None where it does not.

    `array`: the end of the last whole item; else the end of the one value, at the first `,` or bracket outside.
    """
    if b"\\" in text:
        text = re.sub(rb"\\.", b"__", text, flags=re.DOTALL)
    signs = np.frombuffer(text, dtype=np.uint8)
    outside = np.cumsum(signs == ord('"')) % 2 == 0
    opens = ((signs == ord("{")) | (signs == ord("["))) & outside
    closes = ((signs == ord("}")) | (signs == ord("]"))) & outside
    depth = np.cumsum(opens.astype(np.int32) - closes)
    closed = np.flatnonzero(depth < 0)
    stop = int(closed[0]) if len(closed) else None
    commas = np.flatnonzero((signs == ord(",")) & outside & (depth == 0))
    if stop is not None:
        commas = commas[commas < stop]
    if not array:
        return int(commas[0]) if len(commas) else stop
    if stop is not None:
        return stop
    return int(commas[-1]) if len(commas) else None
