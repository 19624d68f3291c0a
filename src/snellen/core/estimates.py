"""An estimate: a number, its interval, and what both rest on; and what can be estimated, a `Measure`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A metric's value with its 95 % interval. `None` stands for "undefined" (0/0), never for zero.

    `n` is the number of units behind it (questions, images, instances), `method` how the interval was made
    (`wilson`, `bootstrap-percentile`, ...); both may be absent.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    method: str | None = None

    def to_json(self, *, intervals: bool = True) -> dict[str, float | int | str | None]:
        """`{"value", "low", "high", "n", "method"}`; a limit that is not known is null, `n` and `method` may be absent.
        Without intervals on request.
        """
        out: dict[str, float | int | str | None] = {"value": _finite(self.value)}
        if intervals:
            out |= {"low": _finite(self.low), "high": _finite(self.high)}
            if self.method is not None:
                out["method"] = self.method
        if self.n is not None:
            out["n"] = self.n
        return out


class Measure(Protocol):
    """Metrics as a pure function of derived tables and sample weights.

    `names` are the metrics; calling it with `weights`, shape (draws, samples), gives for each name an array of
    shape (draws,), NaN where undefined. Weights of 1 give the point value; resampled weights give its spread. The
    same metric by class (`ap.<class>`) may be among what it gives without being one of the names.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, in order."""
        ...

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights`."""
        ...


class Ratio(NamedTuple):
    """A metric that is a ratio of two sums over samples: what each sample adds above and below, each (samples,)."""

    above: Float
    below: Float


@runtime_checkable
class Ratios(Protocol):
    """What a `Measure` may also offer: which of its metrics are plain ratios of sums (accuracy, precision, recall).

    Their intervals need no resampling, and a proportion's is exact enough even where every sample is right.
    """

    @property
    def ratios(self) -> Mapping[str, Ratio]:
        """Metric -> its two columns."""
        ...


OPEN_ENDED: frozenset[str] = frozenset({"count_ratio", "mae", "rmse", "words", "words_sd", "kappa", "alpha",
                                         "excess"})  # fmt: skip
"""Metrics that are not shares between 0 and 1: at a value of 0 or 1 they may still vary both ways."""

AMOUNTS: frozenset[str] = frozenset({"count_ratio", "mae", "rmse", "words", "words_sd"})
"""Of these, those that are never below 0: their errors are alike in proportion, not in size."""

OVERRATED: frozenset[str] = frozenset({"ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large"})
"""Metrics that small samples overrate by an amount that falls with about the root of their size: AP reads the best of
many noisy precisions. Halves of the sample tell how much (`statistics.intervals`)."""

FOLDED: frozenset[str] = frozenset({"ece"})
"""Means of distances, 0 and up: noise adds to them where the truth is near 0, and nowhere else."""


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
