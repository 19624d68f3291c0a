"""Detection as a task: prompts of every regime, reading, the round trip, the protocols built on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.stages import Exchange, Reply, Sample
from snellen.evals.box_measures import facts_of
from snellen.evals.regimes import complete
from snellen.evals.scores import tabulate
from snellen.evals.tasks import open_task
from snellen.scoring.grounding import measure

RULES = {
    "primary_cue": "neck and cap", "observation": "clear", "decision_rule": "a neck", "fallback_rule": "a cap",
    "contrastive_rules": [{"against": "bag", "rule": "it keeps its shape"}], "failure_mode": "glare",
    "static_frame_disambiguation": "no double", "conclusion": "a bottle",
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A Roboflow export of two parts with class rules and instructions."""
    for part, count in (("train", 4), ("test", 3)):
        folder = tmp_path / "set" / part
        folder.mkdir(parents=True)
        images, annotations = [], []
        for i in range(count):
            name = f"{part}{i}.png"
            Image.new("RGB", (200, 100), (i * 20, 0, 0)).save(folder / name)
            images.append({"id": i, "file_name": name, "width": 200, "height": 100})
            annotations.append({"id": 2 * i, "image_id": i, "category_id": 1, "bbox": [20, 60, 40, 30], "area": 1200})
            if i % 2 == 0:
                box = {"id": 2 * i + 1, "image_id": i, "category_id": 2, "bbox": [100, 10, 50, 40], "area": 2000}
                annotations.append(box)
        for annotation in annotations:
            annotation["iscrowd"] = 0
        categories = [{"id": 1, "name": "bottle"}, {"id": 2, "name": "bag"}]
        whole = {"images": images, "annotations": annotations, "categories": categories}
        (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    classes = [
        {"name": "bottle", "rules": RULES, "instructions": "Box the cap too."},
        {"name": "bag", "rules": {**RULES, "primary_cue": "thin film"}},
    ]
    (tmp_path / "set" / "classes.yaml").write_text(yaml.safe_dump({"classes": classes}))
    return tmp_path / "set"


def _task(data: Path, **options: Any) -> Any:
    return open_task({"task": "detect", "data": str(data), "split": "test", **options})


@pytest.mark.parametrize("notation", ["qwen3-vl", "wade", "gemini", "qwen2.5-vl", "paligemma", "internvl"])
@pytest.mark.parametrize("calls", ["multi", "single"])
def test_reading_the_ideal_reply_gives_the_truth_back(data: Path, notation: str, calls: str) -> None:
    task = _task(data, notation=notation, calls=calls)
    replies = {p.key: task.target(s, p) for s in task.samples for p in task.prompts(s)}
    tables, missing = tabulate(task, replies)
    assert not missing
    outcomes = tables.outcomes
    assert outcomes["truths"].tolist() == outcomes["predicted"].tolist() == [2, 1, 2]
    truths = tables.detections.columns["truth"]
    assert (tables.detections["partner"][truths] >= 0).all()


@pytest.mark.parametrize("mode", ["count", "parsed-only", "strict"])
def test_the_failure_mode_chosen_holds_for_every_measure_of_the_tables(data: Path, mode: str) -> None:
    task = _task(data, failures=mode)
    (first, *_), replies = task.requests(), {prompt.key: task.target(s, prompt) for s, prompt in _asked(task)}
    tables, _ = tabulate(task, {**replies, first.key: Reply("I see a bottle.")})
    recall = measure(tables)(np.ones((1, 3)))["recall"][0]
    assert recall == pytest.approx(3 / 3 if mode == "parsed-only" else 3 / 5)


def _asked(task: Any) -> list[tuple[Any, Any]]:
    return [(sample, prompt) for sample in task.samples for prompt in task.prompts(sample)]


def test_a_spec_builds_the_same_task_again(data: Path) -> None:
    for spec in (
        {"regime": "few-shot", "shots": 2}, {"regime": "knowledge", "chains": "full"}, {"classes": "present"},
    ):  # fmt: skip
        task = _task(data, **spec)
        again = open_task(task.spec)
        assert again.spec == task.spec
        sample = next(iter(task.samples))
        assert [p.text for p in again.prompts(sample)] == [p.text for p in task.prompts(sample)]


def test_few_shot_examples_are_turns_with_complete_answers_top_to_bottom(data: Path) -> None:
    task = _task(data, regime="few-shot", shots=2)
    prompts = [task.prompts(sample)[0] for sample in task.samples]
    roles = [[turn.role for turn in prompt.turns] for prompt in prompts]
    assert roles == [["user", "assistant", "user", "assistant", "user"]] * 3
    shown = {tuple(picture.name for picture in prompt.pictures[:2]) for prompt in prompts}
    assert len(shown) == 1  # the same examples before every question
    assert all(name.startswith("train") for name in shown.pop())
    answers = [json.loads(turn.parts[0]) for turn in prompts[0].turns if turn.role == "assistant"]
    for answer in answers:
        assert [row["bbox_2d"][1] for row in answer] == sorted(row["bbox_2d"][1] for row in answer)


def test_an_answer_holds_boxes_labels_and_chains_and_nothing_else_that_a_file_says() -> None:
    notes = ({"id": "7", "chain": {"primary_cue": "a neck"}, "pose": "Left"}, {"difficult": "0", "id": "e1"})
    truth = Detections(np.array([[0.0, 50, 20, 100], [0, 0, 20, 50]]), ("bottle", "bag"), notes=notes)
    sample = Sample("x", truth, (Picture("x.png", bytes, Size(100, 100)),))
    assert json.loads(complete(sample, "qwen3-vl", ("bottle", "bag"))) == [
        {"bbox_2d": [0, 0, 200, 500], "label": "bag"},
        {"bbox_2d": [0, 500, 200, 1000], "label": "bottle", "id": "7", "chain": {"primary_cue": "a neck"}},
    ]
    assert json.loads(complete(sample, "qwen3-vl", ("cup",))) == []


def test_a_single_class_prompt_shows_only_its_class(data: Path) -> None:
    task = _task(data, regime="few-shot", shots=2, calls="single")
    prompts = task.prompts(next(iter(task.samples)))
    assert [prompt.key.call for prompt in prompts] == ["bottle", "bag"]
    answers = [json.loads(t.parts[0]) for t in prompts[1].turns if t.role == "assistant"]
    assert {row["label"] for answer in answers for row in answer} <= {"bag"}


def test_rules_and_instructions_stand_in_the_prompt(data: Path) -> None:
    short = _task(data, regime="knowledge").prompts(next(iter(_task(data).samples)))[0].text
    assert "Primary cue: neck and cap. Not to be confused with bag: it keeps its shape." in short
    assert "glare" not in short
    full = _task(data, regime="knowledge", chains="full")
    assert "Failure mode: glare." in full.prompts(next(iter(full.samples)))[0].text
    told = _task(data, regime="instructions", calls="single")
    bottle, bag = told.prompts(next(iter(told.samples)))
    assert "Use the following annotator instructions to improve detection accuracy: Box the cap too." in bottle.text
    assert "annotator instructions" not in bag.text


@pytest.mark.parametrize("scores", ["model", "token-logprob"])
def test_results_say_where_scores_come_from(data: Path, scores: str) -> None:
    task = _task(data, scores=scores)
    sure = Detections(np.array([[0.0, 0, 9, 9], [9, 9, 20, 20]]), ("bag", "bottle"), np.array([0.9, 0.5]))
    tables, _ = tabulate(task, {prompt.key: Reply(detections=sure) for prompt in task.requests()})
    assert facts_of(tables, task.spec)["score_source"] == scores


def test_the_presets_of_the_paper_are_verbatim(data: Path) -> None:
    qwen = open_task({"task": "rf100vl/qwen", "data": str(data), "split": "test"})
    prompt = qwen.prompts(next(iter(qwen.samples)))[0]
    assert prompt.turns[0].parts == ("You are a helpful assistant capable of object detection.",)
    assert prompt.text == (
        "Locate all of the following objects: bottle, bag in the image and output the coordinates in JSON format."
    )
    gemini = open_task({"task": "rf100vl/gemini", "data": str(data), "split": "test", "calls": "single"})
    single = gemini.prompts(next(iter(gemini.samples)))[0]
    assert single.text == "Detect all 2d bounding boxes of bottle."
    assert single.max_tokens == 8192


def test_wade_fixes_prompt_and_notation_and_its_spec_builds_it_again(data: Path) -> None:
    task = open_task({"task": "wade/two-shot", "data": str(data), "split": "test"})
    assert task.spec["task"] == "wade/two-shot"
    assert open_task(task.spec).spec == task.spec
    with pytest.raises(SpecError, match="wade fixes notation='wade'"):
        open_task({"task": "wade/zero-shot", "data": str(data), "split": "test", "notation": "gemini"})


def test_the_referential_protocol_asks_only_for_what_is_there_and_leaves_out_the_rest(data: Path) -> None:
    task = _task(data, classes="present")
    samples = list(task.samples)
    prompt = task.prompts(samples[1])[0]
    assert prompt.labels == ("bottle",)
    text = '[{"bbox_2d": [0, 0, 9, 9], "label": "bag"}, {"bbox_2d": [1, 1, 9, 9], "label": "bottle"}]'
    tables = task.tabulate([(samples[1], task.read(samples[1], [Exchange(prompt, Reply(text))]))])
    said = tables.instances.take(~tables.instances["truth"])
    assert [tables.classes[i] for i in said["label"]] == ["bottle"]
    assert tables.facts["left_out_of_absent_classes"] == 1


def test_pixels_of_the_input_are_read_with_the_size_that_the_model_saw(data: Path) -> None:
    task = _task(data, notation="qwen2.5-vl")
    sample = next(iter(task.samples))
    prompt = task.prompts(sample)[0]
    text = '[{"bbox_2d": [28, 14, 56, 28], "label": "bag"}]'
    seen = task.read(sample, [Exchange(prompt, Reply(text, sent=(Size(200, 100),), seen=(Size(56, 28),)))])
    np.testing.assert_allclose(seen.value.boxes, [[100, 50, 200, 100]])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prompt": "qwen"}, SpecError, "Did you mean"),
        ({"regime": "few-shot", "shots_from": "test"}, SpecError, "must not come from the part that is tested"),
        ({"regime": "few-shot", "shots": 9}, SpecError, "9 examples are wanted"),
        ({"colour": "red"}, SpecError, "takes no option 'colour'"),
    ],
)
def test_bad_options_are_refused(data: Path, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        _task(data, **options)
    with pytest.raises(DataError, match="no such file or folder"):
        _task(data / "nowhere")


def test_a_prompt_of_ones_own_needs_a_notation(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Find {classes}, please.")
    with pytest.raises(SpecError, match="prescribes no notation"):
        _task(data, prompt=f"@{tmp_path / 'mine.txt'}")
    task = _task(data, prompt=f"@{tmp_path / 'mine.txt'}", notation="wade")
    assert task.prompts(next(iter(task.samples)))[0].text == "Find bottle, bag, please."


def test_pictures_are_not_opened_before_they_are_looked_at(data: Path) -> None:
    sample = next(iter(_task(data).samples))
    assert isinstance(sample.pictures[0], Picture)
    (data / "test" / "test0.png").unlink()
    with pytest.raises(DataError, match=r"test0\.png"):
        sample.pictures[0].encoded()
