"""The visual field on real pictures: recall by an object's size, its place in the picture, and how crowded it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Bool, Float, Int
from snellen.core.errors import unknown
from snellen.core.estimates import Ratio
from snellen.core.tables import Table, Tables
from snellen.scoring.grounding import Failures, counted
from snellen.scoring.overlaps import batches, padded
from snellen.scoring.sums import Sums, over

SIZES = ((16, "side below 16 px"), (32, "16 to 32"), (64, "32 to 64"), (96, "64 to 96"), (192, "96 to 192"),
         (np.inf, "192 px and more"))  # fmt: skip
"""Bins of an object's side (square root of its area); 32 and 96 px are COCO's bounds."""
SHARES = ((0.001, "below 0.1 % of the picture"), (0.01, "0.1 to 1 %"), (0.1, "1 to 10 %"), (np.inf, "10 % and more"))
PLACES = ("top left", "top", "top right", "left", "centre", "right", "bottom left", "bottom", "bottom right")
CROWDS = ((1, "alone"), (3, "1 or 2 near"), (6, "3 to 5 near"), (np.inf, "6 or more near"))
NEAR = 2.0
"""Objects are near whose centre lies within so many times the longer side of this one from its centre."""


@dataclass(frozen=True, eq=False)
class Field:
    """Recall at IoU .5, class-aware, in each bin, as a function of sample weights (a `Measure`)."""

    names: tuple[str, ...]
    hits: Sums
    truths: Sums
    ratios: Mapping[str, Ratio]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """Recall in each bin under each row of `weights` (draws, samples): each (draws,), NaN where nothing is."""
        weights = np.atleast_2d(weights)
        values = over(self.hits(weights), self.truths(weights))
        return {name: values[:, i] for i, name in enumerate(self.names)}


def measure(tables: Tables, by: str, *, failures: Failures | None = None) -> Field:
    """recall in each bin `by` size (px), share (of the picture), place (3 x 3) or crowding.

    share and place need the sizes of the pictures: pictures without are left out. Crowd regions are no objects.
    """
    if by not in BY:
        raise unknown("part of the visual field", by, BY)
    table, n = tables.instances, len(tables.outcomes)
    names, bins = BY[by](tables, table)
    truth = table["truth"] & ~table["crowd"] & counted(tables, failures)[2] & (bins >= 0)
    stands = counted(tables, failures)[1][table["sample"]]
    hit = truth & (table["partner"] >= 0) & stands

    def per(mask: Bool) -> Float:
        cells = np.bincount(table["sample"][mask] * len(names) + bins[mask], minlength=n * len(names))
        return cells.reshape(n, len(names)).astype(np.float64)

    hits, truths = per(hit), per(truth)
    ratios = {name: Ratio(hits[:, i], truths[:, i]) for i, name in enumerate(names)}
    return Field(tuple(names), Sums(None, hits), Sums(None, truths), ratios)


def _binned(values: Float, bins: Sequence[tuple[float, str]]) -> Int:
    return np.searchsorted([upper for upper, _ in bins], values, side="right")


def _by_size(tables: Tables, table: Table) -> tuple[Sequence[str], Int]:
    return [name for _, name in SIZES], _binned(np.sqrt(np.maximum(table["area"], 0)), SIZES)


def _sides(tables: Tables, table: Table) -> tuple[Float, Float]:
    """Width and height of each row's picture, NaN where unknown."""
    outcomes, n = tables.outcomes, len(tables.outcomes)
    width, height = (
        outcomes[k].astype(np.float64) if k in outcomes else np.full(n, np.nan) for k in ("width", "height")
    )
    return width[table["sample"]], height[table["sample"]]


def _by_share(tables: Tables, table: Table) -> tuple[Sequence[str], Int]:
    width, height = _sides(tables, table)
    known = width * height > 0
    share = np.where(known, table["area"] / np.where(known, width * height, 1.0), 0.0)
    return [name for _, name in SHARES], np.where(known, _binned(share, SHARES), -1)


def _by_place(tables: Tables, table: Table) -> tuple[Sequence[str], Int]:
    width, height = _sides(tables, table)
    known = (width > 0) & (height > 0)
    across, down = _centres(table)
    column = np.clip(np.where(known, across / np.where(known, width, 1) * 3, 0), 0, 2).astype(np.int64)
    row = np.clip(np.where(known, down / np.where(known, height, 1) * 3, 0), 0, 2).astype(np.int64)
    return PLACES, np.where(known, row * 3 + column, -1)


def _by_crowding(tables: Tables, table: Table) -> tuple[Sequence[str], Int]:
    rows = np.flatnonzero(table["truth"] & ~table["crowd"])
    across, down = _centres(table)
    reach = (NEAR * np.maximum(table["x2"] - table["x1"], table["y2"] - table["y1"])) ** 2
    near = np.zeros(len(table), dtype=np.int64)
    starts = np.searchsorted(table["sample"][rows], np.arange(len(tables.outcomes) + 1))  # truths stand by sample
    counts = np.diff(starts)
    for pictures in batches(counts, counts):
        mine, there = padded(rows, starts, pictures)
        x, y = np.where(there, across[mine], np.inf), down[mine]
        apart = (across[mine][:, :, None] - x[:, None]) ** 2
        apart += (down[mine][:, :, None] - y[:, None]) ** 2  # squared, as reach is
        near[mine[there]] = (np.count_nonzero(apart <= reach[mine][:, :, None], axis=2) - 1)[there]
    return [name for _, name in CROWDS], _binned(near.astype(np.float64), CROWDS)


def _centres(table: Table) -> tuple[Float, Float]:
    return (table["x1"] + table["x2"]) / 2, (table["y1"] + table["y2"]) / 2


BY: Mapping[str, Callable[[Tables, Table], tuple[Sequence[str], Int]]] = {
    "size": _by_size,
    "share": _by_share,
    "place": _by_place,
    "crowding": _by_crowding,
}
