"""Ideal figures, and which of them a patch of coverage is: the least squared error at the same area and centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]


def _star() -> list[tuple[float, float]]:
    inner = math.cos(2 * math.pi / 5) / math.cos(math.pi / 5)  # of the regular pentagram: .382
    spokes = [(1.0 if k % 2 == 0 else inner, k * math.pi / 5) for k in range(10)]
    return [(r * math.sin(a), -r * math.cos(a)) for r, a in spokes]


_POLYGONS = {
    "square": [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)],
    "triangle": [(0.0, -1 / math.sqrt(3)), (0.5, 0.5 / math.sqrt(3)), (-0.5, 0.5 / math.sqrt(3))],
    "star": _star(),
}
"""Corners of each figure about its centre of mass, x right, y down."""


def fit(cover: Float, shapes: Sequence[str]) -> tuple[dict[str, float], Box]:
    """The error of each shape on a patch, and the box of the best one.

    cover: float64 (h, w), how much of each pixel the thing covers. Errors are sums of squares over the patch's own;
    the box is `x1 y1 x2 y2` in px of the patch.
    """
    if cover.size > _LARGE:
        errors, box = _fitted(cover, tuple(shapes))
    else:
        errors, box = _known(cover.astype(np.float64).tobytes(), cover.shape, tuple(shapes))
    return dict(errors), box


_LARGE = 10_000


@lru_cache(maxsize=256)
def _known(data: bytes, size: tuple[int, ...], shapes: tuple[str, ...]) -> tuple[dict[str, float], Box]:
    """`_fitted`, once for equal patches: the things of a controlled scene often cover their pixels alike."""
    return _fitted(np.frombuffer(data, dtype=np.float64).reshape(size), shapes)


def _fitted(cover: Float, shapes: tuple[str, ...]) -> tuple[dict[str, float], Box]:
    mass = cover.sum()
    ys, xs = (np.arange(n) + 0.5 for n in cover.shape)
    x, y = float((cover.sum(axis=0) * xs).sum() / mass), float((cover.sum(axis=1) * ys).sum() / mass)
    samples = 1 if min(cover.shape) > 40 else 4 if min(cover.shape) > 12 else 8
    energy = float((cover * cover).sum())
    errors: dict[str, float] = {}
    boxes: dict[str, Box] = {}
    for shape in shapes:
        unit, area = _unit(shape)
        size = math.sqrt(mass / area)
        ideal = _drawn(shape, cover.shape, (x, y), size, samples)
        errors[shape] = float(((cover - ideal) ** 2).sum()) / energy
        boxes[shape] = (x + unit[0] * size, y + unit[1] * size, x + unit[2] * size, y + unit[3] * size)
    return errors, boxes[min(errors, key=lambda name: errors[name])]


def _unit(shape: str) -> tuple[Box, float]:
    """Box and area of the figure at size 1, about its centre of mass."""
    if shape == "circle":
        return (-0.5, -0.5, 0.5, 0.5), math.pi / 4
    corners = np.asarray(_POLYGONS[shape])
    (x1, y1), (x2, y2) = corners.min(axis=0), corners.max(axis=0)
    x, y = corners.T
    area = abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2
    return (float(x1), float(y1), float(x2), float(y2)), area


def _drawn(shape: str, size: tuple[int, ...], centre: tuple[float, float], scale: float, samples: int) -> Float:
    """The figure's coverage of a patch of (h, w) px, by `samples` points a pixel and side."""
    height, width = size
    x = ((np.arange(width * samples) + 0.5) / samples - centre[0])[None, :] / scale
    y = ((np.arange(height * samples) + 0.5) / samples - centre[1])[:, None] / scale
    if shape == "circle":
        inside = x * x + y * y <= 0.25
    else:
        inside = np.zeros((height * samples, width * samples), dtype=np.bool_)
        corners = _POLYGONS[shape]
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            if y0 != y1:
                inside ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return np.asarray(inside.reshape(height, samples, width, samples).mean(axis=(1, 3)))
