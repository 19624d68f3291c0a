"""Tables of boxes: average precision, precision and recall, counts, hallucination; by class; confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.estimates import Estimate
from snellen.report.answer_tables import in_order, slug
from snellen.report.box_data import Instances
from snellen.report.grids import Cell, Column, Grid, Kind
from snellen.report.inputs import View

MISSED, GHOST = "(missed)", "(nothing there)"

FAMILIES: tuple[tuple[str, str, tuple[tuple[str, str, Kind], ...], str], ...] = (
    ("ap", "Average precision, %", (("ap", "AP", "percent"), ("ap50", "AP50", "percent"), ("ap75", "AP75", "percent"),
        ("ap_small", "AP small", "percent"), ("ap_medium", "AP medium", "percent"), ("ap_large", "AP large", "percent"),
        ("ar", "AR", "percent")),
        "COCO's: mean over IoU .50 to .95 and classes."),
    ("matching", "Precision and recall, %", (("precision", "Precision", "percent"), ("recall", "Recall", "percent"),
        ("f1", "F1", "percent"), ("f1_agnostic", "F1, any label", "percent"), ("recall75", "Recall at .75", "percent"),
        ("mean_iou", "Mean IoU", "percent"), ("parse_rate", "Replies read", "percent")),
        "At IoU .5, one to one, labels equal; mean IoU over the matched."),
    ("counting", "Counts and hallucination", (("count_ratio", "Predicted / true", "number"),
        ("mae", "Mean error", "number"), ("rmse", "RMSE", "number"), ("chair_i", "CHAIR i, %", "percent"),
        ("chair_s", "CHAIR s, %", "percent")),
        "Errors of the number of instances per picture. CHAIR: instances whose class is not in the picture; pictures "
        "with any such."),
)  # fmt: skip
"""Tables of whole-run metrics: id, title, (metric, heading, kind), note."""


def families(views: Sequence[View]) -> list[Grid]:
    """A row per run; metrics that no run has are left out."""
    grids = []
    for id, title, metrics, note in FAMILIES:
        kept = [m for m in metrics if any(_known(view, m[0]) for view in views)]
        if kept:
            rows = tuple((view.name, *(view.results.metrics.get(name) for name, _, _ in kept)) for view in views)
            columns = (Column("Run"), *(Column(heading, kind) for _, heading, kind in kept))
            grids.append(Grid(id, title, columns, rows, note))
    return grids


def _known(view: View, metric: str) -> bool:
    found = view.results.metrics.get(metric)
    return found is not None and found.value is not None


def by_attribute(views: Sequence[View], attribute: str, *, metrics: Sequence[tuple[str, str]]) -> Grid:
    """A row per value of a picture's attribute; per run the metrics."""
    values = list(dict.fromkeys(v for view in views for v in view.results.groups.get(attribute, {})))
    columns = [Column(attribute.replace("_", " ").capitalize())]
    columns += [Column(name, "percent", "" if len(views) == 1 else view.name) for view in views for _, name in metrics]
    rows = tuple(
        (value, *(view.results.groups.get(attribute, {}).get(value, {}).get(m) for view in views for m, _ in metrics))
        for value in in_order(values)
    )
    return Grid(f"by-{slug(attribute)}", f"By {attribute.replace('_', ' ')}, %", tuple(columns), rows)


def by_class(views: Sequence[View]) -> Grid:
    """A row per class: instances, then AP, precision, recall, F1 of one run, or AP and F1 of several."""
    first = Instances(views[0].tables)
    labels = list(views[0].tables.classes)
    counts = np.bincount(first.table["label"][first.truth], minlength=len(labels))
    metrics = (("ap", "AP"), ("ap50", "AP50"), ("precision", "Precision"), ("recall", "Recall"), ("f1", "F1"))
    chosen = metrics if len(views) == 1 else (metrics[0], metrics[4])
    columns = [Column("Class"), Column("True instances", "count")]
    columns += [Column(name, "percent", "" if len(views) == 1 else view.name) for view in views for _, name in chosen]
    rows: list[tuple[Cell, ...]] = []
    for i, label in enumerate(labels):
        cells = (view.results.per_class.get(label, {}).get(metric) for view in views for metric, _ in chosen)
        rows.append((label, int(counts[i]), *cells))
    rows.sort(key=lambda row: -int(row[1]))  # type: ignore[arg-type]
    return Grid("by-class", "By class, %", tuple(columns), tuple(rows), "Commonest class first.")


def confused(view: View) -> tuple[list[str], list[str], np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Truth (rows, the last one is nothing there) against prediction (columns, the last one is missed): counts.

    Pairs are those matched at IoU .5 with labels ignored.
    """
    found = Instances(view.tables)
    table, classes = found.table, view.tables.classes
    k = len(classes)
    counts = np.zeros((k + 1, k + 2), dtype=np.int64)
    truth, said = np.flatnonzero(found.truth), np.flatnonzero(found.predicted & ~table["excused_any"])
    partner = table["partner_any"]
    label = np.where(table["label"] >= 0, table["label"], k)
    there = np.concatenate([label[truth], np.full(int((partner[said] < 0).sum()), k)])
    answer = np.concatenate(
        [np.where(partner[truth] >= 0, label[partner[truth]], k + 1), label[said[partner[said] < 0]]]
    )
    np.add.at(counts, (there, answer), 1)
    columns = [*classes, "(unknown)", MISSED]
    if not counts[:, k].any():
        counts, columns = np.delete(counts, k, axis=1), [*classes, MISSED]
    return [*classes, GHOST], columns, counts


def confusions(view: View, *, most: int = 15) -> Grid:
    """The commonest confusions: labels taken for others, with how often of all of that truth."""
    rows_, columns_, counts = confused(view)
    totals = counts.sum(axis=1)
    pairs = [
        (int(counts[i, j]), rows_[i], columns_[j], int(totals[i]))
        for i in range(len(rows_) - 1)
        for j in range(len(columns_) - 1)
        if i != j and counts[i, j]
    ]
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    rows = tuple((truth, said, n, n / total) for n, truth, said, total in pairs[:most])
    columns = (Column("Truth"), Column("Taken for"), Column("Times", "count"), Column("Of its instances, %", "percent"))
    return Grid(f"confusions-{view.slug}", f"Commonest confusions: {view.name}", columns, rows)


def strata_grid(id: str, title: str, found: Mapping[str, Mapping[str, Estimate]], names: Sequence[str]) -> Grid:
    """Recall by stratum: a row per stratum, a column per run, and how many true instances there are."""
    counts = {name: max((some[name].n or 0 for some in found.values() if name in some), default=0) for name in names}
    rows = tuple((name, counts[name], *(some.get(name) for some in found.values())) for name in names)
    columns = (Column("Instances"), Column("How many", "count"), *(Column(run, "percent") for run in found))
    return Grid(id, title, columns, rows)
