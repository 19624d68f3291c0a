"""Other tools' predictions land on the right pictures and classes, or the reason why not is counted and told."""

from __future__ import annotations

import collections
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.errors import DataError, SpecError
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions
from snellen.datasets.unpickle import read_pickle

Names = tuple[tuple[Any, str], ...]
IMAGES: Names = ((7, "train/000012.jpg"), (8, "two.dots.v1.png"), (9, "caf\u00e9 3.jpg"))


def truth(folder: Path, *, images: Names = IMAGES, categories: Names = ((1, "cat"), (5, "dog"))) -> Dataset:
    whole = {
        "images": [{"id": key, "file_name": name, "width": 100, "height": 50} for key, name in images],
        "annotations": [],
        "categories": [{"id": key, "name": name} for key, name in categories],
    }
    (folder / "gt.json").write_text(json.dumps(whole))
    return load_data(folder / "gt.json")


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


BOX = [10, 20, 30, 10]
CORNERS = [10.0, 20.0, 40.0, 30.0]


def coco_results(folder: Path) -> Path:
    items = [(7, 1, 0.9), (9, 5, 0.8), (8, 5, 0.7)]
    rows = [{"image_id": i, "category_id": k, "bbox": BOX, "score": s} for i, k, s in items]
    return write(folder / "results.json", rows)


def coco_text_ids(folder: Path) -> Path:
    rows = [
        {"image_id": str(i), "category_id": str(k), "bbox": BOX, "score": s}
        for i, k, s in ((7, 1, 0.9), (9, 5, 0.8), (8, 5, 0.7))
    ]
    return write(folder / "results.json", rows)


def coco_whole(folder: Path) -> Path:
    rows = [
        {"id": n, "image_id": i, "category_id": k, "bbox": BOX, "score": s}
        for n, (i, k, s) in enumerate(((7, 1, 0.9), (9, 5, 0.8), (8, 5, 0.7)))
    ]
    return write(folder / "results.json", {"images": [], "categories": [], "annotations": rows})


def ultralytics(folder: Path) -> Path:
    items = [(12, 1, 0.9), ("caf\u00e9 3", 5, 0.8), ("two.dots.v1", 5, 0.7)]
    return write(
        folder / "predictions.json", [{"image_id": i, "category_id": k, "bbox": BOX, "score": s} for i, k, s in items]
    )


def ultralytics_with_names(folder: Path) -> Path:
    items = [(12, "000012.jpg", 1, 0.9), ("x", "caf\u00e9 3.jpg", 5, 0.8), ("y", "two.dots.v1.png", 5, 0.7)]
    rows = [{"image_id": i, "file_name": f, "category_id": k, "bbox": BOX, "score": s} for i, f, k, s in items]
    return write(folder / "predictions.json", rows)


def yolo_folder(folder: Path) -> Path:
    labels = folder / "labels"
    labels.mkdir()
    for name, k, s in (("000012", 0, 0.9), ("caf\u00e9 3", 1, 0.8), ("two.dots.v1", 1, 0.7)):
        (labels / f"{name}.txt").write_text(f"{k} 0.25 0.5 0.3 0.2 {s}\n")
    return labels


def detectron(folder: Path) -> Path:
    def entry(i: int, k: int, s: float) -> dict[str, Any]:
        return {"image_id": i, "instances": [{"image_id": i, "category_id": k, "bbox": BOX, "score": np.float64(s)}]}

    path = folder / "instances_predictions.pkl"
    path.write_bytes(pickle.dumps([entry(7, 0, 0.9), entry(9, 1, 0.8), entry(8, 1, 0.7)]))
    return path


def detectron_pth(folder: Path) -> Path:
    inner = detectron(folder).read_bytes()
    path = folder / "instances_predictions.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", inner)
        archive.writestr("archive/version", "3")
    return path


RELATIVE = [0.1, 0.4, 0.3, 0.2]


def fiftyone_labels(folder: Path) -> Path:
    def one(label: Any, s: float) -> list[dict[str, Any]]:
        return [{"label": label, "bounding_box": RELATIVE, "confidence": s}]

    labels = {"000012": one(0, 0.9), "caf\u00e9 3": one(1, 0.8), "two.dots.v1": one("Dog", 0.7)}
    return write(folder / "labels.json", {"classes": ["cat", "dog"], "labels": labels})


