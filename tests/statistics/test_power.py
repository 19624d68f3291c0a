"""Power and sample sizes against brute force, statsmodels and simulation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import samplesize_confint_proportion
from typer.testing import CliRunner

from snellen.cli.power import app
from snellen.core.errors import SpecError
from snellen.statistics.hypotheses import mcnemar
from snellen.statistics.power import (
    design_effect,
    disagreement,
    gap_for_samples,
    half_width,
    mcnemar_power,
    samples_for_gap,
    samples_for_width,
)


def brute_force(n, only_a, only_b):
    apart, total = only_a + only_b, 0.0
    for d in range(1, n + 1):
        rejected = [k for k in range(d + 1) if binomtest(k, d, 0.5).pvalue <= 0.05]
        total += binom.pmf(d, n, apart) * binom.pmf(rejected, d, only_b / apart).sum()
    return total


@pytest.mark.parametrize(("n", "only_a", "only_b"), [(20, 0.1, 0.4), (35, 0.05, 0.2), (30, 0.0, 0.3), (12, 0.2, 0.2)])
def test_the_power_of_mcnemar_is_that_of_every_possible_table(n, only_a, only_b):
    assert mcnemar_power(n, only_a, only_b) == pytest.approx(brute_force(n, only_a, only_b), abs=1e-8)


def test_the_power_is_what_simulation_finds():
    rng = np.random.default_rng(0)
    tables = rng.multinomial(300, [0.05, 0.12, 0.83], size=2000)
    found = np.mean([mcnemar(int(a), int(b)).p <= 0.05 for a, b, _ in tables])
    assert mcnemar_power(300, 0.05, 0.12) == pytest.approx(found, abs=0.03)


def test_the_approximation_for_many_samples_joins_the_exact_power():
    exact, near = mcnemar_power(99_000, 0.0985, 0.1015), mcnemar_power(101_000, 0.0985, 0.1015)
    assert exact == pytest.approx(near, abs=0.02)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.3), st.floats(0, 0.3), st.floats(0.5, 0.95))
def test_the_sample_size_reaches_its_power(only_a, only_b, power):
    if abs(only_a - only_b) < 0.02:
        return
    n = samples_for_gap(only_a, only_b, power=power)
    assert mcnemar_power(n, only_a, only_b) >= power
    assert mcnemar_power(int(n * 0.8), only_a, only_b) < power or n < 30
    assert samples_for_gap(only_b, only_a, power=power) == n


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.2))
def test_the_sample_size_for_a_width_is_the_fewest(accuracy, half):
    n = samples_for_width(accuracy, half)
    assert half_width(accuracy, n) <= half
    assert n == 1 or half_width(accuracy, n - 1) > half


def test_the_sample_size_for_a_width_nears_that_of_statsmodels():
    expected = samplesize_confint_proportion(0.5, 0.02)
    assert samples_for_width(0.5, 0.02) == pytest.approx(expected, rel=0.01)


def test_the_smallest_gap_and_the_sample_size_are_inverse():
    gap = gap_for_samples(1000, 0.15)
    n = samples_for_gap((0.15 - gap) / 2, (0.15 + gap) / 2)
    assert n == pytest.approx(1000, rel=0.02)
    assert gap_for_samples(5, 0.15) is None


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(-1, 1))
def test_disagreements_keep_both_accuracies(a, b, correlation):
    only_a, only_b = disagreement(a, b, correlation=correlation)
    assert only_a - only_b == pytest.approx(a - b)
    assert min(only_a, only_b) >= -1e-12
    assert only_a + only_b <= 1 + 1e-9


def test_independent_models_disagree_as_often_as_chance_has_it():
    assert disagreement(0.8, 0.7, correlation=0) == pytest.approx((0.8 * 0.3, 0.7 * 0.2))


def test_four_questions_on_one_scene_are_worth_fewer():
    assert design_effect(1, 0.9) == 1
    assert design_effect(4, 0.0) == 1
    assert design_effect(4, 0.5) == 2.5
    assert design_effect(4, 1.0) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: design_effect(0.5, 0.1), "at least 1 sample"),
        (lambda: design_effect(2, 1.5), "correlation"),
        (lambda: samples_for_width(0.5, 0.7), "half-width"),
        (lambda: samples_for_gap(0.1, 0.1), "no difference"),
        (lambda: mcnemar_power(10, 0.7, 0.7), "at most 1"),
        (lambda: half_width(1.5, 10), "accuracy lies in 0..1"),
    ],
)
def test_impossible_plans_are_refused(call, message):
    with pytest.raises(SpecError, match=message):
        call()


def typed(*words):
    return CliRunner().invoke(app, [*words], catch_exceptions=False)


def test_the_verb_plans_a_comparison():
    found = json.loads(typed("--accuracy", ".80", "--versus", ".83", "--samples", "500", "--json").output)
    only_a, only_b = disagreement(0.80, 0.83)
    assert found["samples_for_gap"] == samples_for_gap(only_a, only_b)
    assert found["chance_to_find"] == mcnemar_power(500, only_a, only_b)
    assert found["smallest_gap"] > 0.03


def test_the_verb_answers_in_words():
    text = typed("--accuracy", ".8").output
    assert f"+-5 points at accuracy 0.8: {samples_for_width(0.8, 0.05):,} samples." in text
    assert typed("--accuracy", ".8", "--samples", "100", "--per-scene", "4", "--icc", "1").output.startswith(
        "Samples that share a scene count for less: 4.00 are worth one."
    )


def test_the_verb_takes_shares_and_not_percent():
    with pytest.raises(SpecError, match=r"for 80 % write 0.8"):
        typed("--accuracy", "80")
