"""COCO's matching in columns: which detections are right at each IoU and object size. As pycocotools has it.

Detections go by descending score and take the best truth that is left; a truth that does not count (a crowd region, or
one outside the range of sizes) is taken only where no other is there, and a crowd region is never used up. Since every
truth prefers the same detection, the one that comes first, this is the one stable matching, and is found for all
pictures, classes and thresholds at once: each detection asks its favourites in turn, each truth keeps the first comer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.tables import Pairs
from snellen.scoring.overlaps import ordered_by, pairs_of, sides

THRESHOLDS: Float = np.linspace(0.5, 0.95, 10)
"""IoU .50:.05:.95, as pycocotools makes them."""
AREAS: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""px^2 of the picture as a person sees it; both ends belong."""

WRONG, RIGHT, IGNORED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class CocoMatches:
    """Detections within the limit, by class and best score first, and what became of each.

    rows: int (n,), rows of the predictions. starts: int (classes + 1,), where each class starts. standing: int (n,),
    place in the order of scores over all classes. rank: int (n,), place among those of the same picture and class.
    partner: int (thresholds, n), row of the truth taken in the range of all sizes, or -1. state: int8 (areas,
    thresholds, n): WRONG, RIGHT or IGNORED. counts: bool (areas, truths), whether a truth counts in that range.
    """

    rows: Int
    starts: Int
    standing: Int
    rank: Int
    partner: NDArray[np.int32]
    state: NDArray[np.int8]
    counts: Bool


def filled(scores: Float | None, n: int) -> Float:
    """Scores with 1.0 for every missing one: float64 (n,)."""
    return np.ones(n) if scores is None else np.where(np.isnan(scores), 1.0, scores)


def coco_matches(
    truth: BoxTable,
    predicted: BoxTable,
    *,
    max_dets: int = 500,
    order: Int | None = None,
    pairs: Pairs | None = None,
    sizes: bool = True,
) -> CocoMatches:
    """Matches `predicted` to `truth` at every threshold and, with `sizes`, for every range of sizes.

    order: all rows of `predicted`, in the order that decides between equal scores (default: by picture, then as
    listed, as pycocotools has it); it drives matching, the limit of `max_dets` per picture and class, and ranking
    alike. pairs: those with pycocotools' rounding, where they are known. Labels outside the taxonomy take no part.
    """
    listed = ordered_by(predicted.image) if order is None else order
    listed = listed[by_score(filled(predicted.scores, len(predicted))[listed])]
    listed = listed[predicted.label[listed] >= 0]
    rank = _rank_within(predicted.image[listed] * len(predicted.classes) + predicted.label[listed])
    listed, rank = listed[rank < max_dets], rank[rank < max_dets]
    standing = ordered_by(predicted.label[listed])
    rows, rank = listed[standing], rank[standing]
    starts = np.searchsorted(predicted.label[rows], np.arange(len(predicted.classes) + 1))
    place = np.full(len(predicted), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))

    known = pairs_of(truth, predicted, same_label=True, as_coco=True) if pairs is None else pairs
    known = known.take(truth.label[known.truth] == predicted.label[known.predicted])
    edges = _Edges.of(known, place, truth.crowd)
    areas = list(AREAS.values()) if sizes else [AREAS["all"]]
    counts = np.stack([(truth.area >= low) & (truth.area <= high) & ~truth.crowd for low, high in areas])
    counts &= truth.label >= 0
    width, height = sides(predicted.boxes).T
    area = (width * height)[rows]
    state = np.empty((len(areas), len(THRESHOLDS), len(rows)), dtype=np.int8)
    partner = edges.match(counts[0], len(rows))
    matched = np.flatnonzero(partner >= 0)
    taken = partner.reshape(-1)[matched]
    for a, (low, high) in enumerate(areas):
        alone = ((area < low) | (area > high)).astype(np.int8) * IGNORED  # else WRONG
        became = np.where(counts[a], RIGHT, IGNORED).astype(np.int8)
        state[a] = alone
        state[a].reshape(-1)[matched] = became[taken]
        if a:
            dets, found = edges.rematch(counts[0], counts[a])
            state[a][:, dets] = np.where(found < 0, alone[dets], became[found])
    return CocoMatches(rows, starts, standing, rank, partner, state, counts)


def by_score(scores: Float) -> Int:
    """Best first, as listed where scores tie: `argsort(-scores, kind="stable")` by numpy's faster sorts."""
    order = np.argsort(-scores)
    new = scores[order[1:]] != scores[order[:-1]]
    if new.all():
        return order
    return np.sort(np.append(0, np.cumsum(new)) * len(order) + order) % len(order)


def _rank_within(group: Int) -> Int:
    """The place of each item among those of its group, in the order given."""
    order = ordered_by(group)
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(first, append=len(group)))
    return rank


