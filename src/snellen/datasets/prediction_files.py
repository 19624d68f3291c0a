"""The files in which other tools leave predictions, read as rows: COCO results, ultralytics, YOLO txt, detectron2,
FiftyOne, supervision.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError, unknown
from snellen.datasets.json_stream import JsonStream
from snellen.datasets.names import walk
from snellen.datasets.number_rows import NumberRows, Numbers
from snellen.datasets.rows import Gathered, Rows, required
from snellen.datasets.text import delimiter, read_text
from snellen.datasets.yolo_layout import is_label_file
from snellen.datasets.yolo_lines import read_lines


def coco(path: Path) -> Rows:
    """COCO results: a list of {image_id, category_id, bbox xywh, score}, or a COCO file whose boxes have scores."""
    return _results(path).rows(("id", "name", "stem"), ("id", "name"))


def ultralytics(path: Path) -> Rows:
    """`predictions.json` of ultralytics' `val save_json=True`: image ids are file stems, numbers where they look so.

    Newer versions add `file_name`. Category ids count from 1, in older versions from 0.
    """
    return _results(path, names=True).rows(("stem", "name", "id"), ("id", "index0", "index1"))


def _results(path: Path, *, names: bool = False) -> Gathered:
    gathered = Gathered(path)
    met = False
    for key, items in JsonStream(path, rows=None if names else _NUMBERS, hashed=False):
        if key not in {"", "annotations"} or not isinstance(items, list | Numbers):
            continue
        met = True
        if isinstance(items, Numbers):
            gathered.add_numbers(items)
            continue
        required(items, ("image_id", "category_id", "bbox"), path, start=gathered.count)
        gathered.add(
            [item.get("file_name", item["image_id"]) if names else item["image_id"] for item in items],
            [item["category_id"] for item in items],
            [item["bbox"] for item in items],
            [item.get("score") for item in items],
        )
    if not met:
        raise DataError(f"results are a list of predictions, or an object with 'annotations': {path}")
    return gathered


_NUMBERS = NumberRows(("image_id", "category_id"), {"score": np.nan})
"""The usual rows of results."""


def detectron2(path: Path) -> Rows:
    """A pickled list of {image_id, instances: [{category_id from 0, bbox xywh, score}]}; also `.pth`.

    It is also the form of the Roboflow100-VL challenge. Read by a restricted unpickler.
    """
    from snellen.datasets.unpickle import read_pickle

    value = read_pickle(path)
    if not isinstance(value, list):
        raise DataError(f"a detectron2 file holds a list, got {type(value).__name__}: {path}")
    required(value, ("image_id", "instances"), path)
    gathered = Gathered(path)
    for entry in value:
        items = entry["instances"]
        required(items, ("category_id", "bbox"), path, start=gathered.count)
        gathered.add(
            [entry["image_id"]] * len(items),
            [item["category_id"] for item in items],
            [item["bbox"] for item in items],
            [item.get("score") for item in items],
        )
    return gathered.rows(("id", "name", "stem"), ("index0",))


def yolo(path: Path) -> Rows:
    """A folder of YOLO txt, `class cx cy w h [confidence]` in parts of the side (or polygons, with a confidence behind
    them); file stems name the pictures. Files that name classes are passed over.
    """
    gathered = Gathered(path)
    folder = path if path.is_dir() else path.parent
    files = [name for name in walk(folder) if is_label_file(name)] if path.is_dir() else [path.name]
    if not files:
        raise DataError(f"no txt files: {path}")
    for name in files:
        lines = read_lines(read_text(folder / name), kind="predictions")
        if lines.problems:
            raise DataError(f"{lines.problems[0]}: {folder / name}")
        gathered.add([name[:-4]] * len(lines.labels), lines.labels, lines.boxes, lines.scores)
    return gathered.rows(("stem",), ("index0",), order="cxcywh", unit=True)


def fiftyone(path: Path) -> Rows:
    """FiftyOne's exports: `{classes, labels: {name: [{label, bounding_box, confidence}]}}`, or `samples.json` with
    the first field of detections that have confidences. Boxes are `x y w h` in parts of the side.
    """
    parts: dict[str, Any] = {}
    for key, value in JsonStream(path):
        if isinstance(value, list):
            parts.setdefault(key, []).extend(value)
        else:
            parts[key] = value
    gathered = Gathered(path)
    doubts: tuple[str, ...] = ()
    if isinstance(parts.get("labels"), dict):
        found = [(name, entry or []) for name, entry in parts["labels"].items()]
    elif isinstance(parts.get("samples"), list):
        required(parts["samples"], ("filepath",), path)
        name, others = _field(parts["samples"])
        found = [(str(sample["filepath"]), _detections(sample, name)) for sample in parts["samples"]]
        if others:
            doubts = (f"the field {name!r} is read, {', '.join(map(repr, others))} are not",)
    else:
        raise DataError(f"a FiftyOne export has labels or samples, got {', '.join(parts) or 'nothing'}: {path}")
    classes = parts.get("classes") or []
    if not isinstance(classes, list):
        raise DataError(f"classes must be a list of names, got {str(classes)[:80]}: {path}")
    for name, items in found:
        required(items, ("label", "bounding_box"), path, start=gathered.count)
        labels = [
            classes[label] if type(label) is int and 0 <= label < len(classes) else label
            for label in (item["label"] for item in items)
        ]
        gathered.add(
            [name] * len(items), labels, [i["bounding_box"] for i in items], [i.get("confidence") for i in items]
        )
    return gathered.rows(("name", "stem"), ("name",), unit=True, doubts=doubts)


def _field(samples: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The field of all samples that is read (the first that has confidences), and others that have some too."""
    scored: dict[str, bool] = {}
    for sample in samples:
        for name, value in sample.items():
            items = value.get("detections") if isinstance(value, dict) else None
            if isinstance(items, list):
                sure = any(isinstance(i, dict) and i.get("confidence") is not None for i in items)
                scored[name] = scored.get(name, False) or sure
    with_scores = [name for name, sure in scored.items() if sure]
    chosen = next(iter(with_scores or scored), "")
    return chosen, [name for name in with_scores if name != chosen]


