"""Calibration: whether what a model is sure of is right as often as it is sure.

Predictions are put into bins by their confidence; in each the mean confidence stands against the share
that is right (a reliability diagram), and the expected calibration error is the mean distance between the two, weighted
by how many predictions a bin holds (Guo, Pleiss, Sun, Weinberger: On Calibration of Modern Neural Networks, ICML 2017,
ten bins of equal width; an edge belongs to the bin below it). A box is right when it is matched at IoU .5 with its
label (WADE's matching), so that the share right is precision; a closed answer when it is the right option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Bool, Float, Int
from snellen.core.errors import ShapeError
from snellen.core.estimates import Ratio
from snellen.core.tables import Tables
from snellen.scoring.sums import Sums, over

BINS = 10


@dataclass(frozen=True, eq=False)
class Confident:
    """Predictions with a confidence: sample (n,), row of the outcomes; confidence (n,), 0..1; right (n,) bool.

    samples: rows of the outcomes. without: predictions that have no confidence, and no part in this.
    """

    sample: Int
    confidence: Float
    right: Bool
    samples: int
    without: int = 0

    def __post_init__(self) -> None:
        if len(self.confidence) and not (self.confidence.min() >= 0 and self.confidence.max() <= 1):
            low, high = float(self.confidence.min()), float(self.confidence.max())
            raise ShapeError(f"a confidence is a number from 0 to 1, got {low:g} to {high:g}")


def confident(tables: Tables) -> Confident | None:
    """The predictions of `tables` with their confidences: answers (column `confidence`), or boxes at the operating
    point with their scores, excused ones left out. None where none has a confidence, or scores leave 0..1.
    """
    if tables.kind == "answers":
        if "confidence" not in tables.outcomes:
            return None
        sample = np.arange(len(tables.outcomes))
        confidence, right = tables.outcomes["confidence"], tables.outcomes["correct"]
    else:
        table = tables.instances
        rows = np.flatnonzero(~table["truth"] & table["kept"] & ~table["excused"])
        sample, confidence, right = table["sample"][rows], table["score"][rows], table["partner"][rows] >= 0
    known = np.isfinite(confidence)
    chosen = confidence[known]
    if not len(chosen) or chosen.min() < 0 or chosen.max() > 1:
        return None
    lost = int(len(known) - known.sum())
    return Confident(sample[known], chosen, np.asarray(right[known], dtype=np.bool_), len(tables.outcomes), lost)


def widths(bins: int = BINS) -> Float:
    """The edges of bins of equal width: (bins + 1,). The expected calibration error is usually taken over these."""
    return np.linspace(0.0, 1.0, bins + 1)


def shares(given: Confident, bins: int = BINS) -> Float:
    """The edges of bins that hold about equally many of these predictions: (bins + 1,), from the lowest confidence to
    the highest. For confidences that crowd together; where many are equal, edges are too, and bins between them empty.
    """
    return np.asarray(np.percentile(given.confidence, np.linspace(0.0, 1.0, bins + 1) * 100))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Reliability by bin, and what sums it up, as functions of sample weights (a `Measure`).

    ece: expected calibration error. confidence, right: means over all predictions; excess: the first minus the second
    (above 0: too sure). confidence.<bin>, right.<bin>: the same in each bin that is not empty. counts: per bin.
    """

    names: tuple[str, ...]
    counts: Int
    sums: Sums
    ratios: Mapping[str, Ratio]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All figures under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        parts = self.sums(np.atleast_2d(np.asarray(weights, dtype=np.float64)))
        count, sure, right = parts.reshape(len(parts), 3, len(self.counts)).transpose(1, 0, 2)
        total = count.sum(axis=1)
        found = {
            "ece": over(np.abs(sure - right).sum(axis=1), total),
            "excess": over((sure - right).sum(axis=1), total),
            "confidence": over(sure.sum(axis=1), total),
            "right": over(right.sum(axis=1), total),
        }
        for i in np.flatnonzero(self.counts).tolist():
            found |= {f"confidence.{i}": over(sure[:, i], count[:, i]), f"right.{i}": over(right[:, i], count[:, i])}
        return {name: found[name] for name in self.names}


def measure(given: Confident, edges: Float) -> Calibration:
    """The calibration of these predictions in the bins between `edges`, ascending; the outer bins are open outwards."""
    bins = len(edges) - 1
    place = np.searchsorted(edges[1:-1], given.confidence)
    cell, shape = given.sample * bins + place, (given.samples, bins)
    count, sure, right = (
        np.asarray(np.bincount(cell, column, shape[0] * shape[1]), dtype=np.float64).reshape(shape)
        for column in (np.ones(len(cell)), given.confidence, given.right.astype(np.float64))
    )
    counts = np.bincount(place, minlength=bins)
    filled = np.flatnonzero(counts).tolist()
    names = ["ece", "excess", "confidence", "right"]
    names += [f"{kind}.{i}" for i in filled for kind in ("confidence", "right")]
    ratios = {"right": Ratio(right.sum(axis=1), count.sum(axis=1))}
    ratios |= {f"right.{i}": Ratio(right[:, i], count[:, i]) for i in filled}
    return Calibration(tuple(names), counts, Sums(None, np.hstack([count, sure, right])), ratios)
