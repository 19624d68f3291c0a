"""What is true of two or three objects of a world: the truths of the relation exams (PROTOCOLS section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

DIRECTIONS = (
    ("above left", "directly above", "above right"),
    ("directly left", "", "directly right"),
    ("below left", "directly below", "below right"),
)
"""Where an object lies seen from another: row by the sign of the rows between, column by that of the columns."""

POSITIONS = tuple(name for row in DIRECTIONS for name in row if name)
SIZES_SEEN = ("larger", "same", "smaller")


class Placed(Protocol):
    """Anything in a cell, of a size."""

    @property
    def row(self) -> int: ...  # noqa: D102
    @property
    def col(self) -> int: ...  # noqa: D102
    @property
    def scale(self) -> float: ...  # noqa: D102


def position_of(one: Placed, other: Placed) -> str:
    """Where `one` lies with respect to `other`."""
    return DIRECTIONS[_sign(one.row - other.row) + 1][_sign(one.col - other.col) + 1]


def size_of(one: Placed, other: Placed) -> str:
    """The size of `one` with respect to `other`."""
    return SIZES_SEEN[_sign(other.scale - one.scale) + 1]


def distance(one: Placed, other: Placed) -> int:
    """Squared Euclidean distance of the cells' centres, in cells^2: whole, so that ties are exact."""
    return (one.row - other.row) ** 2 + (one.col - other.col) ** 2


def closest(one: Placed, others: Sequence[Placed]) -> list[int]:
    """Indices of the nearest of `others`: several where they tie."""
    far = [distance(one, other) for other in others]
    return [i for i, d in enumerate(far) if d == min(far)]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