def _detections(sample: Mapping[str, Any], field: str) -> list[Any]:
    value = sample.get(field)
    items = value.get("detections") if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


IMAGE_COLUMNS = ("image", "image_name", "image_path", "file_name", "filename", "source", "image_id")
"""Columns of a supervision sink that may name the picture (custom data: the sink itself has none)."""


def supervision(path: Path) -> Rows:
    """What supervision's CSVSink or JSONSink wrote: x_min, y_min, x_max, y_max, class_id, confidence, and a column
    of custom data that names the picture (`image`, `file_name` ...).
    """
    if path.suffix == ".csv":
        text = read_text(path)
        items: list[dict[str, Any]] = [
            dict(row) for row in csv.DictReader(io.StringIO(text), delimiter=delimiter(text))
        ]
    else:
        items = [item for _, chunk in JsonStream(path) for item in chunk]
    required(items, ("x_min", "y_min", "x_max", "y_max"), path)
    gathered = Gathered(path)
    if items:
        column = next((name for name in IMAGE_COLUMNS if name in items[0]), None)
        if column is None:
            raise DataError(f"no column names the picture; one of {', '.join(IMAGE_COLUMNS)} is needed: {path}")
        named = bool(items[0].get("class_name"))
        gathered.add(
            [item[column] for item in items],
            [item["class_name"] if named else _whole(item.get("class_id"), i, path) for i, item in enumerate(items)],
            [[_number(item[k], i, path) for k in ("x_min", "y_min", "x_max", "y_max")] for i, item in enumerate(items)],
            [
                None if item.get("confidence") in (None, "") else _number(item["confidence"], i, path)
                for i, item in enumerate(items)
            ],
        )
    return gathered.rows(("name", "stem", "id"), ("name", "index0"), order="xyxy")


def _number(value: Any, row: int, path: Path) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"prediction {row}: {value!r} is not a number: {path}") from error


def _whole(value: Any, row: int, path: Path) -> int:
    """`0`, also `0.0` as pandas writes it."""
    found = _number(value, row, path)
    if not found.is_integer():
        raise DataError(f"prediction {row}: {value!r} is not a whole number: {path}")
    return int(found)


FORMATS: Mapping[str, Callable[[Path], Rows]] = {
    "coco": coco,
    "ultralytics": ultralytics,
    "yolo": yolo,
    "detectron2": detectron2,
    "fiftyone": fiftyone,
    "supervision": supervision,
}
"""Every format of predictions by name."""


def reader_of(path: Path, format: str | None) -> tuple[str, Callable[[Path], Rows]]:
    """The named format, or what the file looks like."""
    name = format or _seen(path)
    if name not in FORMATS:
        raise unknown("format of predictions", name, FORMATS)
    return name, FORMATS[name]


def _seen(path: Path) -> str:
    if path.is_dir() or path.suffix == ".txt":
        return "yolo"
    if path.suffix in {".pkl", ".pickle", ".pth"}:
        return "detectron2"
    if path.suffix == ".csv":
        return "supervision"
    for key, value in JsonStream(path, piece=1 << 16):  # a look at the beginning is enough
        if key in {"labels", "samples"}:
            return "fiftyone"
        if key == "" and value and isinstance(value[0], dict):
            if "x_min" in value[0]:
                return "supervision"
            if "file_name" in value[0]:
                return "ultralytics"
        if key == "" or key == "annotations":
            break
    return "ultralytics" if path.name == "predictions.json" else "coco"
