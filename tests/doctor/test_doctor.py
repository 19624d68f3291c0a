"""The doctor finds every planted fault, says what it costs and mends it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from examined import by_code, errors
from snellen.cli.app import main
from snellen.core.errors import DataError
from snellen.core.pictures import Header, Size
from snellen.datasets.load import load_data
from snellen.doctor.examine import examine
from snellen.doctor.mend import turned
from snellen.doctor.repair import repair

Coco = dict[str, Any]


def clean(folder: Path, *, n: int = 4) -> Coco:
    """A sound set of n pictures with two boxes each, pictures beside it."""
    rng = np.random.default_rng(5)
    images, annotations = [], []
    for i in range(n):
        small = Image.fromarray(rng.integers(0, 256, size=(6, 8, 3), dtype=np.uint8))
        small.resize((80, 60), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg", quality=95)
        images.append({"id": i + 1, "file_name": f"{i}.jpg", "width": 80, "height": 60})
        for j in range(2):
            box = [5 + 30 * j, 5 + i, 20, 25]
            annotations.append(
                {"id": 2 * i + j + 1, "image_id": i + 1, "category_id": j + 1, "bbox": box, "area": 500, "iscrowd": 0}
            )
    categories = [{"id": 1, "name": "bottle", "supercategory": "x"}, {"id": 2, "name": "can", "supercategory": "x"}]
    return {"images": images, "annotations": annotations, "categories": categories}


def save(folder: Path, whole: Coco) -> Path:
    (folder / "gt.json").write_text(json.dumps(whole))
    return folder / "gt.json"


def plant(code: str) -> Callable[[Callable[[Coco, Path], None]], Callable[[Coco, Path], None]]:
    def add(function: Callable[[Coco, Path], None]) -> Callable[[Coco, Path], None]:
        PLANTS[code] = function
        return function

    return add


PLANTS: dict[str, Callable[[Coco, Path], None]] = {}


@plant("annotation-id-zero")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["id"] = 0


@plant("duplicate-annotation-id")
def _(w: Coco, f: Path) -> None:
    w["annotations"][3]["id"] = 1


@plant("duplicate-image-id")
def _(w: Coco, f: Path) -> None:
    w["images"][1]["id"] = 1
    w["annotations"] = [a for a in w["annotations"] if a["image_id"] != 2]


@plant("text-for-number")
def _(w: Coco, f: Path) -> None:
    w["annotations"][2]["image_id"] = "2"


@plant("unknown-image")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["image_id"] = 99


@plant("unknown-category")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["category_id"] = 99


@plant("unused-root-category")
def _(w: Coco, f: Path) -> None:
    w["categories"].insert(0, {"id": 0, "name": "x", "supercategory": "none"})


@plant("non-finite-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [float("nan"), 1, 2, 3]


@plant("malformed-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [1, 2, 3]


@plant("inverted-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [25, 30, -20, -25]


@plant("zero-area-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [5, 5, 0, 20]


@plant("outside-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [100, 5, 10, 20]


@plant("leaving-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"][0]["bbox"] = [60, 5, 60, 20]


@plant("repeated-box")
def _(w: Coco, f: Path) -> None:
    w["annotations"].append({**w["annotations"][0], "id": 77})


@plant("colliding-classes")
def _(w: Coco, f: Path) -> None:
    w["categories"][1]["name"] = "Bottle."


@plant("size-differs")
def _(w: Coco, f: Path) -> None:
    w["images"][0] |= {"width": 160, "height": 120}


@plant("missing-picture")
def _(w: Coco, f: Path) -> None:
    (f / "0.jpg").unlink()


@plant("unreadable-picture")
def _(w: Coco, f: Path) -> None:
    data = (f / "0.jpg").read_bytes()
    (f / "0.jpg").write_bytes(data[: len(data) // 2])


@plant("orientation")
def _(w: Coco, f: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(f / "0.jpg").save(f / "0.jpg", exif=exif)


NO_EFFECT = {"duplicate-image-id"}


def test_a_sound_set_has_no_finding(tmp_path: Path) -> None:
    found = examine(save(tmp_path, clean(tmp_path)))
    assert found.findings == []


@pytest.mark.parametrize("code", PLANTS)
def test_a_planted_fault_is_found_alone_with_what_it_costs_and_mended(tmp_path: Path, code: str) -> None:
    whole = clean(tmp_path)
    PLANTS[code](whole, tmp_path)
    found = examine(save(tmp_path, whole))
    codes = by_code(found)
    assert code in codes
    assert errors(found) <= {code}
    ((_, told),) = codes[code]
    if code not in NO_EFFECT:
        (effect,) = told
        assert effect.ap[1] == 1.0
        assert effect.ap[0] < 1.0
    if code in {"colliding-classes"}:
        with pytest.raises(DataError, match="needs a decision"):
            repair(found, tmp_path / "new")
        return
    done = repair(found, tmp_path / "new")
    again = examine(done.written.folder)
    if code == "size-differs":  # which frame the boxes are in, no rule can know
        assert [finding.code for finding in done.left] == [code]
        return
    assert code in done.done
    assert errors(again) == set()
    assert not {f.code for _, f, _ in again.findings if f.severity == "warning"}
    assert load_data(done.written.folder)


def test_ids_of_the_other_kind_are_named_and_cost_what_tools_that_compare_them_leave_out(tmp_path: Path) -> None:
    whole = clean(tmp_path)
    PLANTS["text-for-number"](whole, tmp_path)
    ((finding, (effect,)),) = by_code(examine(save(tmp_path, whole)))["text-for-number"]
    assert finding.examples == ("annotation 3",)
    assert "pycocotools" in effect.among
    assert effect.f1 == pytest.approx((2 * 7 / 15, 1.0))


def test_classes_that_collide_are_a_finding_beside_instructions_too(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    whole = clean(tmp_path / "train")
    whole["categories"][1]["name"] = "Bottle "
    (tmp_path / "train" / "_annotations.coco.json").write_text(json.dumps(whole))
    section = "## bottle\n### Instructions\n[Add instructions here]\n"
    (tmp_path / "README.dataset.txt").write_text(f"# Object Classes\n{section}")
    codes = by_code(examine(tmp_path))
    assert "colliding-classes" in codes
    ((held, _),) = codes["instructions-placeholder"]
    assert held.examples == ("bottle ('[Add instructions here]')",)
    (tmp_path / "classes.yaml").write_text("classes: [{name: bottle}]\n")
    assert "colliding-classes" in by_code(examine(tmp_path))


def test_a_turned_photo_is_mended_by_turning_its_boxes(tmp_path: Path) -> None:
    whole = clean(tmp_path)
    PLANTS["orientation"](whole, tmp_path)
    done = repair(examine(save(tmp_path, whole)), tmp_path / "new")
    data = load_data(done.written.folder)
    first = next(sample for sample in data.samples() if sample.id == "0.jpg")
    assert first.pictures[0].upright_size() == (60, 80)
    assert first.truth.boxes.tolist()[0] == [30, 5, 55, 25]  # x1 = 60 - (5 + 25), y1 = 5


@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_turn_as_pixels_do(orientation: int) -> None:
    image = Image.new("L", (30, 20))
    image.paste(255, (3, 5, 10, 9))
    exif = Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    image.save(buffer, "PNG", exif=exif)
    from snellen.core.pictures import decode

    shown = np.asarray(decode(buffer.getvalue(), name="x"))[..., 0]
    rows, columns = np.nonzero(shown)
    expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert turned(np.array([[3.0, 5, 10, 9]]), Header(Size(30, 20), orientation, "L")).tolist() == [expected]


def test_the_same_picture_in_two_parts_is_an_error_and_in_one_a_warning(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        whole = clean(tmp_path / part)
        (tmp_path / part / "_annotations.coco.json").write_text(json.dumps(whole))
    rng = np.random.default_rng(9)
    for i in range(1, 4):  # the parts share picture 0 alone; picture 1 of the test is picture 2 of the train, re-saved
        noise = Image.fromarray(rng.integers(0, 256, size=(6, 8, 3), dtype=np.uint8))
        noise.resize((80, 60), Image.Resampling.BICUBIC).save(tmp_path / "test" / f"{i}.jpg")
    Image.open(tmp_path / "train/2.jpg").save(tmp_path / "test/1.jpg", quality=50)
    (tmp_path / "train/3.jpg").write_bytes((tmp_path / "train/1.jpg").read_bytes())
    codes = by_code(examine(tmp_path))
    assert codes["same-picture-in-two-parts"][0][0].examples == ("train/0.jpg = test/0.jpg",)
    assert codes["similar-picture-in-two-parts"][0][0].examples == ("train/2.jpg = test/1.jpg",)
    assert codes["same-picture"][0][0].examples == ("train/1.jpg = train/3.jpg",)
    assert codes["same-picture-in-two-parts"][0][0].severity == "error"


def test_roboflow_copies_of_one_picture_in_two_parts_are_seen_by_name(tmp_path: Path) -> None:
    for part, key in (("train", "0a1b2c3d4e5f"), ("test", "ffee11223344")):
        (tmp_path / part).mkdir()
        images = [{"id": 1, "file_name": f"IMG_1_jpg.rf.{key}.jpg", "width": 9, "height": 9}]
        whole = {"images": images, "annotations": [], "categories": [{"id": 1, "name": "a"}]}
        (tmp_path / part / "_annotations.coco.json").write_text(json.dumps(whole))
    assert "same-source-in-two-parts" in by_code(examine(tmp_path))


def test_parts_with_other_classes_are_an_error(tmp_path: Path) -> None:
    for part, names in (("train", ("a", "b")), ("test", ("a", "c"))):
        (tmp_path / part).mkdir()
        images = [{"id": 1, "file_name": "x.jpg", "width": 9, "height": 9}]
        categories = [{"id": k, "name": n} for k, n in enumerate(names, 1)]
        whole = {"images": images, "annotations": [], "categories": categories}
        (tmp_path / part / "_annotations.coco.json").write_text(json.dumps(whole))
    ((finding, _),) = by_code(examine(tmp_path))["classes-differ"]
    assert finding.examples == ("b", "c")


def test_given_predictions_are_scored_with_and_without(shared: Path) -> None:
    found = examine(
        shared / "data/coco_val2014_100/instances_val2014_100.json",
        predictions=shared / "data/coco_val2014_100/instances_val2014_fakebbox100_results.json",
    )
    assert errors(found) == set()
    found = examine(shared / "cases/files/unknown_cat/gt.json", predictions=shared / "cases/files/unknown_cat/dt.json")
    assert found.counts["errors"] == 0


def test_given_predictions_lose_what_a_fault_takes(tmp_path: Path) -> None:
    whole = clean(tmp_path)
    PLANTS["zero-area-box"](whole, tmp_path)
    path = save(tmp_path, whole)
    rows = [
        {"image_id": a["image_id"], "category_id": a["category_id"], "bbox": a["bbox"], "score": 0.9}
        for a in whole["annotations"][1:]
    ]
    (tmp_path / "dt.json").write_text(json.dumps(rows))
    ((_, told),) = by_code(examine(path, predictions=tmp_path / "dt.json"))["zero-area-box"]
    effects = {effect.of: effect for effect in told}
    assert set(effects) == {"perfect", "given"}
    assert effects["given"].f1 == pytest.approx((2 * 7 / (7 + 8), 1.0))


def test_yolo_faults_are_listed_by_file_and_line(tmp_path: Path) -> None:
    for folder in ("images", "labels"):
        (tmp_path / folder).mkdir()
    Image.new("RGB", (20, 10), (200, 10, 10)).save(tmp_path / "images/a.png")
    (tmp_path / "labels/a.txt").write_text("0 .5 .5 .2 .2\n0 nan .5 .2 .2\n0 .5 .5 .2 .2\n")
    (tmp_path / "labels/classes.txt").write_text("x\n")
    (tmp_path / "labels/b.txt").write_text("0 .5 .5 .2 .2\n")
    codes = by_code(examine(tmp_path))
    assert "line 2: 'nan' is not a finite number" in codes["malformed-line"][0][0].message
    assert "labels/b.txt" in codes["label-without-picture"][0][0].message
    assert codes["repeated-box"][0][0].count == 1
    done = repair(examine(tmp_path), tmp_path / "new")
    assert done.written.parts == {"": (1, 1)}


def test_repairs_go_to_a_new_place_only(tmp_path: Path) -> None:
    path = save(tmp_path, clean(tmp_path))
    before = path.read_bytes()
    with pytest.raises(DataError, match="new or empty"):
        repair(examine(path), tmp_path)
    assert path.read_bytes() == before


def cli(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *words])
    return int(ended.value.code or 0)


def test_the_exit_code_tells_errors_and_strict_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = save(tmp_path, clean(tmp_path))
    assert cli(str(sound), "--json") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    whole = clean(tmp_path)
    PLANTS["annotation-id-zero"](whole, tmp_path)
    warned = save(tmp_path, whole)
    assert cli(str(warned)) == 0
    assert "[annotation-id-zero]" in capsys.readouterr().out
    assert cli(str(warned), "--strict") == 1
    PLANTS["zero-area-box"](whole, tmp_path)
    assert cli(str(save(tmp_path, whole)), "--json", "--repair", str(tmp_path / "mended")) == 1
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["errors"] == 1
    assert set(told["repaired"]["done"]) == {"annotation-id-zero", "zero-area-box"}
    assert cli(str(tmp_path / "mended"), "--strict") == 0
    assert cli(str(tmp_path / "gone")) == 2


def test_a_turned_box_does_not_keep_an_outline_in_the_old_frame(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (100, 40)).save(tmp_path / "a.jpg", exif=exif)
    outline = {"segmentation": [[70, 8, 90, 8, 90, 16]], "keypoints": [75, 10, 2], "note": "kept"}
    whole = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 40}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [70, 8, 20, 8], "area": 160, **outline}],
        "categories": [{"id": 1, "name": "c"}],
    }
    (tmp_path / "_annotations.coco.json").write_text(json.dumps(whole))
    done = repair(examine(tmp_path), tmp_path / "new")
    (mended,) = json.loads((tmp_path / "new/_annotations.coco.json").read_text())["annotations"]
    assert mended["bbox"] == [24, 70, 8, 20]
    assert {"segmentation", "keypoints"}.isdisjoint(mended)
    assert mended["note"] == "kept"
    assert "outlines left out" in done.done["orientation"]
