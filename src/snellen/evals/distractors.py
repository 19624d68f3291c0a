"""Where the distractor stood: the cell of the one thing in a picture that a counting question is not about.

Published results hold no positions of objects, their pictures do. Where each picture of a file shows as many of the
things asked about as the target says, and exactly one thing more, that thing's cell is an attribute of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from snellen.core.errors import DataError, SpecError
from snellen.core.stages import Choice, Sample
from snellen.models.observers import apart
from snellen.models.seeing import held, look

CELLS = 9
"""Cells a side of CIVET's grid."""

SIGHT = 168
"""Resolution at which pictures are looked at, px of the longest side: 4 px of the release's pictures in one."""

MARGIN = 0.2
"""How far from the middle of its cell a thing may stand, in cells: objects of this grid stand at the middle."""


def with_cells(samples: Sequence[Sample[Choice]]) -> tuple[list[Sample[Choice]], str]:
    """The samples with `cell_row` and `cell_col` (from 0, top left) of the lone distractor, and "".

    Where one picture leaves any doubt, no sample gets them, and the text says which picture and why.
    """
    out = []
    for sample in samples:
        try:
            row, col = _cell(sample)
        except (DataError, SpecError) as error:
            return list(samples), f"no cells of distractors: {error}"
        out.append(replace(sample, attributes={**sample.attributes, "cell_row": row, "cell_col": col}))
    return out, ""


def _cell(sample: Sample[Choice]) -> tuple[int, int]:
    asked = str(sample.attributes["entity"]).replace("_", " ")
    picture = sample.pictures[0]
    things = look(picture.encoded(), held(picture.image()), pixels=SIGHT, noise=0.0, seed=0)
    fitting, others = apart(things, asked)
    if str(len(fitting)) != sample.truth.target or len(others) != 1:
        raise DataError(
            f"{picture.name} shows {asked}: {len(fitting)}, other things: {len(others)}; "
            f"expected {sample.truth.target} and 1"
        )
    x, y = (CELLS * part for part in others[0].centre)
    if max(abs(x % 1 - 0.5), abs(y % 1 - 0.5)) > MARGIN:
        raise DataError(f"the other thing in {picture.name} stands between the cells of a {CELLS} x {CELLS} grid")
    return int(y), int(x)
