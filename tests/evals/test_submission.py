"""The challenge's zip: written, validated, and never executed."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from snellen.core.detections import Detections
from snellen.core.errors import DataError
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.evals.submission import check_submission, rows_of, write_submission


@pytest.fixture
def boats(tmp_path: Path) -> Dataset:
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 100, "height": 100} for i in range(2)]
    categories = [
        {"id": 0, "name": "boats", "supercategory": "none"},
        {"id": 1, "name": "boat", "supercategory": "boats"},
        {"id": 2, "name": "buoy", "supercategory": "boats"},
    ]
    annotations = [{"id": 0, "image_id": 0, "category_id": 2, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0}]
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"images": images, "categories": categories, "annotations": annotations}))
    return load_data(path)


def test_ids_count_from_zero_after_the_dummy_and_every_image_has_a_row(boats: Dataset, tmp_path: Path) -> None:
    found = {"0.jpg": Detections([[1, 2, 4, 6]], ("buoy",), np.array([0.5]))}
    rows = rows_of(boats, found)
    assert rows == [
        {"image_id": 0, "instances": [{"image_id": 0, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]},
        {"image_id": 1, "instances": []},
    ]
    write_submission(tmp_path / "s.zip", {"boats": rows})
    assert check_submission(tmp_path / "s.zip", {"boats": boats}) == []


@pytest.mark.parametrize(
    ("name", "rows", "fault"),
    [
        ("an image is missing", [{"image_id": 0, "instances": []}], "1 images have no row"),
        ("an unknown image", [{"image_id": 9, "instances": []}], "image 9 is not in the data set"),
        ("no list", {"image_id": 0}, "a list of rows is expected"),
        ("a row without instances", [{"image_id": 0}], "needs image_id and a list of instances"),
        (
            "an unknown class",
            [{"image_id": 0, "instances": [{"image_id": 0, "category_id": 2, "bbox": [0, 0, 1, 1], "score": 1}]}],
            "category_id must be 0 to 1",
        ),
        (
            "a box without area",
            [{"image_id": 0, "instances": [{"image_id": 0, "category_id": 0, "bbox": [0, 0, 0, 1], "score": 1}]}],
            "must have a width and a height",
        ),
        (
            "no score",
            [{"image_id": 0, "instances": [{"image_id": 0, "category_id": 0, "bbox": [0, 0, 1, 1]}]}],
            "score must be a finite number",
        ),
    ],
)
def test_each_fault_is_named(name: str, rows: object, fault: str, boats: Dataset, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("boats.pkl", pickle.dumps(rows))
    assert any(fault in found for found in check_submission(tmp_path / "s.zip", {"boats": boats})), name


def test_missing_and_strange_files_are_named(boats: Dataset, tmp_path: Path) -> None:
    write_submission(tmp_path / "s.zip", {"ships": []})
    assert check_submission(tmp_path / "s.zip", {"boats": boats}) == [
        "boats.pkl is missing",
        "ships.pkl belongs to no data set",
    ]


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('run')",)


def test_a_strangers_pickle_is_not_run(boats: Dataset, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("boats.pkl", pickle.dumps(_Evil()))
    with pytest.raises(DataError, match="not plain data"):
        check_submission(tmp_path / "s.zip", {"boats": boats})
