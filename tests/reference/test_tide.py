"""What errors cost in AP, beside TIDE's figures as hotcoco computes them."""

from __future__ import annotations

import hotcoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.detections import BoxTable
from snellen.scoring.error_costs import ap50_costs

NAMES = {"Loc": "place", "Cls": "label", "Dupe": "repeat", "Both": "both", "Bkg": "ghost", "Miss": "miss"}


def random_set(seed: int, images: int, truths: int, found: int) -> tuple[BoxTable, BoxTable]:
    rng = np.random.default_rng(seed)
    names, classes = tuple(map(str, range(images))), ("x", "y", "z")

    def table(n: int) -> BoxTable:
        corner = rng.uniform(0, 80, (n, 2))
        boxes = np.concatenate([corner, corner + rng.uniform(15, 60, (n, 2))], axis=1)
        return BoxTable(names, classes, rng.integers(0, images, n), rng.integers(0, 3, n), boxes, rng.random(n))

    truth, predicted = table(truths), table(found)
    near = rng.random(found) < 0.5
    source = rng.integers(0, truths, found)
    boxes = np.where(near[:, None], truth.boxes[source] + rng.normal(0, 6, (found, 4)), predicted.boxes)
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    return BoxTable(names, classes, truth.image, truth.label, truth.boxes), BoxTable(
        names, classes, np.where(near, truth.image[source], predicted.image),
        np.where(near & (rng.random(found) < 0.7), truth.label[source], predicted.label), boxes, predicted.scores,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.builds(random_set, st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 30), st.integers(1, 50)))
def test_costs_are_those_of_tide(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets

    def xywh(boxes: np.ndarray) -> np.ndarray:
        return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)

    images = [{"id": i + 1, "file_name": "", "width": 0, "height": 0} for i in range(len(truth.images))]
    classes = [{"id": k + 1, "name": name} for k, name in enumerate(truth.classes)]
    gt = hotcoco.COCO.from_arrays(images, classes, truth.image + 1, truth.label + 1, xywh(truth.boxes))
    rows = (predicted.image + 1, xywh(predicted.boxes), predicted.scores, predicted.label + 1)
    evaluation = hotcoco.COCOeval(gt, gt.load_res(np.column_stack(rows)), "bbox")
    evaluation.evaluate()
    theirs = evaluation.tide_errors()["delta_ap"]
    ours = ap50_costs(truth, predicted, max_dets=100)
    for name, kind in NAMES.items():
        assert ours[kind] == pytest.approx(theirs[name], abs=1e-12), kind
