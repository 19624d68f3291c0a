"""What encloses AP over all orders of equal scores, per class and IoU.

Whatever the order, the detections down to some score are matched before all others; so the number of right ones among
them lies between that of a smallest and a largest maximal matching. Best: as many are right as can be, and they come
first among their equals. Worst: as few as can be, and they come last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.tables import Pairs
from snellen.scoring.coco_matching import RIGHT, THRESHOLDS, WRONG, CocoMatches, filled
from snellen.scoring.curves import area_under
from snellen.scoring.overlaps import pairs_of, parts_of


@dataclass(frozen=True, eq=False)
class _Knot:
    """Detections of one class whose matches may depend on the order of ties, best score first.

    step: which group of equal scores each belongs to. wanted: per detection its truths with their IoU, favourite first.
    crowd: per detection its share inside a crowd region (then it is never wrong). limit: how many of them count.
    cut: whether the limit falls among equal scores.
    """

    step: Sequence[int]
    wanted: Sequence[Sequence[tuple[int, float]]]
    crowd: Sequence[float]
    limit: int
    cut: bool

    def tally(self, least: float, sums: Float) -> None:
        """Adds to `sums` (fewest right, most right, fewest wrong, most wrong; steps) what changes at each step."""
        wanted = [[g for g, iou in each if iou >= least] for each in self.wanted]
        favourites = [each[0] for each in wanted if each]
        settled = len(set(favourites)) == len(favourites) and not self.cut
        holder: dict[int, int] = {}
        most = excused = 0
        before = np.zeros(4)
        for i, each in enumerate(wanted):
            most += _augment(i, wanted, holder, set()) if each else 0
            excused += self.crowd[i] >= least
            if i + 1 < len(wanted) and self.step[i + 1] == self.step[i]:
                continue
            kept = min(i + 1, self.limit)
            high = min(most, kept)
            low = high if settled else 0 if self.cut else (most + 1) // 2
            plain = max(0, kept - excused)
            worst = kept if self.cut else plain - max(0, low - excused)
            now = np.array([low, high, max(0, plain - high), worst], dtype=np.float64)
            sums[:, self.step[i]] += now - before
            before = now


def _augment(i: int, wanted: Sequence[Sequence[int]], holder: dict[int, int], seen: set[int]) -> bool:
    """Whether detection `i` finds a truth in a largest matching (Kuhn's augmenting paths)."""
    for g in wanted[i]:
        if g not in seen:
            seen.add(g)
            if g not in holder or _augment(holder[g], wanted, holder, seen):
                holder[g] = i
                return True
    return False


def bounds(
    truth: BoxTable, predicted: BoxTable, listed: CocoMatches, *, max_dets: int
) -> tuple[float | None, float | None]:
    """`order_min` and `order_max` of AP; None where no class has a truth. listed: the matching in list order."""
    pairs = pairs_of(truth, predicted, same_label=True, as_coco=True)
    pairs = pairs.take(pairs.iou >= THRESHOLDS[0])
    scores = filled(predicted.scores, len(predicted))
    cut = _cut_among_ties(predicted, scores, max_dets)
    kept = cut.copy()
    kept[listed.rows] = True
    pairs = pairs.take(kept[pairs.predicted])
    label, truths = (
        predicted.label[listed.rows],
        np.bincount(truth.label[listed.counts[0]], minlength=len(truth.classes)),
    )
    step = np.zeros(len(predicted), dtype=np.int64)
    areas = []
    for k in np.flatnonzero(truths).tolist():
        mine = np.flatnonzero(kept & (predicted.label == k))
        levels, step[mine] = np.unique(-scores[mine], return_inverse=True)
        own = pairs.take(predicted.label[pairs.predicted] == k)
        knots, knotted = _knots(own, predicted, truth, mine, step, cut, max_dets)
        at = np.flatnonzero((label == k) & ~knotted[listed.rows])
        areas.append(_areas(listed.state[0][:, at], step[listed.rows[at]], knots, len(levels), int(truths[k])))
    if not areas:
        return None, None
    low, high = np.mean(areas, axis=0)
    return float(low), float(high)


def _areas(state: NDArray[np.int8], step: Int, knots: Sequence[_Knot], steps: int, truths: int) -> tuple[float, float]:
    """The lowest and highest AP of one class, mean over IoUs."""
    low, high = [], []
    for t, least in enumerate(THRESHOLDS.tolist()):
        sums = np.zeros((4, steps))
        for row, what in enumerate((RIGHT, RIGHT, WRONG, WRONG)):
            sums[row] = np.bincount(step[state[t] == what], minlength=steps)
        for knot in knots:
            knot.tally(least, sums)
        fewest, most, fewest_wrong, most_wrong = np.cumsum(sums, axis=1)
        low.append(area_under(fewest, most_wrong, truths))
        high.append(area_under(most, np.append(0.0, fewest_wrong[:-1]), truths))
    return float(np.mean(low)), float(np.mean(high))


def _cut_among_ties(predicted: BoxTable, scores: Float, max_dets: int) -> Bool:
    """Detections of pictures and classes where the limit falls among equal scores: which of them count may change."""
    cut = np.zeros(len(predicted), dtype=np.bool_)
    group = predicted.image * len(predicted.classes) + predicted.label
    group = np.where(predicted.label >= 0, group, -1)
    values, counts = np.unique(group, return_counts=True)
    for value in values[(counts > max_dets) & (values >= 0)]:
        mine = np.flatnonzero(group == value)
        ranked = np.sort(-scores[mine])
        cut[mine] = ranked[max_dets - 1] == ranked[max_dets]
    return cut


def _knots(
    pairs: Pairs, predicted: BoxTable, truth: BoxTable, rows: Int, step: Int, cut: Bool, max_dets: int
) -> tuple[list[_Knot], Bool]:
    """The knots among the detections `rows` of one class, and which detections are in one."""
    part = parts_of(pairs.take(~truth.crowd[pairs.truth]), len(predicted))
    part = np.where(cut, len(predicted) + len(truth) + predicted.image, part)
    shared = np.unique(np.stack([part[rows], step[rows]]), axis=1, return_counts=True)
    unstable = np.unique(shared[0][0, shared[1] > 1])
    knotted = np.zeros(len(predicted), dtype=np.bool_)
    knotted[rows] = np.isin(part[rows], unstable) | cut[rows]
    wanted: dict[int, list[tuple[int, float]]] = defaultdict(list)
    crowd: dict[int, float] = defaultdict(float)
    ours = pairs.take(knotted[pairs.predicted])
    order = np.lexsort((-ours.truth, -ours.iou))
    for p, g, iou in zip(
        ours.predicted[order].tolist(), ours.truth[order].tolist(), ours.iou[order].tolist(), strict=True
    ):
        if truth.crowd[g]:
            crowd[p] = max(crowd[p], iou)
        else:
            wanted[p].append((g, iou))
    together: dict[int, list[int]] = defaultdict(list)
    for p in np.flatnonzero(knotted)[np.argsort(step[knotted], kind="stable")].tolist():
        together[int(part[p])].append(p)
    return [
        _Knot(step[rows].tolist(), [wanted[p] for p in rows], [crowd[p] for p in rows],
              max_dets if cut[rows[0]] else len(rows), bool(cut[rows[0]]))
        for rows in together.values()
    ], knotted  # fmt: skip
