"""Small text files as people's tools write them: UTF-8 with or without a mark, UTF-16 with one."""

from __future__ import annotations

import codecs
from pathlib import Path

from snellen.core.errors import DataError

DELIMITERS = (",", ";", "\t")
"""What stands between the columns of a table."""

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_text(path: Path) -> str:
    """The text at `path`; DataError where it is neither UTF-8 nor says what it is."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error
    coding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(coding)
    except UnicodeDecodeError as error:
        raise DataError(f"this is no {coding.upper()} text (byte {error.start}): {path}") from error


def delimiter(table: str) -> str:
    """What stands between the columns of a table: the commonest of `DELIMITERS` in its first line."""
    return max(DELIMITERS, key=table.partition("\n")[0].count)
