"""Example pictures: the areas that a preset allows, and answers in pixels of what is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Size, snap
from snellen.core.specs import ModelSpec
from snellen.core.stages import Exchange, Prompt, Reply
from snellen.evals.native import check_examples
from snellen.evals.tasks import open_task
from snellen.parsing.notations import named

LEAST, MOST = 4 * 28 * 28, 12_800 * 28 * 28


def _data(folder: Path, size: tuple[int, int], *, kind: str = "png") -> Path:
    """Two parts of one picture of that size each, a thing in its right half."""
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True)
        Image.new("RGB", size, (90, 0, 0)).save(folder / part / f"a.{kind}")
        whole = {
            "images": [{"id": 1, "file_name": f"a.{kind}", "width": size[0], "height": size[1]}],
            "annotations": [
                {"id": 1, "image_id": 1, "category_id": 1, "bbox": [size[0] / 2, 0, size[0] / 2, size[1]],
                 "area": size[0] * size[1] / 2, "iscrowd": 0}
            ],
            "categories": [{"id": 1, "name": "cell"}],
        }  # fmt: skip
        (folder / part / "_annotations.coco.json").write_text(json.dumps(whole))
    return folder


def _prompt(folder: Path, name: str = "rf100vl/qwen", **options: Any) -> tuple[Any, Prompt]:
    task = open_task({"task": name, "data": str(folder), "split": "test", "regime": "few-shot", "shots": 1, **options})
    return task, task.prompts(next(iter(task.samples)))[0]


def _answer(prompt: Prompt) -> list[float]:
    (text,) = [turn.parts[0] for turn in prompt.turns if turn.role == "assistant"]
    ((row,),) = [json.loads(str(text))]
    return list(row["bbox_2d"])


@pytest.mark.parametrize(
    ("stored", "shown", "seen"),
    [
        ((640, 640), (640, 640), (644, 644)),  # RF100-VL's usual size: sent as it is, looked at in multiples of 28
        ((56, 28), (84, 56), (84, 56)),  # 1,568 px are too few: sqrt(2) times as large, sides rounded up
        ((6000, 2000), (5460, 1820), (5460, 1820)),  # 12 million are too many: .9145 as large, sides rounded down
        ((4480, 2240), (4480, 2240), (4480, 2240)),  # exactly 12,800 squares of 28 px
    ],
)
def test_an_example_is_shown_within_the_presets_bounds_and_answered_in_the_size_that_the_model_sees(
    tmp_path: Path, stored: tuple[int, int], shown: tuple[int, int], seen: tuple[int, int]
) -> None:
    _, prompt = _prompt(_data(tmp_path / "set", stored))
    example, question = prompt.pictures
    assert example.image().size == shown == example.upright_size()
    assert LEAST <= example.upright_size().pixels <= MOST
    assert question.upright_size() == stored
    width, height = seen
    assert _answer(prompt) == pytest.approx([width / 2, 0, width, height], abs=0.51)


def test_a_scaled_jpeg_stays_one_and_is_scaled_once(tmp_path: Path) -> None:
    _, prompt = _prompt(_data(tmp_path / "set", (6000, 2000), kind="jpg"))
    assert prompt.pictures[0].encoded().startswith(b"\xff\xd8")
    assert prompt.pictures[0].encoded() is prompt.pictures[0].encoded()


def test_gemini_gets_examples_as_they_are(tmp_path: Path) -> None:
    _, prompt = _prompt(_data(tmp_path / "set", (40, 20)), "rf100vl/gemini")
    assert prompt.pictures[0].image().size == (40, 20)


def test_bounds_of_ones_own_are_kept_and_others_refused(tmp_path: Path) -> None:
    folder = _data(tmp_path / "set", (1000, 500))
    task, prompt = _prompt(folder, example_pixels=[1000, 200_000])
    assert prompt.pictures[0].image().size == (616, 308)
    assert task.spec["example_pixels"] == [1000, 200_000]
    assert open_task(task.spec).spec == task.spec
    for wrong in ([5], [9, 3], [0, 9], ["a", "b"]):
        with pytest.raises(SpecError, match="least and the largest area"):
            _prompt(folder, example_pixels=wrong)


def test_what_a_model_would_scale_further_is_refused_where_answers_count_pixels(tmp_path: Path) -> None:
    folder = _data(tmp_path / "set", (1000, 500))
    task, _ = _prompt(folder)
    check_examples(task, ModelSpec("openai", "x", {"max_pixels": 500_000}))
    with pytest.raises(
        SpecError, match=r"1000 x 500, and max_pixels=499999 of openai/x .* example_pixels=\[1,499999\]"
    ):
        check_examples(task, ModelSpec("openai", "x", {"max_pixels": 499_999}))
    check_examples(_prompt(folder, "rf100vl/gemini")[0], ModelSpec("openai", "x", {"max_pixels": 3000}))
    check_examples(_prompt(folder, example_pixels=[1, 499_999])[0], ModelSpec("openai", "x", {"max_pixels": 499_999}))


def test_a_reply_without_the_size_seen_is_read_in_the_size_to_which_the_family_scales(tmp_path: Path) -> None:
    task, prompt = _prompt(_data(tmp_path / "set", (640, 640)))
    sample = next(iter(task.samples))
    text = '[{"bbox_2d": [322, 0, 644, 644], "label": "cell"}]'
    for reply in (Reply(text), Reply(text, sent=(Size(640, 640), Size(640, 640)))):
        np.testing.assert_allclose(task.read(sample, [Exchange(prompt, reply)]).value.boxes, [[320, 0, 640, 640]])
    target = task.target(sample, prompt)
    np.testing.assert_allclose(task.read(sample, [Exchange(prompt, target)]).value.boxes, [[320, 0, 640, 640]])
    assert named("gpt").input_of(Size(640, 641)) == (640, 641)


@pytest.mark.tier2
@pytest.mark.filterwarnings("default")
@pytest.mark.timeout(300)
def test_sizes_snap_as_transformers_snaps_them() -> None:
    pytest.importorskip("transformers")
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    rng = np.random.default_rng(0)
    for width, height, multiple in zip(*rng.integers(8, 5000, (2, 500)).tolist(), [28, 32] * 250, strict=True):
        if max(width, height) > 200 * min(width, height):
            continue
        low, high = 4 * multiple**2, int(rng.integers(5, 5000)) * multiple**2
        expected = smart_resize(height, width, multiple, low, high)
        assert snap(Size(width, height), multiple=multiple, low=low, high=high) == expected[::-1]
