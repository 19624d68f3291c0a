"""Money, time and size beside the score: what is known of them, and how it is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snellen.bench.config import ModelEntry
from snellen.bench.decide import Decision, Row
from snellen.bench.notes import costs as costs_in_words
from snellen.bench.table import costs
from snellen.core.estimates import Estimate
from snellen.core.specs import ModelSpec
from snellen.core.stages import Prompt, Reply, Usage
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.report.blocks import Findings
from snellen.report.decision import AXES, decided, pareto
from snellen.report.figures import Figure
from snellen.runs.loop import run
from vega_lite import check

PRICE = (2.0, 10.0)


@pytest.mark.parametrize(("usage", "dollars"), [(Usage(300, 100), 1.6), (None, None)])
def test_money_is_what_the_counted_tokens_cost_and_unknown_without_them(
    tmp_path: Path, usage: Usage | None, dollars: float | None
) -> None:
    def say(prompt: Prompt) -> Reply:
        return Reply(prompt.labels[0], usage=usage, seconds=0.25)

    task = open_task({"task": "civet/single-object", "side": 108})
    done = run(task, FakeModel(say, ModelSpec("openai", "x", {"price": list(PRICE)})), tmp_path / "run", limit=10)
    score(done, intervals=False)
    found = costs([done], ModelEntry(model="openai/x", price=PRICE))
    assert found["dollars_per_1000"] == (None if dollars is None else pytest.approx(dollars))
    # three tokens in at 2 USD a million, one out at 10
    assert found["price"] == (None if dollars is None else pytest.approx(4.0))
    assert found["seconds_per_1000"] == pytest.approx(250)


def _decision(facts: dict[str, dict[str, Any]]) -> Decision:
    rows = tuple(
        Row(name, Estimate(each["score"], each["score"] - 0.1, each["score"] + 0.1), None, None, "best", each)
        for name, each in facts.items()
    )
    return Decision("pictures", "f1", rows, "", None)


def test_the_decision_says_what_it_costs_in_a_sentence() -> None:
    facts = {
        "dear": {"score": 0.8, "dollars_per_1000": 12.345, "seconds_per_1000": 230.4},
        "cheap": {"score": 0.7, "dollars_per_1000": 0.0968, "seconds_per_1000": None},
        "chance": {"score": 0.0},
    }
    said = ["1,000 samples take: dear 12.35 USD, 230 s; cheap 0.097 USD."]
    assert costs_in_words(_decision(facts)) == said
    opening = decided([_decision(facts)])[0]
    assert isinstance(opening, Findings)
    assert said[0] in opening.items[0][1]
    assert costs_in_words(_decision({"chance": {"score": 0.0}})) == []


def test_scores_are_drawn_against_whatever_two_models_have() -> None:
    known = {"seconds_per_1000": 5.0, "dollars_per_1000": 1.0, "price": 4.0, "parameters": 8e9, "released": "2026-02"}
    decision = _decision({"a": {"score": 0.8, **known}, "b": {"score": 0.7, **known}, "free": {"score": 0.5}})
    for axis in AXES:
        drawn = pareto(decision, axis)
        assert drawn is not None
        assert "a: f1 0.800" in drawn.alt
        assert "free" not in drawn.alt
        assert pareto(_decision({"a": {"score": 0.8, **known}, "free": {"score": 0.5}}), axis) is None
    figures = [f for block in decided([decision]) for f in getattr(block, "figures", ()) if isinstance(f, Figure)]
    assert len(figures) == 1 + len(AXES)
    for figure in figures:
        check(figure.spec)


def test_the_front_holds_what_nothing_beats_in_cost_and_score() -> None:
    prices = {"best": (0.9, 9.0), "dear": (0.8, 9.0), "good": (0.8, 4.0), "as-good": (0.8, 6.0), "cheap": (0.3, 1.0)}
    facts = {name: {"score": value, "dollars_per_1000": price} for name, (value, price) in prices.items()}
    drawn = pareto(_decision(facts), "dollars_per_1000")
    assert drawn is not None
    rows = json.loads(drawn.json())["data"]["values"]
    assert {row["name"] for row in rows if row["front"]} == {"best", "good", "cheap"}


@pytest.mark.parametrize("written", ["2026-02-01", "2026-02", 2026])
def test_a_release_is_dated_as_yaml_reads_it(written: Any) -> None:
    assert ModelEntry.model_validate({"model": "random", "released": written}).released == str(written)
    with pytest.raises(ValueError, match="a date is written 2026-02-01"):
        ModelEntry.model_validate({"model": "random", "released": "last spring"})
