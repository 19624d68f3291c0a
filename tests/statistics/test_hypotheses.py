"""Tests of paired answers against statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.contingency_tables import mcnemar as reference
from statsmodels.stats.multitest import multipletests

from snellen.core.errors import ShapeError, SpecError
from snellen.statistics.hypotheses import cochran, holm_adjusted, mcnemar


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_that_of_statsmodels(b, c):
    expected = reference([[10, b], [c, 10]], exact=True).pvalue if b + c else 1.0
    assert mcnemar(b, c).p == pytest.approx(min(1.0, expected), abs=1e-12)
    assert mcnemar(b, c) == mcnemar(c, b)


def test_negative_counts_are_refused():
    with pytest.raises(SpecError, match="negative"):
        mcnemar(-1, 3)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # statsmodels announces another name
@given(st.integers(2, 6), st.integers(5, 40), st.integers(0, 1000))
def test_cochrans_q_is_that_of_statsmodels(models, samples, seed):
    table = np.random.default_rng(seed).random((samples, models)) < np.linspace(0.3, 0.8, models)
    found = cochran(table)
    if found.p is None:
        assert (table.min(axis=1) == table.max(axis=1)).all()
        return
    expected = cochrans_q(table.astype(int), return_object=True)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.df == models - 1


def test_two_models_that_never_differ_leave_cochrans_q_undefined():
    found = cochran([[1, 1], [0, 0]])
    assert (found.statistic, found.p) == (None, None)


def test_cochrans_q_needs_several_models():
    with pytest.raises(ShapeError, match="at least 2 models"):
        cochran([[1], [0]])


@settings(max_examples=8)  # statsmodels collects garbage in every call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p):
    assert holm_adjusted(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_what_was_not_tested_takes_no_part_in_holm():
    assert holm_adjusted([0.01, None, 0.04]) == [0.02, None, 0.04]
