"""The score from which detections count, where precision, recall, F1, counts and CHAIR of scored ones are given.

PROTOCOLS section 2, Operating point: best F1 on the validation part (never chosen on test), a fixed score, or all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from snellen.core.detections import Bool, BoxTable, Float, Int
from snellen.core.tables import Pairs
from snellen.scoring.matching import SLACK, matched
from snellen.scoring.overlaps import pairs_of, parts_of

PointName: TypeAlias = Literal["best-f1-on-valid", "fixed", "all", "at-recall"]
ScoreSource: TypeAlias = Literal["model", "token-logprob", "vote", "constant"]


@dataclass(frozen=True)
class OperatingPoint:
    """Detections scored `min_score` or higher count; None: all. Its name and value stand in every result. on: the run
    or file that it was chosen on.
    """

    name: PointName
    min_score: float | None
    on: str = ""

    def to_json(self) -> dict[str, str | float | None]:
        """As it stands in results."""
        return {"name": self.name, "min_score": self.min_score, **({"on": self.on} if self.on else {})}


ALL = OperatingPoint("all", None)


def fixed(min_score: float) -> OperatingPoint:
    """The point that the user names."""
    return OperatingPoint("fixed", min_score)


@dataclass(frozen=True, eq=False)
class Sweep:
    """What counts at every score that occurs, highest first: each (levels,).

    hits by WADE's class-aware matching at IoU .5 among the detections at or above the score; predicted leaves out what
    a crowd region excuses there. Detections without a score count at every level.
    """

    scores: Float
    hits: Int
    predicted: Int
    truths: int

    @property
    def f1(self) -> Float:
        """Micro-F1 at every score; 0 without any truth and prediction."""
        return np.asarray(2 * self.hits / np.maximum(self.predicted + self.truths, 1))

    @property
    def recall(self) -> Float:
        """Recall at every score; 0 without any truth."""
        return np.asarray(self.hits / max(self.truths, 1))

    @property
    def precision(self) -> Float:
        """Precision at every score."""
        return np.asarray(self.hits / np.maximum(self.predicted, 1))


def sweep(truth: BoxTable, predicted: BoxTable, *, unread: int = 0) -> Sweep:
    """Hits and predictions at every score, matched anew at each: only detections that contend are matched again.

    unread: items that could not be read, predicted at every score.
    """
    scores = (
        np.full(len(predicted), np.inf) if predicted.scores is None else np.nan_to_num(predicted.scores, nan=np.inf)
    )
    pairs = pairs_of(truth, predicted, same_label=True)
    pairs = pairs.take(pairs.iou >= 0.5 - SLACK)
    crowd = truth.crowd[pairs.truth]
    excusable = np.zeros(len(predicted), dtype=np.bool_)
    excusable[pairs.predicted[crowd]] = True
    gained, gained_excusable = _gains(pairs.take(~crowd), scores, excusable)
    levels, level = np.unique(-scores, return_inverse=True)

    def down(values: Float) -> Int:
        return np.rint(np.cumsum(np.bincount(level, values, len(levels)))).astype(np.int64)

    hits = down(gained)
    said = down((~excusable).astype(np.float64)) + down(gained_excusable) + unread
    return Sweep(-levels, hits, said, int((~truth.crowd).sum()))


def best_f1(truth: BoxTable, predicted: BoxTable, *, unread: int = 0) -> OperatingPoint:
    """The score with the best micro-F1 on a validation set (of equal ones the highest): `best-f1-on-valid`.

    Where nothing is scored there is nothing to choose: all.
    """
    found = sweep(truth, predicted, unread=unread)
    finite = np.isfinite(found.scores)
    if not finite.any():
        return ALL
    scores, f1 = found.scores[finite], found.f1[finite]
    return OperatingPoint("best-f1-on-valid", float(scores[int(np.argmax(f1))]))


def at_recall(truth: BoxTable, predicted: BoxTable, recall: float) -> OperatingPoint | None:
    """The highest score at which recall reaches `recall` (a detector at a VLM's recall); None where none does."""
    found = sweep(truth, predicted)
    reached = np.flatnonzero(found.recall >= recall - 1e-12)
    if not len(reached):
        return None
    score = float(found.scores[reached[0]])
    return OperatingPoint("at-recall", score if np.isfinite(score) else None)


def score_source(scores: Float | None, declared: ScoreSource | None = None) -> ScoreSource:
    """Where scores come from: as declared, else from the model; `constant` where there are none or all are equal."""
    present = np.zeros(0) if scores is None else scores[~np.isnan(scores)]
    if len(np.unique(present)) < 2:
        return "constant"
    return declared or "model"


def _gains(pairs: Pairs, scores: Float, excusable: Bool) -> tuple[Float, Float]:
    """Per detection: how many hits (and hits of excusable ones) there are more once it counts.

    Detections that share no truth with another one gain their own hit. Of those that hang together, the matching is
    made for every number of them that can count, best scores first.
    """
    gained = np.zeros(len(scores))
    alone = np.bincount(pairs.truth, minlength=1)[pairs.truth] == 1 if len(pairs) else np.zeros(0, dtype=np.bool_)
    part = parts_of(pairs, len(scores))
    size = _members(part[pairs.predicted], pairs.predicted)
    single = alone & (size == 1)
    gained[pairs.predicted[single]] = 1.0
    excused = gained * excusable
    rest = pairs.take(~single)
    if not len(rest):
        return gained, excused
    every, first = _prefixes(rest, part, scores)
    found = matched(every, at_least=0.0)
    # hits of each prefix less those of the one before it, credited to the detection that the prefix ends with
    prefix = first.prefix[found.predicted]
    for values, weights in ((gained, None), (excused, excusable[first.row[found.predicted]].astype(np.float64))):
        hits = np.bincount(prefix, weights, len(first.ends))
        before = np.where(first.starts, 0.0, np.append(0.0, hits[:-1]))
        values[first.ends] += hits - before
    return gained, excused


@dataclass(frozen=True, eq=False)
class _Copies:
    """Copies of contending detections, one for every prefix they are in.

    prefix, row: per copy its prefix and the detection it is of. ends, starts: per prefix the detection that it ends
    with, and whether it is the first of its part.
    """

    prefix: Int
    row: Int
    ends: Int
    starts: Bool


def _prefixes(pairs: Pairs, part: Int, scores: Float) -> tuple[Pairs, _Copies]:
    """The pairs of every prefix of every part, all apart from one another."""
    members = np.unique(pairs.predicted)
    members = members[np.lexsort((members, -scores[members], part[members]))]
    new = np.append(True, np.diff(part[members]) != 0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(members)), 0))
    end = np.append(np.flatnonzero(new)[1:], len(members))[np.cumsum(new) - 1]
    place = np.empty(int(members.max()) + 1, dtype=np.int64)
    place[members] = np.arange(len(members))
    # prefix number i ends with members[i]; a detection at place j is in the prefixes j .. end - 1 of its part
    own = place[pairs.predicted]
    copies = end[own] - own
    which = np.repeat(np.arange(len(pairs)), copies)
    prefix = np.arange(len(which)) - np.repeat(np.cumsum(copies) - copies, copies) + own[which]
    p_id, p_copy = np.unique(prefix * len(members) + own[which], return_inverse=True)
    t_copy = np.unique(prefix * (int(pairs.truth.max()) + 1) + pairs.truth[which], return_inverse=True)[1]
    made = _Copies(p_id // len(members), members[p_id % len(members)], members, start == np.arange(len(members)))
    return Pairs(p_copy, t_copy, pairs.iou[which]), made


def _members(part: Int, rows: Int) -> Int:
    """How many different `rows` the part of each pair has."""
    if not len(part):
        return part
    both = np.unique(np.stack([part, rows]), axis=1)
    return np.bincount(both[0])[part]
