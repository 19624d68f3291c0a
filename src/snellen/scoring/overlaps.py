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

_TOGETHER = 1 << 18
"""Pairs of boxes looked at together: what of them fits the processor's second cache."""


def pairs_of(
    truth: BoxTable, predicted: BoxTable, *, same_label: bool = False, as_coco: bool = False, at_least: float = LEAST
) -> Pairs:
    """All pairs that overlap by `at_least` so much (0: at all), ordered by prediction, then truth.

    same_label: only pairs of one class (what is outside the taxonomy has none). as_coco: with pycocotools' rounding;
    else a box overlaps itself by exactly 1. Both tables must speak of the same pictures: else ShapeError.
    """
    if truth.images != predicted.images:
        raise ShapeError(
            f"truth and predictions must speak of the same pictures, got {len(truth.images)} and "
            f"{len(predicted.images)}"
        )
    first, second = (_Columns.of(table, as_coco=as_coco) for table in (predicted, truth))
    left, right = _Pictures.of(predicted, first), _Pictures.of(truth, second)
    found = []
    for pictures in batches(np.diff(left.starts), np.diff(right.starts)):
        p, t = _near(left, right, pictures)
        if same_label:
            same = (predicted.label[p] == truth.label[t]) & (truth.label[t] >= 0)
            p, t = p[same], t[same]
        iou = _iou(first, second, p, t)
        kept = np.flatnonzero((iou >= at_least) & (iou > 0))
        found.append((p[kept], t[kept], iou[kept]))
    every = _joined(found)
    place = every.predicted * len(truth) + every.truth
    return every if np.all(place[1:] > place[:-1]) else every.take(np.argsort(place))


def alike(table: BoxTable, *, above: float) -> Pairs:
    """Pairs of boxes of one picture and class that overlap by more than `above`, each once. `predicted` and `truth` are
    both rows of `table`, the box that starts further left first.

    Such boxes start within 1 - `above` of the left one's width: from left to right, the next few are all to look at.
    """
    c = _Columns.of(table, as_coco=False)
    rows = np.argsort(c.x1)
    group = table.image * len(table.classes) + table.label
    rows = rows[ordered_by(group[rows])]
    rows = rows[table.label[rows] >= 0]
    group, start = group[rows], c.x1[rows]
    reach = start + (1 - above) * (1 + 1e-6) * (c.x2[rows] - start)  # and a little more, for rounding
    found, left, step = [], np.arange(len(rows) - 1), 1
    while len(left):
        left = left[(group[left + step] == group[left]) & (start[left + step] <= reach[left])]
        p, t = rows[left], rows[left + step]
        iou = _iou(c, c, p, t)
        kept = np.flatnonzero(iou > above)
        found.append((p[kept], t[kept], iou[kept]))
        step += 1
        left = left[left < len(rows) - step]
    return _joined(found)


def largest(pairs: Pairs, predictions: int) -> Float:
    """The largest IoU of each prediction, 0 where it has no pair. Pairs stand by prediction."""
    best = np.zeros(predictions)
    first = np.flatnonzero(np.diff(pairs.predicted, prepend=-1))
    if len(first):
        best[pairs.predicted[first]] = np.maximum.reduceat(pairs.iou, first)
    return best


def as_coco(pairs: Pairs, truth: BoxTable, predicted: BoxTable) -> Pairs:
    """Those of `pairs` whose IoU is at least `LEAST` with pycocotools' rounding, and that IoU."""
    first, second = (_Columns.of(table, as_coco=True) for table in (predicted, truth))
    iou = _iou(first, second, pairs.predicted, pairs.truth)
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
class _Pictures:
    """Boxes by picture: their rows, and where in these each picture starts."""

    rows: Int
    starts: Int
    columns: _Columns

    @classmethod
    def of(cls, table: BoxTable, columns: _Columns) -> _Pictures:
        rows = ordered_by(table.image)
        return cls(rows, np.searchsorted(table.image[rows], np.arange(len(table.images) + 1)), columns)

    def padded(self, pictures: Int) -> tuple[Int, Float, Float, Float, Float]:
        """The rows of these pictures, x1, y1, x2 and y2, each (pictures, most); x1 is infinite beyond a picture's last
        box, so that what stands there overlaps nothing.
        """
        rows, there = padded(self.rows, self.starts, pictures)
        c = self.columns
        return rows, np.where(there, c.x1[rows], np.inf), c.y1[rows], c.x2[rows], c.y2[rows]


def padded(rows: Int, starts: Int, pictures: Int) -> tuple[Int, Bool]:
    """The rows of these pictures, (pictures, most), and whether each is there: others fill up what it has less."""
    counts = np.diff(starts)[pictures, None]
    place = np.arange(counts.max())
    return np.take(rows, starts[pictures, None] + place, mode="clip"), place < counts


def _near(left: _Pictures, right: _Pictures, pictures: Int) -> tuple[Int, Int]:
    """The rows of all pairs in these pictures that overlap at all."""
    p, *a = left.padded(pictures)
    t, *b = right.padded(pictures)
    near = a[0][:, :, None] < b[2][:, None]
    near &= a[2][:, :, None] > b[0][:, None]
    near &= a[1][:, :, None] < b[3][:, None]
    near &= a[3][:, :, None] > b[1][:, None]
    place = np.flatnonzero(near)
    row = place // t.shape[1]  # of `p`, laid end to end
    return p.reshape(-1)[row], t[row // p.shape[1], place - row * t.shape[1]]


@dataclass(frozen=True, eq=False)
class _Columns:
    """Corners and areas of boxes, each (n,), and which are crowd regions."""

    x1: Float
    y1: Float
    x2: Float
    y2: Float
    area: Float
    crowd: Bool

    @classmethod
    def of(cls, table: BoxTable, *, as_coco: bool) -> _Columns:
        x1, y1, x2, y2 = np.ascontiguousarray(table.boxes.T)
        width, height = np.ascontiguousarray(sides(table.boxes).T) if as_coco else (x2 - x1, y2 - y1)
        if as_coco:
            x2, y2 = x1 + width, y1 + height
        return cls(x1, y1, x2, y2, width * height, table.crowd)


def _iou(a: _Columns, b: _Columns, p: Int, t: Int) -> Float:
    """IoU of the boxes `p` with the boxes `t`; 0 where they do not overlap, whatever their union. Boxes that are
    inverted never overlap anything.
    """
    width = np.minimum(a.x2[p], b.x2[t]) - np.maximum(a.x1[p], b.x1[t])
    height = np.minimum(a.y2[p], b.y2[t]) - np.maximum(a.y1[p], b.y1[t])
    inter = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    area = a.area[p]
    union = np.where(b.crowd[t], area, area + b.area[t] - inter)
    return np.asarray(inter / np.maximum(union, np.finfo(np.float64).tiny))


def _joined(parts: list[tuple[Int, Int, Float]]) -> Pairs:
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    return Pairs(*(np.concatenate(each) for each in zip(nothing, *parts, strict=True)))


def batches(left: Int, right: Int) -> Iterator[Int]:
    """Pictures that have both, those of like size together, in parts of bounded work. left, right: what each has."""
    some = np.flatnonzero((left > 0) & (right > 0))
    size = np.frexp(left)[1]  # to the next power of two
    some = some[np.lexsort((right[some], size[some]))]
    if len(some):
        work = np.cumsum(2.0 ** size[some] * right[some]) // _TOGETHER
        yield from np.split(some, np.flatnonzero(np.diff(work)) + 1)
