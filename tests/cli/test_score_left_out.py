"""Predictions that are left out on request, and counted: by suppression, and of classes that are not in the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from command_line import snellen

BOX, NEAR = [10, 10, 40, 40], [12, 10, 40, 40]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two pictures, a cat in each, a dog in one; all are found, the first cat twice, and a dog where none is."""
    folder = tmp_path / "data"
    folder.mkdir()
    images = [{"id": i, "file_name": f"{i}.png", "width": 100, "height": 100} for i in (1, 2)]
    for image in images:
        Image.new("L", (100, 100)).save(folder / image["file_name"])
    there = [(1, 1), (2, 1), (2, 2)]
    truth = [{"id": n, "image_id": i, "category_id": c, "bbox": BOX, "area": 1600, "iscrowd": 0}
             for n, (i, c) in enumerate(there, 1)]  # fmt: skip
    classes = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    (folder / "_annotations.coco.json").write_text(
        json.dumps({"images": images, "annotations": truth, "categories": classes})
    )
    found = [{"image_id": i, "category_id": c, "bbox": BOX, "score": 0.9} for i, c in there]
    found += [{"image_id": 1, "category_id": 1, "bbox": NEAR, "score": 0.8}]
    found += [{"image_id": 1, "category_id": 2, "bbox": BOX, "score": 0.7}]
    (tmp_path / "found.json").write_text(json.dumps(found))
    return folder, tmp_path / "found.json"


def scored(capsys: Any, *words: object) -> dict[str, Any]:
    code, out, err = snellen(capsys, "score", *words, "--json", "--no-intervals")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize(
    ("words", "precision", "left_out"),
    [
        ((), 3 / 5, {}),
        (("--nms", "0.5"), 3 / 4, {"nms": 0.5, "left_out_by_nms": 1}),
        (("--nms", "0.95"), 3 / 5, {"nms": 0.95, "left_out_by_nms": 0}),
        (("--classes", "present"), 3 / 4, {"left_out_of_absent_classes": 1}),
        (("--classes", "present", "--nms", "0.5"), 1.0, {"left_out_of_absent_classes": 1, "left_out_by_nms": 1}),
    ],
)
def test_what_is_left_out_does_not_count_and_is_counted(capsys, files, words, precision, left_out) -> None:
    found = scored(capsys, "--truth", files[0], "--predictions", files[1], *words)
    assert found["precision"]["value"] == pytest.approx(precision)
    assert found["recall"]["value"] == 1.0
    told = {name: value for name, value in found["facts"].items() if name.startswith(("left_out", "nms"))}
    assert told.items() >= left_out.items()
    assert len(told) >= len(left_out)
    assert found["guard"]["classes"] == ("present" if "present" in words else "all")


def test_an_import_keeps_what_it_was_made_with_and_a_run_is_scored_with_suppression(capsys, files, tmp_path) -> None:
    make = ("import", files[1], "--as", "coco", "--truth", files[0], "--no-score", "--out")
    assert snellen(capsys, *make, tmp_path / "plain")[0] == 0
    assert snellen(capsys, *make, tmp_path / "present", "--classes", "present", "--nms", "0.5")[0] == 0
    both = scored(capsys, tmp_path / "present")
    assert both["precision"]["value"] == 1.0
    assert both["options"]["nms"] == 0.5
    assert scored(capsys, tmp_path / "plain")["precision"]["value"] == pytest.approx(3 / 5)
    suppressed = scored(capsys, tmp_path / "plain", "--nms", "0.5")
    assert (suppressed["precision"]["value"], suppressed["facts"]["left_out_by_nms"]) == (0.75, 1)
    assert scored(capsys, tmp_path / "plain")["precision"]["value"] == 0.75, "it stays, as an operating point does"
    assert scored(capsys, tmp_path / "plain", "--nms", "1")["precision"]["value"] == pytest.approx(3 / 5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nms", "5"), "nms is the IoU, above 0 up to 1, beyond which the worse of two boxes goes, got 5.0"),
        (("--classes", "some"), "unknown choice of classes 'some'. Known: all, present"),
    ],
)
def test_what_cannot_be_left_out_is_refused(capsys, files, words, message) -> None:
    code, _, err = snellen(capsys, "score", "--truth", files[0], "--predictions", files[1], *words)
    assert code == 2
    assert message in err
