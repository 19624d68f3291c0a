"""Precision-recall curves under sample weights: AP of 1,000 resampled sets from one matching.

A curve's corners are where a run of right detections ends: only there can precision be highest, whatever the weights.
Sums of weights along the ranking are made once per class; a curve of any IoU reads them at the ends of its runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Float, Int
from snellen.scoring.coco_matching import IGNORED, RIGHT

Weights: TypeAlias = NDArray[Any]
RECALLS: Float = np.linspace(0.0, 1.0, 101)
_CHUNK = 1 << 15
"""Numbers worked on at once: what fits the processor's second cache."""
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
    def of(cls, state: np.ndarray[tuple[int], np.dtype[np.int8]]) -> Runs:
        """From the state of each detection in ranking order."""
        edge = np.flatnonzero(np.diff((state == RIGHT).astype(np.int8), prepend=0, append=0))
        ignored = np.flatnonzero(state == IGNORED)
        return cls(edge[0::2], edge[1::2], ignored, np.searchsorted(ignored, edge[1::2]))

    def __call__(self, ranked: Weights, sums: Weights) -> tuple[Float, Float]:
        """The weight of right detections, and of all that count, up to the end of each run: two (draws, runs) arrays.

        ranked: the weights in ranking order (draws, n). sums: their running sums, with 0 in front (draws, n + 1).
        """
        total = np.take(sums, self.ends, axis=1)
        right = np.cumsum(total - np.take(sums, self.starts, axis=1), axis=1, dtype=sums.dtype)
        if len(self.ignored):
            total -= np.take(_running(np.take(ranked, self.ignored, axis=1)), self.before, axis=1)
        return right.astype(np.float64), total.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranked detections of one class in one range of sizes, with a curve per IoU.

    sample: int (n,), the sample of each detection. curves: one per IoU. truth_samples, truth_counts: which samples hold
    how many truths that count.
    """

    sample: Int
    curves: tuple[Runs, ...]
    truth_samples: Int
    truth_counts: Float

    def __call__(self, weights: Weights) -> tuple[Float, Float]:
        """AP and final recall at each IoU under each row of `weights` (draws, samples): two (curves, draws) arrays.

        NaN where the weighted set holds no truth. Fast where `weights` are `whole`. Unit weights give pycocotools'
        figures to rounding.
        """
        draws = len(weights)
        precision, recall = np.zeros((len(self.curves), draws)), np.zeros((len(self.curves), draws))
        truths = weights[:, self.truth_samples] @ self.truth_counts
        step = max(1, _CHUNK // (len(self.sample) + 1))
        for start in range(0, draws if len(self.sample) else 0, step):
            part = slice(start, min(start + step, draws))
            ranked = np.take(weights[part], self.sample, axis=1)
            sums, all_truths = _running(ranked), np.where(truths[part] > 0, truths[part], 1.0)[:, None]
            for i, runs in enumerate(self.curves):
                if len(runs.ends):
                    right, total = runs(ranked, sums)
                    area = _each if len(runs.ends) > _LONG else _together
                    precision[i, part], recall[i, part] = area(right, total, right / all_truths)
        empty = ~(truths > 0)
        precision[:, empty] = recall[:, empty] = np.nan
        return precision, recall


def ranking(sample: Int, state: NDArray[np.int8], truths: Int) -> Ranking:
    """From each detection's sample and state (curves, n), best score first, and each truth's sample; detections that
    count in no curve are left out.
    """
    counts = (state != IGNORED).any(axis=0)
    if not counts.all():
        sample, state = sample[counts], state[:, counts]
    samples, numbers = np.unique(truths, return_counts=True)
    return Ranking(sample, tuple(Runs.of(row) for row in state), samples, numbers.astype(np.float64))


def whole(weights: Float, terms: int) -> Weights:
    """`weights` as small integers where they are whole numbers: their running sums are exact, and ten times faster."""
    if weights.size and np.abs(weights).max() * max(terms, 1) < np.iinfo(np.int32).max:
        whole = weights.astype(np.int32)
        if np.array_equal(whole, weights):
            return whole
    return weights


def _running(values: Weights) -> Weights:
    """Running sums along each row, with 0 in front."""
    sums = np.zeros((len(values), values.shape[1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _precision(right: Float, total: Float) -> Float:
    np.maximum(total, np.finfo(np.float64).tiny, out=total)  # where nothing counts yet, nothing is right
    return np.asarray(np.divide(right, total, out=total))


def _together(right: Float, total: Float, recall: Float) -> tuple[Float, Float]:
    """Mean over the 101 recalls of the best precision at that recall or a higher one; and the final recall.

    For short curves: every corner counts as often as it is the first to reach one of the recalls.
    """
    precision = _precision(right, total)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    step = np.minimum((recall * 100 + 1e-9).astype(np.intp), 100)
    reached = step + (RECALLS[step] <= recall)  # how many of the recalls are reached; the ladder is not quite even
    reached[:, 1:] -= reached[:, :-1].copy()
    return np.asarray(np.einsum("ij,ij->i", best, reached) / len(RECALLS)), recall[:, -1]


def _each(right: Float, total: Float, recall: Float) -> tuple[Float, Float]:
    """The same for long curves: the recalls are looked up in the curve, not the curve in the recalls."""
    precision = _precision(right, total)
    area = np.empty(len(right))
    for row in range(len(right)):
        at = np.searchsorted(recall[row], RECALLS)
        at = at[: np.searchsorted(at, recall.shape[1])]
        best = np.maximum.reduceat(precision[row], at)[::-1]
        area[row] = np.maximum.accumulate(best).sum() / len(RECALLS)
    return area, recall[:, -1]


def area_under(right: Weights, wrong: Weights, truths: int) -> float:
    """AP of one curve given by points in ranking order: how many are right and wrong so far."""
    precision = right / np.maximum(right + wrong, np.finfo(np.float64).tiny)
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    return float(best[np.searchsorted(right / truths, RECALLS)].mean())
