"""COCO JSON (also Roboflow's exports), read in pieces into columns.

Boxes are `x y width height` in px, whole or not. Roboflow's unused category 0 is no class. Format: cocodataset.org.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.boxes import Float
from snellen.core.detections import Int
from snellen.core.errors import DataError
from snellen.datasets.findings import Finding, listed
from snellen.datasets.json_stream import JsonStream
from snellen.datasets.names import Finder
from snellen.datasets.raw import Id, Raw, index_of, index_of_numbers

BARE = frozenset({"id", "image_id", "category_id", "bbox", "area", "iscrowd"})
"""Keys of an annotation that the columns carry; others are kept on request."""

IMAGE = frozenset({"id", "file_name", "width", "height"})
"""Keys of an image that the columns carry; others become attributes where they are plain values."""


@dataclass
class _Columns:
    """Annotations gathered piece by piece."""

    ids: list[Any] = field(default_factory=list)
    images: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    boxes: list[Float] = field(default_factory=list)
    crowd: list[Any] = field(default_factory=list)
    area: list[Float] = field(default_factory=list)
    malformed: dict[int, str] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)
    other: set[str] = field(default_factory=set)
    extras: list[dict[str, Any]] | None = None

    def add(self, items: list[Any], source: Path) -> None:
        """Adds a piece of the list of annotations."""
        start = len(self.images)
        for i, item in enumerate(items):
            if type(item) is not dict:
                raise DataError(f"annotation {start + i} must be an object, got {item!r}: {source}")
        self.ids += [item.get("id") for item in items]
        self.images += [item.get("image_id") for item in items]
        self.labels += [item.get("category_id") for item in items]
        self.crowd += [item.get("iscrowd", 0) for item in items]
        values = [item.get("bbox") for item in items]
        boxes, bad = _boxes(values)
        self.boxes.append(boxes)
        unsound = np.flatnonzero(~np.isfinite(boxes).all(axis=1)).tolist()
        self.written |= {start + row: json.dumps(values[row])[:120] for row in unsound}
        self.malformed |= {start + row: why for row, why in bad.items()}
        self.area.append(_numbers([item.get("area") for item in items]))
        self.other |= set().union(*items) - BARE
        if self.extras is not None:
            self.extras += [{key: value for key, value in item.items() if key not in BARE} for item in items]


def read(
    path: Path,
    *,
    finder: Finder | None = None,
    extras: bool = False,
    siblings: Sequence[Path] = (),
) -> Raw:
    """The annotation file at `path`. Pictures are looked for by `finder` (default: beside the file).

    extras: keep what the columns do not carry (segmentations, info, licences), for writing back. siblings: files of
    the other parts: a category that one of them uses is no dummy. DataError where the document cannot be read at all.
    """
    columns = _Columns(extras=[] if extras else None)
    images: list[dict[str, Any]] = []
    categories: list[dict[str, Any]] = []
    rest: dict[str, Any] = {}
    keys = set()
    stream = JsonStream(path)
    for key, value in stream:
        keys.add(key)
        if key == "annotations" and isinstance(value, list):
            columns.add(value, path)
        elif key == "images" and isinstance(value, list):
            images += value
        elif key == "categories" and isinstance(value, list):
            categories += value
        elif extras:
            rest[key] = value
    missing = {"images", "annotations", "categories"} - keys
    if missing:
        raise DataError(
            f"a COCO file has images, annotations and categories; {' and '.join(sorted(missing))} missing: {path}"
        )
    _objects(images, "image", path)
    _objects(categories, "category", path)
    # Equal scores on different images rank in the order of the images, which COCO's tools sort by id.
    images, categories = _by_id(images), _by_id(categories)
    return _raw(path, stream.sha256, images, categories, columns, finder or beside(path), rest, siblings)


def _raw(
    path: Path,
    sha256: str,
    images: list[dict[str, Any]],
    categories: list[dict[str, Any]],
    columns: _Columns,
    finder: Finder,
    rest: dict[str, Any],
    siblings: Sequence[Path],
) -> Raw:
    findings: list[Finding] = []
    where = str(path)
    categories, dropped = without_dummy(categories, columns.labels, siblings)
    if dropped is not None:
        findings.append(
            Finding(
                "unused-root-category",
                "note",
                f"category 0 {dropped!r} is Roboflow's root, unused: it is no class",
                1,
                where,
                (dropped,),
            )
        )
    image_ids: list[Id] = [image["id"] for image in images]
    category_ids: list[Id] = [category["id"] for category in categories]
    image, image_refs = _referred(image_ids, columns.images, "image", findings, where)
    label, label_refs = _referred(category_ids, columns.labels, "category", findings, where)
    if columns.other:
        findings.append(
            Finding(
                "not-carried",
                "note",
                f"annotations also hold {listed(sorted(columns.other), shown=9)}: only boxes are read",
                1,
                where,
            )
        )
    files = [_text(image.get("file_name"), f"file_name of image {image.get('id')}", path) for image in images]
    paths = [_found(finder, name, findings, where) for name in files]
    n = len(columns.images)
    return Raw(
        "coco",
        path,
        sha256,
        image_ids,
        files,
        tuple(_text(c.get("name"), f"name of category {c.get('id')}", path) for c in categories),
        image,
        label,
        np.concatenate(columns.boxes) if columns.boxes else np.zeros((0, 4)),
        paths=paths,
        sizes=_sizes(images),
        attributes=_attributes(images),
        category_ids=category_ids,
        annotation_ids=_ids(columns.ids),
        crowd=np.array([bool(int(c or 0)) for c in columns.crowd], dtype=np.bool_)
        if any(columns.crowd)
        else np.zeros(n, dtype=np.bool_),
        area=np.concatenate(columns.area) if columns.area else np.zeros(0),
        notes=tuple(columns.extras) if columns.extras and any(columns.extras) else (),
        image_refs=image_refs,
        label_refs=label_refs,
        malformed=columns.malformed,
        written=columns.written,
        findings=tuple(findings),
        image_notes=_besides(images, IMAGE) if columns.extras is not None else (),
        class_notes=_besides(categories, frozenset({"id", "name"})) if columns.extras is not None else (),
        extras=rest,
    )


def without_dummy(
    categories: list[dict[str, Any]], used: Sequence[Any], siblings: Sequence[Path] = ()
) -> tuple[list[dict[str, Any]], str | None]:
    """The categories without Roboflow's root, and the root's name, or None where there is none.

    The root has id 0 and supercategory "none", it is not the only one nor one of several such, and nothing uses it,
    here or in the files of the other parts. PROTOCOLS section 2; the name plays no role.
    """
    roots = [c for c in categories if str(c.get("supercategory", "")).casefold() == "none"]
    if len(categories) < 2 or len(roots) != 1 or roots[0].get("id") not in {0, "0"} or type(roots[0]["id"]) is bool:
        return categories, None
    if roots[0]["id"] in set(used) or any(_uses_zero(path) for path in siblings):
        return categories, None
    return [c for c in categories if c is not roots[0]], str(roots[0].get("name"))


_ZERO = re.compile(rb'"category_id"\s*:\s*"?0"?\s*[,}]')


def _uses_zero(path: Path) -> bool:
    try:
        return _ZERO.search(path.read_bytes()) is not None
    except OSError:
        return False


def beside(path: Path) -> Finder:
    """Where the pictures of an annotation file usually lie: beside it, or as COCO lays them out."""
    folder = path.parent
    if folder.name.casefold() != "annotations":
        return Finder(folder, ("", "images/"))
    part = part_of(path)
    return Finder(folder.parent, (f"images/{part}/", f"{part}/", "images/", ""))


def part_of(path: Path) -> str:
    """The part that an annotation file is named after: `instances_val2017.json` -> `val2017`."""
    stem = path.name.split(".")[0]
    return re.sub(r"^(instances|annotations|person_keypoints|image_info|stuff|labels|captions|panoptic)_", "", stem)


def _referred(
    ids: Sequence[Any], wanted: list[Any], kind: str, findings: list[Finding], where: str
) -> tuple[Int, dict[int, object]]:
    column = None
    if all(type(key) is int for key in wanted):
        column = index_of_numbers(ids, wanted)
    if column is None:
        column, met = index_of(ids, wanted)
        if met:
            findings.append(
                Finding(
                    "text-for-number",
                    "warning",
                    f"{met:,} annotations write the {kind} id as text for a number or the reverse: read as equal",
                    met,
                    where,
                )
            )
    return column, {row: wanted[row] for row in np.flatnonzero(column < 0).tolist()}


def _boxes(values: list[Any]) -> tuple[Float, dict[int, str]]:
    """`x y w h` lists as xyxy; unreadable ones are NaN and named by row."""
    bad: dict[int, str] = {}
    if all(type(value) is list and len(value) == 4 for value in values) and {
        *map(type, chain.from_iterable(values))
    } <= {int, float}:
        boxes = np.array(values, dtype=np.float64).reshape(-1, 4)
    else:
        boxes = np.full((len(values), 4), np.nan)
        for row, value in enumerate(values):
            if type(value) is list and len(value) == 4 and {*map(type, value)} <= {int, float}:
                boxes[row] = value
            else:
                bad[row] = "no bbox" if value is None else f"bbox must be four numbers, got {value!r}"[:120]
    with np.errstate(invalid="ignore"):  # infinities, which `check` names
        boxes[:, 2:] += boxes[:, :2]
    return boxes, bad


def _numbers(values: list[Any]) -> Float:
    if {*map(type, values)} <= {int, float}:
        return np.array(values, dtype=np.float64)
    return np.array([value if type(value) in {int, float} else np.nan for value in values], dtype=np.float64)


def _ids(ids: list[Any]) -> Sequence[Id] | Int:
    if all(type(key) is int for key in ids):
        return np.array(ids, dtype=np.int64)
    return [] if all(key is None for key in ids) else ["" if key is None else key for key in ids]


def _sizes(images: list[dict[str, Any]]) -> Int:
    sides = [(image.get("width"), image.get("height")) for image in images]
    rows = [[side if type(side) is int else 0 for side in pair] for pair in sides]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _attributes(images: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Plain values that images hold beside the usual ones; `attributes` objects are opened."""
    usual = IMAGE | {"license", "flickr_url", "coco_url", "date_captured", "flickr_640_url", "extra"}
    rows = []
    for image in images:
        opened = image.get("attributes") if isinstance(image.get("attributes"), dict) else {}
        flat = {**image, **(opened or {})}
        rows.append({k: v for k, v in flat.items() if k not in usual and isinstance(v, str | int | float | bool)})
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _found(finder: Finder, name: str, findings: list[Finding], where: str) -> Path | None:
    found = finder.find(name)
    if found is not None and found.case_differs:
        findings.append(
            Finding(
                "case-differs", "warning", f"picture {name!r} is called {found.path.name!r} on disk", 1, where, (name,)
            )
        )
    return found.path if found else None


def _besides(items: list[dict[str, Any]], known: frozenset[str]) -> tuple[dict[str, Any], ...]:
    return tuple({key: value for key, value in item.items() if key not in known} for item in items)


def _objects(items: list[Any], kind: str, path: Path) -> None:
    for i, item in enumerate(items):
        if type(item) is not dict or type(item.get("id")) not in {int, str}:
            raise DataError(
                f"{kind} {i} must be an object with an id, a number or a text, got {str(item)[:80]!r}: {path}"
            )


def _text(value: Any, what: str, path: Path) -> str:
    if not isinstance(value, str) or not value:
        raise DataError(f"{what} must be a text, got {value!r}: {path}")
    return value


def _by_id(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted by id, where all ids are whole numbers."""
    return sorted(items, key=lambda item: int(item["id"])) if all(type(i.get("id")) is int for i in items) else items
