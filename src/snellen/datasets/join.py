"""Several parts as one data set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import BoxTable, Int
from snellen.core.tables import Table
from snellen.datasets.dataset import Dataset
from snellen.datasets.raw import Id

if TYPE_CHECKING:
    from snellen.core.pictures import Picture


def join(parts: Mapping[str, Dataset], *, name: str, source: Path) -> Dataset:
    """All images of all parts; names become `part/name`, the attribute `split` says whence each came.

    Classes are matched by name, in order of first appearance. Ids that occur in several parts are dropped.
    """
    classes = tuple(dict.fromkeys(label for part in parts.values() for label in part.classes))
    index = {label: i for i, label in enumerate(classes)}
    offsets = np.cumsum([0, *(len(part) for part in parts.values())])
    tables = [part.truth for part in parts.values()]
    images = tuple(f"{key}/{image}" for key, part in parts.items() for image in part.truth.images)
    truth = BoxTable(
        images,
        classes,
        np.concatenate([table.image + start for table, start in zip(tables, offsets, strict=False)]),
        np.concatenate([np.array([index[c] for c in t.classes], dtype=np.int64)[t.label] for t in tables]),
        np.concatenate([table.boxes for table in tables]),
        None,
        np.concatenate([table.crowd for table in tables]),
        np.concatenate([table.area for table in tables]),
    )
    digest = hashlib.sha256("".join(f"{key} {part.sha256}\n" for key, part in sorted(parts.items())).encode())
    first = next(iter(parts.values()))
    return Dataset(
        name,
        [_renamed(p, image) for p, image in zip((p for d in parts.values() for p in d.pictures), images, strict=True)],
        truth,
        _attributes(parts),
        digest.hexdigest(),
        first.format,
        source,
        _together([part.image_ids for part in parts.values()], len(images)),
        _ids(classes, parts),
        _together([part.annotation_ids for part in parts.values()], len(truth)),
        _notes([(part.notes, len(part.truth)) for part in parts.values()]),
        first.class_file,
        known=_known(parts, index),
        findings=tuple(finding for part in parts.values() for finding in part.findings),
        image_notes=_notes([(part.image_notes, len(part)) for part in parts.values()]),
        class_notes=first.class_notes if first.classes == classes else (),
        extras=first.extras,
    )


def _renamed(picture: Picture, name: str) -> Picture:
    return replace(picture, name=name)


def _attributes(parts: Mapping[str, Dataset]) -> Table:
    rows: list[dict[str, Any]] = []
    for key, part in parts.items():
        known = list(part.attributes.rows()) or [{}] * len(part)
        rows += [{"split": key, **row} for row in known]
    return Table.of_rows(rows, names=("split",))


def _ids(classes: Sequence[str], parts: Mapping[str, Dataset]) -> Sequence[Id]:
    """The parts' category ids where they agree, none where they have none, else numbered from 1."""
    known: dict[str, Id] = {}
    agree = True
    for part in parts.values():
        for label, key in zip(part.classes, part.category_ids, strict=False):
            agree &= known.setdefault(label, key) == key
    if not known:
        return ()
    if agree and len(set(known.values())) == len(known) == len(classes):
        return [known[label] for label in classes]
    return list(range(1, len(classes) + 1))


def _together(columns: Sequence[Sequence[Id] | Int], n: int) -> Sequence[Any]:
    """Ids of all parts where they are all there and different, else none: files number their own."""
    ids = [key for column in columns for key in (column.tolist() if isinstance(column, np.ndarray) else column)]
    return ids if len(ids) == n == len(set(map(str, ids))) else ()


def _notes(columns: Sequence[tuple[Sequence[Mapping[str, Any]], int]]) -> tuple[Mapping[str, Any], ...]:
    if not any(notes for notes, _ in columns):
        return ()
    return tuple(note for notes, n in columns for note in (notes or ({},) * n))


def _known(parts: Mapping[str, Dataset], index: Mapping[str, int]) -> NDArray[np.bool_] | None:
    """Which classes are known where, all parts together; a class that a part lacks is not known there."""
    if all(part.known is None for part in parts.values()):
        return None
    rows = []
    for part in parts.values():
        whole = np.zeros((len(part), len(index)), dtype=np.bool_)
        whole[:, [index[name] for name in part.classes]] = True if part.known is None else part.known
        rows.append(whole)
    return np.concatenate(rows)
