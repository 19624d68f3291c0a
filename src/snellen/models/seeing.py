"""Classical image processing: the things on a plain ground, and what each looks like. Knows nothing of any exam.

A picture is averaged down to a set resolution, noise is added, and everything is found again from those pixels: the
ground by its commonest colour, things as connected regions that differ from it, shapes by the least squared error
of ideal figures of the same area and centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.models.figures import fit

Float = NDArray[np.floating[Any]]

COLOURS = {
    "red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "cyan": (0, 255, 255), "magenta": (255, 0, 255),
    "yellow": (255, 255, 0), "white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128),
    "gray": (128, 128, 128), "orange": (255, 128, 0), "purple": (128, 0, 255), "brown": (139, 69, 19),
    "pink": (255, 192, 203),
}  # fmt: skip
"""What colour words mean, sRGB."""

SHAPES = ("square", "circle", "triangle", "star")


@dataclass(frozen=True, eq=False)
class Thing:
    """Something seen: `x1 y1 x2 y2` as fractions of the picture's sides, and what it looks like.

    errors: squared error of each ideal shape over the thing's own energy (0 is a perfect fit). colour: its mean,
    weighted by chroma, 0..255. pale: how pale it is, 0..1; gloss: how much paler its palest spot is than that.
    """

    box: tuple[float, float, float, float]
    errors: dict[str, float]
    colour: tuple[float, float, float]
    gloss: float
    pale: float
    area: float

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the box, fractions: x, y."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def shape(self) -> str:
        """The shape that fits best."""
        return min(self.errors, key=lambda name: self.errors[name])

    @property
    def sheen(self) -> str:
        """none, matte or glossy: pure colour, evenly paler, or paler in a spot."""
        if self.gloss > 0.12 or self.pale > 0.4:
            return "glossy"
        return "matte" if self.pale > 0.1 else "none"

    def colour_among(self, names: Sequence[str]) -> str:
        """The nearest of the colour names, by hue and then by brightness; grey things by brightness alone."""
        return min(names, key=lambda name: _far(self.colour, COLOURS[name]))


@lru_cache(maxsize=32)
def look(data: bytes, image: _Held, *, pixels: int | None, noise: float, seed: int) -> tuple[Thing, ...]:
    """The things in a picture, largest first. `data` are its encoded bytes, `image` holds the decoded picture.

    pixels: the resolution, longest side; None is full. noise: standard deviation of the noise, in grey levels.
    """
    values = _averaged(image.image, pixels)
    if noise:
        values = _smoothed(values + np.random.default_rng(seed).normal(0, noise, values.shape).astype(np.float32))
    ground = _ground(values)
    far = _differences(values, ground)
    floor = _floor(far)
    peak = float(far.max(initial=0.0))
    if peak <= max(floor, 4.0):
        return ()
    regions = _regions(far > max(floor, 0.3 * peak))
    least = 0.01 * max(int(mask.sum()) for _, _, mask in regions) if noise else 0.0  # specks of noise
    found = [_thing(part, values, far, ground) for part in regions if part[2].sum() >= least]
    return tuple(sorted(found, key=lambda thing: -thing.area))


class _Held:
    """A picture that takes no part in the equality of a cache's key: the bytes do."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


def held(image: Image.Image) -> _Held:
    """`image` for `look`."""
    return _Held(image)


def _averaged(image: Image.Image, pixels: int | None) -> Float:
    longest = max(image.size)
    if pixels is not None and pixels < longest:
        width, height = (max(1, round(side * pixels / longest)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float32)


def _differences(values: Float, ground: Float) -> Float:
    """The greatest difference of any channel from the ground, for each pixel."""
    far = np.abs(values[..., 0] - ground[0])
    for channel in (1, 2):
        np.maximum(far, np.abs(values[..., channel] - ground[channel]), out=far)
    return np.asarray(far)


def _smoothed(values: Float) -> Float:
    """Averaged over a neighbourhood of 1/135 of the picture's side: what a noisy eye does where pixels are plenty."""
    from scipy import ndimage

    k = max(1, round(max(values.shape) / 135))
    return np.asarray(ndimage.uniform_filter(values, size=(k, k, 1)))


def _ground(values: Float) -> Float:
    """The median colour of the picture's rim: what things stand on."""
    rim = np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])
    return np.asarray(np.median(rim, axis=0))


