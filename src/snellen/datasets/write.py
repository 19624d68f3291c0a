"""Writes a data set as COCO, YOLO, VOC or WADE, and says what the format cannot carry."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from snellen.core.boxes import BoxNotation
from snellen.core.detections import Int
from snellen.core.errors import DataError, SpecError, unknown
from snellen.core.pictures import Size
from snellen.datasets.classfile import NAME
from snellen.datasets.coco import KNOWN
from snellen.datasets.dataset import Dataset
from snellen.datasets.findings import Finding, counted, kept, listed
from snellen.datasets.wade import NOTATION


@dataclass(frozen=True)
class Written:
    """What was written: the folder, images and boxes by part, and what could not be carried."""

    folder: Path
    parts: Mapping[str, tuple[int, int]]
    findings: tuple[Finding, ...]


def write_data(
    dataset: Dataset,
    out: str | Path,
    *,
    format: str,
    pictures: Literal["copy", "link", "none"] = "copy",
) -> Written:
    """Writes `dataset` into the new folder `out`, a part for each value of its attribute `split`.

    format: coco, yolo, voc or wade. pictures: copy the files, link to them, or leave them. DataError where the folder
    holds something already or two pictures would share a label file.
    """
    if format not in WRITERS:
        raise unknown("format to write", format, WRITERS)
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"the folder must be new or empty: {folder}")
    writer = WRITERS[format]
    parts = _parts(dataset, apart=format != "voc")
    strange = [name for name in parts if name in {".", ".."} or {*name} & {*"/\\\0"}]
    if strange:
        raise SpecError(f"a part's name is that of a folder, got {strange[0]!r}")
    lost = writer.lost(dataset)
    folder.mkdir(parents=True, exist_ok=True)
    absent = []
    for name, part in parts.items():
        writer.write(part, folder, name)
        if pictures != "none":
            place = folder.joinpath(*(name if step == "{part}" else step for step in writer.place))
            absent += _copy(part, place, link=pictures == "link")
    writer.finish(dataset, folder, list(parts))
    if dataset.class_file is not None:
        dataset.class_file.write(folder / NAME)
    if absent:
        text = f"{counted(len(absent), 'pictures are')} not there, so not copied: {listed(absent)}"
        lost.append(Finding("missing-picture", "warning", text, len(absent), str(dataset.source), kept(absent)))
    return Written(folder, {name: (len(part), len(part.truth)) for name, part in parts.items()}, tuple(lost))


def parts_of(dataset: Dataset) -> dict[str, Int]:
    """Part -> image indices, in order of first appearance; one part "" without an attribute `split`."""
    if "split" not in dataset.attributes:
        return {"": np.arange(len(dataset))}
    column = dataset.attributes["split"]
    return {str(name): np.flatnonzero(column == name) for name in dict.fromkeys(column.tolist())}


def _parts(dataset: Dataset, *, apart: bool) -> dict[str, Dataset]:
    """The parts, their images named without the part in front, which its folder says.

    Where the parts' pictures lie in one folder (not `apart`) the part stays in front, should names meet.
    """
    parts = {name: dataset.take(rows) for name, rows in parts_of(dataset).items()}
    bare = {
        name: tuple(_inside(image.removeprefix(f"{name}/")) for image in part.truth.images)
        for name, part in parts.items()
    }
    every = [Path(image).with_suffix("") for images in bare.values() for image in images]
    if not apart and len(parts) > 1 and len(set(every)) < len(every):
        return parts
    return {name: replace(part, truth=replace(part.truth, images=bare[name])) for name, part in parts.items()}


def _inside(name: str) -> str:
    """A picture's name as a path that stays in the folder; DataError where it leads out."""
    path = name.lstrip("/")
    if ".." in Path(path).parts or not path:
        raise DataError(f"the picture's name leads out of the folder: {name!r}")
    return path


def _copy(part: Dataset, folder: Path, *, link: bool) -> list[str]:
    absent = []
    for name, picture in zip(part.truth.images, part.pictures, strict=True):
        target = folder / name
        if picture.path is None or not picture.path.is_file():
            absent.append(name)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if link:
            target.symlink_to(picture.path.resolve())
        else:
            shutil.copyfile(picture.path, target)
    return absent


