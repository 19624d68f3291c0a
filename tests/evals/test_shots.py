"""Examples from a K-shot split: made in the task, as `snellen data fewshot` makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.bench.config import Bench
from snellen.bench.plan import jobs_of
from snellen.core.errors import SpecError
from snellen.datasets.fewshot import few_shot
from snellen.datasets.load import load_data
from snellen.evals.tasks import open_task


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ten training pictures with one to three boxes of two classes, one test picture."""
    rng = np.random.default_rng(3)
    for part, count in (("train", 10), ("test", 1)):
        place = tmp_path / "set" / part
        place.mkdir(parents=True)
        images, boxes = [], []
        for i in range(count):
            Image.new("RGB", (100, 80), (20 * i, 0, 0)).save(place / f"{part}{i}.png")
            images.append({"id": i, "file_name": f"{part}{i}.png", "width": 100, "height": 80})
            for _ in range(1 + i % 3):
                side = int(rng.integers(5, 40))
                boxes.append({"id": len(boxes), "image_id": i, "category_id": int(rng.integers(1, 3)), "iscrowd": 0,
                              "bbox": [10, 10, side, side], "area": side**2})  # fmt: skip
        whole = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}
        (place / "_annotations.coco.json").write_text(json.dumps(whole))
    return tmp_path / "set"


def _shown(data: Path, **options: Any) -> tuple[list[str], dict[str, Any]]:
    task = open_task({"task": "detect", "data": str(data), "split": "test", "regime": "few-shot", **options})
    (prompt,) = task.prompts(next(iter(task.samples)))
    return [picture.name for picture in prompt.pictures[:-1]], dict(task.spec)


@pytest.mark.parametrize(("candidates", "made"), [(None, 3), (1, 1), (20, 20)])
def test_examples_are_the_pictures_of_the_split(data: Path, candidates: int | None, made: int) -> None:
    options = {"shots_k": 3, "shots_seed": 5, **({} if candidates is None else {"shots_candidates": candidates})}
    shown, spec = _shown(data, **options)
    expected = few_shot(load_data(data, split="train"), 3, candidates=candidates, seed=5).dataset
    assert shown == list(expected.truth.images)
    kept = {name: spec.get(name) for name in ("shots", "shots_k", "shots_candidates", "shots_seed")}
    assert kept == {"shots": None, "shots_k": 3, "shots_candidates": made, "shots_seed": 5}
    assert open_task(spec).spec == spec


def test_pictures_drawn_at_random_are_kept_as_before(data: Path) -> None:
    shown, spec = _shown(data)
    assert len(shown) == spec["shots"] == 2
    assert "shots_k" not in spec


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shots": 2, "shots_k": 3}, "shots pictures or shots_k boxes of each class, got 2 and 3"),
        ({"shots_candidates": 3}, "there is no shots_k"),
        ({"shots_k": 0}, "must be at least 1"),
    ],
)
def test_what_contradicts_itself_is_refused(data: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        _shown(data, **options)


def test_a_regime_with_a_seed_of_its_own_is_run_once() -> None:
    regimes = {
        "random": {"regime": "few-shot", "shots_k": 2},
        "best": {"regime": "few-shot", "shots_k": 2, "shots_seed": 7},
    }
    bench = Bench.model_validate(
        {"data": {"x": {"path": "x"}}, "models": {"m": {"model": "oracle"}}, "regimes": regimes, "seeds": [0, 1]}
    )
    seeds = [(job.regime, job.seed, job.task["shots_seed"]) for job in jobs_of(bench)]
    assert seeds == [("random", 0, 0), ("random", 1, 1), ("best", 0, 7)]
