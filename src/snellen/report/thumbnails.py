"""Small pictures of samples: written beside the page, or as data addresses inside it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.pictures import Picture
from snellen.core.specs import Json
from snellen.evals.tasks import open_task

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


def pictures_of(
    task: Mapping[str, Json], samples: Iterable[str], *, side: int, folder: Path | None, web: str = ""
) -> Pictures:
    """The last picture of each of `samples`, at most `side` px long, as JPEG.

    folder: where files are written, `web` being its address from the page; None: data addresses. A task that cannot be
    opened (its data moved away) or a picture that cannot be read is said, never raised: the report goes on.
    """
    wanted = dict.fromkeys(samples)
    try:
        chosen = _look(task, wanted)
    except (SnellenError, OSError, ImportError) as error:
        return Pictures({}, dict.fromkeys(wanted, "no picture"), f"The pictures are not at hand: {error}")
    found: dict[str, Thumbnail] = {}
    missing = {sample: "no picture" for sample in wanted if sample not in chosen}
    if folder is not None and chosen:
        folder.mkdir(parents=True, exist_ok=True)
    rest = iter(enumerate(chosen.items(), 1))
    with ThreadPoolExecutor(WORKERS) as pool:
        while batch := list(islice(rest, BATCH)):
            drawn = pool.map(lambda item: _small(item[1][1], side), batch)
            for (number, (sample, _)), made in zip(batch, drawn, strict=True):
                if isinstance(made, str):
                    missing[sample] = made
                else:
                    data, width, height = made
                    found[sample] = Thumbnail(_put(data, folder, web, number), width, height)
    return Pictures(found, missing)


def _look(task: Mapping[str, Json], wanted: Mapping[str, None]) -> dict[str, Picture]:
    """The last picture of each wanted sample; walks the task until all are found."""
    chosen: dict[str, Picture] = {}
    if not wanted:
        return chosen
    for sample in open_task(task).samples:
        if sample.id in wanted and sample.pictures:
            chosen[sample.id] = sample.pictures[-1]
            if len(chosen) == len(wanted):
                break
    return chosen


def _small(picture: Picture, side: int) -> tuple[bytes, int, int] | str:
    try:
        image = picture.image()
    except (SnellenError, OSError) as error:
        return str(error)
    width, height = image.size
    image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=85)
    return buffer.getvalue(), width, height


def _put(data: bytes, folder: Path | None, web: str, number: int) -> str:
    if folder is None:
        return "data:image/jpeg;base64," + base64.b64encode(data).decode()
    name = f"{number:05d}.jpg"
    (folder / name).write_bytes(data)
    return f"{web}/{name}"
