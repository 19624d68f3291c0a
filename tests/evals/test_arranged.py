from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from snellen.core.specs import Json
from snellen.core.stages import Choice, Reading, Sample
from snellen.evals.arranged import certificate
from snellen.evals.civet import task
from snellen.scoring.choice import measure

COUNTS = {
    "single-object": (5832, {"shape": 5832, "color": 5832, "sheen": 3888, "position": 5832}),
    "relative-position": (6480, {"relative_position": 12960}),
    "relative-size": (25920, {"relative_size": 51840}),
    "counting": (392, {"count": 392}),
    "acuity": (2592, {"shape": 2592}),
}


@cache
def balance(setting: str) -> dict[str, Json]:
    """The certificate of a whole exam, counted once for all tests."""
    return certificate(task(setting).samples)


@pytest.mark.parametrize("setting", COUNTS)
def test_an_exam_has_its_counts_and_balanced_orders(setting: str) -> None:
    exam = task(setting)
    scenes, kinds = COUNTS[setting]
    found = balance(setting)
    assert len(exam.samples.exam.worlds) == scenes  # type: ignore[attr-defined]
    assert {kind: facts["n"] for kind, facts in found["kinds"].items()} == kinds  # type: ignore[union-attr, attr-defined]
    for facts in found["kinds"].values():  # type: ignore[union-attr, attr-defined]
        assert facts["places_within_labels"]["widest"] <= 1
        assert facts.get("orders", {"balanced": True})["balanced"]
        assert facts["places"]["most"] - facts["places"]["least"] <= 2


@pytest.mark.parametrize(
    ("ties", "questions"),
    [("drop", None), ("either", 13122), ("resample", 13122)],
)
def test_relative_distance_asks_each_object_and_does_with_ties_as_told(ties: str, questions: int | None) -> None:
    exam = task("relative-distance", ties=ties)
    samples = list(exam.samples)
    facts = exam.samples.exam.facts  # type: ignore[attr-defined]
    assert len(exam.samples.exam.worlds) == 4374  # type: ignore[attr-defined]
    if ties == "drop":
        assert facts["tied_questions"] / 13122 == pytest.approx(0.0307, abs=0.004)
        assert len(samples) == 13122 - facts["tied_questions"]
    else:
        assert len(samples) == questions
        assert sum(bool(s.truth.also) for s in samples) == (facts["tied_questions"] if ties == "either" else 0)


def test_placements_of_relative_distance_are_each_drawn_six_times() -> None:
    exam = task("relative-distance").samples.exam  # type: ignore[attr-defined]
    placements: dict[object, int] = {}
    for world in exam.worlds:
        blocks = tuple((thing.row // 3, thing.col // 3) for thing in world.objects)
        placements[blocks] = placements.get(blocks, 0) + 1
    assert len(placements) == 729
    assert set(placements.values()) == {6}


@pytest.mark.parametrize(
    ("setting", "answer", "accuracy", "f1"),
    [("relative-position", "above left", 0.2, 1 / 3), ("relative-size", "same", 0.5, 2 / 3)],
)
def test_a_constant_answer_has_the_papers_telltale_figures(
    setting: str, answer: str, accuracy: float, f1: float
) -> None:
    exam = task(setting)
    tables = exam.tabulate((sample, Reading(answer)) for sample in exam.samples)
    found = measure(tables)(np.ones((1, len(tables.outcomes))))
    assert found["accuracy"][0] == pytest.approx(accuracy)
    assert found[f"f1.{answer}"][0] == pytest.approx(f1)
    constant = balance(setting)["kinds"][setting.replace("-", "_")]["constant_answer"]  # type: ignore[index, call-overload]
    assert constant == {"label": answer, "accuracy": pytest.approx(accuracy), "f1": pytest.approx(f1)}


def asked(i: int, target: str, options: tuple[str, ...]) -> Sample[Choice]:
    return Sample(str(i), Choice(target, options, "k"), attributes={"cell_row": i % 2, "cell_col": 0})


@pytest.mark.parametrize(
    ("samples", "uneven"),
    [
        ([("a", "ab"), ("b", "ba"), ("a", "ba"), ("b", "ab")], []),
        ([("a", "ab"), ("b", "ab"), ("a", "ab"), ("b", "ab")], ["places_within_labels", "orders"]),
        ([("a", "ab"), ("b", "ba"), ("a", "ab"), ("b", "ba")], ["places", "places_within_labels", "orders"]),
        ([("a", "ab"), ("a", "ba"), ("a", "ab"), ("b", "ba")], ["labels", "places"]),
    ],
)
def test_what_is_uneven_is_named(samples: list[tuple[str, str]], uneven: list[str]) -> None:
    found = certificate(asked(i, target, tuple(order)) for i, (target, order) in enumerate(samples))
    names = found["kinds"]["k"]["not_balanced"]  # type: ignore[index, call-overload]
    assert [name for name in names if name != "cells"] == uneven
