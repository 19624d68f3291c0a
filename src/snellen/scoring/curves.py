"""Precision-recall curves under sample weights: AP of 1,000 resampled sets from one matching.

A curve's corners are where a run of right detections ends: only there can precision be highest, whatever the weights.
Sums of weights along the ranking are made once per class; a curve of any IoU reads them at the ends of its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Float, Int
from snellen.scoring.coco_matching import IGNORED, RIGHT
from snellen.scoring.sums import Sums

Weights: TypeAlias = NDArray[Any]
RECALLS: Float = np.linspace(0.0, 1.0, 101)
_CHUNK = 1 << 19
"""Running sums held at once: what stays near the processor."""
_LONG = 500
"""Corners from which a curve is long."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Where the runs of right detections start and end (exclusive) in a ranking.

    ignored: the detections that are neither right nor wrong; before: how many of them come before each end.
    """

    starts: Int
    ends: Int
    ignored: Int
    before: Int

    @classmethod
    def of(cls, state: NDArray[np.int8]) -> tuple[Runs, ...]:
        """Of each row of states of the detections in ranking order, (curves, n)."""
        curves, n = state.shape
        right = np.zeros((curves, n + 2), dtype=np.bool_)  # a detection that is wrong at either end
        right[:, 1:-1] = state == RIGHT
        edges = _by_row(np.flatnonzero(right.reshape(-1)[1:] != right.reshape(-1)[:-1]), right.shape)
        ignored = _by_row(np.flatnonzero(state == IGNORED), state.shape)
        pairs = zip(edges, ignored, strict=True)
        return tuple(cls(edge[0::2], edge[1::2], out, np.searchsorted(out, edge[1::2])) for edge, out in pairs)

    def at_recalls(self, truths: int) -> Float:
        """The best precision at each of 101 recalls of so many truths, or a higher one, where all weigh the same."""
        right = np.cumsum(self.ends - self.starts)
        best = np.append(np.maximum.accumulate((right / (self.ends - self.before))[::-1])[::-1], 0.0)
        return np.asarray(best[np.searchsorted(right / truths, RECALLS)])

    def __call__(self, ranked: Weights, sums: Weights) -> tuple[Weights, Weights]:
        """The weight of right detections, and of all that count, up to the end of each run: two (draws, runs) arrays.

        ranked: the weights in ranking order (draws, n). sums: their running sums, with 0 in front (draws, n + 1).
        """
        total = sums.take(self.ends, axis=1)
        right = total - sums.take(self.starts, axis=1)
        np.cumsum(right, axis=1, out=right)
        if len(self.ignored):
            total -= _running(ranked.take(self.ignored, axis=1)).take(self.before, axis=1)
        return right, total


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranked detections of one class in one range of sizes, with a curve per IoU.

    sample: int (n,), the sample of each detection. curves: one per IoU. truths: how many that count each sample holds,
    a column per kind; of: the kind that each curve is about.
    """

    sample: Int
    curves: tuple[Runs, ...]
    truths: Sums
    of: tuple[int, ...]

    def __call__(self, weights: Weights) -> tuple[Float, Float]:
        """AP and final recall at each IoU under each row of `weights` (draws, samples): two (curves, draws) arrays.

        NaN where the weighted set holds no truth. Fast where `weights` are `whole`. Unit weights give pycocotools'
        figures to rounding.
        """
        draws = len(weights)
        precision, recall = np.zeros((len(self.curves), draws)), np.zeros((len(self.curves), draws))
        truths = self.truths(weights).T
        step = max(1, _CHUNK // (len(self.sample) + 1))
        for start in range(0, draws if len(self.sample) else 0, step):
            part = slice(start, min(start + step, draws))
            ranked = weights[part].take(self.sample, axis=1)
            sums, below = _running(ranked), np.where(truths[:, part] > 0, truths[:, part], 1.0)[:, :, None]
            needed = [_needed(each) for each in below] if sums.dtype == np.int32 else []
            last = None
            for i, (runs, kind) in enumerate(zip(self.curves, self.of, strict=True)):
                if not len(runs.ends):
                    continue
                if runs is not last:
                    right, total = runs(ranked, sums)
                    last = runs
                recall[i, part] = right[:, -1] / below[kind, :, 0]
                if needed and len(runs.ends) > _LONG:
                    precision[i, part] = _at_recalls(right, total, needed[kind])
                else:
                    precision[i, part] = _at_corners(right, total, right / below[kind])
        undefined = ~(truths > 0)[list(self.of)]
        precision[undefined] = recall[undefined] = np.nan
        return precision, recall


def ranking(sample: Int, state: NDArray[np.int8], *truths: Int, of: Sequence[tuple[int, int]] | None = None) -> Ranking:
    """From each detection's sample and states (rows, n), best score first, and each truth's sample; detections that
    count in no row are left out. There is a curve for each row, or, with several kinds of truths, for each pair in `of`
    of a row and a kind.
    """
    counts = (state != IGNORED).any(axis=0)
    if not counts.all():
        sample, state = sample[counts], state[:, counts]
    most = max(int(each.max(initial=-1)) for each in truths) + 1
    held = np.stack([np.bincount(each, minlength=most) for each in truths], axis=1)
    some = np.flatnonzero(held.any(axis=1))
    each, kinds = zip(*(of or [(row, 0) for row in range(len(state))]), strict=True)
    runs = Runs.of(state)
    return Ranking(sample, tuple(runs[row] for row in each), Sums(some, held[some].astype(np.float64)), kinds)


def whole(weights: Float, terms: int) -> Weights:
    """`weights` as small integers where they are whole numbers: their running sums are exact, and ten times faster."""
    if weights.size and np.abs(weights).max() * max(terms, 1) < np.iinfo(np.int32).max:
        whole = weights.astype(np.int32)
        if np.array_equal(whole, weights):
            return whole
    return weights


def _running(values: Weights) -> Weights:
    """Running sums along each row, with 0 in front."""
    sums = np.empty((len(values), values.shape[1] + 1), dtype=values.dtype)
    sums[:, 0] = 0
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _by_row(places: Int, shape: tuple[int, int]) -> list[Int]:
    """Places in a flattened array of this shape, as places in each of its rows."""
    rows, width = shape
    cuts = np.searchsorted(places, np.arange(1, rows) * width)
    return [part - row * width for row, part in enumerate(np.split(places, cuts))]


def _at_corners(right: Weights, total: Weights, recall: Float) -> Float:
    """Mean over the 101 recalls of the best precision at that recall or a higher one, (draws,).

    Every corner counts as often as it is the first to reach one of the recalls.
    """
    best = np.maximum.accumulate(_precision(right, total)[:, ::-1], axis=1)[:, ::-1]
    step = np.minimum((recall * 100 + 1e-9).astype(np.intp), 100)
    reached = step + (RECALLS[step] <= recall)  # how many of the recalls are reached; the ladder is not quite even
    reached[:, 1:] -= reached[:, :-1].copy()
    return np.asarray(np.einsum("ij,ij->i", best, reached) / len(RECALLS))


def _at_recalls(right: Weights, total: Weights, needed: Float) -> Float:
    """The same for long curves of whole weights: the recalls are looked up in the curve, not the curve in the recalls.

    needed: the weight of right detections that reaches each recall (draws, 101).
    """
    rows, corners = right.shape
    precision = np.zeros(rows * corners + 1)  # rows end to end
    _precision(right, total, out=precision[:-1].reshape(right.shape))
    most = right[:, -1].max()
    needed = needed[:, : np.searchsorted(needed.min(axis=0), most, side="right")]  # the recalls that some row reaches
    top = int(max(most, needed[:, -1].max())) + 1
    lift = np.arange(0, rows * top, top, dtype=np.promote_types(right.dtype, np.min_scalar_type(-rows * top)))[:, None]
    at = np.searchsorted((right + lift).reshape(-1), (needed.astype(lift.dtype) + lift).reshape(-1))
    best = np.maximum.reduceat(precision, at).reshape(rows, -1)
    best[needed > right[:, -1:]] = 0.0
    return np.asarray(np.maximum.accumulate(best[:, ::-1], axis=1).sum(axis=1) / len(RECALLS))


def _needed(truths: Float) -> Float:
    """The least whole number that, divided by `truths` (draws, 1), reaches each of the 101 recalls: (draws, 101)."""
    needed = np.ceil(RECALLS * truths)
    needed -= (needed - 1) / truths >= RECALLS
    return np.asarray(needed + (needed / truths < RECALLS))


def _precision(right: Weights, total: Weights, out: Float | None = None) -> Float:
    """Their ratio; where nothing counts yet, nothing is right. `total` is used up."""
    np.maximum(total, 1 if total.dtype.kind == "i" else np.finfo(np.float64).tiny, out=total)
    return np.asarray(np.divide(right, total, out=out))


def area_under(right: Weights, wrong: Weights, truths: int) -> float:
    """AP of one curve given by points in ranking order: how many are right and wrong so far."""
    precision = right / np.maximum(right + wrong, np.finfo(np.float64).tiny)
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(best[np.searchsorted(right / truths, RECALLS)].mean())
