"""Instances on pictures: `Detections` of one picture, `BoxTable` of a whole set in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.errors import ShapeError
from snellen.core.labels import ClassIndex

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
S = TypeVar("S", bound=np.generic)


FARTHEST = 1e150
"""Px. The area of a box whose corners lie farther out may be more than a float holds."""


def sound(boxes: Float) -> Bool:
    """Which boxes (n, 4) can be measured: corners that are numbers and not beyond `FARTHEST`, none inverted."""
    x1, y1, x2, y2 = boxes.T  # column by column: `all` over four at a time is slow
    found: Bool = (x1 >= -FARTHEST) & (x1 <= x2) & (x2 <= FARTHEST) & (y1 >= -FARTHEST) & (y1 <= y2) & (y2 <= FARTHEST)
    return found


def as_boxes(boxes: ArrayLike) -> Float:
    """`boxes` as float64 of shape (n, 4), read-only; an empty list gives shape (0, 4)."""
    array = np.asarray(boxes, dtype=np.float64)
    if array.size == 0:
        array = array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ShapeError(f"boxes must have shape (n, 4), got {array.shape}")
    return _frozen(array)


@dataclass(frozen=True, eq=False)
class Detections:
    """Instances on one picture: truth or predictions.

    boxes: float64 (n, 4), `x1 y1 x2 y2`, px of the upright picture. labels: n names. scores: float64 (n,), NaN where
    one is missing, or None where none was given (absent is not 1.0). crowd: (n,) bool, regions that excuse
    detections (COCO's iscrowd). area: (n,) px^2, given by the data set, else None: width x height. notes: n mappings
    of what else is known per instance (reasoning chains, ids), or ().
    """

    boxes: Float
    labels: tuple[str, ...]
    scores: Float | None = None
    crowd: Bool | None = None
    area: Float | None = None
    notes: tuple[Mapping[str, object], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "boxes", as_boxes(self.boxes))
        n = len(self.boxes)
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.labels) != n:
            raise ShapeError(f"{n} boxes need {n} labels, got {len(self.labels)}")
        for name, dtype in (("scores", np.float64), ("crowd", np.bool_), ("area", np.float64)):
            value = getattr(self, name)
            if value is not None:
                array = np.asarray(value, dtype=dtype)
                if array.shape != (n,):
                    raise ShapeError(f"{name} must have shape ({n},), got {array.shape}")
                object.__setattr__(self, name, _frozen(array))
        if self.notes and len(self.notes) != n:
            raise ShapeError(f"{n} boxes need {n} notes or none, got {len(self.notes)}")

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Detections):
            return NotImplemented
        pairs = ((self.scores, other.scores), (self.crowd, other.crowd), (self.area, other.area))
        return (
            self.labels == other.labels
            and np.array_equal(self.boxes, other.boxes)
            and all(
                (a is None and b is None)
                or (
                    a is not None
                    and b is not None
                    and np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")
                )
                for a, b in pairs
            )
            and self.notes == other.notes
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> Detections:
        """No instances."""
        return cls(np.zeros((0, 4)), ())

    def take(self, index: ArrayLike) -> Detections:
        """The instances at `index` (integers or a boolean mask), in that order."""
        picked = np.asarray(index)
        chosen = np.arange(len(self))[picked if picked.size else picked.astype(np.int64)]
        return Detections(
            self.boxes[chosen],
            tuple(self.labels[i] for i in chosen),
            None if self.scores is None else self.scores[chosen],
            None if self.crowd is None else self.crowd[chosen],
            None if self.area is None else self.area[chosen],
            tuple(self.notes[i] for i in chosen) if self.notes else (),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Detections]) -> Detections:
        """All instances of all parts, in order. Scores missing in some parts become NaN."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.empty()

        def column(name: str, fill: float | bool) -> NDArray[np.generic] | None:
            if all(getattr(part, name) is None for part in parts):
                return None
            return np.concatenate(
                [np.full(len(p), fill) if getattr(p, name) is None else getattr(p, name) for p in parts]
            )

        area = None
        if any(part.area is not None for part in parts):
            area = np.concatenate([part.areas for part in parts])
        return cls(
            np.concatenate([part.boxes for part in parts]),
            tuple(label for part in parts for label in part.labels),
            column("scores", np.nan),  # type: ignore[arg-type]
            column("crowd", False),  # type: ignore[arg-type]
            area,
            tuple(n for p in parts for n in (p.notes or ({},) * len(p))) if any(p.notes for p in parts) else (),
        )

    @property
    def areas(self) -> Float:
        """Area of each instance, px^2: given, else width x height."""
        if self.area is not None:
            return self.area
        sides = self.boxes[:, 2:] - self.boxes[:, :2]
        return np.asarray(sides[:, 0] * sides[:, 1])


@dataclass(frozen=True, eq=False)
class Points:
    """Points on one picture. points: float64 (n, 2), `x y`, px of the upright picture. labels: n names."""

    points: Float
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        array = np.asarray(self.points, dtype=np.float64)
        array = array.reshape(0, 2) if array.size == 0 else array
        if array.ndim != 2 or array.shape[1] != 2 or len(self.labels) != len(array):
            raise ShapeError(f"points must have shape (n, 2) and n labels, got {array.shape} and {len(self.labels)}")
        object.__setattr__(self, "points", _frozen(array))
        object.__setattr__(self, "labels", tuple(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Points):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.points, other.points)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> Points:
        """No points."""
        return cls(np.zeros((0, 2)), ())


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Instances of a whole set in columns: a row per instance, images and classes by index.

    images: the names of *all* images, also those without instances. classes: the taxonomy. image, label: int (n,)
    indices into them; label -1 is a name outside the taxonomy. boxes: float64 (n, 4), px, xyxy. scores: float64 (n,)
    with NaN where missing, or None where none was given. crowd: bool (n,). area: float64 (n,), px^2.
    """

    images: tuple[str, ...]
    classes: tuple[str, ...]
    image: Int
    label: Int
    boxes: Float
    scores: Float | None = None
    crowd: Bool = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    area: Float = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "boxes", as_boxes(self.boxes))
        n = len(self.boxes)
        if len(self.crowd) == 0 and n:
            object.__setattr__(self, "crowd", np.zeros(n, dtype=np.bool_))
        if len(self.area) == 0 and n:
            sides = self.boxes[:, 2:] - self.boxes[:, :2]
            object.__setattr__(self, "area", sides[:, 0] * sides[:, 1])
        for name, dtype in (
            ("image", np.int64),
            ("label", np.int64),
            ("crowd", np.bool_),
            ("area", np.float64),
        ):
            object.__setattr__(self, name, _column(name, getattr(self, name), n, dtype))
        if self.scores is not None:
            object.__setattr__(self, "scores", _column("scores", self.scores, n, np.float64))

    def __len__(self) -> int:
        return len(self.boxes)

    @classmethod
    def of(cls, items: Mapping[str, Detections], classes: Sequence[str]) -> BoxTable:
        """From the detections of each image; labels outside `classes` (see `core.labels`) become -1."""
        find = ClassIndex(classes)
        codes = {label: find(label) for label in {label for found in items.values() for label in found.labels}}
        every = Detections.concatenate(list(items.values()))
        return cls(
            tuple(items),
            tuple(classes),
            np.repeat(np.arange(len(items)), [len(d) for d in items.values()]),
            np.array([codes[label] for label in every.labels], dtype=np.int64),
            every.boxes,
            every.scores,
            np.zeros(len(every), dtype=np.bool_) if every.crowd is None else every.crowd,
            every.areas,
        )

    def rows(self) -> Iterator[tuple[str, Detections]]:
        """`(image, detections)` for every image, also empty ones."""
        order = np.argsort(self.image, kind="stable")
        starts = np.searchsorted(self.image[order], np.arange(len(self.images) + 1))
        for i, name in enumerate(self.images):
            chosen = order[starts[i] : starts[i + 1]]
            yield (
                name,
                Detections(
                    self.boxes[chosen],
                    tuple(self.classes[k] if k >= 0 else "" for k in self.label[chosen]),
                    None if self.scores is None else self.scores[chosen],
                    self.crowd[chosen],
                    self.area[chosen],
                ),
            )


def _column(name: str, value: ArrayLike, n: int, dtype: type[np.generic]) -> NDArray[np.generic]:
    array = np.asarray(value, dtype=dtype)
    if array.shape != (n,):
        raise ShapeError(f"{name} must have shape ({n},), got {array.shape}")
    return _frozen(array)


def _frozen(array: NDArray[S]) -> NDArray[S]:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
