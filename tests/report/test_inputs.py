"""Names of runs, and which runs may stand in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.errors import StoreError
from snellen.report.inputs import comparable, parts, views_of
from snellen.report.overview import about
from snellen.runs.manifest import Manifest
from snellen.runs.store import Run


def test_runs_of_one_model_are_named_by_what_differs(star: dict[str, Run]) -> None:
    names = [view.name for view in views_of([star["large"], star["narrow"], star["tiny"]])]
    assert names == [
        "scripted/star (side 672, size regular)",
        "scripted/star (side 336, size regular)",
        "scripted/star (side 336, size small)",
    ]


def test_runs_that_nothing_tells_apart_are_named_by_their_folder_or_number(star: dict[str, Run]) -> None:
    assert [view.name for view in views_of([star["large"], star["others"]])] == [
        "scripted/star [star] #1",
        "scripted/star [star] #2",
    ]


def test_runs_of_other_samples_stand_apart(star: dict[str, Run]) -> None:
    views = views_of([star["large"], star["others"], star["narrow"]])
    assert [[view.slug for view in part] for part in parts(views)] == [["run-1", "run-3"], ["run-2"]]
    assert [[view.slug for view in group] for group in comparable(views)] == [["run-1", "run-3"], ["run-2"]]


def test_a_run_that_was_not_scored_is_refused_with_what_to_type(tmp_path: Path) -> None:
    run = Run.create(
        tmp_path / "r", Manifest(task={"task": "x"}, model={"provider": "p", "name": "n"}, samples=0, requests=0)
    )
    with pytest.raises(StoreError, match="snellen score"):
        views_of([run])


def test_runs_scored_by_other_rules_stand_apart(star: dict[str, Run]) -> None:
    one, other = views_of([star["large"], star["narrow"]])
    strict = replace(other, results=replace(other.results, guard={**other.results.guard, "reader": "letters"}))
    assert len(parts([one, other])) == 1
    assert len(parts([one, strict])) == 2


def test_data_sets_of_a_bench_stand_apart_under_names_of_their_own(star: dict[str, Run]) -> None:
    views = views_of([star["large"], star["narrow"]], ["mine", "mine"], ["first", "second"])
    assert [[view.title for view in part] for part in parts(views)] == [["mine, first"], ["mine, second"]]
    assert about(views[:1]).startswith("first: civet/single-object (")
