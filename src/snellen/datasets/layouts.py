"""The table of layouts: how each kind of data set lies on disk, and how its parts are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from snellen.core.errors import DataError
from snellen.datasets import coco
from snellen.datasets.classfile import NAME, ClassFile, read_class_file
from snellen.datasets.names import Finder
from snellen.datasets.raw import Raw


class Reader(Protocol):
    """Reads one part."""

    def __call__(self, *, extras: bool = False) -> Raw:
        """What the files say."""
        ...


@dataclass(frozen=True)
class Part:
    """A part (split) of a data set: its name ("" where there is only one), its folder, how it is read."""

    name: str
    folder: Path
    read: Reader
    title: str
    classes: Path | None = None

    def class_file(self) -> ClassFile | None:
        """What is known about the classes beside their names."""
        if self.classes is None:
            return None
        return read_class_file(self.classes)


@dataclass(frozen=True)
class Layout:
    """A kind of data set. `seen(path)`: whether it looks like this; `parts(path, images)`: what is there."""

    name: str
    expects: str
    seen: Callable[[Path], bool]
    parts: Callable[[Path, Path | None], list[Part]]


ROBOFLOW = "_annotations.coco.json"


def _coco_files(path: Path) -> dict[str, Path]:
    """Part -> annotation file."""
    if path.is_file():
        return {"": path}
    inside = {folder.name: folder / ROBOFLOW for folder in sorted(path.iterdir()) if (folder / ROBOFLOW).is_file()}
    if inside:
        return {name: inside[name] for name in sorted(inside, key=_rank)}
    if (path / ROBOFLOW).is_file():
        return {"": path / ROBOFLOW}
    for folder in (path / "annotations", path):
        files = sorted(folder.glob("*.json")) if folder.is_dir() else []
        chosen = [file for file in files if file.name.startswith("instances_")] or [f for f in files if is_coco(f)]
        if chosen:
            return {coco.part_of(file) if len(chosen) > 1 else "": file for file in chosen}
    return {}


def _coco_parts(path: Path, images: Path | None) -> list[Part]:
    files = _coco_files(path)
    title = path.stem if path.is_file() else path.name
    return [
        Part(
            name,
            images or file.parent,
            partial(_read_coco, file, images=images, siblings=tuple(f for f in files.values() if f != file)),
            f"{title}/{name}" if name else title,
            class_file_of(path, file.parent),
        )
        for name, file in files.items()
    ]


def _read_coco(file: Path, *, images: Path | None, siblings: tuple[Path, ...], extras: bool = False) -> Raw:
    finder = Finder(images) if images is not None else None
    return coco.read(file, finder=finder, extras=extras, siblings=siblings)


_COCO = re.compile(rb'"(images|annotations|categories)"\s*:\s*\[')


def is_coco(path: Path) -> bool:
    """Whether a JSON file looks like COCO annotations (its head or its tail names a top-level list)."""
    if path.name.removesuffix(".gz").rpartition(".")[2] != "json":
        return False
    if path.suffix == ".gz":
        return True
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
            file.seek(max(0, path.stat().st_size - (1 << 16)))
            tail = file.read()
    except OSError:
        return False
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and bool(_COCO.search(head) or _COCO.search(tail))


def _sees_coco(path: Path) -> bool:
    return is_coco(path) if path.is_file() else bool(_coco_files(path))


def class_file_of(*places: Path) -> Path | None:
    """The `classes.yaml` in or beside the first of `places` that has one."""
    for place in places:
        folder = place if place.is_dir() else place.parent
        for candidate in (folder / NAME, folder.parent / NAME):
            if candidate.is_file():
                return candidate
    return None


def _rank(name: str) -> tuple[int, str]:
    order = ("train", "valid", "val", "validation", "test")
    return (order.index(name) if name in order else len(order), name)


LAYOUTS: Mapping[str, Layout] = {
    "coco": Layout("coco", "a COCO json file, or folders with _annotations.coco.json", _sees_coco, _coco_parts),
}
"""Every layout by name, in the order in which they are tried."""


def layout_of(path: Path) -> Layout:
    """The layout that `path` looks like; DataError where none does."""
    for layout in LAYOUTS.values():
        if layout.seen(path):
            return layout
    known = "; ".join(f"{layout.name}: {layout.expects}" for layout in LAYOUTS.values())
    raise DataError(f"this is no data set of a known layout ({known}): {path}")
