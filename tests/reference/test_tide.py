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
    found = ours(np.ones((1, len(images))))
    for name, kind in NAMES.items():
        assert found[f"ap50_cost_{kind}"].tolist() == pytest.approx([theirs[name]], abs=1e-12), kind


@settings(max_examples=40, deadline=None)
@given(
    st.builds(random_set, st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 30), st.integers(1, 50)),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_a_picture_of_weight_two_costs_as_much_as_two_of_it(
    sets: tuple[BoxTable, BoxTable], weights: list[int]
) -> None:
    truth, predicted = sets
    weights = weights[: len(truth.images)]
    copies = np.repeat(np.arange(len(weights)), weights)

    def copied(table: BoxTable) -> BoxTable:
        rows = [np.flatnonzero(table.image == source) for source in copies]
        chosen = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        image = np.repeat(np.arange(len(copies)), [len(row) for row in rows])
        scores = None if table.scores is None else table.scores[chosen]
        return BoxTable(
            tuple(map(str, range(len(copies)))), table.classes, image, table.label[chosen], table.boxes[chosen], scores
        )

    weighted = ap50_costs(truth, predicted)(np.array([weights], dtype=np.float64))
    alone = ap50_costs(copied(truth), copied(predicted))(np.ones((1, len(copies))))
    for name, values in alone.items():
        np.testing.assert_allclose(weighted[name], values, atol=1e-12, err_msg=name)
