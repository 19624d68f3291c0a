"""The two derived tables, on which every metric, interval, stratum, overlay and page is computed.

`outcomes` has a row per sample, `detections` a row per instance (for tasks that have instances). Columns are numpy
arrays of equal length; the store keeps them as Arrow. Attributes of samples are columns `attr.<name>` of outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.errors import ShapeError

Column = NDArray[Any]

Kind: TypeAlias = Literal["answers", "boxes"]
"""What tables are about: answers to closed questions, or boxes."""

OUTCOMES: Mapping[str, str] = {
    "sample": "id of the sample",
    "cluster": "what repeats together: scene, image, site",
    "status": "ok | malformed | refused | truncated",
    "salvage": "intact | repaired | truncated",
    "reason": "what was wrong, or empty",
    "unread": "items of a readable list that could not be read",
}
"""Columns that every outcomes table has, whatever the task."""

CHOICES: Mapping[str, str] = {
    "question": "the kind of question asked",
    "target": "the right option",
    "answer": "the option read, or 'other'",
    "correct": "bool",
    "words": "length of the reply in words",
    "options": "number of options offered",
    "place": "place (0-based) of the right option among those offered",
    "chosen": "place of the answer among those offered, -1 for other",
}
"""What outcomes of closed questions add."""

GROUNDED: Mapping[str, str] = {
    "truths": "instances in the truth, crowd regions left out",
    "predicted": "instances predicted: kept and not excused, and unread ones too",
    "read": "bool: a list could be read (else the reply is a failure)",
    "strict": "bool: a list could be read without salvage, and every item and label of it is valid",
}
"""What outcomes of boxes add; `width` and `height`, px of the upright picture, where they are known."""

DETECTIONS: Mapping[str, str] = {
    "sample": "row (0-based) of the outcomes table",
    "truth": "bool: an instance of the truth, else a predicted one",
    "label": "index into the classes, -1 outside the taxonomy",
    "score": "confidence, NaN where none was given",
    "x1": "px", "y1": "px", "x2": "px", "y2": "px",
    "area": "px^2",
    "crowd": "bool: a region that excuses detections, and is no instance of its own",
    "kept": "bool: at or above the operating point; truths always. Rows that are not kept count for AP alone",
    "partner": "row (0-based) of the matched instance at IoU .5 by WADE's class-aware matching, -1",
    "partner75": "the same at IoU .75",
    "partner_any": "the same at IoU .5, labels ignored",
    "overlap": "IoU with the class-aware partner at .5, NaN without",
    "best": "predictions: largest IoU with any truth, labels ignored (of a crowd: the share inside); truths: NaN",
    "excused": "bool: a kept prediction without partner, half of it or more inside a crowd region of its class",
    "excused_any": "the same, labels ignored",
    "kind": "index into KINDS: what became of a kept prediction; truths: hit, miss, or the error that just failed it",
    "about": "row (0-based) of the truth that a prediction hits or fails, of the prediction that hits a truth, -1",
}  # fmt: skip
"""A row per instance: all truths by sample, then all predictions by sample, each in list order."""

POINTERS = ("partner", "partner75", "partner_any", "about")
"""Columns of the detections table that point to other rows of it."""

KINDS: tuple[str, ...] = ("none", "hit", "place", "label", "repeat", "both", "ghost", "miss", "excused")
"""Kinds of error (`scoring.error_kinds` says which is which); `none`: not kept, or a crowd region."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, read-only."""

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        arrays = {name: _column(values) for name, values in self.columns.items()}
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ShapeError(f"columns must have one length, got {lengths}")
        object.__setattr__(self, "columns", arrays)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; there are: {', '.join(self.columns)}")
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.columns)

    def take(self, index: ArrayLike) -> Table:
        """The rows at `index` (integers or a boolean mask), in that order."""
        chosen = np.asarray(index)
        return Table({name: values[chosen] for name, values in self.columns.items()})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a mapping of plain Python values."""
        lists = {name: values.tolist() for name, values in self.columns.items()}
        for i in range(len(self)):
            yield {name: values[i] for name, values in lists.items()}

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]], *, names: Sequence[str] = ()) -> Table:
        """From row mappings: columns in order of first appearance (`names` first); a missing text is "", a missing
        number NaN, a missing truth value False.
        """
        order = dict.fromkeys([*names, *(name for row in rows for name in row)])
        return cls({name: _filled([row.get(name) for row in rows]) for name in order})


@dataclass(frozen=True, eq=False)
class Pairs:
    """Overlapping boxes of one picture: rows of the predictions, rows of the truths, IoU, each (n,)."""

    predicted: NDArray[np.int64]
    truth: NDArray[np.int64]
    iou: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iou)

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Pairs:
        """The pairs at `index` (integers or a boolean mask)."""
        return Pairs(self.predicted[index], self.truth[index], self.iou[index])


@dataclass(frozen=True, eq=False)
class Tables:
    """The derived tables of one run, and the class names that label indices point to.

    pairs: which predictions (counted from the first) overlap which truths, with pycocotools' rounding, while that is
    still at hand: not stored.
    """

    outcomes: Table
    detections: Table | None = None
    classes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    pairs: Pairs | None = None

    @property
    def kind(self) -> Kind:
        """What these tables are about. The one place that tells."""
        return "answers" if self.detections is None else "boxes"

    @property
    def instances(self) -> Table:
        """The detections table, which tables of boxes have: else ShapeError."""
        if self.detections is None:
            raise ShapeError("these tables hold no instances: a measure of boxes needs a detections table")
        return self.detections

    def take(self, rows: ArrayLike) -> Tables:
        """The tables of the samples at `rows` (different ones) of the outcomes, in that order."""
        chosen = np.asarray(rows, dtype=np.int64)
        outcomes = self.outcomes.take(chosen)
        if self.detections is None:
            return replace(self, outcomes=outcomes)
        columns = self.detections.columns
        place = np.full(len(self.outcomes), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        kept = np.flatnonzero(place[columns["sample"]] >= 0)
        kept = kept[np.lexsort((place[columns["sample"][kept]], ~columns["truth"][kept]))]
        moved = np.full(len(self.detections) + 1, -1, dtype=np.int64)
        moved[kept] = np.arange(len(kept))  # the last place is what -1 points to
        taken = {name: moved[values[kept]] if name in POINTERS else values[kept] for name, values in columns.items()}
        taken["sample"] = place[taken["sample"]]
        return replace(self, outcomes=outcomes, detections=Table(taken), pairs=None)


def _filled(values: list[Any]) -> Column:
    present = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in present) and present:
        return np.array([bool(value) for value in values])
    if all(isinstance(value, int | float | np.number) for value in present) and present:
        whole = len(present) == len(values) and all(isinstance(value, int | np.integer) for value in present)
        return np.array([np.nan if v is None else v for v in values], dtype=np.int64 if whole else np.float64)
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)


def _column(values: ArrayLike) -> Column:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ShapeError(f"a column must have one dimension, got shape {array.shape}")
    view = array.view()
    view.flags.writeable = False
    return view
