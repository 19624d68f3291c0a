"""COCO JSON (also Roboflow's exports), read in pieces into columns.

Boxes are `x y width height` in px, whole or not. Roboflow's unused category 0 is no class. Format: cocodataset.org.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.detections import Bool, Int
from snellen.core.errors import DataError
from snellen.datasets.coco_columns import Columns, annotation_rows
from snellen.datasets.findings import Finding, listed, several
from snellen.datasets.json_stream import JsonStream
from snellen.datasets.names import Finder
from snellen.datasets.number_rows import Numbers
from snellen.datasets.raw import Id, Raw, index_of, index_of_numbers, whole

KNOWN = "known_category_ids"
"""Key of an image under which our few-shot sets say which classes are exhaustively boxed there."""

_LISTS = frozenset({"images", "annotations", "categories"})

IMAGE = frozenset({"id", "file_name", "width", "height", KNOWN})
"""Keys of an image that the columns carry; others become attributes where they are plain values."""


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
    columns = Columns(extras=[] if extras else None)
    images: list[dict[str, Any]] = []
    categories: list[dict[str, Any]] = []
    rest: dict[str, Any] = {}
    keys = set()
    stream = JsonStream(path, rows=None if extras else annotation_rows)
    for key, value in _undisturbed(stream):
        keys.add(key)
        if key == "annotations" and isinstance(value, Numbers):
            columns.add_numbers(value)
        elif key in _LISTS and not isinstance(value, list):
            raise DataError(f"{key} must be a list, got {str(value)[:80]}: {path}")
        elif key == "annotations":
            columns.add(value, path)
        elif key == "images":
            images += value
        elif key == "categories":
            categories += value
        elif extras:
            rest[key] = value
    missing = _LISTS - keys
    if "" in keys:
        raise DataError(f"this is a list, as files of predictions are; a COCO file is an object with images: {path}")
    if missing:
        raise DataError(
            f"a COCO file has images, annotations and categories; {' and '.join(sorted(missing))} missing: {path}"
        )
    _objects(images, "image", path)
    _objects(categories, "category", path)
    # Equal scores on different images rank in the order of the images, which COCO's tools sort by id.
    images, categories = _by_id(images), _by_id(categories)
    return _raw(path, stream.sha256, images, categories, columns, finder or beside(path), rest, siblings)


def _undisturbed(stream: JsonStream) -> Iterator[tuple[str, Any]]:
    """The pieces, the garbage collector resting: it would walk millions of fresh objects, none of them garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield from stream
    finally:
        if was:
            gc.enable()


def _raw(
    path: Path,
    sha256: str,
    images: list[dict[str, Any]],
    categories: list[dict[str, Any]],
    columns: Columns,
    finder: Finder,
    rest: dict[str, Any],
    siblings: Sequence[Path],
) -> Raw:
    findings: list[Finding] = []
    where = str(path)
    categories, dropped = without_dummy(categories, columns.labels.column(), siblings)
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
    annotation_ids = _ids(columns.ids.column())
    image, image_refs, loose_images = _referred(image_ids, columns.images.column())
    label, label_refs, loose_labels = _referred(category_ids, columns.labels.column())
    for kind, loose in (("image", loose_images), ("category", loose_labels)):
        names = [f"annotation {annotation_ids[row]}" if len(annotation_ids) else f"box {row + 1}" for row in loose]
        text = f"annotations give their {kind} id as text for a number or the reverse: here they are read as equal"
        findings += several([("text-for-number", "warning", names, text)], where)
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
    return Raw(
        "coco",
        path,
        sha256,
        image_ids,
        files,
        tuple(_text(c.get("name"), f"name of category {c.get('id')}", path) for c in categories),
        image,
        label,
        columns.all_boxes,
        paths=paths,
        sizes=_sizes(images),
        attributes=_attributes(images),
        category_ids=category_ids,
        annotation_ids=annotation_ids,
        loose=np.isin(np.arange(len(image)), [*loose_images, *loose_labels]),
        crowd=columns.all_crowds,
        area=columns.all_areas,
        notes=tuple(columns.extras) if columns.extras and any(columns.extras) else (),
        image_refs=image_refs,
        label_refs=label_refs,
        malformed=columns.malformed,
        written=columns.written,
        known=_known(images, category_ids),
        findings=tuple(findings),
        image_notes=_besides(images, IMAGE) if columns.extras is not None else (),
        class_notes=_besides(categories, frozenset({"id", "name"})) if columns.extras is not None else (),
        extras=rest,
    )


