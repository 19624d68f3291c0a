"""Predictions as their files write them: rows whose pictures and classes are still references."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.detections import Float, as_boxes
from snellen.core.errors import DataError
from snellen.datasets.coco_columns import Ids
from snellen.datasets.number_rows import Numbers

ImageKind: TypeAlias = Literal["id", "name", "stem"]
LabelKind: TypeAlias = Literal["id", "index0", "index1", "name"]


@dataclass(frozen=True, eq=False)
class Rows:
    """images, labels: references, a list or an integer column. boxes: xyxy (n, 4), px or parts of the side (`unit`).

    scores: float64 (n,), NaN where missing. image_kinds, label_kinds: what the references may be, likeliest first.
    doubts: what the reader had to choose, in words.
    """

    images: Sequence[Any]
    labels: Sequence[Any]
    boxes: Float
    scores: Float
    image_kinds: tuple[ImageKind, ...]
    label_kinds: tuple[LabelKind, ...]
    unit: bool = False
    doubts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.boxes)


@dataclass
class Gathered:
    """Rows gathered piece by piece."""

    source: Path
    images: Ids = field(default_factory=Ids)
    labels: Ids = field(default_factory=Ids)
    boxes: list[Float] = field(default_factory=list)
    scores: list[Float] = field(default_factory=list)
    count: int = 0

    def add_numbers(self, rows: Numbers) -> None:
        """Adds rows that are numbers alone."""
        self.images.add(rows.ids["image_id"])
        self.labels.add(rows.ids["category_id"])
        self.boxes.append(rows.boxes)
        self.scores.append(rows.numbers["score"])
        self.count += len(rows)

    def add(self, images: Iterable[Any], labels: Iterable[Any], boxes: Sequence[Any], scores: Sequence[Any]) -> None:
        """Adds rows: references numbers or texts, boxes lists of four numbers, scores numbers or None. DataError with
        the row's place.
        """
        self.images.add(self._references("image", images))
        self.labels.add(self._references("category", labels))
        self.boxes.append(self._boxes(boxes, self.count))
        self.scores.append(self._scores(scores, self.count))
        self.count += len(boxes)

    def rows(
        self,
        image_kinds: tuple[ImageKind, ...],
        label_kinds: tuple[LabelKind, ...],
        *,
        order: str = "xywh",
        unit: bool = False,
        doubts: tuple[str, ...] = (),
    ) -> Rows:
        """All rows; `order` is that of the boxes gathered."""
        boxes = np.concatenate(self.boxes) if self.boxes else np.zeros((0, 4))
        with np.errstate(invalid="ignore", over="ignore"):  # what is no box then is counted
            if order == "xywh":
                boxes = np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])
            elif order == "cxcywh":
                boxes = np.column_stack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
        scores = np.concatenate(self.scores) if self.scores else np.zeros(0)
        images, labels = self.images.column(), self.labels.column()
        kinds = (image_kinds, label_kinds)
        return Rows(images, labels, as_boxes(boxes), scores, *kinds, unit, doubts)  # type: ignore[arg-type]

    def _references(self, what: str, values: Iterable[Any]) -> list[Any]:
        found = [int(v) if type(v) is float and v.is_integer() else v for v in values]
        wrong = next((i for i, v in enumerate(found) if type(v) is not int and type(v) is not str), None)
        if wrong is not None:
            raise DataError(
                f"prediction {self.count + wrong}: the {what} must be a whole number or a name, got "
                f"{str(found[wrong])[:80]}: {self.source}"
            )
        return found

    def _boxes(self, boxes: Sequence[Any], start: int) -> Float:
        for i, box in enumerate(boxes):
            if not isinstance(box, list | tuple) or len(box) != 4 or not {*map(type, box)} <= {int, float}:
                raise DataError(
                    f"prediction {start + i}: a box must be four numbers, got {str(box)[:80]!r}: {self.source}"
                )
        return np.array(boxes, dtype=np.float64).reshape(-1, 4)

    def _scores(self, scores: Sequence[Any], start: int) -> Float:
        for i, score in enumerate(scores):
            if score is not None and (type(score) not in {int, float} or math.isinf(score)):
                raise DataError(f"prediction {start + i}: a score must be a number, got {score!r}: {self.source}")
        return np.array([np.nan if score is None else score for score in scores], dtype=np.float64)


def required(items: Sequence[Any], keys: Sequence[str], source: Path, *, start: int = 0) -> None:
    """DataError where these are no list, or an item is no mapping with these keys."""
    if not isinstance(items, list):
        raise DataError(f"predictions must be a list, got {str(items)[:80]} after {start:,} others: {source}")
    for i, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise DataError(f"prediction {start + i} must be an object, got {str(item)[:80]!r}: {source}")
        missing = [key for key in keys if key not in item]
        if missing:
            raise DataError(f"prediction {start + i} has no {' nor '.join(missing)}: {source}")
