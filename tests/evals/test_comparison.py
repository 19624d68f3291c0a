"""Comparing runs: pairing, the guard, several answers a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import GuardError
from snellen.core.specs import ModelSpec
from snellen.evals.comparison import compare, compare_runs, scored
from snellen.evals.imports import import_file
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.table import build
from snellen.runs.loop import run
from snellen.runs.store import Run

EXAM = {"task": "civet/single-object", "side": 336}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    task = open_task(EXAM)
    made = {}
    for name, sample in (("oracle", 60), ("random", 60), ("majority", 60), ("other", 30)):
        model = build(ModelSpec.parse("random" if name == "other" else name), task=task)
        made[name] = run(task, model, folder / name, limit=sample)
        score(made[name], intervals=False)
    return made


def test_a_comparison_is_antisymmetric_and_agrees_with_the_scores(runs: dict[str, Run]) -> None:
    there = compare_runs(runs["random"], runs["oracle"], metrics=["accuracy"], draws=200)
    back = compare_runs(runs["oracle"], runs["random"], metrics=["accuracy"], draws=200)
    one, two = there.differences["accuracy"], back.differences["accuracy"]
    assert one.difference.value == pytest.approx(-two.difference.value)  # type: ignore[operator]
    assert one.p == pytest.approx(two.p)
    assert one.b == 1.0
    assert one.a == scored(runs["random"]).results.metrics["accuracy"].value


def test_other_samples_are_refused_unless_asked_and_then_said(runs: dict[str, Run]) -> None:
    with pytest.raises(GuardError, match="the samples that they answered"):
        compare_runs(runs["oracle"], runs["other"])
    found = compare_runs(runs["oracle"], runs["other"], on="common", draws=200)
    assert found.on_common
    ids = [set(runs[name].tables().outcomes["sample"].tolist()) for name in ("oracle", "other")]
    assert found.samples == len(ids[0] & ids[1])


def test_people_with_several_ratings_a_sample_are_compared_with_a_model(runs: dict[str, Run], tmp_path: Path) -> None:
    """Three raters: two always right, one always wrong; each sample counts once."""
    outcomes = runs["oracle"].tables().outcomes
    rows = ["sample,rater,answer"]
    for name, target in zip(outcomes["sample"].tolist(), outcomes["target"].tolist(), strict=True):
        rows += [f"{name},a,{target}", f"{name},b,{target}", f"{name},c,nothing of the kind"]
    (tmp_path / "ratings.csv").write_text("\n".join(rows))
    people = import_file(tmp_path / "ratings.csv", kind="ratings", out=tmp_path / "people", truth="civet/single-object",
                         side=336)  # fmt: skip
    score(people, intervals=False)
    found = compare(scored(people), scored(runs["oracle"]), metrics=["accuracy"], draws=200)
    assert found.samples == 60
    assert found.differences["accuracy"].a == pytest.approx(2 / 3)
    assert found.differences["accuracy"].difference.value == pytest.approx(1 / 3)


def test_holm_is_over_the_metrics_that_are_reported(runs: dict[str, Run]) -> None:
    alone = compare_runs(runs["random"], runs["majority"], metrics=["accuracy"], draws=200)
    both = compare_runs(runs["random"], runs["majority"], metrics=["accuracy", "macro_f1"], draws=200)
    assert alone.differences["accuracy"].p_holm == alone.differences["accuracy"].p
    p = [both.differences[name].p for name in ("accuracy", "macro_f1")]
    assert min(d.p_holm for d in both.differences.values()) == pytest.approx(min(1.0, 2 * np.min(p)))  # type: ignore[type-var]
