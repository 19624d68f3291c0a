"""Where a run lies: a local folder, or any place that fsspec reaches (`s3://...`, `memory://...`).

Names are relative to the run, with `/`. A file appears whole or not at all; only local parts are appended to.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from snellen.core.errors import StoreError


class LocalPlace:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        """The bytes of a file; FileNotFoundError where there is none."""
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        """Writes a file whole: beside it first, then renamed."""
        target = self.path / name
        beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise StoreError(f"cannot be written: {error.strerror or error}: {target}") from error

    def remove(self, name: str) -> None:
        """Removes a file; none there is no error."""
        (self.path / name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """The files in a folder of the run, sorted."""
        root = self.path / folder
        if not root.is_dir():
            return []
        return sorted(f"{folder}/{p.name}" for p in root.iterdir() if p.is_file() and not p.name.startswith("."))

    def sweep(self, folder: str) -> None:
        """Removes what writers that were killed left half written; what is younger than an hour may be at work."""
        for path in (self.path / folder).glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 3600:
                    path.unlink()


class RemotePlace:
    """A place that fsspec reaches; every write is one upload."""

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs

        if urlsplit(url).password:
            raise StoreError(
                "a run's URL holds no password: it is printed and stored; fsspec takes it from its settings"
            )
        self.url = url.rstrip("/")
        self._fs: Any
        try:
            self._fs, self._root = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise StoreError(f"this place cannot be reached: {error}: {url}") from error

    def __str__(self) -> str:
        return self.url

    def read(self, name: str) -> bytes:
        """The bytes of a file; FileNotFoundError where there is none."""
        return bytes(self._fs.cat_file(f"{self._root}/{name}"))

    def write(self, name: str, data: bytes) -> None:
        """Writes a file whole, in one upload."""
        try:
            self._fs.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(f"{self._root}/{name}", data)
        except OSError as error:
            raise StoreError(f"cannot be written: {error}: {self.url}/{name}") from error

    def remove(self, name: str) -> None:
        """Removes a file; none there is no error."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(f"{self._root}/{name}")

    def names(self, folder: str) -> list[str]:
        """The files in a folder of the run, sorted."""
        self._fs.invalidate_cache()
        try:
            found = self._fs.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(f"{folder}/{str(path).rstrip('/').rpartition('/')[2]}" for path in found)


Place: TypeAlias = LocalPlace | RemotePlace


def place_of(where: str | Path) -> Place:
    """The place that a path or a URL names."""
    text = str(where)
    if "://" in text and not text.startswith("file://"):
        return RemotePlace(text)
    return LocalPlace(Path(text.removeprefix("file://")))
