"""WADE's matching, beside a plain one that goes through all pairs in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.boxes import overlaps
from snellen.core.detections import BoxTable
from snellen.core.errors import ShapeError
from snellen.scoring import overlaps as pair_module
from snellen.scoring.coco_matching import by_score
from snellen.scoring.matching import matched
from snellen.scoring.overlaps import LEAST, alike, largest, pairs_of


def random_set(seed: int, *, images: int, found: int, grid: float) -> tuple[BoxTable, BoxTable]:
    rng = np.random.default_rng(seed)
    names, classes = tuple(map(str, range(images))), ("x", "y")

    def table(n: int) -> BoxTable:
        corner = np.round(rng.uniform(0, 40, (n, 2)) / grid) * grid
        size = np.maximum(np.round(rng.uniform(5, 40, (n, 2)) / grid), 1) * grid
        boxes = np.concatenate([corner, corner + size], axis=1)
        return BoxTable(
            names, classes, rng.integers(0, images, n), rng.integers(-1, 2, n), boxes, None, rng.random(n) < 0.2
        )

    return table(int(rng.integers(0, found + 1))), table(int(rng.integers(0, found + 1)))


SETS = st.builds(
    random_set,
    st.integers(0, 10**9),
    images=st.integers(1, 4),
    found=st.integers(0, 40),
    grid=st.sampled_from([1.0, 5.0]),
)


def plain_pairs(truth: BoxTable, predicted: BoxTable, *, same_label: bool) -> dict[tuple[int, int], float]:
    iou = overlaps(predicted.boxes, truth.boxes, crowd=truth.crowd)
    return {
        (p, t): float(iou[p, t])
        for p in range(len(predicted))
        for t in range(len(truth))
        if predicted.image[p] == truth.image[t]
        and (not same_label or (predicted.label[p] == truth.label[t] and truth.label[t] >= 0))
    }


@settings(max_examples=60, deadline=None)
@given(SETS, st.booleans(), st.booleans())
def test_pairs_are_all_that_overlap_enough(sets: tuple[BoxTable, BoxTable], same_label: bool, small: bool) -> None:
    truth, predicted = sets
    before = pair_module._TOGETHER
    pair_module._TOGETHER = 64 if small else before  # pictures by themselves, or together
    try:
        pairs = pairs_of(truth, predicted, same_label=same_label)
        best = largest(pairs_of(truth, predicted, same_label=same_label, at_least=0.0), len(predicted))
    finally:
        pair_module._TOGETHER = before
    plain = plain_pairs(truth, predicted, same_label=same_label)
    found = dict(zip(zip(pairs.predicted.tolist(), pairs.truth.tolist(), strict=True), pairs.iou.tolist(), strict=True))
    assert found == pytest.approx({pair: iou for pair, iou in plain.items() if iou >= LEAST})
    assert list(found) == sorted(found)
    wanted = [max((iou for (p, _), iou in plain.items() if p == row), default=0.0) for row in range(len(predicted))]
    np.testing.assert_allclose(best, wanted)


@settings(max_examples=60, deadline=None)
@given(SETS, st.sampled_from([0.05, 0.5, 0.9]))
def test_alike_are_all_pairs_of_a_class_that_overlap_by_more(sets: tuple[BoxTable, BoxTable], above: float) -> None:
    table = replace(sets[1], crowd=np.zeros(len(sets[1]), dtype=bool))
    plain = plain_pairs(table, table, same_label=True)
    pairs = alike(table, above=above)
    found = dict(zip(zip(pairs.predicted.tolist(), pairs.truth.tolist(), strict=True), pairs.iou.tolist(), strict=True))
    assert {(min(pair), max(pair)): iou for pair, iou in found.items()} == pytest.approx(
        {(p, t): iou for (p, t), iou in plain.items() if p < t and iou > above}
    )


@given(st.lists(st.integers(0, 5)))
def test_the_best_score_comes_first_and_of_equal_ones_the_first_listed(scores: list[int]) -> None:
    values = np.array(scores, dtype=float)
    assert by_score(values).tolist() == np.argsort(-values, kind="stable").tolist()


@settings(max_examples=100, deadline=None)
@given(SETS, st.sampled_from([0.2, 0.5, 0.75]))
def test_matching_is_greedy_by_overlap_with_ties_by_row(sets: tuple[BoxTable, BoxTable], at_least: float) -> None:
    truth, predicted = sets
    pairs = pairs_of(truth, predicted)
    found = matched(pairs, at_least=at_least)
    rows = sorted(zip(-pairs.iou, pairs.predicted, pairs.truth, strict=True))
    taken_p: set[int] = set()
    taken_t: set[int] = set()
    wanted = []
    for negative, p, t in rows:
        if -negative >= at_least - 1e-9 and p not in taken_p and t not in taken_t:
            wanted.append((int(p), int(t)))
            taken_p.add(p)
            taken_t.add(t)
    assert list(zip(found.predicted.tolist(), found.truth.tolist(), strict=True)) == sorted(wanted)


def test_a_scaled_box_of_half_the_truth_reaches_the_threshold() -> None:
    """IoU .5 in 0..1000 can be .49999999999999994 in pixels: rounding must not decide."""
    for width in range(300, 2000, 7):
        edges = np.array([[0, 0, 400, 300], [0, 0, 800, 300]]) * width / 1000
        truth = BoxTable(("a",), ("x",), np.array([0]), np.array([0]), edges[1:] + 0.1 * width)
        predicted = BoxTable(("a",), ("x",), np.array([0]), np.array([0]), edges[:1] + 0.1 * width)
        assert len(matched(pairs_of(truth, predicted), at_least=0.5)) == 1


def test_tables_of_different_pictures_are_refused() -> None:
    one = BoxTable(("a",), ("x",), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4)))
    two = BoxTable(("b",), ("x",), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4)))
    with pytest.raises(ShapeError, match="same pictures"):
        pairs_of(one, two)
