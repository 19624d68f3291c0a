"""Precision-recall curves to look at, and an audit of how AP is read from them.

Toolkits differ in how they turn a curve into one number. pycocotools reads the best precision at 101 recalls; others
join the interpolated points by straight lines, from (0, 1) on, and take the area under them (the trapezoid rule over
101 points), which reads higher: by up to 3.4 points in Roboflow100-VL. `trapezoid_audit` shows both on the same
matches. Diagnostic only: AP in results is pycocotools'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from snellen.core.detections import Bool, BoxTable, Float
from snellen.scoring.coco_matching import IGNORED, RIGHT, CocoMatches, coco_matches, filled
from snellen.scoring.curves import RECALLS, Runs


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision and recall of one class after each detection that counts, best score first: each (n,)."""

    label: str
    scores: Float
    precision: Float
    recall: Float
    truths: int

    @property
    def interpolated(self) -> Float:
        """The best precision at each of the 101 recalls or a higher one."""
        best = np.append(np.maximum.accumulate(self.precision[::-1])[::-1], 0.0)
        return np.asarray(best[np.searchsorted(self.recall, RECALLS)])


def curves(truth: BoxTable, predicted: BoxTable, *, iou: int = 0, max_dets: int = 500) -> list[Curve]:
    """The curve of every class that has truths, at the `iou`-th of COCO's ten thresholds (0: .5, 5: .75)."""
    matches = coco_matches(truth, predicted, max_dets=max_dets, sizes=False)
    scores = filled(predicted.scores, len(predicted))[matches.rows]
    found = []
    for k, label in enumerate(truth.classes):
        truths = int(matches.counts[0][truth.label == k].sum())
        if truths:
            mine = slice(*matches.starts[k : k + 2])
            mine = np.arange(mine.start, mine.stop)[matches.state[0, iou, mine] != IGNORED]
            right = np.cumsum(matches.state[0, iou, mine] == RIGHT)
            found.append(Curve(label, scores[mine], right / np.arange(1, len(mine) + 1), right / truths, truths))
    return found


@dataclass(frozen=True)
class Audit:
    """AP by two rules on the same matches; `gap` is what the trapezoid rule adds. None without truth."""

    ap: float | None
    trapezoid: float | None

    @property
    def gap(self) -> float | None:
        """`trapezoid` less `ap`."""
        return None if self.ap is None or self.trapezoid is None else self.trapezoid - self.ap

    def to_json(self) -> dict[str, float | None]:
        """As it stands in results."""
        return {"ap": self.ap, "trapezoid": self.trapezoid, "gap": self.gap}


def trapezoid_audit(
    truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500, matches: CocoMatches | None = None
) -> Audit:
    """AP at IoU .50:.95 as pycocotools reads it, and by the trapezoid rule. matches: those of these boxes, if known."""
    found = matches or coco_matches(truth, predicted, max_dets=max_dets, sizes=False)
    truths = np.bincount(truth.label[found.counts[0]], minlength=len(truth.classes))
    plain, lines = [], []
    for k in np.flatnonzero(truths).tolist():
        states = found.state[0][:, slice(*found.starts[k : k + 2])]
        for state, runs in zip(states, Runs.of(states), strict=True):
            plain.append(float(runs.at_recalls(int(truths[k])).mean()))
            lines.append(_trapezoid(state[state != IGNORED] == RIGHT, int(truths[k])))
    return Audit(float(np.mean(plain)), float(np.mean(lines))) if plain else Audit(None, None)


def _trapezoid(counted: Bool, truths: int) -> float:
    """Area under straight lines through the interpolated precision at 101 recalls, from (0, 1) to (1, 0)."""
    if not len(counted):
        return 0.0
    right = np.cumsum(counted)
    recall = np.concatenate([[0.0], right / truths, [1.0]])
    precision = np.concatenate([[1.0], right / np.arange(1, len(right) + 1), [0.0]])
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.trapezoid(np.interp(RECALLS, recall, precision), RECALLS))


def voc_ap(right: Bool, truths: int, *, points: Literal["eleven", "every"] = "every") -> float | None:
    """Pascal VOC's AP of one class: the area under the interpolated curve, or its mean at 11 recalls (before 2010).

    right: bool (n,), whether each detection is right, best score first. Recalls are compared as whole numbers: 9 of 15
    reaches .6, which `np.linspace` misses. None without truth.
    """
    if truths == 0:
        return None
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(hits) + 1)
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    if points == "eleven":
        return float(np.mean([best[np.searchsorted(hits * 10, k * truths)] for k in range(11)]))
    return float(best[:-1][np.asarray(right, dtype=np.bool_)].sum() / truths)
