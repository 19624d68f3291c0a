from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from archives import unpack
from snellen.core.errors import DataError
from snellen.core.pictures import Picture
from snellen.stimuli.layout import Asked, check_pictures, read_layout, write_layout
from snellen.stimuli.relations import POSITIONS
from snellen.stimuli.render import paint
from snellen.stimuli.worlds import Object, World

WORLDS = (
    World((Object("star", "yellow", 0, 0), Object("triangle", "yellow", 8, 0, scale=0.5)), side=120),
    World((Object("circle", "cyan", 4, 4, "glossy", 0.3),), side=120, background="white"),
)
QUESTIONS = (
    Asked("0", "e1", "relative_position", "Where?", POSITIONS, "directly above"),
    Asked("0", "e2", "relative_size", "Which?", ("larger", "same", "smaller"), "smaller"),
    Asked("1", "e1", "sheen", "What sheen?", ("matte", "glossy"), "glossy"),
    Asked("1", "e1", "shape", "What shape?", ("circle", "star"), "circle", frozenset({"star"})),
    Asked("1", "cyan_circles", "count", "How many?", ("2", "1"), "1"),
    Asked("1", "e1", "own", "What is it, [really]?", ("that", "one"), "one"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert write_layout(tmp_path / "exam", WORLDS, QUESTIONS) == 2
    return tmp_path / "exam"


def test_what_is_written_is_read_again(folder: Path) -> None:
    assert sorted(read_layout(folder), key=str) == sorted(QUESTIONS, key=str)
    assert check_pictures(folder) == {"whole": 2, "equal to their worlds": 2}
    told = json.loads((folder / "repr.json").read_text())["0"]
    assert told["ents"]["e1"] == {
        "class": "ObjEntity", "position": [0, 0], "area": "NW", "shape": "star", "color": "yellow", "sheen": "none",
        "size": "large",
    }  # fmt: skip
    assert json.loads((folder / "questions.json").read_text())["1"]["e1"]["properties"]["sheen"] == (
        "What sheen? Choose from [matte, glossy]."
    )


def test_without_answers_the_truth_is_derived_from_the_worlds(folder: Path) -> None:
    (folder / "answers.json").unlink()
    asked = json.loads((folder / "questions.json").read_text())
    del asked["1"]["cyan_circles"], asked["1"]["e1"]["own"]
    (folder / "questions.json").write_text(json.dumps(asked))
    truths = {(q.stim, q.kind): q.target for q in read_layout(folder)}
    assert truths == {("0", "relative_position"): "directly above", ("0", "relative_size"): "smaller",
                      ("1", "sheen"): "glossy", ("1", "shape"): "circle"}  # fmt: skip


def spoil_picture(folder: Path) -> None:
    (folder / "images" / "0.png").unlink()


def spoil_text(folder: Path) -> None:
    (folder / "questions.json").write_text('{"0": {"e1": {"shape": "What?"}}}')


def spoil_answer(folder: Path) -> None:
    (folder / "answers.json").write_text("{}")


def spoil_target(folder: Path) -> None:
    (folder / "answers.json").write_text((folder / "answers.json").read_text().replace("directly above", "atop"))


def spoil_json(folder: Path) -> None:
    (folder / "questions.json").write_text('{\n  "0": ')


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_picture, r"needs its picture images/0\.png"),
        (spoil_text, "ends with `Choose from"),
        (spoil_answer, r"no answer to the question.*0 / e1 / position_relative"),
        (spoil_target, "the answer 'atop' is not among the options above left"),
        (spoil_json, "line 2, column"),
    ],
)
def test_a_broken_folder_is_refused_with_the_place(folder: Path, spoil: object, message: str) -> None:
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        read_layout(folder)


def test_a_picture_that_shows_something_else_is_found(folder: Path) -> None:
    (folder / "images" / "0.png").write_bytes((folder / "images" / "1.png").read_bytes())
    with pytest.raises(DataError, match=r"does not show the world.*0\.png"):
        check_pictures(folder)


def test_a_folder_that_holds_something_is_not_written_to(folder: Path) -> None:
    with pytest.raises(DataError, match="new or empty"):
        write_layout(folder, WORLDS, QUESTIONS)


def colours(pixels: np.ndarray) -> set[tuple[int, int, int]]:
    return {colour for _, colour in Image.fromarray(pixels).getcolors()}


@pytest.mark.parametrize(
    ("name", "kinds", "every"),
    [
        ("scattered", {(255, 0, 0): ("triangle", "red", 1.0)}, 9),
        (
            "distractors_1_small_red_star",
            {(255, 0, 255): ("circle", "magenta", 1.0), (255, 0, 0): ("star", "red", 0.5)},
            60,
        ),
    ],
)  # fmt: skip
def test_the_authors_scenes_are_redrawn(
    shared: Path, tmp_path: Path, name: str, kinds: dict[tuple[int, int, int], tuple[str, str, float]], every: int
) -> None:
    unpack(shared / f"data/dere_vlm_closed_vqa/{name}.tar.gz", tmp_path)
    asked = read_layout(tmp_path / name)
    assert len(asked) == {"scattered": 392}.get(name, 2187)
    for question in asked[::every]:
        theirs = np.asarray(Picture.from_file(tmp_path / name / "images" / f"{question.stim}.png").image())
        things = []
        for colour, (shape, word, scale) in kinds.items():
            cells = (theirs == colour).all(axis=2)[3:669, 3:669].reshape(9, 74, 9, 74).any(axis=(1, 3))
            things += [Object(shape, word, int(row), int(col), scale=scale) for row, col in np.argwhere(cells)]
        ours = paint(World(tuple(things)))
        assert len([thing for thing in things if thing.colour == question.entity.split("_")[0]]) == int(question.target)
        assert colours(ours) == colours(theirs)
        for thing in things:
            cell = slice(3 + thing.row * 74, 77 + thing.row * 74), slice(3 + thing.col * 74, 77 + thing.col * 74)
            a, b = ours[cell].any(axis=2), theirs[cell].any(axis=2)
            assert (a & b).sum() / (a | b).sum() >= 0.99
