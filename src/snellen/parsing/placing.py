"""From items as written to boxes and points in px of the picture: the notation applied, nonsense held back.

A box is unreadable (counted, never scored) where a number is missing or absurd, where one axis alone is inverted, or
where it has no area. Both axes inverted are swapped corners. Numbers that contradict the declared scale (parts
of 1 where thousandths or px are declared; a box wholly outside the picture or more than a side beyond it) make the
box unreadable, and the whole reply malformed where no box fits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.boxes import BoxNotation
from snellen.core.detections import Bool, Detections, Float, Points
from snellen.core.pictures import Size
from snellen.parsing.items import Item, Scan
from snellen.parsing.notations import Notation

LARGEST = 1e6
"""A number beyond this is no coordinate."""


@dataclass(frozen=True)
class Placed:
    """What became of a scan's items. off_scale: boxes that contradict the notation; nothing: items that say so."""

    boxes: Detections
    points: Points
    unread: int = 0
    unnamed: int = 0
    off_scale: int = 0
    swapped: int = 0
    nothing: int = 0


def place(scan: Scan, notation: Notation, form: str, *, size: Size, input_size: Size | None, only: str) -> Placed:
    """The items of `scan` as px of the picture. `only`: the label of items without one ("": none is known)."""
    means = notation.of(form)
    named = [item._replace(label=item.label if item.label is not None else only or None) for item in scan.items]
    wanted = [item for item in named if not item.nothing and not _is_sentinel(item)]
    readable = [item for item in wanted if item.numbers is not None and max(map(abs, item.numbers)) <= LARGEST]
    labelled = scan.labelled or notation.prescribed
    kept = [item for item in readable if item.label is not None or item.point or not labelled]
    boxes = [item for item in kept if not item.point]
    corners, good, swapped, off = _boxes(boxes, means, notation, size=size, input_size=input_size)
    if notation.clip:
        corners = np.clip(corners, 0.0, np.tile(np.asarray(size, dtype=np.float64), 2))
        good &= (corners[:, 2:] > corners[:, :2]).all(axis=1)
    points = [item for item in kept if item.point]
    places, inside = _points(points, means, size=size, input_size=input_size)
    chosen = [boxes[i] for i in np.flatnonzero(good)]
    return Placed(
        _detections(chosen, corners[good]),
        Points(places[inside], tuple(points[i].label or "" for i in np.flatnonzero(inside))),
        unread=len(wanted) - int(good.sum()) - int(inside.sum()),
        unnamed=len(readable) - len(kept),
        off_scale=int(off.sum()) + int((~inside).sum()),
        swapped=int((swapped & good).sum()),
        nothing=len(named) - len(wanted),
    )


def _boxes(
    items: Sequence[Item], means: BoxNotation, notation: Notation, *, size: Size, input_size: Size | None
) -> tuple[Float, Bool, Bool, Bool]:
    """Corners (n, 4) in px; which are good, which were swapped, which contradict the scale."""
    corners = np.zeros((len(items), 4))
    ways = [_meaning(item, notation.spelled if item.spelled and notation.spelled else means) for item in items]
    off = np.zeros(len(items), dtype=np.bool_)
    for way in set(ways):
        rows = [i for i, other in enumerate(ways) if other == way]
        off[rows] = _fractions([items[i] for i in rows], way)
        corners[rows] = way.decode([items[i].numbers or () for i in rows], size=size, input_size=input_size)
    sides = corners[:, 2:] - corners[:, :2]
    swapped = (sides < 0).all(axis=1)
    corners[swapped] = corners[swapped][:, [2, 3, 0, 1]]
    if means.scale is not None:
        off |= _beyond(corners, size)
    proper = np.asarray((sides > 0).all(axis=1) | swapped)
    return corners, proper & ~off, np.asarray(swapped), off


def _meaning(item: Item, means: BoxNotation) -> BoxNotation:
    order = item.order or means.order
    if item.corners and order in {"xywh", "cxcywh"}:
        order = "xyxy"
    return BoxNotation(order, item.scale if item.scale is not None else means.scale, means.frame)


def _points(items: Sequence[Item], means: BoxNotation, *, size: Size, input_size: Size | None) -> tuple[Float, Bool]:
    places = np.zeros((len(items), 2))
    inside = np.ones(len(items), dtype=np.bool_)
    for i, item in enumerate(items):
        way = _meaning(item, means)
        places[i] = way.decode_points([item.numbers or ()], size=size, input_size=input_size)[0]
        if way.scale is not None:
            inside[i] = not _beyond(np.tile(places[i], 2)[None], size, outside=False)[0]
    return places, inside


def _beyond(corners: Float, size: Size, *, outside: bool = True) -> Bool:
    """Boxes that reach more than one side beyond the picture, or lie wholly outside of it."""
    part = corners / np.tile(np.asarray(size, dtype=np.float64), 2)
    far = (part < -1).any(axis=1) | (part > 2).any(axis=1)
    away = (part[:, :2] >= 1).any(axis=1) | (part[:, 2:] <= 0).any(axis=1)
    return np.asarray(far | away if outside else far, dtype=np.bool_)


def _fractions(items: Sequence[Item], means: BoxNotation) -> Bool:
    """Boxes written as parts of 1, where thousandths or px are declared.

    Under thousandths also those that reach up to a side beyond, `1.0`, and (where others of the reply are parts) whole
    0 and 1. Boxes of a px or two, in decimals, may stand in the corner of a picture.
    """
    if means.scale is not None and means.scale < 100:
        return np.zeros(len(items), dtype=np.bool_)
    rows = [item.numbers if item.numbers and item.scale is None else (math.inf,) for item in items]
    if means.scale is None:
        return np.array([all(0 <= x <= 1 for x in row) and any(x != int(x) for x in row) for row in rows], np.bool_)
    found = np.array([all(-1 <= x <= 2 for x in row) and any(type(x) is float for x in row) for row in rows], np.bool_)
    if found.any():
        found |= np.array([all(0 <= x <= 1 for x in row) for row in rows])
    return found


def _is_sentinel(item: Item) -> bool:
    """Four zeros are the way to say that there is nothing."""
    return item.numbers is not None and not item.point and not any(item.numbers)


def _detections(items: Sequence[Item], corners: Float) -> Detections:
    scores = [np.nan if item.score is None else item.score for item in items]
    return Detections(
        corners,
        tuple(item.label or "" for item in items),
        np.array(scores) if any(item.score is not None for item in items) else None,
        notes=tuple(item.notes for item in items) if any(item.notes for item in items) else (),
    )
