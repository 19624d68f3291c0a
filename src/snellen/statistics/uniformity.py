"""Is accuracy the same in every cell of the grid? PROTOCOLS section 1, hypothesis tests.

The same objects are shown in every cell, so answers are paired by object. The permutation test keeps the pairing: an
object's answers are shuffled over the cells in which it stood, which leaves each object's own difficulty in place. The
chi-square test of the cells x (right, wrong) table ignores the pairing; it is given beside, and is shown as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.errors import ShapeError, SpecError
from snellen.core.estimates import Float
from snellen.statistics.hypotheses import Test, chi2_tail
from snellen.statistics.intervals import normal_tail
from snellen.statistics.resampling import blocks


@dataclass(frozen=True)
class Uniformity:
    """Whether cells differ: both tests.

    Per cell, excess: right answers beyond those expected, per answer; p: two-sided, by the normal approximation to the
    permutations, not corrected for the number of cells, None where it cannot vary.
    """

    permutation: Test
    chi_square: Test
    excess: Mapping[str, float]
    p: Mapping[str, float | None]


def uniformity(
    right: ArrayLike, cells: ArrayLike, objects: ArrayLike, *, draws: int = 2000, rng: np.random.Generator
) -> Uniformity:
    """Tests that accuracy does not depend on the cell.

    right: bool (n,). cells: the cell (or section) of each answer. objects: what stood there and was asked about; an
    object's answers are shuffled among each other alone. The statistic is the sum over cells of (right - expected)^2 /
    answers, expected from each object's own accuracy; for a complete design that orders outcomes as Cochran's Q does.
    p = (1 + draws at least as extreme) / (1 + draws); undefined where no object tells the cells apart.
    """
    flags = np.asarray(right, dtype=np.float64)
    shapes = {flags.shape, np.shape(cells), np.shape(objects)}
    if len(shapes) > 1 or flags.ndim != 1:
        raise ShapeError(f"right, cells and objects must have one shape (n,), got {sorted(shapes)}")
    if draws < 1:
        raise SpecError(f"a permutation test needs at least 1 draw, got {draws}")
    names, cell = np.unique(np.asarray(cells), return_inverse=True)
    _, block = np.unique(np.asarray(objects), return_inverse=True)
    per_cell = np.bincount(cell, minlength=len(names)).astype(np.float64)
    own = np.bincount(block, weights=flags) / np.bincount(block) if len(flags) else np.zeros(0)
    expected = np.bincount(cell, weights=own[block], minlength=len(names))
    seen = np.bincount(cell, weights=flags, minlength=len(names))
    observed = float(((seen - expected) ** 2 / per_cell).sum())
    mixed = _mixed(block, cell, own)
    p: list[float | None] = [None] * len(names)
    permutation = Test(None, None, "permutation-within-object")
    if mixed.any():
        still = seen - np.bincount(cell[mixed], weights=flags[mixed], minlength=len(names))
        drawn = _shuffled(flags[mixed], cell[mixed], block[mixed], len(names), draws, rng) + still - expected
        extreme = (drawn**2 / per_cell).sum(axis=1) >= observed * (1 - 1e-12)
        permutation = Test(observed, float((1 + extreme.sum()) / (1 + draws)), "permutation-within-object")
        p = standardised_p(np.asarray(seen - expected), np.asarray(drawn))
    excess = ((seen - expected) / per_cell).tolist()
    labels = [str(name) for name in names]
    return Uniformity(
        permutation,
        chi_square(seen, per_cell),
        dict(zip(labels, excess, strict=True)),
        dict(zip(labels, p, strict=True)),
    )


def standardised_p(seen: Float, drawn: Float) -> list[float | None]:
    """Two-sided p of each of `seen` (k,) by the mean and standard deviation of its null draws (draws, k); None where
    the draws do not vary.
    """
    spread = drawn.std(axis=0)
    return [
        2 * normal_tail(abs(float(value) - float(mean)) / float(sd)) if sd > 1e-12 else None
        for value, mean, sd in zip(seen, drawn.mean(axis=0), spread, strict=True)
    ]


def chi_square(right: ArrayLike, answers: ArrayLike) -> Test:
    """Pearson's chi-square of equal accuracy over cells, from right answers and answers per cell; answers are taken
    as independent. Undefined for fewer than two cells, or where all or none are right.
    """
    k, n = np.asarray(right, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    df, total = len(n) - 1, float(n.sum())
    p = float(k.sum()) / total if total else math.nan
    if df < 1 or not 0 < p < 1:
        return Test(None, None, "chi2-unpaired", max(df, 0))
    statistic = float(((k - n * p) ** 2 / (n * p * (1 - p))).sum())
    return Test(statistic, chi2_tail(statistic, df), "chi2-unpaired", df)


def _mixed(block: NDArray[np.int64], cell: NDArray[np.int64], own: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Answers about objects that are neither always right nor always wrong and stood in several cells."""
    if not len(block):
        return np.zeros(0, dtype=np.bool_)
    low = np.full(len(own), np.iinfo(np.int64).max)
    high = np.full(len(own), -1)
    np.minimum.at(low, block, cell)
    np.maximum.at(high, block, cell)
    return np.asarray(((own > 0) & (own < 1) & (low < high))[block])


def _shuffled(
    flags: NDArray[np.float64],
    cell: NDArray[np.int64],
    block: NDArray[np.int64],
    cells: int,
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Right answers per cell after shuffling `flags` within blocks: (draws, cells)."""
    order = np.argsort(block, kind="stable")
    flags, cell, block = flags[order], cell[order], block[order]
    onto = np.zeros((len(cell), cells))
    onto[np.arange(len(cell)), cell] = 1.0
    parts = []
    for rows in blocks(draws, len(flags)):
        keys = block + rng.random((rows, len(flags)))
        parts.append(flags[np.argsort(keys, axis=1)] @ onto)
    return np.concatenate(parts)
