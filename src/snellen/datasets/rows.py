"""Predictions as their files write them: rows whose pictures and classes are still references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.boxes import Float
from snellen.core.detections import as_boxes
from snellen.core.errors import DataError

ImageKind: TypeAlias = Literal["id", "name", "stem"]
LabelKind: TypeAlias = Literal["id", "index0", "index1", "name"]


@dataclass(frozen=True, eq=False)
class Rows:
    """images, labels: references, a list or an integer column. boxes: xyxy (n, 4), px or parts of the side (`unit`).

    scores: float64 (n,), NaN where missing. image_kinds, label_kinds: what the references may be, likeliest first.
    """

    images: Sequence[Any]
    labels: Sequence[Any]
    boxes: Float
    scores: Float
    image_kinds: tuple[ImageKind, ...]
    label_kinds: tuple[LabelKind, ...]
    unit: bool = False

    def __len__(self) -> int:
        return len(self.boxes)


@dataclass
class Gathered:
    """Rows gathered piece by piece."""

    source: Path
    images: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    boxes: list[Float] = field(default_factory=list)
    scores: list[Float] = field(default_factory=list)

    def add(self, images: Iterable[Any], labels: Iterable[Any], boxes: Sequence[Any], scores: Sequence[Any]) -> None:
        """Adds rows; boxes are lists of four numbers, scores numbers or None. DataError with the row's place."""
        start = len(self.images)
        self.images += images
        self.labels += labels
        self.boxes.append(self._boxes(boxes, start))
        self.scores.append(self._scores(scores, start))

    def rows(
        self,
        image_kinds: tuple[ImageKind, ...],
        label_kinds: tuple[LabelKind, ...],
        *,
        order: str = "xywh",
        unit: bool = False,
    ) -> Rows:
        """All rows; `order` is that of the boxes gathered."""
        boxes = np.concatenate(self.boxes) if self.boxes else np.zeros((0, 4))
        with np.errstate(invalid="ignore"):
            if order == "xywh":
                boxes = np.column_stack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])
            elif order == "cxcywh":
                boxes = np.column_stack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
        scores = np.concatenate(self.scores) if self.scores else np.zeros(0)
        return Rows(_column(self.images), _column(self.labels), as_boxes(boxes), scores, image_kinds, label_kinds, unit)

    def _boxes(self, boxes: Sequence[Any], start: int) -> Float:
        for i, box in enumerate(boxes):
            if not isinstance(box, list | tuple) or len(box) != 4 or not {*map(type, box)} <= {int, float}:
                raise DataError(
                    f"prediction {start + i}: a box must be four numbers, got {str(box)[:80]!r}: {self.source}"
                )
        return np.array(boxes, dtype=np.float64).reshape(-1, 4)

    def _scores(self, scores: Sequence[Any], start: int) -> Float:
        for i, score in enumerate(scores):
            if score is not None and type(score) not in {int, float}:
                raise DataError(f"prediction {start + i}: a score must be a number, got {score!r}: {self.source}")
        return np.array([np.nan if score is None else score for score in scores], dtype=np.float64)


def _column(values: list[Any]) -> Sequence[Any]:
    return np.array(values, dtype=np.int64) if values and all(type(v) is int for v in values) else values  # type: ignore[return-value]


def required(items: Sequence[Any], keys: Sequence[str], source: Path, *, start: int = 0) -> None:
    """DataError where an item is no mapping with these keys."""
    for i, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise DataError(f"prediction {start + i} must be an object, got {str(item)[:80]!r}: {source}")
        missing = [key for key in keys if key not in item]
        if missing:
            raise DataError(f"prediction {start + i} has no {' nor '.join(missing)}: {source}")
