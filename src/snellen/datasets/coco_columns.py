"""The annotations of a COCO file, gathered piece by piece into columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from snellen.core.detections import Bool, Float, Int
from snellen.core.errors import DataError
from snellen.datasets.number_rows import NumberRows, Numbers

BARE = frozenset({"id", "image_id", "category_id", "bbox", "area", "iscrowd"})
"""Keys of an annotation that the columns carry; others are kept on request."""

_IDS, _NUMBERS = ("id", "image_id", "category_id"), {"area": np.nan, "iscrowd": 0.0}
_BARE, _MORE = NumberRows(_IDS, _NUMBERS, closed=True), NumberRows(_IDS, _NUMBERS)


def annotation_rows(text: bytes) -> Numbers | None:
    """A list of annotations whose usual keys hold numbers, which is nearly always so; else None."""
    rows = _BARE(text)
    if rows is None and (rows := _MORE(text)) is not None:
        objects = msgspec.json.decode(text, type=list[dict[str, msgspec.Raw]])
        rows = replace(rows, other=frozenset().union(*objects) - BARE)
    return rows


@dataclass
class Ids:
    """A column of ids: whole numbers as they come, in arrays; lists only where some are not."""

    pieces: list[Int | list[Any]] = field(default_factory=list)

    def add(self, values: list[Any] | Int) -> None:
        """Adds a piece."""
        if not isinstance(values, np.ndarray) and {*map(type, values)} <= {int}:
            with suppress(OverflowError):  # ids beyond 64 bit stay in a list
                self.pieces.append(np.array(values, dtype=np.int64))
                return
        self.pieces.append(values)

    def column(self) -> Int | list[Any]:
        """The whole column: an array where all are whole numbers."""
        if all(isinstance(piece, np.ndarray) for piece in self.pieces):
            return np.concatenate(self.pieces) if self.pieces else np.zeros(0, dtype=np.int64)
        return [v for piece in self.pieces for v in (piece.tolist() if isinstance(piece, np.ndarray) else piece)]


@dataclass
class Columns:
    """Annotations gathered piece by piece. `extras`: what stands beside the usual keys, None: not kept."""

    ids: Ids = field(default_factory=Ids)
    images: Ids = field(default_factory=Ids)
    labels: Ids = field(default_factory=Ids)
    boxes: list[Float] = field(default_factory=list)
    crowd: list[Bool] = field(default_factory=list)
    area: list[Float] = field(default_factory=list)
    malformed: dict[int, str] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)
    other: set[str] = field(default_factory=set)
    extras: list[dict[str, Any]] | None = None
    rows: int = 0

    def add_numbers(self, rows: Numbers) -> None:
        """Adds a piece that holds numbers alone."""
        for name, column in zip(_IDS, (self.ids, self.images, self.labels), strict=True):
            column.add(rows.ids[name])
        boxes = cornered(rows.boxes.copy())
        self._add_boxes(boxes, rows.boxes)
        self.crowd.append(rows.numbers["iscrowd"] == 1)
        self.area.append(rows.numbers["area"])
        self.other |= rows.other
        self.rows += len(rows)

    def add(self, items: list[Any], source: Path) -> None:
        """Adds a piece of the list of annotations, looking at every value."""
        start = self.rows
        if {*map(type, items)} - {dict}:
            row = next(i for i, item in enumerate(items) if type(item) is not dict)
            raise DataError(f"annotation {start + row} must be an object, got {str(items[row])[:80]!r}: {source}")
        self.ids.add([item.get("id") for item in items])
        self.images.add([item.get("image_id") for item in items])
        self.labels.add([item.get("category_id") for item in items])
        crowd = [item.get("iscrowd") for item in items]
        self.crowd.append(
            np.array([value in _TRUE for value in crowd]) if any(crowd) else np.zeros(len(items), np.bool_)
        )
        values = [item.get("bbox") for item in items]
        boxes, bad = corners(values)
        self._add_boxes(boxes, values)
        self.malformed |= {start + row: why for row, why in bad.items()}
        self.area.append(_numbers([item.get("area") for item in items]))
        self.other |= set().union(*items) - BARE
        if self.extras is not None:
            self.extras += [{key: value for key, value in item.items() if key not in BARE} for item in items]
        self.rows += len(items)

    def _add_boxes(self, boxes: Float, written: Sequence[Any] | Float) -> None:
        """Adds corners; of boxes that are not finite it is kept what was written."""
        for row in np.flatnonzero(~np.isfinite(boxes).all(axis=1)).tolist():
            value = written[row].tolist() if isinstance(written, np.ndarray) else written[row]
            self.written[self.rows + row] = json.dumps(value)[:120]
        self.boxes.append(boxes)

    @property
    def all_boxes(self) -> Float:
        """All boxes, xyxy."""
        return np.concatenate(self.boxes) if self.boxes else np.zeros((0, 4))

    @property
    def all_areas(self) -> Float:
        """All areas, NaN where not said."""
        return np.concatenate(self.area) if self.area else np.zeros(0)

    @property
    def all_crowds(self) -> Bool:
        """Which rows are crowd regions."""
        return np.concatenate(self.crowd) if self.crowd else np.zeros(0, dtype=np.bool_)


_TRUE = (1, "1", "true", "True")  # True == 1


def corners(values: list[Any]) -> tuple[Float, dict[int, str]]:
    """`x y w h` lists as xyxy; unreadable ones are NaN and named by row."""
    bad: dict[int, str] = {}
    numbers = {int, float}
    if {*map(type, values)} <= {list} and {*map(len, values)} <= {4}:
        flat = list(chain.from_iterable(values))
        if {*map(type, flat)} <= numbers:
            return cornered(np.array(flat, dtype=np.float64).reshape(-1, 4)), bad
    boxes = np.full((len(values), 4), np.nan)
    for row, value in enumerate(values):
        if type(value) is list and len(value) == 4 and {*map(type, value)} <= numbers:
            boxes[row] = value
        else:
            bad[row] = "no bbox" if value is None else f"bbox must be four numbers, got {value!r}"[:120]
    return cornered(boxes), bad


def cornered(boxes: Float) -> Float:
    """`x y w h` as xyxy, in place."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinities, which `check` names
        boxes[:, 2:] += boxes[:, :2]
    return boxes


def _numbers(values: Sequence[Any]) -> Float:
    if {*map(type, values)} <= {int, float}:
        return np.array(values, dtype=np.float64)
    return np.array([value if type(value) in {int, float} else np.nan for value in values], dtype=np.float64)
