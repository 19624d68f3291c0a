"""`read_predictions`: other tools' predictions, put in the order of a data set's images and classes."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from snellen.core.detections import BoxTable, Float, Int, sound
from snellen.core.errors import DataError, SpecError, unknown
from snellen.core.labels import ClassIndex
from snellen.core.specs import Json
from snellen.datasets.dataset import Dataset
from snellen.datasets.findings import Finding, counted, listed
from snellen.datasets.prediction_files import reader_of
from snellen.datasets.raw import index_of
from snellen.datasets.rows import ImageKind, LabelKind, Rows

AMBIGUOUS = -2


@dataclass(frozen=True, eq=False)
class Predictions:
    """table: the predictions, its images those of the data set; label -1 is a class outside the taxonomy.

    counts: rows by what became of them: `placed`, `unknown-image`, `unreadable-box` (not finite, inverted or beyond
    1e150 px; both are left out), `unknown-category` and `missing-score` (both stay). images_by, classes_by: how
    references were read.
    """

    table: BoxTable
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    format: str
    images_by: str
    classes_by: str

    def facts(self) -> dict[str, Json]:
        """What a run keeps of the import, as plain JSON."""
        return {
            "format": self.format,
            "images_by": self.images_by,
            "classes_by": self.classes_by,
            "counts": dict(self.counts),
            "findings": [str(finding) for finding in self.findings],
        }


def read_predictions(
    path: str | Path,
    dataset: Dataset,
    *,
    format: str | None = None,
    image_refs: str | None = None,
    class_refs: str | None = None,
) -> Predictions:
    """The predictions at `path` for the images of `dataset`.

    format: one of `FORMATS`, default: seen from the file. image_refs: how the file refers to pictures: by `id`, `name`
    or `stem` of their file; class_refs: how to classes: by `id`, `index0`, `index1` (place in the taxonomy, counted
    from 0 or 1) or `name`. Default: what places most, in the format's own order; SpecError where two readings fit
    equally and disagree.
    """
    source = Path(path)
    if not source.exists():
        raise DataError(f"no such file or folder: {source}")
    name, reader = reader_of(source, format)
    rows = reader(source)
    label_kinds: tuple[LabelKind, ...] = rows.label_kinds
    if not len(dataset.category_ids) and "id" in label_kinds:
        label_kinds = ("name", "index1", "index0")
    image_kinds = _kinds(rows.image_kinds, image_refs, "image", ImageKind)
    label_kinds = _kinds(label_kinds, class_refs, "class", LabelKind)
    if class_refs == "id" and not len(dataset.category_ids):
        raise SpecError(
            f"the classes of a {dataset.format} data set have no ids: say --class-refs name, index0 or index1 "
            f"(class_refs= in Python): {dataset.source}"
        )
    image, images_by, rivals = _resolve(
        rows.images, _image_indexes(dataset), image_kinds, settled=name in {"coco", "detectron2"}
    )
    if rivals:
        raise SpecError(
            f"the images of these predictions can be read as {images_by} or as {rivals[0]}, with different results: "
            f"say --image-refs {images_by} or --image-refs {rivals[0]} (image_refs= in Python): {source}"
        )
    label, classes_by, rivals = _resolve(rows.labels, _label_indexes(dataset), label_kinds)
    boxes = _pixels(rows, image, dataset)
    readable = sound(boxes)
    if len(rows) and not (image >= 0).any():
        here = listed([str(rows.images[i]) for i in _firsts(rows.images, np.arange(len(rows)))[:3]])
        there = listed(list(dataset.truth.images[:3]))
        raise DataError(
            f"none of the {len(rows):,} predictions is of an image of the data set: they name {here}, the data set has "
            f"{there} (read by {images_by}; --image-refs says otherwise): {source}"
        )
    keep = (image >= 0) & readable
    scores = rows.scores[keep]
    table = BoxTable(
        dataset.truth.images,
        dataset.classes,
        image[keep],
        np.maximum(label[keep], -1),
        boxes[keep],
        None if len(scores) and np.isnan(scores).all() else scores,
    )
    counts = {
        "placed": int(keep.sum()),
        "unknown-image": int((image < 0).sum()),
        "unreadable-box": int(((image >= 0) & ~readable).sum()),
        "unknown-category": int((label[keep] < 0).sum()),
        "missing-score": int(np.isnan(scores).sum()),
    }
    findings = _findings(counts, rows, image, label, source) + _oddities(rows, boxes, image, dataset, source)
    if rivals and classes_by != "id":
        raise SpecError(
            f"the classes of these predictions can be read as {classes_by} or as {rivals[0]}, with different results: "
            f"say --class-refs {classes_by} or --class-refs {rivals[0]} (class_refs= in Python): {source}"
        )
    if rivals:
        text = (
            f"category ids are read as {classes_by}, but {' and '.join(rivals)} would fit as well: say --class-refs "
            f"{classes_by} or --class-refs {rivals[0]} (class_refs= in Python)"
        )
        findings.append(Finding("ambiguous-classes", "warning", text, 1, str(source), tuple(rivals)))
    if "id" in rows.label_kinds and not len(dataset.category_ids) and classes_by in {"index0", "index1"}:
        findings.append(_numbered(dataset.classes, int(classes_by[-1]), source))
    return Predictions(table, counts, tuple(findings), name, images_by, classes_by)


def _findings(counts: Mapping[str, int], rows: Rows, image: Int, label: Int, source: Path) -> list[Finding]:
    said = {
        "unknown-image": ("are of images that the data set does not have: left out", rows.images, image < 0),
        "unreadable-box": ("have a box that is not finite, inverted or beyond 1e150 px: left out", rows.images, None),
        "unknown-category": (
            "are of categories that the data set does not have: kept as wrong",
            rows.labels,
            label < 0,
        ),
        "missing-score": ("have no score", rows.images, None),
    }
    found = []
    for code, (what, column, mask) in said.items():
        if counts[code]:
            names = [] if mask is None else [str(column[i]) for i in _firsts(column, np.flatnonzero(mask))]
            text = f"{counts[code]:,} of {len(rows):,} predictions {what}" + (f" ({listed(names)})" if names else "")
            found.append(Finding(code, "warning", text, counts[code], str(source), tuple(names)))
    return found


def _oddities(rows: Rows, boxes: Float, image: Int, dataset: Dataset, source: Path) -> list[Finding]:
    """What can be read and is hardly meant: boxes in another unit or order, scores that are no confidences."""
    found = [("several-fields", 1, doubt) for doubt in rows.doubts]
    if not len(rows):
        return [Finding("no-predictions", "warning", "there is no prediction in it", 1, str(source))]
    with np.errstate(invalid="ignore"):
        if not rows.unit and not (np.abs(rows.boxes) > 1).any() and (rows.boxes % 1 > 0).any():
            found.append(("other-unit", len(rows), "all boxes lie within 1 px: are they in parts of the sides?"))
        if rows.unit and (np.abs(rows.boxes) > 2).any(axis=1).all():
            text = "all boxes lie more than a side beyond their picture: are they in px?"
            found.append(("other-unit", len(rows), text))
        width, height = np.vstack([dataset.sizes, [[0, 0]]]).T[:, image]  # -1, no image: the last one
        x1, y1, x2, y2 = boxes.T
        far = (x2 > 1.1 * width + 2) | (y2 > 1.1 * height + 2) | (x1 < -0.1 * width - 2) | (y1 < -0.1 * height - 2)
        far &= (width > 0) & (height > 0)
        odd = (rows.scores < 0) | (rows.scores > 1)
    if far.any() and not rows.unit:
        text = counted(int(far.sum()), "boxes reach far beyond their picture: is the order of their numbers right?")
        found.append(("leaving-box", int(far.sum()), text))
    if odd.any():
        span = f"{np.nanmin(rows.scores):g} to {np.nanmax(rows.scores):g}"
        found.append(
            ("odd-score", int(odd.sum()), f"scores from {span} are no confidences (0 to 1): they rank, no more")
        )
    return [Finding(code, "warning", text, n, str(source)) for code, n, text in found]


def _numbered(classes: Sequence[str], first: int, source: Path) -> Finding:
    """Category ids without a truth that numbers its classes mean whatever order these stand in: it is shown."""
    ends = f"{first} is {classes[0]!r}, {first + len(classes) - 1} is {classes[-1]!r}"
    text = f"the truth numbers no classes: category ids are read as places in its list of classes ({ends})"
    return Finding("classes-by-place", "warning", text, 1, str(source), tuple(classes))


def _firsts(column: Sequence[Any], rows: Int) -> list[int]:
    seen: dict[str, int] = {}
    for row in rows.tolist():
        seen.setdefault(str(column[row]), row)
    return list(seen.values())[:1000]


def _kinds(own: Sequence[Any], asked: str | None, what: str, known: Any) -> tuple[Any, ...]:
    if asked is None:
        return tuple(own)
    if asked not in get_args(known):
        raise unknown(f"kind of {what} reference", asked, get_args(known))
    return (asked,)


def _resolve(
    refs: Sequence[Any],
    indexes: Mapping[str, Callable[[Sequence[Any]], Int]],
    kinds: Sequence[str],
    *,
    settled: bool = False,
) -> tuple[Int, str, list[str]]:
    """The index that each reference means, the reading chosen (the first that places most), and those that place as
    many and disagree. settled: the format says which goes first, so that there are none.
    """
    if not len(refs):
        return np.zeros(0, dtype=np.int64), kinds[0], []
    unique, inverse = _unique(refs)
    weights = np.bincount(inverse, minlength=len(unique))
    found: dict[str, Int] = {}
    for kind in kinds:
        found[kind] = indexes[kind](unique)
        if settled and (found[kind] >= 0).all():
            break
    placed = {kind: int(weights[column >= 0].sum()) for kind, column in found.items()}
    best = max(placed.values())
    first, *others = [kind for kind in placed if placed[kind] == best]
    rivals = [kind for kind in others if best and not settled and not np.array_equal(found[kind], found[first])]
    return found[first][inverse], first, rivals


def _unique(refs: Sequence[Any]) -> tuple[list[Any], Int]:
    if not isinstance(refs, list):
        values, inverse = np.unique(np.asarray(refs), return_inverse=True)
        return values.tolist(), inverse
    places: dict[tuple[type, Any], int] = {}
    inverse = np.array([places.setdefault((type(ref), str(ref)), len(places)) for ref in refs], dtype=np.int64)
    firsts = np.unique(inverse, return_index=True)[1]
    return [refs[i] for i in firsts], inverse


def _image_indexes(dataset: Dataset) -> dict[str, Callable[[Sequence[Any]], Int]]:
    return {
        "id": lambda refs: index_of(dataset.image_ids, refs)[0],
        "name": lambda refs: _by_name(dataset.truth.images, refs, stems=False),
        "stem": lambda refs: _by_name(dataset.truth.images, refs, stems=True),
    }


def _label_indexes(dataset: Dataset) -> dict[str, Callable[[Sequence[Any]], Int]]:
    names = ClassIndex(dataset.classes, aliases=_aliases(dataset))
    n = len(dataset.classes)
    return {
        "id": lambda refs: index_of(dataset.category_ids, refs)[0],
        "index0": lambda refs: _counted(refs, 0, n),
        "index1": lambda refs: _counted(refs, 1, n),
        "name": lambda refs: np.array([names(ref) if isinstance(ref, str) else -1 for ref in refs], dtype=np.int64),
    }


def _aliases(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    entries = dataset.class_file.entries if dataset.class_file else ()
    return {entry.name: entry.aliases for entry in entries if entry.name in dataset.classes}


def _counted(refs: Sequence[Any], start: int, n: int) -> Int:
    return np.array(
        [ref - start if type(ref) is int and start <= ref < n + start else -1 for ref in refs], dtype=np.int64
    )


def _by_name(names: Sequence[str], refs: Sequence[Any], *, stems: bool) -> Int:
    """References meet names whole, without their own leading folders, or, bare, by the only name that ends so.

    stems: the same without suffixes; a number meets the stem that is this number, zeros in front ignored
    (ultralytics drops them).
    """
    whole: dict[str, int] = {}
    last: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for i, name in enumerate(names):
        key = _key(name, stems=stems)
        whole[key] = AMBIGUOUS if key in whole else i
        base = key.rpartition("/")[2]
        last[base] = AMBIGUOUS if base in last else i
        if stems and base.isnumeric():
            numbers[str(int(base))] = AMBIGUOUS if str(int(base)) in numbers else i
    found = []
    for ref in refs:
        key = _key(str(ref), stems=stems and isinstance(ref, str) and _has_suffix(ref))
        parts = key.split("/")
        tails = ("/".join(parts[i:]) for i in range(len(parts)))
        place = next((whole[tail] for tail in tails if tail in whole), -1)
        if place == -1 and len(parts) == 1:
            place = last.get(key, -1)
        if place == -1 and type(ref) is int:
            place = numbers.get(str(ref), -1)
        found.append(max(place, -1))
    return np.array(found, dtype=np.int64)


def _key(name: str, *, stems: bool) -> str:
    text = unicodedata.normalize("NFC", name).replace("\\", "/")
    return os.path.splitext(text)[0] if stems else text  # noqa: PTH122 - not a path of this machine


def _has_suffix(name: str) -> bool:
    """Whether a reference to a stem still carries a picture's suffix (`two.dots.v1` does not)."""
    from snellen.datasets.names import is_picture

    return is_picture(name)


def _pixels(rows: Rows, image: Int, dataset: Dataset) -> Any:
    if not rows.unit:
        return np.array(rows.boxes)
    sizes = np.ones((len(dataset) + 1, 2))
    for i in np.unique(image[image >= 0]).tolist():
        sizes[i] = dataset.pictures[i].upright_size()
    return rows.boxes * np.tile(sizes[image], 2)