def fiftyone_samples(folder: Path) -> Path:
    def sample(path: str, label: str, s: float) -> dict[str, Any]:
        found = [{"_cls": "Detection", "label": label, "bounding_box": RELATIVE, "confidence": s}]
        return {"filepath": path, "ground_truth": {"detections": []}, "predictions": {"detections": found}}

    samples = [
        sample("/data/set/train/000012.jpg", "cat", 0.9),
        sample("/data/set/caf\u00e9 3.jpg", "dog", 0.8),
        sample("/data/set/two.dots.v1.png", "dog", 0.7),
    ]
    return write(folder / "samples.json", {"samples": samples})


def supervision_csv(folder: Path) -> Path:
    path = folder / "sink.csv"
    lines = ["x_min,y_min,x_max,y_max,class_id,confidence,tracker_id,class_name,file_name"]
    lines += [
        f"10,20,40,30,{k},{s},,{n},{f}"
        for k, s, n, f in (
            (0, 0.9, "cat", "train/000012.jpg"),
            (1, 0.8, "dog", "caf\u00e9 3.jpg"),
            (1, 0.7, "dog", "two.dots.v1.png"),
        )
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def supervision_json(folder: Path) -> Path:
    rows = [
        {"x_min": 10, "y_min": 20, "x_max": 40, "y_max": 30, "class_id": k, "confidence": s, "image": f}
        for k, s, f in ((0, 0.9, "000012.jpg"), (1, 0.8, "caf\u00e9 3.jpg"), (1, 0.7, "two.dots.v1.png"))
    ]
    return write(folder / "sink.json", rows)


FILES: dict[str, Callable[[Path], Path]] = {
    function.__name__: function
    for function in (
        coco_results, coco_text_ids, coco_whole, ultralytics, ultralytics_with_names, yolo_folder, detectron,
        detectron_pth, fiftyone_labels, fiftyone_samples, supervision_csv, supervision_json,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_each_tools_file_means_the_same_three_boxes(tmp_path: Path, name: str) -> None:
    data = truth(tmp_path)
    found = read_predictions(FILES[name](tmp_path), data)
    order = np.argsort(-found.table.scores)
    assert found.table.images == data.truth.images
    assert found.table.image[order].tolist() == [0, 2, 1]
    assert found.table.label[order].tolist() == [0, 1, 1]
    np.testing.assert_allclose(found.table.boxes, [CORNERS] * 3)
    np.testing.assert_allclose(found.table.scores[order], [0.9, 0.8, 0.7])
    assert found.counts == {
        "placed": 3,
        "unknown-image": 0,
        "unreadable-box": 0,
        "unknown-category": 0,
        "missing-score": 0,
    }
    assert json.dumps(found.facts())


def test_what_cannot_be_placed_is_counted_and_told(tmp_path: Path) -> None:
    data = truth(tmp_path)
    rows = [
        {"image_id": 7, "category_id": 1, "bbox": BOX},
        {"image_id": 99, "category_id": 1, "bbox": BOX, "score": 0.5},
        {"image_id": 8, "category_id": 77, "bbox": BOX, "score": 0.5},
        {"image_id": 8, "category_id": 5, "bbox": [5, 5, -3, 4], "score": 0.5},
    ]
    path = write(tmp_path / "r.json", rows)
    path.write_text(
        path.read_text()[:-1] + ', {"image_id": 8, "category_id": 5, "bbox": [NaN, 5, 3, 4], "score": 0.1}]'
    )
    found = read_predictions(path, data)
    assert found.counts == {
        "placed": 2,
        "unknown-image": 1,
        "unreadable-box": 2,
        "unknown-category": 1,
        "missing-score": 1,
    }
    assert found.table.label.tolist() == [0, -1]
    assert {finding.code for finding in found.findings} == set(found.counts) - {"placed"}
    assert "99" in next(str(f) for f in found.findings if f.code == "unknown-image")


def test_no_score_at_all_stays_none(tmp_path: Path) -> None:
    data = truth(tmp_path)
    found = read_predictions(write(tmp_path / "r.json", [{"image_id": 7, "category_id": 1, "bbox": BOX}]), data)
    assert found.table.scores is None


def test_no_prediction_at_all_is_an_empty_table(tmp_path: Path) -> None:
    found = read_predictions(write(tmp_path / "r.json", []), truth(tmp_path))
    assert len(found.table) == 0
    assert found.table.images == tuple(name for _, name in IMAGES)


def test_numbers_that_are_ids_and_stems_alike_must_be_told_apart(tmp_path: Path) -> None:
    data = truth(tmp_path, images=((1, "2.jpg"), (2, "1.jpg")))
    rows = [{"image_id": i, "category_id": 1, "bbox": BOX, "score": 0.5} for i in (1, 2)]
    path = write(tmp_path / "predictions.json", rows)
    with pytest.raises(SpecError, match="--image-refs stem or --image-refs id"):
        read_predictions(path, data)
    assert read_predictions(path, data, image_refs="id").table.image.tolist() == [0, 1]
    assert read_predictions(path, data, image_refs="stem").table.image.tolist() == [1, 0]
    assert read_predictions(path, data, format="coco").table.image.tolist() == [0, 1]


def test_classes_counted_from_0_are_seen_where_it_shows_and_asked_for_where_not(shared: Path, tmp_path: Path) -> None:
    data = load_data(shared / "data/deeppcb_subset")
    stem = Path(data.truth.images[0]).stem
    path = tmp_path / "predictions.json"
    for label, expected in ((0, 0), (6, 5)):
        write(path, [{"image_id": stem, "category_id": label, "bbox": BOX, "score": 0.5}])
        assert read_predictions(path, data).table.label.tolist() == [expected]
    write(path, [{"image_id": stem, "category_id": 3, "bbox": BOX, "score": 0.5}])
    with pytest.raises(SpecError, match="--class-refs index1 or --class-refs index0"):
        read_predictions(path, data)
    assert read_predictions(path, data, class_refs="index0").table.label.tolist() == [3]
    assert read_predictions(path, data, class_refs="index1").table.label.tolist() == [2]


def test_text_and_number_ids_meet_only_where_that_is_unambiguous(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/faster_coco_eval_fixtures/tests/dataset"
    data = load_data(folder / "gt_ignore_test.json")
    found = read_predictions(folder / "dt_ignore_test.json", data)
    assert found.counts["unknown-image"] == 0
    both = truth(tmp_path, images=((1, "a.jpg"), ("1", "b.jpg")))
    rows = [{"image_id": key, "category_id": 1, "bbox": BOX, "score": 0.5} for key in (1, "1", "01")]
    found = read_predictions(write(tmp_path / "r.json", rows), both)
    assert found.table.image.tolist() == [0, 1]
    assert found.counts["unknown-image"] == 1


class Evil:
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.system, ("echo pwned",)


@pytest.mark.parametrize("value", [Evil(), [Evil()], {"a": collections.Counter("ab")}, Path("x")])
def test_a_pickle_that_names_more_than_plain_data_is_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match=r"not plain data.*x\.pkl"):
        read_pickle(path)


def test_a_broken_pickle_and_an_archive_without_data_are_errors(tmp_path: Path) -> None:
    (tmp_path / "x.pkl").write_bytes(b"\x80\x04garbage")
    with pytest.raises(DataError, match=r"x\.pkl"):
        read_pickle(tmp_path / "x.pkl")
    with zipfile.ZipFile(tmp_path / "y.pth", "w") as archive:
        archive.writestr("other", "1")
    with pytest.raises(DataError, match=r"no data\.pkl"):
        read_pickle(tmp_path / "y.pth")


def test_arrays_in_a_pickle_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps({"a": np.arange(3), "b": (np.float32(0.5),), "c": {1}}))
    assert read_pickle(path) == {"a": [0, 1, 2], "b": [0.5], "c": [1]}


BAD = {
    "a row that is no object": ([1], "must be an object"),
    "a row without a box": ([{"image_id": 1, "category_id": 1}], "no bbox"),
    "a box of three": ([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3]}], "four numbers"),
    "a score in words": ([{"image_id": 1, "category_id": 1, "bbox": BOX, "score": "high"}], "must be a number"),
}


@pytest.mark.parametrize("name", BAD)
def test_rows_that_are_no_predictions_are_errors_with_their_place(tmp_path: Path, name: str) -> None:
    rows, what = BAD[name]
    with pytest.raises(DataError, match=what) as caught:
        read_predictions(write(tmp_path / "r.json", rows), truth(tmp_path))
    assert "prediction 0" in str(caught.value)


def test_unknown_formats_and_readings_list_the_known_ones(tmp_path: Path) -> None:
    data = truth(tmp_path)
    path = coco_results(tmp_path)
    with pytest.raises(SpecError, match="coco, detectron2, fiftyone"):
        read_predictions(path, data, format="darknet")
    with pytest.raises(SpecError, match="id, name, stem"):
        read_predictions(path, data, image_refs="number")
    with pytest.raises(DataError, match="no such file"):
        read_predictions(tmp_path / "gone.json", data)


def test_predictions_of_none_of_the_images_are_refused_by_name(tmp_path: Path) -> None:
    data = truth(tmp_path)
    rows = [{"image_id": "elsewhere.png", "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5}]
    with pytest.raises(DataError, match=r"none of the 1 predictions .* they name elsewhere\.png"):
        read_predictions(write(tmp_path / "dt.json", rows), data)
