"""AP over ties, beside brute force: every order of equal scores is tried as a set without ties."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.detections import BoxTable
from snellen.scoring import ties
from snellen.scoring.average_precision import point_ap
from snellen.scoring.ties import ap_ties, expected


def small_set(seed: int, *, found: int, levels: int, crowd: bool) -> tuple[BoxTable, BoxTable]:
    """One or two pictures with few boxes that contend for one another's truths."""
    rng = np.random.default_rng(seed)
    images, classes = ("a", "b")[: rng.integers(1, 3)], ("x", "y")[: rng.integers(1, 3)]

    def boxes(n: int) -> np.ndarray:
        corner = rng.integers(0, 3, (n, 2)) * 4.0
        return np.concatenate([corner, corner + 12 + 4 * rng.integers(0, 2, (n, 2))], axis=1)

    g = int(rng.integers(1, 5))
    truth = BoxTable(
        images, classes, rng.integers(0, len(images), g), rng.integers(0, len(classes), g), boxes(g), None,
        (rng.random(g) < 0.3) if crowd else np.zeros(g, bool),
    )  # fmt: skip
    scores = None if levels == 0 else rng.integers(0, levels, found) / 8 + 0.1
    return truth, BoxTable(
        images, classes, rng.integers(0, len(images), found), rng.integers(0, len(classes), found), boxes(found), scores
    )


def every_ap(truth: BoxTable, predicted: BoxTable, max_dets: int) -> list[float | None]:
    """AP of every order of every tie, each made unmistakable by scores of its own."""
    scores = np.ones(len(predicted)) if predicted.scores is None else np.nan_to_num(predicted.scores, nan=1.0)
    groups = [np.flatnonzero(scores == s).tolist() for s in sorted(set(scores.tolist()), reverse=True)]
    found = []
    for chosen in product(*(permutations(group) for group in groups)):
        order = [row for group in chosen for row in group]
        distinct = np.empty(len(predicted))
        distinct[order] = np.linspace(1, 0.5, len(order)) if order else []
        found.append(point_ap(truth, replace(predicted, scores=distinct), max_dets=max_dets).summary["ap"])
    return found


@pytest.mark.parametrize("max_dets", [500, 2])
@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        small_set,
        st.integers(0, 10**9),
        found=st.integers(0, 5),
        levels=st.sampled_from([0, 1, 2]),
        crowd=st.booleans(),
    )
)
def test_expectation_is_the_mean_of_all_orders_and_bounds_enclose_each(
    max_dets: int, sets: tuple[BoxTable, BoxTable]
) -> None:
    truth, predicted = sets
    found = ap_ties(truth, predicted, max_dets=max_dets, rng=np.random.default_rng(0))
    brute = every_ap(truth, predicted, max_dets)
    if brute[0] is None:
        assert found.expected is None
        assert found.order_min is None
        return
    assert found.method in ("exact", "no ties")
    assert found.expected == pytest.approx(np.mean(brute), abs=1e-12)
    assert found.order_min is not None
    assert found.order_max is not None
    assert found.order_min <= min(brute) + 1e-12
    assert found.order_max >= max(brute) - 1e-12
    assert found.order_min - 1e-12 <= found.as_listed <= found.order_max + 1e-12
    if found.method == "no ties":
        assert found.order_min == pytest.approx(found.order_max, abs=1e-12)


def test_one_right_and_one_wrong_box_of_equal_score_span_a_half_to_one() -> None:
    box = [[0.0, 0.0, 10.0, 10.0]]
    truth = BoxTable(("a",), ("x",), np.array([0]), np.array([0]), np.array(box))
    predicted = BoxTable(("a",), ("x",), np.zeros(2, int), np.zeros(2, int), np.array([*box, [50.0, 50.0, 60.0, 60.0]]))
    found = ap_ties(truth, predicted, rng=np.random.default_rng(0))
    assert (found.order_min, found.order_max, found.as_listed) == (0.5, 1.0, 1.0)
    assert found.expected == pytest.approx(0.75)
    assert (found.method, found.error, found.tied, found.missing) == ("exact", 0.0, 2, 2)


def test_random_orders_come_close_to_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, predicted = small_set(1, found=6, levels=0, crowd=False)
    brute = [value for value in every_ap(truth, predicted, 500) if value is not None]
    assert np.std(brute) > 0.01
    monkeypatch.setattr(ties, "EXACT", 1)
    drawn = ap_ties(truth, predicted, rng=np.random.default_rng(1))
    assert drawn.method == "monte-carlo"
    assert 0 < drawn.error < 0.02
    assert drawn.expected == pytest.approx(np.mean(brute), abs=5 * drawn.error)


def test_the_expected_measure_gives_the_expectation_at_unit_weights_and_moves_with_the_pictures() -> None:
    truth, predicted = small_set(11, found=5, levels=0, crowd=False)
    found = expected(truth, predicted, rng=np.random.default_rng(0))
    n = len(truth.images)
    brute = np.mean([value for value in every_ap(truth, predicted, 500) if value is not None])
    assert found(np.ones((1, n)))["ap"][0] == pytest.approx(brute)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=20).astype(float)
    assert all(len(values) == 20 for values in found(weights).values())
