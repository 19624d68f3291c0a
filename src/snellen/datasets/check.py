"""Looks at what the files say and names every fault that changes a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import FARTHEST, sound
from snellen.core.labels import collisions
from snellen.datasets.findings import Finding, Severity, counted, listed
from snellen.datasets.raw import Raw

KEPT = 1000
"""Examples that a finding holds."""


def check(raw: Raw) -> list[Finding]:
    """The reader's findings and those of the columns, worst first."""
    found = [*raw.findings, *(finding for rule in RULES for finding in rule(raw))]
    return sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _doubled_images(raw: Raw) -> Iterable[Finding]:
    counts = Counter(raw.image_ids)
    for key in [key for key, n in counts.items() if n > 1]:
        names = [name for name, other in zip(raw.files, raw.image_ids, strict=True) if other == key]
        yield _one(
            raw,
            "duplicate-image-id",
            "error",
            f"duplicate image id {key} ({listed(names)})",
            len(names) - 1,
            [str(key)],
        )
    for name, n in Counter(raw.files).items():
        if n > 1:
            yield _one(raw, "duplicate-file", "error", f"{n} images are the file {name!r}", n - 1, [name])


def _doubled_annotations(raw: Raw) -> Iterable[Finding]:
    ids = raw.annotation_ids
    if not len(ids):
        return
    if isinstance(ids, np.ndarray):
        keys, counts = np.unique(ids, return_counts=True)
        doubled = [str(key) for key in keys[counts > 1].tolist()]
    else:
        doubled = [str(key) for key, n in Counter(ids).items() if n > 1]
    if doubled:
        yield _one(
            raw, "duplicate-annotation-id", "error", f"duplicate annotation id {listed(doubled)}", len(doubled), doubled
        )


def _id_zero(raw: Raw) -> Iterable[Finding]:
    ids = raw.annotation_ids
    if isinstance(ids, np.ndarray) and (ids == 0).any():
        text = "an annotation has the id 0: some evaluators count it as missed (here ids play no role)"
        yield _one(raw, "annotation-id-zero", "warning", text, int((ids == 0).sum()), ["0"])


def _dangling(raw: Raw) -> Iterable[Finding]:
    for code, kind, refs in (
        ("unknown-image", "image", raw.image_refs),
        ("unknown-category", "category", raw.label_refs),
    ):
        if refs:
            absent = [raw.row(row) for row, ref in refs.items() if ref is None or ref == ""]
            strange = [f"{raw.row(row)} refers to {kind} {r}" for row, r in refs.items() if r is not None and r != ""]
            plural = "images" if kind == "image" else "categories"
            parts = [f"{listed(absent)}: no {kind} is named"] if absent else []
            if strange:
                parts.append(f"{listed(strange)}, which {'is' if len(strange) == 1 else 'are'} not in {plural}")
            places = [*strange, *(f"{name} names no {kind}" for name in absent)]
            text = "; ".join(parts[::-1])
            yield _one(raw, code, "error", text, len(places), places)


def _geometry(raw: Raw) -> Iterable[Finding]:
    boxes = raw.boxes
    if raw.malformed:
        places = [f"{raw.row(row)}: {why}" for row, why in raw.malformed.items()]
        yield _one(
            raw,
            "malformed-box",
            "error",
            f"{counted(len(places), 'boxes')} cannot be read: {listed(places)}",
            len(places),
            places,
        )
    x1, y1, x2, y2 = boxes.T  # column by column: numpy is slow along four
    finite: NDArray[np.bool_] = np.isfinite(x1) & np.isfinite(y1) & np.isfinite(x2) & np.isfinite(y2)
    bad = ~finite
    bad[list(raw.malformed)] = False
    yield from _rows(raw, "non-finite-box", "error", bad, "annotations with a non-finite bbox")
    inverted = finite & ((x2 < x1) | (y2 < y1))
    far = finite & ~inverted & ~sound(boxes)
    yield from _rows(raw, "non-finite-box", "error", far, f"boxes beyond {FARTHEST:g} px, whose area is no number")
    finite &= ~far
    yield from _rows(raw, "inverted-box", "error", inverted, "boxes with a negative side")
    empty = finite & ~inverted & ((x2 == x1) | (y2 == y1))
    yield from _rows(raw, "zero-area-box", "error", empty, "boxes without area, which nothing can match")
    yield from _outside(raw, finite & ~inverted)


def _outside(raw: Raw, measurable: NDArray[np.bool_]) -> Iterable[Finding]:
    if not len(raw.sizes) or not len(raw.boxes):
        return
    width, height = raw.sizes[raw.image].astype(np.float64).T
    known = measurable & (raw.image >= 0) & (width > 0) & (height > 0)
    x1, y1, x2, y2 = raw.boxes.T
    slack_x, slack_y = 1e-6 * width + 1e-6, 1e-6 * height + 1e-6
    beyond = (x2 > width + slack_x) | (y2 > height + slack_y) | (x1 < -slack_x) | (y1 < -slack_y)
    away = (x1 >= width) | (y1 >= height) | (x2 <= 0) | (y2 <= 0)
    yield from _rows(raw, "outside-box", "error", known & away, "boxes wholly outside their image")
    yield from _rows(raw, "leaving-box", "warning", known & beyond & ~away, "boxes leaving their image")


