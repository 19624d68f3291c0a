from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from snellen.core.errors import DataError, SpecError
from snellen.stimuli.custom import custom, from_yaml, sha256_of

SIZES = """\
name: sizes
side: 336
objects:
  - shape: [star, circle]
    colour: yellow
    size: [1.0, 0.5, 0.25]
    cell: all
questions:
  - text: What is the shape of the object?
    answer: shape
  - kind: is-star
    text: Is the {colour} object a star?
    answer: shape
    options: {star: yes, circle: no}
"""

PAIRS = """\
side: 336
grid: 6
background: white
objects:
  - shape: star
    colour: blue
    cell: [[0, 0], [0, 1]]
  - shape: {draw: [circle, square]}
    size: [regular, small]
    cell: [[0, 1], [5, 5]]
  - copies: [0, 2]
    shape: triangle
    cell: {draw: all}
repeat: 3
questions:
  - text: Where is the {name} seen from the {other.colour} {other.shape}?
    answer: relative_position
  - text: How many triangles are there?
    answer: count
    of: {shape: triangle}
  - text: What is the size of the {other.shape}?
    answer: size
    about: 2
    other: 2
    where: {shape: circle}
  - text: What lies closest to the star?
    answer: closest
"""


def written(folder: Path, text: str, name: str = "exam.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_crossed_factors_give_every_combination(tmp_path: Path) -> None:
    exam = from_yaml(written(tmp_path, SIZES))
    assert (exam.name, len(exam.worlds), len(exam)) == ("sizes", 2 * 3 * 81, 2 * 2 * 3 * 81)
    looks = Counter((w.objects[0].shape, w.objects[0].scale, w.objects[0].colour) for w in exam.worlds)
    assert set(looks.values()) == {81}
    assert {key[2] for key in looks} == {"yellow"}
    own = [q for q in exam.questions if q.kind == "is-star"]
    assert own[0].text == "Is the yellow object a star?"
    assert own[0].options == ("yes", "no")
    assert {(exam.worlds[q.scene].objects[0].shape, q.target) for q in own} == {("star", "yes"), ("circle", "no")}


def test_drawn_factors_copies_relations_and_conditions(tmp_path: Path) -> None:
    exam = from_yaml(written(tmp_path, PAIRS))
    # 2 cells x 2 cells without the one that both share, x 2 sizes x 2 numbers of copies x 3 repeats
    assert len(exam.worlds) == 3 * 2 * 2 * 3
    assert Counter(len(w.objects) for w in exam.worlds) == {2: 18, 4: 18}
    assert all(w.background == "white" and w.grid == 6 for w in exam.worlds)
    kinds = Counter(q.kind for q in exam.questions)
    assert kinds["relative_position"] == kinds["count"] == 36
    assert {q.target for q in exam.questions if q.kind == "count"} == {"0", "2"}
    asked = [q for q in exam.questions if q.kind == "size"]
    assert all(exam.worlds[q.scene].objects[1].shape == "circle" for q in asked)
    assert 0 < len(asked) < 36
    assert [q.scene for q in exam.questions] == sorted(q.scene for q in exam.questions)


def test_what_is_drawn_depends_on_the_seed_alone(tmp_path: Path) -> None:
    path = written(tmp_path, PAIRS)
    assert from_yaml(path, seed=1).worlds == from_yaml(path, seed=1).worlds
    assert from_yaml(path, seed=1).worlds != from_yaml(path, seed=2).worlds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[star, circle]", "[stra, circle]", r"unknown shape 'stra'\. Did you mean 'star'.*line 4"),
        ("answer: shape\n  - kind", "answer: shpae\n  - kind", r"unknown answer 'shpae'.*relative_position.*line 10"),
        ("colour: yellow", "color: yellow", r"unknown field of an object 'color'. Did you mean 'colour'.*line 5"),
        ("{colour}", "{color}", r"unknown word \{color\} in a text.*other\.shape.*line 12"),
        ("{colour}", "{", "stray brace.*line 12"),
        ("[1.0, 0.5, 0.25]", "[1.4]", r"at most 1, got 1\.4.*line 6"),
        ("[1.0, 0.5, 0.25]", "[big]", r"size is regular, small, or a fraction of the cell .*got 'big'.*line 6"),
        ("cell: all", "cell: middle", r"unknown cell 'middle'\..*top left.*line 7"),
        ("cell: all", "cell: [9, 2]", r"cell \(9, 2\) lies outside a grid of 9 x 9.*line 7"),
        ("cell: all", "cell: all\n    copies: 2", "copies need cells that are drawn.*line 8"),
        ("cell: all", "cell: all\n    cell: all", "'cell' stands twice.*line 8"),
        ("objects:", "object:", r"unknown field of an exam 'object'\..*line 3"),
        ("side: 336", "side: large", "side is a whole number from 36, got 'large'.*line 2"),
        ("{star: yes, circle: no}", "[star, square]", r"the options have none for shape 'circle'.*line 11"),
        ("{star: yes, circle: no}", "{star: yes, circle: yes}", "at least two options.*line 11"),
        ("answer: shape\n  - kind", "answer: relative_size\n  - kind", "a question is about objects 1 to 1.*line 9"),
        ("    answer: shape\n  - kind", "  - kind", "a question needs answer: .*relative_position.*line 9"),
        ("questions:", "repeat: 0\nquestions:", "repeat is a whole number from 1, got '0'.*line 8"),
        ("objects:", "objects: [", "not YAML.*line"),
        ("[1.0, 0.5, 0.25]", "[[1.0]]", "size is regular.*got a list of 1: .*line 6"),
        ("[star, circle]", "[star, [circle]]", "shape is one value, got a list of 1: .*line 4"),
        ("{star: yes, circle: no}", "yes", "options are a list .*or a mapping .*, got 'yes': .*line 14"),
        ("{star: yes, circle: no}", "{star: [yes], circle: no}", "answer shown for star is one value, got a list of 1"),
        ("text: What is the shape of the object?", "text: [What]", "text is one value, got a list of 1: .*line 9"),
        ("answer: shape\n  - kind", "answer: shape\n    where: {shape: stra}\n  - kind", "'stra'. Did you mean 'star'"),
        ("  - kind: is-star\n    text", "  - text", "two questions about one object are called 'shape'.*line 11"),
    ],
)
def test_a_mistake_names_its_line_and_the_known_values(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SIZES
    with pytest.raises(DataError, match=message):
        from_yaml(written(tmp_path, SIZES.replace(old, new, 1)))


def test_an_exam_without_questions_or_scenes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="an exam needs questions: a list"):
        from_yaml(written(tmp_path, "objects: [{shape: star}]\n"))
    one_cell = "objects:\n  - cell: [1, 1]\n  - cell: [1, 1]\nquestions: [{text: What, answer: shape}]\n"
    with pytest.raises(DataError, match=r"two objects are fixed to one cell.*line 1"):
        from_yaml(written(tmp_path, one_cell))
    with pytest.raises(DataError, match="is empty"):
        from_yaml(written(tmp_path, ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- shape: star\n- shape: circle\n", r"an exam is a mapping \(`field: value`\), got a list of 2: .*line 1$"),
        ("star\n", r"an exam is a mapping .*, got 'star': .*line 1$"),
        ("objects:\nquestions:\n", "objects is a list, got nothing: .*line 1$"),
        ("objects:\n  shape: star\nquestions: []\n", "objects is a list, got a mapping with shape: .*line 1$"),
        ("objects: [[star]]\nquestions: [{text: What}]\n", "an object is a mapping .*, got a list of 1: .*line 1$"),
        ("objects: []\nquestions: []\n", "an exam needs objects: the list is empty: .*line 1$"),
        ("objects: [{shape: star}]\nquestions: []\n", "an exam needs questions: the list is empty: .*line 2$"),
        ("objects: [{shape: star}]\nquestions: What?\n", r"questions is a list, got 'What\?': .*line 2$"),
    ],
)
def test_a_value_of_another_kind_is_told_in_the_words_of_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        from_yaml(written(tmp_path, text))
    assert "Marked" not in str(caught.value)


