"""Boxes: their overlap, and the foreign notations that stand at the edges.

Inside, a box is `x1 y1 x2 y2`, float64, pixels of the picture as a person sees it. A `BoxNotation` says how a model
writes one (order, scale, frame); it is declared for a (model, prompt), probed, never guessed. PROTOCOLS section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.detections import as_boxes
from snellen.core.errors import SpecError
from snellen.core.pictures import Size

Float = NDArray[np.float64]
Order: TypeAlias = Literal["xyxy", "yxyx", "xywh", "cxcywh"]
Frame: TypeAlias = Literal["picture", "input", "square"]


def overlaps(a: ArrayLike, b: ArrayLike, *, crowd: ArrayLike | None = None) -> Float:
    """IoU of every box of `a` (n, 4) with every box of `b` (m, 4): float64 (n, m); 0 where both are empty.

    `crowd`, bool (m,), marks boxes of `b` whose overlap is intersection over the area of `a` (COCO's iscrowd).
    """
    a, b = as_boxes(a), as_boxes(b)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    sides = np.clip(high - low, 0.0, None)
    inter = sides[..., 0] * sides[..., 1]
    area_a = np.prod(a[:, 2:] - a[:, :2], axis=1)[:, None]
    area_b = np.prod(b[:, 2:] - b[:, :2], axis=1)[None, :]
    union = area_a + area_b - inter
    if crowd is not None:
        union = np.where(np.asarray(crowd, dtype=np.bool_)[None, :], area_a, union)
    return np.asarray(np.divide(inter, union, out=np.zeros_like(inter), where=union > 0))


@dataclass(frozen=True)
class BoxNotation:
    """How four numbers mean a box.

    order: `xyxy`, `yxyx`, `xywh` (corner and size) or `cxcywh` (centre and size).
    scale: the number that stands for the full side (1000, 1, 999, 1024 ...), or None: the numbers are pixels.
    frame: what the numbers are measured on: the upright `picture`; the `input` that the model resized it to; or the
    picture padded to a centred `square`. With a scale, picture and input mean the same.
    """

    order: Order = "xyxy"
    scale: float | None = None
    frame: Frame = "picture"

    def __post_init__(self) -> None:
        if self.order not in {"xyxy", "yxyx", "xywh", "cxcywh"}:
            raise SpecError(f"a box order is xyxy, yxyx, xywh or cxcywh, got {self.order!r}")
        if self.frame not in {"picture", "input", "square"}:
            raise SpecError(f"a box frame is picture, input or square, got {self.frame!r}")
        if self.scale is not None and not self.scale > 0:
            raise SpecError(f"a box scale must be positive, got {self.scale!r}")

    def decode(self, numbers: ArrayLike, *, size: Size, input_size: Size | None = None) -> Float:
        """`numbers` (n, 4) in this notation as `x1 y1 x2 y2` px of the upright picture of `size` (w, h).

        Nothing is clipped, sorted or rounded. Pixels of the input need `input_size`: else SpecError.
        """
        unit, offset = self._frame(size, input_size)
        return as_boxes(_corners(as_boxes(numbers), self.order) * np.tile(unit, 2) - np.tile(offset, 2))

    def encode(self, boxes: ArrayLike, *, size: Size, input_size: Size | None = None) -> Float:
        """The inverse of `decode`: px boxes (n, 4) as this notation's numbers, not rounded."""
        unit, offset = self._frame(size, input_size)
        return _ordered((as_boxes(boxes) + np.tile(offset, 2)) / np.tile(unit, 2), self.order)

    def decode_points(self, numbers: ArrayLike, *, size: Size, input_size: Size | None = None) -> Float:
        """Points (n, 2) in this notation (y first where boxes are) as `x y` px of the upright picture."""
        points = np.asarray(numbers, dtype=np.float64).reshape(-1, 2)
        unit, offset = self._frame(size, input_size)
        return (points[:, ::-1] if self.order == "yxyx" else points) * unit - offset

    def _frame(self, size: Size, input_size: Size | None) -> tuple[Float, Float]:
        """Picture px per number (x, y), and the padding (x, y) in picture px."""
        side = np.asarray(size, dtype=np.float64)
        offset = np.zeros(2)
        if self.frame == "square":
            longest = side.max()
            offset = (longest - side) / 2
            side = np.full(2, longest)
        if self.scale is not None:
            return side / self.scale, offset
        if self.frame == "picture":
            return np.ones(2), offset
        if input_size is None:
            raise SpecError("this notation counts pixels of the resized input: the input size must be given")
        full = np.asarray(input_size, dtype=np.float64)
        return side / (full if self.frame == "input" else full.max()), offset


def _corners(boxes: Float, order: Order) -> Float:
    if order == "yxyx":
        return boxes[:, [1, 0, 3, 2]]
    if order == "xywh":
        return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    if order == "cxcywh":
        return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)
    return boxes


def _ordered(corners: Float, order: Order) -> Float:
    if order == "yxyx":
        return corners[:, [1, 0, 3, 2]]
    if order == "xywh":
        return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    if order == "cxcywh":
        return np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)
    return corners
