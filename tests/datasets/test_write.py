"""What is written is read again as it was, or the writer says what it could not carry."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.detections import BoxTable
from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.tables import Table
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.datasets.write import WRITERS, write_data


def same(a: Dataset, b: Dataset, *, areas: bool = True) -> None:
    assert sorted(a.truth.images) == sorted(b.truth.images)
    assert a.classes == b.classes
    ours = {s.id: s for s in a.samples()}
    for theirs in b.samples():
        mine = ours[theirs.id]
        assert mine.truth.labels == theirs.truth.labels
        np.testing.assert_allclose(mine.truth.boxes, theirs.truth.boxes, rtol=0, atol=1e-9)
        assert mine.pictures[0].upright_size() == theirs.pictures[0].upright_size()
        if areas:
            np.testing.assert_allclose(mine.truth.areas, theirs.truth.areas)


D = "data/datumaro_formats/"
SETS = {
    "coco": (D + "coco_dataset/coco_instances", "all"),
    "coco roboflow": (D + "coco_dataset/coco_roboflow", "all"),
    "roboflow coco": (D + "roboflow_dataset/coco", "all"),
    "roboflow yolo": (D + "roboflow_dataset/yolo", "all"),
    "roboflow voc": (D + "roboflow_dataset/voc", "all"),
    "yolo strict": (D + "yolo_dataset/strict", None),
    "yolo labels": (D + "yolo_dataset/labels", "all"),
    "yolo annotations": (D + "yolo_dataset/annotations", None),
    "voc": (D + "voc_dataset/voc_dataset1", "all"),
    "voc of one part": (D + "voc_dataset/voc_dataset3", None),
    "bccd": ("data/bccd", "all"),
    "deeppcb": ("data/deeppcb_subset", None),
    "exif": ("cases/files/exif", None),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("format", WRITERS)
def test_real_sets_go_there_and_back(shared: Path, tmp_path: Path, name: str, format: str) -> None:
    place, split = SETS[name]
    before = load_data(shared / place, split=split)
    written = write_data(before, tmp_path / "out", format=format, pictures="link")
    after = load_data(tmp_path / "out", split="all")
    assert after.format == format
    lost = {finding.message for finding in written.findings}
    crowds = before.truth.crowd.any() and format in {"yolo", "wade"}
    if crowds:
        assert any("crowd" in text for text in lost)
        before = before.where(~before.truth.crowd)
    same(_bare(before), _bare(after), areas=not any("areas" in text for text in lost))


def _bare(data: Dataset) -> Dataset:
    """Names without the part: a format may call parts by other names (VOC has no `valid`)."""
    if "split" not in data.attributes:
        return data
    names = tuple(name.partition("/")[2] for name in data.truth.images)
    assert len(set(names)) == len(names) or len({*data.attributes["split"].tolist()}) > 1
    if all(name.startswith(f"{part}/") for name, part in zip(names, data.attributes["split"].tolist(), strict=True)):
        names = tuple(name.partition("/")[2] for name in names)  # VOC, where the parts' names meet
    keyed = tuple(f"{i}:{n}" for i, n in zip(_ranks(data), names, strict=True))
    return replace(data, truth=replace(data.truth, images=keyed))


def _ranks(data: Dataset) -> list[int]:
    parts = list(dict.fromkeys(data.attributes["split"].tolist()))
    return [parts.index(part) for part in data.attributes["split"].tolist()]


def test_coco_keeps_ids_segmentations_licences_and_attributes(shared: Path, tmp_path: Path) -> None:
    before = load_data(shared / "data/coco_val2014_100/instances_val2014_100.json", extras=True)
    write_data(before, tmp_path / "out", format="coco")
    theirs = json.loads((shared / "data/coco_val2014_100/instances_val2014_100.json").read_text())
    ours = json.loads((tmp_path / "out/_annotations.coco.json").read_text())
    assert ours["info"] == theirs["info"]
    assert ours["licenses"] == theirs["licenses"]
    assert ours["categories"] == theirs["categories"]
    assert ours["images"] == sorted(theirs["images"], key=lambda image: image["id"])
    for mine, other in zip(sorted(ours["annotations"], key=_id), sorted(theirs["annotations"], key=_id), strict=True):
        assert mine["bbox"] == pytest.approx(other["bbox"], abs=1e-9)
        assert {**mine, "bbox": 0} == {**other, "bbox": 0}


def _id(item: dict[str, Any]) -> int:
    return item["id"]


def test_ids_from_0_are_numbered_anew_where_they_harm(shared: Path, tmp_path: Path) -> None:
    before = load_data(shared / "data/roboflow_dry_wet_waste", split="test", extras=True)
    write_data(before, tmp_path / "out", format="coco", pictures="none")
    ours = json.loads((tmp_path / "out/_annotations.coco.json").read_text())
    assert min(item["id"] for item in ours["annotations"]) == 1
    assert [item["id"] for item in ours["images"]] == list(before.image_ids)
    assert [item["name"] for item in ours["categories"]] == ["dry waste", "wet waste"]
    again = load_data(tmp_path / "out", images=shared / "data/roboflow_dry_wet_waste/test")
    assert again.classes == before.classes
    assert not [f for f in again.findings if f.code in {"unused-root-category", "annotation-id-zero"}]


def test_crowds_that_a_format_lacks_are_said(shared: Path, tmp_path: Path) -> None:
    data = load_data(shared / "data/coco_val2014_100/instances_val2014_100.json")
    for format, words in (("yolo", "9 crowd regions (left out)"), ("wade", "9 crowd"), ("voc", "written as difficult")):
        written = write_data(data, tmp_path / format, format=format)
        assert any(words in finding.message for finding in written.findings)
        assert any(finding.code == "missing-picture" for finding in written.findings)
    assert load_data(tmp_path / "voc").truth.crowd.sum() == 9


def dataset(boxes: list[tuple[int, int, list[float]]], names: list[str], folder: Path) -> Dataset:
    table = BoxTable(
        tuple(names),
        ("b \u00e9", "a"),
        np.array([i for i, _, _ in boxes], dtype=np.int64),
        np.array([k for _, k, _ in boxes], dtype=np.int64),
        np.array([b for _, _, b in boxes], dtype=np.float64).reshape(-1, 4),
    )
    pictures = [Picture.from_file(folder / name, name=name, size=Size(80, 50)) for name in names]
    return Dataset("d", pictures, table, Table({"site": ["x", "y", "x"]}), "", "made", folder)


box = st.tuples(
    st.integers(0, 2),
    st.integers(0, 1),
    st.tuples(*[st.floats(0, 40, width=32)] * 2, *[st.floats(0.125, 9, width=32)] * 2),
)


@pytest.mark.parametrize("format", WRITERS)
@settings(max_examples=10, deadline=None)
@given(boxes=st.lists(box, max_size=12))
def test_any_boxes_go_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, format: str, boxes: list[tuple[int, int, tuple[float, ...]]]
) -> None:
    tmp = tmp_path_factory.mktemp("there")
    rows = sorted((i, k, [x, y, x + w, y + h]) for i, k, (x, y, w, h) in boxes)
    names = ["sub dir/a.png", "\u6cb3.png", "c.d.png"]
    for name in names:
        (tmp / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (80, 50)).save(tmp / name)
    before = dataset(rows, names, tmp)
    write_data(before, tmp / "out", format=format)
    same(before, load_data(tmp / "out"))


def test_two_pictures_that_would_share_a_label_file_are_refused(tmp_path: Path) -> None:
    for name in ("a.png", "a.jpg", "b.png"):
        Image.new("RGB", (80, 50)).save(tmp_path / name)
    data = dataset([], ["a.png", "a.jpg", "b.png"], tmp_path)
    for format in ("yolo", "voc"):
        with pytest.raises(DataError, match=r"a\.jpg.*share|share.*a\.jpg"):
            write_data(data, tmp_path / format, format=format)
    same(data, load_data(write_data(data, tmp_path / "coco", format="coco").folder))


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    data = dataset([], ["../a.png", "b.png", "c.png"], tmp_path)
    with pytest.raises(DataError, match="leads out"):
        write_data(data, tmp_path / "new", format="coco", pictures="none")
    absolute = dataset([], ["/etc/a.png", "b.png", "c.png"], tmp_path)
    write_data(absolute, tmp_path / "other", format="yolo")
    assert (tmp_path / "other/labels/etc/a.txt").is_file()


def test_a_folder_with_something_in_it_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    data = dataset([], ["a.png", "b.png", "c.png"], tmp_path)
    with pytest.raises(DataError, match="new or empty"):
        write_data(data, tmp_path, format="coco")
    with pytest.raises(SpecError, match="coco, voc, wade, yolo"):
        write_data(data, tmp_path / "new", format="kitti")
