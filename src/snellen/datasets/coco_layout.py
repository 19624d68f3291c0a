"""Where COCO json files and their pictures lie: one file, Roboflow's export, COCO's `annotations/`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from snellen.datasets import coco
from snellen.datasets.names import Finder
from snellen.datasets.part import Part, class_file_of, rank
from snellen.datasets.raw import Raw

ROBOFLOW = "_annotations.coco.json"


def _coco_files(path: Path) -> dict[str, Path]:
    """Part -> annotation file."""
    if path.is_file():
        return {"": path}
    inside = {folder.name: folder / ROBOFLOW for folder in sorted(path.iterdir()) if (folder / ROBOFLOW).is_file()}
    if inside:
        return {name: inside[name] for name in sorted(inside, key=rank)}
    if (path / ROBOFLOW).is_file():
        return {"": path / ROBOFLOW}
    for folder in (path / "annotations", path):
        files = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")]) if folder.is_dir() else []
        chosen = [file for file in files if file.name.startswith("instances_")] or [f for f in files if is_coco(f)]
        if chosen:
            return {coco.part_of(file) if len(chosen) > 1 else "": file for file in chosen}
    return {}


def parts(path: Path, images: Path | None) -> list[Part]:
    """The parts: an annotation file each."""
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
        return path.is_file()
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
            file.seek(max(0, path.stat().st_size - (1 << 16)))
            tail = file.read()
    except OSError:
        return False
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and bool(_COCO.search(head) or _COCO.search(tail))


def sees(path: Path) -> bool:
    """Whether `path` is such a file or holds some."""
    return is_coco(path) if path.is_file() else bool(_coco_files(path))
