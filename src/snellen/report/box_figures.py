"""Figures of boxes: precision-recall curves, confusion, kinds of error, recall by size and crowding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from snellen.core.estimates import Estimate
from snellen.report.answer_figures import run_colour, share_map
from snellen.report.box_tables import GHOST, confused
from snellen.report.figures import SAYS, Figure, Spec, field, figure, mark
from snellen.report.grids import percent
from snellen.report.inputs import View
from snellen.scoring.average_precision import point_ap
from snellen.scoring.curves import RECALLS
from snellen.scoring.tabulation import boxes_of

MANY = 25
"""A confusion map of more classes is not readable; the table of the commonest confusions serves."""

IOUS = ((0, ".50"), (5, ".75"))


def curves(view: View) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] | None:
    """Interpolated precision at 101 recalls, mean over classes with truth, by IoU; None where nothing is scored."""
    truth, predicted = boxes_of(view.tables)
    if predicted.scores is None or not len(predicted):
        return None
    precision = point_ap(truth, predicted, max_dets=int(view.results.options.get("max_dets", 500))).precision  # type: ignore[arg-type]
    out = {}
    for i, name in IOUS:
        here = precision[i, :, :, 0]
        known = here[:, (here > -1).any(axis=0)]
        if known.shape[1]:
            out[name] = known.mean(axis=1)
    return out


def precision_recall(views: Sequence[View]) -> list[Figure]:
    """A figure per IoU with a line per run; at .50 a dot stands for the operating point of P, R and F1."""
    found = {view.name: curves(view) for view in views}
    names = [view.name for view in views]
    made = []
    for i, (_, iou) in enumerate(IOUS):
        rows: list[Spec] = [
            {"run": name, "recall": float(r), "precision": float(p)}
            for name, some in found.items()
            if some and iou in some
            for r, p in zip(RECALLS, some[iou], strict=True)
        ]
        points = _operating_points(views) if i == 0 else []
        if not rows and not points:
            continue
        axes: Spec = {
            channel: field(f"{of}:Q", title=of, scale={"domain": [0, 1]}, axis={"format": ".0%", "tickCount": 5})
            for channel, of in (("x", "recall"), ("y", "precision"))
        }
        lines = mark("line", rows=rows, strokeWidth=1.7)
        dots = mark("point", {"description": SAYS}, rows=points, filled=True, size=70, opacity=1)
        spec: Spec = {
            "encoding": {**axes, "color": run_colour(names)},
            "layer": [*([lines] if rows else []), *([dots] if points else [])],
            "width": 300,
            "height": 260,
        }
        title = f"Precision and recall at IoU {iou}"
        words = "; ".join(f"{v.name}: AP{iou} {percent(v.results.metrics.get('ap' + iou[1:]))}" for v in views)
        said = ("Lines: mean over classes, by falling score.", "Dots: all predictions at the operating point, pooled.")
        note = " ".join(text for text, there in zip(said, (rows, points), strict=True) if there)
        made.append(figure(f"curve-{iou[1:]}", spec, title=title, alt=f"{title}. {words}.", note=note))
    return made


def _operating_points(views: Sequence[View]) -> list[Spec]:
    rows: list[Spec] = []
    for view in views:
        p, r = (view.results.metrics.get(name) for name in ("precision", "recall"))
        if p and r and p.value is not None and r.value is not None:
            rows.append({"run": view.name, "precision": p.value, "recall": r.value,
                         "says": f"{view.name}: precision {percent(p)}, recall {percent(r)}"})  # fmt: skip
    return rows


def confusion_map(view: View, *, title: str) -> Figure | None:
    """Truth against prediction; None where there are too many classes to be read."""
    truths, said, counts = confused(view)
    if len(truths) > MANY:
        return None
    rows: list[Spec] = []
    for i, truth in enumerate(truths):
        total = int(counts[i].sum())
        for j, answer in enumerate(said):
            if truth == GHOST and j == len(said) - 1:
                continue
            share = int(counts[i, j]) / total if total else 0.0
            rows.append({"truth": truth, "answer": answer, "share": share,
                         "shown": f"{100 * share:.0f}" if share >= 0.005 else "",
                         "ink": "#ffffff" if share < 0.6 else "#000000",
                         "says": f"truth {truth}, predicted {answer}: {int(counts[i, j])} of {total}"})  # fmt: skip
    spec = share_map(rows, truths, said, said="prediction", size=30 if len(truths) <= 8 else 24)
    words = f"Confusion of {view.name} over {len(truths) - 1} classes, boxes matched at IoU .5 with labels ignored."
    return figure(f"confusion-{view.slug}", spec, title=title, alt=words)


def recall_lines(
    id: str, title: str, axis: str, found: Mapping[str, Mapping[str, Estimate]], names: Sequence[str]
) -> Figure:
    """Recall by stratum with intervals, a line per run."""
    runs = list(found)
    rows: list[Spec] = [
        {"stratum": name, "run": run, "value": e.value, "low": e.low if e.low is not None else e.value,
         "high": e.high if e.high is not None else e.value, "says": f"{run}, {name}: {percent(e)} of {e.n}"}
        for run, some in found.items()
        for name, e in some.items()
        if e.value is not None
    ]  # fmt: skip
    present = [name for name in names if any(row["stratum"] == name for row in rows)]
    base: Spec = {
        "x": field("stratum:O", sort=[*present], title=axis, axis={"labelAngle": -30}),
        "xOffset": field("run:N", sort=[*runs], scale={"paddingOuter": 1}),
        "color": run_colour(runs),
        "description": SAYS,
    }
    up: Spec = {"scale": {"domain": [0, 1]}, "title": "recall"}
    bars = mark("rule", {"y": field("low:Q", **up), "y2": {"field": "high"}}, strokeWidth=1.5)
    dots = mark("point", {"y": field("value:Q", **up, axis={"format": ".0%"})}, filled=True, size=45, opacity=1)
    spec: Spec = {"data": {"values": rows}, "encoding": base, "layer": [bars, dots], "width": 300, "height": 220}
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(id, spec, title=title, alt=f"{title}. {words}.", note="Bars: 95 % intervals.")


KIND_COLOURS = {"hit": "#228833", "place": "#66ccee", "label": "#ccbb44", "both": "#ee6677", "repeat": "#aa3377",
                "ghost": "#bbbbbb", "miss": "#4477aa"}  # fmt: skip


def error_bars(counts: Mapping[str, Mapping[str, int]]) -> Figure:
    """How many instances of each kind a run has, as one bar per run."""
    rows: list[Spec] = [
        {"run": run, "kind": kind, "n": some.get(kind, 0), "place": place, "says": f"{run}: {some.get(kind, 0)} {kind}"}
        for run, some in counts.items()
        for place, kind in enumerate(KIND_COLOURS)
    ]
    scale: Spec = {"domain": [*KIND_COLOURS], "range": [*KIND_COLOURS.values()]}
    beneath: Spec = {"title": None, "orient": "bottom", "columns": 4}
    encoding: Spec = {
        "y": field("run:N", sort=[*counts], title=None, axis={"labelLimit": 300}),
        "x": field("n:Q", title="instances", stack="zero", axis={"tickCount": 6}),
        "color": field("kind:N", scale=scale, sort=[*KIND_COLOURS], legend=beneath),
        "order": field("place:Q"),
        "description": SAYS,
    }
    bars = mark("bar", encoding, rows=rows, stroke="#ffffff", strokeWidth=0.5)
    spec: Spec = {**bars, "width": 340, "height": 30 * len(counts)}
    words = "; ".join(str(row["says"]) for row in rows)
    return figure(
        "kinds", spec, title="Predictions and misses by kind", alt=f"Predictions and misses by kind. {words}."
    )
