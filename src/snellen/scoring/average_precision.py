"""COCO's average precision (AP) and recall (AR). PROTOCOLS section 2, Metric.

`point_ap` is the seam over what computes it: our own matching in columns (the fastest, the default), hotcoco and
pycocotools (the reference).
At most `max_dets` detections count per picture *and class*; figures are read from the precision array, since
pycocotools prints -1 when 100 is not among its limits. A class without truth is left out of the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.detections import BoxTable, Float, Int
from snellen.core.errors import NotInstalledError, ShapeError
from snellen.core.estimates import Measure
from snellen.core.tables import Pairs, Tables
from snellen.scoring.coco_matching import AREAS, RIGHT, THRESHOLDS, CocoMatches, coco_matches, filled
from snellen.scoring.curves import RECALLS, Ranking, Runs, ranking, whole
from snellen.scoring.overlaps import sides
from snellen.scoring.sums import Sums, over
from snellen.scoring.tabulation import boxes_of

Backend: TypeAlias = Literal["columns", "hotcoco", "pycocotools"]


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
    truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500, backend: Backend = "columns"
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
    return AveragePrecision(truth.classes, limits, precision, recall)


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
    return np.concatenate([boxes[:, :2], sides(boxes)], axis=1)


def _columns(truth: BoxTable, predicted: BoxTable, known: Any, limits: tuple[int, ...]) -> tuple[Float, Float]:
    matches = coco_matches(truth, predicted, max_dets=limits[-1])
    shape = len(THRESHOLDS), len(truth.classes), len(AREAS)
    precision, recall = np.full((shape[0], len(RECALLS), *shape[1:]), -1.0), np.full((*shape, len(limits)), -1.0)
    truths = np.stack([np.bincount(truth.label[counts], minlength=shape[1]) for counts in matches.counts], axis=1)
    for k, a in np.argwhere(truths > 0).tolist():
        mine = slice(*matches.starts[k : k + 2])
        state, rank = matches.state[a, :, mine], matches.rank[mine]
        iou, place = np.divmod(np.flatnonzero(state == RIGHT), len(rank))
        for i, limit in enumerate(limits):
            recall[:, k, a, i] = np.bincount(iou[rank[place] < limit], minlength=shape[0]) / truths[k, a]
        for i, runs in enumerate(Runs.of(state)):
            precision[i, :, k, a] = runs.at_recalls(truths[k, a])
    return precision, recall


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
    return _of_tool(evaluation)


def _pycocotools(truth: BoxTable, predicted: BoxTable, known: Any, limits: tuple[int, ...]) -> tuple[Float, Float]:
    import contextlib
    import io

    try:
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval
    except ImportError:
        raise NotInstalledError.of("pycocotools", "test") from None

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
    return _of_tool(evaluation)


def _of_tool(evaluation: Any) -> tuple[Float, Float]:
    """Precision at the largest limit, and recall. The tools add 2e-16 to every denominator: a single detection that is
    right would have precision 1 - 2e-16.
    """
    precision = evaluation.eval["precision"][..., -1]
    return np.where(precision > 1 - 1e-15, 1.0, precision), evaluation.eval["recall"]


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
_BACKENDS: Mapping[Backend, _Run] = {"columns": _columns, "hotcoco": _hotcoco, "pycocotools": _pycocotools}


def _mean(values: Float) -> float | None:
    present = values[values > -1]
    return float(present.mean()) if present.size else None


@dataclass(frozen=True, eq=False)
class ApMeasure:
    """AP and AR as functions of sample weights (a `Measure`), whole and per class.

    rankings: per class, one per range of sizes. early: per class, for each limit up to `max_dets`, the right detections
    of each sample among its first ones, mean over IoUs. matches: what it was made from.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    limits: tuple[int, ...]
    rankings: tuple[tuple[Ranking, ...], ...]
    early: tuple[Sums, ...]
    matches: CocoMatches

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        weights = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
        counted = whole(weights, max((len(each[0].sample) for each in self.rankings), default=0))
        curves = [[one(counted) for one in each] for each in self.rankings]
        shape = (len(curves), len(AREAS), len(THRESHOLDS), len(weights))
        precision = np.array([[c[0] for c in each] for each in curves]).reshape(shape)
        recall = np.array([[c[1] for c in each] for each in curves]).reshape(shape)
        early = self._early(weights)
        return summarised(precision, recall, early, classes=self.classes, limits=self.limits)

    def _early(self, weights: Float) -> Float:
        """Recall, mean over IoUs, of the first detections of each picture and class: (limits, classes, draws)."""
        found = np.empty((len(self.limits), len(self.classes), len(weights)))
        for k, (right, (every, *_)) in enumerate(zip(self.early, self.rankings, strict=True)):
            truths = np.broadcast_to(every.truths(weights).T, found[:, k].shape)
            found[:, k] = over(right(weights).T, truths)
        return found


