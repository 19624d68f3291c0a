"""The psychometric curve against a logistic regression, hand cases, and sizes that set no limit."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.errors import ShapeError, SpecError
from snellen.statistics.psychometrics import fit, fit_by

LADDER = 63 * np.array([0.09, 0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0])


def accuracy(x, threshold, slope, lapse, chance):
    above = 1 - chance - lapse
    half = (1 - chance) / 2 / above
    return chance + above / (1 + np.exp(-slope * np.log(x / threshold) - np.log(half / (1 - half))))


def answers(n, *, threshold=16.0, slope=4.0, lapse=0.0, chance=0.25, seed=0):
    x = np.repeat(LADDER, n)
    return x, np.random.default_rng(seed).random(len(x)) < accuracy(x, threshold, slope, lapse, chance)


def test_without_guessing_and_lapses_it_is_a_logistic_regression():
    x, right = answers(200, chance=0.0)
    model = sm.Logit(right, sm.add_constant(np.log(x))).fit(disp=0)
    found = fit(x, right, chance=0.0, lapse=0.0)
    assert np.log(found.threshold.value) == pytest.approx(-model.params[0] / model.params[1], abs=0.005)
    assert found.slope == pytest.approx(model.params[1], rel=0.02)
    # the profile interval nears that of the delta method for much data
    gradient = np.array([-1 / model.params[1], model.params[0] / model.params[1] ** 2])
    half = 1.96 * np.sqrt(gradient @ model.cov_params() @ gradient)
    low, high = np.log([found.threshold.low, found.threshold.high])
    assert (high - low) / 2 == pytest.approx(half, rel=0.05)


@pytest.mark.parametrize("lapse", [0.0, 0.08])
def test_the_curve_crosses_half_way_between_chance_and_one_at_the_threshold(lapse):
    found = fit(*answers(2000, lapse=lapse), chance=0.25)
    assert found.threshold.value == pytest.approx(16.0, rel=0.03)
    assert found.lapse == pytest.approx(lapse, abs=0.03)
    assert found.curve([found.threshold.value])[0] == pytest.approx(0.625, abs=1e-3)
    assert found.curve([1e6])[0] == pytest.approx(1 - found.lapse, abs=1e-6)
    assert found.curve([1e-6])[0] == pytest.approx(0.25, abs=1e-6)


def test_a_step_is_placed_between_the_two_sizes_that_it_separates():
    x = np.repeat(LADDER, 30)
    found = fit(x, x > 15, chance=0.0)
    assert LADDER[2] < found.threshold.low < found.threshold.value < found.threshold.high < LADDER[4]
    assert LADDER[2] < found.threshold.value < LADDER[3]


@pytest.mark.parametrize(
    ("right", "limit", "reason"),
    [
        pytest.param(True, "low", "below the smallest size", id="all right: no lower limit"),
        pytest.param(False, "high", "above the largest size", id="all wrong: no upper limit"),
    ],
)
def test_sizes_that_are_all_too_easy_or_too_hard_set_one_limit(right, limit, reason):
    x = np.repeat(LADDER, 20)
    found = fit(x, np.full(len(x), right), chance=0.1)
    assert found.threshold.value is None
    assert reason in found.reason
    assert getattr(found.threshold, limit) is None
    other = found.threshold.high if limit == "low" else found.threshold.low
    assert other is not None


def test_a_guesser_has_no_threshold():
    x = np.repeat(LADDER, 60)
    right = np.random.default_rng(1).random(len(x)) < 0.25
    found = fit(x, right, chance=0.25)
    assert found.threshold.value is None
    assert found.threshold.high is None
    assert found.reason


def test_answers_that_repeat_together_widen_the_interval():
    x, right = answers(40)
    alone = fit(x, right, chance=0.25)
    four = fit(np.repeat(x, 4), np.repeat(right, 4), chance=0.25, clusters=np.repeat(np.arange(len(x)), 4))
    naive = fit(np.repeat(x, 4), np.repeat(right, 4), chance=0.25)

    def width(found):
        return np.log(found.threshold.high / found.threshold.low)

    assert width(four) == pytest.approx(width(alone), rel=0.1)
    assert width(naive) == pytest.approx(width(alone) / 2, rel=0.15)


def test_sections_have_curves_of_their_own():
    parts = {"top left": 10.0, "bottom right": 25.0}
    data = [(name, *answers(150, threshold=t, seed=i)) for i, (name, t) in enumerate(parts.items())]
    groups = np.concatenate([[name] * len(x) for name, x, _ in data])
    x, right = (np.concatenate([row[i] for row in data]) for i in (1, 2))
    found = fit_by(groups, x, right, chance=0.25)
    assert set(found) == set(parts)
    for name, t in parts.items():
        assert found[name].threshold.low < t < found[name].threshold.high
    assert found["top left"].threshold.high < found["bottom right"].threshold.low


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(6, 50), st.floats(1, 12), st.integers(2, 30))
def test_the_interval_contains_the_estimate_and_units_do_not_matter(seed, threshold, slope, n):
    x, right = answers(n, threshold=threshold, slope=slope, seed=seed)
    found = fit(x, right, chance=0.25).threshold
    if found.value is not None:
        assert (found.low or 0) <= found.value <= (found.high or np.inf)
    scaled = fit(10 * x, right, chance=0.25).threshold
    for name in ("value", "low", "high"):
        one, two = getattr(found, name), getattr(scaled, name)
        assert two == (None if one is None else pytest.approx(10 * one, rel=1e-6))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"sizes": [0.0, 1.0]}, "sizes must be positive", id="size zero"),
        pytest.param({"right": [0.5, 1.0]}, "true or false", id="half right"),
        pytest.param({"chance": 1.0}, r"\[0, 1\)", id="certain guesses"),
        pytest.param({"lapse": 0.4}, "lapse rate", id="lapses beyond the half-way point"),
    ],
)
def test_bad_input_is_refused(change, message):
    given_ = {"sizes": [1.0, 2.0], "right": [0, 1], "chance": 0.25} | change
    with pytest.raises(SpecError, match=message):
        fit(given_.pop("sizes"), given_.pop("right"), **given_)


def test_nothing_cannot_be_fitted():
    with pytest.raises(ShapeError, match="n > 0"):
        fit([], [], chance=0.5)
