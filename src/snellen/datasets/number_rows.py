"""Reads a JSON list of objects that are all alike and hold nothing but numbers, straight into columns.

A million detections parsed into Python objects cost seconds; what is regular needs no parser. The text without the
signs of numbers must repeat one row exactly; then the numbers are read in one go. Whatever is not like that
(other keys, names, nulls, NaN, another order) is left to the reader that looks at every value: None.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.detections import Float

PIECE = 1 << 23
_NUMBER = b"0123456789.+-eE"
_BLANKS = bytes.maketrans(b"[]{},:\n\r\t", b" " * 9)


@dataclass(frozen=True)
class _Row:
    """One row: its keys with how many numbers each has (0: a number by itself), its text and what separates rows."""

    widths: Mapping[str, int]
    bare: bytes
    between: bytes

    @classmethod
    def of(cls, text: bytes) -> _Row | None:
        """From the start of the list; None where the first two rows are not of this kind."""
        end, start = text.find(b"}") + 1, text.find(b"{")
        following = text.find(b"{", end)
        if start or not end or following < 0:
            return None
        try:
            first = json.loads(text[:end])
        except ValueError:
            return None
        widths = {key: _width(value) for key, value in first.items()}
        if None in widths.values() or len({_bare(key.encode()) for key in widths}) < len(widths):
            return None
        return cls({key: width or 0 for key, width in widths.items()}, _bare(text[:end]), _bare(text[end:following]))

    def numbers(self, text: bytes, rows: int) -> Float | None:
        """The numbers of whole rows, (rows, numbers per row)."""
        if _bare(text) != (self.bare + self.between) * (rows - 1) + self.bare:
            return None
        for key in self.widths:
            text = text.replace(b'"' + key.encode() + b'"', b"")
        wide = sum(max(width, 1) for width in self.widths.values())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = np.fromstring(text.translate(_BLANKS), sep=" ")
            except (ValueError, DeprecationWarning):
                return None
        return found.reshape(rows, wide) if len(found) == rows * wide else None


def number_rows(path: Path, *, piece: int = PIECE) -> dict[str, Float] | None:
    """Column of each key, (n,) or (n, width) for lists; None where the file is anything but such a list."""
    parts: list[Float] = []
    row: _Row | None = None
    for text, rows in _pieces(path, piece):
        row = row or _Row.of(text)
        body = text if row is None or not parts else _after(text, row.between)
        found = None if row is None or body is None else row.numbers(body, rows)
        if found is None:
            return None
        parts.append(found)
    if row is None:
        return None
    whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
    columns, at = {}, 0
    for key, width in row.widths.items():
        columns[key] = whole[:, at : at + width] if width else whole[:, at]
        at += max(width, 1)
    return columns


def _pieces(path: Path, piece: int) -> Iterator[tuple[bytes, int]]:
    """Whole rows of the list at a time with how many they are; an empty piece where the file is no such list."""
    with path.open("rb") as file:
        text = file.read(piece).lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith(b"["):
            yield b"", 0
            return
        text = text[1:].lstrip()
        while more := file.read(piece):
            end = text.rfind(b"}") + 1
            if end:
                yield text[:end], text.count(b"}", 0, end)
            text = text[end:] + more
        end = text.rfind(b"}") + 1
        if text[end:].strip() != b"]":
            yield b"", 0
        elif end:
            yield text[:end], text.count(b"}", 0, end)


def _after(text: bytes, between: bytes) -> bytes | None:
    """The piece without the separator that it starts with."""
    start = text.find(b"{")
    return text[start:] if start >= 0 and _bare(text[:start]) == between else None


def _bare(text: bytes) -> bytes:
    return text.translate(None, _NUMBER)


def _width(value: Any) -> int | None:
    """0 for a number, its length for a list of numbers, None for anything else."""
    if type(value) in {int, float}:
        return 0
    if type(value) is list and value and {*map(type, value)} <= {int, float}:
        return len(value)
    return None
