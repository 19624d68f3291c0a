"""Sections about boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snellen.core.estimates import Estimate
from snellen.evals.score_sources import GROUP
from snellen.report import box_figures as figures
from snellen.report import box_tables as tables
from snellen.report import box_terms as terms
from snellen.report import calibration
from snellen.report.blocks import Block, Row, Section, Text
from snellen.report.box_data import Instances, grid_cells
from snellen.report.box_kinds import WORDS, Kinds, kinds
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
    makers = (precision, scores, classes, errors, confusion, field, strata, attributes)
    made = (make(runs) for make in makers)
    return [section for section in made if section.blocks]


def precision(runs: Sequence[Boxes]) -> Section:
    """The metrics of whole runs, and precision-recall curves."""
    views = [run.view for run in runs]
    curves = figures.precision_recall(views)
    blocks: list[Block] = [Row(tuple(curves))] if curves else []
    makers = (terms.ties_grid, terms.audit_grid, terms.failures_grid, terms.notation_grid, terms.resolution_grid)
    made = (make(views) for make in makers)
    blocks += [*tables.families(views), *(grid for grid in made if grid is not None)]
    return Section("precision", "Precision and recall", tuple(blocks))


def scores(runs: Sequence[Boxes]) -> Section:
    """Where confidences come from, and what they are worth."""
    return calibration.section([run.view for run in runs])


def classes(runs: Sequence[Boxes]) -> Section:
    """Metrics by class, with intervals."""
    return Section("classes", "By class", (tables.by_class([run.view for run in runs]),))


def errors(runs: Sequence[Boxes]) -> Section:
    """Kinds of error: how many, and the F1 and AP50 that mending them would add."""
    columns = [Column("Kind"), Column("Meaning")]
    for run in runs:
        name = run.view.name if len(runs) > 1 else ""
        columns += [Column("How many", "count", name), Column("Costs in F1", "points", name)]
        columns += [Column("Costs in AP50", "points", name)] if run.kinds.ap50_cost else []
    rows: list[tuple[Cell, ...]] = []
    for kind, words in WORDS.items():
        cells: list[Cell] = []
        for run in runs:
            in_ap = [run.kinds.ap50_cost.get(kind)] if run.kinds.ap50_cost else []
            cells += [run.kinds.counts[kind], run.kinds.cost.get(kind), *in_ap]
        rows.append((kind, words, *cells))
    note = (
        "Costs: points that mending all errors of the kind would add, to F1 at the operating point and to AP at IoU .5 "
        "(over all scored predictions, matched by score: TIDE's figures)."
    )
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


STRATA = {
    "recall by size": "square root of the area, px",
    "recall by share": "share of the picture's area",
    "recall by crowding": "true instances near by",
    "recall by place": "place in the picture",
}
"""Groups of the results that hold recall by stratum, and what the strata are."""

OWN = frozenset({*STRATA, "errors", "failures", "notation", GROUP, "draw", "image"})
"""Groups of the results that are no attribute of the pictures."""


def strata(runs: Sequence[Boxes]) -> Section:
    """Recall by size, by share of the picture, by crowding and by place, as the results hold it."""
    charts: list[Figure] = []
    grids: list[Block] = []
    for group, axis in STRATA.items():
        found = {run.view.name: run.view.results.groups.get(group, {}).get("all", {}) for run in runs}
        names = [name for name in dict.fromkeys(n for some in found.values() for n in some) if _seen(found, name)]
        if len(names) < 2:
            continue
        id = group.replace(" ", "-")
        charts.append(figures.recall_lines(id, group.capitalize(), axis, found, names))
        grids.append(tables.strata_grid(id, f"{group.capitalize()}, %", found, names))
    lead = "Recall at IoU .5, labels equal, over the true instances of each kind."
    return Section("strata", "By size, place and crowding", (Row(tuple(charts)), *grids) if charts else (), lead)


def _seen(found: Mapping[str, Mapping[str, Estimate]], name: str) -> bool:
    return any(name in some and some[name].value is not None for some in found.values())


def attributes(runs: Sequence[Boxes]) -> Section:
    """Metrics by each attribute of the pictures that has few values."""
    views = [run.view for run in runs]
    names = [name for name in dict.fromkeys(n for view in views for n in view.results.groups) if name not in OWN]
    every = (("precision", "Precision"), ("recall", "Recall"), ("f1", "F1"), ("chair_i", "CHAIR i"))
    chosen = every if len(views) == 1 else every[2:3]
    grids = tuple(tables.by_attribute(views, name, metrics=chosen) for name in names)
    return Section("attributes", "By what is known of the pictures", grids)
