"""COCO's average precision (AP) and recall (AR). PROTOCOLS section 2, Metric.

`point_ap` is the seam over the tools that compute it: hotcoco (fast, the default) and pycocotools (the reference).
At most `max_dets` detections count per picture *and class*; figures are read from the precision array, since
pycocotools prints -1 when 100 is not among its limits. A class without truth is left out of the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.detections import BoxTable, Float
from snellen.core.errors import ShapeError

THRESHOLDS: Float = np.linspace(0.5, 0.95, 10)
"""IoU .50:.05:.95, as pycocotools makes them."""
RECALLS: Float = np.linspace(0.0, 1.0, 101)
AREAS: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""px^2 of the picture as a person sees it; both ends belong."""

Backend: TypeAlias = Literal["hotcoco", "pycocotools"]


@dataclass(frozen=True, eq=False)
class AveragePrecision:
    """AP and AR of one set of predictions.

    precision: (10 IoUs, 101 recalls, classes, 4 areas), -1 for a class without truth in that area. recall: (10 IoUs,
    classes, 4 areas, limits). limits: detections per picture and class, ascending; the last one is `max_dets`.
    """

    classes: tuple[str, ...]
    limits: tuple[int, ...]
    precision: Float
    recall: Float

    @property
    def summary(self) -> dict[str, float | None]:
        """ap, ap50, ap75, ap_small, ap_medium, ap_large, ar1, ar10, ar100, ar (at `max_dets`) and ar by size.

        None where no class has a truth.
        """
        p, r = self.precision, self.recall
        found = {
            "ap": _mean(p[:, :, :, 0]),
            "ap50": _mean(p[0, :, :, 0]),
            "ap75": _mean(p[5, :, :, 0]),
            **{f"ap_{area}": _mean(p[:, :, :, a]) for a, area in enumerate(AREAS) if a},
            **{f"ar{limit}": _mean(r[:, :, 0, i]) for i, limit in enumerate(self.limits) if limit in (1, 10, 100)},
            "ar": _mean(r[:, :, 0, -1]),
        }
        return found | {f"ar_{area}": _mean(r[:, :, a, -1]) for a, area in enumerate(AREAS) if a}

    @property
    def per_class(self) -> dict[str, dict[str, float | None]]:
        """ap, ap50 and ar of each class; None for a class without truth."""
        return {
            name: {
                "ap": _mean(self.precision[:, :, k, 0]),
                "ap50": _mean(self.precision[0, :, k, 0]),
                "ar": _mean(self.recall[:, k, 0, -1]),
            }
            for k, name in enumerate(self.classes)
        }


def point_ap(
    truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500, backend: Backend = "hotcoco"
) -> AveragePrecision:
    """AP of `predicted` against `truth`, in list order where scores tie.

    A missing score counts as 1.0 (as RF100-VL's paper does). Predictions outside the taxonomy (label -1) have no
    class and are left out, as pycocotools leaves them out: count them elsewhere. Ids play no part.
    """
    if truth.images != predicted.images or truth.classes != predicted.classes:
        raise ShapeError("truth and predictions must have the same pictures and classes")
    limits = tuple(sorted({limit for limit in (1, 10, 100) if limit < max_dets} | {max_dets}))
    known = np.flatnonzero(predicted.label >= 0)
    if not len(known):
        return _nothing(truth, limits)
    precision, recall = _BACKENDS[backend](truth, predicted, known, limits)
    return AveragePrecision(truth.classes, limits, precision[..., -1], recall)


def filled(scores: Float | None, n: int) -> Float:
    """Scores with 1.0 for every missing one: float64 (n,)."""
    return np.ones(n) if scores is None else np.where(np.isnan(scores), 1.0, scores)


