"""Intervals: Wilson's for a plain proportion, a cluster bootstrap for everything else.

How the bootstrap is read. Clusters are drawn with replacement; the standard deviation of a metric over the draws,
times sqrt(m / (m - 1)) for m clusters, is its standard error s; of clusters of uneven size, m is how many equal ones
know as much. Percentiles of the draws are not used: with few clusters they are too narrow, near 0 and 1 lopsided, and
where all is right they have no width at all.

* A share between 0 and 1 gets Wilson's interval for the effective number of trials n = p (1 - p) / s^2, with
  Student's t of m - 1 degrees of freedom in place of the normal quantile (as Korn and Graubard do with Clopper and
  Pearson's: Survey Methodology 24, 1998). It is centred on p less the bootstrap's bias (macro-F1 shifts when
  resampled), contains the value, stays within 0..1, and is skewed as it must be.
* AP is overrated by small samples by much of its standard error (`core.estimates.OVERRATED`). Resamples repeat what
  they draw and show too little of that; halves of the clusters, drawn without replacement, are plain smaller samples of
  the same population (Politis, Romano and Wolf, Subsampling, 1999), and overrate it more. The interval is centred on p
  less the bias that they tell, class by class where the classes' own values are at hand, since halves lack some of the
  rare ones; and its s is widened by what this correction may itself be wrong.
* A share that did not vary at all, because all is right or all is wrong, gets the same interval with n = the number
  of clusters on which it is defined: ten scenes, all right, are no proof of perfection.
* A mean of distances (calibration error) is overrated by noise, as AP is, but only where the truth is near 0, and the
  sample does not tell how near: the lower limit allows for all of that bias, the upper one for none.
* An amount (mean error, count ratio, length) has a long tail above, that few clusters show too little of. Its interval
  is value * exp(+-t s), s the standard error of its logarithm. Where heavy tails make s itself uncertain, t has fewer
  degrees of freedom than clusters (`freedom`).
* A difference or a chance-corrected figure (kappa) gets the percentiles of the draws, at levels widened for few
  clusters (Hesterberg, The American Statistician 69, 2015, "expanded percentile").
* An open-ended metric that did not vary has an interval without width, and its method is `constant`: nothing is known
  of how far it might.

`benchmarks/coverage_answers.py` prints how often these contain the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from snellen.core.errors import SpecError
from snellen.core.estimates import AMOUNTS, FOLDED, OPEN_ENDED, OVERRATED, Estimate, Float, Measure, Ratio, Ratios
from snellen.statistics.resampling import Clusters, evaluate

PROBED = 1000
"""Of more clusters than this only so many are probed for whether a metric is defined on them."""
PAIRS = 40
"""Pairs of halves from which a bias is found: few are enough, since what is not bias cancels within a pair."""
ROOT_FACTOR = 1 + math.sqrt(2)
"""A bias that falls with the root of the sample's size is so many times what halves of the sample add to it, being
sqrt(2) times as large there, and so many times what resamples add, whose noise is twice the sample's."""
BIAS_FACTOR = 2.7
"""The same for AP, as measured in simulated sets of 40 to 325 pictures: 1.0 to 3.2, standard deviation 0.55, each set
weighted by the square of bias over spread; largest where classes have few truths. Curves of few truths are also read at
too high a recall, by half a step on average: halves lose by that a part of what noise adds to them."""
BIAS_DOUBT = 1 / 5
"""Standard error of the correction for AP, as a share of it, by the law itself: 0.55 of 2.7."""
NOISE = 1.15
"""What the noise of such a correction adds to the spread: 1 to 35 % in simulated sets, 12 % on average."""


def is_open_ended(name: str) -> bool:
    """Whether a metric (or `metric.<class>`) is no share between 0 and 1."""
    return name.partition(".")[0] in OPEN_ENDED


def is_overrated(name: str) -> bool:
    """Whether small samples overrate a metric (or `metric.<class>`) by an amount that falls with their root."""
    return name.partition(".")[0] in OVERRATED


def wilson(k: float, n: float, *, level: float = 0.95) -> Estimate:
    """The proportion k / n with Wilson's score interval (JASA 22, 1927). n = 0 is undefined: no value, no interval."""
    _check_level(level)
    if not 0 <= k <= n:
        raise SpecError(f"a proportion counts k of n with 0 <= k <= n, got {k} of {n}")
    if n == 0:
        return Estimate(None, n=0, method="wilson")
    low, high = score_interval(k / n, n, normal_quantile((1 + level) / 2))
    return Estimate(k / n, low, high, n=int(n) if float(n).is_integer() else None, method="wilson")


