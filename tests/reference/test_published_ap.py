"""AP, AR and WADE figures of the sets whose values are published or were computed by pycocotools elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.detections import BoxTable, Detections
from snellen.scoring import counting, grounding, hallucination
from snellen.scoring.average_precision import measure_of, point_ap
from snellen.scoring.overlaps import pairs_of

NAMES = {
    "AP": "ap", "AP50": "ap50", "AP75": "ap75", "APs": "ap_small", "APm": "ap_medium", "APl": "ap_large", "AR1": "ar1",
    "AR10": "ar10", "AR100": "ar", "ARs": "ar_small", "ARm": "ar_medium", "ARl": "ar_large",
}  # fmt: skip


def check(truth: BoxTable, predicted: BoxTable, expected: dict[str, Any], *, max_dets: int = 100) -> None:
    """Both our ways give the published figures (rounded to 12 digits there)."""
    result = point_ap(truth, predicted, max_dets=max_dets)
    measured = measure_of(truth, predicted, max_dets=max_dets)(np.ones((1, len(truth.images))))
    stats = dict(expected["stats"])
    if max_dets == 500:
        stats |= {"AP": expected["AP_at_last_maxDets"], "AR100": expected["AR_at_last_maxDets"]}
    for theirs, ours in NAMES.items():
        value = stats[theirs]
        if value == -1:
            assert result.summary[ours] is None
            assert np.isnan(measured[ours][0])
        else:
            assert result.summary[ours] == pytest.approx(value, abs=1e-12), ours
            assert measured[ours][0] == pytest.approx(value, abs=1e-12), ours
    for label, value in expected["per_category_AP"].items():
        assert result.per_class[label]["ap"] == pytest.approx(value, abs=1e-12), label
        assert measured[f"ap.{label}"][0] == pytest.approx(value, abs=1e-12), label


FILES = {
    "coco_val2014_100": (
        "coco_val2014_100", "instances_val2014_100.json", "instances_val2014_fakebbox100_results.json",
        "bbox_default", "bbox_maxDets500",
    ),
    "hotcoco plain": ("hotcoco_fixtures", "gt.json", "dt.json", "gt.json|dt.json", "gt.json|dt.json|maxDets500"),
    "hotcoco edges": (
        "hotcoco_fixtures", "edge_gt.json", "edge_dt.json", "edge_gt.json|edge_dt.json",
        "edge_gt.json|edge_dt.json|maxDets500",
    ),
    "sahi, 169 objects in a picture": (
        "sahi_coco", "coco_evaluate/dataset.json", "coco_evaluate/result.json", "dataset.json|result.json",
        "dataset.json|result.json|maxDets500",
    ),
    "faster_coco_eval": (
        "faster_coco_eval_fixtures", "tests/dataset/gt_dataset.json", "tests/dataset/dt_dataset.json",
        "gt_dataset.json|dt_dataset.json", "gt_dataset.json|dt_dataset.json|maxDets500",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_give_their_published_figures(name: str, shared: Path, coco_boxes: Any) -> None:
    folder, truth_file, results, at100, at500 = FILES[name]
    place = shared / "data" / folder
    expected = json.loads((place / "EXPECTED.json").read_text())
    truth, predicted = coco_boxes(place / truth_file, place / results)
    check(truth, predicted, expected[at100])
    check(truth, predicted, expected[at500], max_dets=500)


def test_the_reference_set_gives_the_published_constants(shared: Path, coco_boxes: Any) -> None:
    place = shared / "data" / "coco_val2014_100"
    published = json.loads((place / "PUBLISHED.json").read_text())["faster_coco_eval tests/test_ranges.py (bbox)"]
    truth, predicted = coco_boxes(place / FILES["coco_val2014_100"][1], place / FILES["coco_val2014_100"][2])
    summary = point_ap(truth, predicted, max_dets=100).summary
    for name in ("AP", "AP50", "AP75", "AR1", "AR10", "AR100"):
        assert summary[NAMES[name]] == pytest.approx(published[name], abs=1e-12)


def test_an_id_of_zero_is_an_id_like_any_other(shared: Path, coco_boxes: Any) -> None:
    place = shared / "data" / "hotcoco_fixtures"
    truth, predicted = coco_boxes(place / "zero_gt.json", place / "zero_dt.json")
    assert point_ap(truth, predicted).summary["ap"] == 1.0


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_perfect_predictions_of_a_roboflow_export_are_exactly_one(part: str, shared: Path, coco_boxes: Any) -> None:
    file = shared / "data" / "roboflow_dry_wet_waste" / part / "_annotations.coco.json"
    truth = json.loads(file.read_text())
    results = [
        {"image_id": a["image_id"], "category_id": a["category_id"], "bbox": a["bbox"], "score": 0.9 - 0.0001 * i}
        for i, a in enumerate(truth["annotations"])
    ]
    boxes, predicted = coco_boxes(truth, results)
    assert point_ap(boxes, predicted).summary["ap"] == 1.0
    measured = measure_of(boxes, predicted)(np.ones((1, len(boxes.images))))
    assert measured["ap"][0] == 1.0
    assert measured["ar"][0] == 1.0
    tables = grounding.tables_of(boxes, predicted)
    found = grounding.measure(tables)(np.ones((1, len(boxes.images))))
    assert found["f1"][0] == found["mean_iou"][0] == found["recall75"][0] == 1.0


def test_small_inputs_of_torchmetrics(shared: Path) -> None:
    place = shared / "data" / "torchmetrics_map_inputs"
    inputs = json.loads((place / "inputs.json").read_text())
    expected = json.loads((place / "EXPECTED.json").read_text())
    for name, case in inputs.items():
        if name == "empty_all":
            continue
        labels = sorted({k for side in ("preds", "target") for d in case[side] for k in d["labels"]})
        names = tuple(str(k + 1) for k in labels)  # EXPECTED numbers categories from 1

        def one(d: dict[str, Any]) -> Detections:
            labels = tuple(str(k + 1) for k in d["labels"])
            return Detections(np.array(d["boxes"], float), labels, np.array(d["scores"]) if "scores" in d else None)

        def table(rows: list[dict[str, Any]], names: tuple[str, ...] = names) -> BoxTable:
            return BoxTable.of({str(i): one(d) for i, d in enumerate(rows)}, names)

        check(table(case["target"]), table(case["preds"]), expected[name])


def test_without_predictions_ap_is_zero_and_without_truth_it_is_undefined() -> None:
    images, classes = ("a",), ("x", "y")
    empty = BoxTable(images, classes, np.zeros(0, int), np.zeros(0, int), np.zeros((0, 4)), np.zeros(0))
    truth = BoxTable(images, classes, np.zeros(1, int), np.zeros(1, int), np.array([[0.0, 0, 50, 50]]))
    for measured in (point_ap(truth, empty).summary, _point(truth, empty)):
        assert measured["ap"] == measured["ar"] == measured["ap_medium"] == 0.0
        assert measured["ap_small"] is None
    for measured in (point_ap(empty, truth).summary, _point(empty, truth)):
        assert measured["ap"] is None


def _point(truth: BoxTable, predicted: BoxTable) -> dict[str, float | None]:
    values = measure_of(truth, predicted)(np.ones((1, len(truth.images))))
    return {name: None if np.isnan(value[0]) else float(value[0]) for name, value in values.items()}


def cases(shared: Path, *ids: str) -> dict[str, dict[str, Any]]:
    rows = map(json.loads, (shared / "cases" / "cases.jsonl").read_text().splitlines())
    return {row["id"]: row for row in rows if not ids or row["id"] in ids}


AP_CASES = {
    "ann-id-zero": {"ap": "AP", "ap50": "AP50", "ar100": "AR100"},
    "maxdets-per-class": {"ar1": "AR1", "ar10": "AR10", "ar100": "AR100"},
    "false-positives-of-absent-classes": {"ap": "AP"},
    "gt-without-predictions": {"ap": "AP", "ar100": "AR100"},
    "no-predictions-at-all": {"ap": "AP", "ar100": "AR100"},
    "category-ids-not-contiguous": {"ap": "AP"},
    "prediction-of-unknown-category": {"ap": "AP"},
    "published-oracle-differs": {"ap": "AP"},
}


def _place(shared: Path, name: str) -> Path:
    return shared / name if name.startswith("data/") else shared / "cases" / name


@pytest.mark.parametrize("name", AP_CASES)
def test_cases_of_coco_evaluation(name: str, shared: Path, coco_boxes: Any) -> None:
    case = cases(shared)[name]
    truth, predicted = coco_boxes(_place(shared, case["input"]["gt"]), _place(shared, case["input"]["dt"]))
    summary = point_ap(truth, predicted).summary
    measured = _point(truth, predicted)
    for ours, theirs in AP_CASES[name].items():
        assert summary[ours] == pytest.approx(case["expected"][theirs], abs=1e-12)
        assert measured[ours] == pytest.approx(case["expected"][theirs], abs=1e-12)
    for label, value in case["expected"].get("per_category_AP", {}).items():
        assert measured[f"ap.{label}"] == pytest.approx(value, abs=1e-12)
    tables = grounding.tables_of(truth, predicted)
    ones = np.ones((1, len(truth.images)))
    wade = {**grounding.measure(tables)(ones), **counting.measure(tables)(ones), **hallucination.measure(tables)(ones)}
    for ours, theirs in (("precision", "wade_precision"), ("recall", "wade_recall"), ("f1", "wade_f1"),
                         ("chair_i", "chair_i"), ("chair_s", "chair_s")):  # fmt: skip
        if theirs in case["expected"]:
            assert wade[ours][0] == pytest.approx(case["expected"][theirs], abs=1e-6)


def test_five_hundred_detections_per_picture_count(shared: Path, coco_boxes: Any) -> None:
    case = cases(shared)["maxdets-500-dense"]
    truth, predicted = coco_boxes(_place(shared, case["input"]["gt"]), _place(shared, case["input"]["dt"]))
    for limit in (100, 500):
        summary = point_ap(truth, predicted, max_dets=limit).summary
        assert summary["ap"] == pytest.approx(case["expected"][f"AP_maxDets{limit}"], abs=1e-12)
        assert summary["ar"] == pytest.approx(case["expected"][f"AR_maxDets{limit}"], abs=1e-12)


def test_an_overlap_exactly_at_a_threshold_is_a_match(shared: Path, coco_boxes: Any) -> None:
    case = cases(shared)["iou-exactly-at-threshold"]
    place = shared / "cases"
    truth, half = coco_boxes(place / case["input"]["gt"], place / case["input"]["dt_iou_0_5"])
    assert pairs_of(truth, half).iou.tolist() == [0.5]
    assert point_ap(truth, half).summary["ap50"] == case["expected"]["AP50"]
    assert point_ap(truth, half).summary["ap"] == pytest.approx(case["expected"]["AP"])
    truth, most = coco_boxes(place / case["input"]["gt"], place / case["input"]["dt_iou_0_9"])
    assert point_ap(truth, most).summary["ap"] == pytest.approx(case["expected"]["AP_iou_0_9"])
    assert grounding.measure(grounding.tables_of(truth, half))(np.ones((1, 1)))["f1"][0] == 1.0


def test_equal_scores_rank_as_listed(shared: Path, coco_boxes: Any) -> None:
    case = cases(shared)["vlm-scores-all-one-order-matters"]
    for order in ("tp_first", "fp_first"):
        truth, predicted = coco_boxes(_place(shared, case["input"]["gt"]), _place(shared, case["input"][f"dt_{order}"]))
        assert point_ap(truth, predicted).summary["ap"] == pytest.approx(case["expected"][f"AP_{order}"])
        assert _point(truth, predicted)["ap"] == pytest.approx(case["expected"][f"AP_{order}"])


def test_area_is_the_annotations_own_and_crowds_matter(shared: Path, coco_boxes: Any) -> None:
    case = cases(shared)["area-field-vs-bbox-area"]
    results = shared / case["input"]["dt"]
    summary = point_ap(*coco_boxes(shared / case["input"]["gt_seg_area"], results)).summary
    assert summary["ap"] == pytest.approx(case["expected"]["AP_official"], abs=1e-12)
    assert summary["ap_small"] == pytest.approx(case["expected"]["APs"], abs=1e-12)
    plain = json.loads((shared / case["input"]["gt_seg_area"]).read_text())
    plain["annotations"] = [
        {**row, "area": row["bbox"][2] * row["bbox"][3]} for row in plain["annotations"] if not row["iscrowd"]
    ]  # what the file named in the case holds
    other = point_ap(*coco_boxes(plain, results)).summary
    assert other["ap"] == pytest.approx(case["expected"]["AP_bbox_area_no_crowd"], abs=1e-12)
    assert other["ap_small"] == pytest.approx(case["expected"]["APs_bbox_area"], abs=1e-12)


def test_pairs_are_matched_by_overlap_not_by_the_order_of_the_answer(shared: Path) -> None:
    case = cases(shared)["wade-greedy-by-iou"]
    truth = Detections(np.array(case["input"]["gt"], float), ("x", "x"))
    guess = Detections(np.array(case["input"]["pred_boxes_xyxy_unordered"], float), ("x", "x"))
    tables = grounding.tables_of(BoxTable.of({"a": truth}, ["x"]), BoxTable.of({"a": guess}, ["x"]))
    (counts,) = grounding.counts_of(tables)
    assert (counts.hits, counts.predicted - counts.hits, counts.truths - counts.hits) == (2, 0, 0)
    assert tables.detections is not None
    assert tables.detections["partner"].tolist() == [3, 2, 1, 0]


def test_the_crowded_picture_of_faster_coco_eval_gives_its_published_figures(shared: Path, coco_boxes: Any) -> None:
    place = shared / "data" / "faster_coco_eval_fixtures"
    published = json.loads((place / "PUBLISHED.json").read_text())
    wanted = next(value for name, value in published.items() if name.startswith("test_ignore_coco_eval"))
    truth = json.loads((place / "tests/dataset/gt_ignore_test.json").read_text())
    for row in (*truth["images"], *truth["annotations"]):  # the picture is "2299" here and 2299 in the results
        key = "id" if "file_name" in row else "image_id"
        row[key] = int(row[key])
    results = json.loads((place / "tests/dataset/dt_ignore_test.json").read_text())
    summary = point_ap(*coco_boxes(truth, [row for row in results if row["score"] >= 0.1]), max_dets=100).summary
    names = {"AP_all": "ap", "AP_50": "ap50", "AP_75": "ap75", "AP_medium": "ap_medium", "AR_all(1)": "ar1",
             "AR_second(10)": "ar10", "AR_third(100)": "ar"}  # fmt: skip
    for theirs, ours in names.items():
        assert summary[ours] == pytest.approx(wanted[theirs], abs=1e-12), ours
