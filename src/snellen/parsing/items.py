"""What a format finds in a reply: items with their numbers as written, before any notation is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from snellen.core.boxes import Order


class Item(NamedTuple):
    """One instance as written. A box has four numbers, a point two; None: there is a box but it cannot be read.

    `order` and `scale` stand where the form itself names them (`x_min`, percentages), else the notation's hold;
    `corners`: two corner points, whatever the notation (its order of axes holds). `spelled`: each coordinate stands
    under a key of its own.
    `nothing`: the item says that there is nothing (a null box, four zeros).
    """

    label: str | None = None
    numbers: tuple[float, ...] | None = None
    point: bool = False
    score: float | None = None
    order: Order | None = None
    corners: bool = False
    spelled: bool = False
    scale: float | None = None
    nothing: bool = False
    notes: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Scan:
    """All that one format finds.

    listed: a list was read, be it empty. cut: the text ends inside it. repaired: it needed help. `labelled`: this
    form names a label for each instance, so that one without is not readable.
    """

    items: Sequence[Item] = ()
    listed: bool = False
    cut: bool = False
    repaired: bool = False
    labelled: bool = False
    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.items) or self.listed or self.cut


@dataclass(frozen=True)
class Context:
    """What a format may know: whether points are wanted, the classes asked for, that the reply is complete, or that it
    was cut (both False where nobody knows).
    """

    points: bool = False
    classes: tuple[str, ...] = ()
    complete: bool = False
    unlabelled: bool = False
    cut: bool = False
