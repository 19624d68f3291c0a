"""Laws of the measures of boxes: what must hold whatever the boxes are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.detections import BoxTable
from snellen.core.tables import Tables
from snellen.scoring import counting, grounding, hallucination
from snellen.scoring.average_precision import measure_of


def random_set(seed: int, images: int, found: int) -> tuple[BoxTable, BoxTable]:
    rng = np.random.default_rng(seed)
    names, classes = tuple(map(str, range(images))), ("x", "y", "z")

    def table(n: int, least: int, scores: bool) -> BoxTable:
        corner = rng.uniform(0, 60, (n, 2))
        boxes = np.concatenate([corner, corner + rng.uniform(5, 60, (n, 2))], axis=1)
        return BoxTable(names, classes, np.sort(rng.integers(0, images, n)), rng.integers(least, 3, n), boxes,
                        rng.random(n) if scores else None)  # fmt: skip

    return table(int(rng.integers(0, found + 1)), 0, False), table(int(rng.integers(0, found + 1)), -1, True)


SETS = st.builds(random_set, st.integers(0, 10**9), st.integers(1, 8), st.integers(0, 50))
LAW = settings(max_examples=50, deadline=None)


def everything(tables: Tables, weights: np.ndarray | None = None) -> dict[str, np.ndarray]:
    w = np.ones((1, len(tables.outcomes))) if weights is None else weights
    parts = (
        grounding.measure(tables), counting.measure(tables), *(hallucination.measure(tables, support=s)
        for s in ("class", "overlap")),
    )  # fmt: skip
    return {name: value for part in parts for name, value in part(w).items()}


@LAW
@given(SETS)
def test_counts_and_shares_hang_together(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    tables = grounding.tables_of(truth, predicted)
    found = {name: float(value[0]) for name, value in everything(tables).items()}
    match = hallucination.measure(tables, support="match")(np.ones((1, len(truth.images))))["chair_i"][0]
    if len(truth) and len(predicted):
        if found["precision"]:
            assert found["recall"] / found["precision"] == pytest.approx(found["count_ratio"])
        assert match == pytest.approx(1 - found["precision"])
        assert found["chair_i"] <= match + 1e-12  # a matched instance has its class in the truth
        assert found["recall75"] <= found["recall"] + 1e-12
    gap = abs(len(predicted) - len(truth)) / len(truth.images)
    assert found["mae"] >= gap - 1e-12
    assert found["rmse"] >= found["mae"] - 1e-12


@LAW
@given(SETS, st.randoms(use_true_random=False))
def test_counts_add_up_however_pictures_are_split(sets: tuple[BoxTable, BoxTable], random: object) -> None:
    truth, predicted = sets
    tables = grounding.tables_of(truth, predicted)
    each = grounding.counts_of(tables)
    pooled = sum(each, start=grounding.Counts())
    split = len(each) // 2
    halves = sum(each[:split], start=grounding.Counts()) + sum(each[split:], start=grounding.Counts())
    assert vars(pooled) == pytest.approx(vars(halves))
    measured = {name: float(value[0]) for name, value in everything(tables).items()}
    for name, value in pooled.metrics.items():
        assert (np.nan if value is None else value) == pytest.approx(measured[name], nan_ok=True)


@LAW
@given(SETS, st.integers(0, 10**6))
def test_weights_of_zero_and_one_are_a_selection_of_pictures(sets: tuple[BoxTable, BoxTable], seed: int) -> None:
    truth, predicted = sets
    chosen = np.random.default_rng(seed).random(len(truth.images)) < 0.6
    if not chosen.any():
        return
    place = np.cumsum(chosen) - 1

    def part(table: BoxTable) -> BoxTable:
        rows = chosen[table.image]
        names = tuple(name for name, yes in zip(table.images, chosen, strict=True) if yes)
        return BoxTable(names, table.classes, place[table.image[rows]], table.label[rows], table.boxes[rows],
                        None if table.scores is None else table.scores[rows])  # fmt: skip

    weights = chosen[None, :].astype(float)
    weighted = everything(grounding.tables_of(truth, predicted), weights) | measure_of(truth, predicted)(weights)
    ones = np.ones((1, int(chosen.sum())))
    alone = everything(grounding.tables_of(part(truth), part(predicted)), ones)
    alone |= measure_of(part(truth), part(predicted))(ones)
    assert set(weighted) == set(alone)
    for name, value in alone.items():
        np.testing.assert_allclose(weighted[name], value, atol=1e-12, err_msg=name)


@LAW
@given(SETS, st.integers(0, 10**6))
def test_the_order_in_which_boxes_are_listed_plays_no_part(sets: tuple[BoxTable, BoxTable], seed: int) -> None:
    truth, predicted = sets
    order = np.random.default_rng(seed).permutation(len(predicted))
    shuffled = replace(predicted, image=predicted.image[order], label=predicted.label[order],
                       boxes=predicted.boxes[order], scores=predicted.scores[order], crowd=predicted.crowd[order],
                       area=predicted.area[order])  # fmt: skip
    ones = np.ones((1, len(truth.images)))
    one = everything(grounding.tables_of(truth, predicted)) | measure_of(truth, predicted)(ones)
    two = everything(grounding.tables_of(truth, shuffled)) | measure_of(truth, shuffled)(ones)
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, atol=1e-12, err_msg=name)


@LAW
@given(SETS)
def test_the_truth_as_its_own_prediction_is_exactly_right(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, _ = sets
    if not len(truth):
        return
    tables = grounding.tables_of(truth, replace(truth, scores=np.linspace(1, 0.5, len(truth))))
    found = everything(tables)
    assert found["f1"][0] == found["f1_agnostic"][0] == found["recall75"][0] == found["mean_iou"][0] == 1.0
    assert found["mae"][0] == found["chair_i"][0] == found["chair_s"][0] == 0.0
    measured = measure_of(truth, replace(truth, scores=np.linspace(1, 0.5, len(truth))))(
        np.ones((1, len(truth.images)))
    )
    assert measured["ap"][0] == measured["ar"][0] == 1.0