def test_a_python_file_returns_its_exam(tmp_path: Path) -> None:
    text = """
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.worlds import Object, World

def exam():
    worlds = [World((Object("star", "red", 0, col),), side=90) for col in range(9)]
    asked = [Question(i, "half", "Which half?", "left" if i < 5 else "right", ("left", "right")) for i in range(9)]
    return Exam("halves", worlds, asked)
"""
    exam = custom(file=str(written(tmp_path, text, "exam.py")))
    assert (exam.name, len(exam)) == ("halves", 9)
    with pytest.raises(DataError, match=r"must return .*Exam, got list"):
        custom(file=str(written(tmp_path, "def exam():\n    return []\n", "bad.py")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_at_all\n", r"raises ModuleNotFoundError \(No module named 'nowhere_at_all'\): .*py, line 1$"),
        ("def exam():\n    return 1 / 0\n", r"raises ZeroDivisionError \(division by zero\): .*py, line 2$"),
        ("def exam(:\n", r"raises SyntaxError .*exam\.py"),
        ("exams = 1\n", "has a function exam"),
    ],
)
def test_a_python_file_that_fails_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        custom(file=str(written(tmp_path, text, "exam.py")))


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, SIZES)
    digest = sha256_of(path)
    assert len(custom(file=str(path), sha256=digest)) == 972
    path.write_text(SIZES.replace("336", "672"))
    with pytest.raises(SpecError, match="file has changed"):
        custom(file=str(path), sha256=digest)
