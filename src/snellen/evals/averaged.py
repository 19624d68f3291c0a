"""Several runs of one entry (seeds, draws of examples) as one: the mean of their metrics on the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

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
