"""Files that are a little wrong: nothing is lost, repaired or invented without a word, and nothing crashes."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError
from snellen.datasets.load import load_data, parts_of
from snellen.datasets.yolo_lines import read_lines
from snellen.doctor.examine import examine

IMAGE = {"id": 1, "file_name": "a.png", "width": 40, "height": 30}
BOX = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 10, 10], "area": 100}
CAT = {"id": 1, "name": "cat"}
RECORD = {"image": "a.png", "width": 40, "height": 30, "instances": [{"label": "foam", "box": [100, 200, 300, 400]}]}
WORLD = {"size": [9, 9], "ents": {"e0": {"shape": "star", "position": [0, 0]}}}


def picture(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (40, 30), (len(place.name), 90, 20)).save(place)


def coco(folder: Path, **parts: Any) -> Path:
    picture(folder / "a.png")
    whole = {"images": [IMAGE], "annotations": [BOX], "categories": [CAT]} | parts
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    return folder


def yolo(
    folder: Path, label: str | bytes = "0 .5 .5 .2 .2\n", *, name: str = "a.txt", yaml: str = "", image: str = "a.png"
) -> Path:
    picture(folder / "images" / image)
    (folder / "labels").mkdir()
    (folder / "labels" / name).write_bytes(label if isinstance(label, bytes) else label.encode())
    (folder / "data.yaml").write_text(yaml or "train: images\nnames: [cat, dog]\n")
    return folder


def voc(
    folder: Path, *, name: str = "cat", head: str = "", coding: str = "utf-8", extra: str = "", stem: str = "a"
) -> Path:
    picture(folder / f"JPEGImages/{stem}.png")
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>10</xmax><ymax>20</ymax></bndbox>"
    size = "<size><width>40</width><height>30</height></size>"
    thing = f"<object><name>{name}</name>{box}{extra}</object>"
    text = f"{head}<annotation><filename>a.png</filename>{size}{thing}</annotation>"
    place = folder / f"Annotations/{stem}.xml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode(coding))
    return folder


def wade(folder: Path, *lines: str | Mapping[str, Any]) -> Path:
    picture(folder / "a.png")
    text = "".join((x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)) + "\n" for x in lines)
    (folder / "records.jsonl").write_text(text, encoding="utf-8")
    return folder


def civet(folder: Path, worlds: Any) -> Path:
    Image.new("RGB", (90, 90)).save(folder / "x.png")
    (folder / "images").mkdir()
    (folder / "x.png").rename(folder / "images/1.png")
    (folder / "repr.json").write_text(json.dumps(worlds))
    return folder


def codes(folder: Path) -> set[str]:
    return {
        finding.code for _, finding, _ in examine(folder, effects_of_all=False).findings if finding.severity != "note"
    }


TOLD = {
    "areas that no box can have": (lambda f: coco(f, annotations=[BOX | {"area": 5000}]), {"area-differs"}),
    "areas below nothing": (lambda f: coco(f, annotations=[BOX | {"area": -1}]), {"area-differs"}),
    "a set without images": (lambda f: coco(f, images=[], annotations=[]), {"no-images"}),
    "annotations that name no image": (lambda f: coco(f, annotations=[BOX | {"image_id": None}]), {"unknown-image"}),
    "ids and sizes that pandas wrote": (
        lambda f: coco(f, images=[IMAGE | {"id": 1.0, "width": 40.0, "height": 30.0}]), set(),
    ),
    "a class of twenty digits": (lambda f: yolo(f, "99999999999999999999 .5 .5 .2 .2\n"), {"malformed-line"}),
    "keypoints nobody told of": (lambda f: yolo(f, "0 .5 .5 .2 .2 .4 .4 2 .6 .6 1\n"), {"malformed-line"}),
    "numbers with underscores": (lambda f: yolo(f, "0 .5 .5 .2 0.1_5\n"), {"malformed-line"}),
    "commas between numbers": (lambda f: yolo(f, "0, .5, .5, .2, .2\n"), {"malformed-line"}),
    "labels in another case": (lambda f: yolo(f, name="A.TXT"), {"case-differs"}),
    "labels in another Unicode form": (lambda f: yolo(f, name="e\u0301.txt", image="\u00e9.png"), set()),
    "classes that nobody names": (lambda f: yolo(f, yaml="train: images\n"), {"classes-unnamed"}),
    "nulls in data.yaml": (lambda f: yolo(f, yaml="train: images\nval: [~]\nkpt_shape:\nnames: [cat]\n"), set()),
    "a part that is no place": (lambda f: yolo(f, yaml="train: 5\nnames: [cat, dog]\n"), {"missing-part"}),
    "XML in its own encoding": (
        lambda f: voc(f, name="猫", head='<?xml version="1.0" encoding="GBK"?>', coding="gbk"), set(),
    ),
    "a first record that is broken": (lambda f: wade(f, "{", RECORD), {"malformed-line"}),
    "a blank line in front": (lambda f: wade(f, "", RECORD), set()),
    "line ends inside a value": (lambda f: wade(f, RECORD | {"site": "a\u2028b\u0085c"}), set()),
    "a label that is null": (
        lambda f: wade(f, RECORD | {"instances": [{"label": None, "box": [1, 2, 30, 40]}]}), {"unknown-category"},
    ),
    "parts of 1 for thousandths": (
        lambda f: wade(f, RECORD | {"instances": [{"label": "foam", "box": [0.1, 0.2, 0.3, 0.4]}]}), {"malformed-box"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_odd_is_told(tmp_path: Path, name: str) -> None:
    make, expected = TOLD[name]
    assert codes(make(tmp_path)) == expected


REFUSED = {
    "annotations that are null": (lambda f: coco(f, annotations=None), "annotations must be a list, got None"),
    "images by name": (lambda f: coco(f, images={"1": IMAGE}), "images must be a list"),
    "a class of blanks": (lambda f: coco(f, categories=[CAT, {"id": 2, "name": "  "}]), "must be a text"),
    "a broken data.yaml": (lambda f: yolo(f, yaml="names: [cat, dog\n"), r"no YAML .*data\.yaml"),
    "names by name": (lambda f: yolo(f, yaml="train: images\nnames: {cat: 0}\n"), "the key 'cat'"),
    "a part that is a mapping": (lambda f: yolo(f, yaml="train: {a: images}\nnames: [cat]\n"), "train names folders"),
    "a shape of keypoints that is none": (lambda f: yolo(f, yaml="names: [a]\nkpt_shape: 17\n"), "kpt_shape is"),
    "a grid without cells": (lambda f: civet(f, {"1": WORLD | {"size": [0, 0]}}), "world '1' has not"),
    "an object without a shape": (
        lambda f: civet(f, {"1": WORLD | {"ents": {"e0": {"position": [0, 0]}}}}), "neither shape nor category",
    ),
    "a list of worlds": (lambda f: civet(f, []), "got a list"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        load_data(make(tmp_path), split="all")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    folder = coco(tmp_path)
    text = (folder / "_annotations.coco.json").read_text()
    (folder / "_annotations.coco.json").write_text(text[:-1] + ', "images": []}')
    with pytest.raises(DataError, match="'images' stands twice"):
        load_data(folder)


def test_files_of_predictions_archives_and_empty_folders_are_called_by_their_name(tmp_path: Path) -> None:
    (tmp_path / "dt").mkdir()
    (tmp_path / "dt/_annotations.coco.json").write_text("[]")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a", "")
    (tmp_path / "empty").mkdir()
    for name, message in (("dt", "as files of predictions are"), ("a.zip", "unpack it"), ("empty", "an empty folder")):
        with pytest.raises(DataError, match=message):
            load_data(tmp_path / name)
    with pytest.raises(DataError, match="neither a file nor a folder"):
        load_data("/dev/null")


def test_a_damaged_gz_is_told_and_a_whole_one_is_found_in_its_folder(tmp_path: Path) -> None:
    folder = coco(tmp_path)
    data = gzip.compress((folder / "_annotations.coco.json").read_bytes())
    (folder / "_annotations.coco.json").unlink()
    (folder / "truth.json.gz").write_bytes(data)
    assert len(load_data(folder)) == 1
    (folder / "truth.json.gz").write_bytes(data[:-10])
    with pytest.raises(DataError, match=r"cannot be read.*truth\.json\.gz"):
        load_data(folder)


@pytest.mark.parametrize(
    ("shape", "row"), [("[2, 3]", ".4 .4 2 .6 .6 0"), ("[2, 2]", ".4 .4 .6 .6"), ("[1, 3]", ".4 .4 1")]
)
def test_rows_with_keypoints_are_boxes_where_data_yaml_says_so(tmp_path: Path, shape: str, row: str) -> None:
    folder = yolo(
        tmp_path, f"0 .5 .5 .2 .2 {row}\n1 .5 .5 .4 .4\n", yaml=f"train: images\nnames: [a, b]\nkpt_shape: {shape}\n"
    )
    data = load_data(folder)
    np.testing.assert_allclose(data.truth.boxes, [[16, 12, 24, 18], [12, 9, 28, 21]])
    assert any("keypoints too" in finding.message for finding in data.findings)


def test_a_polygon_along_the_edges_stays_a_polygon() -> None:
    lines = read_lines("0 0 0 1 0 1 1 0.5 1 0 1\n")
    assert (lines.polygons, lines.boxes, lines.problems) == (1, [(0.5, 0.5, 1.0, 1.0)], [])


def test_names_are_as_written_whatever_yaml_makes_of_them(tmp_path: Path) -> None:
    assert load_data(yolo(tmp_path, yaml="train: images\nnames: [no, 1.0]\n")).classes == ("no", "1.0")


def test_pictures_that_share_a_label_file_are_told(tmp_path: Path) -> None:
    picture(yolo(tmp_path) / "images/a.jpg")
    assert "shared-labels" in codes(tmp_path)


def test_an_object_is_difficult_where_it_says_so(tmp_path: Path) -> None:
    for i, (word, hard) in enumerate(
        (("1", True), ("True", True), ("0", False), ("False", False), ("Unspecified", False))
    ):
        data = load_data(voc(tmp_path / str(i), extra=f"<difficult>{word}</difficult>"))
        assert data.truth.crowd.tolist() == [hard], word


def test_a_picture_is_looked_for_in_its_annotations_folder_first(tmp_path: Path) -> None:
    for stem in ("a", "s/a"):
        voc(tmp_path, stem=stem)
    data = load_data(tmp_path)
    assert sorted(data.truth.images) == ["a.png", "s/a.png"]
    assert not [finding for finding in data.findings if finding.severity != "note"]


def test_one_empty_xml_file_does_not_hide_the_others(tmp_path: Path) -> None:
    voc(tmp_path, stem="b")
    (tmp_path / "Annotations/a.xml").write_text("")
    assert "malformed-file" in codes(tmp_path)


def test_an_unreadable_picture_of_a_world_is_told(tmp_path: Path) -> None:
    civet(tmp_path, {"1": WORLD})
    (tmp_path / "images/1.png").write_bytes(b"no picture")
    assert "unreadable-picture" in codes(tmp_path)
    assert len(parts_of(tmp_path)) == 1


def groups_of(tmp_path: Path, text: str) -> Any:
    from snellen.datasets.split import with_groups

    data = load_data(coco(tmp_path, images=[IMAGE, IMAGE | {"id": 2, "file_name": "b.png"}]))
    (tmp_path / "groups.csv").write_text(text, encoding="utf-8")
    return with_groups(data, tmp_path / "groups.csv").attributes["site"].tolist()


def test_a_table_of_groups_may_have_semicolons_a_mark_and_a_line_twice(tmp_path: Path) -> None:
    assert groups_of(tmp_path, "\ufeffimage;site\na.png;s 1\n\nb.png;s2\na.png;s 1\n") == ["s 1", "s2"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [("a.png,s1\nb.png,s2\na.png,s9\n", "in two groups, 's1' and 's9'"), ("a.png,s1\nb.png,\n", "line 3 must hold")],
)
def test_a_picture_in_two_groups_or_in_none_is_refused(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        groups_of(tmp_path, "image,site\n" + lines)


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    from snellen.core.errors import SpecError
    from snellen.datasets.split import split_data
    from snellen.datasets.write import write_data

    data = load_data(coco(tmp_path / "in", images=[IMAGE, IMAGE | {"id": 2, "file_name": "b.png"}]))
    result = split_data(data, ratios={"../x": 0.5, "b": 0.5})
    with pytest.raises(SpecError, match=r"'\.\./x'"):
        write_data(result.dataset, tmp_path / "deep/out", format="coco")
    assert not (tmp_path / "deep").exists()


def test_a_folder_of_pictures_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder of pictures"):
        load_data(coco(tmp_path), images=tmp_path / "gone")


@pytest.mark.parametrize("name", ["images/a.png", "x/images/y/a.png", "Images/a.png"])
def test_labels_are_written_where_readers_of_yolo_look(tmp_path: Path, name: str) -> None:
    from snellen.datasets.write import write_data

    folder = coco(tmp_path / "in", images=[IMAGE | {"file_name": name}])
    picture(folder / name)
    write_data(load_data(folder), tmp_path / "out", format="yolo")
    again = load_data(tmp_path / "out")
    assert again.truth.images == (name,)
    np.testing.assert_allclose(again.truth.boxes, [[1, 2, 11, 12]])


def test_what_a_repair_brings_to_light_is_repaired_too(tmp_path: Path) -> None:
    from snellen.doctor.repair import repair

    beyond = coco(tmp_path / "1", images=[IMAGE | {"width": "40"}], annotations=[BOX | {"bbox": [1, 2, 100, 5]}])
    done = repair(examine(beyond), tmp_path / "1m").done
    assert {"size-missing", "leaving-box"} <= set(done)
    np.testing.assert_allclose(load_data(tmp_path / "1m").truth.boxes, [[1, 2, 40, 7]])
    twice = wade(tmp_path / "2", RECORD, RECORD)
    assert "repeated-box" in repair(examine(twice), tmp_path / "2m").done
    assert len(load_data(tmp_path / "2m").truth) == 1


def test_two_folders_of_one_name_keep_their_pictures_apart(tmp_path: Path) -> None:
    for part in "ab":
        yolo(tmp_path / part)
    (tmp_path / "data.yaml").write_text("train: [a/images, b/images]\nnames: [cat, dog]\n")
    data = load_data(tmp_path)
    assert data.truth.images == ("a/images/a.png", "b/images/a.png")
    assert codes(tmp_path) == {"same-picture"}


def test_a_part_that_is_another_one_again_is_told(tmp_path: Path) -> None:
    assert codes(yolo(tmp_path, yaml="train: images\nval: images\nnames: [cat, dog]\n")) == {"part-repeats"}


def darknet(folder: Path, names: str, classes: str = "2") -> Path:
    picture(folder / "data/a.png")
    (folder / "data/a.txt").write_text("1 .5 .5 .2 .2\n")
    (folder / "obj.names").write_text(names)
    (folder / "train.txt").write_text("data/a.png\n")
    (folder / "obj.data").write_text(f"classes = {classes}\ntrain = train.txt\nvalid = gone.txt\nnames = obj.names\n")
    return folder


def test_darknet_files_are_held_to_what_they_say(tmp_path: Path) -> None:
    assert load_data(darknet(tmp_path / "1", "cat\ndog\n\n")).classes == ("cat", "dog")
    assert codes(tmp_path / "1") == {"missing-part"}
    with pytest.raises(DataError, match="classes is 3, but there are 2 names"):
        load_data(darknet(tmp_path / "2", "cat\ndog\n", "3"))
    with pytest.raises(DataError, match="line 2 of the class names is blank"):
        load_data(darknet(tmp_path / "3", "cat\n\ndog\n", "3"))
    (tmp_path / "1/obj.names").unlink()
    with pytest.raises(DataError, match=r"obj\.names, are not there"):
        load_data(tmp_path / "1")


def test_doctor_asks_of_which_part_predictions_are(tmp_path: Path) -> None:
    from snellen.core.errors import SpecError

    for part in ("train", "test"):
        coco(tmp_path / part)
    (tmp_path / "dt.json").write_text(json.dumps([BOX | {"score": 0.5}]))
    with pytest.raises(SpecError, match="train, test: say which with --split"):
        examine(tmp_path, predictions=tmp_path / "dt.json")
    assert examine(tmp_path, predictions=tmp_path / "dt.json", split="test").parts


NAMES = (
    "a.png",
    "sub dir/é ü.png",
    "100%25.png",
    "x.y.z.png",
    "images/q.png",
    "河/川.png",
    "it's #1.png",
    " lead.png",
    "UP.PNG",
)


@pytest.mark.parametrize("form", ["coco", "yolo", "voc", "wade"])
def test_pictures_and_classes_of_odd_names_go_there_and_back(tmp_path: Path, form: str) -> None:
    from snellen.datasets.write import write_data

    for name in NAMES:
        picture(tmp_path / "in" / name)
    images = [IMAGE | {"id": i, "file_name": name} for i, name in enumerate(NAMES, 1)]
    boxes = [
        BOX | {"id": i, "image_id": i, "category_id": 1 + i % 2, "bbox": [i, 2.5, 10.25, 9]}
        for i in range(1, len(NAMES) + 1)
    ]
    classes = [CAT | {"name": "no"}, {"id": 2, "name": 'a, b "c" & <d> 🍾'}]
    data = load_data(coco(tmp_path / "in", images=images, annotations=boxes, categories=classes))
    written = write_data(data, tmp_path / "out", format=form)  # type: ignore[arg-type]
    again = load_data(tmp_path / "out")

    def rows(found: Any) -> list[Any]:
        truth = found.truth
        labels = [truth.classes[i] for i in truth.label.tolist()]
        return sorted(
            zip([truth.images[i] for i in truth.image.tolist()], labels, truth.boxes.round(6).tolist(), strict=True)
        )

    assert rows(again) == rows(data)
    assert {finding.code for finding in written.findings} <= {"not-carried"}


def test_a_folder_that_may_not_be_read_is_told_unless_it_is_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    from snellen.datasets.names import walk

    scandir = os.scandir

    def guarded(place: Any) -> Any:
        if Path(place).name in {"closed", "lost+found"}:  # root, which tests may run as, reads everything
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    (tmp_path / "lost+found").mkdir()
    (tmp_path / "a.png").touch()
    monkeypatch.setattr(os, "scandir", guarded)
    assert list(walk(tmp_path)) == ["a.png"]
    (tmp_path / "closed").mkdir()
    with pytest.raises(DataError, match=r"folder cannot be read: Permission denied: .*closed"):
        list(walk(tmp_path))
