"""Intervals against statsmodels, and the laws that any interval keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from snellen.core.errors import ShapeError, SpecError
from snellen.core.estimates import Ratio
from snellen.core.stages import Choice, Reading, Sample
from snellen.scoring.choice import measure, tabulate
from snellen.statistics.intervals import ROOT_FACTOR, added_by_halves, bootstrap, freedom, point, wilson
from snellen.statistics.resampling import Clusters, evaluate


class Mean:
    """The weighted mean of a column, a metric of any name."""

    def __init__(self, values, name="share", *, ratio=False):
        self.values = np.asarray(values, dtype=float)
        self.names = (name,)
        self.ratios = {name: Ratio(self.values, np.ones(len(self.values)))} if ratio else {}

    def __call__(self, weights):
        return {self.names[0]: weights @ self.values / weights.sum(axis=1)}


def answers(targets, said, clusters=None):
    return tabulate(
        (
            Sample(str(i), Choice(t, ("a", "b", "c")), cluster=str(clusters[i]) if clusters is not None else ""),
            Reading(a),
        )
        for i, (t, a) in enumerate(zip(targets, said, strict=True))
    )


@given(st.integers(1, 500), st.data())
def test_wilson_is_that_of_statsmodels(n, data):
    k = data.draw(st.integers(0, n))
    found = wilson(k, n)
    assert (found.low, found.high) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)
    assert found.low <= found.value <= found.high
    assert (found.n, found.method) == (n, "wilson")


def test_no_trials_give_no_proportion():
    assert wilson(0, 0).value is None
    assert wilson(0, 0).low is None


@pytest.mark.parametrize(("k", "n"), [(-1, 4), (5, 4)])
def test_impossible_counts_are_refused(k, n):
    with pytest.raises(SpecError, match="k of n"):
        wilson(k, n)


def test_plain_accuracy_gets_wilsons_interval():
    tables = answers("aabbc", "aabab")
    found = bootstrap(measure(tables), tables.outcomes["cluster"], rng=np.random.default_rng(0))
    assert found["accuracy"] == wilson(3, 5)
    assert found["recall.c"] == wilson(0, 1)
    assert found["other_rate"] == wilson(0, 5)


@pytest.mark.parametrize("ratio", [True, False])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_ten_scenes_all_alike_are_no_proof(value, ratio):
    found = bootstrap(Mean([value] * 40, ratio=ratio), np.repeat(np.arange(10), 4), rng=np.random.default_rng(0))[
        "share"
    ]
    assert found.method == "wilson-clusters"
    assert 0.25 < found.high - found.low < 0.4
    assert found.value == value


def test_a_perfect_class_is_as_uncertain_as_its_few_samples():
    tables = answers("a" * 40 + "b" * 4, "a" * 40 + "b" * 4)
    found = bootstrap(measure(tables), tables.outcomes["cluster"], rng=np.random.default_rng(0))
    assert found["f1.b"].low < found["f1.a"].low < found["f1.a"].value
    assert found["f1.b"].low < 0.5


def test_one_cluster_gives_a_value_and_no_interval():
    tables = answers("aabbc", "aabab", clusters=[7] * 5)
    found = bootstrap(measure(tables), tables.outcomes["cluster"], rng=np.random.default_rng(0))
    assert found["accuracy"].value == 0.6
    assert found["accuracy"].low is None


def test_undefined_metrics_stay_undefined():
    found = bootstrap(Mean([np.nan, np.nan]), [1, 2], rng=np.random.default_rng(0))["share"]
    assert (found.value, found.low, found.high) == (None, None, None)


def test_nothing_has_no_intervals():
    found = bootstrap(measure(tabulate([])), np.array([], dtype=str), rng=np.random.default_rng(0))
    assert found["accuracy"].value is None


def test_clusters_that_repeat_widen_the_interval():
    values = np.random.default_rng(1).random(100) < 0.7
    clusters = np.arange(100)
    single = bootstrap(Mean(values), clusters, rng=np.random.default_rng(0))["share"]
    four = bootstrap(Mean(np.repeat(values, 4)), np.repeat(clusters, 4), rng=np.random.default_rng(0))["share"]
    naive = bootstrap(Mean(np.repeat(values, 4)), np.arange(400), rng=np.random.default_rng(0))["share"]
    assert four.high - four.low == pytest.approx(single.high - single.low, rel=0.02)
    assert naive.high - naive.low == pytest.approx((single.high - single.low) / 2, rel=0.1)


def test_a_length_that_never_varies_has_an_interval_without_width():
    found = bootstrap(Mean([1.0] * 20, "words"), np.arange(20), rng=np.random.default_rng(0))["words"]
    assert (found.value, found.low, found.high, found.method) == (1.0, 1.0, 1.0, "constant")


def test_an_amount_has_an_interval_alike_in_proportion() -> None:
    values = np.random.default_rng(3).exponential(1.0, 200)
    found = bootstrap(Mean(values, "mae"), np.arange(200), rng=np.random.default_rng(0))["mae"]
    assert found.method == "bootstrap-log"
    assert found.low < values.mean() < found.high
    assert found.high > 1
    assert found.high / values.mean() == pytest.approx(values.mean() / found.low)
    large = bootstrap(Mean(1000 * values, "mae"), np.arange(200), rng=np.random.default_rng(0))["mae"]
    assert (large.low, large.high) == pytest.approx((1000 * found.low, 1000 * found.high))


@pytest.mark.parametrize(
    ("values", "name"), [([0.0] * 50 + [1.0], "mae"), ([-1.0, 3.0] * 20, "excess"), ([0.0, 1.0] * 20, "kappa")]
)
def test_what_may_be_zero_or_negative_has_percentiles(values, name) -> None:
    found = bootstrap(Mean(values, name), np.arange(len(values)), rng=np.random.default_rng(0))[name]
    assert found.method == "bootstrap-percentile"
    assert found.low <= found.value <= found.high


def test_degrees_of_freedom_fall_with_heavy_tails() -> None:
    groups, one = Clusters.of(np.arange(100)), np.ones(100)
    alike = np.tile([0.0, 1.0], 50)
    heavy = np.concatenate([alike[:99], [40.0]])
    assert freedom(groups, None) == freedom(groups, Ratio(alike, one)) == freedom(groups, Ratio(one, one)) == 99
    values = heavy - heavy.mean()
    kurtosis = (values**4).mean() / (values**2).mean() ** 2
    assert freedom(groups, Ratio(heavy, one)) == pytest.approx(200 / (kurtosis - 1))
    assert freedom(groups, Ratio(heavy, one)) < 4


def test_degrees_of_freedom_are_those_by_which_variances_vary() -> None:
    samples = (np.random.default_rng(0).random((4000, 400)) < 0.05).astype(float)
    variances = samples.var(axis=1)
    found = [freedom(Clusters.of(np.arange(400)), Ratio(row, np.ones(400))) for row in samples[:200]]
    assert np.median(found) == pytest.approx(2 * variances.mean() ** 2 / variances.var(), rel=0.1)


shares = st.lists(st.tuples(st.integers(0, 6), st.floats(0, 1)), min_size=1, max_size=30)


@given(shares, st.integers(0, 9))
def test_the_interval_contains_the_value_and_stays_in_range(rows, seed):
    clusters, values = zip(*rows, strict=True)
    found = bootstrap(Mean(values), clusters, draws=50, rng=np.random.default_rng(seed))["share"]
    if found.low is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=30), st.integers(0, 9))
def test_the_interval_of_an_amount_contains_the_value_and_is_never_below_zero(rows, seed):
    clusters, values = zip(*rows, strict=True)
    measure = Mean(values, "mae", ratio=True)
    found = bootstrap(measure, clusters, draws=50, rng=np.random.default_rng(seed))["mae"]
    if found.low is not None:
        assert 0 <= found.low <= found.value <= found.high < np.inf


@given(shares)
def test_the_same_generator_gives_the_same_interval(rows):
    clusters, values = zip(*rows, strict=True)
    one, two = (bootstrap(Mean(values), clusters, draws=20, rng=np.random.default_rng(5)) for _ in range(2))
    assert one == two


def test_a_higher_level_is_wider():
    values = np.random.default_rng(1).random(60)
    widths = [
        (lambda e: e.high - e.low)(
            bootstrap(Mean(values), np.arange(60), level=level, rng=np.random.default_rng(0))["share"]
        )
        for level in (0.5, 0.8, 0.95, 0.99)
    ]
    assert widths == sorted(widths)


def test_resamples_draw_whole_clusters():
    clusters = Clusters.of(["x", "y", "x", "z", "z", "z"])
    weights = np.concatenate(list(clusters.draws(200, np.random.default_rng(0))))
    assert weights.shape == (200, 6)
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, 3:].std(axis=1) == 0).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()


@pytest.mark.parametrize("names", ["aabbbcdd", "aabbbcdde"])
def test_halves_complete_each_other_and_split_no_cluster(names, monkeypatch):
    monkeypatch.setattr("snellen.statistics.resampling.MEMORY", 3 * len(names))  # several blocks
    groups = Clusters.of(list(names))
    weights = np.concatenate(list(groups.halves(50, np.random.default_rng(0))))
    assert weights.shape == (100, len(names))
    assert (weights[0::2] + weights[1::2] == 1).all()
    first = np.array([list(names).index(name) for name in sorted(set(names))])
    assert (weights == weights[:, first][:, groups.index]).all()
    held = weights[:, first].sum(axis=1)
    assert set(held) == ({2} if groups.count == 4 else {2, 3})
    assert weights.mean(axis=0) == pytest.approx(0.5)


class Distance:
    """The distance of the weighted mean of a column from 0: overrated by noise: sqrt(2 / (pi n)) of it alone."""

    def __init__(self, values, name="ap"):
        self.values = np.asarray(values)
        self.names = (name,)

    def __call__(self, weights):
        return {self.names[0]: np.abs(weights @ self.values / weights.sum(axis=1))}


def test_a_bias_that_falls_with_the_root_is_found_from_halves():
    rng, n, found = np.random.default_rng(0), 50, []
    for _ in range(1500):
        measure, groups = Distance(rng.normal(size=n)), Clusters.of(np.arange(n))
        halved = evaluate(measure, groups.halves(10, rng))["ap"]
        found.append(ROOT_FACTOR * added_by_halves(float(measure(np.ones((1, n)))["ap"][0]), halved))
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(np.sqrt(2 / (np.pi * n)), abs=3 * error)
    assert error < 0.05 * np.sqrt(2 / (np.pi * n))


@pytest.mark.parametrize(("mean", "seed"), [(0.3, 0), (0.3, 1), (0.02, 1), (0.02, 3)])
def test_the_interval_of_an_overrated_metric_lies_lower_and_contains_the_value(mean, seed):
    values = np.random.default_rng(seed).normal(mean, 1, 60)
    plain, overrated = (
        bootstrap(Distance(values, name), np.arange(60), rng=np.random.default_rng(0))[name] for name in ("share", "ap")
    )
    assert plain.method == overrated.method == "bootstrap-wilson"
    assert 0 <= overrated.low <= plain.low
    assert overrated.low < plain.low or plain.low == 0
    assert overrated.low <= overrated.value <= overrated.high < 0.7


class OfClasses:
    """AP over two classes, steady at .9 (common) and .1 (rare: in two clusters alone, so that halves may lack it)."""

    names = ("ap",)

    def __init__(self, *, by_class: bool):
        self.by_class = by_class

    def __call__(self, weights):
        common, rare = np.full(len(weights), 0.9), np.where(weights[:, :2].any(axis=1), 0.1, np.nan)
        noise = 0.02 * (weights[:, 2:] @ np.linspace(-1, 1, weights.shape[1] - 2)) / weights.sum(axis=1)
        found = {"ap.common": common + noise, "ap.rare": rare + noise}
        whole = {"ap": np.nanmean(list(found.values()), axis=0)}
        return whole | found if self.by_class else whole


def test_a_class_that_halves_lack_tells_no_bias() -> None:
    by_class, whole = (
        bootstrap(OfClasses(by_class=by_class), np.arange(40), rng=np.random.default_rng(0))["ap"]
        for by_class in (True, False)
    )
    assert by_class.value == whole.value == pytest.approx(0.5)
    centre, lopsided = ((each.low + each.high) / 2 for each in (by_class, whole))
    assert centre == pytest.approx(0.5, abs=0.02)
    assert lopsided < centre - 0.05


def test_blocks_of_any_size_give_the_same_draws(monkeypatch):
    values = np.random.default_rng(1).random(50)

    def run():
        return bootstrap(Mean(values), np.arange(50), draws=64, rng=np.random.default_rng(0))["share"]

    whole = run()
    monkeypatch.setattr("snellen.statistics.resampling.MEMORY", 50 * 7)
    blocked = run()
    assert (blocked.low, blocked.high) == pytest.approx((whole.low, whole.high))


def test_point_gives_values_without_intervals():
    tables = answers("aabbc", "aabab")
    found = point(measure(tables), 5)
    assert (found["accuracy"].value, found["accuracy"].low, found["accuracy"].n) == (0.6, None, 5)


def test_clusters_must_be_one_name_per_sample():
    with pytest.raises(ShapeError, match="one cluster per sample"):
        Clusters.of(np.zeros((2, 2)))


def test_clusters_of_uneven_size_count_for_less() -> None:
    assert Clusters.of(["a", "b", "c"]).effective == 3
    assert Clusters.of(["a", "a", "b", "b"]).effective == 2
    assert Clusters.of(["a"] * 4 + ["b", "c"]).effective == pytest.approx(36 / 18)
    assert Clusters.of(["a"] * 99 + ["b"]).effective == 2
    assert Clusters.of(["a"] * 5).effective == 1
