"""Paired comparison of two runs on the same samples: both are resampled with the same weights.

The interval of a difference is d +- t s, s its bootstrap standard error over clusters (of AP, a tenth more) and t
Student's quantile for m - 1 degrees of freedom; the p value is the same t's. A plain proportion (accuracy, one question
a scene) has exact tests of its own: p by McNemar (exact), the interval by Bonett and Price (J. Educ. Behav. Stat. 37,
2012), which adds one sample to either kind of disagreement and so keeps its width where the two runs never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from snellen.core.errors import ShapeError, SpecError
from snellen.core.estimates import Estimate, Float, Measure, Ratio, Ratios
from snellen.statistics.hypotheses import holm_adjusted, mcnemar
from snellen.statistics.intervals import (
    is_open_ended,
    is_overrated,
    normal_quantile,
    point,
    spread,
    student_quantile,
)
from snellen.statistics.resampling import Clusters, evaluate

UNDERSTATED = 1.1
"""By how much the bootstrap understates the standard error of a difference of AP: 1.05 to 1.1 in simulated pairs, and a
little for the bias that does not cancel."""
POWER = 0.8
"""The power at which `smallest_gap` is quoted."""


@dataclass(frozen=True)
class Difference:
    """B minus A of one metric, with its interval and p value.

    test: how p was found. p_holm: p corrected for how many differences were tested, once that is known. error: the
    standard error. gap: the smallest true difference that these samples would show with 80 % power at this level.
    """

    a: float | None
    b: float | None
    difference: Estimate
    p: float | None = None
    test: str | None = None
    p_holm: float | None = None
    error: float | None = None
    gap: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: a, b, difference, low, high, method, n, p, test, p_holm, smallest_gap; what is absent is None."""
        found = self.difference
        return {
            "a": self.a, "b": self.b, "difference": found.value, "low": found.low, "high": found.high,
            "method": found.method, "n": found.n, "p": self.p, "test": self.test, "p_holm": self.p_holm,
            "smallest_gap": self.gap,
        }  # fmt: skip


def difference(
    a: Measure,
    b: Measure,
    clusters: ArrayLike,
    *,
    draws: int = 1000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> dict[str, Difference]:
    """B minus A for every metric that both measures have; their samples must be the same in the same order.

    clusters: one name per sample. A metric undefined for either has no difference; with fewer than two clusters, or
    there is neither interval nor p. Where the difference is the same in every draw, that of shares gets an interval as
    wide as the clusters allow and p 1; that of an open-ended metric has no width (`constant`) and no p.
    """
    groups = Clusters.of(clusters)
    samples = len(groups.index)
    names = [name for name in a.names if name in set(b.names)]
    value_a, value_b = point(a, samples), point(b, samples)
    drawn = _drawn(a, b, groups, draws=draws, rng=rng, names=names)
    ratios_a, ratios_b = (m.ratios if isinstance(m, Ratios) else {} for m in (a, b))
    out = {}
    for name in names:
        one, two = value_a[name], value_b[name]
        pair = Difference(one.value, two.value, Estimate(None, n=samples))
        if one.value is not None and two.value is not None:
            pair = replace(pair, difference=Estimate(two.value - one.value, n=samples))
            proportions = _paired(ratios_a.get(name), ratios_b.get(name), groups)
            if proportions is not None:
                pair = _of_proportions(pair, *proportions, level=level)
            else:
                pair = _of_draws(
                    pair,
                    two.value - one.value,
                    spread(drawn[name], groups.effective) * (UNDERSTATED if is_overrated(name) else 1),
                    groups.effective - 1,
                    level=level,
                    share=not is_open_ended(name),
                )
        out[name] = pair
    return out


def smallest_gap(error: float, *, level: float = 0.95, power: float = POWER, df: float = math.inf) -> float:
    """The smallest true difference that a two-sided test at 1 - `level` finds with `power`, given the standard error
    of the difference: (t of the level + t of the power) x error.
    """
    if math.isinf(df):
        return (normal_quantile((1 + level) / 2) + normal_quantile(power)) * error
    return (student_quantile((1 + level) / 2, df) + student_quantile(power, df)) * error


def holm(differences: Mapping[str, Difference]) -> dict[str, Difference]:
    """The same differences with `p_holm`, Holm's correction over all of them that have a p value."""
    adjusted = holm_adjusted([found.p for found in differences.values()])
    return {name: replace(d, p_holm=p) for (name, d), p in zip(differences.items(), adjusted, strict=True)}


def _drawn(
    a: Measure, b: Measure, groups: Clusters, *, draws: int, rng: np.random.Generator, names: list[str]
) -> dict[str, Float]:
    if draws < 2:
        raise SpecError(f"a bootstrap needs at least 2 draws, got {draws}")
    if groups.count < 2:
        return {name: np.zeros(0) for name in names}
    both = _Both(a, b, tuple(names))
    return evaluate(both, groups.draws(draws, rng))


@dataclass(frozen=True, eq=False)
class _Both:
    """B minus A as a measure of its own."""

    a: Measure
    b: Measure
    names: tuple[str, ...]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        one, two = self.a(weights), self.b(weights)
        return {name: np.asarray(two[name]) - np.asarray(one[name]) for name in self.names}


def _paired(a: Ratio | None, b: Ratio | None, groups: Clusters) -> tuple[int, int, int] | None:
    """Samples in all, right in A alone, right in B alone; None unless both are proportions of the same samples, each
    its own cluster.
    """
    if a is None or b is None or not groups.single:
        return None
    if len(a.below) != len(b.below):
        raise ShapeError(f"paired measures must have the same samples, got {len(a.below)} and {len(b.below)}")
    columns = np.stack([a.above, b.above, a.below, b.below])
    if not np.array_equal(a.below, b.below) or not np.isin(columns, (0.0, 1.0)).all():
        return None
    only_a, only_b = int((a.above > b.above).sum()), int((b.above > a.above).sum())
    return int(a.below.sum()), only_a, only_b


def _of_proportions(pair: Difference, n: int, only_a: int, only_b: int, *, level: float) -> Difference:
    z = normal_quantile((1 + level) / 2)
    up, down = (only_b + 1) / (n + 2), (only_a + 1) / (n + 2)
    middle = up - down
    error = math.sqrt(max(up + down - middle**2, 0.0) / (n + 2))
    value = (only_b - only_a) / n
    low, high = max(-1.0, min(middle - z * error, value)), min(1.0, max(middle + z * error, value))
    return replace(
        pair,
        difference=Estimate(value, low, high, n, "bonett-price"),
        p=mcnemar(only_a, only_b).p,
        test="mcnemar-exact",
        error=error,
        gap=smallest_gap(error, level=level),
    )


def _of_draws(pair: Difference, value: float, error: float, df: float, *, level: float, share: bool) -> Difference:
    test = "bootstrap-t"
    if not math.isfinite(error):
        return pair
    if error <= 1e-12:
        if not share:
            return replace(pair, difference=Estimate(value, value, value, pair.difference.n, "constant"))
        error, test = math.sqrt(2.0) / (df + 3), "clusters-alike"
    half = student_quantile((1 + level) / 2, df) * error
    low, high = value - half, value + half
    if share:
        low, high = max(low, -1.0), min(high, 1.0)
    return replace(
        pair,
        difference=Estimate(value, low, high, pair.difference.n, test),
        p=student_p(value / error, df),
        test=test,
        error=error,
        gap=smallest_gap(error, level=level, df=df),
    )


def student_p(t: float, df: float) -> float:
    """Two-sided p value of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))
