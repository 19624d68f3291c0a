"""Kinds of error: one named case each, and what mending them is worth."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.detections import BoxTable, Detections
from snellen.core.stages import Reading, Sample
from snellen.core.tables import KINDS, Tables
from snellen.scoring import grounding
from snellen.scoring.confusion import confusion
from snellen.scoring.error_costs import ap50_costs, measure

A = [0.0, 0.0, 100.0, 100.0]
LOOSE = [0.0, 0.0, 100.0, 40.0]  # IoU .4 with A
B = [200.0, 0.0, 300.0, 100.0]
LOOSE_B = [200.0, 0.0, 300.0, 30.0]
FAR = [500.0, 500.0, 520.0, 520.0]


def boxes(*items: tuple[str, list[float]], crowd: tuple[bool, ...] | None = None) -> Detections:
    return Detections(np.array([box for _, box in items]), tuple(name for name, _ in items), None,
                      None if crowd is None else np.array(crowd))  # fmt: skip


def tables(truth: Detections, found: Detections, unread: int = 0) -> Tables:
    return grounding.tabulate([(Sample("a", truth), Reading(found, unread=unread))], classes=("x", "y"))


CASES = {
    "hit": (boxes(("x", A)), boxes(("x", A)), ["hit"], ["hit"]),
    "place": (boxes(("x", A)), boxes(("x", LOOSE)), ["place"], ["place"]),
    "label": (boxes(("x", A)), boxes(("y", A)), ["label"], ["label"]),
    "label, of nothing known": (boxes(("x", A)), boxes(("q", A)), ["label"], ["label"]),
    "repeat": (boxes(("x", A)), boxes(("x", A), ("x", A)), ["hit"], ["hit", "repeat"]),
    "both": (boxes(("x", A)), boxes(("y", LOOSE)), ["miss"], ["both"]),
    "ghost": (boxes(("x", A)), boxes(("x", FAR)), ["miss"], ["ghost"]),
    "ghost where nothing is": (boxes(), boxes(("x", A)), [], ["ghost"]),
    "miss": (boxes(("x", A)), boxes(), ["miss"], []),
    "place before label, as TIDE has it": (
        boxes(("x", A), ("y", LOOSE)), boxes(("x", LOOSE)), ["place", "miss"], ["place"],
    ),
    "inside a crowd region": (boxes(("x", A), crowd=(True,)), boxes(("x", LOOSE)), ["none"], ["excused"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_kind(name: str) -> None:
    truth, found, of_truths, of_predictions = CASES[name]
    table = tables(truth, found).detections
    assert table is not None
    kinds = [KINDS[kind] for kind in table["kind"]]
    assert kinds[: len(of_truths)] == of_truths
    assert kinds[len(of_truths) :] == of_predictions


def values(made: Tables) -> dict[str, float]:
    return {name: float(value[0]) for name, value in measure(made)(np.ones((1, len(made.outcomes)))).items()}


def test_costs_are_the_f1_gained_by_mending() -> None:
    truth = boxes(("x", A), ("x", B))
    found = boxes(("x", A), ("x", A), ("y", B), ("x", LOOSE_B), ("x", FAR))
    made = tables(truth, found)
    got = values(made)
    f1 = 2 * 1 / (5 + 2)
    # by label: the box on B becomes a hit; by place: the loose one does; a repeat or ghost goes
    assert got["cost_label"] == pytest.approx(2 * 2 / 7 - f1)
    assert got["cost_place"] == pytest.approx(2 * 2 / 7 - f1)
    assert got["cost_repeat"] == pytest.approx(2 * 1 / 6 - f1)
    assert got["cost_ghost"] == pytest.approx(2 * 1 / 6 - f1)
    assert got["cost_both"] == got["cost_miss"] == 0
    assert got["rate_repeat"] == got["rate_ghost"] == got["rate_label"] == got["rate_place"] == 1 / 5


def test_two_errors_about_one_truth_mend_it_once() -> None:
    got = values(tables(boxes(("x", A)), boxes(("x", LOOSE), ("x", LOOSE))))
    assert got["cost_place"] == 1.0  # one becomes the hit, the other goes
    assert got["rate_miss"] == 0


def test_missed_truths_cost_recall_and_unread_items_are_ghosts() -> None:
    got = values(tables(boxes(("x", A), ("x", B)), boxes(("x", A)), unread=1))
    assert got["rate_miss"] == 0.5
    assert got["cost_miss"] == pytest.approx(2 / 3 - 0.5)
    assert got["rate_ghost"] == 0.5


def test_confusion_counts_every_truth_and_prediction_once() -> None:
    truth = boxes(("x", A), ("y", B))
    found = boxes(("y", A), ("y", B), ("x", FAR))
    matrix = confusion(tables(truth, found))
    assert matrix.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert matrix[:2].sum() == 2
    assert matrix[:, :2].sum() == 3


def test_ap_costs_of_perfect_detections_are_zero() -> None:
    truth = BoxTable(("a",), ("x",), np.zeros(2, int), np.zeros(2, int), np.array([A, B]))
    predicted = BoxTable(("a",), ("x",), np.zeros(2, int), np.zeros(2, int), np.array([A, B]), np.array([0.9, 0.8]))
    assert {value for (value,) in ap50_costs(truth, predicted)(np.ones((1, 1))).values()} == {0.0}
    empty = BoxTable(("a",), ("x",), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4)))
    assert all(np.isnan(value) for (value,) in ap50_costs(empty, predicted)(np.ones((1, 1))).values())
