"""Sums over samples under many weightings at once: what every count-like measure of boxes is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Float, Int


@dataclass(frozen=True, eq=False)
class Sums:
    """Columns of which each sample adds a share, kept only for the samples that add anything.

    rows: int (m,), the samples concerned, or None for all. block: float64 (m, k), what each adds to each column.
    """

    rows: Int | None
    block: Float

    @classmethod
    def dense(cls, columns: list[Float]) -> Sums:
        """From whole columns, each (samples,)."""
        return cls(None, np.column_stack(columns).astype(np.float64))

    @classmethod
    def sparse(cls, sample: Int, values: Float, *, samples: int) -> Sums:
        """From rows `values` (n, k) that belong to `sample` (n,): rows of one sample are added up."""
        there = np.bincount(sample, minlength=samples) > 0
        rows, place = np.flatnonzero(there), (np.cumsum(there) - 1)[sample]
        block = np.stack([np.bincount(place, column, len(rows)) for column in values.T], axis=1).astype(np.float64)
        return cls(rows if len(rows) < samples else None, block)

    def __call__(self, weights: Float) -> Float:
        """`weights` (draws, samples) -> (draws, k)."""
        return np.asarray((weights if self.rows is None else weights.take(self.rows, axis=1)) @ self.block)


def over(above: Float, below: Float) -> Float:
    """`above / below`, NaN where `below` is 0."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))
