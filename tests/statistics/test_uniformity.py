"""Uniformity over cells: what it finds, what it leaves alone, and that pairing matters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from snellen.core.errors import ShapeError
from snellen.statistics.hypotheses import cochran
from snellen.statistics.uniformity import chi_square, uniformity

OBJECTS, CELLS = 24, 9


def design(p, seed):
    """Answers of every object in every cell, right with probability p[object, cell]."""
    right = np.random.default_rng(seed).random((OBJECTS, CELLS)) < p
    cells = np.tile([f"c{i}" for i in range(CELLS)], OBJECTS)
    return right, right.ravel(), cells, np.repeat(np.arange(OBJECTS), CELLS)


def test_a_blind_cell_is_found_and_named():
    p = np.full((OBJECTS, CELLS), 0.8)
    p[:, 4] = 0.3
    _, right, cells, objects = design(p, 0)
    found = uniformity(right, cells, objects, rng=np.random.default_rng(0))
    assert found.permutation.p < 0.001
    assert found.chi_square.p < 0.001
    assert min(found.excess, key=found.excess.get) == "c4"
    assert found.excess["c4"] < -0.25
    assert sum(found.excess.values()) == pytest.approx(0)


def test_under_equal_accuracy_p_is_evenly_spread_however_unlike_the_objects():
    difficulty = np.tile(np.repeat([[0.05], [0.95]], OBJECTS // 2, axis=0), (1, CELLS))
    found = [
        uniformity(*design(difficulty, seed)[1:], draws=99, rng=np.random.default_rng(seed)) for seed in range(200)
    ]
    p = np.array([f.permutation.p for f in found])
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.04)
    assert p.mean() == pytest.approx(0.5, abs=0.06)
    # chi-square, which ignores the pairing, is far too timid here
    assert (np.array([f.chi_square.p for f in found]) <= 0.05).mean() == 0


def test_pairing_finds_what_chi_square_misses():
    p = np.repeat([[0.02], [0.98]], OBJECTS // 2, axis=0) * np.ones((1, CELLS))
    p[: OBJECTS // 2, 0] = 0.45
    _, right, cells, objects = design(p, 3)
    found = uniformity(right, cells, objects, rng=np.random.default_rng(0))
    assert found.permutation.p < 0.01 < 0.05 < found.chi_square.p


def test_its_p_nears_that_of_cochrans_q_on_a_complete_design():
    table, right, cells, objects = design(np.linspace(0.5, 0.7, CELLS)[None, :], 1)
    found = uniformity(right, cells, objects, draws=4000, rng=np.random.default_rng(0))
    assert found.permutation.p == pytest.approx(cochran(table).p, abs=0.03)


def test_the_order_of_answers_does_not_matter():
    _, right, cells, objects = design(np.full((OBJECTS, CELLS), 0.6), 2)
    order = np.random.default_rng(1).permutation(len(right))
    one, two = (
        uniformity(right[i], cells[i], objects[i], rng=np.random.default_rng(0)) for i in (np.arange(len(right)), order)
    )
    assert one.permutation.statistic == pytest.approx(two.permutation.statistic)
    assert one.permutation.p == pytest.approx(two.permutation.p, abs=0.04)
    assert one.excess == pytest.approx(two.excess)


@pytest.mark.parametrize("value", [True, False])
def test_all_alike_is_undefined(value):
    found = uniformity([value] * 6, [0, 1, 2] * 2, [0] * 3 + [1] * 3, rng=np.random.default_rng(0))
    assert (found.permutation.p, found.chi_square.p) == (None, None)
    assert set(found.excess.values()) == {0.0}


def test_objects_that_stood_in_one_cell_alone_say_nothing():
    found = uniformity([1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1], rng=np.random.default_rng(0))
    assert found.permutation.p is None


def test_chi_square_is_that_of_scipy():
    right, n = np.array([10, 20, 33]), np.array([40, 41, 39])
    expected = chi2_contingency(np.stack([right, n - right]), correction=False)
    found = chi_square(right, n)
    assert (found.statistic, found.p, found.df) == pytest.approx((expected.statistic, expected.pvalue, 2))


def test_columns_must_have_one_length():
    with pytest.raises(ShapeError, match="one shape"):
        uniformity([1, 0], [0], [0, 1], rng=np.random.default_rng(0))
