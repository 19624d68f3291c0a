"""Which predicted boxes overlap which true ones: the pairs that every matching of boxes starts from.

The overlap with a crowd region is the share of the prediction that lies inside it. Where matches must be those of the
reference tools (`as_coco`), overlaps are computed as pycocotools' `bbIou` does, bit for bit, from corner and size:
whether a box of half the truth overlaps it by .5 or by .49999999999999994 must come out as it does there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.errors import ShapeError
from snellen.core.tables import Pairs

LEAST = 0.1
"""Pairs below this IoU are not kept: no matching, and no kind of error, looks at them (TIDE's background threshold)."""

_ALONE = 1024
"""A picture with this many pairs or more is broadcast by itself; smaller ones are gathered together."""
_TOGETHER = 1 << 18


def pairs_of(
    truth: BoxTable, predicted: BoxTable, *, same_label: bool = False, as_coco: bool = False, at_least: float = LEAST
) -> tuple[Pairs, Float]:
    """All pairs whose IoU is `at_least` so much, and per prediction its largest overlap with any truth.

    same_label: only pairs of one class (what is outside the taxonomy has none). as_coco: with pycocotools' rounding;
    else a box overlaps itself by exactly 1. Pairs are ordered by prediction, then truth. Both tables must speak of the
    same pictures: else ShapeError.
    """
    if truth.images != predicted.images:
        raise ShapeError(
            f"truth and predictions must speak of the same pictures, got {len(truth.images)} and "
            f"{len(predicted.images)}"
        )
    left, right = (_Sorted.of(table, same_label=same_label, as_coco=as_coco) for table in (predicted, truth))
    best = np.zeros(len(predicted))
    work = np.diff(left.starts) * np.diff(right.starts)
    found = [_broadcast(left, right, image, best, at_least) for image in np.flatnonzero(work >= _ALONE).tolist()]
    found += [_gathered(left, right, images, best, at_least) for images in _batches(work)]
    if not found:
        return Pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)), best
    every = Pairs(*(np.concatenate([getattr(part, name) for part in found]) for name in ("predicted", "truth", "iou")))
    return every.take(np.lexsort((every.truth, every.predicted))), best


def as_coco(pairs: Pairs, truth: BoxTable, predicted: BoxTable) -> Pairs:
    """Those of `pairs` whose IoU is at least `LEAST` with pycocotools' rounding, and that IoU."""
    left, right = (_Sorted.of(table, same_label=False, as_coco=True) for table in (predicted, truth))
    iou = _at(left, right, np.argsort(left.rows)[pairs.predicted], np.argsort(right.rows)[pairs.truth])
    kept = iou >= LEAST
    return Pairs(pairs.predicted[kept], pairs.truth[kept], iou[kept])


def sides(boxes: Float) -> Float:
    """Width and height of boxes, (n, 2), as the file they come from has them where that writes up to six decimals.

    A file's `x + width - x` is not quite its width; where it is a decimal but for rounding, it is that decimal.
    """
    plain = boxes[:, 2:] - boxes[:, :2]
    with np.errstate(over="ignore", invalid="ignore"):
        decimal = np.rint(plain * 1e6) / 1e6
        noise = 2 * np.finfo(np.float64).eps * np.maximum(np.abs(boxes[:, 2:]), np.abs(boxes[:, :2]))
        return np.where(np.abs(decimal - plain) <= noise, decimal, plain)


def ordered_by(group: Int) -> Int:
    """`argsort(group, kind="stable")`, by 16 bits at a time, which numpy does in linear time; nothing where sorted."""
    rows = np.arange(len(group))
    if np.all(group[1:] >= group[:-1]):
        return rows
    shifted = group - group.min()
    for shift in range(0, max(int(shifted.max()).bit_length(), 1), 16):
        digit = ((shifted[rows] >> shift) & 0xFFFF).astype(np.uint16)
        rows = rows[np.argsort(digit, kind="stable")]
    return rows


