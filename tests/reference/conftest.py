"""COCO files as columns, read plainly, apart from the product's own readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from snellen.core.detections import BoxTable

Reader: TypeAlias = Callable[[Any, Any], tuple[BoxTable, BoxTable]]


def _plain(source: Any) -> Any:
    return json.loads(Path(source).read_text()) if isinstance(source, str | Path) else source


def _table(rows: list[dict[str, Any]], images: dict[Any, int], classes: dict[Any, int], *, scored: bool) -> BoxTable:
    boxes = np.array([row["bbox"] for row in rows], dtype=float).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return BoxTable(
        tuple(map(str, images)),
        tuple(map(str, classes)),
        np.array([images[row["image_id"]] for row in rows], dtype=int),
        np.array([classes.get(row["category_id"], -1) for row in rows], dtype=int),
        boxes,
        np.array([row["score"] for row in rows], dtype=float) if scored else None,
        np.array([bool(row.get("iscrowd", 0)) for row in rows], dtype=bool),
        np.array([row["bbox"][2] * row["bbox"][3] if scored else row["area"] for row in rows], dtype=float),
    )


@pytest.fixture(scope="session")
def coco_boxes() -> Reader:
    """(truth file or dict, results file or list) -> truth and predictions; classes are named by their ids."""

    def read(truth: Any, results: Any) -> tuple[BoxTable, BoxTable]:
        truth, results = _plain(truth), _plain(results)
        images = {key: i for i, key in enumerate(sorted(image["id"] for image in truth["images"]))}
        classes = {key: i for i, key in enumerate(sorted(c["id"] for c in truth["categories"]))}
        return _table(truth["annotations"], images, classes, scored=False), _table(
            results, images, classes, scored=True
        )

    return read
