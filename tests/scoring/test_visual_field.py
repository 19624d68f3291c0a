"""Recall by size, place and crowding; strata; curves and the trapezoid audit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.detections import BoxTable
from snellen.core.errors import SpecError
from snellen.core.tables import Table, Tables
from snellen.scoring import grounding, visual_field
from snellen.scoring.average_precision import measure_of, point_ap
from snellen.scoring.precision_recall import curves, trapezoid_audit, voc_ap
from snellen.scoring.tabulation import boxes_of


def tables(truths: list[list[float]], found: list[list[float]], **about: list[object]) -> Tables:
    def table(boxes: list[list[float]]) -> BoxTable:
        n = len(boxes)
        return BoxTable(("a",), ("x",), np.zeros(n, int), np.zeros(n, int), np.array(boxes, float).reshape(-1, 4))

    known = Table({name: np.array(values) for name, values in about.items()}) if about else None
    return grounding.tables_of(table(truths), table(found), about=known)


def recall(made: Tables, by: str) -> dict[str, float]:
    values = visual_field.measure(made, by)(np.ones((1, len(made.outcomes))))
    return {name: float(value[0]) for name, value in values.items() if not np.isnan(value[0])}


SMALL, LARGE = [10.0, 10, 20, 20], [100.0, 100, 300, 300]


def test_recall_by_size() -> None:
    assert recall(tables([SMALL, LARGE], [LARGE]), "size") == {"side below 16 px": 0, "192 px and more": 1}


def test_recall_by_share_of_the_picture() -> None:
    made = tables([SMALL, LARGE], [LARGE], width=[400], height=[400])
    assert recall(made, "share") == {"below 0.1 % of the picture": 0, "10 % and more": 1}


def test_recall_by_place() -> None:
    made = tables([SMALL, LARGE, [380.0, 0, 400, 20]], [LARGE], width=[400], height=[400])
    assert recall(made, "place") == {"top left": 0, "centre": 1, "top right": 0}


def test_place_needs_the_size_of_the_picture() -> None:
    assert recall(tables([SMALL], [SMALL]), "place") == {}


def test_recall_by_crowding() -> None:
    row = [[20.0 * i, 0, 20.0 * i + 15, 15] for i in range(3)]
    lone = [2000.0, 2000, 2100, 2100]
    made = tables([*row, lone], [lone, row[0]])
    assert recall(made, "crowding") == {"alone": 1, "1 or 2 near": pytest.approx(1 / 3)}


def test_an_unknown_part_of_the_field_lists_the_known() -> None:
    with pytest.raises(SpecError, match="crowding, place, share, size"):
        visual_field.measure(tables([SMALL], []), "colour")


def random_set(seed: int, images: int, found: int) -> tuple[BoxTable, BoxTable]:
    rng = np.random.default_rng(seed)
    names, classes = tuple(map(str, range(images))), ("x", "y")

    def table(n: int) -> BoxTable:
        corner = rng.integers(0, 6, (n, 2)) * 8.0
        boxes = np.concatenate([corner, corner + rng.integers(4, 8, (n, 2)) * 6], axis=1)
        return BoxTable(names, classes, rng.integers(0, images, n), rng.integers(0, 2, n), boxes, rng.random(n))

    return table(int(rng.integers(0, found))), table(int(rng.integers(0, found)))


SETS = st.builds(random_set, st.integers(0, 10**9), st.integers(1, 6), st.integers(2, 40))


@settings(max_examples=40, deadline=None)
@given(SETS, st.integers(0, 10**6))
def test_a_stratum_is_what_tabulating_its_pictures_alone_in_that_order_gives(
    sets: tuple[BoxTable, BoxTable], seed: int
) -> None:
    truth, predicted = sets
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(truth.images))[: int(rng.integers(len(truth.images) + 1))]
    place = np.full(len(truth.images), -1)
    place[chosen] = np.arange(len(chosen))

    def part(table: BoxTable) -> BoxTable:
        rows = place[table.image] >= 0
        names = tuple(table.images[i] for i in chosen)
        scores = None if table.scores is None else table.scores[rows]
        return BoxTable(names, table.classes, place[table.image[rows]], table.label[rows], table.boxes[rows], scores)

    kept = grounding.tables_of(truth, predicted, min_score=0.3).take(chosen)
    alone = grounding.tables_of(part(truth), part(predicted), min_score=0.3)
    for name in alone.instances.names:
        np.testing.assert_array_equal(kept.instances[name], alone.instances[name], err_msg=name)
    assert kept.outcomes["sample"].tolist() == alone.outcomes["sample"].tolist()
    back = boxes_of(kept)
    np.testing.assert_array_equal(back[1].boxes, boxes_of(alone)[1].boxes)


def plain_trapezoid(precision: np.ndarray, recall: np.ndarray) -> float:
    """The rule as ultralytics has had it since YOLOv5's `compute_ap`."""
    r = np.concatenate(([0.0], recall, [1.0]))
    p = np.concatenate(([1.0], precision, [0.0]))
    p = np.flip(np.maximum.accumulate(np.flip(p)))
    x = np.linspace(0, 1, 101)
    return float(np.trapezoid(np.interp(x, r, p), x))


@settings(max_examples=40, deadline=None)
@given(SETS)
def test_the_audit_is_ap_beside_the_trapezoid_rule(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    found = trapezoid_audit(truth, predicted)
    plain = measure_of(truth, predicted)(np.ones((1, len(truth.images))))["ap"][0]
    if found.ap is None:
        assert np.isnan(plain)
        return
    assert found.ap == pytest.approx(plain, abs=1e-12)
    every = [plain_trapezoid(c.precision, c.recall) if len(c.precision) else 0.0
             for t in range(10) for c in curves(truth, predicted, iou=t)]  # fmt: skip
    assert found.trapezoid == pytest.approx(np.mean(every))
    assert found.gap == pytest.approx(np.mean(every) - plain)


@settings(max_examples=40, deadline=None)
@given(SETS)
def test_a_curve_is_the_one_that_ap_is_read_from(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    per_class = point_ap(truth, predicted).per_class
    for curve in curves(truth, predicted):
        assert np.mean(curve.interpolated) == pytest.approx(per_class[curve.label]["ap50"], abs=1e-12)
        assert list(curve.scores) == sorted(curve.scores, reverse=True)


def test_pascal_voc_by_eleven_points_and_by_every_point() -> None:
    """The worked example of the Object-Detection-Metrics README: 24 detections of 15 objects, 26.84 % and 24.57 %."""
    right = np.zeros(24, dtype=bool)
    right[[0, 2, 9, 11, 12, 13, 22]] = True
    assert voc_ap(right, 15, points="eleven") == pytest.approx(0.2684, abs=5e-5)
    assert voc_ap(right, 15) == pytest.approx(0.2457, abs=5e-5)
    assert voc_ap(right, 0) is None
    assert voc_ap(np.ones(9, dtype=bool), 15, points="eleven") == pytest.approx(7 / 11)  # recall .6 is reached
