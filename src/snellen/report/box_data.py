"""Instances of a run, made ready for figures: which count, which are hits, where they lie in their pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snellen.core.tables import Table, Tables
from snellen.report.cells import Cell

Bool = NDArray[np.bool_]
Int = NDArray[np.int64]

GRID = 9


@dataclass(frozen=True, eq=False)
class Instances:
    """The detections table of a run with what follows from it. All arrays have a row per instance."""

    tables: Tables

    @cached_property
    def table(self) -> Table:
        """The detections table."""
        return self.tables.instances

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


def grid_cells(instances: Instances, *, of: Bool, among: Bool) -> list[Cell]:
    """For each cell of the picture the instances `among` whose centre lies there, and those of them that are `of`."""
    if instances.cell is None:
        return []
    row, column = instances.cell
    place = row * GRID + column
    n = np.bincount(place[among], minlength=GRID * GRID)
    k = np.bincount(place[among & of], minlength=GRID * GRID)
    return [Cell(i // GRID, i % GRID, int(n[i]), int(k[i]), "", 0.0, "") for i in np.flatnonzero(n).tolist()]
