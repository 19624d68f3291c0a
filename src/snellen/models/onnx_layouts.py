"""How an exported detector wants its picture and writes its boxes: declared layouts, and how they are read.

A layout is declared, never guessed from shapes. Boxes come out as px of the upright picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.boxes import overlaps
from snellen.core.detections import Detections
from snellen.core.errors import DataError
from snellen.core.pictures import Size

Float = NDArray[np.float64]
Pixels = NDArray[np.float32]
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
Form: TypeAlias = Literal["columns", "rows", "final", "split", "ready"]
"""Where the numbers stand in the outputs.

columns: one output (1, 4 + classes, n), cxcywh px of the input. rows: one output (1, n, 5 + classes), cxcywh px and
how sure it is that there is an object. final: one output (1, n, 6): x1 y1 x2 y2 px of the input, score, class.
split: logits (1, n, classes) and boxes (1, n, 4), cxcywh of 0..1. ready: labels, boxes (x1 y1 x2 y2 px of the
picture) and scores, (1, n) each; the model is told the picture's size.
"""


@dataclass(frozen=True)
class Layout:
    """How a picture goes in, and boxes come out.

    letterbox: the picture keeps its shape and is padded with grey on both sides; else it is stretched. mean, std: of
    RGB in 0..1. activation: what turns logits into scores (`softmax` drops a last class that means "nothing").
    nms: IoU above which the worse of two boxes of a class goes, or None: the model leaves no doubles.
    """

    form: Form
    letterbox: bool = False
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    activation: Literal["none", "sigmoid", "softmax"] = "none"
    nms: float | None = None


LAYOUTS: Mapping[str, Layout] = {
    "yolov5": Layout("rows", letterbox=True, nms=0.7),
    "yolov8": Layout("columns", letterbox=True, nms=0.7),
    "yolo-end2end": Layout("final", letterbox=True),
    "detr": Layout("split", mean=IMAGENET[0], std=IMAGENET[1], activation="softmax"),
    "deformable-detr": Layout("split", mean=IMAGENET[0], std=IMAGENET[1], activation="sigmoid"),
    "rf-detr": Layout("split", mean=IMAGENET[0], std=IMAGENET[1], activation="sigmoid"),
    "rt-detr-hf": Layout("split", activation="sigmoid"),
    "rt-detr": Layout("ready"),
}
"""Presets. yolov8 also serves YOLOv9, YOLO11 and YOLO12; yolo-end2end YOLOv10, YOLO26 and exports with NMS inside;
rt-detr-hf RT-DETR, RT-DETRv2 and D-FINE exported from transformers; rt-detr the authors' own exports, D-FINE's too.
"""


class Framed(NamedTuple):
    """A picture as input: pixels (1, 3, h, w); input px per picture px (x, y); padding (x, y) in input px."""

    pixels: Pixels
    scale: Float
    offset: Float


def frame(image: Image.Image, layout: Layout, size: Size) -> Framed:
    """`image` at the input's `size`, normalised."""
    picture = np.asarray(image.size, dtype=np.float64)
    scale = np.asarray(size, dtype=np.float64) / picture
    if layout.letterbox:
        scale = np.full(2, scale.min())
    inner = np.maximum(np.round(picture * scale), 1).astype(int)
    offset = np.round((np.asarray(size) - inner) / 2 - 0.1)
    canvas = Image.new("RGB", (size.width, size.height), (114, 114, 114))
    canvas.paste(image.resize(tuple(inner.tolist()), Image.Resampling.BILINEAR), tuple(offset.astype(int).tolist()))
    pixels = (np.asarray(canvas, dtype=np.float32) / 255 - np.asarray(layout.mean, np.float32)) / np.asarray(
        layout.std, np.float32
    )
    return Framed(np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32), inner / picture, offset)


def unframe(corners: Float, framed: Framed) -> Float:
    """x1 y1 x2 y2 px of the input (n, 4) as px of the picture."""
    return np.asarray((corners - np.tile(framed.offset, 2)) / np.tile(framed.scale, 2))


class Candidates(NamedTuple):
    """Boxes (n, 4), x1 y1 x2 y2 px of the picture; scores and class indices (n,)."""

    boxes: Float
    scores: Float
    classes: NDArray[np.int64]


