"""Two or three objects: relative position, size and distance (CIVET, section 4.1, RQ3)."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import permutations, product
from typing import Literal

from snellen.core.errors import SpecError
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.relations import POSITIONS, SIZES_SEEN, closest, position_of, size_of
from snellen.stimuli.worlds import SIZES, Object, World, scale_of

CELLS = tuple(product(range(9), range(9)))
COLOUR = "yellow"


def relative_position(*, side: int = 672, size: str = "regular", antialias: bool = False) -> Exam:
    """Star and triangle in all ordered pairs of cells: 6,480 scenes, 12,960 questions (each scene both ways)."""
    scale = scale_of(size)
    worlds = [
        World((_thing("star", one, scale), _thing("triangle", two, scale)), side=side, antialias=antialias)
        for one, two in permutations(CELLS, 2)
    ]
    asked = []
    for scene, world in enumerate(worlds):
        for about, (one, other) in enumerate((world.objects, world.objects[::-1])):
            text = f"Where is the {one.shape} positioned with respect to the {other.shape}?"
            apart = {"rows_apart": abs(one.row - other.row), "cols_apart": abs(one.col - other.col)}
            kind = "relative_position"
            asked.append(
                Question(
                    scene, kind, text, position_of(one, other), POSITIONS, about, f"e{about + 1}", frozenset(), apart
                )
            )
    return Exam("relative-position", worlds, asked)


def relative_size(*, side: int = 672, antialias: bool = False) -> Exam:
    """Star and triangle, each regular or small, in all ordered pairs of cells: 25,920 scenes, 51,840 questions."""
    worlds = [
        World((_thing("star", one, first), _thing("triangle", two, second)), side=side, antialias=antialias)
        for first, second in product(SIZES.values(), SIZES.values())
        for one, two in permutations(CELLS, 2)
    ]
    asked = []
    for scene, world in enumerate(worlds):
        for about, (one, other) in enumerate((world.objects, world.objects[::-1])):
            text = f"What is the size of the {one.shape} with respect to the {other.shape}?"
            target = size_of(one, other)
            asked.append(Question(scene, "relative_size", text, target, SIZES_SEEN, about, f"e{about + 1}"))
    return Exam("relative-size", worlds, asked)


def relative_distance(
    *,
    side: int = 672,
    size: str = "regular",
    ties: Literal["drop", "either", "resample"] = "drop",
    antialias: bool = False,
    seed: int = 0,
) -> Exam:
    """Star, triangle and circle: 9^3 placements in sections, each redrawn 6 times: 4,374 scenes, each object asked.

    Cells are drawn uniformly among the free ones of the section. ties: `drop` leaves out questions whose two answers
    are equally far (3.07 % expected), `either` takes both as right, `resample` draws scenes anew until none ties.
    """
    if ties not in {"drop", "either", "resample"}:
        raise SpecError(f"ties are dropped, taken either way or resampled: drop, either or resample, got {ties!r}")
    rng = random.Random(f"relative-distance {seed}")
    scale = scale_of(size)
    worlds: list[World] = []
    asked: list[Question] = []
    tied = 0
    for blocks in product(product(range(3), range(3)), repeat=3):
        for _ in range(6):
            things = _drawn(blocks, scale, rng)
            while ties == "resample" and any(len(near) > 1 for near in _nearest(things)):
                things = _drawn(blocks, scale, rng)
            scene = len(worlds)
            worlds.append(World(things, side=side, antialias=antialias))
            for about, near in enumerate(_nearest(things)):
                tied += len(near) > 1
                if len(near) == 1 or ties == "either":
                    asked.append(_which(scene, things, about, near))
    return Exam("relative-distance", worlds, asked, {"ties": ties, "tied_questions": tied})


def _which(scene: int, things: tuple[Object, ...], about: int, near: list[int]) -> Question:
    others = [thing.shape for i, thing in enumerate(things) if i != about]
    target, *also = (others[i] for i in near)
    text = f"What is the closest object to the {things[about].shape}?"
    kind = "relative_distance"
    return Question(scene, kind, text, target, tuple(others), about, f"e{about + 1}", frozenset(also))


def _nearest(things: tuple[Object, ...]) -> list[list[int]]:
    return [closest(thing, [*things[:i], *things[i + 1 :]]) for i, thing in enumerate(things)]


def _drawn(blocks: tuple[tuple[int, int], ...], scale: float, rng: random.Random) -> tuple[Object, ...]:
    taken: list[tuple[int, int]] = []
    for down, across in blocks:
        cells = product(range(3 * down, 3 * down + 3), range(3 * across, 3 * across + 3))
        taken.append(rng.choice([cell for cell in cells if cell not in taken]))
    return tuple(_thing(shape, cell, scale) for shape, cell in zip(("star", "triangle", "circle"), taken, strict=True))


@lru_cache(maxsize=4096)
def _thing(shape: str, cell: tuple[int, int], scale: float) -> Object:
    return Object(shape, COLOUR, *cell, scale=scale)