def without_dummy(
    categories: list[dict[str, Any]], used: Int | list[Any], siblings: Sequence[Path] = ()
) -> tuple[list[dict[str, Any]], str | None]:
    """The categories without Roboflow's root, and the root's name, or None where there is none.

    The root has id 0 and supercategory "none", it is not the only one nor one of several such, and nothing uses it,
    here or in the files of the other parts. PROTOCOLS section 2; the name plays no role.
    """
    roots = [c for c in categories if str(c.get("supercategory", "")).casefold() == "none"]
    if len(categories) < 2 or len(roots) != 1 or roots[0].get("id") not in {0, "0"} or type(roots[0]["id"]) is bool:
        return categories, None
    if roots[0]["id"] in set(np.unique(used).tolist() if isinstance(used, np.ndarray) else used) or any(
        _uses_zero(path) for path in siblings
    ):
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


def _referred(ids: Sequence[Any], wanted: Int | list[Any]) -> tuple[Int, dict[int, object], list[int]]:
    """The place of each reference among the ids, those that lead nowhere by row, and rows that met as text alone."""
    column, loose = None, list[int]()
    if isinstance(wanted, np.ndarray):
        column = index_of_numbers(ids, wanted)
    if column is None:
        column, loose = index_of(ids, wanted.tolist() if isinstance(wanted, np.ndarray) else wanted)
    return column, {row: wanted[row] for row in np.flatnonzero(column < 0).tolist()}, loose


def _ids(ids: Int | list[Any]) -> Sequence[Id] | Int:
    if isinstance(ids, np.ndarray):
        return ids
    return [] if all(key is None for key in ids) else [key if type(key) in {int, str} else f"{key}" for key in ids]


def _sizes(images: list[dict[str, Any]]) -> Int:
    sides = [(image.get("width"), image.get("height")) for image in images]
    rows = [[whole(side) for side in pair] for pair in sides]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _known(images: list[dict[str, Any]], category_ids: list[Id]) -> Bool | None:
    if not any(KNOWN in image for image in images):
        return None
    listed = [set(image[KNOWN]) if isinstance(image.get(KNOWN), list) else set(category_ids) for image in images]
    return np.array([[key in known for key in category_ids] for known in listed], dtype=np.bool_)


def _attributes(images: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Plain values that images hold beside the usual ones; `attributes` objects are opened."""
    usual = IMAGE | {"license", "flickr_url", "coco_url", "date_captured", "flickr_640_url", "extra"}
    if all(image.keys() <= usual for image in images):
        return {}
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
                "case-differs",
                "warning",
                f"picture {name!r} is called {found.path.relative_to(finder.root).as_posix()!r} on disk",
                1,
                where,
                (name,),
            )
        )
    return found.path if found else None


def _besides(items: list[dict[str, Any]], known: frozenset[str]) -> tuple[dict[str, Any], ...]:
    return tuple({key: value for key, value in item.items() if key not in known} for item in items)


def _objects(items: list[Any], kind: str, path: Path) -> None:
    for i, item in enumerate(items):
        if type(item) is dict and type(item.get("id")) is float and item["id"].is_integer():
            item["id"] = int(item["id"])  # pandas writes 1.0
        if type(item) is not dict or type(item.get("id")) not in {int, str}:
            raise DataError(
                f"{kind} {i} must be an object with an id, a whole number or a text, got {str(item)[:80]!r}: {path}"
            )


def _text(value: Any, what: str, path: Path) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{what} must be a text, got {value!r}: {path}")
    return value


def _by_id(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted by id, where all ids are whole numbers."""
    return sorted(items, key=lambda item: int(item["id"])) if all(type(i.get("id")) is int for i in items) else items