def _nothing(truth: BoxTable, limits: tuple[int, ...]) -> AveragePrecision:
    """The result without any prediction: 0 wherever there is a truth."""
    counted = np.flatnonzero((truth.label >= 0) & ~truth.crowd)
    exists = np.zeros((len(truth.classes), len(AREAS)), dtype=np.bool_)
    for a, (low, high) in enumerate(AREAS.values()):
        inside = (truth.area[counted] >= low) & (truth.area[counted] <= high)
        exists[truth.label[counted[inside]], a] = True
    value = np.where(exists, 0.0, -1.0)
    shape = (len(THRESHOLDS), *value.shape)
    return AveragePrecision(
        truth.classes,
        limits,
        np.broadcast_to(value, (shape[0], len(RECALLS), *value.shape)),
        np.repeat(np.broadcast_to(value, shape)[..., None], len(limits), axis=3),
    )


def _xywh(boxes: Float) -> Float:
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)


def _hotcoco(truth: BoxTable, predicted: BoxTable, known: Any, limits: tuple[int, ...]) -> tuple[Float, Float]:
    import hotcoco

    labelled = np.flatnonzero(truth.label >= 0)
    images = [{"id": i, "file_name": "", "width": 0, "height": 0} for i in range(1, len(truth.images) + 1)]
    reference = hotcoco.COCO.from_arrays(
        images,
        [{"id": k + 1, "name": name} for k, name in enumerate(truth.classes)],
        truth.image[labelled] + 1,
        truth.label[labelled] + 1,
        _xywh(truth.boxes[labelled]),
        area=truth.area[labelled],
        iscrowd=truth.crowd[labelled],
    )
    scores = filled(predicted.scores, len(predicted))[known]
    columns = (predicted.image[known] + 1, _xywh(predicted.boxes[known]), scores, predicted.label[known] + 1)
    evaluation = hotcoco.COCOeval(reference, reference.load_res(np.column_stack(columns)), "bbox")
    evaluation.params.max_dets = list(limits)
    evaluation.evaluate()
    evaluation.accumulate()
    result: Any = evaluation.eval
    return result["precision"], result["recall"]


def _pycocotools(truth: BoxTable, predicted: BoxTable, known: Any, limits: tuple[int, ...]) -> tuple[Float, Float]:
    import contextlib
    import io

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    scores = filled(predicted.scores, len(predicted))
    with contextlib.redirect_stdout(io.StringIO()):
        reference, found = COCO(), COCO()
        images = [{"id": i + 1} for i in range(len(truth.images))]
        categories = [{"id": k + 1, "name": name} for k, name in enumerate(truth.classes)]
        reference.dataset = {
            "images": images,
            "categories": categories,
            "annotations": _annotations(truth, np.flatnonzero(truth.label >= 0)),
        }
        found.dataset = {
            "images": images,
            "categories": categories,
            "annotations": [
                {**row, "area": row["bbox"][2] * row["bbox"][3], "iscrowd": 0, "score": float(scores[i])}
                for row, i in zip(_annotations(predicted, known), known.tolist(), strict=True)
            ],
        }
        reference.createIndex()
        found.createIndex()
        evaluation = COCOeval(reference, found, "bbox")
        evaluation.params.maxDets = list(limits)
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation.eval["precision"], evaluation.eval["recall"]


def _annotations(table: BoxTable, rows: Any) -> list[dict[str, Any]]:
    boxes = _xywh(table.boxes).tolist()
    return [
        {
            "id": n + 1,
            "image_id": int(table.image[i]) + 1,
            "category_id": int(table.label[i]) + 1,
            "bbox": boxes[i],
            "area": float(table.area[i]),
            "iscrowd": int(table.crowd[i]),
        }
        for n, i in enumerate(rows.tolist())
    ]


_Run: TypeAlias = Callable[[BoxTable, BoxTable, Any, tuple[int, ...]], tuple[Float, Float]]
_BACKENDS: Mapping[Backend, _Run] = {"hotcoco": _hotcoco, "pycocotools": _pycocotools}


def _mean(values: Float) -> float | None:
    present = values[values > -1]
    return float(present.mean()) if present.size else None
