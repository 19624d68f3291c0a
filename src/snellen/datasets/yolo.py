"""YOLO labels: a txt file per picture (`yolo_lines.py`), classes by number, boxes in parts of the shown sides.

Upright sizes are read from the pictures' headers: with the stored bitmap's the boxes of a turned photo are wrong.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from snellen.core.boxes import Float
from snellen.core.detections import Int
from snellen.core.errors import DataError
from snellen.core.pictures import measure_file
from snellen.datasets.findings import Finding, counted, kept, several
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text
from snellen.datasets.yolo_lines import Lines, read_lines


@dataclass(frozen=True)
class Labelled:
    """A picture by name, its file (None where a list names one that is not there), its label file, None without."""

    name: str
    picture: Path | None
    labels: Path | None


@dataclass
class _Gathered:
    image: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    polygons: int = 0
    posed: int = 0


def read(
    source: Path,
    pictures: Sequence[Labelled],
    classes: Sequence[str],
    *,
    findings: Sequence[Finding] = (),
    keypoints: int = 0,
) -> Raw:
    """The labels of `pictures`. Lines that cannot be read are the finding `malformed-line`, files `malformed-file`.

    keypoints: how many numbers of keypoints follow each box.
    """
    rows = _Gathered()
    sizes = np.zeros((len(pictures), 2), dtype=np.int64)
    digest = hashlib.sha256("\n".join(classes).encode())
    unreadable = []
    for i, item in enumerate(pictures):
        try:
            size = measure_file(item.picture) if item.picture else None
        except DataError as error:
            unreadable.append(str(error))
            size = None
        sizes[i] = size or (0, 0)
        if item.labels is not None:
            _add(rows, i, item.labels, digest, keypoints)
    found = [*findings, *_findings(rows, pictures, unreadable, str(source))]
    label = np.array(rows.label, dtype=np.int64)
    unknown = label >= len(classes)
    blind = (sizes[rows.image] == 0).any(axis=1) if rows.image else np.zeros(0, dtype=np.bool_)
    return Raw(
        "yolo",
        source,
        digest.hexdigest(),
        (),
        [item.name for item in pictures],
        tuple(classes),
        np.array(rows.image, dtype=np.int64),
        np.where(unknown, -1, label),
        _corners(rows.boxes, sizes[rows.image] if rows.image else np.zeros((0, 2))),
        paths=[item.picture for item in pictures],
        sizes=sizes,
        lines=np.array(rows.lines, dtype=np.int64),
        label_refs={row: f"{rows.label[row]} of {len(classes)} classes" for row in np.flatnonzero(unknown).tolist()},
        malformed=dict.fromkeys(np.flatnonzero(blind).tolist(), "its picture's size is not known"),
        findings=tuple(found),
    )


def _add(rows: _Gathered, image: int, path: Path, digest: hashlib._Hash, keypoints: int) -> None:
    try:
        text = read_text(path)
    except DataError as error:
        rows.broken.append(str(error))
        return
    digest.update(f"\n{path.name}\n{text}".encode())
    lines: Lines = read_lines(text, keypoints=keypoints)
    rows.problems += [f"{problem}: {path}" for problem in lines.problems]
    rows.image += [image] * len(lines.labels)
    rows.label += lines.labels
    rows.boxes += lines.boxes
    rows.lines += lines.numbers
    rows.polygons += lines.polygons
    rows.posed += lines.posed


def _corners(boxes: Sequence[Sequence[float]], sizes: Float | Int) -> Float:
    centred = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    half = centred[:, 2:] / 2
    corners = np.column_stack([centred[:, :2] - half, centred[:, :2] + half]) * np.tile(sizes, 2)
    corners[(np.asarray(sizes) == 0).any(axis=1)] = np.nan
    return corners


def _findings(rows: _Gathered, pictures: Sequence[Labelled], unreadable: list[str], where: str) -> list[Finding]:
    without = [item.name for item in pictures if item.labels is None]
    if len(without) == len(pictures):
        text = f"none of the {len(pictures):,} pictures has a label file, in a folder `labels` or beside it"
        return [Finding("no-labels", "error", text, len(without), where, kept(without))]
    found = several(
        (
            ("malformed-line", "error", rows.problems, "lines cannot be read"),
            ("malformed-file", "error", rows.broken, "label files cannot be read"),
            ("unreadable-picture", "error", unreadable, "pictures cannot be read"),
            ("no-label-file", "note", without, "pictures have no label file: taken as pictures without objects"),
        ),
        where,
    )
    if rows.polygons:
        text = counted(rows.polygons, "polygon rows were read as their bounding boxes")
        found.append(Finding("polygons-boxed", "note", text, rows.polygons, where))
    if rows.posed:
        text = counted(rows.posed, "rows hold keypoints too, which are not read")
        found.append(Finding("not-carried", "note", text, rows.posed, where))
    by_file = Counter(item.labels for item in pictures if item.labels is not None)
    shared = [f"{path.name} ({n} pictures)" for path, n in by_file.items() if n > 1]
    found += several([("shared-labels", "warning", shared, "label files have more than one picture")], where)
    return found
