"""How many samples does it take? Power of the paired exact test, half-widths of intervals, and sample sizes.

Samples that come in clusters (several questions a scene) count for less: with `size` samples a cluster and
intra-cluster correlation `icc`, n of them are worth n / (1 + (size - 1) icc) (Kish, Survey Sampling, 1965).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from snellen.core.errors import SpecError
from snellen.statistics.intervals import normal_quantile, score_interval

MOST_SAMPLES = 100_000_000
"""No sample size beyond this is looked for."""


def design_effect(size: float, icc: float) -> float:
    """How many clustered samples are worth one independent: 1 + (size - 1) icc."""
    if size < 1:
        raise SpecError(f"a cluster holds at least 1 sample, got {size}")
    if not 0 <= icc <= 1:
        raise SpecError(f"an intra-cluster correlation lies in 0..1, got {icc}")
    return 1 + (size - 1) * icc


def half_width(accuracy: float, n: float, *, level: float = 0.95) -> float:
    """Half the width of Wilson's interval of an `accuracy` over `n` independent samples."""
    _share("accuracy", accuracy)
    low, high = score_interval(accuracy, n, normal_quantile((1 + level) / 2))
    return (high - low) / 2


def samples_for_width(accuracy: float, half: float, *, level: float = 0.95) -> int:
    """The fewest independent samples for which Wilson's interval reaches at most `half` to either side."""
    if not 0 < half < 0.5:
        raise SpecError(f"a half-width lies between 0 and 0.5, got {half}")
    return _fewest(lambda n: half_width(accuracy, n, level=level) <= half)


def mcnemar_power(n: int, only_a: float, only_b: float, *, level: float = 0.95) -> float:
    """Probability that McNemar's exact two-sided test finds a difference at 1 - `level`, of `n` paired samples.

    only_a, only_b: share of samples that one model alone gets right. Exact: a sum over the number of disagreements
    (binomial) and over how they split; up to 20,000 disagreements, beyond which the normal approximation is used.
    """
    _disagreements(only_a, only_b)
    apart = only_a + only_b
    if apart == 0 or n < 1:
        return 0.0
    if n * apart > 20_000:
        return _normal_power(n, only_a, only_b, level)
    from scipy.stats import binom

    low, high = binom.interval(1 - 1e-9, n, apart)
    counts = np.arange(max(int(low), 1), int(high) + 1, dtype=np.float64)
    chance = binom.pmf(counts, n, apart)
    # the largest k with 2 P(X <= k) <= 1 - level under one half: reject at k or fewer of either kind
    critical = binom.ppf((1 - level) / 2, counts, 0.5)
    critical = np.where(binom.cdf(critical, counts, 0.5) > (1 - level) / 2, critical - 1, critical)
    share = only_b / apart
    few, many = binom.cdf(critical, counts, share), binom.cdf(critical, counts, 1 - share)
    return float(np.clip((chance * (few + many)).sum(), 0.0, 1.0))


def samples_for_gap(only_a: float, only_b: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """The fewest paired samples from which on McNemar's exact test finds the difference with `power`.

    The exact power climbs in small teeth; the number given is the first that reaches `power`, searched by doubling and
    halving, so a slightly smaller number may reach it too.
    """
    _share("power", power)
    _disagreements(only_a, only_b)
    if only_a == only_b:
        raise SpecError(f"there is no difference to find where both shares are {only_a:g}")
    return _fewest(lambda n: mcnemar_power(n, only_a, only_b, level=level) >= power)


def gap_for_samples(n: int, apart: float, *, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest difference in accuracy that `n` paired samples show with `power`, where the models disagree about
    rightness on a share `apart` of them; None where even a difference as large as `apart` would not show.
    """
    _share("power", power)
    _disagreements(apart, 0.0)

    def shows(gap: float) -> bool:
        return mcnemar_power(n, (apart - gap) / 2, (apart + gap) / 2, level=level) >= power

    if not shows(apart):
        return None
    low, high = 0.0, apart
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def disagreement(accuracy_a: float, accuracy_b: float, *, correlation: float = 0.5) -> tuple[float, float]:
    """Shares of samples that A alone and B alone get right, for two accuracies and the correlation (phi) of their
    rightness; clipped to what the accuracies allow. 0: independent models; models of one kind often near .5.
    """
    _share("accuracy", accuracy_a)
    _share("accuracy", accuracy_b)
    if not -1 <= correlation <= 1:
        raise SpecError(f"a correlation lies in -1..1, got {correlation}")
    spread = math.sqrt(accuracy_a * (1 - accuracy_a) * accuracy_b * (1 - accuracy_b))
    both = accuracy_a * accuracy_b + correlation * spread
    both = min(max(both, accuracy_a + accuracy_b - 1, 0.0), accuracy_a, accuracy_b)
    return accuracy_a - both, accuracy_b - both


def _normal_power(n: float, only_a: float, only_b: float, level: float) -> float:
    """Connor's approximation (Biometrics 43, 1987)."""
    from scipy.special import ndtr

    apart, gap = only_a + only_b, abs(only_a - only_b)
    z = normal_quantile((1 + level) / 2)
    below = math.sqrt(max(apart - gap**2, 1e-300))
    return float(ndtr((gap * math.sqrt(n) - z * math.sqrt(apart)) / below))


def _fewest(enough: Callable[[int], bool]) -> int:
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_SAMPLES:
            raise SpecError(f"more than {MOST_SAMPLES:,} samples would be needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise SpecError(f"{name} lies in 0..1, got {value}")


def _disagreements(only_a: float, only_b: float) -> None:
    if min(only_a, only_b) < 0 or only_a + only_b > 1 + 1e-12:
        raise SpecError(f"shares of disagreement must be positive and together at most 1, got {only_a} and {only_b}")
