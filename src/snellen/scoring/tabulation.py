"""Truth and predictions as the two derived tables: a row per picture, a row per instance, matched by WADE's rules.

`tabulate` takes what a task has (samples and readings), `tables_of` whole sets in columns (imported predictions); both
give the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.detections import Bool, BoxTable, Detections, Float, Int
from snellen.core.errors import DataError, ShapeError
from snellen.core.labels import ClassIndex
from snellen.core.tables import DETECTIONS, OUTCOMES, Column, Pairs, Table, Tables
from snellen.scoring.error_kinds import kind_columns
from snellen.scoring.matching import SLACK, matched
from snellen.scoring.overlaps import LEAST, as_coco, largest, ordered_by, pairs_of
from snellen.scoring.suppression import chosen, kept_by_nms, of_present_classes

if TYPE_CHECKING:
    from snellen.core.stages import Reading, Sample

_PLAIN: Mapping[str, Any] = {"status": "ok", "salvage": "intact", "reason": "", "unread": 0, "read": True}
"""What stands in the outcomes of an imported set where nothing else is said."""


def tabulate(
    pairs: Iterable[tuple[Sample[Detections], Reading[Detections]]],
    *,
    classes: tuple[str, ...],
    min_score: float | None = None,
    failures: str = "count",
    nms: float | None = None,
    present: bool = False,
) -> Tables:
    """The tables of samples and their readings, in order.

    A reading without a value is a failure: an image without predictions. A predicted label means the class of that
    name (case, spaces and hyphens ignored), else none; a true label outside `classes` is a DataError. `min_score` is
    the operating point. failures: how measures of these tables treat failures unless told otherwise. nms, present:
    which predictions are left out (see `narrowed`).
    """
    truths: list[Detections] = []
    found: list[Detections] = []
    rows: list[dict[str, Any]] = []
    for sample, reading in pairs:
        truths.append(sample.truth)
        found.append(Detections.empty() if reading.value is None else reading.value)
        rows.append(_row(sample, reading))
    names = tuple(row["sample"] for row in rows)
    truth = _table(names, truths, classes, _index(classes, exact=True))
    if (truth.label < 0).any():
        first = int(np.flatnonzero(truth.label < 0)[0])
        label = [name for d in truths for name in d.labels][first]
        raise DataError(f"a true label must be one of the classes, got {label!r} in {names[truth.image[first]]!r}")
    predicted = _table(names, found, classes, _index(classes, exact=False))
    predicted, left_out = narrowed(truth, predicted, nms=nms, present=present)
    tables = tables_of(truth, predicted, about=Table.of_rows(rows) if rows else None, min_score=min_score)
    return replace(tables, facts={"failures": failures, **left_out})


def narrowed(
    truth: BoxTable, predicted: BoxTable, *, nms: float | None = None, present: bool = False
) -> tuple[BoxTable, dict[str, float]]:
    """The predictions that count at all, and how many were left out, why: a fact each.

    present: those of classes that are not in the picture go (referential protocol). nms: of two boxes of a class that
    overlap by more than this IoU the worse one goes (detectors that are prompted one class at a time).
    """
    left_out: dict[str, float] = {}
    if present:
        kept = of_present_classes(truth, predicted)
        predicted, left_out["left_out_of_absent_classes"] = chosen(predicted, kept), int((~kept).sum())
    if nms is not None:
        kept = kept_by_nms(predicted, above=nms)
        left_out |= {"nms": nms, "left_out_by_nms": int((~kept).sum())}
        predicted = chosen(predicted, kept)
    return predicted, left_out


def tables_of(
    truth: BoxTable, predicted: BoxTable, *, about: Table | None = None, min_score: float | None = None
) -> Tables:
    """The tables of a whole set, a row per picture in the order of `truth.images`.

    about: what is known per picture (any column of OUTCOMES and GROUNDED, `attr.<name>`, `width`, `height`); what is
    missing is as if every reply had been read as it stands. min_score: the operating point; predictions scored below
    it stay in the table for AP, and take no part in any matching of WADE's. Boxes must be finite: else ShapeError.
    """
    _check(truth, predicted, about)
    kept = np.ones(len(predicted), dtype=np.bool_)
    if min_score is not None and predicted.scores is not None:
        kept = ~(predicted.scores < min_score)  # a missing score is below no threshold
    order_t, order_p = ordered_by(truth.image), ordered_by(predicted.image)
    truth, predicted, kept = _take(truth, order_t), _take(predicted, order_p), kept[order_p]
    found = pairs_of(truth, predicted, at_least=0.0)
    best = largest(found, len(predicted))
    found = found.take(found.iou >= LEAST - SLACK)
    pairs = found.take(found.iou >= LEAST)
    instances = _instances(truth, predicted, kept) | _matches(truth, predicted, kept, pairs) | {
        "best": np.concatenate([np.full(len(truth), np.nan), best])
    }  # fmt: skip
    outcomes = _outcomes(truth, about, instances)
    return Tables(Table(outcomes), Table({name: instances[name] for name in DETECTIONS}), truth.classes,
                  pairs=as_coco(found, truth, predicted))  # fmt: skip


def _row(sample: Sample[Detections], reading: Reading[Detections]) -> dict[str, Any]:
    size = sample.pictures[-1].size if sample.pictures else None
    return {
        "sample": sample.id,
        "cluster": sample.cluster or sample.id,
        "status": reading.status,
        "salvage": reading.salvage,
        "reason": reading.reason,
        "unread": reading.unread,
        "read": reading.value is not None,
        **({} if size is None else {"width": size.width, "height": size.height}),
        **({} if reading.words is None else {"words": float(reading.words)}),
        **{f"attr.{name}": value for name, value in sample.attributes.items()},
    }


def _index(classes: tuple[str, ...], *, exact: bool) -> Any:
    """Label -> index of its class, -1 for none. An exact name goes first, so that colliding classes stay apart."""
    known = {name: i for i, name in enumerate(classes)}
    if exact:
        return lambda label: known.get(label, -1)
    try:
        spelled = ClassIndex(classes)
    except DataError:
        return lambda label: known.get(label, -1)
    return lambda label: known[label] if label in known else spelled(label)


def _table(names: tuple[str, ...], items: list[Detections], classes: tuple[str, ...], index: Any) -> BoxTable:
    every = Detections.concatenate(items)
    return BoxTable(
        names,
        classes,
        np.repeat(np.arange(len(items)), [len(item) for item in items]),
        np.array([index(label) for label in every.labels], dtype=np.int64),
        every.boxes,
        every.scores,
        np.zeros(len(every), dtype=np.bool_) if every.crowd is None else every.crowd,
        every.areas,
    )


def _check(truth: BoxTable, predicted: BoxTable, about: Table | None) -> None:
    if truth.classes != predicted.classes:
        raise ShapeError(
            f"truth and predictions must have the same classes, got {truth.classes} and {predicted.classes}"
        )
    if about is not None and len(about) != len(truth.images):
        raise ShapeError(f"what is known about pictures must have {len(truth.images)} rows, got {len(about)}")
    for name, table in (("true", truth), ("predicted", predicted)):
        wrong = np.flatnonzero(~np.isfinite(table.boxes).all(axis=1))
        if len(wrong):
            row = int(wrong[0])
            raise ShapeError(
                f"boxes must be finite numbers, got {len(wrong)} {name} ones that are not, first "
                f"{table.boxes[row].tolist()} in {table.images[table.image[row]]!r}"
            )


def _take(table: BoxTable, rows: Int) -> BoxTable:
    if np.all(rows[1:] > rows[:-1]):
        return table  # in order already
    scores = None if table.scores is None else table.scores[rows]
    return replace(table, image=table.image[rows], label=table.label[rows], boxes=table.boxes[rows], scores=scores,
                   crowd=table.crowd[rows], area=table.area[rows])  # fmt: skip


def _instances(truth: BoxTable, predicted: BoxTable, kept: Bool) -> dict[str, Column]:
    """The columns that say what was drawn where: truths, then predictions."""
    g, p = len(truth), len(predicted)
    boxes = np.concatenate([truth.boxes, predicted.boxes]).T
    scores = np.full(p, np.nan) if predicted.scores is None else predicted.scores
    return {
        "sample": np.concatenate([truth.image, predicted.image]),
        "truth": np.arange(g + p) < g,
        "label": np.concatenate([truth.label, predicted.label]),
        "score": np.concatenate([np.full(g, np.nan), scores]),
        **{name: np.ascontiguousarray(boxes[i]) for i, name in enumerate(("x1", "y1", "x2", "y2"))},
        "area": np.concatenate([truth.area, predicted.area]),
        "crowd": np.concatenate([truth.crowd, np.zeros(p, dtype=np.bool_)]),
        "kept": np.concatenate([np.ones(g, dtype=np.bool_), kept]),
    }


def _matches(truth: BoxTable, predicted: BoxTable, kept: Bool, pairs: Pairs) -> dict[str, Column]:
    """Partners, overlaps and excuses of truths and predictions."""
    g, n = len(truth), len(truth) + len(predicted)
    every = pairs
    pairs = pairs.take((pairs.iou >= 0.5 - SLACK) & kept[pairs.predicted])
    label = truth.label[pairs.truth]
    same = (label == predicted.label[pairs.predicted]) & (label >= 0)
    crowd = truth.crowd[pairs.truth]
    columns: dict[str, Column] = {}
    for name, among, least in (("partner", same, 0.5), ("partner75", same, 0.75), ("partner_any", None, 0.5)):
        found = matched(pairs.take(~crowd if among is None else among & ~crowd), at_least=least)
        columns[name] = np.full(n, -1, dtype=np.int64)
        columns[name][found.truth] = g + found.predicted
        columns[name][g + found.predicted] = found.truth
        if name == "partner":
            columns["overlap"] = np.full(n, np.nan)
            columns["overlap"][found.truth] = columns["overlap"][g + found.predicted] = found.iou
    for name, within, unless in (("excused", crowd & same, "partner"), ("excused_any", crowd, "partner_any")):
        inside = np.zeros(n, dtype=np.bool_)
        inside[g + pairs.predicted[within]] = True
        columns[name] = inside & (columns[unless] < 0)
    partner, excused = columns["partner"], columns["excused"]
    return columns | kind_columns(every, truth, predicted, kept=kept, partner=partner, excused=excused)


def _outcomes(truth: BoxTable, about: Table | None, instances: Mapping[str, Column]) -> dict[str, Column]:
    """The row per picture: what is known about it, and how many instances there are."""
    n = len(truth.images)
    given = {} if about is None else dict(about.columns)
    names = np.array(truth.images, dtype=np.str_)
    plain = {"sample": names, "cluster": given.get("sample", names)} | {k: np.full(n, v) for k, v in _PLAIN.items()}
    columns: dict[str, Column] = {k: given.get(k, plain[k]) for k in (*OUTCOMES, "read")}
    unread = np.asarray(columns["unread"], dtype=np.int64)
    sample, is_truth = instances["sample"], instances["truth"]
    counted = ~is_truth & instances["kept"] & ~instances["excused"]
    unknown = _count(sample, ~is_truth & instances["kept"] & (instances["label"] < 0), n) > 0
    valid = (columns["status"] == "ok") & (columns["salvage"] == "intact") & (unread == 0) & ~unknown
    made: dict[str, Column] = {
        "unread": unread,
        "truths": _count(sample, is_truth & ~instances["crowd"], n),
        "predicted": _count(sample, counted, n) + unread,
        "read": np.asarray(columns["read"], dtype=np.bool_),
        "strict": np.asarray(columns["read"], dtype=np.bool_) & valid,
    }
    return columns | made | {k: v for k, v in given.items() if k not in columns and k not in made}


def _count(sample: Int, mask: Bool, n: int) -> Int:
    return np.bincount(sample[mask], minlength=n)


def boxes_of(tables: Tables) -> tuple[BoxTable, BoxTable]:
    """Truth and predictions in columns again, from the tables: what AP is computed on."""
    table = tables.instances
    is_truth = table["truth"]
    images = tuple(tables.outcomes["sample"].tolist())
    boxes: Float = np.stack([table[name] for name in ("x1", "y1", "x2", "y2")], axis=1)

    def part(mask: Bool, scores: Float | None) -> BoxTable:
        return BoxTable(images, tables.classes, table["sample"][mask], table["label"][mask], boxes[mask], scores,
                        table["crowd"][mask], table["area"][mask])  # fmt: skip

    scores = table["score"][~is_truth]
    return part(is_truth, None), part(~is_truth, None if np.isnan(scores).all() else scores)
