"""What each kind of error costs: how much higher F1, and AP at IoU .5, would be without it. After TIDE (ECCV 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.estimates import Ratio
from snellen.core.tables import Pairs, Table, Tables
from snellen.scoring.coco_matching import IGNORED, RIGHT, CocoMatches, coco_matches
from snellen.scoring.curves import Ranking, Weights, ranking, whole
from snellen.scoring.error_kinds import COSTLY, KIND, MENDED, classified, nearest
from snellen.scoring.grounding import Failures, counted
from snellen.scoring.overlaps import ordered_by, pairs_of
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


@dataclass(frozen=True, eq=False)
class Ap50Costs:
    """How much higher AP at IoU .5 would be without the errors of each kind (TIDE's figures): a `Measure`.

    Per class: `same`, the ranking as it is, by all truths and by those that misses leave, and with the errors of each
    kind in SAME mended, a curve each; `label`, the ranking with those mended.
    """

    names: tuple[str, ...]
    same: tuple[Ranking, ...]
    label: tuple[Ranking, ...]

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """All metrics under each row of `weights` (draws, samples): each (draws,), NaN where undefined."""
        weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        counted = whole(weights, max((len(each.sample) for each in (*self.same, *self.label)), default=0))
        base, *same = _areas(self.same, counted, curves=2 + len(SAME))
        mended = dict(zip(("miss", *SAME), same, strict=True)) | {"label": _areas(self.label, counted)[0]}
        defined = ~np.isnan(base)
        classes = defined.sum(axis=0).astype(np.float64)
        found = {}
        for kind in COSTLY:  # a class without truths left has 0, as TIDE has it
            gained = np.nan_to_num(mended[kind]) - np.nan_to_num(base)
            found[f"{AP50_COST}{kind}"] = over(np.where(defined, gained, 0.0).sum(axis=0), classes)
        return found


AP50_COST = "ap50_cost_"
"""What the names of costs in AP start with."""
SAME = ("place", "repeat", "both", "ghost")
"""Kinds whose mending changes neither a detection's class nor the truths."""


def ap50_costs(
    truth: BoxTable,
    predicted: BoxTable,
    *,
    max_dets: int = 500,
    matches: CocoMatches | None = None,
    pairs: Pairs | None = None,
) -> Ap50Costs:
    """ap50_cost_<kind>, for scored detections: all of them, matched by score; undefined without truth.

    Of several errors about one truth, of whatever kind, only the best scored one can be mended into a hit. matches:
    those of these boxes, pairs: theirs of any labels (`as_coco`), where they are known.
    """
    found = matches or coco_matches(truth, predicted, max_dets=max_dets, sizes=False)
    state, label, sample = found.state[0, 0], predicted.label[found.rows], predicted.image[found.rows]
    kind, about = _kinds_at(truth, predicted, found, pairs)
    taken = np.zeros(len(truth) + 1, dtype=np.bool_)
    taken[found.partner[0]] = True
    taken[-1] = True
    mendable = np.isin(kind, [KIND[name] for name in MENDED])
    best = _firsts(about, mendable & ~taken[about], found.standing)

    def mended(name: str) -> NDArray[np.int8]:
        mine = kind == KIND[name]
        now = np.where(mine, IGNORED, state).astype(np.int8)
        if name in MENDED:
            now[best[mine[best]]] = RIGHT
        return now

    explained = taken[:-1].copy()
    explained[about[mendable]] = True
    counts = found.counts[0]
    own = np.where(kind == KIND["label"], truth.label[about], label) if len(truth) else label
    order = np.argsort(found.standing)  # by score again
    order = order[ordered_by(own[order])]
    same, others = np.stack([state, *(mended(name) for name in SAME)]), mended("label")[None, order]
    curves = [(0, 0), (0, 1), *((row + 1, 0) for row in range(len(SAME)))]
    starts = np.searchsorted(own[order], np.arange(len(truth.classes) + 1))
    rankings, with_labels = [], []
    for k in range(len(truth.classes)):
        truths = [truth.image[which & (truth.label == k)] for which in (counts, counts & explained)]
        mine = slice(*found.starts[k : k + 2])
        rankings.append(ranking(sample[mine], same[:, mine], *truths, of=curves))
        mine = slice(*starts[k : k + 2])
        with_labels.append(ranking(sample[order[mine]], others[:, mine], truths[0]))
    return Ap50Costs(tuple(f"{AP50_COST}{name}" for name in COSTLY), tuple(rankings), tuple(with_labels))


def _areas(rankings: Sequence[Ranking], weights: Weights, *, curves: int = 1) -> Float:
    """AP of every curve, class and draw: (curves, classes, draws), NaN where a class has no truth."""
    found = [each(weights)[0] for each in rankings]
    return np.array(found).reshape(len(rankings), curves, len(weights)).transpose(1, 0, 2)


def _kinds_at(truth: BoxTable, predicted: BoxTable, matches: CocoMatches, pairs: Pairs | None) -> tuple[Int, Int]:
    """Kind of each ranked detection at IoU .5, and the truth it is about."""
    pairs = pairs_of(truth, predicted, as_coco=True) if pairs is None else pairs
    rows = matches.rows
    hit, excused = np.zeros(len(predicted), dtype=np.bool_), np.zeros(len(predicted), dtype=np.bool_)
    hit[rows], excused[rows] = matches.state[0, 0] == RIGHT, matches.state[0, 0] == IGNORED
    kind, about = classified(nearest(pairs, truth, predicted, hit=hit, excused=excused, close=0.5))
    return kind[rows], about[rows]


def _firsts(about: Int, mask: Bool, standing: Int) -> Int:
    """The place in `mask` that stands first for each truth."""
    places = np.flatnonzero(mask)
    places = places[np.argsort(standing[places])]
    return places[np.unique(about[places], return_index=True)[1]]
