"""AP where scores tie, or are absent. PROTOCOLS section 2, Models without confidences.

The same boxes give AP 1.0 or 0.5 by the order in which they are listed. So unscored detections get the *expected* AP
over random orders of the ties, and scored ones get, beside the AP as listed, the expectation and what encloses it.
One random order of a class's detections drives matching, the limit per picture and ranking alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, permutations, product
from typing import Literal, TypeAlias

import numpy as np

from snellen.core.detections import BoxTable, Float, Int
from snellen.core.tables import Tables
from snellen.scoring.average_precision import ApMeasure, measure_of
from snellen.scoring.coco_matching import coco_matches, filled
from snellen.scoring.overlaps import pairs_of
from snellen.scoring.point_figures import point_figures
from snellen.scoring.tabulation import boxes_of
from snellen.scoring.tie_bounds import bounds

Method: TypeAlias = Literal["exact", "monte-carlo", "no ties"]

EXACT = 720
"""Up to so many orders are all tried."""
FEWEST, MOST = 16, 400
"""Random orders drawn, the fewest and the most."""
ERROR = 2e-4
"""Orders are drawn until the standard error of the expected AP is below this."""
KEPT = 4
"""Orders that stand for all of them under resampled weights."""


@dataclass(frozen=True)
class ApTies:
    """How much AP owes to the order of equal scores.

    expected: over random orders, with its standard error (0 where exact). order_min, order_max enclose what any order
    can give (per class and IoU, then averaged: not necessarily attained). as_listed: in list order. tied: detections
    that share their score with another one of their class. missing: detections without a score, counted as 1.0.
    """

    expected: float | None
    order_min: float | None
    order_max: float | None
    as_listed: float | None
    method: Method
    error: float
    tied: int
    missing: int

    def to_json(self) -> dict[str, float | int | str | None]:
        """As it stands in results."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class ExpectedAp:
    """Expected AP over orders of ties, as a function of sample weights (a `Measure`).

    The expectation is over many orders at unit weights; under resampled weights a few orders stand for all, shifted by
    what they differ from the expectation there: intervals are of the sampling of pictures, not of orders.
    """

    names: tuple[str, ...]
    parts: tuple[ApMeasure, ...]
    shift: Mapping[str, float]
    method: Method
    error: float

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        each = [part(weights) for part in self.parts]
        return {
            name: np.clip(np.mean([found[name] for found in each], axis=0) + self.shift[name], 0.0, 1.0)
            for name in self.names
        }


def expected(truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500, rng: np.random.Generator) -> ExpectedAp:
    """The expectation over random orders of equal scores; exact where there are few orders."""
    pairs = pairs_of(truth, predicted, same_label=True, as_coco=True)
    groups, count = _tie_groups(predicted)
    exact = count <= EXACT
    ones = np.ones((1, len(truth.images)))
    orders = islice(_every_order(predicted, groups), count) if exact else _random_orders(len(predicted), rng)
    kept: list[ApMeasure] = []
    found: list[Mapping[str, float]] = []
    for order in orders:
        if len(kept) < KEPT:
            kept.append(measure_of(truth, predicted, max_dets=max_dets, order=order, pairs=pairs))
            found.append({name: float(value[0]) for name, value in kept[-1](ones).items()})
        else:
            matches = coco_matches(truth, predicted, max_dets=max_dets, order=order, pairs=pairs)
            found.append(point_figures(truth, predicted, matches, max_dets=max_dets))
        if not exact and _error(found) < ERROR:
            break
    means = {name: float(np.mean([f[name] for f in found])) for name in kept[0].names}
    few = {name: float(np.mean([f[name] for f in found[: len(kept)]])) for name in kept[0].names}
    shift = {name: 0.0 if math.isnan(means[name]) else means[name] - few[name] for name in means}
    method: Method = "no ties" if count == 1 else "exact" if exact else "monte-carlo"
    return ExpectedAp(kept[0].names, tuple(kept), shift, method, 0.0 if exact else _error(found))


def ap_ties(
    truth: BoxTable,
    predicted: BoxTable,
    *,
    max_dets: int = 500,
    rng: np.random.Generator,
    mean: ExpectedAp | None = None,
) -> ApTies:
    """What the order of equal scores does to AP (IoU .50:.95, all sizes). mean: the expectation, where it is known."""
    ones = np.ones((1, len(truth.images)))
    listed = _known(measure_of(truth, predicted, max_dets=max_dets)(ones)["ap"][0])
    low, high = bounds(
        truth, predicted, coco_matches(truth, predicted, max_dets=max_dets, sizes=False), max_dets=max_dets
    )
    groups, _ = _tie_groups(predicted)
    mean = mean or expected(truth, predicted, max_dets=max_dets, rng=rng)
    missing = len(predicted) if predicted.scores is None else int(np.isnan(predicted.scores).sum())
    tied = sum(len(group) for groups_of_class in groups for group in groups_of_class if len(group) > 1)
    return ApTies(_known(mean(ones)["ap"][0]), low, high, listed, mean.method, mean.error, tied, missing)


def of_tables(tables: Tables, *, max_dets: int = 500, seed: int = 0, mean: ExpectedAp | None = None) -> ApTies:
    """`ap_ties` of the boxes in `tables`."""
    truth, predicted = boxes_of(tables)
    return ap_ties(truth, predicted, max_dets=max_dets, rng=np.random.default_rng(seed), mean=mean)


def _tie_groups(predicted: BoxTable) -> tuple[list[list[Int]], int]:
    """Per class the groups of rows of equal score, best first; and after how many orders all classes have had all
    theirs equally often (stops counting above `EXACT`).
    """
    scores = filled(predicted.scores, len(predicted))
    order = np.lexsort((np.arange(len(predicted)), predicted.image, -scores, predicted.label))
    order = order[predicted.label[order] >= 0]
    new = np.flatnonzero((np.diff(predicted.label[order]) != 0) | (np.diff(scores[order]) != 0)) + 1
    groups: dict[int, list[Int]] = {}
    for rows in np.split(order, new) if len(order) else []:
        groups.setdefault(int(predicted.label[rows[0]]), []).append(rows)
    count = 1
    for each in groups.values():
        if count <= EXACT:
            own = math.prod(math.factorial(min(len(rows), 10)) for rows in each)
            count = math.lcm(count, own)
    return list(groups.values()), count


def _every_order(predicted: BoxTable, groups: list[list[Int]]) -> Iterator[Int]:
    """All orders of every class, each class starting over when it has had all of its own."""
    if not groups:
        yield np.arange(len(predicted))
        return
    rest = np.flatnonzero(predicted.label < 0)
    each = [list(product(*(permutations(rows.tolist()) for rows in of_class))) for of_class in groups]
    turn = 0
    while True:
        chosen = [orders[turn % len(orders)] for orders in each]
        yield np.array([row for order in chosen for rows in order for row in rows] + rest.tolist(), dtype=np.int64)
        turn += 1


def _random_orders(n: int, rng: np.random.Generator) -> Iterator[Int]:
    for _ in range(MOST):
        yield rng.permutation(n)


def _error(found: list[Mapping[str, float]]) -> float:
    """Standard error of the mean AP; infinite before enough orders were drawn."""
    if len(found) < FEWEST:
        return math.inf
    return float(np.std([f["ap"] for f in found], ddof=1) / math.sqrt(len(found)))


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
