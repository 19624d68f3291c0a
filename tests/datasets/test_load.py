"""Layouts, parts and their messages; class files and instructions; the real sets as their sources describe them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from archives import unpack
from snellen.core.errors import DataError, SpecError
from snellen.datasets.classfile import ClassEntry, ClassFile, read_class_file
from snellen.datasets.coco import without_dummy
from snellen.datasets.describe import describe
from snellen.datasets.load import load_data
from snellen.datasets.readme import read_readme

REAL = {
    "bccd": ("data/bccd", "all", (364, 4888), {"RBC": 4155, "WBC": 372, "Platelets": 361}),
    "deeppcb": (
        "data/deeppcb_subset", None, (100, 653),
        {"open": 137, "short": 103, "mousebite": 114, "spur": 104, "copper": 93, "pin-hole": 102},
    ),
    "roboflow test": ("data/roboflow_dry_wet_waste", "test", (290, 183), None),
    "roboflow valid": ("data/roboflow_dry_wet_waste", "valid", (580, 370), None),
    "roboflow train": ("data/roboflow_dry_wet_waste", "train", (2029, 1273), None),
    "coco": ("data/coco_val2014_100/instances_val2014_100.json", None, (100, 839), None),
    "sahi": ("data/sahi_coco/coco_evaluate/dataset.json", None, (2, 249), None),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_sets_hold_what_their_sources_say(shared: Path, name: str) -> None:
    place, split, counts, classes = REAL[name]
    data = load_data(shared / place, split=split)
    assert (len(data), len(data.truth)) == counts
    if classes:
        assert {k: v["boxes"] for k, v in describe(data)["classes"].items()} == classes
    assert json.dumps(describe(data))


def test_bccd_in_xml_holds_the_boxes_of_its_csv(shared: Path) -> None:
    data = load_data(shared / "data/bccd", split="all")
    lines = (shared / "data/bccd/test.csv").read_text().splitlines()[1:]
    theirs = sorted(
        (f, k, float(x1), float(y1), float(x2), float(y2))
        for f, k, x1, x2, y1, y2 in (line.split(",") for line in lines)
    )
    ours = sorted(
        (sample.id.partition("/")[2], label, *box)
        for sample in data.samples()
        for label, box in zip(sample.truth.labels, sample.truth.boxes.tolist(), strict=True)
    )
    assert ours == theirs


def test_a_set_of_several_parts_must_be_told_which(shared: Path) -> None:
    with pytest.raises(SpecError, match="train, valid, test: say which one, or all"):
        load_data(shared / "data/roboflow_dry_wet_waste")
    with pytest.raises(SpecError, match="no part 'dev'; it has: train, valid, test"):
        load_data(shared / "data/roboflow_dry_wet_waste", split="dev")
    assert load_data(shared / "data/roboflow_dry_wet_waste", split="val").name.endswith("/valid")
    whole = shared / "data/coco_val2014_100/instances_val2014_100.json"
    with pytest.raises(SpecError, match="no part 'dev'; it is whole, without parts: leave split out"):
        load_data(whole, split="dev")


def test_all_parts_together_say_whence_each_picture_came(shared: Path) -> None:
    data = load_data(shared / "data/roboflow_dry_wet_waste", split="all")
    assert len(data) == 2899
    assert dict(zip(*np.unique(data.attributes["split"], return_counts=True), strict=True)) == {
        "train": 2029,
        "valid": 580,
        "test": 290,
    }
    ((first, *_),) = ([s for s in data.samples() if s.attributes["split"] == "test"],)
    assert first.id.startswith("test/")
    assert first.pictures[0].image().size == (416, 416)


@pytest.mark.parametrize(
    ("path", "what"),
    [("nothing here", "no such file"), ("data/datumaro_formats/kitti_dataset", "no data set of a known layout"),
     ("data/datumaro_formats/roboflow_dataset/yolo_obb", "none of the 2 pictures has a label file")],
)  # fmt: skip
def test_what_is_no_data_set_is_an_error_that_says_what_is_known(shared: Path, path: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        load_data(shared / path, split="all")


def test_an_unknown_format_lists_the_known_ones(shared: Path) -> None:
    with pytest.raises(SpecError, match="civet, coco, deeppcb, voc"):
        load_data(shared / "data/bccd", format="kitti")


def test_civet_worlds_give_boxes_that_hold_the_objects(tmp_path: Path) -> None:
    """Drawn by hand: a square at row 2, column 5 of 9 on 672 px; 86 % of a cell of 74 px, padding 3."""
    (tmp_path / "images").mkdir()
    picture = Image.new("RGB", (672, 672))
    picture.save(tmp_path / "images" / "0.png")
    entity = {
        "class": "ObjEntity",
        "position": [2, 5],
        "shape": "square",
        "color": "red",
        "sheen": "none",
        "size": "large",
    }
    world = {"size": [9, 9], "background": "none", "ents": {"w": {"class": "Entity", "position": [4, 4]}, "e1": entity}}
    (tmp_path / "repr.json").write_text(json.dumps({"0": world}))
    (sample,) = load_data(tmp_path).samples()
    left, top = 3 + 5 * 74 + 37 - 0.43 * 74, 3 + 2 * 74 + 37 - 0.43 * 74
    np.testing.assert_allclose(sample.truth.boxes, [[left, top, left + 0.86 * 74, top + 0.86 * 74]])
    assert sample.truth.labels == ("square",)
    assert sample.truth.notes[0]["color"] == "red"


def test_wade_records_give_pixels_attributes_chains_and_sites(tmp_path: Path) -> None:
    record = {
        "image": "a.jpg", "width": 3000, "height": 4000, "lighting": "low", "attributes": {"site": "pond 7"},
        "instances": [
            {"id": "1", "label": "foam waste", "box": [100, 200, 300, 400], "chain": {"primary_cue": "white"}},
        ],
    }  # fmt: skip
    (tmp_path / "r.jsonl").write_text(json.dumps(record) + "\n\n")
    data = load_data(tmp_path / "r.jsonl")
    (sample,) = data.samples()
    assert sample.truth.boxes.tolist() == [[600, 400, 1200, 1200]]
    assert sample.attributes == {"lighting": "low", "site": "pond 7"}
    assert sample.cluster == "pond 7"
    assert sample.truth.notes[0]["chain"] == {"primary_cue": "white"}
    assert [finding.code for finding in data.findings if finding.severity == "warning"] == ["chain-incomplete"]
    (tmp_path / "r.jsonl").write_text(json.dumps(record) + '\n{"image": "b.jpg"}\n')
    with pytest.raises(DataError, match="line 2: a record needs instances"):
        load_data(tmp_path / "r.jsonl")


def category(key: int, name: str, parent: str) -> dict[str, Any]:
    return {"id": key, "name": name, "supercategory": parent}


ROOT, CHILD = category(0, "w", "none"), category(1, "a", "w")
DUMMIES: dict[str, tuple[list[dict[str, Any]], set[int], list[str]]] = {
    "an unused root": ([ROOT, CHILD], {1}, ["a"]),
    "a root in use": ([ROOT, CHILD], {0, 1}, ["w", "a"]),
    "the name plays no role": ([category(0, "a", "none"), category(1, "a", "a")], {1}, ["a"]),
    "only class": ([ROOT], set(), ["w"]),
    "another id": ([category(3, "w", "none"), CHILD], {1}, ["w", "a"]),
    "another supercategory": ([category(0, "w", "waste"), CHILD], {1}, ["w", "a"]),
    "all without a parent": ([ROOT, category(1, "a", "none")], {1}, ["w", "a"]),
}


@pytest.mark.parametrize("name", DUMMIES)
def test_the_root_category_is_known_by_id_and_supercategory(name: str) -> None:
    categories, used, kept = DUMMIES[name]
    once, _ = without_dummy(categories, list(used))
    assert [category["name"] for category in once] == kept
    assert without_dummy(once, list(used)) == (once, None)


def test_a_root_that_another_part_uses_stays(tmp_path: Path) -> None:
    categories = [{"id": 0, "name": "w", "supercategory": "none"}, {"id": 1, "name": "a", "supercategory": "w"}]
    for part, label in (("train", 0), ("test", 1)):
        (tmp_path / part).mkdir()
        box = {"id": 1, "image_id": 1, "category_id": label, "bbox": [1, 1, 2, 2]}
        images = [{"id": 1, "file_name": f"{part}.jpg", "width": 9, "height": 9}]
        whole = {"images": images, "annotations": [box], "categories": categories}
        (tmp_path / part / "_annotations.coco.json").write_text(json.dumps(whole))
    assert load_data(tmp_path, split="test").classes == load_data(tmp_path, split="train").classes == ("w", "a")


README = """# Overview
- [Object Classes](#object-classes)

# Introduction
Waste on a belt.

# Object Classes

## Class 1: Aggregate
### Description
Small stones.

### Instructions
Box every pile.

## 2. hard_plastic
### Description
Provide a description of the class, paying attention to visually distinctive elements.
### Instructions
TODO

## Glass
### Instructions
Box it.
"""


def test_instructions_are_read_and_linted(tmp_path: Path) -> None:
    (tmp_path / "README.dataset.txt").write_text(README)
    whole = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
        "annotations": [],
        "categories": [{"id": k, "name": n} for k, n in enumerate(("Aggregate", "Hard Plastic", "Metal"), 1)],
    }
    (tmp_path / "_annotations.coco.json").write_text(json.dumps(whole))
    data = load_data(tmp_path)
    assert data.class_file is not None
    assert data.class_file["aggregate"].instructions == "Box every pile."
    assert data.class_file["aggregate"].description == "Small stones."
    assert "Waste on a belt." in data.class_file.overview
    found = {finding.code: finding.examples for finding in data.findings}
    assert found["instructions-missing"] == ("Metal",)
    assert found["instructions-unknown-class"] == ("'Glass' (line 22)",)
    assert len(found["instructions-placeholder"]) == 1
    assert "hard_plastic" in found["instructions-placeholder"][0]


def test_a_class_that_begins_with_a_number_is_not_taken_for_a_numbered_heading(tmp_path: Path) -> None:
    path = tmp_path / "README.dataset.txt"
    path.write_text("# Object Classes\n## 0 ripe\n### Instructions\nx\n## 1 ripe\n### Instructions\ny\n")
    file = read_readme(path).class_file(("0 ripe", "1 ripe"))
    assert [entry.instructions for entry in file.entries] == ["x", "y"]
    assert read_readme(path).findings(("0 ripe", "1 ripe")) == []


def test_plain_roboflow_readmes_hold_no_instructions(shared: Path) -> None:
    data = load_data(shared / "data/roboflow_dry_wet_waste", split="test")
    assert data.class_file is None


def test_a_class_file_is_written_and_read_as_it_was(tmp_path: Path) -> None:
    rules = {"primary_cue": "neck", "contrastive_rules": [{"against": "foam", "rule": "keeps its shape"}]}
    file = ClassFile(
        (ClassEntry("plastic bottle", ("PET bottle",), "clear bottle", "d", "i", rules), ClassEntry("foam")),
        "all",
        "about",
    )
    file.write(tmp_path / "classes.yaml")
    assert read_class_file(tmp_path / "classes.yaml") == file
    assert file["Plastic_Bottle"].asked_as == "clear bottle"
    assert file.index()("pet-bottle") == 0


CLASS_FILES = {
    "no list": ("classes: 3", "has a list"),
    "an unknown key": ("classes: [a]\nmodel: x", "not model"),
    "a class without a name": ("classes: [{aliases: [b]}]", "class 0 must be a name"),
    "an unknown field": ("classes: [{name: a, colour: b}]", "has colour; known: aliases"),
    "aliases in one word": ("classes: [{name: a, aliases: b}]", "aliases must be a list"),
    "two classes in one": ("classes: [a b, A_B]", "are one name"),
    "an alias that is a class": ("classes: [{name: a, aliases: [b]}, b]", "already means"),
    "no yaml": ("classes: [", "no YAML"),
}


@pytest.mark.parametrize("name", CLASS_FILES)
def test_a_class_file_that_is_none_is_an_error_with_its_place(tmp_path: Path, name: str) -> None:
    text, what = CLASS_FILES[name]
    (tmp_path / "classes.yaml").write_text(text)
    with pytest.raises(DataError, match=what):
        read_class_file(tmp_path / "classes.yaml")


def test_aliases_serve_the_reading_of_predictions(tmp_path: Path) -> None:
    from snellen.datasets.predictions import read_predictions

    whole = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 10, "height": 10}],
        "annotations": [],
        "categories": [{"id": 1, "name": "plastic bottle"}],
    }
    (tmp_path / "_annotations.coco.json").write_text(json.dumps(whole))
    (tmp_path / "classes.yaml").write_text("classes: [{name: plastic bottle, aliases: [PET bottle]}]")
    labels = {"classes": [], "labels": {"a": [{"label": "pet_bottle", "bounding_box": [0, 0, 1, 1], "confidence": 1}]}}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    found = read_predictions(tmp_path / "labels.json", load_data(tmp_path / "_annotations.coco.json"))
    assert found.table.label.tolist() == [0]


def test_yolo_names_may_be_a_mapping_and_must_fit_nc(tmp_path: Path) -> None:
    for folder in ("train/images", "train/labels"):
        (tmp_path / folder).mkdir(parents=True)
    Image.new("RGB", (20, 10)).save(tmp_path / "train/images/a.png")
    (tmp_path / "train/labels/a.txt").write_text("1 .5 .5 .5 .5\n")
    (tmp_path / "data.yaml").write_text("train: ../train/images\nnames: {0: a, 1: b}\n")
    assert load_data(tmp_path).classes == ("a", "b")
    (tmp_path / "data.yaml").write_text("train: train/images\nnc: 3\nnames: [a, b]\n")
    with pytest.raises(DataError, match="nc is 3, but there are 2 names"):
        load_data(tmp_path)
    (tmp_path / "data.yaml").write_text("train: train/images\nnames: [a]\n")
    with pytest.raises(DataError, match="1 of 1 classes"):
        load_data(tmp_path)
    (tmp_path / "train/labels/stray.txt").write_text("")
    (tmp_path / "data.yaml").write_text("train: train/images\nnames: [a, b]\n")
    assert "label-without-picture" in {finding.code for finding in load_data(tmp_path).findings}


def test_the_annotations_hash_is_that_of_the_file(shared: Path) -> None:
    import hashlib

    path = shared / "data/coco_val2014_100/instances_val2014_100.json"
    assert load_data(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_scattered_stimuli_without_worlds_are_no_boxes(shared: Path, tmp_path: Path) -> None:
    archive = shared / "data/dere_vlm_closed_vqa/scattered.tar.gz"
    unpack(archive, tmp_path, wanted=lambda path: path.name == "questions.json")
    with pytest.raises(DataError, match="no data set of a known layout"):
        load_data(tmp_path / "scattered")


def test_a_place_that_data_yaml_names_and_that_is_not_there_is_told(tmp_path: Path) -> None:
    _yolo(tmp_path, "train: images\nval: pictures/val\n")
    (finding,) = [f for f in load_data(tmp_path).findings if f.code == "missing-part"]
    assert "val: pictures/val" in finding.message


def test_a_folder_named_by_two_parts_counts_once_in_all(tmp_path: Path) -> None:
    _yolo(tmp_path, "train: images\nval: images\n")
    assert len(load_data(tmp_path, split="all")) == len(load_data(tmp_path, split="val")) == 1


def _yolo(folder: Path, parts: str) -> None:
    (folder / "images").mkdir()
    (folder / "labels").mkdir()
    Image.new("RGB", (20, 10)).save(folder / "images" / "a.png")
    (folder / "labels" / "a.txt").write_text("0 .5 .5 .2 .2\n")
    (folder / "data.yaml").write_text(f"names: [cell]\n{parts}")
