"""On what terms boxes were scored: how much there is, where scores are from, ties, failed replies, resolution."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.report.grids import Cell, Column, Grid
from snellen.report.inputs import View

LEFT_OUT = ("left_out_by_nms", "left_out_of_absent_classes")
"""Facts of the results that count predictions which took no part."""


def set_grid(views: Sequence[View]) -> Grid:
    """How much there is: pictures, true and predicted instances, and how the predictions are scored."""
    narrowed = any(name in view.results.facts for view in views for name in LEFT_OUT)
    columns = (
        Column("Run"),
        Column("Pictures", "count"),
        Column("Classes", "count"),
        Column("True instances", "count"),
        Column("Predicted", "count"),
        Column("Duplicates", "count"),
        *([Column("Left out", "count")] if narrowed else []),
        Column("Scores from"),
        Column("Operating point"),
    )
    rows: list[tuple[Cell, ...]] = []
    for view in views:
        facts = view.results.facts
        gone = [sum(facts.get(name, 0) for name in LEFT_OUT)] if narrowed else []
        point = facts.get("operating_point", {})
        least = point.get("min_score")
        count = (len(view.outcomes), len(view.tables.classes), int(view.outcomes["truths"].sum()))
        rows.append(
            (view.name, *count, int(view.outcomes["predicted"].sum()), facts.get("duplicates"), *gone,
             str(facts.get("score_source", "")),
             f"{point.get('name', 'all')}" + ("" if least is None else f": {least:g} or more"))
        )  # fmt: skip
    note = "Duplicates: predictions that all but repeat another of their class; counted, not removed."
    if narrowed:
        note += " Left out, on request: by suppression within a class, or as of classes that are not in the picture."
    return Grid("set", "What was scored", columns, tuple(rows), note)


def ties_grid(views: Sequence[View]) -> Grid | None:
    """What AP could be, depending on how equal scores are ordered; None where none are equal."""
    rows: list[tuple[Cell, ...]] = []
    for view in views:
        ties = view.results.facts.get("ap_ties") or {}
        if ties.get("tied") or ties.get("missing"):
            ends = (ties.get(name) for name in ("expected", "order_min", "order_max", "as_listed"))
            rows.append((view.name, ties.get("tied"), ties.get("missing"), *ends))
    names = ("Expected", "At least", "At most", "As listed")
    columns = (Column("Run"), Column("Tied", "count"), Column("Without score", "count"),
               *(Column(name, "percent") for name in names))  # fmt: skip
    note = (
        "Equal scores can be ranked in any order: the expected AP over all orders, what encloses it, and AP in the "
        "order listed. AP elsewhere is the listed one where every prediction has a score, else the expected one."
    )
    return Grid("ap-ties", "AP and the order of equal scores, %", columns, tuple(rows), note) if rows else None


def audit_grid(views: Sequence[View]) -> Grid | None:
    """What another toolkit's rule would read from the same matches; None where nothing is scored."""
    found = [(view.name, view.results.facts.get("ap_audit") or {}) for view in views]
    rows = tuple((name, audit["ap"], audit["trapezoid"], audit["gap"]) for name, audit in found if audit)
    columns = (Column("Run"), Column("AP", "percent"), Column("By trapezoids", "percent"), Column("Gap", "points"))
    note = (
        "The same matches read by two rules: pycocotools' (the best precision at 101 recalls, which is AP everywhere "
        "else) and the trapezoid rule over the interpolated curve, which other toolkits use. A diagnostic, no result."
    )
    return Grid("ap-audit", "AP as another toolkit would read it, %", columns, rows, note) if rows else None


MODES = {"count": "count", "parsed-only": "left out", "strict": "strict"}
"""Failure modes of the results, and what they are called."""


def failures_grid(views: Sequence[View]) -> Grid | None:
    """What failed replies do to the figures: counted as empty, left out, or read strictly; None where none failed."""
    rows: list[tuple[Cell, ...]] = []
    metrics = (
        ("precision", "Precision"),
        ("recall", "Recall"),
        ("f1", "F1"),
        ("chair_i", "CHAIR i"),
        ("chair_s", "CHAIR s"),
    )
    for view in views:
        modes = view.results.groups.get("failures", {})
        rows += [
            (view.name, name, *(modes[mode].get(metric) for metric, _ in metrics))
            for mode, name in MODES.items()
            if mode in modes
        ]
    columns = (Column("Run"), Column("Failed replies"), *(Column(name, "percent") for _, name in metrics))
    note = (
        "Count: a reply that is no list is a picture without predictions. Left out: such pictures are not scored. "
        "Strict: every reply that needed help, or holds anything invalid, counts as failed (the WADE paper's reading)."
    )
    return (
        Grid("failure-modes", "What failed replies do to the figures, %", columns, tuple(rows), note) if rows else None
    )


def notation_grid(views: Sequence[View]) -> Grid | None:
    """The same replies under the prescribed notation and the model's own; None where no run was read twice."""
    shown = ("precision", "recall", "f1", "mean_iou")
    rows = tuple(
        (view.name, name, *(found.get(metric) for metric in shown))
        for view in views
        for name, found in view.results.groups.get("notation", {}).items()
    )
    if not rows:
        return None
    headings = ("Precision", "Recall", "F1", "Mean IoU")
    columns = (Column("Run"), Column("Boxes read as"), *(Column(name, "percent") for name in headings))
    note = "The prescribed notation is the one that is scored everywhere else; the native one is the model's own."
    return Grid("notation", "The same replies under another notation, %", columns, rows, note)


def resolution_grid(views: Sequence[View]) -> Grid | None:
    """How large the objects are in what each model saw; None where no run knows."""
    rows = []
    for view in views:
        found = view.results.facts.get("resolution")
        if found is not None:
            names = ("median_px", "median_px_seen", "px_per_token", "median_tokens", "under_one_token")
            rows.append((view.name, *(found.get(name) for name in names), SEEN[str(found["sizes"])]))
    if not rows:
        return None
    columns = (
        Column("Run"),
        Column("Median object, px", "number"),
        Column("as seen, px", "number"),
        Column("Token, px", "number"),
        Column("Median object, tokens", "number"),
        Column("Under one token, %", "percent"),
        Column("Size seen is"),
    )
    note = "px: square root of a box's area. Tokens: area in vision tokens; what is smaller than one is hardly placed."
    return Grid("resolution", "How large the objects are to the model", columns, tuple(rows), note)


SEEN = {
    "seen": "told by the model", "sent": "what was sent", "max_pixels": "worked out from max_pixels",
    "as stored": "that of the files",
}  # fmt: skip
"""Where the size that a model saw is from."""
