"""The smallest objects that are still seen: psychometric curves, and thresholds over all and by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from snellen.core.estimates import Estimate
from snellen.core.specs import Json
from snellen.report.answer_figures import run_colour
from snellen.report.answer_tables import in_order
from snellen.report.blocks import Row, Section
from snellen.report.figures import SAYS, Figure, Spec, field, figure, mark
from snellen.report.grids import Cell, Column, Grid, percent, show
from snellen.report.inputs import View
from snellen.statistics.intervals import wilson
from snellen.statistics.psychometrics import Psychometric, Step


def section(views: Sequence[View]) -> Section:
    """Runs whose exam showed objects of several sizes; nothing for others."""
    measured = {view.name: curve_of(view.results.facts["acuity"]) for view in views if "acuity" in view.results.facts}
    if not measured:
        return Section("acuity", "How small it still sees")
    lead = (
        "Threshold: the size of the object, px of the picture, at which accuracy is half-way between chance and 1. "
        "Smaller is better."
    )
    blocks = (Row((curves(measured),)), thresholds([view for view in views if view.name in measured]))
    return Section("acuity", "How small it still sees", blocks, lead)


def curve_of(told: Mapping[str, Any]) -> Psychometric:
    """The curve as the results tell it. Without a threshold it has no centre, and is not drawn."""
    threshold = Estimate(**told["threshold"])
    centre = float("nan") if threshold.value is None else threshold.value
    steps = tuple(Step(*step) for step in told["steps"])
    return Psychometric(threshold, told["slope"], told["lapse"], told["chance"], centre, steps, told.get("reason", ""))


def curves(measured: Mapping[str, Psychometric]) -> Figure:
    """Accuracy by size with intervals, the fitted curve, and the threshold with its interval at the foot."""
    names = list(measured)
    points: list[Json] = []
    lines: list[Json] = []
    limits: list[Json] = []
    for name, found in measured.items():
        for size, n, right in found.steps:
            share = wilson(right, n)
            points.append({"run": name, "size": size, "value": share.value, "low": share.low, "high": share.high,
                           "says": f"{name}, {size:g} px: {percent(share)} of {n}"})  # fmt: skip
        if found.threshold.value is None:
            continue
        sizes = np.geomspace(found.steps[0].size, found.steps[-1].size, 80)
        lines += [{"run": name, "size": float(x), "value": float(p)}
                  for x, p in zip(sizes, found.curve(sizes), strict=True)]  # fmt: skip
        ends = (found.threshold.low, found.threshold.high)
        low, high = (found.threshold.value if end is None else end for end in ends)
        limits.append({"run": name, "size": found.threshold.value, "low": low, "high": high, "value": 0.0,
                       "says": f"{name}: threshold {words(found.threshold)}"})  # fmt: skip
    across: Spec = {"title": "object, px (logarithmic)", "scale": {"type": "log", "nice": False}}
    up: Spec = {"title": "accuracy", "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    x, y = field("size:Q", **across), field("value:Q", **up)
    base: Spec = {"color": run_colour(names), "description": SAYS}
    bars = mark("rule", {**base, "x": x, "y": field("low:Q", **up), "y2": {"field": "high"}}, strokeWidth=1.2,
                opacity=0.7)  # fmt: skip
    layers = [bars, mark("point", {**base, "x": x, "y": y}, filled=True, size=40, opacity=1)]
    if lines:
        layers.append(mark("line", {"x": x, "y": y, "color": run_colour(names)}, rows=lines, strokeWidth=1.5))
        span: Spec = {"x": field("low:Q", **across), "x2": {"field": "high"}}
        layers.append(mark("rule", {**base, **span, "y": y}, rows=limits, strokeWidth=3, clip=True))
        layers.append(mark("point", {**base, "x": x, "y": y}, rows=limits, shape="triangle-up", filled=True, size=90,
                           opacity=1))  # fmt: skip
    spec: Spec = {"data": {"values": points}, "layer": layers, "width": 360, "height": 240}
    said = "; ".join(f"{name}: threshold {words(found.threshold)}" for name, found in measured.items())
    note = "Triangles at the foot: thresholds with their 95 % intervals."
    return figure(
        "acuity", spec, title="Accuracy by size of the object", alt=f"Psychometric curves. {said}.", note=note
    )


def thresholds(views: Sequence[View]) -> Grid:
    """The threshold of each run, over all and in each section of the picture."""
    by = {view.name: view.results.facts.get("acuity_by", {}).get("section", {}) for view in views}
    names = in_order({name for some in by.values() for name in some})
    rows: list[tuple[Cell, ...]] = []
    for view in views:
        cells: list[Cell] = [view.name, Estimate(**view.results.facts["acuity"]["threshold"])]
        cells += [Estimate(**by[view.name][name]["threshold"]) if name in by[view.name] else None for name in names]
        rows.append(tuple(cells))
    columns = (Column("Run"), Column("Everywhere", "number"), *(Column(name, "number", "By section") for name in names))
    note = "A dash: the threshold lies outside the sizes shown."
    return Grid("acuity", "Thresholds, px", columns, tuple(rows), note)


def words(threshold: Estimate) -> str:
    """`12.3 px [11.0, 13.9]`, or that it lies outside."""
    if threshold.value is None:
        return "outside the sizes shown"
    shown = show(threshold, "number")
    return f"{shown.value} px {shown.interval}".strip()
