"""A simulated model with known biases is diagnosed right by the report."""

from __future__ import annotations

import random

import pytest

from snellen.core.stages import Prompt, Reply
from snellen.evals.tasks import open_task
from snellen.report.findings import sentences
from snellen.report.inputs import views_of


@pytest.fixture(scope="module")
def truths() -> dict[str, tuple[str, str, str]]:
    """Sample -> target, section, colour."""
    return {
        s.id: (s.truth.target, str(s.attributes["section"]), str(s.attributes["colour"]))
        for s in open_task({"task": "civet/single-object"}).samples
    }


def test_position_order_and_colour_biases_are_named(make_run, truths) -> None:
    rng = random.Random(0)

    def says(prompt: Prompt) -> Reply:
        target, section, _ = truths[prompt.key.sample]
        kind = prompt.key.sample.rpartition("/")[2]
        if kind == "shape" and section == "top right" and rng.random() < 0.7:
            return Reply(rng.choice([x for x in prompt.labels if x != target]))
        if kind == "color" and target == "cyan" and rng.random() < 0.8:
            return Reply("blue")
        if kind == "sheen" and rng.random() < 0.6:
            return Reply(prompt.labels[0])
        return Reply(target)

    (view,) = views_of([make_run("biased", says, sample=3000, intervals=False)])
    said = " ".join(sentences(view))
    assert "fewer right answers in top right" in said
    assert "cyan is taken for blue" in said
    assert "the option shown first is chosen" in said
    assert "position:" not in said, "the position question was answered without a fault"


def test_a_model_that_is_always_right_shows_nothing(make_run, truths) -> None:
    (view,) = views_of(
        [make_run("right", lambda prompt: Reply(truths[prompt.key.sample][0]), sample=400, intervals=False)]
    )
    assert sentences(view) == ("Nothing: no bias of place, order or label, and no confusion beyond chance.",)
