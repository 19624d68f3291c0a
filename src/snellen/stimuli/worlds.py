"""Worlds: what a controlled picture shows, as plain data. Rendering is a pure function of it (`render.py`).

A fixed factor and a marginalised factor are different things, so nothing here is drawn at random: every field of every
object is given. Geometry and colours: PROTOCOLS section 1, after the CIVET release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import NamedTuple

from snellen.core.errors import SpecError, unknown
from snellen.core.pictures import Size
from snellen.core.specs import Json

SHAPES = ("square", "circle", "triangle", "star")
SHEENS = ("none", "matte", "glossy")
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "cyan": (0, 255, 255),
    "magenta": (255, 0, 255),
    "yellow": (255, 255, 0),
}
"""The paper's six object colours, pure RGB."""

PAINTS: Mapping[str, tuple[int, int, int]] = {
    **COLOURS,
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "grey": (128, 128, 128),
    "orange": (255, 128, 0),
    "purple": (128, 0, 255),
    "brown": (139, 69, 19),
    "pink": (255, 192, 203),
}
"""Every colour that an object or a background may have; the exams of the paper use `COLOURS` on black."""

SIZES: Mapping[str, float] = {"regular": 1.0, "small": 0.5}
"""Side of an object's box, as a fraction of the cell's side: `small` has a quarter of the area."""

SECTIONS = (
    ("top left", "top center", "top right"),
    ("center left", "center", "center right"),
    ("bottom left", "bottom center", "bottom right"),
)
"""The nine sections of the grid, each a third of the rows by a third of the columns."""


@dataclass(frozen=True, slots=True)
class Object:
    """One object in one cell (row 0 at the top, column 0 at the left).

    `scale` is the side of its box as a fraction of the cell's side, 0 < scale <= 1. `image` is the file of an image
    object, whose `shape` is then its category and whose colour is empty.
    """

    shape: str
    colour: str
    row: int
    col: int
    sheen: str = "none"
    scale: float = 1.0
    image: str = ""

    @property
    def name(self) -> str:
        """Sheen, colour and shape in words, `none` skipped: `glossy red star`."""
        return " ".join(word for word in (self.sheen, self.colour, self.shape) if word not in {"", "none"})

    @property
    def size(self) -> str:
        """`regular`, `small`, or the scale as a number."""
        return next((name for name, scale in SIZES.items() if scale == self.scale), f"{self.scale:g}")


class Grid(NamedTuple):
    """Where the cells lie: `cells` a side, each `cell` px, after `pad` px at the top left."""

    side: int
    cells: int
    cell: int
    pad: int


@dataclass(frozen=True)
class World:
    """A scene: objects in the cells of a `grid` x `grid` board on a picture of `side` x `side` px.

    Raises SpecError for unknown shapes, colours and sheens, cells outside the grid and two objects in one cell.
    """

    objects: tuple[Object, ...]
    side: int = 672
    grid: int = 9
    background: str = "black"
    antialias: bool = False

    def __post_init__(self) -> None:
        if self.grid < 1 or self.side < self.grid * 4:
            raise SpecError(f"a cell must have at least 4 px, got {self.grid} cells on {self.side} px")
        if self.background not in PAINTS:
            raise unknown("background", self.background, PAINTS)
        taken: set[tuple[int, int]] = set()
        for thing in self.objects:
            _check(thing, self.grid)
            if (thing.row, thing.col) in taken:
                raise SpecError(f"two objects stand in cell ({thing.row}, {thing.col})")
            taken.add((thing.row, thing.col))

    @property
    def board(self) -> Grid:
        """The grid in px: cell = side // grid, half of the remainder (rounded half to even) on the top left."""
        return board(self.side, self.grid)

    @property
    def size(self) -> Size:
        """Size of the picture."""
        return Size(self.side, self.side)

    def to_json(self) -> dict[str, Json]:
        """Plain JSON from which `from_json` builds the same world."""
        return {
            "side": self.side,
            "grid": self.grid,
            "background": self.background,
            "antialias": self.antialias,
            "objects": [asdict(thing) for thing in self.objects],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> World:
        """The world that `to_json` wrote. Raises SpecError for unknown or missing fields."""
        known = {field.name for field in fields(cls)}
        for name in value:
            if name not in known:
                raise unknown("field of a world", name, known)
        try:
            rest = {name: value[name] for name in value if name != "objects"}
            return cls(tuple(Object(**thing) for thing in value["objects"]), **rest)  # type: ignore[arg-type, union-attr]
        except (TypeError, KeyError) as error:
            raise SpecError(f"a world needs objects with shape, colour, row and col: {error}") from error


@lru_cache(maxsize=64)
def board(side: int, cells: int) -> Grid:
    """The grid of `cells` x `cells` on `side` px (release: 336 -> cell 37, pad 2; 672 -> 74, 3; 1344 -> 149, 2)."""
    cell = side // cells
    return Grid(side, cells, cell, round((side - cells * cell) / 2))


def scale_of(size: str | float) -> float:
    """The scale that a size means: `regular`, `small`, or a number above 0 and at most 1. Else SpecError."""
    if isinstance(size, str):
        if size not in SIZES:
            raise unknown("object size", size, SIZES)
        return SIZES[size]
    if isinstance(size, bool) or not 0 < size <= 1:
        raise SpecError(f"an object's size is regular, small, or a number above 0 and at most 1, got {size!r}")
    return float(size)


def section(row: int, col: int, grid: int = 9) -> str:
    """The section that a cell lies in. The grid must be a multiple of 3 wide."""
    if grid % 3:
        raise SpecError(f"sections need a grid of a multiple of 3 cells, got {grid}")
    return SECTIONS[row * 3 // grid][col * 3 // grid]


def _check(thing: Object, grid: int) -> None:
    if not thing.image:
        if thing.shape not in SHAPES:
            raise unknown("shape", thing.shape, SHAPES)
        if thing.colour not in PAINTS:
            raise unknown("colour", thing.colour, PAINTS)
    if thing.sheen not in SHEENS:
        raise unknown("sheen", thing.sheen, SHEENS)
    if not (0 <= thing.row < grid and 0 <= thing.col < grid):
        raise SpecError(f"cell ({thing.row}, {thing.col}) lies outside a grid of {grid} x {grid}")
    if not 0 < thing.scale <= 1:
        raise SpecError(f"the scale of an object is above 0 and at most 1, got {thing.scale}")
