"""Agreement of raters, and their majority.

Fleiss' kappa (Psychological Bulletin 76, 1971) wants the same number of ratings for every item. Krippendorff's alpha
(Content Analysis, 2004; "Computing Krippendorff's alpha-reliability", 2011) does not, and takes ordered values too.
`agreement` chooses, and says which it gave. What cannot be computed is None with the reason, never NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from snellen.core.errors import ShapeError, SpecError, unknown
from snellen.core.estimates import Estimate, Float
from snellen.statistics.intervals import bootstrap, point

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True)
class Agreement:
    """How far raters agree beyond chance: 1 full, 0 as by chance.

    observed, expected: agreement seen and expected by chance (for alpha: 1 minus the disagreement, in its own units).
    items: with at least two ratings, which alone can agree. ratings: on them. reason: why there is no value.
    """

    method: Literal["fleiss-kappa", "krippendorff-alpha"]
    estimate: Estimate
    observed: float | None
    expected: float | None
    items: int
    ratings: int
    reason: str = ""


@dataclass(frozen=True)
class Vote:
    """The answer given most often; None with the tied answers where several are equally common, or where none is.

    share: of the votes that went to the most common answer (the paper's agreement).
    """

    answer: str | None
    share: float | None
    votes: int
    tied: tuple[str, ...] = ()


def majority(answers: Iterable[str]) -> Vote:
    """The vote of raters on one item. A tie stays a tie: it names the tied answers, alphabetically."""
    counts = Counter(answers)
    total = sum(counts.values())
    if not total:
        return Vote(None, None, 0)
    most = max(counts.values())
    best = tuple(sorted(answer for answer, count in counts.items() if count == most))
    return Vote(best[0] if len(best) == 1 else None, most / total, total, best if len(best) > 1 else ())


def counted(ratings: Iterable[tuple[str, str]]) -> tuple[NDArray[np.int64], tuple[str, ...], tuple[str, ...]]:
    """From (item, category) pairs: how often each item was given each category (items, categories), and both names."""
    pairs = list(ratings)
    items, categories = (tuple(sorted({pair[side] for pair in pairs})) for side in (0, 1))
    table = np.zeros((len(items), len(categories)), dtype=np.int64)
    place_i, place_c = ({name: i for i, name in enumerate(names)} for names in (items, categories))
    for item, category in pairs:
        table[place_i[item], place_c[category]] += 1
    return table, items, categories


def agreement(counts: ArrayLike, *, rng: np.random.Generator | None = None, draws: int = 1000) -> Agreement:
    """Fleiss' kappa where every item has the same number of ratings, else Krippendorff's alpha for nominal values.

    counts: (items, categories). With `rng` the interval over items is added.
    """
    table = _table(counts)
    raters = np.unique(table.sum(axis=1))
    if len(raters) == 1 and raters[0] >= 2:
        return fleiss(table, rng=rng, draws=draws)
    return krippendorff(table, rng=rng, draws=draws)


def fleiss(counts: ArrayLike, *, rng: np.random.Generator | None = None, draws: int = 1000) -> Agreement:
    """Fleiss' kappa of counts (items, categories). SpecError where items have different numbers of ratings."""
    table = _table(counts)
    raters = np.unique(table.sum(axis=1))
    if len(raters) > 1:
        raise SpecError(
            f"Fleiss' kappa needs the same number of ratings for every item, got {int(raters[0])} to "
            f"{int(raters[-1])}; Krippendorff's alpha takes unequal numbers"
        )
    each = float(raters[0]) if len(raters) else 0.0
    reason = "" if each >= 2 else f"kappa needs at least 2 ratings per item, got {int(each)}"
    return _agreement("fleiss-kappa", _Kappa(table, each), table, reason, rng, draws)


def krippendorff(
    counts: ArrayLike,
    *,
    level: Level = "nominal",
    values: Sequence[float] | None = None,
    rng: np.random.Generator | None = None,
    draws: int = 1000,
) -> Agreement:
    """Krippendorff's alpha of counts (items, categories); items with fewer than two ratings take no part.

    level: how far apart two categories are. `interval` and `ratio` need their numbers, `values` (categories,);
    `ordinal` takes the order of the columns.
    """
    if level not in ("nominal", "ordinal", "interval", "ratio"):
        raise unknown("level of measurement", level, ("nominal", "ordinal", "interval", "ratio"))
    table = _table(counts)
    table = table[table.sum(axis=1) >= 2]
    numbers = np.arange(table.shape[1], dtype=np.float64) if values is None else np.asarray(values, dtype=np.float64)
    if level in ("interval", "ratio") and values is None:
        raise SpecError(f"alpha for {level} values needs the value of each category")
    if numbers.shape != (table.shape[1],):
        raise ShapeError(f"values must have shape ({table.shape[1]},), got {numbers.shape}")
    reason = "" if len(table) else "alpha needs an item with at least 2 ratings"
    return _agreement("krippendorff-alpha", _Alpha(table, level, numbers), table, reason, rng, draws)


@dataclass(frozen=True, eq=False)
class _Kappa:
    """Kappa, observed and expected agreement under weights of items."""

    table: Float
    each: float
    names: tuple[str, ...] = ("kappa", "observed", "expected")

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        agreed = ((self.table**2).sum(axis=1) - self.each) / max(self.each * (self.each - 1), 1.0)
        total = weights.sum(axis=1)
        observed = _over(weights @ agreed, total)
        shares = _over(weights @ self.table, (total * self.each)[:, None])
        expected = (shares**2).sum(axis=1)
        return {"kappa": _beyond(1 - observed, 1 - expected), "observed": observed, "expected": expected}


@dataclass(frozen=True, eq=False)
class _Alpha:
    """Alpha, and 1 - the observed and expected disagreement, under weights of items."""

    table: Float
    level: Level
    values: Float
    names: tuple[str, ...] = ("alpha", "observed", "expected")

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        size = self.table.sum(axis=1)
        given = weights @ self.table  # ratings per category, (draws, categories)
        total = given.sum(axis=1)
        apart = self._distances(given)
        scaled = self.table / np.maximum(size - 1, 1.0)[:, None]
        pairs = np.einsum("dn,nc,nk->dck", weights, scaled, self.table, optimize=True)
        observed = _over((pairs * apart).sum(axis=(1, 2)), total)
        chance = np.einsum("dc,dk,dck->d", given, given, apart, optimize=True)
        expected = _over(chance, total * (total - 1))
        return {"alpha": _beyond(observed, expected), "observed": 1 - observed, "expected": 1 - expected}

    def _distances(self, given: Float) -> Float:
        """Squared distance of every two categories, (draws or 1, categories, categories); 0 on the diagonal."""
        one, two = self.values[:, None], self.values[None, :]
        if self.level == "nominal":
            return np.asarray(1.0 - np.eye(len(self.values)))[None]
        if self.level == "interval":
            return np.asarray((one - two) ** 2)[None]
        if self.level == "ratio":
            return _over((one - two) ** 2, (one + two) ** 2, fill=0.0)[None]
        middle = np.cumsum(given, axis=1) - given / 2
        return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)


