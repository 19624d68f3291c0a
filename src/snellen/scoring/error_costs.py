"""What each kind of error costs: how much higher F1, and AP at IoU .5, would be without it. After TIDE (ECCV 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.estimates import Ratio
from snellen.core.tables import Table, Tables
from snellen.scoring.coco_matching import IGNORED, RIGHT, CocoMatches, coco_matches
from snellen.scoring.curves import area_under
from snellen.scoring.error_kinds import COSTLY, KIND, MENDED, classified, nearest
from snellen.scoring.grounding import Failures, counted
from snellen.scoring.overlaps import pairs_of
from snellen.scoring.sums import Sums, over


@dataclass(frozen=True, eq=False)
class ErrorKinds:
    """How often each kind occurs and what it costs, as functions of sample weights (a `Measure`)."""

    names: tuple[str, ...]
    sums: Sums
    ratios: Mapping[str, Ratio]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        sums = self.sums(np.atleast_2d(weights))
        hits, predicted, truths = sums[:, :3].T
        count = dict(zip(COSTLY, sums[:, 3 : 3 + len(COSTLY)].T, strict=True))
        gain = dict(zip(MENDED, sums[:, 3 + len(COSTLY) :].T, strict=True))
        f1 = over(2 * hits, predicted + truths)
        found = {}
        for kind in COSTLY:
            found[f"rate_{kind}"] = over(count[kind], truths if kind == "miss" else predicted)
            gained = gain.get(kind, np.zeros_like(hits))
            whole = predicted + truths - count[kind] + gained
            found[f"cost_{kind}"] = over(2 * (hits + gained), whole) - f1
        return found


def measure(tables: Tables, *, failures: Failures | None = None) -> ErrorKinds:
    """rate_<kind> (share of the predictions; of the truths for miss) and cost_<kind>: how much higher F1 would be
    without the errors of that kind, for place, label, repeat, both, ghost and miss.

    Unread items are ghosts.
    """
    table, n = tables.instances, len(tables.outcomes)
    inside, stands, there = counted(tables, failures)
    kind, truth, sample = table["kind"], table["truth"], table["sample"]
    unread = np.where(stands, tables.outcomes["unread"], 0) * inside

    def per(mask: Bool) -> Float:
        return np.bincount(sample[mask], minlength=n).astype(np.float64)

    said = ~truth & there & table["kept"]
    unseen = there & truth & (table["partner"] < 0)
    hits, predicted = per(said & (kind == KIND["hit"])), per(said & ~table["excused"]) + unread
    truths = per(truth & there & ~table["crowd"])
    counts = [per((unseen if name == "miss" else said) & (kind == KIND[name])) for name in COSTLY]
    counts[COSTLY.index("ghost")] = counts[COSTLY.index("ghost")] + unread
    gains = [per(_gains(table, said, name) & unseen) for name in MENDED]
    ratios = {f"rate_{name}": Ratio(column, truths if name == "miss" else predicted)
              for name, column in zip(COSTLY, counts, strict=True)}  # fmt: skip
    names = tuple(f"{what}_{name}" for what in ("rate", "cost") for name in COSTLY)
    return ErrorKinds(names, Sums.dense([hits, predicted, truths, *counts, *gains]), ratios)


def _gains(table: Table, said: Bool, kind: str) -> Bool:
    """Rows of truths that predictions of this kind are about."""
    rows = np.zeros(len(table), dtype=np.bool_)
    about = table["about"][said & (table["kind"] == KIND[kind])]
    rows[about[about >= 0]] = True
    return rows


def ap50_costs(truth: BoxTable, predicted: BoxTable, *, max_dets: int = 500) -> dict[str, float | None]:
    """How much higher AP at IoU .5 would be without the errors of each kind (TIDE's figures); None without truth.

    For scored detections, all of them, matched by score. Of several errors about one truth, of whatever kind, only the
    best scored one can be mended into a hit.
    """
    matches = coco_matches(truth, predicted, max_dets=max_dets, sizes=False)
    state = matches.state[0, 0]
    kind, about = _kinds_at(truth, predicted, matches)
    label = predicted.label[matches.rows]
    truths = np.bincount(truth.label[matches.counts[0]], minlength=len(truth.classes))
    if not truths.any():
        return dict.fromkeys(COSTLY)
    taken = np.zeros(len(truth) + 1, dtype=np.bool_)
    taken[matches.partner[0]] = True
    taken[-1] = True
    classes = np.flatnonzero(truths)
    base = _ap50(label, state, truths, classes)
    best = _firsts(about, np.isin(kind, [KIND[name] for name in MENDED]) & ~taken[about])
    costs: dict[str, float | None] = {}
    for name in COSTLY:
        mine = kind == KIND[name]
        if name == "miss":
            explained = taken.copy()
            explained[about[np.isin(kind, [KIND[k] for k in MENDED])]] = True
            missed = np.flatnonzero(matches.counts[0] & ~explained[:-1])
            left = truths - np.bincount(truth.label[missed], minlength=len(truths))
            mended = _ap50(label, state, left, classes)
        else:
            again, now = np.where(mine, IGNORED, state), label
            if name in MENDED:
                first = best[mine[best]]
                again[first], now = RIGHT, np.where(mine, truth.label[about], label)
            mended = _ap50(now, again, truths, classes)
        costs[name] = mended - base
    return costs


def _kinds_at(truth: BoxTable, predicted: BoxTable, matches: CocoMatches) -> tuple[Int, Int]:
    """Kind of each ranked detection at IoU .5, and the truth it is about."""
    pairs = pairs_of(truth, predicted, as_coco=True)[0]
    rows = matches.rows
    hit, excused = np.zeros(len(predicted), dtype=np.bool_), np.zeros(len(predicted), dtype=np.bool_)
    hit[rows], excused[rows] = matches.state[0, 0] == RIGHT, matches.state[0, 0] == IGNORED
    kind, about = classified(nearest(pairs, truth, predicted, hit=hit, excused=excused, close=0.5))
    return kind[rows], about[rows]


def _firsts(about: Int, mask: Bool) -> Int:
    """The first place in `mask` for each truth."""
    places = np.flatnonzero(mask)
    return places[np.unique(about[places], return_index=True)[1]]


def _ap50(label: Int, state: Int, truths: Int, classes: Int) -> float:
    """Mean over `classes`; detections stand in ranking order. A class without truths left has 0, as TIDE has it."""
    areas = []
    for k in classes:
        if not truths[k]:
            areas.append(0.0)
            continue
        counts = state[(label == k) & (state != IGNORED)] == RIGHT
        areas.append(area_under(np.cumsum(counts), np.cumsum(~counts), int(truths[k])))
    return float(np.mean(areas))
