"""Several answers to the same samples as one: the mean over runs (seeds), each sample once (raters, draws)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from snellen.core.estimates import Float, Measure


class Averaged:
    """The mean over `parts` of every metric that all have, under the same weights: a `Measure`.

    The spread over the parts is no part of its intervals: those speak of further samples, not of further seeds.
    """

    def __init__(self, parts: Sequence[Measure]) -> None:
        self.parts = tuple(parts)
        self.names = tuple(name for name in parts[0].names if all(name in part.names for part in parts))

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples)."""
        found = [part(weights) for part in self.parts]
        return {name: np.mean([values[name] for values in found], axis=0) for name in self.names}


class PerSample:
    """A measure of several answers a sample (raters, draws) as one of the samples: each sample counts once.

    rows: int (rows,), the sample to which each row of the inner measure's tables belongs.
    """

    def __init__(self, inner: Measure, rows: NDArray[np.int64], samples: int) -> None:
        self.inner = inner
        self.names = inner.names
        self._rows = rows
        self._share = 1.0 / np.bincount(rows, minlength=samples)[rows]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples)."""
        return self.inner(np.atleast_2d(weights)[:, self._rows] * self._share)
