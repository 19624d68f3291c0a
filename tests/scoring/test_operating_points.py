"""Operating points and suppression, beside doing it plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.boxes import overlaps
from snellen.core.detections import BoxTable
from snellen.scoring import grounding
from snellen.scoring.operating_points import ALL, at_recall, best_f1, fixed, score_source, sweep
from snellen.scoring.suppression import chosen, duplicates, kept_by_nms


def random_set(seed: int, images: int, found: int, levels: int) -> tuple[BoxTable, BoxTable]:
    rng = np.random.default_rng(seed)
    names, classes = tuple(map(str, range(images))), ("x", "y")

    def table(n: int, *, truth: bool) -> BoxTable:
        corner = rng.integers(0, 8, (n, 2)) * 4.0
        boxes = np.concatenate([corner, corner + rng.integers(3, 7, (n, 2)) * 6], axis=1)
        scores = rng.integers(0, levels, n) / levels
        scores[rng.random(n) < 0.1] = np.nan
        crowd = rng.random(n) < 0.15
        return BoxTable(names, classes, rng.integers(0, images, n), rng.integers(0, 2, n), boxes,
                        None if truth else scores, crowd if truth else np.zeros(n, bool))  # fmt: skip

    return table(int(rng.integers(0, found)), truth=True), table(int(rng.integers(1, found)), truth=False)


SETS = st.builds(
    random_set, st.integers(0, 10**9), st.integers(1, 3), st.integers(2, 25), st.sampled_from([2, 5, 1000])
)


def counts_at(truth: BoxTable, predicted: BoxTable, score: float | None) -> grounding.Counts:
    tables = grounding.tables_of(truth, predicted, min_score=score)
    return sum(grounding.counts_of(tables), start=grounding.Counts())


@settings(max_examples=60, deadline=None)
@given(SETS)
def test_the_sweep_is_what_matching_anew_at_every_score_gives(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    found = sweep(truth, predicted)
    for score, hits, said in zip(found.scores, found.hits, found.predicted, strict=True):
        plain = counts_at(truth, predicted, float(score))
        assert (hits, said, found.truths) == (plain.hits, plain.predicted, plain.truths)


@settings(max_examples=30, deadline=None)
@given(SETS)
def test_the_best_point_is_best(sets: tuple[BoxTable, BoxTable]) -> None:
    truth, predicted = sets
    point = best_f1(truth, predicted)
    scores = sorted({float(s) for s in predicted.scores if not np.isnan(s)}, reverse=True)
    if not scores:
        assert point == ALL
        return
    f1 = [counts_at(truth, predicted, s).metrics["f1"] or 0.0 for s in scores]
    assert point.name == "best-f1-on-valid"
    assert point.min_score == scores[int(np.argmax(f1))]


def test_a_detector_is_shown_at_a_given_recall() -> None:
    boxes = np.array([[0.0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10]])
    truth = BoxTable(("a",), ("x",), np.zeros(3, int), np.zeros(3, int), boxes)
    predicted = BoxTable(("a",), ("x",), np.zeros(3, int), np.zeros(3, int), boxes, np.array([0.9, 0.5, 0.1]))
    point = at_recall(truth, predicted, 2 / 3)
    assert point is not None
    assert (point.name, point.min_score) == ("at-recall", 0.5)
    assert at_recall(truth, chosen(predicted, np.array([True, False, False])), 0.5) is None


def test_unscored_detections_have_no_point_to_choose() -> None:
    table = BoxTable(("a",), ("x",), np.zeros(1, int), np.zeros(1, int), np.array([[0.0, 0, 10, 10]]))
    assert best_f1(table, table) == ALL
    assert fixed(0.3).to_json() == {"name": "fixed", "min_score": 0.3}


SOURCES = {
    "none": (None, None, "constant"),
    "all one": (np.ones(3), None, "constant"),
    "all missing": (np.full(3, np.nan), "vote", "constant"),
    "of the model": (np.array([0.1, 0.9]), None, "model"),
    "declared": (np.array([0.1, 0.9]), "vote", "vote"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_where_scores_come_from(name: str) -> None:
    scores, declared, wanted = SOURCES[name]
    assert score_source(scores, declared) == wanted


@settings(max_examples=60, deadline=None)
@given(SETS, st.sampled_from([0.3, 0.5, 0.8]))
def test_suppression_is_greedy_by_score_within_picture_and_class(sets: tuple[BoxTable, BoxTable], above: float) -> None:
    _, predicted = sets
    scores = np.nan_to_num(predicted.scores, nan=1.0)
    kept: list[int] = []
    iou = overlaps(predicted.boxes, predicted.boxes)
    for i in np.argsort(-scores, kind="stable").tolist():
        rivals = [
            j for j in kept if predicted.image[i] == predicted.image[j] and predicted.label[i] == predicted.label[j]
        ]
        if not any(iou[i, j] > above for j in rivals):
            kept.append(i)
    assert np.flatnonzero(kept_by_nms(predicted, above=above)).tolist() == sorted(kept)


def test_duplicates_are_counted_after_the_first() -> None:
    box = [0.0, 0, 10, 10]
    boxes = np.array([box, box, [0, 0, 10, 9.5], [30, 0, 40, 10], box])
    table = BoxTable(("a",), ("x", "y"), np.zeros(5, int), np.array([0, 0, 0, 0, 1]), boxes)
    assert duplicates(table).tolist() == [False, True, True, False, False]
    assert len(chosen(table, ~duplicates(table))) == 3
