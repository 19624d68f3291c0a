"""How many: objects of one kind, scattered or clustered, with or without distractors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Literal

from snellen.core.errors import SpecError
from snellen.core.stages import Attribute
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.worlds import Object, World, scale_of

Cell = tuple[int, int]


def counting(
    *,
    counts: Sequence[int] = (2, 3, 4, 5, 6, 7, 8, 9),
    scenes: int = 49,
    arrangement: Literal["scattered", "clustered"] = "scattered",
    colours: Sequence[str] = ("red",),
    shapes: Sequence[str] = ("triangle",),
    size: str = "regular",
    distractors: int = 0,
    distractor: str = "small red star",
    side: int = 672,
    antialias: bool = False,
    seed: int = 0,
) -> Exam:
    """`scenes` placements per count (49: 392 in all, as in the published counting stimuli), the same for every kind.

    arrangement: cells drawn uniformly, or the cells nearest to a cell drawn uniformly. colours, shapes: the kinds, each
    in scenes of its own. distractors: further objects of the kind `distractor` (`[small] colour shape`) in free cells.
    """
    if arrangement not in {"scattered", "clustered"}:
        raise SpecError(f"an arrangement is scattered or clustered, got {arrangement!r}")
    if len(set(counts)) < 2 or min(counts) < 0 or max(counts) + distractors > 81:
        raise SpecError(f"at least two different counts of 0 to {81 - distractors} are needed, got {list(counts)}")
    rng = random.Random(f"counting {seed}")
    options = tuple(str(n) for n in sorted(set(counts)))
    extra = _kind(distractor)
    worlds: list[World] = []
    asked = []
    for n, _ in product(sorted(set(counts)), range(scenes)):
        cells = _scattered(n, rng) if arrangement == "scattered" else _clustered(n, rng)
        free = [cell for cell in product(range(9), range(9)) if cell not in cells]
        others = tuple(
            Object(extra.shape, extra.colour, *cell, scale=extra.scale) for cell in rng.sample(free, distractors)
        )
        for colour, shape in product(colours, shapes):
            if distractors and (colour, shape, scale_of(size)) == (extra.colour, extra.shape, extra.scale):
                raise SpecError(f"distractors must differ from what is counted, got {distractor!r}")
            things = tuple(Object(shape, colour, *cell, scale=scale_of(size)) for cell in cells)
            known: dict[str, Attribute] = {"colour": colour, "shape": shape, "count": n}
            known |= {"arrangement": arrangement, "distractors": distractors}
            text, entity = f"How many {colour} {shape}s are there?", f"{colour}_{shape}s"
            asked.append(Question(len(worlds), "count", text, str(n), options, None, entity, attributes=known))
            worlds.append(World((*things, *others), side=side, antialias=antialias))
    return Exam("counting", worlds, asked)


def _scattered(n: int, rng: random.Random) -> list[Cell]:
    return rng.sample(list(product(range(9), range(9))), n)


def _clustered(n: int, rng: random.Random) -> list[Cell]:
    """The `n` cells nearest to one drawn uniformly; equally near ones in random order."""
    row, col = rng.randrange(9), rng.randrange(9)
    cells = list(product(range(9), range(9)))
    rng.shuffle(cells)
    return sorted(cells, key=lambda cell: (cell[0] - row) ** 2 + (cell[1] - col) ** 2)[:n]


def _kind(words: str) -> Object:
    *size, colour, shape = words.split()
    if len(size) > 1:
        raise SpecError(f"a distractor is written `[small] colour shape`, got {words!r}")
    return World((Object(shape, colour, 0, 0, scale=scale_of(size[0] if size else "regular")),)).objects[0]