def rows_by_image(part: Dataset) -> Iterator[tuple[str, Size, Int]]:
    """`(image, size, rows)` of every image."""
    order = np.argsort(part.truth.image, kind="stable")
    starts = np.searchsorted(part.truth.image[order], np.arange(len(part) + 1))
    for i, name in enumerate(part.truth.images):
        yield name, part.pictures[i].upright_size(), order[starts[i] : starts[i + 1]]


# COCO


def _write_coco(part: Dataset, folder: Path, name: str) -> None:
    top = folder / name
    top.mkdir(parents=True, exist_ok=True)
    same = part.format == "coco"
    image_ids = _fresh(part.image_ids, len(part))
    category_ids = _fresh(part.category_ids, len(part.classes))
    ids = _fresh(part.annotation_ids, len(part.truth), zero=False)
    attributes = list(part.attributes.rows()) or [{}] * len(part)
    images = []
    for i, (file, picture) in enumerate(zip(part.truth.images, part.pictures, strict=True)):
        size = picture.upright_size() if picture.size or (picture.path and picture.path.is_file()) else None
        note = part.image_notes[i] if same and part.image_notes else {}
        entry = {**note, "id": image_ids[i], "file_name": file}
        entry |= {"width": size.width, "height": size.height} if size else {}
        if part.known is not None:
            entry[KNOWN] = [category_ids[k] for k in np.flatnonzero(part.known[i]).tolist()]
        said = {key: value for key, value in attributes[i].items() if key != "split" and key not in note}
        said = {**(note.get("attributes") or {}), **said}
        images.append(entry | ({"attributes": said} if said else {}))
    class_notes = part.class_notes if same and part.class_notes else ({},) * len(part.classes)
    categories = [
        {"supercategory": "", **note, "id": key, "name": label}
        for key, label, note in zip(category_ids, part.classes, class_notes, strict=True)
    ]
    rest = part.extras if same else {}
    whole = {
        **rest,
        "images": images,
        "categories": categories,
        "annotations": list(_annotations(part, ids, image_ids, category_ids)),
    }
    (top / "_annotations.coco.json").write_bytes(orjson.dumps(whole, option=orjson.OPT_NON_STR_KEYS))


