"""Detection scenes: several objects, boxes known to the pixel, for detectors and for models that write boxes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from snellen.core.detections import Detections, Float
from snellen.core.errors import DataError, SpecError
from snellen.core.stages import Sample
from snellen.stimuli.exams import picture
from snellen.stimuli.images import inlay
from snellen.stimuli.render import render
from snellen.stimuli.shapes import mask
from snellen.stimuli.worlds import COLOURS, SHAPES, Object, World, scale_of

NAMES = ("shape", "colour shape")


@dataclass(frozen=True, eq=False)
class Scenes:
    """Worlds whose objects are to be found. label: what a class is, the `shape` alone or the `colour shape`."""

    worlds: Sequence[World]
    classes: tuple[str, ...]
    label: Literal["shape", "colour shape"] = "shape"
    facts: Mapping[str, int | str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.worlds)

    def __iter__(self) -> Iterator[Sample[Detections]]:
        for i, world in enumerate(self.worlds):
            known = {"objects": len(world.objects), "side": world.side}
            yield Sample(str(i), self.truth(world), (picture("detection", i, world),), known, str(i))

    def truth(self, world: World) -> Detections:
        """The objects of a world as boxes, px."""
        if not world.objects:
            return Detections.empty()
        boxes = np.stack([box_of(thing, world) for thing in world.objects])
        return Detections(boxes, tuple(self.name_of(thing) for thing in world.objects))

    def name_of(self, thing: Object) -> str:
        """The class of an object."""
        return thing.shape if self.label == "shape" else f"{thing.colour} {thing.shape}"

    def write(self, folder: Path) -> int:
        """Writes pictures and `_annotations.coco.json`, as Roboflow exports them; the number of pictures."""
        if folder.exists() and any(folder.iterdir()):
            raise DataError(f"the folder must be new or empty: {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for i, world in enumerate(self.worlds):
            (folder / f"{i}.png").write_bytes(render(world))
            images.append({"id": i, "file_name": f"{i}.png", "width": world.side, "height": world.side})
            for box, label in zip(*_parts(self.truth(world)), strict=True):
                x, y, width, height = box[0], box[1], box[2] - box[0], box[3] - box[1]
                annotations.append(
                    {"id": len(annotations) + 1, "image_id": i, "category_id": self.classes.index(label) + 1,
                     "bbox": [x, y, width, height], "area": width * height, "iscrowd": 0}
                )  # fmt: skip
        categories = [{"id": k + 1, "name": name} for k, name in enumerate(self.classes)]
        document = {"images": images, "annotations": annotations, "categories": categories}
        (folder / "_annotations.coco.json").write_text(json.dumps(document), encoding="utf-8")
        return len(images)


def detection(
    *,
    scenes: int = 200,
    objects: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8),
    shapes: Sequence[str] = SHAPES,
    colours: Sequence[str] = tuple(COLOURS),
    sheens: Sequence[str] = ("none",),
    sizes: Sequence[str | float] = ("regular", "small"),
    label: Literal["shape", "colour shape"] = "shape",
    grid: int = 9,
    side: int = 672,
    antialias: bool = False,
    seed: int = 0,
) -> Scenes:
    """`scenes` scenes; the numbers of `objects` take turns, all else is drawn uniformly, cells without repetition."""
    if label not in NAMES:
        raise SpecError(f"a class is named by shape or by `colour shape`, got {label!r}")
    if scenes < 1 or not objects or min(objects) < 0 or max(objects) > grid * grid:
        raise SpecError(f"at least one scene and 0 to {grid * grid} objects in each are needed, got {list(objects)}")
    rng = random.Random(f"detection {seed}")
    scales = [scale_of(size) for size in sizes]
    cells = list(product(range(grid), range(grid)))
    worlds = []
    for i in range(scenes):
        things = tuple(
            Object(rng.choice(shapes), rng.choice(colours), *cell, rng.choice(sheens), rng.choice(scales))
            for cell in rng.sample(cells, objects[i % len(objects)])
        )
        worlds.append(World(things, side=side, grid=grid, antialias=antialias))
    classes = tuple(shapes) if label == "shape" else tuple(f"{c} {s}" for c, s in product(colours, shapes))
    return Scenes(worlds, classes, label)


def box_of(thing: Object, world: World) -> Float:
    """The tight box of an object, `x1 y1 x2 y2` px: pixels that it covers at all."""
    grid = world.board
    x1, y1, x2, y2 = _inner(thing.shape, grid.cell, thing.scale, world.antialias, thing.image)
    left, top = grid.pad + thing.col * grid.cell, grid.pad + thing.row * grid.cell
    return np.array([left + x1, top + y1, left + x2, top + y2], dtype=np.float64)


@lru_cache(maxsize=1024)
def _inner(shape: str, cell: int, scale: float, soft: bool, image: str) -> tuple[int, int, int, int]:
    cover = inlay(image, cell, scale)[0] if image else mask(shape, cell, scale, samples=4 if soft else 1)
    rows, cols = np.flatnonzero(cover.any(axis=1)), np.flatnonzero(cover.any(axis=0))
    return int(cols[0]), int(rows[0]), int(cols[-1]) + 1, int(rows[-1]) + 1


def _parts(truth: Detections) -> tuple[Any, tuple[str, ...]]:
    return truth.boxes.tolist(), truth.labels
