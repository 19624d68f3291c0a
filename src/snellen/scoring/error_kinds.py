"""What went wrong with each box, and what each kind of error costs. After TIDE (Bolya et al., ECCV 2020).

| kind   | a prediction (or, for miss, a truth) that ...                                          | mended, it ... |
|--------|----------------------------------------------------------------------------------------|----------------|
| hit    | is matched: its class, IoU .5 or more                                                  |                |
| place  | has the right class, but IoU .1 to .5                                                  | hits its truth |
| label  | has the right place (IoU .5 or more), but the wrong class                              | hits its truth |
| repeat | would be right, but its truth is matched by another                                    | is left out    |
| both   | overlaps only truths of other classes, and those by less than .5                       | is left out    |
| ghost  | overlaps no truth by .1                                                                | is left out    |
| miss   | is matched by nothing, and no prediction failed on it by place or label alone          | is left out    |

The first rule that applies decides, in the order of `RULES` (TIDE's). Mended predictions hit only truths that nothing
else hits, each once; the others are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.tables import KINDS, Pairs
from snellen.scoring.overlaps import LEAST

KIND: Mapping[str, int] = {name: i for i, name in enumerate(KINDS)}
MENDED = ("place", "label")
"""Kinds whose mending turns a prediction into a hit."""
COSTLY = ("place", "label", "repeat", "both", "ghost", "miss")


@dataclass(frozen=True, eq=False)
class Nearest:
    """Per prediction the truth it overlaps most, of its own class and of others: IoU (0 below .1) and row (-1)."""

    same: Float
    same_row: Int
    other: Float
    other_row: Int
    hit: Bool
    excused: Bool
    close: float = 0.5


Rule = tuple[str, Callable[[Nearest], Bool]]
RULES: tuple[Rule, ...] = (
    ("hit", lambda near: near.hit),
    ("excused", lambda near: near.excused),
    ("place", lambda near: (near.same >= LEAST) & (near.same < near.close)),
    ("label", lambda near: near.other >= near.close),
    ("repeat", lambda near: near.same >= near.close),
    ("both", lambda near: near.other >= LEAST),
    ("ghost", lambda near: np.ones(len(near.same), dtype=np.bool_)),
)


def nearest(pairs: Pairs, truth: BoxTable, predicted: BoxTable, *, hit: Bool, excused: Bool, close: float) -> Nearest:
    """The nearest truths of each prediction among `pairs` (crowd regions left out)."""
    pairs = pairs.take(~truth.crowd[pairs.truth])
    label = truth.label[pairs.truth]
    same = (label == predicted.label[pairs.predicted]) & (label >= 0)
    iou, row = _most(pairs.take(same), len(predicted))
    other, other_row = _most(pairs.take(~same), len(predicted))
    return Nearest(iou, row, other, other_row, hit, excused, close)


def _most(pairs: Pairs, n: int) -> tuple[Float, Int]:
    """Per prediction the largest IoU and whose it is, of equal ones the first row's. Pairs stand by prediction."""
    iou, row = np.zeros(n), np.full(n, -1, dtype=np.int64)
    if len(pairs):
        new = np.append(True, pairs.predicted[1:] != pairs.predicted[:-1])
        best = np.maximum.reduceat(pairs.iou, np.flatnonzero(new))
        iou[pairs.predicted[new]] = best
        top = np.flatnonzero(pairs.iou == best[np.cumsum(new) - 1])[::-1]
        row[pairs.predicted[top]] = pairs.truth[top]  # what is written last stays: the first
    return iou, row


def classified(near: Nearest) -> tuple[Int, Int]:
    """Per prediction its kind (index into KINDS) and the row of the truth that the error is about, or -1."""
    kind = np.full(len(near.same), KIND["none"], dtype=np.int64)
    for name, rule in RULES:
        kind[(kind == KIND["none"]) & rule(near)] = KIND[name]
    about = np.where(np.isin(kind, (KIND["place"], KIND["repeat"])), near.same_row, -1)
    return kind, np.where(np.isin(kind, (KIND["label"], KIND["both"])), near.other_row, about)


def kind_columns(
    pairs: Pairs, truth: BoxTable, predicted: BoxTable, *, kept: Bool, partner: Int, excused: Bool
) -> dict[str, Int]:
    """The columns `kind` and `about` of the detections table; partner, excused are its columns, kept per prediction."""
    g = len(truth)
    near = nearest(
        pairs.take(kept[pairs.predicted]), truth, predicted, hit=partner[g:] >= 0, excused=excused[g:], close=0.5
    )
    kind, about = classified(near)
    about = np.where(kind == KIND["hit"], partner[g:], about)
    kind[~kept], about[~kept] = KIND["none"], -1
    of_truth = np.full(g, KIND["miss"])
    for name in MENDED[::-1]:
        of_truth[about[kind == KIND[name]]] = KIND[name]
    of_truth[partner[:g] >= 0] = KIND["hit"]
    of_truth[truth.crowd] = KIND["none"]
    return {
        "kind": np.concatenate([of_truth, kind]).astype(np.int8),
        "about": np.concatenate([partner[:g], about]),
    }
