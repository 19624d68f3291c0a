"""The resolution audit, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Reply
from snellen.evals.resolution import sentence
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.runs.loop import run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One picture of 400 x 200 px with boxes of 40 x 40, 20 x 20 and 80 x 80 px."""
    folder = tmp_path / "set" / "test"
    folder.mkdir(parents=True)
    Image.new("RGB", (400, 200)).save(folder / "a.png")
    boxes = [[0, 0, 40, 40], [100, 100, 20, 20], [200, 50, 80, 80]]
    whole = {
        "images": [{"id": 1, "file_name": "a.png", "width": 400, "height": 200}],
        "annotations": [
            {"id": i, "image_id": 1, "category_id": 1, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
            for i, box in enumerate(boxes, 1)
        ],
        "categories": [{"id": 1, "name": "cell"}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("spec", "reply", "source", "px", "tokens", "under"),
    [
        (ModelSpec("openai", "qwen3-vl"), Reply("[]", sent=(Size(400, 200),)), "sent", 40, (40 / 32) ** 2, 1 / 3),
        (ModelSpec("openai", "qwen3-vl"), Reply("[]", sent=(Size(400, 200),), seen=(Size(200, 100),)), "seen", 20,
         (20 / 32) ** 2, 2 / 3),
        (ModelSpec("openai", "qwen2.5-vl"), Reply("[]", seen=(Size(9, 9), Size(400, 200))), "seen", 40,
         (40 / 28) ** 2, 1 / 3),
        (ModelSpec("hf", "qwen3-vl", {"max_pixels": 20_000}), Reply("[]"), "max_pixels", 20, (20 / 32) ** 2, 2 / 3),
        (ModelSpec("hf", "rt-detr"), Reply(detections=Detections.empty(), seen=(Size(200, 100),)), "seen", 20, None,
         None),
        (ModelSpec("fake", ""), Reply("[]"), "as stored", 40, None, None),
    ],
)  # fmt: skip
def test_objects_are_measured_in_what_the_model_saw(
    data: Path, tmp_path: Path, spec: ModelSpec, reply: Reply, source: str, px: float, tokens: float, under: float
) -> None:
    task = open_task({"task": "detect", "data": str(data), "split": "test"})
    done = run(task, FakeModel(lambda _: reply, spec), tmp_path / "run")
    found = score(done, intervals=False).facts["resolution"]
    assert (found["objects"], found["pictures"], found["sizes"]) == (3, 1, source)
    assert found["median_px"] == pytest.approx(40)
    assert found["median_px_seen"] == pytest.approx(px)
    assert found["median_tokens"] == (None if tokens is None else pytest.approx(tokens))
    assert found["under_one_token"] == (None if under is None else pytest.approx(under))
    assert ("smaller than one token" in sentence(found)) == (tokens is not None)
    assert done.results()["facts"]["resolution"] == found


def test_an_exam_of_closed_questions_has_no_audit(tmp_path: Path) -> None:
    task = open_task({"task": "civet/single-object", "side": 112})
    done = run(task, FakeModel("red"), tmp_path / "run", limit=20)
    assert "resolution" not in score(done, intervals=False).facts
