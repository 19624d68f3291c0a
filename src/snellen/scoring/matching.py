"""WADE's matching: per picture, pairs by descending IoU, one to one. PROTOCOLS section 3, after the paper's C.4.

The order in which a model lists its boxes does not matter, except between pairs of equal IoU: those go by the rows of
prediction and truth. Class-aware pairs need equal labels.
"""

from __future__ import annotations

import numpy as np

from snellen.core.detections import Bool, Int
from snellen.core.tables import Pairs

SLACK = 1e-9
"""An IoU this little below the threshold reaches it: rounding of scaled coordinates must not decide a tie."""


def matched(pairs: Pairs, *, at_least: float) -> Pairs:
    """The pairs that are matched among `pairs`: greedily by descending IoU, ties by (prediction, truth) row.

    Works in rounds: a pair that is the best one left for both its ends is matched, and bars all others of theirs.
    """
    left = pairs.take(pairs.iou >= at_least - SLACK)
    if not len(left):
        return left
    alone = (_counts(left.predicted) == 1) & (_counts(left.truth) == 1)
    found = [left.take(alone)]
    left = left.take(~alone)
    level = np.rint(left.iou / SLACK)  # equal overlaps differ by rounding: the rows must decide between them
    left = left.take(np.lexsort((left.truth, left.predicted, -level)))
    while len(left):
        rank = np.arange(len(left))
        best = (_first(left.predicted) == rank) & (_first(left.truth) == rank)
        found.append(left.take(best))
        taken_p, taken_t = left.predicted[best], left.truth[best]
        left = left.take(~(_among(left.predicted, taken_p) | _among(left.truth, taken_t)))
    every = Pairs(*(np.concatenate([getattr(p, name) for p in found]) for name in ("predicted", "truth", "iou")))
    return every.take(np.argsort(every.predicted, kind="stable"))


def _counts(ends: Int) -> Int:
    """How often each value of `ends` occurs, at every place."""
    return np.bincount(ends)[ends]


def _first(ends: Int) -> Int:
    """The first place at which each value of `ends` occurs, at every place."""
    first = np.empty(int(ends.max()) + 1, dtype=np.int64)
    first[ends[::-1]] = np.arange(len(ends))[::-1]  # of equal indices the last one written stays
    return np.asarray(first[ends])


def _among(ends: Int, taken: Int) -> Bool:
    mask = np.zeros(int(ends.max()) + 1, dtype=np.bool_)
    mask[taken] = True
    return np.asarray(mask[ends])
