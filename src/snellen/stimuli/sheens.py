"""Sheens: how an object's surface reflects light, as procedural shades.

Ours, not the authors' (whose textures come from a 3D renderer): our sheen column is not comparable with the paper's
Table 3. Matte: desaturated, one slow gradient. Glossy: darker, with small bright highlights. Seeded by what the world
holds, and made with the four basic operations alone, so that a world has the same bytes everywhere.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SHADES = 48
"""Shades of one surface."""

Shade = NDArray[np.uint8]


def ramp(colour: tuple[int, int, int], sheen: str) -> Shade:
    """The colours of a surface from its darkest to its brightest shade: uint8 (SHADES, 3)."""
    return _ramp(colour, sheen)


@lru_cache(maxsize=64)
def _ramp(colour: tuple[int, int, int], sheen: str) -> Shade:
    pure = np.asarray(colour, dtype=np.float64)
    t = np.linspace(0, 1, SHADES)[:, None]
    if sheen == "matte":
        shades = (0.65 * pure + 0.35 * pure.max() * 0.6) * (0.6 + 0.4 * t)
    else:
        low = np.clip(t / 0.6, 0, 1)
        high = np.clip((t - 0.6) / 0.4, 0, 1)
        shades = pure * (0.4 + 0.45 * low) * (1 - high) + 255 * high
    return np.asarray(np.clip(np.round(shades), 0, 255), dtype=np.uint8)


def shades(sheen: str, cell: int, seed: str) -> Shade:
    """The shade of each pixel of a cell, 0..SHADES-1: uint8 (cell, cell). `seed` is any text."""
    u = [x / 2**32 for x in np.frombuffer(hashlib.blake2b(seed.encode(), digest_size=32).digest(), "<u4").tolist()]
    at = (np.arange(cell) + 0.5) / cell - 0.5
    x, y = at[None, :], at[:, None]
    if sheen == "matte":
        a, b = 2 * u[0] - 1, 2 * u[1] - 1
        level = 0.5 + (a * x + b * y) / max(abs(a) + abs(b), 1e-6)
    else:
        slope = 0.3 + 0.25 * ((2 * u[0] - 1) * x + (2 * u[1] - 1) * y)
        level = slope + _spot(x, y, u[2], u[3], 0.11) + _spot(x, y, u[4], u[5], 0.07)
    return np.asarray(np.clip(np.round(level * (SHADES - 1)), 0, SHADES - 1), dtype=np.uint8)


def _spot(x: NDArray[np.float64], y: NDArray[np.float64], u: float, v: float, width: float) -> NDArray[np.float64]:
    """A highlight near the middle of the object, where every shape has surface."""
    dx, dy = x - 0.28 * (u - 0.5), y - 0.28 * (v - 0.5)
    fall = 1 / (1 + (dx * dx + dy * dy) / (width * width))
    return np.asarray(1.6 * fall * fall)
