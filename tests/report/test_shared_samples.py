"""Runs of unequal samples on those that all answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from snellen.core.errors import GuardError
from snellen.core.stages import Prompt, Reply
from snellen.core.tables import Table
from snellen.report.inputs import comparable, parts, views_of
from snellen.report.overview import section
from snellen.report.shared_samples import on_common
from snellen.runs.store import Run


def test_runs_are_narrowed_and_may_then_be_compared(star: dict[str, Run]) -> None:
    before = views_of([star["large"], star["others"]])
    assert len(parts(before)) == 2
    shared = set(before[0].outcomes["sample"].tolist()) & set(before[1].outcomes["sample"].tolist())
    after = on_common(before)
    assert 0 < len(shared) < 40
    assert [set(view.outcomes["sample"].tolist()) for view in after] == [shared, shared]
    assert [len(group) for group in comparable(after)] == [2]
    for view in after:
        right = view.outcomes["correct"].mean()
        assert view.results.metrics["accuracy"].value == pytest.approx(right)
    said = section(after).lead
    assert said.startswith(f"On the {len(shared)} samples that all runs answered.")
    assert f"{before[0].name} 40" in said


def test_a_run_that_answered_just_the_shared_samples_keeps_its_results(star: dict[str, Run]) -> None:
    (one,) = views_of([star["large"]])
    (same,) = on_common([one])
    assert same.results.metrics == one.results.metrics


def test_samples_of_another_truth_are_not_shared(star: dict[str, Run]) -> None:
    one, other = views_of([star["large"], star["narrow"]])
    columns = dict(other.outcomes.columns) | {"target": other.outcomes["answer"]}
    turned = replace(other, tables=replace(other.tables, outcomes=Table(columns)))
    kept = on_common([one, turned])[0].outcomes
    assert (kept["target"] == kept["answer"]).all()


def test_runs_without_a_common_sample_are_refused(star: dict[str, Run], make_run: Callable[..., Run]) -> None:
    def says(prompt: Prompt) -> Reply:
        return Reply("matte")

    sheen = make_run("sheen", says, sample=10, questions=["sheen"], intervals=False)
    with pytest.raises(GuardError, match="no sample was answered by all of"):
        on_common(views_of([star["large"], sheen]))
