from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from snellen.core.errors import DataError, SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Choice, Prompt, Reply
from snellen.evals.civet import task as civet
from snellen.evals.crops import pick, ranked, safe, task, write_gallery
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import run
from snellen.stimuli.scenes import detection
from snellen.stimuli.single_image import categories, single_image


@pytest.fixture
def data(tmp_path: Path) -> Path:
    detection(scenes=12, side=360, sizes=[1.0, 0.5]).write(tmp_path / "set")
    return tmp_path / "set"


def test_a_crop_is_the_box_and_small_ones_are_left_out(data: Path) -> None:
    crops = list(task(data=str(data), min_side=1).samples)
    large = list(task(data=str(data), min_side=25).samples)
    assert 0 < len(large) < len(crops)
    for sample in crops[:10]:
        image = np.asarray(sample.pictures[0].image())
        assert image.shape[:2] == sample.pictures[0].size[::-1]  # type: ignore[index]
        assert image[0].any()  # the box is tight
        assert image[:, -1].any()
        assert sample.truth.target in sample.truth.options


def scorer(prompt: Prompt) -> Reply:
    """Likes large squares, takes stars for circles, and gives every other shape its own score."""
    width, height = prompt.pictures[0].upright_size()
    shape = build_shape(prompt)
    said = "circle" if shape == "star" else shape
    return Reply(option_scores=tuple(width * height / 1e4 if label == said else 0.0 for label in prompt.labels))


def build_shape(prompt: Prompt) -> str:
    fill = np.asarray(prompt.pictures[0].image().convert("L")).astype(bool).mean()
    return min(
        {"square": 1.0, "circle": 0.785, "triangle": 0.52, "star": 0.33}.items(), key=lambda i: abs(i[1] - fill)
    )[0]


def test_crops_are_ranked_by_similarity_and_categories_by_accuracy(data: Path, tmp_path: Path) -> None:
    done = run(task(data=str(data), min_side=10), FakeModel(scorer), tmp_path / "run")
    found = ranked(done, best=3)
    assert {each.category: each.accuracy for each in found} == {"square": 1, "circle": 1, "triangle": 1, "star": 0}
    assert found[-1].category == "star"
    for each in found:
        scores = [score for _, score in each.best]
        assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
        assert len(scores) <= 3


def test_what_a_person_picks_becomes_an_exam(data: Path, tmp_path: Path) -> None:
    done = run(task(data=str(data), min_side=10), FakeModel(scorer), tmp_path / "run")
    gallery = tmp_path / "gallery"
    write_gallery(done, gallery, categories=4, best=2)
    assert "named right" in (gallery / "index.html").read_text()
    assert [each["category"] for each in json.loads((gallery / "crops.json").read_text())][-1] == "star"
    pick(gallery, {"square": 1, "circle": 2}, tmp_path / "images")
    exam = single_image(images=str(tmp_path / "images"), side=180)
    assert (len(exam.worlds), len(exam)) == (162, 324)
    with pytest.raises(SpecError, match="no crop 9 of 'square'; categories here: circle, square"):
        pick(gallery, {"square": 9}, tmp_path / "images")


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    exam = civet("counting", scenes=1)
    done = run(exam, build(ModelSpec("random", ""), task=exam), tmp_path / "run")
    with pytest.raises(SpecError, match="no run of crops"):
        ranked(done)


def test_three_categories_have_the_papers_count(data: Path, tmp_path: Path) -> None:
    for name in ("giraffe", "zebra", "elephant"):
        (tmp_path / f"{name}.png").write_bytes((data / "0.png").read_bytes())
    exam = single_image(images={name: str(tmp_path / f"{name}.png") for name in ("giraffe", "zebra", "elephant")})
    assert len(exam.worlds) == 243
    assert {q.text for q in exam.questions} >= {"What is the category of the object?", "Where is the zebra?"}
    world = exam.worlds[0]
    sample = exam.sample(exam.questions[0], exam.questions[0].options)
    assert isinstance(sample.truth, Choice)
    assert sample.pictures[0].image().size == (1344, 1344)
    assert world.objects[0].image.endswith("elephant.png")


def test_too_few_categories_or_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a folder of pictures"):
        categories(str(tmp_path / "none"))
    with pytest.raises(SpecError, match="at least two categories, got 0"):
        categories(str(tmp_path))


@pytest.mark.parametrize(("name", "file"), [("a/b", "a_b"), ("..", "_"), ("hair drier", "hair drier"), ("犬", "犬")])
def test_a_category_becomes_a_safe_file_name(name: str, file: str) -> None:
    assert safe(name) == file
