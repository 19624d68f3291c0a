"""The score under the prescribed notation and, beside it, under the model's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from snellen.cli.app import main
from snellen.core.errors import SpecError
from snellen.core.stages import Prompt, Reply
from snellen.evals.native import add_native, detection_spec, prescribed
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.parsing.boxes import write_boxes
from snellen.runs.loop import run
from snellen.runs.store import Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five pictures with two boxes each."""
    folder = tmp_path / "set" / "test"
    folder.mkdir(parents=True)
    images, boxes = [], []
    for i in range(5):
        Image.new("RGB", (400, 200), (9 * i, 0, 0)).save(folder / f"{i}.png")
        images.append({"id": i, "file_name": f"{i}.png", "width": 400, "height": 200})
        for j, box in enumerate(([10 + i, 20, 100, 40], [200, 100, 50, 80 + i])):
            area = box[2] * box[3]
            boxes.append({"id": 2 * i + j, "image_id": i, "category_id": 1, "bbox": box, "area": area, "iscrowd": 0})
    whole = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cell"}]}
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    return tmp_path / "set"


def _asked(data: Path, out: Path, *, speaks: str) -> Run:
    """A model that is told WADE's order and writes its own under WADE's key."""
    task = open_task({"task": "wade/zero-shot", "data": str(data), "split": "test"})
    truth = {sample.id: sample for sample in task.samples}

    def say(prompt: Prompt) -> Reply:
        sample = truth[prompt.key.sample]
        text = write_boxes(sample.truth, notation=speaks, size=sample.pictures[-1].upright_size())
        return Reply(text.replace("bbox_2d", "box"))

    return run(task, FakeModel(say), out)


def test_a_model_that_keeps_its_own_order_scores_nothing_as_prescribed_and_all_as_it_speaks(
    data: Path, tmp_path: Path
) -> None:
    done = _asked(data, tmp_path / "run", speaks="qwen3-vl")
    assert (score(done, draws=100).metrics["f1"].value or 0) < 0.2
    found = add_native(done, "qwen3-vl", draws=100)
    assert found.groups["notation"]["qwen3-vl (native)"]["f1"].value == 1.0
    assert found.groups["notation"]["wade (prescribed)"]["f1"] == found.metrics["f1"]
    assert done.results()["facts"]["native"] == {"notation": "qwen3-vl", "prescribed": "wade", "source": "declared"}


def test_a_model_that_does_as_it_is_told_has_nothing_beside(data: Path, tmp_path: Path) -> None:
    done = _asked(data, tmp_path / "run", speaks="wade")
    assert score(done, draws=100).metrics["f1"].value == 1.0
    assert "notation" not in add_native(done, "gemini", draws=100).groups


def test_a_reading_in_another_notation_stays_until_it_is_told_to_go(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score(_asked(data, tmp_path / "run", speaks="qwen3-vl"), draws=100)
    for words, there in ((("--native", "qwen3-vl"), True), ((), True), (("--native", "none"), False), ((), False)):
        with pytest.raises(SystemExit):
            main(["score", str(tmp_path / "run"), *words, "--json", "--draws", "100"])
        assert ("notation" in json.loads(capsys.readouterr().out)["groups"]) is there


def test_protocols_of_detection_are_detection_under_fixed_options() -> None:
    assert detection_spec({"task": "wade/reasoning", "data": "d"}) == {
        "task": "detect", "data": "d", "prompt": "wade", "notation": "wade", "calls": "multi", "classes": "all",
        "regime": "knowledge", "chains": "short",
    }  # fmt: skip
    assert prescribed({"task": "rf100vl/gemini", "data": "d"}) == "gemini"
    assert prescribed({"task": "detect", "data": "d"}) == "qwen3-vl"
    assert prescribed({"task": "civet/detection", "prompt": "gemini", "notation": "gemini"}) == "gemini"
    with pytest.raises(SpecError, match="belongs to detection"):
        detection_spec({"task": "civet/single-object"})
