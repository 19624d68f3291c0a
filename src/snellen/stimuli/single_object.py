"""One object in one cell: its properties and its place (CIVET, section 4.1, Single Object)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from snellen.core.errors import SpecError, unknown
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.worlds import COLOURS, SECTIONS, SHAPES, SHEENS, Object, World, scale_of, section

PLACES = tuple(name for row in SECTIONS for name in row)
KINDS = ("shape", "color", "sheen", "position")
EXPLANATION = "Sheen is a measure of the reflected light from a material. "
"""Put before the sheen question by the release."""


def single_object(
    *,
    side: int = 672,
    size: str = "regular",
    questions: Sequence[str] = KINDS,
    explain_sheen: bool = True,
    antialias: bool = False,
) -> Exam:
    """4 shapes x 6 colours x 3 sheens x 81 cells = 5,832 scenes; the sheen is asked of matte and glossy alone."""
    for kind in questions:
        if kind not in KINDS:
            raise unknown("question", kind, KINDS)
    scale = scale_of(size)
    worlds = [
        World((Object(shape, colour, row, col, sheen, scale),), side=side, antialias=antialias)
        for shape, colour, sheen, row, col in product(SHAPES, COLOURS, SHEENS, range(9), range(9))
    ]
    asked = [
        question
        for scene, world in enumerate(worlds)
        for kind in KINDS
        if kind in questions
        for question in ask(scene, world.objects[0], kind, explain_sheen=explain_sheen)
    ]
    if not asked:
        raise SpecError(f"an exam needs a question, got none of {', '.join(KINDS)}")
    return Exam("single-object", worlds, asked)


def ask(scene: int, thing: Object, kind: str, *, explain_sheen: bool = True) -> list[Question]:
    """The question of one kind about the only object of a scene, or none where it does not apply."""
    if kind == "position":
        place = section(thing.row, thing.col)
        return [Question(scene, kind, f"Where is the {thing.name}?", place, PLACES)]
    if kind == "sheen":
        text = (EXPLANATION if explain_sheen else "") + "What is the sheen of the object?"
        return [Question(scene, kind, text, thing.sheen, SHEENS[1:])] if thing.sheen != "none" else []
    target, options = (thing.shape, SHAPES) if kind == "shape" else (thing.colour, tuple(COLOURS))
    return [Question(scene, kind, f"What is the {kind} of the object?", target, options)]
