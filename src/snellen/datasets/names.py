"""Finds the picture that an annotation file means.

The literal name comes first (a real file is called `100%25 real.png`), then the same name in other Unicode forms,
percent-decoded, with backslashes, without leading folders, and last with other case, which is reported.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from snellen.core.errors import DataError

_SUFFIXES = ".jpg .jpeg .jpe .jfif .png .bmp .tif .tiff .webp .gif .ppm .pgm .jp2 .avif"

SUFFIXES = frozenset(_SUFFIXES.split())
"""File names that end like this are pictures."""


_OF_THE_SYSTEM = frozenset({"lost+found", "System Volume Information", "$RECYCLE.BIN"})
"""Folders that disks have at their top, which only the system may read."""


def walk(root: Path) -> Iterator[str]:
    """Paths of all files under `root`, relative, with forward slashes; hidden and the system's folders are left out.

    DataError for a folder that may not be read.
    """
    pending = [""]
    walked: set[tuple[int, int]] = set()
    while pending:
        folder = pending.pop()
        try:
            place = (root / folder).stat()
            if (place.st_dev, place.st_ino) in walked:
                continue  # a link back
            walked.add((place.st_dev, place.st_ino))
            with os.scandir(root / folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except PermissionError as error:
            raise DataError(f"folder cannot be read: {error.strerror}: {root / folder}") from error
        except OSError:
            continue
        for entry in found:
            if not entry.is_dir():
                yield folder + entry.name
            elif not entry.name.startswith(".") and entry.name not in _OF_THE_SYSTEM:
                pending.append(f"{folder}{entry.name}/")


def is_picture(name: str) -> bool:
    """Whether a file of this name is a picture; hidden files are none (`._a.jpg` is macOS's note about `a.jpg`)."""
    if name.rpartition("/")[2].startswith("."):
        return False
    return os.path.splitext(name)[1].casefold() in SUFFIXES  # noqa: PTH122 - a million names


_SPECIAL = re.compile(r"[%\\/?]")


@dataclass(frozen=True)
class Found:
    """The file of a name, and whether only its case or its whole folder differs."""

    path: Path
    case_differs: bool = False


@dataclass
class Finder:
    """Looks names up under `root`, in each of `folders` (relative, "" for the root itself), in order."""

    root: Path
    folders: Sequence[str] = ("",)
    _files: dict[str, str] | None = field(default=None, repr=False)
    _folded: dict[str, str] | None = field(default=None, repr=False)

    @property
    def files(self) -> dict[str, str]:
        """Every file under the root: its path in Unicode form NFC -> as on disk."""
        if self._files is None:
            self._files = {unicodedata.normalize("NFC", name): name for name in walk(self.root)}
        return self._files

    @property
    def pictures(self) -> list[str]:
        """Every picture under the folders searched, relative to the root."""
        return [name for name in self.files.values() if is_picture(name) and name.startswith(tuple(self.folders))]

    def find(self, name: str) -> Found | None:
        """The file that `name` means, or None."""
        files = self.files
        if not files:
            return None
        for folder in self.folders:  # nearly always the name as it stands
            found = files.get(folder + name)
            if found is not None:
                return Found(self.root / found)
        plain = name.isascii() and not _SPECIAL.search(name)
        wanted = [folder + variant for variant in ([name] if plain else variants(name)) for folder in self.folders]
        for key in wanted:
            if key in files:
                return Found(self.root / files[key])
        if self._folded is None:
            self._folded = {key.casefold(): value for key, value in files.items()}
        for key in wanted:
            if key.casefold() in self._folded:
                return Found(self.root / self._folded[key.casefold()], case_differs=True)
        return None


def variants(name: str) -> Iterator[str]:
    """What a written name may mean, most literal first, in Unicode form NFC."""
    name = unicodedata.normalize("NFC", name)
    yield name
    if not _SPECIAL.search(name):
        return
    decoded = unicodedata.normalize("NFC", unquote(name))
    seen = {name}
    bare = unquote(urlsplit(name).path) if "://" in name else decoded
    for text in (name, decoded, bare):
        for form in (text, text.replace("\\", "/"), re.sub(r"[\\/]+", "/", _queried(text))):
            parts = form.split("/")
            for start in range(len(parts)):
                variant = "/".join(parts[start:])
                if variant and variant not in seen:
                    seen.add(variant)
                    yield variant


def _queried(name: str) -> str:
    """Label Studio's `/data/local-files/?d=folder/file.jpg` names its file after `d=`."""
    _, mark, query = name.partition("?d=")
    return query if mark else name
