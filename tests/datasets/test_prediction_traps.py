# ruff: noqa: E501
"""Predictions that are a little wrong: refused with their place, or read and told; nothing is shifted or mixed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import DataError
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.datasets.predictions import Predictions, read_predictions

ROW = {"image_id": 1, "category_id": 1, "bbox": [6.4, 4.8, 12.8, 9.6], "score": 0.9}
PART = [0.1, 0.1, 0.2, 0.2]
HEAD = "x_min,y_min,x_max,y_max,class_id,confidence,file_name\n"


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    images = [{"id": i, "file_name": f"{name}.jpg", "width": 64, "height": 48} for i, name in ((1, "a"), (2, "b"))]
    categories = [{"id": i, "name": name} for i, name in ((1, "cat"), (2, "dog"))]
    whole = {"images": images, "annotations": [], "categories": categories}
    (tmp_path / "truth.json").write_text(json.dumps(whole))
    return load_data(tmp_path / "truth.json")


def read(data: Dataset, name: str, content: Any, **options: str) -> Predictions:
    place = data.source.parent / "dt" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".pkl"):
        content = pickle.dumps(content)
    elif not isinstance(content, str):
        content = json.dumps(content)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_predictions(place.parent if name.casefold().endswith(".txt") else place, data, **options)


def field(label: str, *, sure: bool = True) -> dict[str, Any]:
    box = {"label": label, "bounding_box": PART}
    return {"detections": [{**box, "confidence": 0.9} if sure else box]}


TOLD = {
    "parts of the sides for px": ("r.json", [ROW | {"bbox": PART}], "other-unit"),
    "px for parts of the sides": ("f.json", {"classes": ["cat"], "labels": {"a": [{"label": 0, "bounding_box": [9, 9, 9, 9]}]}}, "other-unit"),
    "corners for a corner and a size": ("r.json", [ROW | {"bbox": [40, 30, 60, 40]}], "leaving-box"),
    "percentages": ("r.json", [ROW | {"score": 95}], "odd-score"),
    "logits": ("r.json", [ROW | {"score": -1.5}], "odd-score"),
    "nothing": ("r.json", [], "no-predictions"),
    "an empty table": ("t.csv", "", "no-predictions"),
    "two models in one export": ("f.json", {"samples": [{"filepath": "a.jpg", "m1": field("cat"), "m2": field("dog")}]}, "several-fields"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_hardly_meant_is_told(data: Dataset, name: str) -> None:
    file, content, code = TOLD[name]
    assert code in {finding.code for finding in read(data, file, content).findings}


def test_ordinary_predictions_leave_no_doubt(data: Dataset) -> None:
    assert read(data, "r.json", [ROW, ROW | {"bbox": [-1, -1, 67, 50], "image_id": 2}]).findings == ()


REFUSED = {
    "an endless score": ("r.json", json.dumps([ROW | {"score": float("inf")}]), "a score must be a number"),
    "instances that are null": ("p.pkl", [{"image_id": 1, "instances": None}], "must be a list, got None"),
    "classes by number": ("f.json", {"classes": {"0": "cat"}, "labels": {}}, "classes must be a list"),
    "samples without a file": ("f.json", {"samples": [{"m": field("cat")}]}, "prediction 0 has no filepath"),
    "a list for a number": (
        "s.json", [{"x_min": 1, "y_min": 1, "x_max": 9, "y_max": 9, "class_id": 0, "confidence": [0.9], "file_name": "a.jpg"}],
        r"\[0.9\] is not a number",
    ),
    "half a class": ("t.csv", f"{HEAD}6,4,19,14,0.5,0.9,a.jpg\n", "'0.5' is not a whole number"),
    "a track's number": ("a.txt", "0 .2 .2 .2 .2 .9 17\n", "a track's number"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(data: Dataset, name: str) -> None:
    file, content, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        read(data, file, content)


def test_a_class_number_below_0_is_no_class(data: Dataset) -> None:
    found = read(data, "f.json", {"classes": ["cat", "dog"], "labels": {"a": [{"label": -1, "bounding_box": PART}]}})
    assert found.table.label.tolist() == [-1]


def test_one_field_is_read_in_all_samples(data: Dataset) -> None:
    samples = [{"filepath": "a.jpg", "m1": field("cat"), "truth": field("dog", sure=False)},
               {"filepath": "b.jpg", "truth": field("dog", sure=False), "m2": field("dog")}]  # fmt: skip
    found = read(data, "f.json", {"samples": samples})
    assert found.table.image.tolist() == [0]
    assert found.table.label.tolist() == [0]


def test_tables_of_other_signs_and_whole_numbers_in_decimals_are_read(data: Dataset) -> None:
    row = "6.4,4.8,19.2,14.4,1.0,0.9,a.jpg\n"
    for text in (HEAD + row, (HEAD + row).replace(",", ";"), (HEAD + row).replace(",", "\t")):
        assert read(data, "t.csv", text).table.label.tolist() == [1]


def test_txt_in_capitals_is_read_and_lists_of_names_are_passed_over(data: Dataset) -> None:
    (data.source.parent / "dt").mkdir()
    (data.source.parent / "dt/classes.txt").write_text("cat\ndog\n")
    assert len(read(data, "a.TXT", "0 .2 .2 .2 .2 .9\n").table) == 1


@pytest.mark.parametrize("row", ["1 .1 .1 .3 .1 .3 .3 .9", "1 .1 .1 .3 .1 .3 .3 .1 .3 .9"])
def test_a_number_behind_a_polygon_is_its_confidence(data: Dataset, row: str) -> None:
    table = read(data, "a.txt", row).table
    assert table.scores is not None
    assert table.scores.tolist() == [0.9]
    assert table.boxes.round(6).tolist() == [[6.4, 4.8, 19.2, 14.4]]
