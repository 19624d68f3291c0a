"""Precision, recall and F1 of boxes by WADE's matching. PROTOCOLS section 3 (paper, C.4).

Counts are pooled over pictures. Without any prediction precision is undefined and F1 is 0; without any truth recall
is undefined; without either there is no F1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from snellen.core.detections import Bool
from snellen.core.errors import unknown
from snellen.core.estimates import Float, Ratio
from snellen.core.tables import Tables
from snellen.scoring.overlaps import ordered_by
from snellen.scoring.sums import Sums, over
from snellen.scoring.tabulation import tables_of, tabulate

__all__ = ["FAILURES", "Counts", "Failures", "Grounding", "counted", "measure", "tables_of", "tabulate"]

Failures: TypeAlias = Literal["count", "parsed-only", "strict"]
FAILURES: tuple[Failures, ...] = ("count", "parsed-only", "strict")
"""What becomes of replies that are no list: they count as pictures without predictions; they are left out; or every
reply that needed salvage or holds anything invalid is treated as one that is no list (the paper's reading)."""

NAMES = ("precision", "recall", "f1", "f1_agnostic", "recall75", "mean_iou", "parse_rate")
PER_CLASS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Counts:
    """What grounding is computed from, summed over pictures. `sum(counts, start=Counts())` pools.

    hits at IoU .5 with equal labels, hits75 at .75, hits_any at .5 with labels ignored; predicted_any differs from
    predicted where crowd regions excuse predictions of another class; overlap is the sum of IoU over the hits.
    """

    pictures: float = 0.0
    read: float = 0.0
    truths: float = 0.0
    predicted: float = 0.0
    predicted_any: float = 0.0
    hits: float = 0.0
    hits75: float = 0.0
    hits_any: float = 0.0
    overlap: float = 0.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Counts)))

    @property
    def metrics(self) -> dict[str, float | None]:
        """precision, recall, f1, f1_agnostic, recall75, mean_iou, parse_rate; None where undefined."""
        sums = np.array([[getattr(self, f.name) for f in fields(Counts)]], dtype=np.float64)
        found = {name: float(value[0]) for name, value in _metrics(sums).items()}
        return {name: None if np.isnan(value) else value for name, value in found.items()}


def _metrics(sums: Float) -> dict[str, Float]:
    """From sums (draws, 9) in the order of `Counts`."""
    return {name: over(*ratio) for name, ratio in _ratios(sums.T).items()}


def counted(tables: Tables, failures: Failures | None) -> tuple[Float, Bool, Bool]:
    """Under a failure mode: the weight of each sample (0: left out), whether its predictions stand, and so per row of
    the detections table. None: the mode that the tables were made for.
    """
    failures = tables.facts.get("failures", "count") if failures is None else failures
    if failures not in FAILURES:
        raise unknown("failure mode", failures, FAILURES)
    outcomes, table = tables.outcomes, tables.instances
    stands = np.asarray(outcomes["strict" if failures == "strict" else "read"], dtype=np.bool_)
    inside = stands.astype(np.float64) if failures == "parsed-only" else np.ones(len(outcomes))
    sample = table["sample"]
    return inside, stands, np.where(table["truth"], inside[sample] > 0, stands[sample])


def counts_of(tables: Tables, *, failures: Failures | None = None) -> list[Counts]:
    """The counts of each picture, in the order of the outcomes table."""
    return [Counts(*row) for row in _columns(tables, failures).T.tolist()]


def _columns(tables: Tables, failures: Failures | None) -> Float:
    """The fields of `Counts` of every picture: float64 (9, samples)."""
    table, n = tables.instances, len(tables.outcomes)
    inside, stands, there = counted(tables, failures)
    truth = table["truth"] & there & ~table["crowd"]
    said = ~table["truth"] & there & table["kept"]
    sample = table["sample"]

    def per(mask: Bool, weight: Float | None = None) -> Float:
        return np.bincount(sample[mask], None if weight is None else weight[mask], n).astype(np.float64)

    unread = np.where(stands, tables.outcomes["unread"], 0)
    hit = said & (table["partner"] >= 0)
    return np.stack([
        inside,
        inside * stands,
        per(truth),
        per(said & ~table["excused"]) + unread,
        per(said & ~table["excused_any"]) + unread,
        per(hit),
        per(said & (table["partner75"] >= 0)),
        per(said & (table["partner_any"] >= 0)),
        per(hit, table["overlap"]),
    ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class Grounding:
    """Precision, recall, F1 and their kin as functions of sample weights (a `Measure`), whole and per class."""

    names: tuple[str, ...]
    classes: tuple[str, ...]
    whole: Sums
    each: tuple[Sums, ...]
    ratios: Mapping[str, Ratio]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        found = _metrics(self.whole(weights))
        for label, sums in zip(self.classes, self.each, strict=True):
            truths, predicted, hits = sums(weights).T
            found |= {
                f"precision.{label}": over(hits, predicted),
                f"recall.{label}": over(hits, truths),
                f"f1.{label}": over(2 * hits, predicted + truths),
            }
        return found


def measure(tables: Tables, *, failures: Failures | None = None) -> Grounding:
    """precision, recall, f1, mean_iou (class-aware, IoU .5), recall75, f1_agnostic, parse_rate, and
    precision.<class>, recall.<class>, f1.<class>.

    failures: what becomes of replies that are no list (default: what `tabulate` was told, else they count). Unread
    items and labels outside the taxonomy count as predicted and never match (an unknown label may match with
    labels ignored).
    """
    columns = _columns(tables, failures)
    each = tuple(_class_sums(tables, failures))
    names = [*NAMES, *(f"{kind}.{label}" for kind in PER_CLASS for label in tables.classes)]
    return Grounding(tuple(names), tables.classes, Sums(None, columns.T.copy()), each, _ratios(columns))


def _ratios(columns: Float) -> dict[str, Ratio]:
    """What each metric divides, from columns (9, n) in the order of `Counts`."""
    pictures, read, truths, predicted, predicted_any, hits, hits75, hits_any, overlap = columns
    return {
        "precision": Ratio(hits, predicted),
        "recall": Ratio(hits, truths),
        "f1": Ratio(2 * hits, predicted + truths),
        "f1_agnostic": Ratio(2 * hits_any, predicted_any + truths),
        "recall75": Ratio(hits75, truths),
        "mean_iou": Ratio(overlap, hits),
        "parse_rate": Ratio(read, pictures),
    }


def _class_sums(tables: Tables, failures: Failures | None) -> Iterator[Sums]:
    """Truths, predictions and hits of each class."""
    table, n = tables.instances, len(tables.outcomes)
    there = counted(tables, failures)[2]
    counts = there & table["kept"] & ~table["crowd"] & ~table["excused"] & (table["label"] >= 0)
    rows = np.flatnonzero(counts)
    rows = rows[ordered_by(table["label"][rows])]
    bounds = np.searchsorted(table["label"][rows], np.arange(len(tables.classes) + 1))
    truth, hit = table["truth"][rows], table["partner"][rows] >= 0
    values = np.stack([truth, ~truth, ~truth & hit], axis=1).astype(np.float64)
    for start, end in pairwise(bounds.tolist()):
        yield Sums.sparse(table["sample"][rows[start:end]], values[start:end], samples=n)