def summarised(
    precision: Float, recall: Float, early: Float | Sequence[Float], *, classes: Sequence[str], limits: Sequence[int]
) -> dict[str, Float]:
    """Every figure from AP and final recall (classes, areas, IoUs, draws) and from recall at each limit (classes,
    draws): each (draws,), NaN where undefined.
    """
    found = {
        "ap": _over_classes(precision[:, 0].mean(axis=1)),
        "ap50": _over_classes(precision[:, 0, 0]),
        "ap75": _over_classes(precision[:, 0, 5]),
        **{f"ap_{area}": _over_classes(precision[:, a].mean(axis=1)) for a, area in enumerate(AREAS) if a},
        **{f"ar{limit}": _over_classes(values) for limit, values in zip(limits, early, strict=True)},
        "ar": _over_classes(recall[:, 0].mean(axis=1)),
        **{f"ar_{area}": _over_classes(recall[:, a].mean(axis=1)) for a, area in enumerate(AREAS) if a},
    }
    found |= {f"ap.{label}": precision[k, 0].mean(axis=0) for k, label in enumerate(classes)}
    return found | {f"ap50.{label}": precision[k, 0, 0] for k, label in enumerate(classes)}


def limits_of(max_dets: int) -> tuple[int, ...]:
    """The limits below or at `max_dets` for which recall is given."""
    return tuple(limit for limit in (1, 10, 100) if limit <= max_dets)


def measure(tables: Tables, *, max_dets: int = 500, seed: int = 0) -> Measure:
    """ap, ap50, ap75, ap and ar by size, ar1, ar10, ar100, ar (at `max_dets`), ap.<class>, ap50.<class>.

    Detections rank by score, in list order where scores tie. Where any score is absent, it counts as 1.0, and every
    figure is the expected one over random orders of the ties (`ties.expected`, seeded). The operating point plays no
    part.
    """
    truth, predicted = boxes_of(tables)
    if len(predicted) and (predicted.scores is None or np.isnan(predicted.scores).any()):
        from snellen.scoring.ties import expected

        return expected(truth, predicted, max_dets=max_dets, rng=np.random.default_rng(seed))
    return measure_of(truth, predicted, max_dets=max_dets, pairs=tables.pairs)


def measure_of(
    truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500, order: Int | None = None, pairs: Pairs | None = None
) -> ApMeasure:
    """The same from boxes in columns; `order` decides between equal scores (see `coco_matches`)."""
    matches = coco_matches(truth, predicted, max_dets=max_dets, order=order, pairs=pairs)
    limits = limits_of(max_dets)
    samples, among = predicted.image[matches.rows], matches.rank[:, None] < np.array(limits)
    rankings, early = [], []
    for k, (start, end) in enumerate(pairwise(matches.starts.tolist())):
        sample, state = samples[start:end], matches.state[:, :, start:end]
        mine = np.flatnonzero(truth.label == k)
        rankings.append(tuple(
            ranking(sample, state[a], truth.image[mine[matches.counts[a, mine]]]) for a in range(len(AREAS))
        ))  # fmt: skip
        right = (state[0] == RIGHT).sum(axis=0, dtype=np.int8)
        firsts = right[:, None] * among[start:end] / len(THRESHOLDS)
        early.append(Sums.sparse(sample, firsts, samples=len(truth.images)))
    nothing = np.zeros((len(truth.classes), len(AREAS), len(THRESHOLDS), 0))
    names = summarised(nothing, nothing, [nothing[:, 0, 0]] * len(limits), classes=truth.classes, limits=limits)
    return ApMeasure(tuple(names), truth.classes, limits, tuple(rankings), tuple(early), matches)


def _over_classes(values: Float) -> Float:
    """The mean over classes (axis 0) that are defined; NaN where none is."""
    defined = ~np.isnan(values)
    return over(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))
