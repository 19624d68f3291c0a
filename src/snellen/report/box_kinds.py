"""What became of each instance: hit, place, label, both, repeat, ghost, miss; and what each kind of error costs.

After TIDE (Bolya et al., 2020), on WADE's matching: between IoU .1 and .5 a box is in the wrong place, under .1 there
is nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snellen.report.box_data import Instances
from snellen.scoring.overlaps import pairs_of
from snellen.scoring.tabulation import boxes_of

KINDS: Mapping[str, str] = {
    "hit": "right place (IoU .5 or more), right label",
    "place": "right label, IoU between .1 and .5",
    "label": "right place, wrong label",
    "both": "IoU between .1 and .5, and the label wrong",
    "repeat": "a second box on an instance that is matched already",
    "ghost": "nothing there (IoU under .1)",
    "miss": "a true instance that no box accounts for",
}
"""Kinds of instances: the first six of predictions, `hit` and `miss` of truths."""

ERRORS = tuple(kind for kind in KINDS if kind != "hit")


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of each row of the detections table ("" for what does not count: crowd regions, excused predictions,
    predictions below the operating point), and for each the row of the truth it is about, -1 for none.

    A truth without a match is a `miss`, unless a place, label or both error is about it: then it has that kind.
    """

    kind: NDArray[np.str_]
    about: NDArray[np.int64]
    counts: Mapping[str, int]
    cost: Mapping[str, float | None]


def kinds(instances: Instances) -> Kinds:
    """The kinds of all instances of a run, how many there are, and the F1 that mending all of a kind would add."""
    table = instances.table
    kind = np.full(len(table), "", dtype="<U6")
    about = np.asarray(table["partner"], dtype=np.int64).copy()
    kind[(instances.truth | instances.predicted) & instances.hit] = "hit"
    best = _best(instances)
    open_ = np.flatnonzero(instances.predicted & ~instances.hit)
    rules = (("repeat", "same", 0.5), ("label", "other", 0.5), ("place", "same", 0.1), ("both", "other", 0.1))
    for name, which, least in rules:
        iou, truth = best[which]
        now = open_[(iou[open_] >= least) & (kind[open_] == "")]
        kind[now], about[now] = name, truth[now]
    kind[open_[kind[open_] == ""]] = "ghost"
    missed = np.flatnonzero(instances.truth & ~instances.hit)
    kind[missed] = "miss"
    for name in ("both", "place", "label"):
        explained = np.intersect1d(about[(kind == name) & ~instances.truth], missed)
        kind[explained] = name
    return Kinds(kind, about, _counts(kind, instances), _cost(kind, instances))


def _best(instances: Instances) -> dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """For each row of the table the best overlap with a truth of the same label, and of another: IoU and its row.

    A truth that is not matched goes before one that is, so that errors explain misses where they can.
    """
    table = instances.table
    truth_rows, said_rows = np.flatnonzero(table["truth"]), np.flatnonzero(~table["truth"])
    pairs, _ = pairs_of(*boxes_of(instances.tables))
    t, p = truth_rows[pairs.truth], said_rows[pairs.predicted]
    same = (table["label"][t] == table["label"][p]) & (table["label"][t] >= 0)
    out = {}
    for name, chosen in (("same", same), ("other", ~same)):
        kept = chosen & ~table["crowd"][t]
        iou, row = np.zeros(len(table)), np.full(len(table), -1, dtype=np.int64)
        strong = np.where(pairs.iou >= 0.5, 1, 0)
        order = np.lexsort((pairs.iou, ~instances.hit[t], strong))
        order = order[kept[order]]
        iou[p[order]], row[p[order]] = pairs.iou[order], t[order]  # the last one written stands: the best
        out[name] = (iou, row)
    return out


def _counts(kind: NDArray[np.str_], instances: Instances) -> dict[str, int]:
    counts = {name: int((kind[instances.predicted] == name).sum()) for name in KINDS if name != "miss"}
    return counts | {"miss": int((kind[instances.truth] == "miss").sum())}


def _cost(kind: NDArray[np.str_], instances: Instances) -> dict[str, float | None]:
    """For each kind of error: F1 if all of that kind were mended, minus F1 as it is.

    A place or label error is mended into a hit where it explains a miss; both, repeat and ghost go away; misses are
    found.
    """
    said, true = int(instances.predicted.sum()), int(instances.truth.sum())
    said += int(instances.tables.outcomes["unread"].sum())
    hits = int((instances.hit & instances.truth).sum())
    if not said + true:
        return dict.fromkeys(ERRORS)
    now = 2 * hits / (said + true)
    out: dict[str, float | None] = {}
    for name in ERRORS:
        n = int((kind[instances.predicted] == name).sum())
        explained = int((kind[instances.truth] == name).sum())
        gained = explained if name in {"place", "label", "miss"} else 0
        removed = 0 if name == "miss" else n - gained
        added = gained if name == "miss" else 0
        out[name] = 2 * (hits + gained) / (said - removed + added + true) - now
    return out
