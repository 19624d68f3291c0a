"""Predictions left out on request, and counted: by class-wise suppression, and of classes that are not in the picture.

Duplicates are counted for all, and left out for none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen.core.detections import Bool, BoxTable
from snellen.core.errors import SpecError
from snellen.scoring.coco_matching import filled
from snellen.scoring.overlaps import alike

SAME = 0.9
"""Boxes of one class with this IoU or more are duplicates."""


def kept_by_nms(predicted: BoxTable, *, above: float = 0.5) -> Bool:
    """Which boxes class-wise non-maximum suppression keeps: bool (n,).

    Best score first (as listed where scores tie or are missing), a box goes if it overlaps a kept one of its picture
    and class by more than `above`. For detectors prompted one class at a time; MLLMs get none (PROTOCOLS section 2).
    """
    pairs = alike(predicted, above=above)
    one, two = pairs.predicted, pairs.truth
    scores = filled(predicted.scores, len(predicted))
    better = (scores[one] > scores[two]) | ((scores[one] == scores[two]) & (one < two))
    first, second = np.where(better, one, two), np.where(better, two, one)
    kept = np.ones(len(predicted), dtype=np.bool_)
    open_ = np.ones(len(predicted), dtype=np.bool_)  # not yet decided
    while len(first):
        waiting = np.zeros(len(predicted), dtype=np.bool_)
        waiting[second] = True
        sure = open_ & ~waiting  # nothing better is near and undecided
        gone = np.unique(second[sure[first]])
        kept[gone] = False
        open_ &= ~sure
        open_[gone] = False
        left = open_[first] & open_[second]
        first, second = first[left], second[left]
    return kept


def checked_nms(above: float | None) -> float | None:
    """The limit of suppression, which is an IoU: SpecError where it cannot be one."""
    if above is not None and not 0 < above <= 1:
        raise SpecError(f"nms is the IoU, above 0 up to 1, beyond which the worse of two boxes goes, got {above}")
    return above


def of_present_classes(truth: BoxTable, predicted: BoxTable) -> Bool:
    """Which boxes are of a class that their picture's truth holds: bool (n,). What the referential protocol keeps."""
    k = len(truth.classes) + 1
    there = np.unique(truth.image * k + truth.label)
    return np.asarray(np.isin(predicted.image * k + predicted.label, there) & (predicted.label >= 0))


def duplicates(predicted: BoxTable, *, at_least: float = SAME) -> Bool:
    """Which boxes repeat a better or earlier one of their picture and class: bool (n,). Counted, not removed."""
    return ~kept_by_nms(predicted, above=at_least - 1e-9)


def chosen(predicted: BoxTable, mask: Bool) -> BoxTable:
    """The boxes marked in `mask`."""
    return replace(
        predicted,
        image=predicted.image[mask],
        label=predicted.label[mask],
        boxes=predicted.boxes[mask],
        scores=None if predicted.scores is None else predicted.scores[mask],
        crowd=predicted.crowd[mask],
        area=predicted.area[mask],
    )
