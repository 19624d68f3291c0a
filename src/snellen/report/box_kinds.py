"""What became of each instance, in words, how many there are of each kind, and what each kind of error costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.core.estimates import Estimate
from snellen.core.tables import KINDS
from snellen.report.box_data import Instances
from snellen.report.inputs import View

WORDS: Mapping[str, str] = {
    "hit": "right place (IoU .5 or more), right label",
    "place": "right label, IoU between .1 and .5",
    "label": "right place, wrong label",
    "both": "IoU between .1 and .5, and the label wrong",
    "repeat": "a second box on an instance that is matched already",
    "ghost": "nothing there (IoU under .1)",
    "miss": "a true instance that no box accounts for",
}
"""Kinds of instances: the first six of predictions; `hit` and `miss` also of truths, and `place` and `label` of truths
that such an error just missed.
"""

ERRORS = tuple(kind for kind in WORDS if kind != "hit")


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of each row of the detections table ("" where it does not count: crowd regions, predictions that are
    excused or below the operating point), how many there are, and the F1 and the AP50 (of scored predictions: none
    for others) that mending all of a kind would add.
    """

    kind: NDArray[np.str_]
    counts: Mapping[str, int]
    cost: Mapping[str, Estimate | None]
    ap50_cost: Mapping[str, Estimate]


def kinds(view: View, instances: Instances) -> Kinds:
    """The kinds of all instances of a run, with the costs that its results hold."""
    named = np.array([name if name in WORDS else "" for name in KINDS])
    kind = named[instances.table["kind"]]
    counts = {name: int((kind[instances.predicted] == name).sum()) for name in WORDS if name != "miss"}
    counts["miss"] = int((kind[instances.truth] == "miss").sum())
    costs = view.results.groups.get("errors", {}).get("all", {})
    in_ap = {name: costs[f"ap50_cost_{name}"] for name in ERRORS if f"ap50_cost_{name}" in costs}
    return Kinds(kind, counts, {name: costs.get(f"cost_{name}") for name in ERRORS}, in_ap)
