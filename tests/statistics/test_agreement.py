"""Kappa and alpha against statsmodels and published examples; votes and their ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import fleiss_kappa

from snellen.core.errors import ShapeError, SpecError
from snellen.statistics.agreement import agreement, counted, fleiss, krippendorff, majority

FLEISS_EXAMPLE = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""14 raters, 10 items, 5 categories: kappa .210 (the textbook's example)."""

RATERS = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
"""Krippendorff 2011, example C: four observers, twelve units, values missing."""


def example():
    pairs = [(f"{i:02}", v) for row in RATERS.values() for i, v in enumerate(row.split()) if v != "."]
    return counted(pairs)[0]


def test_the_textbook_kappa():
    found = fleiss(FLEISS_EXAMPLE)
    assert found.estimate.value == pytest.approx(0.210, abs=5e-4)
    assert (found.observed, found.expected) == pytest.approx((0.378, 0.213), abs=5e-4)
    assert (found.items, found.ratings) == (10, 140)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_own_example(level, alpha):
    found = krippendorff(example(), level=level, values=[1, 2, 3, 4, 5])
    assert found.estimate.value == pytest.approx(alpha, abs=6e-4)
    assert (found.items, found.ratings) == (11, 40)


tables = arrays(np.int64, st.tuples(st.integers(2, 8), st.integers(2, 4)), elements=st.integers(0, 4))


@given(st.integers(2, 9), st.integers(2, 6), st.integers(2, 5), st.integers(0, 10**6))
def test_kappa_is_that_of_statsmodels(raters, items, categories, seed):
    table = np.random.default_rng(seed).multinomial(raters, np.full(categories, 1 / categories), size=items)
    assume((table.sum(axis=0) > 0).sum() > 1)
    assert fleiss(table).estimate.value == pytest.approx(fleiss_kappa(table))


@given(tables)
def test_nominal_alpha_is_kappa_corrected_for_a_small_sample(table):
    table = table[table.sum(axis=1) > 0]
    assume(len(table) > 1)
    each = 4
    table = np.stack(
        [np.bincount(np.resize(np.repeat(np.arange(len(row)), row), each), minlength=len(row)) for row in table]
    )
    kappa, alpha = fleiss(table), krippendorff(table)
    assume(kappa.estimate.value is not None)
    n = len(table) * each
    # alpha = 1 - (1 - P) / (1 - Pe) * (n - 1) / n: the chance term without replacement
    assert alpha.estimate.value == pytest.approx(1 - (1 - kappa.estimate.value) * (n - 1) / n)


@given(tables, st.randoms())
def test_the_order_of_items_and_categories_does_not_matter(table, random):
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, two = agreement(table), agreement(table[rows][:, columns])
    assert one.method == two.method
    assert one.estimate.value == pytest.approx(two.estimate.value)


@given(tables)
def test_there_is_a_value_or_a_reason_and_never_nan(table):
    for found in (agreement(table), krippendorff(table)):
        assert (found.estimate.value is None) == bool(found.reason)
        if found.estimate.value is not None:
            assert np.isfinite(found.estimate.value)
            assert found.estimate.value <= 1


def test_full_agreement_is_one():
    table = [[3, 0], [0, 3], [3, 0]]
    assert fleiss(table).estimate.value == 1
    assert krippendorff(table).estimate.value == 1


def test_unequal_raters_get_alpha_and_are_refused_kappa():
    table = [[3, 0], [0, 2], [2, 1]]
    assert agreement(table).method == "krippendorff-alpha"
    assert agreement([[3, 0], [0, 3], [2, 1]]).method == "fleiss-kappa"
    with pytest.raises(SpecError, match="got 2 to 3; Krippendorff's alpha"):
        fleiss(table)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param([[4, 0], [4, 0]], "one category", id="everyone always says the same"),
        pytest.param([[1, 0], [0, 1]], "at least 2 ratings", id="one rating each"),
        pytest.param(np.zeros((0, 3)), "at least 2 ratings", id="nothing"),
    ],
)
def test_what_cannot_be_computed_says_why(table, reason):
    found = agreement(table)
    assert found.estimate.value is None
    assert reason in found.reason


def test_items_with_one_rating_take_no_part():
    assert krippendorff([[3, 1], [1, 3], [1, 0]]).estimate == krippendorff([[3, 1], [1, 3]]).estimate


@pytest.mark.parametrize("bad", [[[1, -1], [0, 1]], [[0.5, 1], [1, 1]]])
def test_counts_must_be_counts(bad):
    with pytest.raises(SpecError, match="whole and not negative"):
        agreement(bad)


def test_values_must_fit_the_categories():
    with pytest.raises(ShapeError, match=r"shape \(5,\)"):
        krippendorff(example(), level="interval", values=[1, 2])
    with pytest.raises(SpecError, match="value of each category"):
        krippendorff(example(), level="ratio")
    with pytest.raises(SpecError, match="Did you mean 'ordinal'"):
        krippendorff(example(), level="ordinals")


def test_the_interval_over_items_contains_the_value():
    found = agreement(FLEISS_EXAMPLE, rng=np.random.default_rng(0)).estimate
    assert found.low < found.value < found.high
    assert found.low > -1
    assert found.n == 10


@pytest.mark.parametrize(
    ("answers", "answer", "share", "tied"),
    [
        pytest.param(["left"] * 5 + ["center"] * 3, "left", 5 / 8, (), id="majority"),
        pytest.param(["left", "center", "left", "center"], None, 0.5, ("center", "left"), id="tie"),
        pytest.param(["a"], "a", 1.0, (), id="one vote"),
        pytest.param([], None, None, (), id="nobody"),
        pytest.param(["a", "a", "b", "b", "c"], None, 0.4, ("a", "b"), id="a tie of the leaders alone"),
    ],
)
def test_votes(answers, answer, share, tied):
    found = majority(answers)
    assert (found.answer, found.share, found.tied, found.votes) == (answer, share, tied, len(answers))
