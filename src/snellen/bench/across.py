"""Patterns across data sets: super-categories, and whether models find the same data sets hard.

Category scores and All are PROTOCOLS section 2 (`evals.rollup`). Pairs of models: the paper's Appendix H, scores of
one against the other, a point per data set; the correlation, and how many of their best data sets they share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from snellen.bench.config import Bench
from snellen.bench.decide import Decision
from snellen.core.estimates import Estimate
from snellen.evals.rollup import Rollup, roll_up
from snellen.statistics.intervals import normal_quantile

FEWEST = 3
"""Fewer data sets than this make no pattern."""

TOP = 15
"""Of so many best data sets the overlap is given (the paper's), of half of them where there are fewer than 30."""

EVERYONE = 4
"""Of so many models, leads are compared for each; of more, for the best one only."""


@dataclass(frozen=True)
class ModelPair:
    """Two models over the data sets of both. scores: data set -> (a, b). shared: of the `top` best data sets of each,
    how many are the same; by_chance: how many would be.
    """

    a: str
    b: str
    scores: Mapping[str, tuple[float, float]]
    pearson: Estimate
    spearman: float | None
    top: int
    shared: int
    by_chance: float

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {**asdict(self), "scores": {name: list(s) for name, s in self.scores.items()},
                "pearson": self.pearson.to_json()}  # fmt: skip


@dataclass(frozen=True)
class Lead:
    """The `top` data sets where `model` is furthest ahead of each of two rivals: how many are the same."""

    model: str
    rivals: tuple[str, str]
    top: int
    shared: int
    by_chance: float

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {**asdict(self), "rivals": list(self.rivals)}


def rollups(bench: Bench, decisions: Sequence[Decision]) -> dict[str, Rollup]:
    """Entry -> its category scores and All; nothing where the data sets have no categories.

    A data set on which an entry was not scored is missing, and the roll-up says so (`scored` of `of`).
    """
    categories = {name: entry.category for name, entry in bench.data.items() if entry.category is not None}
    if not categories:
        return {}
    scores: dict[str, dict[str, Estimate]] = {}
    for decision in decisions:
        for row in decision.rows:
            scores.setdefault(row.name, {})[decision.data] = row.score
    return {name: roll_up(found, categories, expected=list(bench.data), partial=True) for name, found in scores.items()}


def model_pairs(decisions: Sequence[Decision]) -> tuple[ModelPair, ...]:
    """Every two entries that share at least `FEWEST` data sets, in the order of the decisions."""
    scores = _scores(decisions)
    found = []
    for a, b in combinations(scores, 2):
        both = {name: (ours, scores[b][name]) for name, ours in scores[a].items() if name in scores[b]}
        if len(both) >= FEWEST:
            found.append(_pair(a, b, both))
    return tuple(found)


def leads(decisions: Sequence[Decision]) -> tuple[Lead, ...]:
    """For each model (of many: the one with the best mean) and every two rivals: is it ahead on the same data sets?"""
    scores = _scores(decisions)
    whole = {name: found for name, found in scores.items() if len(found) == len(decisions)}
    if len(decisions) < FEWEST or len(whole) < FEWEST:
        return ()
    best = max(whole, key=lambda name: math.fsum(whole[name].values()))
    top = _top(len(decisions))
    found = []
    for model in whole if len(whole) <= EVERYONE else [best]:
        ahead = {
            rival: _first({data: whole[model][data] - theirs[data] for data in theirs}, top)
            for rival, theirs in whole.items()
            if rival != model
        }
        for b, c in combinations(ahead, 2):
            shared = len(ahead[b] & ahead[c])
            found.append(Lead(model, (b, c), top, shared, top * top / len(decisions)))
    return tuple(found)


def _scores(decisions: Sequence[Decision]) -> dict[str, dict[str, float]]:
    """Entry -> data set -> score; an undefined one counts 0."""
    found: dict[str, dict[str, float]] = {}
    for decision in decisions:
        for row in decision.rows:
            found.setdefault(row.name, {})[decision.data] = row.score.value or 0.0
    return found


def _pair(a: str, b: str, scores: Mapping[str, tuple[float, float]]) -> ModelPair:
    top = _top(len(scores))
    ours, theirs = ({name: pair[i] for name, pair in scores.items()} for i in (0, 1))
    shared = len(_first(ours, top) & _first(theirs, top))
    values = np.array(list(scores.values()), dtype=np.float64)
    pearson, spearman = correlation(values[:, 0], values[:, 1]), correlation(_ranks(values[:, 0]), _ranks(values[:, 1]))
    return ModelPair(a, b, dict(scores), pearson, spearman.value, top, shared, top * top / len(scores))


def correlation(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], *, level: float = 0.95) -> Estimate:
    """Pearson's r with Fisher's interval; undefined where either does not vary, no interval of fewer than 4 pairs."""
    n = len(x)
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return Estimate(None, n=n)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    if n < 4 or abs(r) > 1 - 1e-12:
        return Estimate(r, n=n)
    half = normal_quantile((1 + level) / 2) / math.sqrt(n - 3)
    return Estimate(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), n, "fisher-z")


def _ranks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Ranks, ties share their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _top(sets: int) -> int:
    return min(TOP, sets // 2)


def _first(scores: Mapping[str, float], top: int) -> frozenset[str]:
    """The data sets with the `top` highest scores; ties in the order of the bench."""
    return frozenset(sorted(scores, key=lambda name: -scores[name])[:top])
