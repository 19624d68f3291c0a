"""What is in a data set, in tables: classes, sizes, crowding, attributes (the papers' statistics)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.labels import normal
from snellen.datasets.dataset import Dataset

SMALL, LARGE = 32**2, 96**2
"""COCO's borders between small, medium and large, px^2."""

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def describe(dataset: Dataset) -> dict[str, Any]:
    """Counts and distributions, as plain JSON.

    `classes`: boxes, images, share of boxes, mean boxes per image that has some, median side (px) by class. `sizes`:
    boxes by COCO's size classes. `per_image`: quantiles of boxes per image. `pictures`: the commonest sizes.
    `attributes`: images and boxes by value.
    """
    truth = dataset.truth
    per_image = np.bincount(truth.image, minlength=len(dataset))
    sides = truth.boxes[:, 2:] - truth.boxes[:, :2]
    return {
        "name": dataset.name,
        "format": dataset.format,
        "source": str(dataset.source),
        "sha256": dataset.sha256,
        "images": len(dataset),
        "images_without_boxes": int((per_image == 0).sum()),
        "boxes": len(truth),
        "crowd_regions": int(truth.crowd.sum()),
        "classes": _classes(dataset, sides),
        "sizes": {
            "small": int((truth.area < SMALL).sum()),
            "medium": int(((truth.area >= SMALL) & (truth.area < LARGE)).sum()),
            "large": int((truth.area >= LARGE).sum()),
        },
        "per_image": _quantiles(per_image),
        "box_width": _quantiles(sides[:, 0]),
        "box_height": _quantiles(sides[:, 1]),
        "pictures": _pictures(dataset),
        "attributes": {name: _attribute(dataset, name, per_image) for name in dataset.attributes.names},
        "instructions": _instructions(dataset),
    }


def _classes(dataset: Dataset, sides: NDArray[np.float64]) -> dict[str, dict[str, float | int | None]]:
    truth = dataset.truth
    out: dict[str, dict[str, float | int | None]] = {}
    for label, name in enumerate(dataset.classes):
        rows = np.flatnonzero(truth.label == label)
        images = len(np.unique(truth.image[rows]))
        out[name] = {
            "boxes": len(rows),
            "images": images,
            "share": len(rows) / len(truth) if len(truth) else None,
            "per_image": len(rows) / images if images else None,
            "median_side": float(np.median(np.sqrt(np.prod(sides[rows], axis=1)))) if len(rows) else None,
        }
    return out


def _quantiles(values: NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
        return None
    names = ("min", "q25", "median", "q75", "max")
    found = dict(zip(names, np.quantile(values, QUANTILES).tolist(), strict=True))
    return found | {"mean": float(np.mean(values))}


def _pictures(dataset: Dataset) -> dict[str, int]:
    """The ten commonest sizes, as said in the files; others together."""
    counts: dict[str, int] = {}
    for picture in dataset.pictures:
        name = f"{picture.size.width}x{picture.size.height}" if picture.size else "unknown"
        counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(n for _, n in ranked[10:])
    return dict(ranked[:10]) | ({"others": rest} if rest else {})


def _attribute(dataset: Dataset, name: str, per_image: NDArray[Any]) -> dict[str, Any]:
    column = dataset.attributes[name]
    values = list(dict.fromkeys(column.tolist()))
    if len(values) > 50:
        return {"values": len(values)}
    rows = {str(value): column == value for value in values}
    return {name: {"images": int(mask.sum()), "boxes": int(per_image[mask].sum())} for name, mask in rows.items()}


def _instructions(dataset: Dataset) -> dict[str, bool] | None:
    if dataset.class_file is None:
        return None
    said = {normal(entry.name): bool(entry.instructions or entry.rules) for entry in dataset.class_file.entries}
    return {name: said.get(normal(name), False) for name in dataset.classes}
