"""A part (split) of a data set, and a layout: how parts of one kind lie on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from snellen.core.labels import collisions
from snellen.datasets.classfile import NAME, ClassFile, read_class_file
from snellen.datasets.findings import Finding
from snellen.datasets.raw import Raw
from snellen.datasets.readme import README, has_instructions, read_readme


class Reader(Protocol):
    """Reads one part."""

    def __call__(self, *, extras: bool = False) -> Raw:
        """What the files say."""
        ...


@dataclass(frozen=True)
class Part:
    """A part of a data set.

    name: "" where there is only one. folder: that of its pictures. title: what it is called in results. classes: its
    class file. overlaps: it repeats pictures of other parts (VOC's trainval), so `all` leaves it out.
    """

    name: str
    folder: Path
    read: Reader
    title: str
    classes: Path | None = None
    overlaps: bool = False

    def describe(self, classes: Sequence[str]) -> tuple[ClassFile | None, list[Finding]]:
        """What is known about the classes beside their names, and where it does not fit them."""
        if self.classes is None:
            return None, []
        colliding = {second for _, second in collisions(classes)}  # told by `check`; the first of them stands for both
        classes = [name for name in classes if name not in colliding]
        if self.classes.name == NAME:
            found = read_class_file(self.classes)
            return found, found.findings(classes, where=str(self.classes))
        readme = read_readme(self.classes)
        return readme.class_file(classes), readme.findings(classes)


@dataclass(frozen=True)
class Layout:
    """A kind of data set. `seen(path)`: whether it looks like this; `parts(path, images)`: what is there."""

    name: str
    expects: str
    seen: Callable[[Path], bool]
    parts: Callable[[Path, Path | None], list[Part]]


def class_file_of(*places: Path) -> Path | None:
    """The `classes.yaml`, else the `README.dataset.txt` with instructions, in the places or the folders above."""
    folders = [place if place.is_dir() else place.parent for place in places]
    around = [*folders, *(folder.parent for folder in folders)]
    for folder in around:
        if (folder / NAME).is_file():
            return folder / NAME
    return next((folder / README for folder in around if has_instructions(folder / README)), None)


def rank(name: str) -> tuple[int, str]:
    """The usual order of parts."""
    order = ("train", "valid", "val", "validation", "test")
    return (order.index(name) if name in order else len(order), name)