def _floor(far: Float) -> float:
    """Differences from the ground that noise alone explains: five times its spread over most of the picture."""
    step = max(1, min(far.shape) // 64)
    some = far[::step, ::step]
    middle = float(np.median(some))
    return middle + 5 * 1.4826 * float(np.median(np.abs(some - middle)))


def _regions(mask: NDArray[np.bool_]) -> list[tuple[slice, slice, NDArray[np.bool_]]]:
    """Connected regions (8 neighbours): their rows, columns and mask."""
    from scipy import ndimage

    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = int(rows[0]), int(cols[0])
    part = mask[top : int(rows[-1]) + 1, left : int(cols[-1]) + 1]
    labels, _ = ndimage.label(part, structure=np.ones((3, 3)))
    out = []
    for i, (down, across) in enumerate(ndimage.find_objects(labels), start=1):
        place = slice(down.start + top, down.stop + top), slice(across.start + left, across.stop + left)
        out.append((*place, labels[down, across] == i))
    return out


def _thing(part: tuple[slice, slice, NDArray[np.bool_]], values: Float, far: Float, ground: Float) -> Thing:
    down, across, mask = part
    height, width = far.shape
    rows, cols = slice(max(down.start - 1, 0), down.stop + 1), slice(max(across.start - 1, 0), across.stop + 1)
    inside = np.zeros(far[rows, cols].shape, dtype=np.bool_)
    inside[down.start - rows.start : down.stop - rows.start, across.start - cols.start : across.stop - cols.start] = (
        mask
    )
    near = far[rows, cols] * _grown(inside)
    small = min(mask.shape) < 6
    full = 255.0 if min(mask.shape) < 3 else float(np.quantile(near[inside], 0.75 if small else 0.3))
    cover = np.clip(near / max(full, 1e-9), 0, 1) if small else inside.astype(np.float64)
    errors, box = fit(cover, SHAPES)
    x1, y1, x2, y2 = box if small else _extent(inside)
    left, top = cols.start, rows.start
    seen = values[rows, cols][inside]
    colour, gloss, pale = _look_of(seen, near[inside])
    return Thing(
        ((left + x1) / width, (top + y1) / height, (left + x2) / width, (top + y2) / height),
        errors, colour, gloss, pale, float(cover.sum()) / (width * height),
    )  # fmt: skip


def _extent(mask: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(cols[0]), float(rows[0]), float(cols[-1] + 1), float(rows[-1] + 1)


def _grown(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask and its neighbours: pixels that a thing may partly cover."""
    wide = np.pad(mask, 1)
    across = wide[1:-1] | wide[:-2] | wide[2:]
    return np.asarray(across[:, 1:-1] | across[:, :-2] | across[:, 2:])


def _look_of(seen: Float, far: Float) -> tuple[tuple[float, float, float], float, float]:
    """Mean colour weighted by chroma; how much paler the palest spot is than the rest; how pale the rest is."""
    chroma = seen.max(axis=1) - seen.min(axis=1)
    weights = chroma if chroma.max() > 20 else np.ones(len(seen))
    red, green, blue = np.average(seen, axis=0, weights=weights)
    solid = seen[far >= 0.5 * far.max()]
    paleness = np.clip(solid.min(axis=1), 0, None) / np.maximum(solid.max(axis=1), 1)
    middle = float(np.median(paleness))
    return (float(red), float(green), float(blue)), float(np.quantile(paleness, 0.98)) - middle, middle


def _far(seen: tuple[float, float, float], named: tuple[int, int, int]) -> float:
    one, two = np.asarray(seen), np.asarray(named, dtype=np.float64)
    chroma, other = one - one.min(), two - two.min()
    grey = chroma.max() < 0.15 * max(one.max(), 1)
    if grey or not other.any():
        return float((0 if grey and not other.any() else 10) + abs(one.max() - two.max()) / 255)
    hue = 1 - float(chroma @ other) / float(np.linalg.norm(chroma) * np.linalg.norm(other))
    return float(hue + 0.05 * abs(one.max() - two.max()) / 255)