def score_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of the share `p` of `n` trials, which may be an effective number, at the quantile `z`."""
    share = 1 / (1 + z * z / n)
    middle = share * (p + z * z / (2 * n))
    half = share * z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, min(middle - half, p)), min(1.0, max(middle + half, p))


def point(measure: Measure, samples: int) -> dict[str, Estimate]:
    """The values alone, without intervals, for the `samples` rows of the measure's tables."""
    values = measure(np.ones((1, samples)))
    ratios = measure.ratios if isinstance(measure, Ratios) else {}
    return {
        name: Estimate(_known(values[name][0]), n=_units(ratios.get(name), samples), method="point")
        for name in measure.names
    }


def bootstrap(
    measure: Measure,
    clusters: ArrayLike,
    *,
    draws: int = 1000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Every metric of `measure` with its interval over `clusters` (one name per sample; see the module's text).

    A metric in `measure.ratios` that is a plain proportion (each cluster adds 0 or 1 to either sum) gets Wilson's
    interval itself. Undefined metrics have value None; with fewer than two clusters there is no interval. Draws in
    which a metric is undefined are left out of its spread.
    """
    _check_level(level)
    if draws < 2:
        raise SpecError(f"a bootstrap needs at least 2 draws, got {draws}")
    groups = Clusters.of(clusters)
    estimates = point(measure, len(groups.index))
    if groups.count == 0:
        return estimates
    ratios: Mapping[str, Ratio] = measure.ratios if isinstance(measure, Ratios) else {}
    drawn = evaluate(measure, groups.draws(draws, rng))
    biases = _overratings(measure, groups, rng)
    still: list[str] = []
    out: dict[str, Estimate] = {}
    for name, found in estimates.items():
        if name in ratios and not is_open_ended(name) and _is_proportion(ratios[name], groups):
            above, below = (float(column.sum()) for column in ratios[name])
            out[name] = wilson(above, below, level=level)
            continue
        interval = _interval(
            name,
            found.value,
            drawn[name],
            groups,
            level,
            bias=biases.get(name),
            ratio=ratios.get(name),
        )
        if interval is None and found.value is not None and groups.count > 1:
            if is_open_ended(name):
                interval = found.value, found.value, "constant"
            else:
                still.append(name)
        low, high, method = interval or (None, None, found.method)
        out[name] = Estimate(found.value, low, high, found.n, method)
    for name, (low, high) in _constant(measure, groups, still, estimates, ratios, level).items():
        out[name] = Estimate(estimates[name].value, low, high, estimates[name].n, "wilson-clusters")
    return out


def spread(drawn: Float, clusters: float) -> float:
    """Standard error from bootstrap draws of so many clusters; NaN where fewer than two draws are defined."""
    defined = drawn[np.isfinite(drawn)]
    if len(defined) < 2 or clusters < 2:
        return math.nan
    return float(defined.std() * math.sqrt(clusters / (clusters - 1)))


def added_by_halves(value: float, halved: Float) -> float:
    """How much a metric's values of halves of a sample exceed `value`, that of the whole, on average."""
    defined = halved[np.isfinite(halved)]
    return float(defined.mean()) - value if len(defined) else 0.0


def freedom(groups: Clusters, ratio: Ratio | None) -> float:
    """Degrees of freedom of a standard error: the clusters but one, or fewer for a ratio of heavy tails.

    The variance of m values of kurtosis k is itself known with a variance of (k - 1) / m of its square: that of
    chi-square with 2 m / (k - 1) degrees of freedom (Satterthwaite, Biometrics Bulletin 2, 1946). The values are the
    clusters' shares of the ratio's error, above - ratio * below.
    """
    most = groups.effective - 1
    if ratio is None:
        return most
    above, below = groups.sums(ratio.above), groups.sums(ratio.below)
    squares = (above * below.sum() - below * above.sum()) ** 2
    total = float(squares.sum())
    if not total > 0:
        return most
    excess = groups.count * float((squares**2).sum()) / total**2 - 1
    return most if excess <= 0 else min(most, 2 * groups.count / excess)


def _overratings(measure: Measure, groups: Clusters, rng: np.random.Generator) -> dict[str, float]:
    """The bias of those metrics whose halves tell it; of a mean over classes (`ap`, where the measure gives
    `ap.<class>` too) the mean of theirs: halves lack some of the rare classes, so their means are over easier ones.
    """
    names = [name for name in measure.names if is_overrated(name)]
    if not names:
        return {}
    whole = {name: float(values[0]) for name, values in measure(np.ones((1, len(groups.index)))).items()}
    halved = evaluate(measure, groups.halves(PAIRS, rng), names=tuple(whole))
    out = {}
    for name in names:
        parts = [] if "." in name else [part for part in whole if part.startswith(f"{name}.")]
        added = [added_by_halves(whole[part], halved[part]) for part in parts or [name] if math.isfinite(whole[part])]
        out[name] = BIAS_FACTOR * sum(added) / len(added) if added else 0.0
    return out


def _interval(
    name: str,
    value: float | None,
    drawn: Float,
    groups: Clusters,
    level: float,
    *,
    bias: float | None,
    ratio: Ratio | None,
) -> tuple[float, float, str] | None:
    """Low, high and method; None where there is no value or it did not vary. bias: where halves tell it."""
    clusters = groups.effective
    error = spread(drawn, clusters)
    if value is None or not error > 1e-12:
        return None
    t = student_quantile((1 + level) / 2, clusters - 1)
    defined = drawn[np.isfinite(drawn)]
    if name in FOLDED:
        most, half = max(float(defined.mean()) - value, 0.0) * ROOT_FACTOR, t * error * NOISE
        return max(value - most - half, 0.0), value + half, "bootstrap-folded"
    if not is_open_ended(name) and 0 <= value <= 1:
        if bias is None:
            bias = float(defined.mean()) - value
        else:
            error = math.hypot(error * NOISE, bias * BIAS_DOUBT)
        centre = min(max(value - bias, 0.0), 1.0)
        edge = min(error, 0.5)
        inner = min(max(centre, edge), 1 - edge)  # a centre at the very end would be worth no trial at all
        low, high = score_interval(centre, inner * (1 - inner) / error**2, t)
        return min(low, value), max(high, value), "bootstrap-wilson"
    if name.partition(".")[0] in AMOUNTS and value > 0 and (defined > 0).all():
        half = student_quantile((1 + level) / 2, freedom(groups, ratio)) * spread(np.log(defined), clusters)
        return value * math.exp(-half), value * math.exp(half), "bootstrap-log"
    tail = normal_tail(t * math.sqrt(clusters / (clusters - 1)))
    low, high = np.quantile(defined, [tail, 1 - tail])
    return min(float(low), value), max(float(high), value), "bootstrap-percentile"


def _constant(
    measure: Measure,
    groups: Clusters,
    names: list[str],
    estimates: Mapping[str, Estimate],
    ratios: Mapping[str, Ratio],
    level: float,
) -> dict[str, tuple[float, float]]:
    """Intervals of shares that did not vary over the draws: Wilson's, a cluster on which they are defined a trial."""
    defined = {name: int(np.count_nonzero(groups.sums(ratios[name].below) > 0)) for name in names if name in ratios}
    if len(defined) < len(names):
        alone = evaluate(measure, groups.alone(PROBED))
        defined = {name: round(float(np.isfinite(alone[name]).mean()) * groups.count) for name in names} | defined
    out = {}
    for name in names:
        value, trials = estimates[name].value, defined[name]
        if value is not None and trials > 1 and 0 <= value <= 1:
            out[name] = score_interval(value, trials, student_quantile((1 + level) / 2, trials - 1))
    return out


def _is_proportion(ratio: Ratio, groups: Clusters) -> bool:
    above, below = groups.sums(ratio.above), groups.sums(ratio.below)
    return bool(np.isin(below, (0.0, 1.0)).all() and np.isin(above, (0.0, 1.0)).all() and (above <= below).all())


def _units(ratio: Ratio | None, samples: int) -> int:
    """How many units a metric rests on: what a ratio divides by, where that is a count; else the samples."""
    if ratio is None:
        return samples
    total = float(ratio.below.sum())
    return int(total) if total.is_integer() else samples


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise SpecError(f"a level lies between 0 and 1, got {level}")


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(p))


def normal_tail(z: float) -> float:
    """P(Z > z) of the standard normal distribution."""
    from scipy.special import ndtr

    return float(ndtr(-z))


def student_quantile(p: float, df: float) -> float:
    """Quantile of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, p))
