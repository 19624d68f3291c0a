"""The section on confidences: the same boxes ranked by every source of scores, and whether the sure are right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.estimates import Estimate
from snellen.core.specs import Json
from snellen.evals.score_sources import GROUP
from snellen.report.answer_figures import run_colour
from snellen.report.blocks import Row, Section
from snellen.report.figures import SAYS, Figure, Spec, field, figure, mark
from snellen.report.grids import Column, Grid, percent
from snellen.report.inputs import View

NAMES = {"constant": "nowhere: all alike", "model": "the reply", "token-logprob": "token log-probabilities",
         "vote": "votes of the draws"}  # fmt: skip
"""Source of scores -> what the page calls it."""


def section(views: Sequence[View]) -> Section:
    """AP by source of scores, calibration, and reliability diagrams; without blocks where no run has a confidence."""
    grids = [grid for grid in (sources_grid(views), calibration_grid(views)) if grid.rows]
    figures = tuple(found for found in map(reliability, views) if found is not None)
    lead = (
        "What a model is surer of should be right more often (AP ranks by confidence), and to be 80 % sure should mean "
        "to be right 8 times of 10 (calibration)."
    )
    return Section("scores", "Confidence", (*grids, *([Row(figures)] if figures else [])), lead)


def sources_grid(views: Sequence[View]) -> Grid:
    """AP of the same boxes by each source of scores, and what it gains on constant scores: a row per run and source."""
    figures = (("ap", "AP"), ("ap50", "AP50"), ("ap75", "AP75"))
    columns = [Column("Run"), Column("Scores from"), *(Column(name, "percent") for _, name in figures)]
    columns += [Column(name, "points", "Gained on constant scores") for _, name in figures[:2]]
    names = [*(metric for metric, _ in figures), "ap_gain", "ap50_gain"]
    rows = tuple(
        (view.name, NAMES[source], *(found.get(name) for name in names))
        for view in views
        for source, found in view.results.groups.get(GROUP, {}).items()
    )
    note = (
        "The same boxes, ranked by other scores; expected AP over the orders of equal scores. Gained: points, by the "
        "same resampled pictures."
    )
    return Grid("score-sources", "AP by where scores come from, %", tuple(columns), rows, note)


def calibration_grid(views: Sequence[View]) -> Grid:
    """How sure, how often right, and how far apart the two are: a row per run and source of confidences."""
    percents = (("confidence", "Mean confidence, %"), ("right", "Right, %"), ("excess", "Excess"), ("ece", "ECE, %"))
    columns = [Column("Run"), Column("Confidence from"), Column("Predictions", "count")]
    columns += [Column(name, "points" if metric == "excess" else "percent") for metric, name in percents]
    rows = tuple(
        (view.name, NAMES[source], fact["n"], *(Estimate(**fact[name]) for name, _ in percents))
        for view in views
        for source, fact in _calibration(view).items()
    )
    note = (
        "Right: boxes matched at IoU .5 with their label, or right answers. Excess: mean confidence minus share right, "
        "in points. ECE: expected calibration error over ten bins of equal width; its lower limit allows for noise."
    )
    return Grid("calibration", "Whether the sure are right", tuple(columns), rows, note)


def reliability(view: View) -> Figure | None:
    """Share right against confidence, a line per source of scores; None where there are no confidences."""
    found = {NAMES[source]: fact for source, fact in _calibration(view).items()}
    if not found:
        return None
    rows: list[dict[str, Any]] = [
        {"source": name, "confidence": row["confidence"], "right": row["right"]["value"], "n": row["n"],
         "low": row["right"].get("low"), "high": row["right"].get("high"),
         "says": f"{name}: of {row['n']} predictions with a confidence of {percent(row['confidence'])} on average, "
                 f"{percent(Estimate(**row['right']))} are right"}
        for name, fact in found.items()
        for row in shown_bins(fact)
    ]  # fmt: skip
    across = _ends([row["confidence"] for row in rows])
    up = _ends([*across, *(row[name] for row in rows for name in ("right", "low", "high") if row[name] is not None)])
    axis: Spec = {"format": ".0%", "tickCount": 5}
    scale: Spec = {"domain": [*up], "nice": False}
    x = field("confidence:Q", title="confidence", scale={"domain": [*across], "nice": False}, axis=axis)
    y, low = (field(f"{name}:Q", title="share right", scale=scale, axis=axis) for name in ("right", "low"))
    ideal: list[Json] = [{"confidence": end, "right": end} for end in across]
    line = mark("line", {"x": x, "y": y}, rows=ideal, strokeDash=[4, 3], color="#888888")
    base: Spec = {"x": x, "color": run_colour(list(found), "source"), "description": SAYS}
    layers = [line, mark("line", {**base, "y": y}, strokeWidth=1)]
    if any(row["low"] is not None for row in rows):
        layers.append(mark("rule", {**base, "y": low, "y2": {"field": "high"}}, strokeWidth=1.5))
    size = field("n:Q", scale={"range": [20, 150]}, legend=None)
    layers.append(mark("point", {**base, "y": y, "size": size}, filled=True, opacity=1))
    spec: Spec = {"data": {"values": rows}, "layer": layers, "width": 300, "height": 260}
    words = "; ".join(str(row["says"]) for row in rows)
    kinds = {shown_bins(fact) is fact["bins"] for fact in found.values()}
    width = "Bins of about equal number" if kinds == {False} else "Bins of equal width"
    crowded = "; of about equal number where confidences crowd together"
    note = f"Bars: 95 % intervals. Dashed: as often right as sure. Larger dots: more predictions. {width}"
    note += "." if len(kinds) == 1 else f"{crowded}."
    return figure(f"reliability-{view.slug}", spec, title=view.name, alt=f"Reliability. {words}.", note=note)


def _ends(shares: Sequence[Any]) -> list[float]:
    """The ends of an axis that holds these shares: whole steps of 5 %."""
    return [math.floor(min(shares) * 20) / 20, math.ceil(max(shares) * 20) / 20]


def shown_bins(fact: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The bins that a figure shows: of equal width; of equal number where confidences crowd in few of those."""
    found: list[Mapping[str, Any]] = max(fact["bins"], fact["tenths"], key=len)
    return found


def _calibration(view: View) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = view.results.facts.get("calibration", {})
    return found
