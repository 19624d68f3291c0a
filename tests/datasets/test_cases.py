"""The public reports about loading, as rows of `cases.jsonl`: COCO, YOLO, VOC, orientation, file and class names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.boxes import BoxNotation
from snellen.core.errors import DataError
from snellen.core.labels import collisions, normal
from snellen.core.pictures import Size
from snellen.datasets.check import check
from snellen.datasets.coco import beside
from snellen.datasets.load import load_data, parts_of
from snellen.datasets.predictions import read_predictions
from snellen.datasets.text import read_text
from snellen.datasets.yolo_lines import read_lines


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_category_ids_are_names_not_places(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["category-ids-not-contiguous"]
    data = load_data(shared / "cases" / row["input"]["gt"])
    assert list(data.classes) == row["expected"]["class_names"]
    places = {str(key): i for i, key in enumerate(data.category_ids)}
    assert places == row["expected"]["class_index_by_id"]
    found = read_predictions(shared / "cases" / row["input"]["dt"], data)
    assert found.table.label.tolist() == [1, 3]
    assert found.counts["unknown-category"] == 0


def test_roboflows_root_is_dropped_only_where_nothing_uses_it(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["roboflow-root-category"]
    data = load_data(shared / "cases" / row["input"]["gt"])
    assert list(data.classes) == row["expected"]["classes"]
    assert [f.examples for f in data.findings if f.code == "unused-root-category"] == [
        tuple(row["expected"]["dropped"])
    ]
    kept = load_data(shared / "cases/files/roboflow_root/gt_annotated_parent.json")
    assert kept.classes == ("vehicle", "car")


def test_an_annotation_of_a_missing_image_is_named(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["annotation-of-missing-image"]
    path = shared / "cases" / row["input"]["gt"]
    with pytest.raises(DataError, match="annotation 2 refers to image 999, which is not in images"):
        load_data(path)
    data = load_data(path, allow=["unknown-image"])
    assert len(data.truth) == row["expected"]["used_annotations"]
    assert {finding.code for finding in data.findings} >= {"left-out", "unknown-image"}


def test_duplicate_ids_are_errors_that_name_them(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["duplicate-ids"]
    with pytest.raises(DataError) as caught:
        load_data(shared / "cases" / row["input"]["gt"])
    assert row["expected"]["error"] in str(caught.value)
    assert row["expected"]["error2"] in str(caught.value)


def test_a_prediction_of_an_unknown_category_is_counted_and_kept(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["prediction-of-unknown-category"]
    data = load_data(shared / "cases" / row["input"]["gt"])
    found = read_predictions(shared / "cases" / row["input"]["dt"], data)
    assert found.counts["unknown-category"] == row["expected"]["unknown_predictions"]
    assert found.table.label.tolist() == [0, -1]
    assert "7" in str(found.findings[0])


def test_infinities_are_named_by_annotation(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["infinity-in-real-coco-file"]
    with pytest.raises(DataError) as caught:
        load_data(shared / row["input"]["gt"])
    text = str(caught.value)
    assert "15 annotations with a non-finite bbox" in text
    for name in ("107 (image 53", "974 (image 473", "1486 (image 738", "[Infinity, Infinity, -Infinity, -Infinity]"):
        assert name in text
    data = load_data(shared / row["input"]["gt"], allow=["non-finite-box"])
    assert (len(data), len(data.truth)) == (3831, 8334 - 15)


def test_pictures_without_objects_stay(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["categories-without-annotations-in-split"]
    expected = row["expected"]
    data = load_data((shared / row["input"]["test"]).parent)
    empty = sum(len(sample.truth) == 0 for sample in data.samples())
    assert (len(data), len(data.truth), empty) == (
        expected["test_images"],
        expected["test_annotations"],
        expected["images_without_annotations"],
    )
    train = load_data(shared / row["input"]["train"])
    assert train.classes == data.classes


def test_a_turned_photo_keeps_its_boxes(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["exif-orientation-6"]
    data = load_data(shared / "cases" / row["input"]["image"].split("/images/")[0], format="yolo")
    (sample,) = data.samples()
    assert list(sample.pictures[0].upright_size()) == row["expected"]["shown_size"]
    assert sample.pictures[0].image().size == tuple(row["expected"]["shown_size"])
    assert np.allclose(sample.truth.boxes, [row["expected"]["box_xyxy_on_shown"]])


YOLO = (
    "yolo-bom-crlf", "yolo-commas", "yolo-tabs-trailing", "yolo-blank-lines", "yolo-empty", "yolo-sci",
    "yolo-class-name", "yolo-negative", "yolo-over-one", "yolo-pixels", "yolo-conf6", "yolo-nan",
    "yolo-polygon-and-box-mixed",
)  # fmt: skip


@pytest.mark.parametrize("name", YOLO)
def test_a_yolo_file_gives_the_right_boxes_or_the_right_error(shared: Path, cases: dict[str, Any], name: str) -> None:
    row = cases[name]
    expected = row["expected"]
    size = Size(*row["input"]["image_size"])
    text = read_text(shared / "cases" / row["input"]["file"])
    lines = read_lines(text)
    boxes = BoxNotation("cxcywh", 1).decode(np.array(lines.boxes).reshape(-1, 4), size=size).tolist()
    found = [[label, *box] for label, box in zip(lines.labels, boxes, strict=True)]
    wrong = expected.get("error") or expected.get("error_or_clip") or expected.get("ground_truth_error")
    if wrong:  # where the row allows an error or a reading, we choose the error: nothing is guessed
        assert found == []
        (problem,) = lines.problems
        start = wrong.removesuffix(": not a finite number").removesuffix(": not normalised")
        assert problem.startswith(start)
        assert wrong.rpartition(": ")[2] in problem
    else:  # a box that leaves the picture stays as it was drawn, and is a finding
        wanted = expected.get("boxes") or [[0, *box] for box in expected.get("boxes_xyxy", [])]
        wanted = [expected["unclipped"]] if "unclipped" in expected else wanted
        assert lines.problems == []
        assert np.allclose(np.array(found), np.array(wanted))
    if "as_prediction" in expected:
        as_prediction = read_lines(text, kind="predictions")
        assert as_prediction.scores == [expected["as_prediction"][-1]]


OTHER_YOLO = {
    "four_numbers.txt": "line 1: 4 numbers",
    "utf16.txt": [0, 0.5, 0.5, 0.2, 0.2],  # its byte-order mark says what it is
    "float_class.txt": [0, 0.5, 0.5, 0.2, 0.2],  # as numeric tools write whole numbers
    "dup_lines.txt": [[0, 0.5, 0.5, 0.2, 0.2]] * 2,  # kept, and named by `check`: repeated-box
}


@pytest.mark.parametrize("name", OTHER_YOLO)
def test_more_yolo_files_of_the_kind(shared: Path, name: str) -> None:
    lines = read_lines(read_text(shared / "cases/files/yolo_txt" / name))
    wanted = OTHER_YOLO[name]
    if isinstance(wanted, str):
        assert lines.problems
        assert lines.problems[0].startswith(wanted)
    else:
        assert np.allclose(
            [[k, *b] for k, b in zip(lines.labels, lines.boxes, strict=True)], np.array(wanted).reshape(-1, 5)
        )


def test_voc_corners_are_not_rounded(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["voc-float-coordinates"]
    data = load_data(shared / "cases" / row["input"]["file"])
    (sample,) = data.samples()
    assert [[sample.truth.labels[0], *sample.truth.boxes[0].tolist()]] == row["expected"]["boxes"]


def test_voc_pixels_from_one_are_a_choice(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["voc-one-based-inclusive"]
    path = shared / "cases" / row["input"]["file"]
    written, shifted = load_data(path).truth, load_data(path, format="voc-one-based").truth
    assert written.boxes[0].tolist() == row["expected"]["as_written"]
    assert shifted.boxes[0].tolist() == row["expected"]["zero_based_half_open"]
    assert (written.area[0], shifted.area[0]) == (row["expected"]["plain_area"], row["expected"]["voc_area"])


def test_voc_inverted_empty_and_difficult_objects(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["voc-inverted-zero-difficult"]
    path = shared / "cases" / row["input"]["file"]
    (part,) = parts_of(path)
    codes = {finding.code: finding.count for finding in check(part.read())}
    assert codes["inverted-box"] == 1
    assert codes["zero-area-box"] == row["expected"]["dropped"]
    with pytest.raises(DataError, match="negative side"):
        load_data(path)
    data = load_data(path, allow=["inverted-box"])
    difficult = data.truth.boxes[data.truth.crowd].tolist()
    assert [["can", *difficult[0]]] == row["expected"]["difficult"]


VOC = {
    "order.xml": ("bottle", [40, 20, 100, 60], "a.jpg"),
    "ns_bom.xml": ("b\u00e9ton & verre", [1, 2, 30, 40], "a.jpg"),
    "wrongname.xml": ("bottle", [1, 2, 3, 4], "IMG 001.JPG"),
}


@pytest.mark.parametrize("name", VOC)
def test_more_voc_files_of_the_kind(shared: Path, name: str) -> None:
    label, box, file = VOC[name]
    (sample,) = load_data(shared / "cases/files/voc" / name).samples()
    assert (sample.truth.labels, sample.truth.boxes.tolist(), sample.id) == ((label,), [box], file)


def test_file_names_are_found_the_literal_one_first(shared: Path, cases: dict[str, Any]) -> None:
    row = cases["file-names-encoded"]
    gt = shared / "cases" / row["input"]["gt"]
    data = load_data(gt)
    folder = shared / "cases" / row["input"]["folder"]
    for key, picture in zip(data.image_ids, data.pictures, strict=True):
        wanted = row["expected"]["resolves"][str(key)].split(" (only")[0]
        assert picture.path is not None
        assert picture.path.relative_to(folder).as_posix() == wanted
        assert picture.image().size == (20, 10)
    warned = [finding.examples for finding in data.findings if finding.code == "case-differs"]
    assert warned == [("upper.jpg",)]
    assert beside(gt).find("no such.jpg") is None


OTHER_NAMES = {
    ".hidden.jpg": ".hidden.jpg",
    "a%23b_c.png": "a#b_c.png",
    "file:///C:/data/images/sub%20dir/001.jpg": "sub dir/001.jpg",
    "https://host/bucket/two.dots.v1.jpg?signature=a/b": "two.dots.v1.jpg",
    "C:\\data\\sub dir\\001.jpg": "sub dir/001.jpg",
    "Capture_de\u0301cran 1.jpg": "Capture_d\u00e9cran 1.jpg",
    "100%2525%20real.png": "100%25 real.png",
    "./two.dots.v1.jpg": "two.dots.v1.jpg",
    "two.dots.jpg": None,
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_more_file_names_of_the_kind(shared: Path, name: str) -> None:
    folder = shared / "cases/files/names"
    found = beside(folder / "gt.json").find(name)
    wanted = OTHER_NAMES[name]
    assert (found and found.path) == (wanted and folder / "images" / wanted)


def test_class_names_meet_by_safe_rules_alone(cases: dict[str, Any]) -> None:
    row = cases["class-name-variants"]
    for name, labels in row["expected"]["same_after_normalising"].items():
        assert {normal(label) for label in labels} == {normal(name)}
    known = {normal(name) for name in row["input"]["classes"]}
    assert not known & {normal(label) for label in row["expected"]["not_same"] if label != "water hyacinths"}
    assert normal("water hyacinths") not in known
    assert collisions(row["input"]["classes"]) == []


def test_classes_that_fall_together_are_refused(tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
        "annotations": [],
        "categories": [{"id": 1, "name": "plastic bottle"}, {"id": 2, "name": "Plastic_Bottle"}],
    }
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="are one name"):
        load_data(tmp_path / "a.json")