def parts_of(pairs: Pairs, predictions: int) -> Int:
    """Which predictions hang together through truths they share: for each the number of its part."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = predictions + (int(pairs.truth.max()) + 1 if len(pairs) else 0)
    graph = coo_array((np.ones(len(pairs)), (pairs.predicted, predictions + pairs.truth)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][:predictions], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Boxes in groups (a picture; or a class in a picture): their rows, where groups start, corners and areas."""

    rows: Int
    starts: Int
    x1: Float
    y1: Float
    x2: Float
    y2: Float
    area: Float
    crowd: Bool

    @classmethod
    def of(cls, table: BoxTable, *, same_label: bool, as_coco: bool) -> _Sorted:
        group, groups = table.image, len(table.images)
        if same_label:
            group, groups = group * len(table.classes) + table.label, groups * len(table.classes)
        rows = ordered_by(group)
        if same_label:
            rows = rows[table.label[rows] >= 0]
        starts = np.searchsorted(group[rows], np.arange(groups + 1))
        boxes = table.boxes[rows]
        x1, y1, x2, y2 = np.ascontiguousarray(boxes.T)
        width, height = np.ascontiguousarray(sides(boxes).T) if as_coco else (x2 - x1, y2 - y1)
        if as_coco:
            x2, y2 = x1 + width, y1 + height
        return cls(rows, starts, x1, y1, x2, y2, width * height, table.crowd[rows])


def _broadcast(left: _Sorted, right: _Sorted, image: int, best: Float, at_least: float) -> Pairs:
    """All pairs of one picture at once."""
    a = slice(left.starts[image], left.starts[image + 1])
    b = slice(right.starts[image], right.starts[image + 1])
    width = np.minimum(left.x2[a, None], right.x2[b])
    width -= np.maximum(left.x1[a, None], right.x1[b])
    np.maximum(width, 0.0, out=width)
    inter = np.minimum(left.y2[a, None], right.y2[b])
    inter -= np.maximum(left.y1[a, None], right.y1[b])
    np.maximum(inter, 0.0, out=inter)
    inter *= width
    union = np.add(left.area[a, None], right.area[b], out=width)
    union -= inter
    if right.crowd[b].any():
        union[:, right.crowd[b]] = left.area[a, None]
    iou = _ratio(inter, union)
    best[left.rows[a]] = iou.max(axis=1)
    p, t = np.nonzero(iou >= at_least)
    return Pairs(left.rows[a][p], right.rows[b][t], iou[p, t])


def _gathered(left: _Sorted, right: _Sorted, images: Int, best: Float, at_least: float) -> Pairs:
    """All pairs of many small pictures, laid end to end."""
    counts = np.diff(right.starts)[images]
    many = np.diff(left.starts)[images]
    p = _ranges(left.starts[images], many)
    per = np.repeat(counts, many)
    t = _ranges(np.repeat(right.starts[images], many), per)
    p = np.repeat(p, per)
    near = np.minimum(left.x2[p], right.x2[t]) > np.maximum(left.x1[p], right.x1[t])
    p, t = p[near], t[near]  # most pairs of a picture stand beside each other
    iou = _at(left, right, p, t)
    np.maximum.at(best, left.rows[p], iou)
    kept = np.flatnonzero(iou >= at_least)
    return Pairs(left.rows[p[kept]], right.rows[t[kept]], iou[kept])


def _at(left: _Sorted, right: _Sorted, p: Int, t: Int) -> Float:
    """IoU of the boxes at the places `p` and `t`."""
    width = np.minimum(left.x2[p], right.x2[t]) - np.maximum(left.x1[p], right.x1[t])
    height = np.minimum(left.y2[p], right.y2[t]) - np.maximum(left.y1[p], right.y1[t])
    inter = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    area = left.area[p]
    return _ratio(inter, np.where(right.crowd[t], area, area + right.area[t] - inter))


def _ratio(inter: Float, union: Float) -> Float:
    """IoU; 0 where boxes do not overlap, whatever the union. Boxes that are inverted never overlap anything."""
    np.maximum(union, np.finfo(np.float64).tiny, out=union)
    return np.asarray(np.divide(inter, union, out=inter))


def _ranges(starts: Int, counts: Int) -> Int:
    """`start, start + 1, ...` of each pair of start and count, laid end to end."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts))


def _batches(work: Int) -> Iterator[Int]:
    """Pictures with few pairs, in groups of bounded work."""
    small = np.flatnonzero((work > 0) & (work < _ALONE))
    if len(small):
        yield from np.split(small, np.flatnonzero(np.diff(np.cumsum(work[small]) // _TOGETHER)) + 1)
