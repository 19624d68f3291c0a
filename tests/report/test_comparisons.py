"""Rankings, paired differences, ablations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from snellen.core.estimates import Estimate
from snellen.report.comparisons import ablation, main_metrics, pairs, pairs_grid, ranked, varied, verdict
from snellen.report.inputs import views_of
from snellen.runs.store import Run


def test_the_better_run_goes_first_and_its_lead_is_paired(first_option: Run, last_option: Run) -> None:
    views = views_of([first_option, last_option])
    assert main_metrics(views) == ["accuracy"]
    best, other = ranked(views, "accuracy")
    (pair,) = pairs(views, ["accuracy"], draws=100)["accuracy"]
    assert (pair.b, pair.a) == (best.name, other.name)
    values = [view.results.metrics["accuracy"].value for view in (best, other)]
    assert pair.difference.value == pytest.approx(values[0] - values[1])  # type: ignore[operator]
    assert pair.p is not None
    assert pair.p_holm == pair.p
    said = verdict(views, [pair], "accuracy")
    assert ("cannot tell it from" in said) == (not pair.told_apart)
    (turned,) = pairs(views[::-1], ["accuracy"], draws=100)["accuracy"]
    assert (turned.b, turned.a) == (pair.b, pair.a)
    assert turned.difference.value == pair.difference.value
    assert turned.difference.low == pytest.approx(pair.difference.low, abs=1e-12)
    grid = pairs_grid("pairs", [pair], "accuracy")
    assert grid.rows[0][-1] == ("differ" if pair.told_apart else "cannot be told apart")


def test_a_run_is_not_told_from_itself(first_option: Run) -> None:
    views = views_of([first_option, first_option])
    (pair,) = pairs(views, ["accuracy"], draws=100)["accuracy"]
    assert pair.difference.value == 0
    assert not pair.told_apart


def test_a_change_of_one_option_is_found_and_its_effect_paired(star: dict[str, Run]) -> None:
    sized = views_of([star["narrow"], star["tiny"]])
    ((option, a, b),) = varied(sized)
    assert (option, {a, b}) == ("size", {"regular", "small"})
    grid = ablation(sized, "size", "regular", "small", questions=("shape", "color"))
    assert grid is not None
    (row,) = grid.rows
    gaps = [cell for cell in row[1:] if isinstance(cell, Estimate)]
    assert len(gaps) == 2
    assert all(gap.value == 0 and gap.low is not None and gap.low < 0 for gap in gaps), "blind answers ignore size"


def test_runs_that_differ_in_more_than_one_option_are_no_ablation(star: dict[str, Run]) -> None:
    assert varied(views_of([star["large"], star["tiny"]])) == []


def test_a_pair_that_the_guard_keeps_apart_has_dashes_and_a_reason(star: dict[str, Run]) -> None:
    one, other = views_of([star["narrow"], star["tiny"]])
    strict = replace(other.results, guard={**other.results.guard, "reader": "letters"})
    grid = ablation([one, replace(other, results=strict)], "size", "regular", "small", questions=("shape", "color"))
    assert grid is not None
    assert grid.rows == ((one.name, None, None),)
    assert f"{one.name} is not compared" in grid.note
    assert "how answers were read" in grid.note
