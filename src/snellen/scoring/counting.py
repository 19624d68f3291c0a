"""How many instances a model sees, wherever it puts them. PROTOCOLS section 3, Count (paper, C.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.estimates import Float, Ratio
from snellen.core.tables import Tables
from snellen.scoring.grounding import Failures, counted
from snellen.scoring.sums import Sums, over


@dataclass(frozen=True, eq=False)
class Counting:
    """count_ratio, mae and rmse as functions of sample weights (a `Measure`)."""

    sums: Sums
    ratios: Mapping[str, Ratio]
    names: tuple[str, ...] = ("count_ratio", "mae", "rmse")

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        pictures, truths, predicted, absolute, square = self.sums(np.atleast_2d(weights)).T
        return {
            "count_ratio": over(predicted, truths),
            "mae": over(absolute, pictures),
            "rmse": np.sqrt(over(square, pictures)),
        }


def measure(tables: Tables, *, failures: Failures | None = None) -> Counting:
    """count_ratio (predicted over true instances, pooled), mae and rmse (per picture).

    Under `count` a failed reply predicts 0 instances. Predictions excused by a crowd region, and crowd regions, are no
    instances.
    """
    inside, stands, _ = counted(tables, failures)
    truths = tables.outcomes["truths"] * inside
    predicted = np.where(stands, tables.outcomes["predicted"], 0) * inside
    gap = np.abs(predicted - truths)
    sums = Sums.dense([inside, truths, predicted, gap, gap**2])
    return Counting(sums, {"count_ratio": Ratio(predicted, truths), "mae": Ratio(gap, inside)})
