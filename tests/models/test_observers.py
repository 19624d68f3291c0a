from __future__ import annotations

import io
from collections import defaultdict

import numpy as np
import pytest
from PIL import Image, ImageDraw

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture
from snellen.core.specs import ModelSpec
from snellen.core.stages import Failed, Key, Prompt, Reply, Turn
from snellen.models.figures import fit
from snellen.models.observers import observer
from snellen.models.table import build

PLACES = ("top left", "top center", "top right", "center left", "center", "center right", "bottom left", "bottom center", "bottom right")  # fmt: skip  # noqa: E501
SHAPES = ("square", "circle", "triangle", "star")


def drawn(
    *things: tuple[str, str, tuple[int, int, int, int]], size: tuple[int, int] = (300, 300), ground: str = "black"
) -> Picture:
    """A picture made by Pillow's own drawing, nothing of ours."""
    image = Image.new("RGB", size, ground)
    pen = ImageDraw.Draw(image)
    for shape, colour, (x1, y1, x2, y2) in things:
        if shape == "square":
            pen.rectangle((x1, y1, x2, y2), fill=colour)
        elif shape == "circle":
            pen.ellipse((x1, y1, x2, y2), fill=colour)
        else:
            pen.polygon([((x1 + x2) / 2, y1), (x2, y1 + (x2 - x1) * 0.866), (x1, y1 + (x2 - x1) * 0.866)], fill=colour)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Picture("drawn.png", buffer.getvalue)


def asked(picture: Picture, text: str, labels: tuple[str, ...], *, wants: str = "choice", name: str = "s") -> Prompt:
    return Prompt(Key(name), (Turn("user", (picture, text)),), wants=wants, labels=labels)  # type: ignore[arg-type]


def said(prompt: Prompt, name: str = "full", **options: object) -> str:
    ((_, reply),) = observer(ModelSpec("observer", name, options)).answer([prompt])  # type: ignore[arg-type]
    assert isinstance(reply, Reply)
    return reply.text


LEFT, RIGHT, BELOW = (20, 20, 80, 80), (200, 20, 260, 80), (200, 220, 230, 250)
SCENE = drawn(("circle", "red", LEFT), ("square", "blue", RIGHT), ("triangle", "lime", BELOW))


@pytest.mark.parametrize(
    ("text", "labels", "answer"),
    [
        ("What is the shape of the object?", SHAPES, "square"),
        ("Where is the red circle?", PLACES, "top left"),
        ("Where is the triangle?", PLACES, "bottom right"),
        ("Where is the circle with respect to the square?", ("above left", "directly left"), "directly left"),
        ("Where is the triangle with respect to the circle?", ("below right", "above left"), "below right"),
        ("What is the size of the triangle with respect to the circle?", ("larger", "same", "smaller"), "smaller"),
        ("What is the closest object to the circle?", ("triangle", "square"), "square"),
        ("How many blue squares are there?", ("0", "1", "2"), "1"),
        ("How many green circles are there?", ("0", "1", "2"), "0"),
        ("What is the object?", ("small red circle", "blue square"), "blue square"),
        ("Is it nice?", ("yes", "no"), "I was not made to answer this."),
    ],
)  # fmt: skip
def test_a_question_is_answered_from_the_pixels(text: str, labels: tuple[str, ...], answer: str) -> None:
    assert said(asked(SCENE, f"{text} Choose from [{', '.join(labels)}].", labels)) == answer


@pytest.mark.parametrize("ground", ["black", "white", "grey"])
@pytest.mark.parametrize("colour", ["red", "cyan", "yellow", "magenta", "orange"])
def test_colours_are_told_on_any_ground(colour: str, ground: str) -> None:
    picture = drawn(("circle", colour, LEFT), ground=ground)
    names = ("red", "green", "blue", "cyan", "magenta", "yellow", "orange")
    assert said(asked(picture, "What is the color of the object?", names)) == colour


def test_boxes_lie_where_things_were_drawn() -> None:
    prompt = asked(SCENE, "find", ("red circle", "square"), wants="boxes")
    ((_, reply),) = observer(ModelSpec("observer", "full")).answer([prompt])
    assert isinstance(reply, Reply)
    assert reply.detections is not None
    found = dict(zip(reply.detections.labels, reply.detections.boxes.tolist(), strict=True))
    np.testing.assert_allclose(found["red circle"], (20, 20, 81, 81), atol=1.5)
    np.testing.assert_allclose(found["square"], (200, 20, 261, 81), atol=1.5)
    assert reply.detections.scores is not None


def test_a_blank_picture_makes_it_guess_the_same_way_each_time_and_every_label_somewhere() -> None:
    guesses = defaultdict(list)
    for i in range(60):
        prompt = asked(drawn(), "What is the shape of the object?", SHAPES, name=str(i))
        guesses[said(prompt)].append(said(prompt))
    assert set(guesses) == set(SHAPES)
    assert all(len(set(answers)) == 1 for answers in guesses.values())


def test_the_size_really_seen_is_reported() -> None:
    ((_, reply),) = observer(ModelSpec("observer", "48")).answer([asked(SCENE, "What is the shape?", SHAPES)])
    assert isinstance(reply, Reply)
    assert reply.seen == ((48, 48),)


def test_flaws_are_what_they_are_called() -> None:
    where = asked(SCENE, "Where is the circle? Choose from [].", PLACES)
    colour = asked(drawn(("circle", "cyan", LEFT)), "What is the color of the object?", ("red", "cyan", "blue"))
    assert said(where, order_bias=1) == PLACES[0]
    assert said(colour, confuses={"cyan": "blue"}) == "blue"
    only = asked(drawn(("circle", "cyan", LEFT)), "What is the shape of the object?", SHAPES)
    assert {said(only, blind="top left", seed=seed) for seed in range(40)} == set(SHAPES)


def test_a_picture_that_is_none_fails_and_no_picture_is_said() -> None:
    broken = asked(Picture("broken.png", lambda: b"no picture"), "What is the shape?", SHAPES)
    ((_, reply),) = observer(ModelSpec("observer", "full")).answer([broken])
    assert isinstance(reply, Failed)
    assert said(Prompt(Key("s"), (Turn("user", ("What?",)),), labels=SHAPES)) == "I see no picture."


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sharp", {}, "observer/full or by its resolution"),
        ("1", {}, "resolution"),
        ("", {}, "is named observer/NAME"),
        ("24", {"noise": -1}, "noise of an observer must be a number"),
        ("24", {"noisy": 1}, "unknown option of observer 'noisy'"),
        ("24", {"blind": "top"}, "must be a section"),
    ],
)
def test_a_bad_name_or_option_is_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(ModelSpec("observer", name, options))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [3.0, 7.5, 40.0])
def test_a_fitted_circle_has_its_box_and_the_least_error(size: float) -> None:
    at = (np.arange(50 * 8) + 0.5) / 8 - 25.3
    inside = at[None, :] ** 2 + at[:, None] ** 2 <= (size / 2) ** 2
    errors, box = fit(inside.reshape(50, 8, 50, 8).mean(axis=(1, 3)), SHAPES)
    assert min(errors, key=lambda name: errors[name]) == "circle"
    np.testing.assert_allclose(box, (25.3 - size / 2,) * 2 + (25.3 + size / 2,) * 2, atol=0.1)
