"""Psychometric curves in the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.core.estimates import Estimate
from snellen.report.acuity import curve_of, section, words
from snellen.report.blocks import Row
from snellen.report.grids import Grid
from snellen.report.inputs import views_of
from snellen.runs.store import Run
from vega_lite import check

STEPS = [[4.0, 100, 25], [8.0, 100, 40], [16.0, 100, 85], [32.0, 100, 99]]


def told(threshold: float | None) -> dict[str, object]:
    estimate = {"value": threshold, "low": 9.0, "high": None if threshold is None else 12.0, "n": 400}
    return {"unit": "px", "threshold": estimate, "slope": 3.0, "lapse": 0.0, "chance": 0.25, "steps": STEPS,
            "reason": "" if threshold else "all sizes are too hard"}  # fmt: skip


def test_the_curve_of_the_results_is_half_way_up_at_its_threshold() -> None:
    found = curve_of(told(10.0))
    assert found.curve(np.array([10.0]))[0] == pytest.approx((1 + 0.25) / 2)


@pytest.mark.parametrize(
    ("estimate", "said"),
    [(Estimate(10.0, 9.0, 12.0), "10.00 px [9.00, 12.00]"), (Estimate(None, 9.0, None), "outside the sizes shown")],
)
def test_thresholds_are_said_in_words(estimate: Estimate, said: str) -> None:
    assert words(estimate) == said


def test_runs_with_and_without_a_threshold_stand_in_one_figure_and_table(star: dict[str, Run]) -> None:
    one, other, none = views_of([star["large"], star["narrow"], star["tiny"]])
    by = {"section": {"center": told(8.0), "top left": told(None)}}
    sharp = replace(one, results=replace(one.results, facts={"acuity": told(10.0), "acuity_by": by}))
    blind = replace(other, results=replace(other.results, facts={"acuity": told(None)}))
    made = section([sharp, blind, none])
    row, grid = made.blocks
    assert isinstance(row, Row)
    assert isinstance(grid, Grid)
    assert [column.name for column in grid.columns] == ["Run", "Everywhere", "top left", "center"]
    shown = [[cell.value for cell in line] for line in grid.shown()]
    assert shown == [[sharp.name, "10.00", "–", "8.00"], [blind.name, "–", "–", "–"]]
    (figure,) = row.figures
    assert f"{blind.name}: threshold outside the sizes shown" in figure.alt
    check(figure.spec)
    assert "<svg" in figure.svg()
    assert section([none]).blocks == ()
