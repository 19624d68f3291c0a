"""Calibration against scikit-learn's curve, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from snellen.core.detections import BoxTable
from snellen.core.errors import ShapeError
from snellen.core.stages import Choice, Reading, Sample
from snellen.scoring import choice
from snellen.scoring.calibration import Confident, confident, measure, shares, widths
from snellen.scoring.tabulation import tables_of
from snellen.statistics.intervals import bootstrap


def answers(rng: np.random.Generator, n: int) -> Confident:
    confidence = np.round(rng.beta(3, 2, n), int(rng.integers(1, 4)))  # some on the edges, many equal
    return Confident(rng.integers(0, 7, n), confidence, rng.random(n) < confidence, 7)


def ones(found: Confident) -> np.ndarray:
    return np.ones((1, found.samples))


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(2, 20), st.sampled_from(["uniform", "quantile"]))
def test_the_curve_is_scikit_learns(seed, n, bins, strategy):
    found = answers(np.random.default_rng(seed), n)
    edges = widths(bins) if strategy == "uniform" else shares(found, bins)
    measured = measure(found, edges)
    values = {name: float(value[0]) for name, value in measured(ones(found)).items()}
    right, sure = calibration_curve(found.right, found.confidence, n_bins=bins, strategy=strategy, pos_label=True)
    filled = np.flatnonzero(measured.counts)
    assert [values[f"right.{i}"] for i in filled] == pytest.approx(right)
    assert [values[f"confidence.{i}"] for i in filled] == pytest.approx(sure)
    assert values["ece"] == pytest.approx(float((np.abs(right - sure) * measured.counts[filled]).sum() / n))
    assert values["excess"] == pytest.approx(found.confidence.mean() - found.right.mean())


def test_weights_count_predictions_as_repetition_does():
    found = answers(np.random.default_rng(1), 60)
    weights = np.array([[2, 0, 1, 1, 3, 0, 1]])
    rows = np.repeat(np.arange(60), weights[0][found.sample])
    repeated = Confident(found.sample[rows], found.confidence[rows], found.right[rows], found.samples)
    plain = measure(repeated, widths())(ones(found))
    for name, values in measure(found, widths())(weights).items():
        if name in plain:
            assert values == pytest.approx(plain[name]), name
        else:
            assert np.isnan(values).all(), name


def test_only_the_overconfident_have_a_clear_excess():
    rng = np.random.default_rng(2)
    sure = rng.uniform(0.5, 1, 400)
    cluster = np.arange(400)
    for shift, clear in ((0.0, False), (0.3, True)):
        found = Confident(cluster, sure, rng.random(400) < sure - shift, 400)
        measured = bootstrap(measure(found, widths()), cluster, draws=300, rng=rng)
        assert (measured["excess"].low > 0) == clear
        assert (measured["ece"].low > 0) == clear
        assert measured["ece"].low <= measured["ece"].value <= measured["ece"].high


def test_boxes_are_right_where_precision_says_so():
    """One hit, one of the wrong class, one repeat, one excused by a crowd, one below the operating point."""
    box = np.array([[0.0, 0, 10, 10], [20, 20, 30, 30]])
    said = np.array([[0.0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 9], [21, 21, 29, 29], [0, 0, 10, 10]])
    names = (("one",), ("cat", "dog"))
    truth = BoxTable(*names, np.zeros(2, int), np.zeros(2, int), box, crowd=np.array([False, True]))
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.1])
    predicted = BoxTable(*names, np.zeros(5, int), np.array([0, 1, 0, 0, 0]), said, scores)
    found = confident(tables_of(truth, predicted, min_score=0.5))
    assert dict(zip(found.confidence.tolist(), found.right.tolist(), strict=True)) == {
        0.9: True,
        0.8: False,
        0.7: False,
    }


def test_answers_have_the_confidence_of_their_readings():
    pairs = [
        (Sample("a", Choice("red", ("red", "blue"))), Reading("red", confidence=0.75)),
        (Sample("b", Choice("red", ("red", "blue"))), Reading("blue", confidence=0.5)),
        (Sample("c", Choice("red", ("red", "blue"))), Reading(None, "malformed")),
    ]
    found = confident(choice.tabulate(pairs))
    assert found.confidence.tolist() == [0.75, 0.5]
    assert found.right.tolist() == [True, False]
    assert found.without == 1
    assert confident(choice.tabulate(pairs[2:])) is None


@pytest.mark.parametrize("score", [-0.5, 87.0])
def test_scores_that_are_no_probabilities_are_not_calibrated(score):
    table = BoxTable(
        ("one",), ("cat",), np.zeros(1, int), np.zeros(1, int), np.array([[0.0, 0, 9, 9]]), np.array([score])
    )
    truth = BoxTable(("one",), ("cat",), np.zeros(1, int), np.zeros(1, int), np.array([[0.0, 0, 9, 9]]))
    assert confident(tables_of(truth, table)) is None
    with pytest.raises(ShapeError, match="from 0 to 1"):
        Confident(np.zeros(1, int), np.array([score]), np.ones(1, bool), 1)
