"""The operating point of scored predictions: all, a fixed score, or the best F1 on the validation part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.core.errors import SpecError
from snellen.evals.predictions import score_predictions


def files(folder: Path, name: str, scores: list[float]) -> tuple[Path, Path]:
    """Two true boxes found at the first two scores, and noise at the others."""
    boxes = [[0, 0, 10, 10], [20, 0, 10, 10], [40, 40, 10, 10], [60, 60, 10, 10]]
    truth, found = folder / f"{name}.json", folder / f"{name}_results.json"
    truth.write_text(json.dumps({
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "x"}],
        "annotations": [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": box, "area": 100, "iscrowd": 0}
            for i, box in enumerate(boxes[:2], 1)
        ],
    }))  # fmt: skip
    rows = zip(boxes, scores, strict=True)
    found.write_text(json.dumps([{"image_id": 1, "category_id": 1, "bbox": b, "score": s} for b, s in rows]))
    return truth, found


def test_the_point_is_chosen_on_valid_and_used_on_test(tmp_path: Path) -> None:
    valid = files(tmp_path, "valid", [0.9, 0.6, 0.5, 0.1])
    truth, found = files(tmp_path, "test", [0.9, 0.3, 0.7, 0.2])
    results = score_predictions(truth, found, valid=valid, intervals=False)
    assert results.facts["operating_point"] == {"name": "best-f1-on-valid", "min_score": 0.6}
    assert results.metrics["precision"].value == 0.5  # .9 right and .7 wrong are kept
    assert results.metrics["recall"].value == 0.5
    everything = score_predictions(truth, found, intervals=False)
    assert everything.facts["operating_point"] == {"name": "all", "min_score": None}
    assert everything.metrics["recall"].value == 1
    assert everything.metrics["ap"].value == results.metrics["ap"].value
    half = score_predictions(truth, found, min_score=0.3, intervals=False)
    assert half.facts["operating_point"] == {"name": "fixed", "min_score": 0.3}
    assert half.metrics["precision"].value == pytest.approx(2 / 3)


def test_a_point_is_fixed_or_chosen_not_both(tmp_path: Path) -> None:
    truth, found = files(tmp_path, "test", [0.9, 0.3, 0.7, 0.2])
    with pytest.raises(SpecError, match="not both"):
        score_predictions(truth, found, valid=(truth, found), min_score=0.5)
