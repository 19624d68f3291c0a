"""Repairs: for each kind of fault what can be done about it, on the columns, and which cannot be mended by rule.

A repair drops, clips, sorts or renumbers; it never moves a box to a guessed place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.boxes import Float
from snellen.core.pictures import Header
from snellen.datasets.raw import Raw
from snellen.doctor.pictures import Seen, lying

OUTLINES = frozenset({"segmentation", "keypoints", "num_keypoints"})
"""Notes of COCO annotations that are in the frame of the boxes."""

Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class Repair:
    """What is done about a kind of fault: in words, and on the columns."""

    does: str
    apply: Callable[[Raw, Seen], Raw]


def mend(raw: Raw, seen: Seen, codes: Collection[str]) -> Raw:
    """`raw` with the repairs for `codes`, in the order of the table."""
    for code, repair in REPAIRS.items():
        if code in codes:
            raw = repair.apply(raw, seen)
    return raw


def keep_rows(raw: Raw, chosen: ArrayLike) -> Raw:
    """The instances at `chosen`, bool (n,)."""
    keep = np.asarray(chosen, dtype=np.bool_)
    if keep.all():
        return raw
    rows = np.flatnonzero(keep)
    place = np.full(len(keep), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    ids = raw.annotation_ids

    def moved(by_row: Mapping[int, object]) -> dict[int, object]:
        return {int(place[row]): value for row, value in by_row.items() if place[row] >= 0}

    return replace(
        raw,
        image=raw.image[rows],
        label=raw.label[rows],
        boxes=raw.boxes[rows],
        crowd=raw.crowd[rows] if len(raw.crowd) else raw.crowd,
        loose=raw.loose[rows] if len(raw.loose) else raw.loose,
        area=raw.area[rows] if len(raw.area) else raw.area,
        lines=raw.lines[rows] if len(raw.lines) else raw.lines,
        notes=tuple(raw.notes[i] for i in rows) if raw.notes else (),
        annotation_ids=ids[rows]
        if isinstance(ids, np.ndarray)
        else [ids[i] for i in rows.tolist()]
        if len(ids)
        else (),
        image_refs=moved(raw.image_refs),
        label_refs=moved(raw.label_refs),
        malformed={row: str(why) for row, why in moved(raw.malformed).items()},
        written={row: str(text) for row, text in moved(raw.written).items()},
    )


def keep_images(raw: Raw, keep: Bool) -> Raw:
    """The images at `keep`, with their boxes."""
    if keep.all():
        return raw
    chosen = np.flatnonzero(keep).tolist()
    place = np.full(len(keep) + 1, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    raw = keep_rows(raw, (raw.image < 0) | keep[np.maximum(raw.image, 0)])
    return replace(
        raw,
        image=place[raw.image],
        files=[raw.files[i] for i in chosen],
        image_ids=[raw.image_ids[i] for i in chosen] if len(raw.image_ids) else (),
        paths=[raw.paths[i] for i in chosen] if raw.paths else (),
        sizes=raw.sizes[chosen] if len(raw.sizes) else raw.sizes,
        attributes={name: [values[i] for i in chosen] for name, values in raw.attributes.items()},
        image_notes=tuple(raw.image_notes[i] for i in chosen) if raw.image_notes else (),
    )


def sides(raw: Raw) -> Float:
    """Width and height of every box."""
    with np.errstate(invalid="ignore"):
        return np.asarray(raw.boxes[:, 2:] - raw.boxes[:, :2])


def _size_of(raw: Raw) -> Float:
    """Per row the size of its image, infinite where it is not known."""
    if not len(raw.sizes):
        return np.full((len(raw.boxes), 2), np.inf)
    size = np.where(raw.sizes > 0, raw.sizes, np.inf)
    return np.asarray(size[raw.image], dtype=np.float64)


def _drop_malformed(raw: Raw, seen: Seen) -> Raw:
    keep = np.ones(len(raw.boxes), dtype=np.bool_)
    keep[list(raw.malformed)] = False
    return keep_rows(raw, keep)


def _sort_corners(raw: Raw, seen: Seen) -> Raw:
    low, high = np.minimum(raw.boxes[:, :2], raw.boxes[:, 2:]), np.maximum(raw.boxes[:, :2], raw.boxes[:, 2:])
    return replace(raw, boxes=np.where(np.isfinite(raw.boxes), np.column_stack([low, high]), raw.boxes))


def _drop_outside(raw: Raw, seen: Seen) -> Raw:
    with np.errstate(invalid="ignore"):
        away = ((raw.boxes[:, :2] >= _size_of(raw)) | (raw.boxes[:, 2:] <= 0)).any(axis=1)
    return keep_rows(raw, ~(away & (sides(raw) > 0).all(axis=1)))


def _clip(raw: Raw, seen: Seen) -> Raw:
    sound = np.isfinite(raw.boxes).all(axis=1)
    boxes = np.array(raw.boxes)
    boxes[sound] = np.clip(boxes[sound], 0, np.tile(_size_of(raw), 2)[sound])
    return replace(raw, boxes=boxes, area=_areas(raw, boxes))


def _areas(raw: Raw, boxes: Float) -> Float:
    """Areas as given; where the box was changed, that of the box at most."""
    if not len(raw.area):
        return raw.area
    changed = (boxes != raw.boxes).any(axis=1) & np.isfinite(boxes).all(axis=1)
    plain = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return np.where(changed, np.fmin(raw.area, plain), raw.area)


def _plain_areas(raw: Raw, seen: Seen) -> Raw:
    plain = np.prod(sides(raw), axis=1)
    with np.errstate(invalid="ignore"):
        odd = (raw.area <= 0) | (raw.area > plain)
    return replace(raw, area=np.where(odd, plain, raw.area))


def _unrepeat(raw: Raw, seen: Seen) -> Raw:
    if not len(raw.boxes):
        return raw
    rows = np.column_stack([raw.image, raw.label, raw.boxes])
    firsts = np.unique(rows, axis=0, return_index=True)[1]
    keep = np.zeros(len(rows), dtype=np.bool_)
    keep[firsts] = True
    return keep_rows(raw, keep)


def _renumber(raw: Raw, seen: Seen) -> Raw:
    return replace(raw, annotation_ids=np.arange(1, len(raw.boxes) + 1))


def _one_of_each_id(raw: Raw, seen: Seen) -> Raw:
    """Entries that say the same file twice become one; of an id that means several files none can be kept."""
    if not len(raw.image_ids):
        return raw
    by_id: dict[object, set[str]] = {}
    for key, name in zip(raw.image_ids, raw.files, strict=True):
        by_id.setdefault(key, set()).add(name)
    first: set[object] = set()
    keep = np.ones(len(raw.files), dtype=np.bool_)
    for i, key in enumerate(raw.image_ids):
        keep[i] = len(by_id[key]) == 1 and key not in first
        first.add(key)
    return keep_images(raw, keep)


def _merge_files(raw: Raw, seen: Seen) -> Raw:
    """Images that are one file become the first of them, with the boxes of all."""
    keys = [
        str(path) if path else name for path, name in zip(raw.paths or [None] * len(raw.files), raw.files, strict=True)
    ]
    first: dict[str, int] = {}
    place = np.array([first.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int64)
    merged = replace(raw, image=np.where(raw.image >= 0, place[np.maximum(raw.image, 0)], -1))
    return keep_images(merged, place == np.arange(len(keys)))


def _drop_blind(raw: Raw, seen: Seen) -> Raw:
    paths = raw.paths or [None] * len(raw.files)
    return keep_images(raw, np.array([path not in seen.unreadable for path in paths], dtype=np.bool_))


def _drop_missing(raw: Raw, seen: Seen) -> Raw:
    paths = raw.paths or [None] * len(raw.files)
    return keep_images(raw, np.array([path is not None for path in paths], dtype=np.bool_))


def _turn(raw: Raw, seen: Seen) -> Raw:
    """Boxes and sizes of images written in the frame of the stored bitmap, in the frame that is shown."""
    boxes, sizes = np.array(raw.boxes), np.array(raw.sizes)
    notes = list(raw.notes)
    headers = seen.of(raw)
    for i in lying(raw, seen):
        header = headers[i]
        assert header is not None
        rows = raw.image == i
        boxes[rows] = turned(boxes[rows], header)
        sizes[i] = header.upright
        for row in np.flatnonzero(rows).tolist() if notes else ():
            notes[row] = {key: value for key, value in notes[row].items() if key not in OUTLINES}
    return replace(raw, boxes=boxes, sizes=sizes, notes=tuple(notes))


def turned(boxes: Float, header: Header) -> Float:
    """Boxes on the stored bitmap as boxes on the picture that EXIF's orientation shows."""
    (w, h), k = header.stored, header.orientation
    x1, y1, x2, y2 = boxes.T
    frames: dict[int, tuple[Float, Float, Float, Float]] = {
        1: (x1, y1, x2, y2),
        2: (w - x2, y1, w - x1, y2),
        3: (w - x2, h - y2, w - x1, h - y1),
        4: (x1, h - y2, x2, h - y1),
        5: (y1, x1, y2, x2),
        6: (h - y2, x1, h - y1, x2),
        7: (h - y2, w - x2, h - y1, w - x1),
        8: (y1, w - x2, y2, w - x1),
    }
    return np.column_stack(frames[k])


