"""CHAIR on boxes: which share of what a model reports has no support in the truth. PROTOCOLS section 3, CHAIR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from snellen.core.detections import Bool
from snellen.core.errors import unknown
from snellen.core.estimates import Float, Ratio
from snellen.core.tables import Table, Tables
from snellen.scoring.grounding import Failures, counted
from snellen.scoring.sums import Sums, over

Support: TypeAlias = Literal["class", "overlap", "match"]


@dataclass(frozen=True, eq=False)
class Hallucination:
    """chair_i and chair_s as functions of sample weights (a `Measure`)."""

    support: Support
    sums: Sums
    ratios: Mapping[str, Ratio]
    names: tuple[str, ...] = ("chair_i", "chair_s")

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        pictures, predicted, wrong, tainted = self.sums(np.atleast_2d(weights)).T
        return {"chair_i": over(wrong, predicted), "chair_s": over(tainted, pictures)}


def measure(tables: Tables, *, support: Support = "class", failures: Failures | None = None) -> Hallucination:
    """chair_i (share of predicted instances without support, pooled) and chair_s (share of pictures with any).

    support: `class`: the instance's class is in the picture's truth (after Rohrbach et al. 2018); `overlap`: it
    overlaps any truth, labels ignored; `match`: it is matched at IoU .5 (then chair_i is 1 - precision). Items that
    could not be read have no support. Crowd regions support as other truths do.
    """
    if support not in SUPPORTS:
        raise unknown("support", support, SUPPORTS)
    table, n = tables.instances, len(tables.outcomes)
    inside, stands, there = counted(tables, failures)
    said = ~table["truth"] & there & table["kept"] & ~table["excused"]
    unread = np.where(stands, tables.outcomes["unread"], 0) * inside
    sample = table["sample"]
    bare = said & ~SUPPORTS[support](table, len(tables.classes))
    predicted = np.bincount(sample[said], minlength=n) + unread
    wrong = np.bincount(sample[bare], minlength=n) + unread
    tainted = (wrong > 0).astype(np.float64)
    ratios = {"chair_i": Ratio(wrong, predicted), "chair_s": Ratio(tainted, inside)}
    return Hallucination(support, Sums.dense([inside, predicted, wrong, tainted]), ratios)


def _by_class(table: Table, classes: int) -> Bool:
    """Whether a truth of the row's class is in the row's picture."""
    code = table["sample"] * (classes + 1) + table["label"]
    truth = table["truth"] & (table["label"] >= 0)
    present = np.zeros(int(code.max(initial=0)) + 2, dtype=np.bool_)
    present[code[truth]] = True
    return np.asarray(present[code] & (table["label"] >= 0))


def _by_overlap(table: Table, classes: int) -> Bool:
    return np.asarray(table["best"] > 0)


def _by_match(table: Table, classes: int) -> Bool:
    return np.asarray(table["partner"] >= 0)


SUPPORTS: Mapping[Support, Callable[[Table, int], Bool]] = {
    "class": _by_class,
    "overlap": _by_overlap,
    "match": _by_match,
}
