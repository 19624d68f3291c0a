"""What a fault does to the numbers: AP and F1 with and without it, all other faults mended.

Of perfect predictions (those that a model would make that finds exactly what the mended truth holds), and of given
ones. Some faults harm only in tools that trust ids; there the figures are what such a tool would print.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.detections import BoxTable, Float, Int
from snellen.core.labels import normal
from snellen.datasets.raw import Raw
from snellen.doctor.mend import REPAIRS, keep_rows, mend, sides
from snellen.doctor.pictures import Seen, resized
from snellen.scoring import grounding
from snellen.scoring.average_precision import point_ap
from snellen.scoring.tabulation import tables_of

MANY = 400_000
"""Boxes beyond which no effects are computed unless asked: each costs an AP of the whole set."""


@dataclass(frozen=True)
class Effect:
    """AP (IoU .50:.05:.95, 500 detections) and F1 (IoU .5) with the fault and without.

    of: `perfect` or `given` predictions. among: which tools are concerned, "" for all. Values are None where undefined.
    """

    of: str
    ap: tuple[float | None, float | None]
    f1: tuple[float | None, float | None]
    among: str = ""

    @property
    def defined(self) -> bool:
        """Whether there is anything to compare."""
        return not {*self.ap, *self.f1} <= {None}

    def __str__(self) -> str:
        what = f"{self.of} predictions" + (f", in {self.among}" if self.among else "")
        return f"{what}: AP {_text(self.ap)}, F1 {_text(self.f1)}"

    def to_json(self) -> dict[str, object]:
        """As plain JSON."""
        metrics = {"ap": self.ap, "f1": self.f1}
        values = {name: {"with": pair[0], "without": pair[1]} for name, pair in metrics.items()}
        return {"of": self.of, "among": self.among, **values}


def _text(pair: tuple[float | None, float | None]) -> str:
    with_, without = ("undefined" if value is None else f"{value:.6f}" for value in pair)
    return f"{with_} with it, {without} without"


def scores(truth: BoxTable, predicted: BoxTable) -> tuple[float | None, float | None]:
    """AP and F1; None where undefined."""
    ap = point_ap(truth, predicted).summary["ap"]
    tables = tables_of(truth, predicted)
    measured = grounding.measure(tables)
    f1 = float(measured(np.ones((1, len(truth.images))))["f1"][0])
    return ap, f1 if np.isfinite(f1) else None


def table(raw: Raw) -> BoxTable:
    """The truth as an evaluator would take it that asks no questions.

    Instances of no image stand on an image of their own, those of no class in a class of their own, boxes that are no
    boxes have no area: all are there to be missed.
    """
    nowhere, classless = raw.image < 0, raw.label < 0
    images = _names(raw) + (("(no image)",) if nowhere.any() else ())
    classes = raw.classes + (("(no category)",) if classless.any() else ())
    with np.errstate(invalid="ignore"):
        sound = np.isfinite(raw.boxes).all(axis=1, keepdims=True) & (sides(raw) >= 0).all(axis=1, keepdims=True)
    boxes = np.where(sound, raw.boxes, 0.0)
    return BoxTable(
        images,
        classes,
        np.where(nowhere, len(images) - 1, raw.image),
        np.where(classless, len(classes) - 1, raw.label),
        boxes,
        None,
        raw.crowd if len(raw.crowd) else np.zeros(len(boxes), dtype=np.bool_),
        np.prod(boxes[:, 2:] - boxes[:, :2], axis=1),
    )


def _names(raw: Raw) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    out = []
    for name in raw.files:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(out)


def perfect(truth: BoxTable) -> BoxTable:
    """Every truth but the crowd regions, in order, each less sure than the one before."""
    rows = np.flatnonzero(~truth.crowd)
    scores = 0.9 - 0.8 * np.arange(len(rows)) / max(1, len(rows))
    return BoxTable(truth.images, truth.classes, truth.image[rows], truth.label[rows], truth.boxes[rows], scores)


def aligned(predicted: BoxTable, truth: BoxTable) -> BoxTable:
    """`predicted` with the images and classes of `truth`; predictions on images it lacks are left out."""
    images = _places(predicted.images, truth.images)
    labels = _places(predicted.classes, truth.classes)
    image = images[predicted.image]
    keep = image >= 0
    label = np.where(predicted.label >= 0, labels[predicted.label], -1) if len(labels) else predicted.label
    scores = predicted.scores[keep] if predicted.scores is not None else None
    return BoxTable(truth.images, truth.classes, image[keep], label[keep], predicted.boxes[keep], scores)


def _places(names: tuple[str, ...], among: tuple[str, ...]) -> Int:
    index = {name: i for i, name in enumerate(among)}
    return np.array([index.get(name, -1) for name in names], dtype=np.int64)


def effects(raw: Raw, seen: Seen, code: str, *, faults: Collection[str], given: BoxTable | None = None) -> list[Effect]:
    """What the fault `code` does, one of the `faults` found: of perfect predictions and of `given` ones.

    Nothing where it cannot be said.
    """
    mended = mend(raw, seen, faults)
    ideal = perfect(table(mended))
    found = []
    if code in EMULATED:
        among, emulate = EMULATED[code]
        numbered = mend(raw, seen, set(faults) - NUMBERS)
        for name, predictions in (("perfect", ideal), ("given", given)):
            if predictions is not None:
                fair = aligned(predictions, table(mended))
                pair = _pairs(emulate(numbered, seen, fair), scores(table(mended), fair))
                found.append(Effect(name, *pair, among))
        return [effect for effect in found if effect.defined]
    if code not in REPAIRS or REPAIRS[code].apply(raw, seen) is raw:
        return []
    faulty = table(mend(raw, seen, set(faults) - {code}))
    for name, predictions in (("perfect", ideal), ("given", given)):
        if predictions is not None:
            without = scores(table(mended), aligned(predictions, table(mended)))
            found.append(Effect(name, *_pairs(scores(faulty, aligned(predictions, faulty)), without)))
    return [effect for effect in found if effect.defined]


Scores = tuple[float | None, float | None]


def _pairs(with_: Scores, without: Scores) -> tuple[Scores, Scores]:
    return (with_[0], without[0]), (with_[1], without[1])


NUMBERS = {"annotation-id-zero", "duplicate-annotation-id", "text-for-number"}
"""Faults of numbers alone: mended last, so that the figures of each are of the numbers as written."""


def _id_zero(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """The truth with id 0 is never met: "matched to annotation 0" reads as "not matched"."""
    truth = table(raw)
    boxes = np.array(truth.boxes)
    boxes[np.asarray(raw.annotation_ids) == 0] = 0.0
    return scores(replace(truth, boxes=boxes), aligned(predicted, truth))


def _same_ids(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """Of annotations with one id the last stands for all."""
    truth = table(raw)
    keys = [str(key) for key in raw.annotation_ids]
    last = {key: row for row, key in enumerate(keys)}
    rows = np.array([last[key] for key in keys], dtype=np.int64)
    doubled = replace(truth, boxes=truth.boxes[rows], label=truth.label[rows], area=truth.area[rows])
    return scores(doubled, aligned(predicted, doubled))


def _ids_apart(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """Annotations whose ids are of the other kind are of no image and no category: what they box is not there."""
    truth = table(keep_rows(raw, ~raw.loose))
    return scores(truth, aligned(predicted, truth))


def _root_as_class(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """A class more in the mean, in which nothing is ever right."""
    truth = table(raw)
    ap, f1 = scores(truth, predicted)
    counted = len(np.unique(truth.label))
    return None if ap is None else ap * counted / (counted + 1), f1


def _by_name(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """Answers by name all go to the first of the classes that share it."""
    first: dict[str, int] = {}
    place = np.array([first.setdefault(normal(name), i) for i, name in enumerate(predicted.classes)], dtype=np.int64)
    label = np.where(predicted.label >= 0, place[predicted.label], -1)
    return scores(table(raw), replace(predicted, label=label))


def _other_size(raw: Raw, seen: Seen, predicted: BoxTable) -> Scores:
    """Predictions in px of the picture that is there, truth in px of the one that was written."""
    truth = table(raw)
    scale: Float = np.ones((len(truth.images), 4))
    headers = seen.of(raw)
    for i in resized(raw, seen):
        header = headers[i]
        assert header is not None
        scale[i] = np.tile(np.array(header.upright) / raw.sizes[i], 2)
    return scores(truth, replace(predicted, boxes=predicted.boxes * scale[predicted.image]))


Emulation = Callable[[Raw, Seen, BoxTable], Scores]

EMULATED: Mapping[str, tuple[str, Emulation]] = {
    "annotation-id-zero": ("tools that take id 0 for no match (pycocotools, faster-coco-eval)", _id_zero),
    "duplicate-annotation-id": ("tools that look annotations up by id (pycocotools)", _same_ids),
    "text-for-number": ('tools to which 1 and "1" are two ids (pycocotools)', _ids_apart),
    "unused-root-category": ("tools that count it as a class", _root_as_class),
    "colliding-classes": ("readers of answers by name", _by_name),
    "size-differs": ("", _other_size),
}
"""Faults that are not seen by scoring the boxes as they stand -> which tools they harm, and what those would print."""
