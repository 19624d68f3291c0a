"""Predictions that are there already, scored against a file of truth."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.tables import Table
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions
from snellen.evals.measures import results_of
from snellen.evals.results import Results
from snellen.scoring.operating_points import ALL, best_f1, fixed
from snellen.scoring.suppression import checked_nms
from snellen.scoring.tabulation import narrowed, tables_of

PROTOCOLS: dict[str, dict[str, Json]] = {
    "coco": {"protocol": "coco", "max_dets": 100},
    "rf100vl": {"protocol": "rf100vl", "max_dets": 500},
    "wade": {"protocol": "wade", "max_dets": 500, "chair": "class", "failures": "count"},
}
"""Protocol -> the options of the measures that it fixes."""


CLASSES = ("all", "present")


def score_predictions(
    truth: Path,
    predictions: Path,
    *,
    protocol: str = "rf100vl",
    format: str | None = None,
    split: str | None = None,
    min_score: float | None = None,
    nms: float | None = None,
    classes: str = "all",
    valid: tuple[Path, Path] | None = None,
    allow: Collection[str] = (),
    image_refs: str | None = None,
    class_refs: str | None = None,
    by: Sequence[str] = (),
    intervals: bool = True,
    draws: int = 1000,
    seed: int = 0,
) -> Results:
    """A file of predictions against a file of truth, without a run between: the same tables, the same measures.

    valid: truth and predictions of the validation part, on which the operating point with the best F1 is chosen
    (PROTOCOLS section 2); else the point is `min_score`, else all predictions. nms: the IoU above which the worse of
    two boxes of a class is left out. classes: `present` leaves out boxes of classes that are not in their picture (the
    referential protocol). allow: faults of the truth with which to load it all the same (see `load_data`). image_refs,
    class_refs: how the predictions refer to pictures and classes (see `read_predictions`).
    """
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    if valid is not None and min_score is not None:
        raise SpecError("an operating point is a fixed score or chosen on the validation part, not both")
    if classes not in CLASSES:
        raise unknown("choice of classes", classes, CLASSES)
    present = classes == "present"
    checked_nms(nms)
    point = ALL if min_score is None else fixed(min_score)
    if valid is not None:
        part = load_data(valid[0], allow=allow)
        said = read_predictions(valid[1], part, format=format, image_refs=image_refs, class_refs=class_refs).table
        point = best_f1(part.truth, narrowed(part.truth, said, nms=nms, present=present)[0])
    dataset = load_data(truth, split=split, allow=allow)
    found = read_predictions(predictions, dataset, format=format, image_refs=image_refs, class_refs=class_refs)
    about = _about(dataset)
    predicted, left_out = narrowed(dataset.truth, found.table, nms=nms, present=present)
    tables = replace(tables_of(dataset.truth, predicted, about=about, min_score=point.min_score), facts=left_out)
    options: dict[str, Json] = {**PROTOCOLS[protocol], "min_score": point.min_score, "nms": nms, "classes": classes}
    results = results_of(tables, task="detect", options=options, by=by, intervals=intervals, draws=draws, seed=seed)
    spared = [str(finding) for finding in dataset.findings if finding.code in {*allow, "left-out"}]
    facts = {"operating_point": point.to_json(), "truth": {"findings": spared}, "predictions": found.facts()}
    return replace(results, facts={**results.facts, **facts})


def _about(dataset: Dataset) -> Table:
    """What is known per picture, as columns of the outcomes table; sites are clusters; sizes, where all are known."""
    attributes, sizes = dataset.attributes, dataset.sizes
    columns: dict[str, Any] = {"sample": np.array(dataset.truth.images, dtype=np.str_)}
    columns |= {f"attr.{name}": attributes[name] for name in attributes.names}
    if len(sizes) and (sizes > 0).all():
        columns |= {"width": sizes[:, 0], "height": sizes[:, 1]}
    return Table(columns | ({"cluster": attributes["site"]} if "site" in attributes else {}))
