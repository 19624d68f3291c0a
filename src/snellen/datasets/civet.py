"""CIVET folders as pictures with boxes: every object of `repr.json`, its tight box by the paper's geometry.

An object's label is its shape (or category). Geometry: PROTOCOLS section 1, World.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError
from snellen.core.pictures import measure_file
from snellen.datasets.findings import several
from snellen.datasets.part import Part, class_file_of
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text

FILL = 0.86
"""Side of an object over that of its box in the cell."""

SIZES: Mapping[str, float] = {"large": 1.0, "regular": 1.0, "small": 0.5}

_STAR = (1 + math.cos(math.pi / 5)) / (2 * math.sin(2 * math.pi / 5))
"""Height over width of the regular five-point star."""

HEIGHTS: Mapping[str, float] = {"triangle": math.sqrt(3) / 2, "star": _STAR}
"""Height over width of the shapes that are not as high as wide."""


def sees(path: Path) -> bool:
    """Whether `path` is such a folder."""
    return path.is_dir() and (path / "repr.json").is_file()


def parts(path: Path, images: Path | None) -> list[Part]:
    """One part."""
    return [Part("", images or path, partial(_read, path, images), path.name, class_file_of(path))]


def _read(path: Path, images: Path | None, *, extras: bool = False) -> Raw:
    text = read_text(path / "repr.json")
    try:
        worlds = json.loads(text)
    except ValueError as error:
        raise DataError(f"this is no JSON ({error}): {path / 'repr.json'}") from error
    if not isinstance(worlds, dict):
        raise DataError(f"repr.json holds worlds by name, got a {type(worlds).__name__}: {path}")
    names = [f"images/{name}.png" for name in worlds]
    files = [(images or path) / (name.removeprefix("images/") if images else name) for name in names]
    unreadable: list[str] = []
    sizes = [_measured(file, unreadable) for file in files]
    rows = []
    for i, (name, world) in enumerate(worlds.items()):
        try:
            grid = int(world["size"][0]) if world["ents"] else 1
            rows += [(i, key, e, _box(e, grid, sizes[i][0])) for key, e in world["ents"].items() if key != "w"]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            what = "a world has size, [cells, cells], and ents with shape and position, [row, column]"
            raise DataError(f"{what}; world {name!r} has not ({error!r}): {path / 'repr.json'}") from error
    labels = [str(entity.get("shape") or entity.get("category") or "") for _, _, entity, _ in rows]
    if "" in labels:
        i, key, *_ = rows[labels.index("")]
        raise DataError(f"object {key!r} of {names[i]} has neither shape nor category: {path / 'repr.json'}")
    classes = tuple(sorted(set(labels)))
    looks = ("color", "sheen", "size", "area", "position")
    return Raw(
        "civet",
        path / "repr.json",
        hashlib.sha256(text.encode()).hexdigest(),
        (),
        names,
        classes,
        np.array([i for i, _, _, _ in rows], dtype=np.int64),
        np.array([classes.index(label) for label in labels], dtype=np.int64),
        np.array([box for _, _, _, box in rows], dtype=np.float64).reshape(-1, 4),
        paths=[file if file.is_file() else None for file in files],
        sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2),
        notes=tuple({"id": key, **{k: entity[k] for k in looks if k in entity}} for _, key, entity, _ in rows),
        findings=tuple(several([("unreadable-picture", "error", unreadable, "pictures cannot be read")], str(path))),
        malformed={
            row: "its picture is not there, or cannot be read"
            for row, item in enumerate(rows)
            if math.isnan(item[3][0])
        },
    )


def _measured(file: Path, unreadable: list[str]) -> tuple[int, int]:
    """The size of a picture; (0, 0) where it is not there, or cannot be read, which is noted."""
    try:
        return measure_file(file) if file.is_file() else (0, 0)
    except DataError as error:
        unreadable.append(str(error))
        return 0, 0


def _box(entity: Mapping[str, Any], grid: int, side: int) -> tuple[float, float, float, float]:
    """The tight box of an object on a picture of `side` px; NaN where that is not known."""
    if side <= 0:
        return (math.nan,) * 4
    size = entity.get("size", "large")
    scale = SIZES[size] if size in SIZES else float(size)
    cell = side // grid
    pad = round((side - grid * cell) / 2)
    box, offset = round(cell * scale), round(cell * (1 - scale) / 2)
    row, col = entity["position"]
    shape = str(entity.get("shape", ""))
    x = pad + cell * int(col) + offset + box / 2
    y = pad + cell * int(row) + offset + box / 2 - (0.5 if shape == "triangle" and scale == 1 else 0.0)
    half, high = FILL * box / 2, FILL * box * HEIGHTS.get(shape, 1.0) / 2
    return x - half, y - high, x + half, y + high
