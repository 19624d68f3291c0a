"""What a data set's files say, in columns, nothing judged yet: what readers give and `check` looks at."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.detections import Bool, Float, Int
from snellen.datasets.findings import Finding

Id: TypeAlias = int | str


@dataclass(frozen=True, eq=False)
class Raw:
    """Images, classes and boxes as written.

    Per image: `image_ids`, `files` (names as written), `paths` (where found, else None), `sizes` (n, 2) as written,
    0 where not said, `attributes`. Per class: `category_ids`, `classes`.
    Per instance: `annotation_ids`; `image` and `label`, indices, -1 where the reference (`image_refs`, `label_refs`,
    by row) leads nowhere; `boxes` xyxy px, NaN where unreadable: `malformed`, by row, says why, `written` what stood
    there; `crowd`; `area`, NaN where not said; `lines` of the label file, where it has lines; `notes`. Without ids,
    rows stand in image order. `loose`, bool: instances whose reference met an id only as text meets a number.
    `known`, bool (images, classes): which classes are exhaustively boxed; None: all.
    `image_notes`, `class_notes`, `extras`: what only a file of the same format can carry, per image, per class, whole.
    """

    format: str
    source: Path
    sha256: str
    image_ids: Sequence[Id]
    files: Sequence[str]
    classes: tuple[str, ...]
    image: Int
    label: Int
    boxes: Float
    paths: Sequence[Path | None] = ()
    sizes: Int = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    attributes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    category_ids: Sequence[Id] = ()
    annotation_ids: Sequence[Id] | Int = ()
    crowd: Bool = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    area: Float = field(default_factory=lambda: np.zeros(0))
    lines: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[Mapping[str, Any], ...] = ()
    loose: Bool = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    image_refs: Mapping[int, object] = field(default_factory=dict)
    label_refs: Mapping[int, object] = field(default_factory=dict)
    malformed: Mapping[int, str] = field(default_factory=dict)
    written: Mapping[int, str] = field(default_factory=dict)
    known: Bool | None = None
    findings: tuple[Finding, ...] = ()
    image_notes: tuple[Mapping[str, Any], ...] = ()
    class_notes: tuple[Mapping[str, Any], ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    def row(self, i: int) -> str:
        """How messages call an instance: its id, else its place."""
        if len(self.annotation_ids):
            return f"annotation {self.annotation_ids[i]}"
        name = self.files[self.image[i]] if self.image[i] >= 0 else "?"
        if len(self.lines):
            return f"line {self.lines[i]} of the labels of {name}"
        return f"box {i + 1 - int(np.searchsorted(self.image, self.image[i]))} of {name}"


def whole(side: object) -> int:
    """A picture's side as its file says it, px; 0 where that is no whole number (`64.0` is one) below 2^31."""
    if type(side) is float and side.is_integer():
        side = int(side)
    return side if type(side) is int and side < 2**31 else 0


_PLAIN = {int, str, float}


def index_of(ids: Sequence[Hashable], wanted: Sequence[Any]) -> tuple[NDArray[np.int64], list[int]]:
    """For each of `wanted` its place in `ids` (the first), -1 where absent; and which met only as text = number.

    Text and number meet only where no two ids have the same text. `True` is no number, and is nowhere.
    """
    places: dict[Hashable, int] = {}
    for i, key in enumerate(ids):
        places.setdefault(key, i)
    found = [places.get(key, -1) if type(key) in _PLAIN else -1 for key in wanted]
    column = np.array(found, dtype=np.int64)
    missing = np.flatnonzero(column < 0)
    if not len(missing):
        return column, []
    texts: dict[str, int] = {}
    for key, i in places.items():
        text = str(key)
        texts[text] = -1 if text in texts else i
    met = []
    for row in missing.tolist():
        if type(wanted[row]) in {int, str}:
            column[row] = texts.get(str(wanted[row]), -1)
            met += [row] if column[row] >= 0 else []
    return column, met


def index_of_numbers(ids: Sequence[Any], wanted: ArrayLike) -> NDArray[np.int64] | None:
    """The same for whole numbers alone, vectorised; None where ids are not."""
    if not all(type(key) is int and abs(key) < 2**62 for key in ids):
        return None
    keys = np.array(ids, dtype=np.int64)
    column = np.asarray(wanted, dtype=np.int64)
    if not len(keys):
        return np.full(len(column), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], column), len(keys) - 1)
    return np.where(keys[order][place] == column, order[place], -1).astype(np.int64)
