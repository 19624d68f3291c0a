from __future__ import annotations

import io

import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import Key, Prompt, Sample, Task, Turn
from snellen.runs.capacity import check_capacity, load_of

QWEN = "qwen3-vl-8b"


def _task(*, pictures: int = 1, text: int = 400, max_tokens: int = 100) -> Task[str, str]:
    data = io.BytesIO()
    Image.new("RGB", (640, 320)).save(data, "PNG")
    picture = Picture("a.png", data.getvalue, Size(640, 320))
    samples = [Sample(f"s{i}", "x", (picture,)) for i in range(3)]

    def prompts(sample: Sample[str]) -> list[Prompt]:
        turns = tuple(Turn("user", (picture,)) for _ in range(pictures - 1))
        return [Prompt(Key(sample.id), (*turns, Turn("user", (picture, "x" * text))), max_tokens=max_tokens)]

    return Task({"task": "t"}, samples, prompts, None, None)  # type: ignore[arg-type]


def test_a_prompts_load_is_text_pictures_and_the_longest_answer() -> None:
    task = _task(pictures=3)
    load = load_of(task.prompts(task.samples[0])[0], ModelSpec("openai", QWEN))  # type: ignore[index]
    assert (load.text_tokens, load.picture_tokens, load.answer, load.tokens) == (100, 600, 100, 800)


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({}, True),
        ({"context": 800}, True),
        ({"context": 799}, False),
        ({"context": 799, "max_tokens": 99}, True),
        ({"context": 799, "max_pixels": 51_200}, True),
    ],
)
def test_prompts_beyond_the_declared_context_are_refused_with_the_sum(options: dict[str, int], fits: bool) -> None:
    spec = ModelSpec("openai", QWEN, options)
    if fits:
        check_capacity(_task(pictures=3), spec)
    else:
        with pytest.raises(SpecError, match=r"'s0' takes about 800 tokens \(3 pictures 600, .* holds 799; fewer shots"):
            check_capacity(_task(pictures=3), spec)


def test_a_model_of_one_picture_is_refused_examples_and_nothing_else() -> None:
    spec = ModelSpec("openai", "one", {"single_picture": True})
    check_capacity(_task(pictures=1), spec)
    with pytest.raises(SpecError, match="takes one picture a request"):
        check_capacity(_task(pictures=2), spec)
    check_capacity(_task(pictures=2), spec, single_picture=False)


def test_a_context_that_is_no_number_is_refused() -> None:
    with pytest.raises(SpecError, match="whole number"):
        check_capacity(_task(), ModelSpec("openai", "x", {"context": "big"}))
