"""The table of layouts, in the order in which they are tried. A layout's module is imported when it is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.datasets.findings import counted, listed
from snellen.datasets.names import is_picture, walk
from snellen.datasets.part import Layout


def _of(module: str, function: str) -> Callable[..., Any]:
    """The function of a module in this folder, imported when it is called."""
    return lambda *args: getattr(import_module(f"snellen.datasets.{module}"), function)(*args)


def _layout(name: str, expects: str, module: str) -> Layout:
    return Layout(name, expects, _of(module, "sees"), _of(module, "parts"))


LAYOUTS: Mapping[str, Layout] = {
    "coco": _layout("coco", "a COCO json file, or folders with _annotations.coco.json", "coco_layout"),
    "wade": _layout("wade", "a .jsonl file of records with instances", "wade"),
    "civet": _layout("civet", "a folder with repr.json and images/", "civet"),
    "deeppcb": _layout("deeppcb", "group*/ID/*_test.jpg and group*/ID_not/*.txt", "deeppcb"),
    "yolo": _layout("yolo", "data.yaml, obj.data, or txt labels and classes.txt", "yolo_layout"),
    "voc": _layout("voc", "a Pascal VOC xml file or a folder of them", "voc_layout"),
    "voc-one-based": Layout(
        "voc-one-based",
        "the same, with pixels counted from 1 and the last one included, as the original VOC has them",
        lambda path: False,
        _of("voc_layout", "one_based_parts"),
    ),
}
"""Every layout by name."""


def layout_of(path: Path) -> Layout:
    """The layout that `path` looks like; DataError where none does."""
    found = _seen(path)
    if found is not None:
        return found
    known = "; ".join(f"{layout.name}: {layout.expects}" for layout in LAYOUTS.values())
    raise DataError(f"this is no data set of a known layout, but {_what(path)} ({known}): {path}")


def _seen(path: Path) -> Layout | None:
    """The first layout that sees its own in `path`."""
    return next((layout for layout in LAYOUTS.values() if layout.seen(path)), None)


def _what(path: Path) -> str:
    """What `path` is instead, in words."""
    if path.is_dir():
        files = list(walk(path))
        pictures = sum(map(is_picture, files))
        if not files:
            return "an empty folder"
        what = f"a folder of {counted(pictures, 'pictures')} and {counted(len(files) - pictures, 'other files')}"
        folders = sorted(place for place in path.iterdir() if place.is_dir() and not place.name.startswith("."))
        below = {folder.name: _seen(folder) for folder in folders[:LOOKED_AT]}
        named = [f"{name}/ is {layout.name}" for name, layout in below.items() if layout is not None]
        return f"{what}, of which {listed(named)}: name {'that' if len(named) == 1 else 'one'}" if named else what
    if path.suffix.casefold() in ARCHIVES:
        return "an archive: unpack it, and name the folder"
    return "an empty file" if not path.stat().st_size else f"a {path.suffix or 'nameless'} file of another kind"


LOOKED_AT = 20
"""Folders in which a data set is looked for, to name them."""

ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"})
