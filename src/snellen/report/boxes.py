"""Sections about boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.report import box_figures as figures
from snellen.report import box_tables as tables
from snellen.report.blocks import Block, Row, Section, Text
from snellen.report.box_data import (
    CROWDS,
    SIZES,
    Instances,
    binned,
    crowd_names,
    grid_cells,
    shares,
    size_names,
)
from snellen.report.box_kinds import ERRORS, WORDS, Kinds, kinds
from snellen.report.cells import Cell as GridCell
from snellen.report.figures import Figure
from snellen.report.grids import Cell, Column, Grid
from snellen.report.inputs import View
from snellen.report.maps import accuracy_map, range_of


@dataclass(frozen=True, eq=False)
class Boxes:
    """A run about boxes with its instances and their kinds, worked out once."""

    view: View
    instances: Instances
    kinds: Kinds

    @classmethod
    def of(cls, view: View) -> Boxes:
        """The instances of a run."""
        instances = Instances(view.tables)
        return cls(view, instances, kinds(view, instances))


def sections(runs: Sequence[Boxes]) -> list[Section]:
    """All sections that these runs about boxes have something for."""
    made = [precision(runs), classes(runs), errors(runs), confusion(runs), field(runs), strata(runs)]
    return [section for section in made if section.blocks]


def precision(runs: Sequence[Boxes]) -> Section:
    """The metrics of whole runs, and precision-recall curves."""
    views = [run.view for run in runs]
    curves = figures.precision_recall(views)
    blocks: list[Block] = [Row(tuple(curves))] if curves else []
    sizes = tables.resolution_grid(views)
    blocks += [*tables.families(views), *([] if sizes is None else [sizes])]
    return Section("precision", "Precision and recall", tuple(blocks))


def classes(runs: Sequence[Boxes]) -> Section:
    """Metrics by class, with intervals."""
    return Section("classes", "By class", (tables.by_class([run.view for run in runs]),))


def errors(runs: Sequence[Boxes]) -> Section:
    """Kinds of error: how many, and the F1 that mending them would add."""
    columns = [Column("Run"), Column("Hits", "count")]
    for kind in ERRORS:
        columns += [Column("n", "count", kind), Column("costs", "points", kind)]
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        cells: list[Cell] = [run.view.name, run.kinds.counts["hit"]]
        for kind in ERRORS:
            cells += [run.kinds.counts[kind], run.kinds.cost[kind]]
        rows.append(tuple(cells))
    note = "; ".join(f"{kind}: {words}" for kind, words in WORDS.items() if kind != "hit")
    note += ". Costs: points of F1 that mending all errors of the kind would add."
    grid = Grid("errors", "Kinds of error", tuple(columns), tuple(rows), note)
    return Section("errors", "What goes wrong", (Row((figures.error_bars(_counts(runs)),)), grid))


def _counts(runs: Sequence[Boxes]) -> dict[str, Mapping[str, int]]:
    return {run.view.name: run.kinds.counts for run in runs}


def confusion(runs: Sequence[Boxes]) -> Section:
    """Labels taken for others."""
    maps = [figures.confusion_map(run.view, title=run.view.name) for run in runs]
    shown = tuple(figure for figure in maps if figure is not None)
    grids = [grid for grid in (tables.confusions(run.view) for run in runs) if grid.rows]
    blocks: list[Block] = [Row(shown)] if shown else []
    lead = (
        "Rows are the truth, columns the prediction that covers it (IoU .5, labels ignored); each row adds up to 100 %."
    )
    return Section("confusion", "What is taken for what", (*blocks, *grids), lead)


def field(runs: Sequence[Boxes]) -> Section:
    """Maps over the picture: recall by where truths stand, and the share of predictions that are false."""
    blocks: list[Block] = []
    for id, title, wanted in (("recall", "Recall by place", True), ("false", "False predictions by place", False)):
        found = [(run, _cells(run, true=wanted)) for run in runs]
        found = [(run, cells) for run, cells in found if cells]
        span = range_of([cells for _, cells in found])
        what = "found" if wanted else "false"
        maps: list[Figure] = [
            accuracy_map(f"{id}-{run.view.slug}", cells, title=run.view.name, span=span, what=what)
            for run, cells in found
        ]
        if maps:
            blocks += [Text(title, "heading"), Row(tuple(maps))]
    lead = (
        "Instances by where the centre of their box lies, in 9 x 9 parts of the picture; parts without any are empty."
    )
    return Section("field", "The visual field", tuple(blocks), lead)


def _cells(run: Boxes, *, true: bool) -> list[GridCell]:
    instances = run.instances
    if true:
        return grid_cells(instances, of=instances.hit, among=instances.truth)
    return grid_cells(instances, of=~instances.hit, among=instances.predicted)


def strata(runs: Sequence[Boxes]) -> Section:
    """Recall by size of the instance and by crowding of the picture."""
    blocks: list[Block] = []
    charts: list[Figure] = []
    for id, title, axis, names, edges in (
        ("by-size", "Recall by size", "square root of the area, px", size_names(), SIZES),
        ("by-crowding", "Recall by crowding", "true instances in the picture", crowd_names(), CROWDS),
    ):
        found = {}
        for run in runs:
            values = run.instances.side if id == "by-size" else run.instances.crowding
            stratum = np.where(run.instances.truth, binned(values, edges), -1)
            found[run.view.name] = shares(
                run.view, of=run.instances.hit, among=run.instances.truth, strata=stratum, names=names
            )
        if max(len(some) for some in found.values()) < 2:
            continue
        charts.append(figures.recall_lines(id, title, axis, found, names))
        blocks.append(tables.strata_grid(id, f"{title}, %", axis.capitalize(), found, names))
    return Section("strata", "By size and crowding", (Row(tuple(charts)), *blocks) if charts else ())