def _repeated(raw: Raw) -> Iterable[Finding]:
    columns = [column + 0.0 for column in (raw.image, raw.label, *raw.boxes.T)]  # -0.0 becomes 0.0
    mixed = np.zeros(len(raw.boxes), dtype=np.uint64)  # equal rows mix to equal numbers, others hardly ever
    for column, odd in zip(columns, _ODD, strict=True):
        mixed += column.view(np.uint64) * odd
    again = np.zeros(len(mixed), dtype=np.bool_)
    in_order = np.sort(mixed)
    if (in_order[1:] == in_order[:-1]).any():
        rows = np.column_stack(columns)
        order = np.argsort(mixed, kind="stable")
        alike = mixed[order[1:]] == mixed[order[:-1]]
        alike &= (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
        again[order[1:][alike]] = True
    yield from _rows(raw, "repeated-box", "warning", again, "boxes drawn twice (same image, class and corners)")


_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5,
                 0x85EBCA77C2B2AE63, 0xFF51AFD7ED558CCD], dtype=np.uint64)  # fmt: skip


def _names(raw: Raw) -> Iterable[Finding]:
    for first, second in collisions(raw.classes):
        text = f"classes {first!r} and {second!r} are one name once case, spaces and hyphens are ignored"
        yield _one(raw, "colliding-classes", "error", text, 1, [first, second])
    for key, n in Counter(raw.category_ids).items():
        if n > 1:
            yield _one(raw, "duplicate-category-id", "error", f"duplicate category id {key}", n - 1, [str(key)])


def _sizes(raw: Raw) -> Iterable[Finding]:
    if not len(raw.sizes):
        return
    bad = np.flatnonzero((raw.sizes <= 0).any(axis=1))
    if len(bad):
        names = [raw.files[i] for i in bad.tolist()]
        text = f"{counted(len(bad), 'images without width and height')}: {listed(names)}"
        yield _one(raw, "size-missing", "warning", text, len(bad), names)


def _pictures(raw: Raw) -> Iterable[Finding]:
    missing = [name for name, path in zip(raw.files, raw.paths, strict=True) if path is None] if raw.paths else []
    if missing and len(missing) == len(raw.files):
        yield _one(raw, "no-pictures", "note", "no picture was found beside the annotations", len(missing), missing)
    elif missing:
        text = f"{counted(len(missing), 'pictures are not there')}: {listed(missing)}"
        yield _one(raw, "missing-picture", "error", text, len(missing), missing)
    shared = [str(path) for path, n in Counter(path for path in raw.paths if path).items() if n > 1]
    if shared:
        yield _one(
            raw, "shared-picture", "error", f"several images mean one file: {listed(shared)}", len(shared), shared
        )


def _no_images(raw: Raw) -> Iterable[Finding]:
    if not len(raw.files):
        yield _one(raw, "no-images", "error", "there is no image in it", 1, [])


def _areas(raw: Raw) -> Iterable[Finding]:
    """Areas that decide by which size a box counts, and that no shape in this box has."""
    if not len(raw.area):
        return
    x1, y1, x2, y2 = raw.boxes.T
    with np.errstate(invalid="ignore", over="ignore"):
        plain = (x2 - x1) * (y2 - y1)
        odd = (plain > 0) & np.isfinite(plain) & ((raw.area <= 0) | (raw.area > 1.1 * plain + 4))
    rows = np.flatnonzero(odd).tolist()
    if rows:
        places = [f"{raw.row(i)} {_box(raw, i)}: {raw.area[i]:g}" for i in rows[:KEPT]]
        what = "areas that no shape inside their box has (recall and AP by size go by them)"
        yield _one(raw, "area-differs", "warning", f"{counted(len(rows), what)}: {listed(places)}", len(rows), places)


RULES: tuple[Callable[[Raw], Iterable[Finding]], ...] = (
    _no_images,
    _doubled_images,
    _doubled_annotations,
    _dangling,
    _geometry,
    _repeated,
    _areas,
    _names,
    _sizes,
    _pictures,
    _id_zero,
)
"""Every rule that looks at the columns, in the order of their findings."""


def _rows(raw: Raw, code: str, severity: Severity, mask: NDArray[np.bool_], what: str) -> Iterable[Finding]:
    rows = np.flatnonzero(mask)
    if not len(rows):
        return
    places = [f"{raw.row(i)}{_image(raw, i)} {_box(raw, i)}" for i in rows[:KEPT].tolist()]
    text = f"{counted(len(rows), what)}{', for example' if len(rows) > 3 else ':'} {'; '.join(places[:3])}"
    yield _one(raw, code, severity, text, len(rows), places)


def _image(raw: Raw, row: int) -> str:
    if not len(raw.image_ids):
        return ""  # the row's name says it
    image = int(raw.image[row])
    return " (no image)" if image < 0 else f" (image {raw.image_ids[image]}, {raw.files[image]})"


def _box(raw: Raw, row: int) -> str:
    if row in raw.written:
        return raw.written[row]
    return "[" + ", ".join(f"{value:g}" for value in raw.boxes[row].tolist()) + "]"


def _one(raw: Raw, code: str, severity: Severity, text: str, count: int, examples: Sequence[str]) -> Finding:
    return Finding(code, severity, text, count, str(raw.source), tuple(examples[:KEPT]))
