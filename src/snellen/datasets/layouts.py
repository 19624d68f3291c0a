"""The table of layouts, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.core.errors import DataError
from snellen.datasets import civet, coco_layout, deeppcb, voc_layout, wade, yolo_layout
from snellen.datasets.part import Layout

LAYOUTS: Mapping[str, Layout] = {
    "coco": Layout(
        "coco", "a COCO json file, or folders with _annotations.coco.json", coco_layout.sees, coco_layout.parts
    ),
    "wade": Layout("wade", "a .jsonl file of records with instances", wade.sees, wade.parts),
    "civet": Layout("civet", "a folder with repr.json and images/", civet.sees, civet.parts),
    "deeppcb": Layout("deeppcb", "group*/ID/*_test.jpg and group*/ID_not/*.txt", deeppcb.sees, deeppcb.parts),
    "yolo": Layout("yolo", "data.yaml, obj.data, or txt labels and classes.txt", yolo_layout.sees, yolo_layout.parts),
    "voc": Layout("voc", "a Pascal VOC xml file or a folder of them", voc_layout.sees, voc_layout.parts),
    "voc-one-based": Layout(
        "voc-one-based",
        "the same, with pixels counted from 1 and the last one included, as the original VOC has them",
        lambda path: False,
        voc_layout.one_based_parts,
    ),
}
"""Every layout by name."""


def layout_of(path: Path) -> Layout:
    """The layout that `path` looks like; DataError where none does."""
    for layout in LAYOUTS.values():
        if layout.seen(path):
            return layout
    known = "; ".join(f"{layout.name}: {layout.expects}" for layout in LAYOUTS.values())
    raise DataError(f"this is no data set of a known layout ({known}): {path}")
