"""Lists of numbers in columns: the same as a parser of single values gives, or left to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.errors import DataError
from snellen.datasets import coco as truth_files
from snellen.datasets.coco_columns import annotation_rows
from snellen.datasets.number_rows import NumberRows
from snellen.datasets.prediction_files import coco

ids, number = st.integers(1 - 2**53, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"image_id": ids, "category_id": ids, "bbox": st.lists(number | ids, min_size=4, max_size=4)},
        optional={"score": number, "segmentation": st.lists(number), "area": number},
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([None, 1]))
def test_columns_are_what_a_parser_gives(rows: list[dict[str, Any]], indent: int | None) -> None:
    found = NumberRows(("image_id", "category_id"), {"score": np.nan})(json.dumps(rows, indent=indent).encode())
    assert found is not None
    assert len(found) == len(rows)
    for name in ("image_id", "category_id"):
        assert found.ids[name].tolist() == [row[name] for row in rows]
    np.testing.assert_array_equal(found.boxes, np.array([row["bbox"] for row in rows], dtype=float).reshape(-1, 4))
    np.testing.assert_array_equal(found.numbers["score"], np.array([row.get("score", np.nan) for row in rows]))


PLAIN = {"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "score": 0.5}
LEFT = {
    "a name for a number": json.dumps([PLAIN, {**PLAIN, "image_id": "1"}]),
    "a truth value for a number": json.dumps([PLAIN, {**PLAIN, "image_id": True}]),
    "an id with a fraction": json.dumps([PLAIN, {**PLAIN, "image_id": 1.5}]),
    "an id that no float keeps": json.dumps([PLAIN, {**PLAIN, "image_id": 2**53}]),
    "null": json.dumps([PLAIN, {**PLAIN, "score": None}]),
    "NaN": json.dumps([PLAIN, {**PLAIN, "score": float("nan")}]),
    "a number too large": json.dumps([PLAIN, PLAIN]).replace("0.5}]", "1e999}]"),
    "a key less": json.dumps([PLAIN, {k: v for k, v in PLAIN.items() if k != "bbox"}]),
    "a short box": json.dumps([PLAIN, {**PLAIN, "bbox": [1, 2, 3]}]),
    "a long box": json.dumps([PLAIN, {**PLAIN, "bbox": [1, 2, 3, 4, 5]}]),
    "a number missing": json.dumps([PLAIN, PLAIN]).replace("0.5}]", "}]"),
    "two numbers in one": json.dumps([PLAIN, PLAIN]).replace("0.5}]", "0.5.5}]"),
    "no object": json.dumps([PLAIN, 1]),
    "no list": json.dumps({"annotations": [PLAIN, PLAIN]}),
    "cut short": json.dumps([PLAIN, PLAIN])[:-20],
    "text after the end": json.dumps([PLAIN, PLAIN]) + "x",
}


@pytest.mark.parametrize("name", LEFT)
def test_anything_else_is_left_to_the_careful_reader(name: str) -> None:
    read = NumberRows(("image_id", "category_id"), {"score": np.nan})
    assert read(json.dumps([PLAIN, PLAIN]).encode()) is not None
    assert read(LEFT[name].encode()) is None


@pytest.mark.parametrize("ids", [[1, 2], [1.0, 2], [2**53 + 1, 1]])
def test_results_read_the_same_either_way(ids: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps([{**PLAIN, "image_id": i} for i in ids]))
    fast = coco(path)
    monkeypatch.setattr("snellen.datasets.prediction_files._NUMBERS", lambda text: None)
    slow = coco(path)
    assert list(fast.images) == list(slow.images) == ids
    np.testing.assert_array_equal(fast.boxes, slow.boxes)
    np.testing.assert_array_equal(fast.scores, slow.scores)
    assert (fast.image_kinds, fast.label_kinds) == (slow.image_kinds, slow.label_kinds)


@pytest.mark.parametrize("key", ["image_id", "category_id"])
@pytest.mark.parametrize("value", [True, None, 1.5, [1], {}])
def test_a_reference_that_is_neither_number_nor_name_is_an_error_with_its_place(
    key: str, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps([PLAIN, {**PLAIN, key: value}]))
    what = key.removesuffix("_id")
    with pytest.raises(DataError, match=rf"prediction 1: the {what} must be a whole number or a name, got .*results"):
        coco(path)


ANNOTATION = {"id": 7, "image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4]}
ANNOTATIONS: dict[str, list[dict[str, Any]]] = {
    "plain": [{**ANNOTATION, "area": 12, "iscrowd": 1}, {**ANNOTATION, "area": 9.5, "iscrowd": 0}],
    "bare": [ANNOTATION],
    "more keys": [{**ANNOTATION, "segmentation": [[1, 2]]}, {**ANNOTATION, "extra": {"area": 1}}],
    "names": [ANNOTATION, {**ANNOTATION, "image_id": "1"}],
    "truth values": [{**ANNOTATION, "iscrowd": True}, {**ANNOTATION, "image_id": True}],
    "nulls": [{**ANNOTATION, "area": None, "id": None}],
    "far out": [{**ANNOTATION, "bbox": [1e308, 0, 1e308, 1]}],
    "none": [],
}


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_read_the_same_either_way(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gt.json"
    images = [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}]
    path.write_text(
        json.dumps({"images": images, "annotations": ANNOTATIONS[name], "categories": [{"id": 2, "name": "x"}]})
    )
    fast = truth_files.read(path)
    monkeypatch.setattr("snellen.datasets.coco.annotation_rows", lambda text: None)
    slow = truth_files.read(path)
    for column in ("image", "label", "boxes", "area", "crowd"):
        np.testing.assert_array_equal(getattr(fast, column), getattr(slow, column))
    assert list(fast.annotation_ids) == list(slow.annotation_ids)
    assert (fast.findings, fast.malformed, fast.image_refs) == (slow.findings, slow.malformed, slow.image_refs)
    assert {row: json.loads(text) for row, text in fast.written.items()} == {
        row: json.loads(text) for row, text in slow.written.items()
    }


def test_annotations_with_numbers_alone_need_no_careful_reader() -> None:
    read = {name: annotation_rows(json.dumps(rows).encode()) is not None for name, rows in ANNOTATIONS.items()}
    assert read == {name: name not in {"names", "truth values", "nulls"} for name in ANNOTATIONS}