def read(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    """The best `most` candidates of an output. DataError where its shape is not the layout's."""
    forms = {"columns": _columns, "rows": _rows, "final": _final, "split": _split, "ready": _ready}
    return forms[layout.form](outputs, layout, framed, size=size, most=most)


def _columns(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    rows = _only(outputs, "(1, 4 + classes, n)")[0].T
    return _best(unframe(_corners(rows[:, :4]), framed), rows[:, 4:], most)


def _rows(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    rows = _only(outputs, "(1, n, 5 + classes)")[0]
    return _best(unframe(_corners(rows[:, :4]), framed), rows[:, 5:] * rows[:, 4:5], most)


def _final(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    rows = _only(outputs, "(1, n, 6)")[0]
    if rows.shape[1] != 6:
        raise DataError(f"an output of this layout has shape (1, n, 6), got (1, {rows.shape[0]}, {rows.shape[1]})")
    order = np.argsort(-rows[:, 4], kind="stable")[:most]
    return Candidates(unframe(rows[order, :4], framed), rows[order, 4], rows[order, 5].astype(np.int64))


def _split(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    boxes = [name for name, value in outputs.items() if value.shape[-1] == 4 and "box" in name.lower()]
    logits = [name for name in outputs if name.lower() in {"logits", "pred_logits", "labels", "scores", "dets_logits"}]
    if len(boxes) != 1 or len(logits) != 1:
        shapes = {name: tuple(value.shape) for name, value in outputs.items()}
        raise DataError(f"an output of this layout has `logits` and a `...box...` (1, n, 4), got {shapes}")
    full = np.tile(np.asarray(size, dtype=np.float64), 2)
    said = np.asarray(outputs[logits[0]][0], dtype=np.float64)
    return _best(_corners(np.asarray(outputs[boxes[0]][0], dtype=np.float64)) * full, activate(said, layout), most)


def _ready(outputs: Mapping[str, Any], layout: Layout, framed: Framed, *, size: Size, most: int) -> Candidates:
    if not {"labels", "boxes", "scores"} <= set(outputs):
        raise DataError(f"an output of this layout has labels, boxes and scores, got {', '.join(outputs)}")
    scores = np.asarray(outputs["scores"][0], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")[:most]
    boxes = np.asarray(outputs["boxes"][0], dtype=np.float64)[order]
    return Candidates(boxes, scores[order], np.asarray(outputs["labels"][0], dtype=np.int64)[order])


def activate(logits: Float, layout: Layout) -> Float:
    """Logits (n, classes) as scores."""
    if layout.activation == "softmax":
        raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=-1, keepdims=True))[:, :-1]
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500)))) if layout.activation == "sigmoid" else logits


def _only(outputs: Mapping[str, Any], expected: str) -> Float:
    first = np.asarray(next(iter(outputs.values())), dtype=np.float64)
    if first.ndim != 3 or len(first) != 1:
        raise DataError(f"the first output of this layout has shape {expected}, got {first.shape}")
    return first


def _corners(boxes: Float) -> Float:
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)


def _best(boxes: Float, scores: Float, most: int) -> Candidates:
    """The best pairs of box and class."""
    flat = scores.ravel()
    order = np.argsort(-flat, kind="stable")[:most]
    return Candidates(boxes[order // scores.shape[1]], flat[order], order % scores.shape[1])


def suppressed(found: Candidates, limit: float) -> Candidates:
    """Class-wise NMS: from the best down, a box goes that overlaps a kept one of its class by more than `limit`."""
    kept: list[int] = []
    for name in np.unique(found.classes):
        rest = np.flatnonzero(found.classes == name)  # already falls by score
        overlap = overlaps(found.boxes[rest], found.boxes[rest])
        alive = np.ones(len(rest), dtype=np.bool_)
        for i in range(len(rest)):
            if alive[i]:
                alive[i + 1 :] &= overlap[i, i + 1 :] <= limit
        kept += rest[alive].tolist()
    chosen = np.sort(np.asarray(kept, dtype=np.int64))
    return Candidates(found.boxes[chosen], found.scores[chosen], found.classes[chosen])


def detections(found: Candidates, names: Sequence[str], *, min_score: float, most: int) -> Detections:
    """Candidates as detections with class names. DataError for a class that has no name."""
    kept = np.flatnonzero(found.scores >= min_score)[:most]
    classes = found.classes[kept]
    if len(classes) and not 0 <= classes.min() <= classes.max() < len(names):
        raise DataError(f"the model found class {int(classes.max())}, but {len(names)} class names are given")
    return Detections(found.boxes[kept], tuple(names[i] for i in classes), found.scores[kept])
