"""Clusters and their resampling: what repeats together (scene, image, site) is drawn together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.errors import ShapeError
from snellen.core.estimates import Float, Measure

MEMORY = 4_000_000
"""Weights held at once (float64): 32 MB."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which cluster each sample belongs to: index int (samples,), 0-based; count of clusters."""

    index: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, names: ArrayLike) -> Clusters:
        """From one name or number per sample; equal names make one cluster."""
        names = np.asarray(names)
        if names.ndim != 1:
            raise ShapeError(f"clusters must name one cluster per sample, shape (n,), got {names.shape}")
        found, index = np.unique(names, return_inverse=True)
        return cls(index.astype(np.int64), len(found))

    @property
    def single(self) -> bool:
        """Whether every sample is its own cluster."""
        return self.count == len(self.index)

    @property
    def effective(self) -> float:
        """How many clusters of equal size know as much: sum of sizes squared over sum of squares (Kish)."""
        if self.single or self.count < 2:
            return float(self.count)
        sizes = np.bincount(self.index, minlength=self.count).astype(np.float64)
        return max(float(sizes.sum() ** 2 / (sizes**2).sum()), 2.0)

    def sums(self, values: Float) -> Float:
        """`values` (samples,) added up per cluster: (count,)."""
        return np.asarray(np.bincount(self.index, weights=values, minlength=self.count), dtype=np.float64)

    def draws(self, number: int, rng: np.random.Generator) -> Iterator[Float]:
        """`number` resamples of the clusters with replacement, as sample weights, in blocks (rows, samples)."""
        for rows in blocks(number, len(self.index)):
            chosen = rng.integers(0, self.count, (rows, self.count)) + np.arange(rows)[:, None] * self.count
            counts = np.bincount(chosen.ravel(), minlength=rows * self.count).reshape(rows, self.count)
            yield counts[:, self.index].astype(np.float64)

    def halves(self, pairs: int, rng: np.random.Generator) -> Iterator[Float]:
        """`pairs` times a random half of the clusters and then the other half, as sample weights, in blocks (rows,
        samples); of an odd number, now one half and now the other has one more.
        """
        size = self.count // 2 + (np.arange(pairs) % 2) * (self.count % 2)
        place = rng.permuted(np.tile(np.arange(self.count), (pairs, 1)), axis=1)
        first = place < size[:, None]
        both = np.stack([first, ~first], axis=1).reshape(2 * pairs, self.count)
        for rows in blocks(len(both), len(self.index)):
            yield both[:rows, self.index].astype(np.float64)
            both = both[rows:]

    def alone(self, most: int) -> Iterator[Float]:
        """Each cluster by itself, as sample weights, in blocks (rows, samples); of more than `most`, every k-th."""
        chosen = np.linspace(0, self.count - 1, min(self.count, most)).round().astype(np.int64)
        for rows in blocks(len(chosen), len(self.index)):
            yield (self.index == chosen[:rows, None]).astype(np.float64)
            chosen = chosen[rows:]


def blocks(rows: int, width: int) -> Iterator[int]:
    """Sizes of blocks of rows that stay within MEMORY, together `rows`."""
    size = max(1, MEMORY // max(width, 1))
    while rows > 0:
        yield min(size, rows)
        rows -= size


def evaluate(measure: Measure, weights: Iterator[Float], *, names: Sequence[str] = ()) -> dict[str, Float]:
    """The measure under all blocks of weights, joined: name -> (draws,). names: which, else the measure's own."""
    names = names or measure.names
    parts: list[Mapping[str, Float]] = [measure(block) for block in weights]
    return {name: np.concatenate([np.asarray(p[name]) for p in parts]) if parts else np.zeros(0) for name in names}