def _measure(raw: Raw, seen: Seen) -> Raw:
    sizes = np.array(raw.sizes)
    headers = seen.of(raw)
    for i in np.flatnonzero((sizes <= 0).any(axis=1)).tolist():
        header = headers[i]
        sizes[i] = header.upright if header else (0, 0)
    return replace(raw, sizes=sizes)


def _rename(raw: Raw, seen: Seen) -> Raw:
    """File names as on disk."""
    names = Counter(raw.files)
    files = []
    for name, path in zip(raw.files, raw.paths or [None] * len(raw.files), strict=True):
        other = name[: -len(path.name)] + path.name if path and name.casefold().endswith(path.name.casefold()) else name
        files.append(other if names[other] == 0 else name)
    return replace(raw, files=files)


def _written_off(raw: Raw, seen: Seen) -> Raw:
    """The reader has left them out already."""
    return raw


REPAIRS: Mapping[str, Repair] = {
    "malformed-line": Repair("lines that cannot be read are left out", _written_off),
    "malformed-file": Repair("label files that cannot be read count as empty", _written_off),
    "unused-root-category": Repair("the root category is dropped", _written_off),
    "size-missing": Repair("sizes are read from the pictures", _measure),
    "unknown-image": Repair("annotations of no image are left out", lambda raw, seen: keep_rows(raw, raw.image >= 0)),
    "unknown-category": Repair(
        "annotations of no category are left out", lambda raw, seen: keep_rows(raw, raw.label >= 0)
    ),
    "malformed-box": Repair("boxes that cannot be read are left out", _drop_malformed),
    "non-finite-box": Repair(
        "boxes that are not finite are left out", lambda raw, seen: keep_rows(raw, np.isfinite(raw.boxes).all(axis=1))
    ),
    "inverted-box": Repair("corners are put in order", _sort_corners),
    "orientation": Repair("boxes are turned as the pictures are shown, their outlines left out", _turn),
    "zero-area-box": Repair(
        "boxes without area are left out", lambda raw, seen: keep_rows(raw, ~(sides(raw) == 0).any(axis=1))
    ),
    "outside-box": Repair("boxes wholly outside are left out", _drop_outside),
    "leaving-box": Repair("boxes are cut at the edge of the image", _clip),
    "duplicate-image-id": Repair(
        "entries of one file become one; ids that mean several files are left out", _one_of_each_id
    ),
    "duplicate-file": Repair("images of one file become one, with the boxes of all", _merge_files),
    "shared-picture": Repair("images of one file become one, with the boxes of all", _merge_files),
    "area-differs": Repair("areas are those of the boxes", _plain_areas),
    "repeated-box": Repair("of equal boxes one is kept", _unrepeat),
    "missing-picture": Repair("images without a picture are left out", _drop_missing),
    "unreadable-picture": Repair("images whose picture cannot be read are left out", _drop_blind),
    "case-differs": Repair("file names are written as on disk", _rename),
    "text-for-number": Repair("ids are written alike", lambda raw, seen: replace(raw, loose=np.zeros_like(raw.loose))),
    "annotation-id-zero": Repair("annotations are numbered from 1", _renumber),
    "duplicate-annotation-id": Repair("annotations are numbered from 1", _renumber),
}
"""Code -> repair, in the order in which they are applied. What is missing here needs a person's decision."""
