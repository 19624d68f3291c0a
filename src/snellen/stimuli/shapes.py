"""Shapes as masks: which pixels of a cell an object covers. Geometry after the CIVET release (PROTOCOLS section 1)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import unknown

FILL = 0.86
"""Side of an object over the side of its box."""

Mask = NDArray[np.float64]
_INNER = 0.38  # inner over outer radius of the star
_ACROSS = 2 * math.sin(2 * math.pi / 5)  # width of a five-point star over its outer radius: 1.902


def box_of(cell: int, scale: float) -> tuple[int, int]:
    """Side of the object's box and its offset in the cell, px, both rounded half to even."""
    return round(cell * scale), round(cell * (1 - scale) / 2)


@lru_cache(maxsize=512)
def mask(shape: str, cell: int, scale: float, *, samples: int = 1) -> Mask:
    """How much of each pixel of a cell the shape covers: float64 (cell, cell), read-only.

    `samples` points a pixel and side: 1 samples pixel centres and gives 0 or 1, more give soft edges.
    """
    box, offset = box_of(cell, scale)
    x = offset + box / 2
    side = FILL * box
    points = (np.arange(cell * samples) + 0.5) / samples
    inside = _inside(shape, points[None, :] - x, points[:, None] - x, side, 0.5 if scale == 1 else 0.0)
    cover = inside.reshape(cell, samples, cell, samples).mean(axis=(1, 3))
    cover.flags.writeable = False
    return np.asarray(cover)


def _inside(shape: str, x: Mask, y: Mask, side: float, lift: float) -> NDArray[np.bool_]:
    """Which points, relative to the middle of the box, lie in the shape. `lift`: the release's regular triangle
    stands half a pixel high.
    """
    half = side / 2
    if shape == "square":
        return np.asarray((np.abs(x) <= half) & (np.abs(y) <= half))
    if shape == "circle":
        return np.asarray(x * x + y * y <= half * half)
    if shape == "triangle":
        height = side * math.sqrt(3) / 2
        return _polygon([(0, -height / 2 - lift), (half, height / 2 - lift), (-half, height / 2 - lift)], x, y)
    if shape == "star":
        radius = side / _ACROSS
        middle = radius * (1 - math.cos(math.pi / 5)) / 2  # the star's bounding box is centred, not its hub
        spokes = [(radius if k % 2 == 0 else _INNER * radius, k * math.pi / 5) for k in range(10)]
        return _polygon([(r * math.sin(a), middle - r * math.cos(a)) for r, a in spokes], x, y)
    raise unknown("shape", shape, ("square", "circle", "triangle", "star"))


def _polygon(corners: list[tuple[float, float]], x: Mask, y: Mask) -> NDArray[np.bool_]:
    """Even-odd rule."""
    inside = np.zeros(np.broadcast_shapes(x.shape, y.shape), dtype=np.bool_)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        if y0 != y1:
            inside ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return inside
