"""Acuity: the smallest object whose shape a model still recognises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from snellen.core.errors import SpecError
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.shapes import FILL, box_of
from snellen.stimuli.worlds import SHAPES, Object, World, board, scale_of

LADDER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09)
"""Sizes of objects, as fractions of the cell: about sqrt(2) apart."""


def acuity(
    *,
    ladder: Sequence[float] = LADDER,
    shapes: Sequence[str] = SHAPES,
    colour: str = "yellow",
    side: int = 672,
    antialias: bool = False,
) -> Exam:
    """`ladder` x `shapes` x 81 cells (2,592 scenes); the shape is asked. Attribute `object_px`: the object's side, px.

    The threshold is the size half-way between chance and 1 on a fitted curve (`statistics`), over all and by section.
    """
    if len(set(shapes)) < 2:
        raise SpecError(f"at least two shapes are needed to ask which it is, got {list(shapes)}")
    cell = board(side, 9).cell
    worlds: list[World] = []
    asked: list[Question] = []
    for scale, shape, row, col in product((scale_of(step) for step in ladder), shapes, range(9), range(9)):
        size = {"object_px": round(FILL * box_of(cell, scale)[0], 2)}
        if size["object_px"] < 1:
            raise SpecError(f"an object of {scale:g} of a cell has less than 1 px at {side} px: take a larger picture")
        text = "What is the shape of the object?"
        asked.append(Question(len(worlds), "shape", text, shape, tuple(shapes), attributes=size))
        worlds.append(World((Object(shape, colour, row, col, scale=scale),), side=side, antialias=antialias))
    return Exam("acuity", worlds, asked)
