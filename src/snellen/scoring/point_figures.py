"""Every AP and AR figure of one matching at once, without weights: for the many orders of ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import BoxTable, Float, Int
from snellen.scoring.average_precision import limits_of, summarised
from snellen.scoring.coco_matching import RIGHT, WRONG, CocoMatches
from snellen.scoring.curves import RECALLS


def point_figures(
    truth: BoxTable, predicted: BoxTable, matches: CocoMatches, *, max_dets: int = 500
) -> dict[str, float]:
    """The figures that `average_precision.measure_of` gives at unit weights, to rounding; NaN where undefined."""
    classes = len(truth.classes)
    label, state, bounds = predicted.label[matches.rows], matches.state, matches.starts
    truths = np.stack([np.bincount(truth.label[counts], minlength=classes) for counts in matches.counts]).T
    below = np.where(truths > 0, truths, np.nan)  # (classes, areas)
    right, wrong = (_within(state == what, bounds, label) for what in (RIGHT, WRONG))
    precision = _per_class(_areas(right, wrong, truths.T[:, None, label], label), bounds)
    precision = np.where(truths[:, :, None] > 0, precision, np.nan)
    hits, rank, limits = state == RIGHT, matches.rank, limits_of(max_dets)
    recall = _per_class(hits, bounds) / below[:, :, None]
    early = [(_per_class(hits[:1] & (rank < limit), bounds)[:, 0] / below[:, :1]).mean(axis=1) for limit in limits]
    figures = summarised(
        precision[..., None], recall[..., None], [v[:, None] for v in early], classes=truth.classes, limits=limits
    )
    return {name: float(values[0]) for name, values in figures.items()}


def _within(marks: NDArray[np.bool_], bounds: Int, label: Int) -> Float:
    """How many marks there are so far in each detection's class: (areas, IoUs, n)."""
    sums = np.zeros((*marks.shape[:2], marks.shape[2] + 1))
    np.cumsum(marks, axis=2, out=sums[:, :, 1:])
    return sums[:, :, 1:] - sums[:, :, bounds[label]]


def _areas(right: Float, wrong: Float, truths: Int, label: Int) -> Float:
    """What each detection adds to its class's AP: best precision from it on, times the recalls it is first to reach."""
    precision = right / np.maximum(right + wrong, 1.0)
    # classes run from the last to the first: each starts above all that came before it
    lift = 2.0 * (label.max(initial=0) - label)
    best = np.maximum.accumulate((precision + lift)[:, :, ::-1], axis=2)[:, :, ::-1] - lift
    recall = right / np.maximum(truths, 1)
    step = np.minimum((recall * 100 + 1e-9).astype(np.intp), 100)
    reached = step + (RECALLS[step] <= recall)
    before = np.zeros_like(reached)
    before[:, :, 1:] = np.where(label[1:] == label[:-1], reached[:, :, :-1], 0)
    return np.asarray(best * (reached - before) / len(RECALLS))


def _per_class(values: Float | NDArray[np.bool_], bounds: Int) -> Float:
    """Sums over the detections of each class: (classes, areas, IoUs)."""
    sums = np.zeros((*values.shape[:2], values.shape[2] + 1))
    np.cumsum(values, axis=2, out=sums[:, :, 1:])
    return np.asarray(np.diff(sums[:, :, bounds], axis=2).transpose(2, 0, 1))
