"""Small pictures of samples: written beside the page, or as data addresses inside it."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.pictures import Picture, decode
from snellen.core.specs import Json, canonical
from snellen.evals.tasks import open_task
from snellen.runs.selection import walk

WORKERS = 4
BATCH = 64


@dataclass(frozen=True)
class Thumbnail:
    """Where a small picture is found (a path from the page, or a data address), and the upright size of the whole."""

    address: str
    width: int
    height: int


@dataclass(frozen=True)
class Pictures:
    """Small pictures by sample, and why others are missing."""

    found: Mapping[str, Thumbnail]
    missing: Mapping[str, str]
    problem: str = ""


class Cabinet:
    """Small pictures, at most `side` px long, as JPEG; each is made once, however many runs and tasks show it.

    folder: where files are written, `web` being its address from the page; None: pictures are data addresses.
    """

    def __init__(self, folder: Path | None, *, side: int, web: str = "pictures") -> None:
        self.folder = folder
        self.side = side
        self.web = web
        self._made: dict[tuple[str, str], Thumbnail | str] = {}
        self._kept: dict[bytes, Thumbnail] = {}

    def pictures(self, task: Mapping[str, Json], samples: Iterable[str]) -> Pictures:
        """The last picture of each of `samples`.

        A task that cannot be opened (its data moved away) or a picture that cannot be read is said, never raised: the
        report goes on.
        """
        wanted = dict.fromkeys(samples)
        try:
            chosen = _look(task, wanted)
        except (SnellenError, OSError, ImportError) as error:
            return Pictures({}, dict.fromkeys(wanted, "no picture"), f"The pictures are not at hand: {error}")
        self._make(canonical(task), {picture.name: picture for picture in chosen.values()})
        found: dict[str, Thumbnail] = {}
        missing: dict[str, str] = {}
        for sample in wanted:
            made = self._made[canonical(task), chosen[sample].name] if sample in chosen else "no picture"
            if isinstance(made, str):
                missing[sample] = made
            else:
                found[sample] = made
        return Pictures(found, missing)

    def _make(self, task: str, pictures: Mapping[str, Picture]) -> None:
        rest = iter([(name, picture) for name, picture in pictures.items() if (task, name) not in self._made])
        with ThreadPoolExecutor(WORKERS) as pool:
            while batch := list(islice(rest, BATCH)):
                for (name, _), small in zip(batch, pool.map(self._small, batch), strict=True):
                    self._made[task, name] = small if isinstance(small, str | Thumbnail) else self._put(*small)

    def _small(self, named: tuple[str, Picture]) -> tuple[bytes, bytes, int, int] | Thumbnail | str:
        """The digest of the whole picture, the small one, and the whole one's size; or the small one that is there."""
        name, picture = named
        try:
            whole = picture.load()
            digest = hashlib.sha256(whole).digest()
            if digest in self._kept:
                return self._kept[digest]
            image = decode(whole, name=name)
        except (SnellenError, OSError) as error:
            return str(error)
        width, height = image.size
        image.thumbnail((self.side, self.side))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=85)
        return digest, buffer.getvalue(), width, height

    def _put(self, digest: bytes, data: bytes, width: int, height: int) -> Thumbnail:
        if digest not in self._kept:
            self._kept[digest] = Thumbnail(self._address(data), width, height)
        return self._kept[digest]

    def _address(self, data: bytes) -> str:
        if self.folder is None:
            return "data:image/jpeg;base64," + base64.b64encode(data).decode()
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{len(self._kept) + 1:05d}.jpg"
        (self.folder / name).write_bytes(data)
        return f"{self.web}/{name}"


def _look(task: Mapping[str, Json], wanted: Mapping[str, None]) -> dict[str, Picture]:
    """The last picture of each wanted sample; walks the task until all are found."""
    chosen: dict[str, Picture] = {}
    if not wanted:
        return chosen
    for sample in walk(open_task(task), frozenset(wanted)):
        if sample.pictures:
            chosen[sample.id] = sample.pictures[-1]
            if len(chosen) == len(wanted):
                break
    return chosen
