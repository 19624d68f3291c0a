"""Tests of paired answers: McNemar's for two models, Cochran's Q for several, Holm's correction for many tests.

They take samples as independent. Where several questions share a scene use `paired.difference`, which resamples
scenes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from snellen.core.errors import ShapeError, SpecError


@dataclass(frozen=True)
class Test:
    """A hypothesis test: its statistic, its p value (None where undefined), how p was found, degrees of freedom."""

    __test__ = False  # not a test class for pytest

    statistic: float | None
    p: float | None
    method: str
    df: int | None = None

    def to_json(self) -> dict[str, float | int | str | None]:
        """Plain JSON with the four fields."""
        return {"statistic": self.statistic, "p": self.p, "method": self.method, "df": self.df}


def mcnemar(only_a: int, only_b: int) -> Test:
    """McNemar's exact test (Psychometrika 12, 1947): of the samples that one model alone got right, is half A's?

    Two-sided p of the binomial with probability 1/2; 1 where they never disagree. The statistic is min(only_a, only_b).
    """
    if min(only_a, only_b) < 0:
        raise SpecError(f"counts of disagreements must not be negative, got {only_a} and {only_b}")
    from scipy.special import bdtr

    n, fewer = only_a + only_b, min(only_a, only_b)
    p = 1.0 if n == 0 or 2 * fewer == n else min(1.0, 2 * float(bdtr(fewer, n, 0.5)))
    return Test(float(fewer), p, "mcnemar-exact")


def cochran(right: ArrayLike) -> Test:
    """Cochran's Q (Biometrika 37, 1950): do k models get the same share right? `right`: bool (samples, models).

    p by the chi-square with k - 1 degrees of freedom; undefined where no sample tells the models apart.
    """
    table = np.asarray(right)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ShapeError(
            f"Cochran's Q needs answers of shape (samples, models) with at least 2 models, got {table.shape}"
        )
    statistic, df = cochran_q(table.astype(np.float64)), table.shape[1] - 1
    return (
        Test(None, None, "cochran-chi2", df)
        if math.isnan(statistic)
        else Test(statistic, chi2_tail(statistic, df), "cochran-chi2", df)
    )


def cochran_q(right: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Cochran's Q of a 0/1 table (samples, treatments); NaN where no row tells the treatments apart."""
    k = right.shape[1]
    rows, columns = right.sum(axis=1), right.sum(axis=0)
    below = float((rows * (k - rows)).sum())
    return float((k - 1) * k * ((columns - columns.mean()) ** 2).sum() / below) if below > 0 else math.nan


def holm_adjusted(p: Sequence[float | None]) -> list[float | None]:
    """p values corrected by Holm's step-down method (Scand. J. Stat. 6, 1979), in the order given; None stays None."""
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    out: list[float | None] = [None] * len(p)
    worst = 0.0
    for rank, (value, i) in enumerate(known):
        worst = max(worst, min(1.0, value * (len(known) - rank)))
        out[i] = worst
    return out


def chi2_tail(statistic: float, df: int) -> float:
    """P(X > statistic) of the chi-square distribution."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))
