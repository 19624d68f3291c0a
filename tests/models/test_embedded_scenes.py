"""What the embedded model is trained on stands in no exam."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import random
import sys
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.pictures import Size
from snellen.models.embedded import input_size
from snellen.stimuli.acuity import acuity
from snellen.stimuli.counting import counting
from snellen.stimuli.relative import relative_distance, relative_position, relative_size
from snellen.stimuli.render import render
from snellen.stimuli.single_object import single_object

RECIPES = Path(__file__).parents[2] / "recipes"
SQUARE = (320, 320)


def _load(name):
    spec = importlib.util.spec_from_file_location(name, RECIPES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


scenes = _load("embedded_scenes")
questions = _load("embedded_questions")


def made(kind, seed):
    return questions.made(random.Random(f"{kind} {seed}"), kind, SQUARE)


@pytest.mark.parametrize("kind", scenes.SCENES)
def test_no_scene_holds_a_pair_that_is_held_out(kind):
    seen = {(t.shape, t.colour) for seed in range(200) for t in made(kind, seed)[0].things}
    assert not seen & scenes.HELD_OUT
    assert len(seen) == len(scenes.PAIRS)


def test_the_exams_own_grid_is_refused():
    with pytest.raises(ValueError, match="9 x 9"):
        scenes.Cells(random.Random(0), (8, 9))


def test_a_scene_is_drawn_the_same_each_time():
    scene, _ = made("several", 3)
    assert scenes.draw(scene).tobytes() == scenes.draw(scene).tobytes()
    assert scenes.draw(scene).size == SQUARE


@pytest.mark.parametrize("kind", scenes.SCENES)
def test_the_answer_stands_among_the_options(kind):
    for seed in range(100):
        for question in made(kind, seed)[1]:
            if "Choose from [" in question.text:
                options = question.text.split("Choose from [")[1].rstrip("].").split(", ")
                assert options.count(question.answer) == 1, question
            else:
                assert isinstance(json.loads(question.answer), list)


def test_boxes_in_answers_are_where_the_pixels_are():
    for seed in range(60):
        scene, _ = made("single", seed)
        if scene.ground != (0, 0, 0) or scene.things[0].sheen != "none":
            continue
        found = Image.eval(scenes.draw(scene), lambda v: 255 if v > 60 else 0).getbbox()
        (box,) = json.loads(questions.boxes_json(scene, [(scene.things[0], "x")]))
        assert [v * 320 / 1000 for v in box["bbox_2d"]] == pytest.approx(found, abs=1.6), seed


def test_the_nine_parts_are_about_equally_frequent():
    places = [questions.position_of(t.x, t.y) for seed in range(900) for t in made("single", seed)[0].things]
    counts = {place: places.count(place) for place in questions.POSITIONS}
    assert min(counts.values()) > 60
    assert max(counts.values()) < 140


def looked_at(png):
    """What the model sees of a picture, hashed."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image = image.resize(input_size(Size(*image.size)), Image.Resampling.BICUBIC)
    return hashlib.sha256(image.tobytes()).hexdigest()


EXAMS = {
    "single-object 336": (lambda: single_object(side=336), 1),
    "single-object 672 small": (lambda: single_object(size="small"), 7),
    "single-object 1344": (lambda: single_object(side=1344), 41),
    "relative-position": (relative_position, 11),
    "relative-size": (relative_size, 41),
    "relative-distance": (relative_distance, 7),
    "counting": (counting, 1),
    "acuity": (acuity, 5),
}
"""Exam -> every how many of its scenes are looked at here."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_training_picture_is_an_exam_picture():
    exam = {looked_at(render(world)) for build, step in EXAMS.values() for world in build().worlds[::step]}
    assert len(exam) > 9000
    mix = tuple(scenes.SCENES)
    training = {
        hashlib.sha256(scenes.draw(made(kind, seed)[0]).tobytes()).hexdigest() for kind in mix for seed in range(1000)
    }
    assert len(training) > 5900
    assert not exam & training
