"""How predictions refer to pictures and classes, and truths with faults: said on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from command_line import snellen

BOX = [1, 2, 10, 10]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two pictures named after each other's ids, with one box each, of the class with the picture's id."""
    images = [{"id": i, "file_name": f"{3 - i}.png", "width": 40, "height": 30} for i in (1, 2)]
    for image in images:
        Image.new("RGB", (40, 30)).save(tmp_path / image["file_name"])
    truth = [{"id": i, "image_id": i, "category_id": i, "bbox": BOX, "area": 100} for i in (1, 2)]
    whole = {"images": images, "annotations": truth, "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}
    (tmp_path / "truth.json").write_text(json.dumps(whole))
    truth.append({"id": 9, "image_id": 1, "category_id": 1, "bbox": [30, 20, -9, 5], "area": 45})
    (tmp_path / "faulty.json").write_text(json.dumps({**whole, "annotations": truth}))
    found = [{"image_id": i, "category_id": i, "bbox": BOX, "score": 0.5} for i in (1, 2)]
    (tmp_path / "predictions.json").write_text(json.dumps(found))
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "1.txt").write_text(f"1 {6 / 40} {7 / 30} {10 / 40} {10 / 30} 0.5\n")
    return tmp_path


def f1(capsys, *words: object) -> float:
    code, out, err = snellen(capsys, "score", *words, "--json", "--no-intervals")
    assert code == 0, err
    return json.loads(out)["f1"]["value"]


def test_references_that_can_be_read_twice_are_settled_by_the_option_that_the_message_names(capsys, folder) -> None:
    words = ("--truth", folder / "truth.json", "--predictions", folder / "predictions.json")
    code, _, err = snellen(capsys, "score", *words)
    assert code == 2
    assert "--image-refs stem or --image-refs id" in err
    assert f1(capsys, *words, "--image-refs", "id") == 1
    assert f1(capsys, *words, "--image-refs", "stem") == 0


@pytest.mark.parametrize(("images", "classes", "right"), [
    ("id", "id", 2 / 3), ("id", "index1", 2 / 3), ("id", "index0", 0), ("stem", "id", 0), ("stem", "index0", 2 / 3),
])  # fmt: skip
def test_yolo_txt_is_read_as_the_options_say(capsys, folder, images, classes, right) -> None:
    words = ("--truth", folder / "truth.json", "--predictions", folder / "labels")
    assert f1(capsys, *words, "--image-refs", images, "--class-refs", classes) == pytest.approx(right)
    assert f1(capsys, *words) == pytest.approx(2 / 3), "stems and places from 0, as YOLO writes"


def test_an_import_takes_them_and_keeps_what_they_were(capsys, folder) -> None:
    words = ("import", folder / "predictions.json", "--as", "predictions", "--truth", folder / "truth.json", "--json")
    code, out, err = snellen(capsys, *words, "--image-refs", "stem", "--class-refs", "id", "--out", folder / "run")
    assert code == 0, err
    assert (json.loads(out)["images_by"], json.loads(out)["classes_by"]) == ("stem", "id")
    code, _, err = snellen(capsys, *words, "--image-refs", "stems", "--out", folder / "other")
    assert code == 2
    assert "unknown kind of image reference 'stems'. Did you mean 'stem'? Known: id, name, stem" in err
    code, _, err = snellen(capsys, *words, "--class-refs", "place", "--out", folder / "other")
    assert code == 2
    assert "unknown kind of class reference 'place'. Known: id, index0, index1, name" in err


def test_classes_of_a_truth_without_ids_cannot_be_referred_to_by_id(capsys, folder) -> None:
    for name in ("images", "labels"):
        (folder / "yolo" / name).mkdir(parents=True)
    (folder / "1.png").rename(folder / "yolo/images/1.png")
    (folder / "yolo/labels/1.txt").write_text((folder / "labels/1.txt").read_text().removesuffix(" 0.5\n"))
    (folder / "yolo/data.yaml").write_text("train: images\nnames: [a, b]\n")
    words = ("--truth", folder / "yolo", "--predictions", folder / "labels")
    code, _, err = snellen(capsys, "score", *words, "--class-refs", "id")
    assert code == 2
    assert "the classes of a yolo data set have no ids: say --class-refs name, index0 or index1" in err
    assert f1(capsys, *words, "--class-refs", "index0") == 1


def test_references_belong_to_predictions(capsys, folder) -> None:
    code, _, err = snellen(capsys, "score", folder, "--image-refs", "id", "--allow", "inverted-box")
    assert code == 2
    assert "belongs to the scoring of predictions against truth" in err


def test_a_truth_with_a_fault_is_scored_where_the_fault_is_allowed_and_it_is_told(capsys, folder) -> None:
    words = ("--truth", folder / "faulty.json", "--predictions", folder / "predictions.json", "--image-refs", "id")
    code, _, err = snellen(capsys, "score", *words)
    assert code == 2
    assert "--allow inverted-box" in err
    code, out, err = snellen(capsys, "score", *words, "--allow", "inverted-box", "--json", "--no-intervals")
    assert code == 0
    assert "1 box was left out as allowed" in err
    assert "annotation 9" in err
    assert json.loads(out)["f1"]["value"] == 1


def test_a_fault_that_is_none_cannot_be_allowed(capsys, folder) -> None:
    words = ("--truth", folder / "faulty.json", "--predictions", folder / "predictions.json", "--image-refs", "id")
    code, _, err = snellen(capsys, "score", *words, "--allow", "inverted-boxes")
    assert code == 2
    assert "unknown fault to allow 'inverted-boxes'. Did you mean 'inverted-box'?" in err


def test_a_folder_of_pictures_that_is_not_there_is_told(capsys, folder) -> None:
    answer = {"target": "star", "input": "Choose from [star, square].", "original_pred": "star", "pred": "star"}
    (folder / "answers.json").write_text(json.dumps({"1": {"e0": {"shape": answer}}}))
    words = ("import", folder / "answers.json", "--as", "civet-results", "--images", folder / "gone")
    code, _, err = snellen(capsys, *words, "--out", folder / "run")
    assert code == 2
    assert "no such folder of pictures" in err
