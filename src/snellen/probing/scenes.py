"""Probe scenes: a few plain coloured shapes of known boxes on pictures of several aspect ratios."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import product

import numpy as np
from PIL import Image, ImageDraw

from snellen.core.detections import Detections
from snellen.core.pictures import Picture, Size, encode_png
from snellen.core.stages import Sample
from snellen.stimuli.worlds import COLOURS

SIZES = (Size(640, 640), Size(960, 480), Size(480, 960), Size(800, 600), Size(600, 800), Size(1120, 630))
SHAPES = ("square", "circle", "triangle")
CLASSES = tuple(f"{colour} {shape}" for colour, shape in product(COLOURS, SHAPES))
SIDES = (0.12, 0.32)
"""A shape's longer side, as a share of the picture's shorter side."""


def probe_scenes(count: int = 36, *, seed: int = 0) -> tuple[Sample[Detections], ...]:
    """`count` scenes with two to four different shapes that do not overlap; the same for every model."""
    rng = np.random.default_rng(seed)
    return tuple(_scene(i, SIZES[i % len(SIZES)], rng) for i in range(count))


def _scene(number: int, size: Size, rng: np.random.Generator) -> Sample[Detections]:
    labels = [str(name) for name in rng.choice(CLASSES, size=int(rng.integers(2, 5)), replace=False)]
    boxes: list[tuple[float, float, float, float]] = []
    while len(boxes) < len(labels):
        w, h = (rng.uniform(*SIDES, 2) * min(size)).round()
        if not labels[len(boxes)].endswith("square"):
            h = w  # circles and triangles keep their shape
        x, y = rng.integers(0, size.width - int(w)), rng.integers(0, size.height - int(h))
        box = (float(x), float(y), float(x + w), float(y + h))
        if all(_apart(box, other) for other in boxes):
            boxes.append(box)
    truth = Detections(np.array(boxes), tuple(labels))
    name = f"probe/{number}"
    drawing = tuple(zip(labels, boxes, strict=True))
    picture = Picture(f"{name}.png", partial(_drawn, size, drawing), size)
    return Sample(name, truth, (picture,), cluster=name)


def _apart(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[2] + 8 <= b[0] or b[2] + 8 <= a[0] or a[3] + 8 <= b[1] or b[3] + 8 <= a[1]


@lru_cache(maxsize=64)
def _drawn(size: Size, drawing: tuple[tuple[str, tuple[float, float, float, float]], ...]) -> bytes:
    image = Image.new("RGB", size, (0, 0, 0))
    draw = ImageDraw.Draw(image)
    for label, (x1, y1, x2, y2) in drawing:
        colour, shape = label.split()
        corners = [(x1, y1), (x2 - 1, y2 - 1)]
        if shape == "square":
            draw.rectangle(corners, fill=COLOURS[colour])
        elif shape == "circle":
            draw.ellipse(corners, fill=COLOURS[colour])
        else:
            draw.polygon([((x1 + x2 - 1) / 2, y1), (x2 - 1, y2 - 1), (x1, y2 - 1)], fill=COLOURS[colour])
    return encode_png(image)
