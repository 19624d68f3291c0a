"""Paired differences: exact cases, signs, and what they do where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import ShapeError
from snellen.core.estimates import Ratio
from snellen.core.stages import Choice, Reading, Sample
from snellen.scoring.choice import measure, tabulate
from snellen.statistics.hypotheses import mcnemar
from snellen.statistics.intervals import wilson
from snellen.statistics.paired import difference, holm, smallest_gap


def right(flags, clusters=None):
    """A measure of answers that are right where `flags` say so."""
    tables = tabulate(
        (Sample(str(i), Choice("ab"[i % 2], ("a", "b"))), Reading("ab"[i % 2] if flag else "ba"[i % 2]))
        for i, flag in enumerate(flags)
    )
    return measure(tables)


def compare(a, b, clusters=None, **options):
    clusters = np.arange(len(a)) if clusters is None else clusters
    return difference(right(a), right(b), clusters, rng=np.random.default_rng(0), **options)


def test_accuracy_is_tested_by_exact_mcnemar():
    a, b = [1] * 60 + [1] * 5 + [0] * 15 + [0] * 20, [1] * 60 + [0] * 5 + [1] * 15 + [0] * 20
    found = compare(a, b)["accuracy"]
    assert found.difference.value == pytest.approx(0.10)
    assert found.p == mcnemar(5, 15).p
    assert found.test == "mcnemar-exact"
    # Bonett and Price by hand: (16 - 6) / 102 and z sqrt((22/102 - (10/102)^2) / 102)
    assert (found.difference.low, found.difference.high) == pytest.approx((0.0099424, 0.1861360), abs=1e-6)


def test_b_better_is_positive_and_swapping_changes_the_sign():
    rng = np.random.default_rng(2)
    a, b = rng.random(80) < 0.5, rng.random(80) < 0.8
    one, two = compare(a, b), compare(b, a)
    assert one["accuracy"].difference.value > 0
    for name in ("accuracy", "macro_f1"):
        assert one[name].difference.value == -two[name].difference.value
        assert one[name].difference.low == pytest.approx(-two[name].difference.high)
        assert one[name].p == pytest.approx(two[name].p)


@pytest.mark.parametrize("clusters", [None, np.arange(60) // 3], ids=["single", "clustered"])
def test_two_runs_that_never_differ_are_not_proved_equal(clusters):
    flags = np.random.default_rng(0).random(60) < 0.7
    for name in ("accuracy", "macro_f1", "f1.a"):
        found = compare(flags, flags, clusters)[name]
        assert found.difference.value == 0
        assert found.difference.low < -0.01 < 0.01 < found.difference.high
        assert found.p == 1.0


def test_pairing_is_what_makes_a_small_difference_visible():
    a = np.arange(400) % 10 < 7
    b = a.copy()
    b[np.flatnonzero(~a)[:16]] = True
    found = compare(a, b)["macro_f1"]
    alone_a, alone_b = (wilson(int(flags.sum()), 400) for flags in (a, b))
    assert alone_a.high > alone_b.low
    assert found.difference.low > 0
    assert found.p < 0.001


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=4, max_size=40))
def test_intervals_contain_the_difference_and_agree_with_p(rows):
    a, b, clusters = (np.array(column) for column in zip(*rows, strict=True))
    for found in compare(a, b, clusters, draws=50).values():
        if found.difference.low is None:
            continue
        assert found.difference.low <= found.difference.value <= found.difference.high
        if found.test == "bootstrap-t":
            outside = not found.difference.low <= 0 <= found.difference.high
            assert outside == (found.p < 0.05)


def test_one_cluster_gives_a_difference_and_no_test():
    found = compare([1, 0, 1], [1, 1, 1], ["w"] * 3)["accuracy"]
    assert found.difference.value == pytest.approx(1 / 3)
    assert (found.difference.low, found.p, found.gap) == (None, None, None)


def test_what_is_undefined_for_one_has_no_difference():
    said = zip("ab", (None, "b"), strict=True)
    tables = tabulate((Sample(target, Choice(target, ("a", "b"))), Reading(answer)) for target, answer in said)
    found = difference(measure(tables), right([1, 1]), [0, 1], rng=np.random.default_rng(0))
    assert found["precision.a"].difference.value is None
    assert found["precision.a"].p is None


def test_different_numbers_of_samples_are_refused():
    with pytest.raises((ShapeError, ValueError)):
        difference(right([1, 0]), right([1, 0, 1]), [0, 1], rng=np.random.default_rng(0))


def test_holm_corrects_over_the_metrics_that_were_tested():
    rng = np.random.default_rng(0)
    found = holm(compare(rng.random(50) < 0.5, rng.random(50) < 0.8))
    tested = [d for d in found.values() if d.p is not None]
    assert all(d.p_holm >= d.p for d in tested)
    assert min(d.p_holm for d in tested) == pytest.approx(min(1, min(d.p for d in tested) * len(tested)))
    assert set(found["accuracy"].to_json()) >= {"a", "b", "difference", "low", "high", "p", "p_holm", "smallest_gap"}


def test_the_smallest_gap_is_found_with_the_power_it_names():
    rng = np.random.default_rng(0)
    error = 0.02
    gap = smallest_gap(error)
    found = np.abs(rng.normal(gap, error, 20_000)) > 1.959964 * error
    assert found.mean() == pytest.approx(0.8, abs=0.01)
    assert smallest_gap(error, df=10) > gap
    assert smallest_gap(error, power=0.9) > gap


def test_open_ended_metrics_that_never_differ_have_no_width_and_no_p():
    class Words:
        names = ("words",)

        def __call__(self, weights):
            return {"words": np.full(len(weights), 1.0)}

    found = difference(Words(), Words(), np.arange(5), rng=np.random.default_rng(0))["words"]
    assert (found.difference.value, found.difference.low, found.difference.high, found.p) == (0.0, 0.0, 0.0, None)


def test_ratios_with_other_denominators_are_not_taken_for_paired():
    class Share:
        names = ("precision",)

        def __init__(self, above, below):
            self.ratios = {"precision": Ratio(np.array(above, float), np.array(below, float))}

        def __call__(self, weights):
            above, below = self.ratios["precision"]
            return {"precision": (weights @ above) / np.maximum(weights @ below, 1e-9)}

    a, b = Share([1, 0, 0, 1], [1, 1, 0, 1]), Share([1, 0, 0, 1], [1, 0, 0, 1])
    assert difference(a, b, np.arange(4), rng=np.random.default_rng(0))["precision"].test == "bootstrap-t"


class Shares:
    """The same weighted mean under two names."""

    names = ("ap", "share")

    def __init__(self, values):
        self.values = values

    def __call__(self, weights):
        return dict.fromkeys(self.names, weights @ self.values / weights.sum(axis=1))


def test_a_difference_of_ap_is_a_tenth_less_certain_than_its_draws_say() -> None:
    rng = np.random.default_rng(3)
    found = difference(Shares(rng.random(50)), Shares(rng.random(50)), np.arange(50), rng=rng)
    assert found["ap"].difference.value == found["share"].difference.value
    assert found["ap"].error == pytest.approx(1.1 * found["share"].error)
    assert found["ap"].gap == pytest.approx(1.1 * found["share"].gap)
    assert found["ap"].p > found["share"].p
