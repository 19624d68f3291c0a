"""`load_data`: any known layout of pictures with boxes as a `Dataset`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from snellen.core.detections import BoxTable, sound
from snellen.core.errors import DataError, SpecError, unknown
from snellen.core.tables import Table
from snellen.datasets.check import check
from snellen.datasets.dataset import Dataset, PictureFiles
from snellen.datasets.findings import BLOCKING, Finding, counted, refuse
from snellen.datasets.join import join
from snellen.datasets.layouts import LAYOUTS, layout_of
from snellen.datasets.part import Part
from snellen.datasets.raw import Raw


def load_data(
    path: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    allow: Collection[str] = (),
    images: str | Path | None = None,
    extras: bool = False,
) -> Dataset:
    """The data set at `path`, a file or folder.

    format: one of `LAYOUTS`, default: seen from the files. split: the part wanted (`train`, `valid`, `test` ...), or
    `all`; needed where there are several. allow: codes of faults with which to load all the same: the boxes concerned
    are left out, and `findings` says so. images: the folder of pictures, where it is not the usual one. extras: keep
    what only a file of the same format can carry. DataError: fact, expectation, place.
    """
    for code in allow:
        if code not in BLOCKING:
            raise unknown("fault to allow", code, BLOCKING)
    parts = parts_of(Path(path), format=format, split=split, images=images)
    loaded = {part.name: settle(part.read(extras=extras), allow=allow, part=part) for part in parts}
    if len(loaded) == 1:
        return next(iter(loaded.values()))
    return join(loaded, name=Path(path).name, source=Path(path))


def parts_of(
    path: Path,
    *,
    format: str | None = None,
    split: str | None = None,
    images: str | Path | None = None,
) -> list[Part]:
    """The parts of the data set at `path` that `split` names, unread."""
    if not path.exists():
        raise DataError(f"no such file or folder: {path}")
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"neither a file nor a folder: {path}")
    if images is not None and not Path(images).is_dir():
        raise DataError(f"there is no such folder of pictures: {images}")
    if format is not None and format not in LAYOUTS:
        raise unknown("format", format, LAYOUTS)
    layout = LAYOUTS[format] if format else layout_of(path)
    parts = layout.parts(path, None if images is None else Path(images))
    if not parts:
        raise DataError(f"no {layout.name} data set: {layout.expects}: {path}")
    names = [part.name for part in parts]
    if split == "all" or (split is None and len(parts) == 1):
        return [part for part in parts if not part.overlaps] or parts
    if split is None:
        raise SpecError(
            f"the data set has the parts {', '.join(names)}: say which one, or all, with --split (split=): {path}"
        )
    chosen = [part for part in parts if part.name == split] or [
        part for part in parts if part.name in ALIASES.get(split, ())
    ]
    if not chosen:
        there = f"it has: {', '.join(names)}" if any(names) else "it is whole, without parts: leave split out"
        raise SpecError(f"the data set has no part {split!r}; {there}: {path}")
    return chosen


ALIASES = {"valid": ("val", "validation"), "val": ("valid", "validation"), "validation": ("valid", "val")}
"""Names by which the same part goes."""


def settle(raw: Raw, *, allow: Collection[str] = (), part: Part | None = None) -> Dataset:
    """A data set from what its files say; DataError where that cannot be scored and is not allowed."""
    findings = check(raw)
    refuse(findings, allow=allow)
    class_file, described = part.describe(raw.classes) if part else (None, [])
    findings += described
    kept = (raw.image >= 0) & (raw.label >= 0) & sound(raw.boxes)
    left = int((~kept).sum())
    if left:
        text = counted(left, "boxes were left out as allowed")
        findings.insert(0, Finding("left-out", "warning", text, left, str(raw.source)))
    names = _unique(raw.files)
    rows = np.flatnonzero(kept)
    boxes = raw.boxes[rows]
    area = raw.area[rows] if len(raw.area) else np.full(len(rows), np.nan)
    plain = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    truth = BoxTable(
        tuple(names),
        raw.classes,
        raw.image[rows],
        raw.label[rows],
        boxes,
        None,
        raw.crowd[rows] if len(raw.crowd) else np.zeros(len(rows), dtype=np.bool_),
        np.where(np.isfinite(area), area, plain),
    )
    ids = raw.annotation_ids
    columns = [dict(zip(raw.attributes, values, strict=True)) for values in zip(*raw.attributes.values(), strict=True)]
    return Dataset(
        part.title if part else raw.source.stem,
        PictureFiles(names, raw.paths or [None] * len(names), raw.sizes, part.folder if part else raw.source.parent),
        truth,
        Table.of_rows(columns) if columns else Table({}),
        raw.sha256,
        raw.format,
        raw.source,
        raw.image_ids,
        raw.category_ids,
        ids[rows] if isinstance(ids, np.ndarray) else [ids[i] for i in rows.tolist()] if len(ids) else (),
        tuple(raw.notes[i] for i in rows) if raw.notes else (),
        class_file,
        known=raw.known,
        findings=tuple(findings),
        image_notes=raw.image_notes,
        class_notes=raw.class_notes,
        extras=raw.extras,
    )


def _unique(names: Sequence[str]) -> list[str]:
    """The names; of those that occur again (allowed) the later ones are numbered."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out
