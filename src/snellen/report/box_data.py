"""Instances of a run, made ready for figures: kinds, places in the picture, sizes, crowding; and shares of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from snellen.core.estimates import Estimate, Float, Ratio
from snellen.core.tables import Column, Table, Tables
from snellen.report.cells import Cell
from snellen.report.inputs import View
from snellen.statistics.intervals import bootstrap

Bool = NDArray[np.bool_]
Int = NDArray[np.int64]

SIZES = (0.0, 16.0, 32.0, 64.0, 96.0, 192.0, 384.0, np.inf)
"""Edges of the classes of size: square root of the area, px. 32 and 96 are COCO's."""
CROWDS = (1, 2, 3, 5, 9, 17, 33, np.inf)
"""Edges of the classes of crowding: true instances in the picture."""
GRID = 9


@dataclass(frozen=True, eq=False)
class Instances:
    """The detections table of a run with what follows from it. All arrays have a row per instance."""

    tables: Tables

    @cached_property
    def table(self) -> Table:
        """The detections table."""
        assert self.tables.detections is not None
        return self.tables.detections

    @cached_property
    def truth(self) -> Bool:
        """True instances that count (crowd regions do not)."""
        return np.asarray(self.table["truth"] & ~self.table["crowd"], dtype=np.bool_)

    @cached_property
    def predicted(self) -> Bool:
        """Predictions at the operating point that no crowd region excuses."""
        return np.asarray(~self.table["truth"] & self.table["kept"] & ~self.table["excused"], dtype=np.bool_)

    @cached_property
    def hit(self) -> Bool:
        """Instances matched at IoU .5 with the same label."""
        return np.asarray(self.table["partner"] >= 0, dtype=np.bool_)

    @cached_property
    def side(self) -> Float:
        """Square root of the area, px."""
        return np.sqrt(np.maximum(self.table["area"], 0.0))

    @cached_property
    def crowding(self) -> Int:
        """How many true instances the picture holds."""
        return np.asarray(self.tables.outcomes["truths"][self.table["sample"]], dtype=np.int64)

    @cached_property
    def cell(self) -> tuple[Int, Int] | None:
        """Row and column of the box's centre in a 9 x 9 grid over its picture; None where sizes are not known."""
        outcomes = self.tables.outcomes
        if "width" not in outcomes or "height" not in outcomes:
            return None
        size = [np.asarray(outcomes[name], dtype=np.float64)[self.table["sample"]] for name in ("height", "width")]
        if not all(np.isfinite(part).all() and (part > 0).all() for part in size):
            return None
        centre = [(self.table[a] + self.table[b]) / 2 for a, b in (("y1", "y2"), ("x1", "x2"))]
        row, column = (
            np.clip(np.floor(c / s * GRID), 0, GRID - 1).astype(np.int64) for c, s in zip(centre, size, strict=True)
        )
        return row, column

    def names(self) -> Column:
        """The label of each instance as text; one outside the classes is `(unknown)`."""
        return np.array([*self.tables.classes, "(unknown)"])[self.table["label"]]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of instances in strata as functions of sample weights (a `Measure`): sums above, below (k, samples)."""

    names: tuple[str, ...]
    above: Float
    below: Float

    @property
    def ratios(self) -> Mapping[str, Ratio]:
        """Each share is a plain ratio of sums."""
        return {name: Ratio(a, b) for name, a, b in zip(self.names, self.above, self.below, strict=True)}

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """Each share under each row of `weights` (draws, samples), NaN where undefined."""
        above, below = weights @ self.above.T, weights @ self.below.T
        share = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
        return {name: share[:, i] for i, name in enumerate(self.names)}


def shares(view: View, *, of: Bool, among: Bool, strata: Int, names: Sequence[str]) -> dict[str, Estimate]:
    """In each stratum the share of instances `among` that are `of`, with intervals over the run's clusters.

    strata: the stratum of each instance, -1 for none. Strata without instances are left out.
    """
    assert view.tables.detections is not None
    sample, n = view.tables.detections["sample"], len(view.outcomes)
    present = [k for k in range(len(names)) if (among & (strata == k)).any()]
    above = [np.bincount(sample[among & of & (strata == k)], minlength=n) for k in present]
    below = [np.bincount(sample[among & (strata == k)], minlength=n) for k in present]
    shape = (len(present), n)
    measure = Shares(
        tuple(names[k] for k in present),
        np.array(above, dtype=np.float64).reshape(shape),
        np.array(below, dtype=np.float64).reshape(shape),
    )
    found = bootstrap(measure, view.outcomes["cluster"], draws=500, rng=np.random.default_rng(0))
    counts = dict(zip(measure.names, measure.below.sum(axis=1).astype(int).tolist(), strict=True))
    return {name: Estimate(e.value, e.low, e.high, counts[name], e.method) for name, e in found.items()}


def binned(values: NDArray[np.generic], edges: Sequence[float]) -> Int:
    """The bin of each value: `edges[i] <= value < edges[i + 1]`."""
    return np.asarray(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2), dtype=np.int64)


def size_names() -> list[str]:
    """The classes of size in words."""
    edges = [f"{edge:.0f}" for edge in SIZES[:-1]]
    return [
        f"under {edges[1]}",
        *(f"{a} to {b}" for a, b in pairwise(edges[1:])),
        f"{edges[-1]} up",
    ]


def crowd_names() -> list[str]:
    """The classes of crowding in words."""
    return [
        str(int(a)) if b == a + 1 else f"{int(a)} up" if np.isinf(b) else f"{int(a)} to {int(b) - 1}"
        for a, b in pairwise(CROWDS)
    ]


def grid_cells(instances: Instances, *, of: Bool, among: Bool) -> list[Cell]:
    """For each cell of the picture the instances `among` whose centre lies there, and those of them that are `of`."""
    if instances.cell is None:
        return []
    row, column = instances.cell
    place = row * GRID + column
    n = np.bincount(place[among], minlength=GRID * GRID)
    k = np.bincount(place[among & of], minlength=GRID * GRID)
    return [Cell(i // GRID, i % GRID, int(n[i]), int(k[i]), "", 0.0, "") for i in np.flatnonzero(n).tolist()]
