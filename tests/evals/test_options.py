from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from PIL import Image

from snellen.core.errors import SpecError
from snellen.evals.options import checked, fits
from snellen.evals.tasks import open_task


@pytest.fixture
def data(tmp_path) -> str:
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    coco = {
        "images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 30}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "area": 25, "iscrowd": 0}],
    }
    (tmp_path / "_annotations.coco.json").write_text(json.dumps(coco))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"calls": "foo"}, "option calls of detect must be multi or single, got 'foo'"),
        ({"classes": "some"}, "option classes of detect must be all or present, got 'some'"),
        ({"failures": 3}, "option failures of detect must be count, parsed-only or strict, got 3"),
        ({"min_score": "abc"}, "option min_score of detect must be a number, got 'abc'"),
        ({"min_score": True}, "option min_score of detect must be a number, got True"),
        ({"split": 3}, "option split of detect must be a text, got 3"),
        ({"notation": "foo"}, "unknown notation 'foo'"),
        ({"regime": "few-shot", "shots": "two"}, "option shots of detect must be a whole number, got 'two'"),
        ({"regime": "few-shot", "shots": 0}, "shots are at least 1, got 0"),
        ({"nope": 1}, "task 'detect' takes no option 'nope'"),
    ],
)
def test_a_wrong_option_of_detection_is_refused_when_the_task_is_opened(data, option: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        open_task({"task": "detect", "data": data, **option})


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"side": "abc"}, "option side of civet/single-object must be a whole number, got 'abc'"),
        ({"side": True}, "option side of civet/single-object must be a whole number, got True"),
        ({"antialias": "yes"}, "option antialias of civet/single-object must be true or false, got 'yes'"),
        ({"questions": "shape"}, "option questions of civet/single-object must be a list, got 'shape'"),
        ({"reader": "foo"}, "unknown reader of answers 'foo'"),
        ({"seed": 1.5}, "option seed of civet must be a whole number, got 1.5"),
        ({"short_answers": "maybe"}, "option short_answers of civet must be true or false, got 'maybe'"),
    ],
)
def test_a_wrong_option_of_an_exam_is_refused_when_the_task_is_opened(option: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        open_task({"task": "civet/single-object", **option})


@pytest.mark.parametrize("name", ["detect", "wade/zero-shot", "rf100vl/qwen", "crops", "answers", "ratings"])
def test_a_task_without_its_data_says_what_it_needs(name: str) -> None:
    with pytest.raises(SpecError, match=r"needs (data|file):  -T (data|file)=\.\.\."):
        open_task({"task": name})


@pytest.mark.parametrize(
    ("value", "hint", "allowed"),
    [
        (1, float, True),
        (True, int, False),
        (1.0, int, False),
        ("a", Literal["a", "b"], True),
        (True, Literal[1], False),
        (None, str | None, True),
        (["a"], Sequence[str], True),
        ("ab", Sequence[str], False),
        ({}, Mapping[str, Any] | None, True),
        (object(), Any, True),
    ],
)
def test_a_value_is_of_its_declared_kind_or_not(value: object, hint: Any, allowed: bool) -> None:
    assert fits(value, hint) is allowed


def test_a_builder_keeps_its_positional_arguments_and_passes_other_options_on() -> None:
    @checked("thing")
    def build(setting: str = "x", *, size: int, **more: Any) -> tuple[str, int, Any]:
        return setting, size, more

    assert build("y", size=3, colour="red") == ("y", 3, {"colour": "red"})
