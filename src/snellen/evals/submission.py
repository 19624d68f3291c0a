"""The challenge submission of Roboflow100-VL: a zip of one pickle per data set (PROTOCOLS section 2).

Each pickle is a list, a row per image: `{"image_id", "instances": [{image_id, category_id, bbox, score}]}`, bbox as
x, y, w, h; category ids count from 0 after the dummy category is dropped. What is validated is read by a reader that
builds nothing but plain values: a stranger's pickle cannot run anything.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.detections import Detections
from snellen.core.errors import DataError, SpecError
from snellen.datasets.dataset import Dataset
from snellen.datasets.unpickle import read_pickle
from snellen.runs.store import Run
from snellen.scoring.tabulation import boxes_of

Row = dict[str, Any]


def predictions_of(run: Run) -> dict[str, Detections]:
    """What a scored run's readings found on each picture. StoreError where it was not scored."""
    tables = run.tables()
    if tables.kind != "boxes":
        raise SpecError(f"a submission is made of boxes, this run has none: {run.path}")
    _, predicted = boxes_of(tables)
    return dict(predicted.rows())


def rows_of(dataset: Dataset, found: Mapping[str, Detections]) -> list[Row]:
    """The rows of one data set: every image, also those without instances; a missing score is 1.0 (as the paper's)."""
    index = {name: i for i, name in enumerate(dataset.classes)}
    ids = dataset.image_ids if len(dataset.image_ids) else range(len(dataset))
    rows = []
    for image, name in zip(ids, dataset.truth.images, strict=True):
        said = found.get(name, Detections.empty())
        instances = []
        for i, (box, label) in enumerate(zip(said.boxes.tolist(), said.labels, strict=True)):
            if label not in index:
                continue  # the challenge has no row for a class that it does not know
            x1, y1, x2, y2 = box
            score = 1.0 if said.scores is None or math.isnan(said.scores[i]) else float(said.scores[i])
            instances.append(
                {"image_id": image, "category_id": index[label], "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score}
            )
        rows.append({"image_id": image, "instances": instances})
    return rows


def write_submission(out: Path, sets: Mapping[str, Sequence[Row]]) -> None:
    """Writes `<slug>.pkl` for each data set into the zip `out`. SpecError for a slug that is no plain file name."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for slug, rows in sets.items():
            if not slug or "/" in slug or slug.startswith("."):
                raise SpecError(f"a data set's slug becomes a file name, got {slug!r}")
            archive.writestr(f"{slug}.pkl", pickle.dumps(list(rows), protocol=4))


def check_submission(path: Path, truths: Mapping[str, Dataset]) -> list[str]:
    """What is wrong with a submission: missing and unknown files, images and categories, boxes and scores.

    An empty list: it is valid. DataError where it is no zip.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {Path(name).name: name for name in archive.namelist() if name.endswith(".pkl")}
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"a submission is a zip ({error}): {path}") from error
    faults = [f"{slug}.pkl is missing" for slug in truths if f"{slug}.pkl" not in names]
    faults += [f"{name} belongs to no data set" for name in names if name.removesuffix(".pkl") not in truths]
    for slug, dataset in truths.items():
        if f"{slug}.pkl" in names:
            rows = read_pickle(path, member=names[f"{slug}.pkl"])
            faults += [f"{slug}.pkl: {fault}" for fault in _check(rows, dataset)]
    return faults


def _check(rows: Any, dataset: Dataset) -> list[str]:
    if not isinstance(rows, list):
        return [f"a list of rows is expected, got {type(rows).__name__}"]
    ids = set(dataset.image_ids if len(dataset.image_ids) else range(len(dataset)))
    faults: list[str] = []
    seen: set[Any] = set()
    for i, row in enumerate(rows):
        if not isinstance(row, dict) or "image_id" not in row or not isinstance(row.get("instances"), list):
            faults.append(f"row {i} needs image_id and a list of instances")
            continue
        image = row["image_id"]
        if image not in ids:
            faults.append(f"row {i}: image {image!r} is not in the data set")
        if image in seen:
            faults.append(f"row {i}: image {image!r} stands twice")
        seen.add(image)
        for k, instance in enumerate(row["instances"]):
            faults += [f"row {i}, instance {k}: {fault}" for fault in _instance(instance, image, len(dataset.classes))]
    missing = ids - seen
    if missing:
        faults.append(f"{len(missing)} images have no row, for example {sorted(missing, key=str)[0]!r}")
    return faults


def _instance(instance: Any, image: Any, classes: int) -> list[str]:
    if not isinstance(instance, dict):
        return [f"a mapping is expected, got {type(instance).__name__}"]
    faults = []
    if instance.get("image_id") != image:
        faults.append(f"image_id is {instance.get('image_id')!r}, the row's is {image!r}")
    category = instance.get("category_id")
    if not isinstance(category, int) or not 0 <= category < classes:
        faults.append(f"category_id must be 0 to {classes - 1}, got {category!r}")
    box = instance.get("bbox")
    if not (isinstance(box, list | tuple) and len(box) == 4 and all(_finite(x) for x in box)):
        faults.append(f"bbox must be four finite numbers, got {box!r}")
    elif box[2] <= 0 or box[3] <= 0:
        faults.append(f"bbox must have a width and a height, got {box!r}")
    if not _finite(instance.get("score")):
        faults.append(f"score must be a finite number, got {instance.get('score')!r}")
    return faults


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