@dataclass(frozen=True, eq=False)
class _Edges:
    """Pairs that may be matched: detection by its place in the ranking, truth by its row.

    level: how many thresholds the IoU reaches. Sorted by detection, then by preference in the absence of truths that
    do not count: largest IoU first, of equal ones the last truth listed. The first `plain` edges are the only ones of
    both their ends; the others are contested.
    """

    det: Int
    truth: Int
    iou: Float
    level: Int
    crowd: Bool
    plain: int

    @classmethod
    def of(cls, pairs: Pairs, place: Int, crowd: Bool) -> _Edges:
        pairs = pairs.take((pairs.iou >= THRESHOLDS[0]) & (place[pairs.predicted] >= 0))
        det, truth = place[pairs.predicted], pairs.truth
        alone = (np.bincount(det)[det] == 1) & (np.bincount(truth)[truth] == 1) if len(det) else np.zeros(0, np.bool_)
        contested = np.flatnonzero(~alone)
        contested = contested[np.lexsort((-truth[contested], -pairs.iou[contested], det[contested]))]
        order = np.concatenate([np.flatnonzero(alone), contested])
        level = np.searchsorted(THRESHOLDS, pairs.iou[order], side="right")
        return cls(det[order], truth[order], pairs.iou[order], level, crowd[truth[order]], int(alone.sum()))

    def match(self, counts: Bool, n: int) -> NDArray[np.int32]:
        """The truth that each of `n` detections takes at each threshold: int32 (thresholds, n), -1 for none."""
        partner = np.full((len(THRESHOLDS), n), -1, dtype=np.int32)
        for t in range(len(THRESHOLDS)):
            sure = np.flatnonzero(self.level[: self.plain] > t)
            partner[t, self.det[sure]] = self.truth[sure]
        dets, found = self._settle(np.arange(self.plain, len(self.det)), counts)
        partner[:, dets] = found
        return partner

    def rematch(self, before: Bool, counts: Bool) -> tuple[Int, Int]:
        """What changes where only truths marked in `counts` count, not those in `before`: detections, and the truth
        that each takes at each threshold.

        Only what hangs together with a detection whose preferences change is matched again.
        """
        rest = slice(self.plain, None)
        det, truth = self.det[rest], self.truth[rest]
        size = int(det.max(initial=-1)) + 1
        changed = np.bincount(det, before[truth] & ~counts[truth], size) > 0
        mixed = np.bincount(det, ~before[truth] | counts[truth], size) > 0
        touched = (changed & mixed)[det]
        if touched.any():
            touched = _spread(touched, det, truth)
        return self._settle(self.plain + np.flatnonzero(touched), counts)

    def _settle(self, edges: Int, counts: Bool) -> tuple[Int, Int]:
        """The matching of the contested `edges`: detections, and the truth that each takes (thresholds, detections)."""
        dets, det = np.unique(self.det[edges], return_inverse=True)
        partner = np.full((len(THRESHOLDS), len(dets)), -1, dtype=np.int64)
        if not len(edges):
            return dets, partner
        last = ~counts[self.truth[edges]]
        order = np.argsort(det * 2 + last, kind="stable")
        edges, det = edges[order], det[order]
        step, place = np.nonzero(self.level[edges] > np.arange(len(THRESHOLDS))[:, None])
        edges, det = edges[place], det[place]
        asks = step * len(dets) + det
        found = _first_come(asks, step * len(counts) + self.truth[edges], det, self.crowd[edges])
        partner.reshape(-1)[asks[found]] = self.truth[edges[found]]
        return dets, partner


def _spread(touched: Bool, det: Int, truth: Int) -> Bool:
    """All edges that hang together with the touched ones."""
    while True:
        before = int(touched.sum())
        for ends in (det, truth):
            mask = np.zeros(int(ends.max()) + 1, dtype=np.bool_)
            mask[ends[touched]] = True
            touched = mask[ends]
        if int(touched.sum()) == before:
            return touched


def _first_come(asker: Int, asked: Int, rank: Int, unlimited: Bool) -> Int:
    """The accepted edges, where each asker asks in the order of its edges and each asked one keeps the lowest rank.

    Edges of one asker stand together. The asked one of an `unlimited` edge accepts everybody.
    """
    starts = np.flatnonzero(np.concatenate([[True], asker[1:] != asker[:-1]]))
    ends = np.concatenate([starts[1:], [len(asker)]])
    asked = np.unique(asked, return_inverse=True)[1]
    holder = np.full(int(asked.max()) + 1, -1, dtype=np.int64)  # who is held, by place in `starts`
    best = np.full(len(holder), np.iinfo(np.int64).max)
    at = starts.copy()
    active = np.arange(len(starts))
    while len(active):
        edge = at[active]
        free = unlimited[edge]
        bidders, bids = active[~free], edge[~free]
        order = np.argsort(-rank[bids], kind="stable")
        bidders, bids = bidders[order], bids[order]
        goal = asked[bids]
        better = rank[bids] < best[goal]
        ousted = holder[np.unique(goal[better])]
        best[goal[better]] = rank[bids[better]]  # written in descending rank: the lowest one stays
        holder[goal[better]] = bidders[better]
        lost = np.concatenate([bidders[holder[goal] != bidders], ousted[ousted >= 0]])
        at[lost] += 1
        active = lost[at[lost] < ends[lost]]
    return at[at < ends]
