"""`<phrase>label</phrase><object><patch_index_A><patch_index_B></object>`: Kosmos-2's 32 x 32 patches.

The two patches hold the top left and the bottom right corner; their centres are meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from snellen.parsing.formats.tags import Tags, read_tags
from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<patch_index_|<object>")
TAGS = Tags(("<phrase>", "</phrase>"), ("<object>", "</object>"))
SIDE = 32
_PATCH = re.compile(r"<patch_index_(\d{4})>")


def read(text: str, context: Context) -> Scan:
    """Boxes in patches, 0..32, with the phrase right before them."""
    return read_tags(text, context, tags=TAGS, inside=_inside)


def write(lines: Sequence[Line]) -> str:
    """A phrase and an object per instance; corners are rounded to the patches they lie in."""
    return "".join(
        f"<phrase> {writable(line.label, without='<>', form='patches')}</phrase>"
        f"<object><patch_index_{_index(x1, y1):04d}><patch_index_{_index(x2, y2):04d}></object>"
        for line in lines
        for x1, y1, x2, y2 in [line.numbers]
    )


def _inside(content: str, closed: bool, template: Item, context: Context) -> list[Item]:
    patches = [int(index) for index in _PATCH.findall(content)]
    pairs = list(zip(patches[::2], patches[1::2], strict=False))
    items = [Item(template.label, (*_centre(a), *_centre(b)) if max(a, b) < SIDE * SIDE else None) for a, b in pairs]
    return items if len(patches) % 2 == 0 or not closed else [*items, template]


def _centre(index: int) -> tuple[float, float]:
    return index % SIDE + 0.5, index // SIDE + 0.5


def _index(x: float, y: float) -> int:
    column, row = (min(max(math.floor(v), 0), SIDE - 1) for v in (x, y))
    return row * SIDE + column
