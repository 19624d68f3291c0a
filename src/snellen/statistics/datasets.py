"""Several data sets together: unweighted means of independent estimates and of independent paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.estimates import Estimate
from snellen.statistics.intervals import normal_quantile, normal_tail
from snellen.statistics.paired import Difference, smallest_gap


def mean_estimate(found: Sequence[Estimate]) -> Estimate:
    """Unweighted mean of independent estimates; an undefined one counts 0 (a data set without predictions scores 0).

    Its interval adds up the squared half-widths of theirs, upwards and downwards apart; without theirs it has none.
    """
    values = [estimate.value or 0.0 for estimate in found]
    mean = math.fsum(values) / len(values)
    if all(estimate.low is None or estimate.high is None for estimate in found):
        return Estimate(mean, n=len(found), method="mean-of-datasets")
    down = [0.0 if e.low is None else v - e.low for e, v in zip(found, values, strict=True)]
    up = [0.0 if e.high is None else e.high - v for e, v in zip(found, values, strict=True)]
    low, high = (math.sqrt(math.fsum(d * d for d in each)) / len(values) for each in (down, up))
    return Estimate(mean, mean - low, mean + high, len(found), "mean-of-datasets")


def mean_difference(found: Sequence[Difference], *, level: float = 0.95) -> Difference:
    """Unweighted mean of independent paired differences: their squared standard errors add up."""
    n = len(found)
    error = math.sqrt(math.fsum((pair.error or 0.0) ** 2 for pair in found)) / n
    mean, a, b = (
        math.fsum(values) / n
        for values in (
            [pair.difference.value or 0.0 for pair in found],
            [pair.a or 0.0 for pair in found],
            [pair.b or 0.0 for pair in found],
        )
    )
    z = normal_quantile((1 + level) / 2)
    interval = Estimate(mean, mean - z * error, mean + z * error, n, "mean-of-datasets")
    if not error:
        return Difference(a, b, Estimate(mean, n=n, method="mean-of-datasets"))
    p = 2 * normal_tail(abs(mean) / error)
    return Difference(a, b, interval, p, "normal", error=error, gap=smallest_gap(error, level=level))