def _agreement(
    method: Literal["fleiss-kappa", "krippendorff-alpha"],
    measure: _Kappa | _Alpha,
    table: Float,
    reason: str,
    rng: np.random.Generator | None,
    draws: int,
) -> Agreement:
    items, ratings = len(table), int(table.sum())
    if reason:
        return Agreement(method, Estimate(None, n=items), None, None, items, ratings, reason)
    found = point(measure, items)
    if rng is not None and items > 1:
        found = bootstrap(measure, np.arange(items), draws=draws, rng=rng)
    name, observed, expected = measure.names
    if found[name].value is None:
        reason = "all ratings are of one category, so there is no chance agreement to exceed"
    return Agreement(method, found[name], found[observed].value, found[expected].value, items, ratings, reason)


def _table(counts: ArrayLike) -> Float:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2:
        raise ShapeError(f"counts must have shape (items, categories), got {table.shape}")
    if (table < 0).any() or (table != np.round(table)).any():
        raise SpecError("counts of ratings must be whole and not negative")
    return table


def _beyond(disagreement: Float, by_chance: Float) -> Float:
    share = np.divide(disagreement, by_chance, out=np.full(by_chance.shape, np.nan), where=by_chance > 1e-12)
    return np.asarray(1 - share)


def _over(above: Float, below: Float, *, fill: float = np.nan) -> Float:
    below = np.broadcast_to(below, above.shape)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, fill), where=below > 0))
