"""DeepPCB's own layout: `group*/ID/NAME_test.jpg` and `group*/ID_not/NAME.txt`, lines `x1 y1 x2 y2 type`, px.

Source: github tangsanli5201/DeepPCB, README. The stems of pictures and labels differ.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np

from snellen.core.errors import DataError
from snellen.core.pictures import measure_file
from snellen.datasets.findings import Finding, several
from snellen.datasets.part import Part, class_file_of
from snellen.datasets.raw import Raw
from snellen.datasets.text import read_text

CLASSES = ("open", "short", "mousebite", "spur", "copper", "pin-hole")
"""Types 1 to 6."""


def sees(path: Path) -> bool:
    """Whether `path` is such a folder, or holds one."""
    return path.is_dir() and next(iter(_root(path).glob("group*/*_not")), None) is not None


def parts(path: Path, images: Path | None) -> list[Part]:
    """One part: the published lists of train and test are not always with the pictures."""
    return [Part("", images or _root(path), partial(_read, images or _root(path)), path.name, class_file_of(path))]


def _root(path: Path) -> Path:
    return path / "PCBData" if (path / "PCBData").is_dir() else path


def _read(root: Path, *, extras: bool = False) -> Raw:
    pictures = sorted(root.glob("group*/*/*_test.jpg"))
    labels = dict.fromkeys(sorted(root.glob("group*/*_not/*.txt")), False)
    digest = hashlib.sha256()
    rows: list[tuple[int, list[float], int]] = []
    problems, without = [], []
    for i, picture in enumerate(pictures):
        file = picture.parents[1] / f"{picture.parent.name}_not" / f"{picture.stem.removesuffix('_test')}.txt"
        if file not in labels:
            without.append(picture.name)
            continue
        labels[file] = True
        text = read_text(file)
        digest.update(f"{file.name}\n{text}".encode())
        for number, line in enumerate(text.splitlines(), 1):
            words = line.replace(",", " ").split()
            if not words:
                continue
            try:
                *box, kind = (int(word) for word in words)
                if len(box) != 4 or not 1 <= kind <= len(CLASSES):
                    raise ValueError(line)
                rows.append((i, [float(value) for value in box], number))
                rows[-1][1].append(kind - 1)
            except ValueError:
                problems.append(f"line {number}: expected x1 y1 x2 y2 type, got {line!r}: {file}")
    stray = [str(file) for file, taken in labels.items() if not taken]
    columns = np.array([values for _, values, _ in rows], dtype=np.float64).reshape(-1, 5)
    return Raw(
        "deeppcb",
        root,
        digest.hexdigest(),
        (),
        [picture.relative_to(root).as_posix() for picture in pictures],
        CLASSES,
        np.array([i for i, _, _ in rows], dtype=np.int64),
        columns[:, 4].astype(np.int64),
        columns[:, :4],
        paths=pictures,
        sizes=np.array([_size(picture) for picture in pictures], dtype=np.int64).reshape(-1, 2),
        attributes={"group": [picture.parent.name for picture in pictures]},
        lines=np.array([number for _, _, number in rows], dtype=np.int64),
        findings=tuple(_findings(root, problems, without, stray)),
    )


def _size(picture: Path) -> tuple[int, int]:
    try:
        return measure_file(picture)
    except DataError:
        return 0, 0


def _findings(root: Path, problems: list[str], without: list[str], stray: list[str]) -> list[Finding]:
    text = "labels are NAME.txt, pictures NAME_test.jpg: tools that pair them by stem find no labels"
    return [
        *several(
            (
                ("malformed-line", "error", problems, "lines cannot be read"),
                ("label-without-picture", "error", stray, "label files have no picture"),
                ("no-label-file", "note", without, "pictures have no label file: taken as pictures without objects"),
            ),
            str(root),
        ),
        Finding("stems-differ", "note", text, 1, str(root)),
    ]