def _annotations(
    part: Dataset, ids: Sequence[Any], image_ids: Sequence[Any], category_ids: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    truth = part.truth
    boxes = np.column_stack([truth.boxes[:, :2], truth.boxes[:, 2:] - truth.boxes[:, :2]]).tolist()
    columns = (truth.image.tolist(), truth.label.tolist(), truth.area.tolist(), truth.crowd.tolist())
    for i, (image, label, area, crowd) in enumerate(zip(*columns, strict=True)):
        note = dict(part.notes[i]) if part.notes else {}
        if part.format != "coco" and note:
            note = {"attributes": note}
        yield {
            **note,
            "id": ids[i],
            "image_id": image_ids[image],
            "category_id": category_ids[label],
            "bbox": boxes[i],
            "area": area,
            "iscrowd": int(crowd),
        }


def _fresh(ids: Sequence[Any] | Int, n: int, *, zero: bool = True) -> Sequence[Any]:
    """The ids where they are all there and different (and, without `zero`, none is 0); else 1 to n."""
    known = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(known) == n == len(set(map(str, known))) and (zero or not {0, "0"} & set(known)):
        return known
    return range(1, n + 1)


def _lost_coco(dataset: Dataset) -> list[Finding]:
    return []


# YOLO


def _write_yolo(part: Dataset, folder: Path, name: str) -> None:
    top = folder / name
    notation = BoxNotation("cxcywh", 1)
    taken: dict[Path, str] = {}
    for file, size, rows in rows_by_image(part):
        target = top / _labels_of(file)
        if taken.setdefault(target, file) != file:
            raise DataError(f"pictures {taken[target]!r} and {file!r} would share one label file")
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = rows[~part.truth.crowd[rows]]
        numbers = notation.encode(part.truth.boxes[rows], size=size)
        inside = ((numbers[:, :2] >= 0) & (numbers[:, :2] <= 1) & (numbers[:, 2:] <= 1)).all(axis=1)
        lines = [
            f"{label} " + " ".join(repr(value) for value in box)
            for label, box in zip(part.truth.label[rows][inside].tolist(), numbers[inside].tolist(), strict=True)
        ]
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _labels_of(file: str) -> Path:
    """Where the labels of `images/file` lie: as YOLO's readers do, the last folder `images` becomes `labels`."""
    steps = Path("images", file).with_suffix(".txt").parts
    last = max(i for i, step in enumerate(steps[:-1]) if step.casefold() == "images")
    return Path(*steps[:last], "labels", *steps[last + 1 :])


def _finish_yolo(dataset: Dataset, folder: Path, parts: Sequence[str]) -> None:
    import yaml

    keys = {"valid": "val", "validation": "val"}
    whole: dict[str, Any] = {"path": "."} | {keys.get(p, p) or "train": f"{p}/images" if p else "images" for p in parts}
    whole |= {"nc": len(dataset.classes), "names": list(dataset.classes)}
    (folder / "data.yaml").write_text(yaml.safe_dump(whole, allow_unicode=True, sort_keys=False), encoding="utf-8")


def _lost_yolo(dataset: Dataset) -> list[Finding]:
    truth = dataset.truth
    outside = []
    for file, size, rows in rows_by_image(dataset):
        centre = (truth.boxes[rows, :2] + truth.boxes[rows, 2:]) / 2
        sides = truth.boxes[rows, 2:] - truth.boxes[rows, :2]
        bad = ((centre < 0) | (centre > size) | (sides > size)).any(axis=1) & ~truth.crowd[rows]
        outside += [file] * int(bad.sum())
    return _unsaid(
        dataset,
        ("crowd regions (left out)", int(truth.crowd.sum())),
        ("boxes whose centre or size is outside the picture (left out)", len(outside)),
        ("areas that are not width x height", _own_areas(dataset)),
        ("values known per instance", len(dataset.notes)),
        ("attributes of pictures", _attributes(dataset)),
    )


# Pascal VOC


def _write_voc(part: Dataset, folder: Path, name: str) -> None:
    stems = []
    for file, size, rows in rows_by_image(part):
        stem = Path(file).with_suffix("").as_posix()
        target = folder / "Annotations" / f"{stem}.xml"
        if target.exists():
            raise DataError(f"two pictures would share the annotation file {stem}.xml, one is {file!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        root = ET.Element("annotation")
        ET.SubElement(root, "filename").text = file
        sides = ET.SubElement(root, "size")
        for key, value in (("width", size.width), ("height", size.height), ("depth", 3)):
            ET.SubElement(sides, key).text = str(value)
        for row in rows.tolist():
            _object(root, part, row)
        ET.indent(root)
        target.write_bytes(ET.tostring(root, encoding="utf-8"))
        stems.append(stem)
    lists = folder / "ImageSets" / "Main"
    lists.mkdir(parents=True, exist_ok=True)
    (lists / f"{VOC_PARTS.get(name, name)}.txt").write_text("".join(f"{s}\n" for s in stems), encoding="utf-8")


VOC_PARTS = {"": "train", "valid": "val", "validation": "val"}
"""VOC's names of parts."""


def _object(root: ET.Element, part: Dataset, row: int) -> None:
    thing = ET.SubElement(root, "object")
    ET.SubElement(thing, "name").text = part.classes[int(part.truth.label[row])]
    note = part.notes[row] if part.notes and part.format == "voc" else {}
    for key in ("pose", "truncated", "occluded"):
        if key in note:
            ET.SubElement(thing, key).text = str(note[key])
    ET.SubElement(thing, "difficult").text = str(int(part.truth.crowd[row]))
    box = ET.SubElement(thing, "bndbox")
    for key, value in zip(("xmin", "ymin", "xmax", "ymax"), part.truth.boxes[row].tolist(), strict=True):
        ET.SubElement(box, key).text = repr(int(value) if value == int(value) else value)


def _finish_voc(dataset: Dataset, folder: Path, parts: Sequence[str]) -> None:
    lines = ["# label:color_rgb:parts:actions", *(f"{name}:::" for name in dataset.classes)]
    (folder / "labelmap.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _lost_voc(dataset: Dataset) -> list[Finding]:
    return _unsaid(
        dataset,
        ("crowd regions (written as difficult)", int(dataset.truth.crowd.sum()) if dataset.format != "voc" else 0),
        ("areas that are not width x height", _own_areas(dataset)),
        ("values known per instance", len(dataset.notes) if dataset.format != "voc" else 0),
        ("attributes of pictures", _attributes(dataset)),
        ("class names with a colon", sum(":" in name for name in dataset.classes)),
    )


# WADE


def _write_wade(part: Dataset, folder: Path, name: str) -> None:
    attributes = list(part.attributes.rows()) or [{}] * len(part)
    with (folder / f"{name or 'records'}.jsonl").open("wb") as out:
        for i, (file, size, rows) in enumerate(rows_by_image(part)):
            rows = rows[~part.truth.crowd[rows]]
            boxes = NOTATION.encode(part.truth.boxes[rows], size=size).tolist()
            instances = [
                {
                    **(part.notes[row] if part.notes else {}),
                    "label": part.classes[int(part.truth.label[row])],
                    "box": box,
                }
                for row, box in zip(rows.tolist(), boxes, strict=True)
            ]
            said = {key: value for key, value in attributes[i].items() if key != "split"}
            record = {
                "image": file,
                "width": size.width,
                "height": size.height,
                "attributes": said,
                "instances": instances,
            }
            out.write(orjson.dumps(record) + b"\n")


def _finish_wade(dataset: Dataset, folder: Path, parts: Sequence[str]) -> None:
    from snellen.datasets.classfile import of_names

    if dataset.class_file is None:
        of_names(dataset.classes).write(folder / NAME)


def _lost_wade(dataset: Dataset) -> list[Finding]:
    return _unsaid(
        dataset,
        ("crowd regions (left out)", int(dataset.truth.crowd.sum())),
        ("areas that are not width x height", _own_areas(dataset)),
    )


def _own_areas(dataset: Dataset) -> int:
    sides = dataset.truth.boxes[:, 2:] - dataset.truth.boxes[:, :2]
    return int((~np.isclose(dataset.truth.area, sides[:, 0] * sides[:, 1])).sum())


def _attributes(dataset: Dataset) -> int:
    return len([name for name in dataset.attributes.names if name != "split"])


def _unsaid(dataset: Dataset, *rows: tuple[str, int]) -> list[Finding]:
    unknown = 0 if dataset.known is None else int((~dataset.known).sum())
    rows = (*rows, ("marks that a class is not known in an image", unknown))
    return [
        Finding("not-carried", "warning", f"the format cannot carry {count:,} {what}", count, str(dataset.source))
        for what, count in rows
        if count
    ]


def _nothing(dataset: Dataset, folder: Path, parts: Sequence[str]) -> None:
    """No file for the whole."""


@dataclass(frozen=True)
class Writer:
    """write(part, folder, name), finish(dataset, folder, parts): the files of a part and of the whole. place: where
    the pictures of a part go. lost: what the format cannot carry.
    """

    write: Callable[[Dataset, Path, str], None]
    finish: Callable[[Dataset, Path, Sequence[str]], None]
    place: tuple[str, ...]
    lost: Callable[[Dataset], list[Finding]]


WRITERS: Mapping[str, Writer] = {
    "coco": Writer(_write_coco, _nothing, ("{part}",), _lost_coco),
    "yolo": Writer(_write_yolo, _finish_yolo, ("{part}", "images"), _lost_yolo),
    "voc": Writer(_write_voc, _finish_voc, ("JPEGImages",), _lost_voc),
    "wade": Writer(_write_wade, _finish_wade, ("{part}",), _lost_wade),
}
"""Every format that can be written."""
