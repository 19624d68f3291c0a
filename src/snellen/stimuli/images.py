"""Image objects: any picture of the user, letterboxed into a cell (the paper's COCO crops)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.pictures import Picture
from snellen.stimuli.shapes import FILL, box_of


@lru_cache(maxsize=64)
def inlay(path: str, cell: int, scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where in the cell the picture lies, (cell, cell) of 0 and 1, and its pixels, (cell, cell, 3), float64.

    Aspect kept, the longest side 86 % of the object's box, centred. DataError where the file is no picture.
    """
    image = Picture.from_file(Path(path)).image()
    box, offset = box_of(cell, scale)
    ratio = FILL * box / max(image.size)
    width, height = (max(1, round(side * ratio)) for side in image.size)
    left, top = (offset + round((box - side) / 2) for side in (width, height))
    small = image.resize((width, height), Image.Resampling.BICUBIC)
    cover = np.zeros((cell, cell))
    surface = np.zeros((cell, cell, 3))
    cover[top : top + height, left : left + width] = 1
    surface[top : top + height, left : left + width] = np.asarray(small, dtype=np.float64)
    return cover, surface
