"""Worlds as PNG bytes: a pure function, the same bytes for the same world."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli import png
from snellen.stimuli.images import inlay
from snellen.stimuli.shapes import mask
from snellen.stimuli.sheens import SHADES, ramp, shades
from snellen.stimuli.worlds import PAINTS, Object, World

_SOFT = 4  # samples a pixel and side where edges are soft


def render(world: World) -> bytes:
    """The picture of `world` as PNG bytes.

    Hard edges: a palette PNG that holds the background and the objects' shades alone. Soft edges, image objects, or
    more than 256 shades: an RGB PNG.
    """
    palette = _palette(world)
    if palette is None:
        return png.rgb(paint(world))
    table, first = palette
    bands = _bands(world, first)
    return png.indexed(bands, world.side, table)


def paint(world: World) -> NDArray[np.uint8]:
    """The pixels of `world`: uint8 (side, side, 3)."""
    grid = world.board
    canvas = np.empty((world.side, world.side, 3), dtype=np.uint8)
    canvas[:] = PAINTS[world.background]
    for thing in world.objects:
        top, left = grid.pad + thing.row * grid.cell, grid.pad + thing.col * grid.cell
        place = canvas[top : top + grid.cell, left : left + grid.cell]
        if thing.image:
            cover, surface = inlay(thing.image, grid.cell, thing.scale)
        else:
            cover = mask(thing.shape, grid.cell, thing.scale, samples=_SOFT if world.antialias else 1)
            surface = _surface(thing, grid.cell)
        place[:] = np.round(place + cover[..., None] * (surface - place))
    return canvas


def _surface(thing: Object, cell: int) -> NDArray[np.float64]:
    if thing.sheen == "none":
        return np.asarray(PAINTS[thing.colour], dtype=np.float64)
    return ramp(PAINTS[thing.colour], thing.sheen)[shades(thing.sheen, cell, _seed(thing))].astype(np.float64)


def _palette(world: World) -> tuple[NDArray[np.uint8], dict[tuple[str, str], int]] | None:
    """The palette, and the index of the first shade of each surface; None where a palette is not enough."""
    if world.antialias or any(thing.image for thing in world.objects):
        return None
    return _table(world.background, tuple(dict.fromkeys((thing.colour, thing.sheen) for thing in world.objects)))


@lru_cache(maxsize=1024)
def _table(
    background: str, surfaces: tuple[tuple[str, str], ...]
) -> tuple[NDArray[np.uint8], dict[tuple[str, str], int]] | None:
    rows = [np.asarray([PAINTS[background]], dtype=np.uint8)]
    first: dict[tuple[str, str], int] = {}
    for colour, sheen in surfaces:
        first[colour, sheen] = sum(len(part) for part in rows)
        flat = np.asarray([PAINTS[colour]], dtype=np.uint8)
        rows.append(flat if sheen == "none" else ramp(PAINTS[colour], sheen))
    table = np.concatenate(rows)
    return (table, first) if len(table) <= 256 else None


def _bands(world: World, first: dict[tuple[str, str], int]) -> list[png.Band]:
    """Rows of cells that hold objects as pixels, the rest as runs of background."""
    grid = world.board
    lines: dict[int, list[Object]] = defaultdict(list)
    for thing in world.objects:
        lines[thing.row].append(thing)
    bands: list[png.Band] = []
    done = 0
    for row in sorted(lines):
        top = grid.pad + row * grid.cell
        if top > done:
            bands.append(top - done)
        bands.append(_line(lines[row], world, first))
        done = top + grid.cell
    return [*bands, world.side - done] if done < world.side else bands


def _line(things: list[Object], world: World, first: dict[tuple[str, str], int]) -> NDArray[np.uint8]:
    grid = world.board
    band = np.zeros((grid.cell, world.side), dtype=np.uint8)
    for thing in things:
        left = grid.pad + thing.col * grid.cell
        index = np.uint8(first[thing.colour, thing.sheen])
        cover = _hard(thing.shape, grid.cell, thing.scale)
        if thing.sheen == "none":
            band[:, left : left + grid.cell] = cover * index
        else:
            band[:, left : left + grid.cell] = cover * (index + shades(thing.sheen, grid.cell, _seed(thing)))
    return band


@lru_cache(maxsize=512)
def _hard(shape: str, cell: int, scale: float) -> NDArray[np.uint8]:
    return mask(shape, cell, scale).astype(np.uint8)


def _seed(thing: Object) -> str:
    return f"{thing.shape} {thing.colour} {thing.sheen} {thing.row} {thing.col} {thing.scale}"


assert SHADES < 256  # a surface fits into a palette
