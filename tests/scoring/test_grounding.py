"""Precision, recall, F1, counts and CHAIR of boxes, on small sets whose answers are known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from snellen.core.detections import BoxTable, Detections
from snellen.core.errors import DataError, ShapeError, SpecError
from snellen.core.stages import Reading, Sample
from snellen.core.tables import DETECTIONS, GROUNDED, OUTCOMES, Table, Tables
from snellen.scoring import counting, grounding, hallucination

A = [0.0, 0.0, 100.0, 100.0]
B = [200.0, 0.0, 300.0, 100.0]
C = [0.0, 200.0, 100.0, 300.0]
NEAR_A = [0.0, 0.0, 100.0, 70.0]  # IoU .7 with A
FAR = [500.0, 500.0, 520.0, 520.0]


def boxes(*items: tuple[str, list[float]], crowd: tuple[bool, ...] | None = None) -> Detections:
    return Detections(np.array([box for _, box in items]), tuple(name for name, _ in items), None,
                      None if crowd is None else np.array(crowd))  # fmt: skip


def sample(name: str, truth: Detections, **attributes: str) -> Sample[Detections]:
    return Sample(name, truth, attributes=attributes)


def metrics(tables: Tables, failures: Any = None, support: Any = "class") -> dict[str, float | None]:
    ones = np.ones((1, len(tables.outcomes)))
    found = {
        **grounding.measure(tables, failures=failures)(ones),
        **counting.measure(tables, failures=failures)(ones),
        **hallucination.measure(tables, support=support, failures=failures)(ones),
    }
    return {name: None if np.isnan(v[0]) else float(v[0]) for name, v in found.items()}


def scored(truth: Detections, found: Detections, classes: tuple[str, ...] = ("x", "y")) -> dict[str, float | None]:
    return metrics(grounding.tabulate([(sample("a", truth), Reading(found))], classes=classes))


CASES: dict[str, tuple[Detections, Detections, dict[str, float | None]]] = {
    "all right": (
        boxes(("x", A), ("y", B)), boxes(("y", B), ("x", A)),
        {"precision": 1, "recall": 1, "f1": 1, "f1_agnostic": 1, "recall75": 1, "mean_iou": 1, "count_ratio": 1,
         "mae": 0, "rmse": 0, "chair_i": 0, "chair_s": 0},
    ),
    "the wrong class in the right place": (
        boxes(("x", A)), boxes(("y", A)),
        {"precision": 0, "recall": 0, "f1": 0, "f1_agnostic": 1, "mean_iou": None, "chair_i": 1, "chair_s": 1},
    ),
    "a loose box": (
        boxes(("x", A)), boxes(("x", NEAR_A)),
        {"f1": 1, "recall75": 0, "mean_iou": 0.7, "chair_i": 0},
    ),
    "the same object twice": (
        boxes(("x", A)), boxes(("x", A), ("x", NEAR_A)),
        {"precision": 0.5, "recall": 1, "f1": 2 / 3, "mean_iou": 1, "count_ratio": 2, "mae": 1, "rmse": 1,
         "chair_i": 0},
    ),
    "nothing predicted": (
        boxes(("x", A)), boxes(),
        {"precision": None, "recall": 0, "f1": 0, "f1_agnostic": 0, "chair_i": None, "chair_s": 0, "count_ratio": 0,
         "mae": 1},
    ),
    "nothing there": (
        boxes(), boxes(("x", A)),
        {"precision": 0, "recall": None, "f1": 0, "count_ratio": None, "mae": 1, "chair_i": 1, "chair_s": 1},
    ),
    "nothing there, nothing said": (
        boxes(), boxes(),
        {"precision": None, "recall": None, "f1": None, "f1_agnostic": None, "count_ratio": None, "mae": 0,
         "chair_i": None, "chair_s": 0},
    ),
    "a label outside the taxonomy": (
        boxes(("x", A)), boxes(("unheard of", A)),
        {"precision": 0, "recall": 0, "f1_agnostic": 1, "count_ratio": 1, "chair_i": 1},
    ),
    "inside a crowd region of its class": (
        boxes(("x", A), ("x", B), crowd=(True, False)), boxes(("x", NEAR_A), ("x", [10.0, 10, 30, 30]), ("x", B)),
        {"precision": 1, "recall": 1, "f1": 1, "f1_agnostic": 1, "count_ratio": 1, "mae": 0, "chair_i": 0},
    ),
    "inside a crowd region of another class": (
        boxes(("x", A), crowd=(True,)), boxes(("y", NEAR_A)),
        {"precision": 0, "f1": 0, "f1_agnostic": None, "count_ratio": None, "mae": 1, "chair_i": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_figures_known_by_hand(name: str) -> None:
    truth, found, wanted = CASES[name]
    assert {k: v for k, v in scored(truth, found).items() if k in wanted} == pytest.approx(wanted)


def test_an_unread_item_is_predicted_and_never_matches() -> None:
    pairs = [(sample("a", boxes(("x", A))), Reading(boxes(("x", A)), unread=1, salvage="repaired"))]
    found = metrics(grounding.tabulate(pairs, classes=("x",)))
    assert (found["precision"], found["recall"], found["count_ratio"], found["mae"]) == (0.5, 1, 2, 1)
    assert (found["chair_i"], found["chair_s"]) == (0.5, 1)


FAILURES = [
    (sample("good", boxes(("x", A), ("x", B))), Reading(boxes(("x", A)))),
    (sample("refused", boxes(("x", A))), Reading(None, status="refused", reason="I cannot")),
    (sample("cut", boxes(("x", A))), Reading(boxes(("x", A)), status="truncated", salvage="truncated")),
    (sample("odd", boxes(("x", A))), Reading(boxes(("x", A), ("what", B)))),
]


def test_failures_are_counted_left_out_or_widened() -> None:
    tables = grounding.tabulate(FAILURES, classes=("x",))
    count, parsed, strict = (metrics(tables, mode) for mode in ("count", "parsed-only", "strict"))
    assert (count["precision"], count["recall"], count["parse_rate"]) == (3 / 4, 3 / 5, 3 / 4)
    assert (parsed["precision"], parsed["recall"], parsed["parse_rate"]) == (3 / 4, 3 / 4, 1)
    assert (strict["precision"], strict["recall"], strict["parse_rate"]) == (1, 1 / 5, 1 / 4)
    assert (count["chair_s"], parsed["chair_s"], strict["chair_s"]) == (1 / 4, 1 / 3, 0)
    assert (count["mae"], parsed["mae"], strict["mae"]) == (3 / 4, 2 / 3, 1)


def test_tables_remember_how_failures_are_treated() -> None:
    tables = grounding.tabulate(FAILURES, classes=("x",), failures="parsed-only")
    assert metrics(tables) == metrics(tables, "parsed-only")
    with pytest.raises(SpecError, match="unknown failure mode 'drop'"):
        metrics(tables, "drop")


def test_parse_failures_stay_in_the_denominator() -> None:
    """The case `parse-failure-vs-empty`: an empty list on an empty picture is right, a refusal is not."""
    pairs = [
        (sample("img1", boxes()), Reading(boxes())),
        (sample("img2", boxes(("x", A), ("x", B))), Reading[Detections](None, status="refused")),
        (sample("img3", boxes(("x", C))), Reading[Detections](None, status="truncated")),
    ]
    tables = grounding.tabulate(pairs, classes=("x",))
    counts = sum(grounding.counts_of(tables), start=grounding.Counts())
    assert (counts.hits, counts.truths - counts.hits, counts.predicted - counts.hits) == (0, 3, 0)
    assert metrics(tables)["parse_rate"] == pytest.approx(1 - 0.666667, abs=1e-6)


SUPPORTS = {
    "class": {"chair_i": 1 / 4, "chair_s": 1},
    "overlap": {"chair_i": 1 / 4, "chair_s": 1},
    "match": {"chair_i": 3 / 4, "chair_s": 1},
}


@pytest.mark.parametrize("support", SUPPORTS)
def test_support_is_a_class_an_overlap_or_a_match(support: str) -> None:
    truth = boxes(("x", A), ("z", B))
    found = boxes(("x", A), ("y", B), ("x", FAR), ("x", [90.0, 90, 190, 190]))
    tables = grounding.tabulate([(sample("a", truth), Reading(found))], classes=("x", "y", "z"))
    got = metrics(tables, support=support)
    assert {k: got[k] for k in ("chair_i", "chair_s")} == SUPPORTS[support]
    if support == "match":
        assert got["chair_i"] == pytest.approx(1 - (got["precision"] or 0))


def test_an_unknown_support_lists_the_known_ones() -> None:
    tables = grounding.tabulate(FAILURES, classes=("x",))
    with pytest.raises(SpecError, match="class, match, overlap"):
        hallucination.measure(tables, support="klass")  # type: ignore[arg-type]


def test_the_operating_point_takes_part_in_matching() -> None:
    """A box below the point may not steal the truth of one above it, and stays in the table for AP."""
    truth = BoxTable.of({"a": boxes(("x", A))}, ["x"])
    found = Detections(np.array([A, NEAR_A]), ("x", "x"), np.array([0.2, 0.9]))
    predicted = BoxTable.of({"a": found}, ["x"])
    tables = grounding.tables_of(truth, predicted, min_score=0.5)
    got = metrics(tables)
    assert (got["precision"], got["recall"], got["mean_iou"]) == (1, 1, pytest.approx(0.7))
    assert tables.detections is not None
    assert tables.detections["kept"].tolist() == [True, False, True]
    assert tables.outcomes["predicted"].tolist() == [1]
    assert metrics(grounding.tables_of(truth, predicted, min_score=0.2))["precision"] == 0.5  # at the point is kept


def test_the_slow_and_the_fast_way_give_the_same_tables() -> None:
    rng = np.random.default_rng(5)
    items, found = {}, {}
    for i in range(30):
        n, m = rng.integers(0, 6, 2)
        corner = rng.integers(0, 60, (n + m, 2)).astype(float)
        all_boxes = np.concatenate([corner, corner + rng.integers(10, 60, (n + m, 2))], axis=1)
        labels = [str(name) for name in rng.choice(["x", "y"], n + m)]
        items[f"{i}"] = Detections(all_boxes[:n], tuple(labels[:n]))
        found[f"{i}"] = Detections(all_boxes[n:], tuple(labels[n:]), rng.random(m))
    slow = grounding.tabulate(
        [(Sample(name, items[name]), Reading(found[name])) for name in items], classes=("x", "y"), min_score=0.3
    )
    fast = grounding.tables_of(BoxTable.of(items, ["x", "y"]), BoxTable.of(found, ["x", "y"]), min_score=0.3)
    assert slow.detections is not None
    assert fast.detections is not None
    for name in slow.detections.names:
        np.testing.assert_array_equal(slow.detections[name], fast.detections[name], err_msg=name)
    for name in fast.outcomes.names:
        assert slow.outcomes[name].tolist() == fast.outcomes[name].tolist(), name


def test_tables_have_the_columns_that_are_documented() -> None:
    tables = grounding.tabulate(FAILURES, classes=("x",))
    assert tables.detections is not None
    assert tables.detections.names == tuple(DETECTIONS)
    assert {*OUTCOMES, *GROUNDED} <= set(tables.outcomes.names)


def test_a_set_in_any_order_gives_the_rows_of_each_picture_together() -> None:
    truth = BoxTable(("a", "b"), ("x",), np.array([1, 0]), np.zeros(2, int), np.array([A, B]))
    predicted = BoxTable(("a", "b"), ("x",), np.array([1, 0, 1]), np.zeros(3, int), np.array([A, B, FAR]))
    tables = grounding.tables_of(truth, predicted)
    assert tables.detections is not None
    assert tables.detections["sample"].tolist() == [0, 1, 0, 1, 1]
    assert metrics(tables)["recall"] == 1


def test_attributes_and_what_is_known_per_picture_stand_in_the_outcomes() -> None:
    truth = BoxTable(("a", "b"), ("x",), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4)))
    about = Table({"cluster": np.array(["site 1", "site 1"]), "attr.lighting": np.array(["dusk", "noon"])})
    tables = grounding.tables_of(truth, truth, about=about)
    assert tables.outcomes["cluster"].tolist() == ["site 1", "site 1"]
    assert tables.outcomes["attr.lighting"].tolist() == ["dusk", "noon"]
    slow = grounding.tabulate([(sample("a", boxes(), lighting="dusk"), Reading(boxes()))], classes=("x",))
    assert slow.outcomes["attr.lighting"].tolist() == ["dusk"]


def test_figures_of_each_class_stand_beside_the_whole() -> None:
    truth = boxes(("x", A), ("y", B), ("y", C))
    got = scored(truth, boxes(("x", A), ("x", FAR), ("y", B)))
    assert (got["precision.x"], got["recall.x"], got["precision.y"], got["recall.y"]) == (0.5, 1, 1, 0.5)
    assert got["f1.y"] == pytest.approx(2 / 3)


def test_an_empty_task_has_no_figures() -> None:
    tables = grounding.tabulate([], classes=("x",))
    assert set(metrics(tables).values()) == {None}


def test_a_true_label_must_be_a_class() -> None:
    with pytest.raises(DataError, match="'q' in 'a'"):
        grounding.tabulate([(sample("a", boxes(("q", A))), Reading(boxes()))], classes=("x",))


def test_predicted_labels_may_be_spelled_otherwise() -> None:
    got = scored(boxes(("plastic bottle", A)), boxes(("Plastic_Bottle", A)), ("plastic bottle",))
    assert got["f1"] == 1
    assert scored(boxes(("A", A)), boxes(("a", A)), ("a", "A"))["f1"] == 0  # classes that differ in case alone


def test_boxes_that_are_no_numbers_are_refused_by_place() -> None:
    good = BoxTable(("a",), ("x",), np.zeros(1, int), np.zeros(1, int), np.array([A]))
    bad = BoxTable(("a",), ("x",), np.zeros(1, int), np.zeros(1, int), np.array([[0, 0, np.nan, 1]]))
    with pytest.raises(ShapeError, match=r"1 predicted ones.*'a'"):
        grounding.tables_of(good, bad)
