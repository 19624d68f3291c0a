"""The psychometric curve: how accuracy rises with size, and the size half-way between chance and 1.

The curve is p(x) = c + (1 - c - l) F(s (ln x - ln t) + b): c the accuracy of guessing, l the lapse rate (errors that
remain however large the object), F the logistic function, s the slope; b is such that t is the threshold, the size at
which p is half-way between c and 1, whatever the lapses (Wichmann and Hill, Perception & Psychophysics 63, 2001).

Fitted by maximum likelihood on a grid that is refined once: it cannot fail to converge, and a step from all wrong to
all right does no harm. The interval is the profile likelihood's: all thresholds whose best curve is not rejected. It
is open at an end where the data set no limit (all sizes too easy, or too hard). Answers that share a cluster widen it
by their design effect on the threshold's score, as Rao and Scott scale chi-square (Annals of Statistics 12, 1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from snellen.core.errors import ShapeError, SpecError
from snellen.core.estimates import Estimate, Float
from snellen.statistics.intervals import student_quantile
from snellen.statistics.resampling import Clusters

SLOPES = (0.3, 60.0)
"""Slopes considered, per unit of ln size: from a rise over decades to a step within a tenth of the size."""

MOST_LAPSES = 0.9
"""Lapses considered, as a share of those that would put the threshold out of reach."""

REACH = math.log(8.0)
"""How far beyond the sizes shown a threshold is looked for, in ln size."""

_EDGE = 1e-9


class Step(NamedTuple):
    """A size that was shown: how often, and how often it was answered right."""

    size: float
    n: int
    right: int


@dataclass(frozen=True)
class Psychometric:
    """A fitted curve. threshold: in the unit of the sizes; its value is None, and `reason` says why, where it lies
    outside the sizes shown; a limit is None where the data set none. slope: per unit of ln size at ln t.
    """

    threshold: Estimate
    slope: float
    lapse: float
    chance: float
    centre: float
    steps: tuple[Step, ...]
    reason: str = ""

    def curve(self, sizes: ArrayLike) -> Float:
        """Accuracy at these sizes."""
        x = np.log(np.asarray(sizes, dtype=np.float64))
        return _curve(x, np.asarray(math.log(self.centre)), np.asarray(self.slope), np.asarray(self.lapse), self.chance)


def fit(
    sizes: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    clusters: ArrayLike | None = None,
    lapse: float | None = None,
    level: float = 0.95,
) -> Psychometric:
    """The curve of answers `right` (n,) bool at `sizes` (n,) > 0, guessing being right at rate `chance`.

    clusters: what repeats together, one name per answer. lapse: a fixed lapse rate, or None: fitted.
    """
    x, flags = np.asarray(sizes, dtype=np.float64), np.asarray(right, dtype=np.float64)
    _check(x, flags, chance, lapse)
    steps = _steps(x, flags)
    names = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    groups = Clusters.of(names)
    grid = _whole(steps, chance, lapse)
    for _ in range(2):
        best, profile, likelihood = _search(steps, grid, chance)
        grid = _closer(grid, likelihood)
    best, profile, _ = _search(steps, grid, chance)
    effect = 1.0 if groups.single else _design_effect(x, flags, groups, best, chance)
    limit = student_quantile((1 + level) / 2, groups.count - 1) ** 2 * effect if groups.count > 1 else math.inf
    low, high = _limits(grid.ln_t, 2 * (profile.max() - profile), limit)
    threshold, reason = _within(best.ln_t, low, high, steps)
    estimate = Estimate(threshold, low, high, len(x), "profile-likelihood")
    return Psychometric(estimate, best.slope, best.lapse, chance, math.exp(best.ln_t), steps, reason)


def fit_by(
    groups: ArrayLike,
    sizes: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    clusters: ArrayLike | None = None,
    lapse: float | None = None,
    level: float = 0.95,
) -> dict[str, Psychometric]:
    """A curve for each value of `groups` (n,), such as the sections of the grid."""
    group, x, flags = np.asarray(groups), np.asarray(sizes), np.asarray(right)
    names = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    if not len(group) == len(x) == len(flags) == len(names):
        raise ShapeError(f"groups, sizes, right and clusters must have one length, got {len(group)}, {len(x)}, "
                         f"{len(flags)}, {len(names)}")  # fmt: skip
    return {
        str(name): fit(x[here], flags[here], chance=chance, clusters=names[here], lapse=lapse, level=level)
        for name in np.unique(group)
        for here in [group == name]
    }


class _Point(NamedTuple):
    ln_t: float
    slope: float
    lapse: float


class _Grid(NamedTuple):
    """Values of each parameter, rising."""

    ln_t: Float
    slope: Float
    lapse: Float


def _curve(x: Float, ln_t: Float, slope: Float, lapse: Float, chance: float) -> Float:
    above = 1 - chance - lapse
    at_threshold = (1 - chance) / 2 / above
    z = slope * (x - ln_t) + np.log(at_threshold / (1 - at_threshold))
    return np.asarray(chance + above / (1 + np.exp(-np.clip(z, -60.0, 60.0))))


def _whole(steps: tuple[Step, ...], chance: float, lapse: float | None) -> _Grid:
    first, last = math.log(steps[0].size), math.log(steps[-1].size)
    most = MOST_LAPSES * (1 - chance) / 2
    lapses = np.concatenate([[0.0], np.geomspace(most / 60, most, 9)]) if lapse is None else np.array([lapse])
    return _Grid(np.linspace(first - REACH, last + REACH, 160), np.geomspace(*SLOPES, 28), lapses)


def _search(steps: tuple[Step, ...], grid: _Grid, chance: float) -> tuple[_Point, Float, Float]:
    """The best point, the log likelihood of each threshold at its best slope and lapse, and all of it."""
    ln_t, slope, lapse = grid.ln_t[:, None, None], grid.slope[None, :, None], grid.lapse[None, None, :]
    total = np.zeros((len(grid.ln_t), len(grid.slope), len(grid.lapse)))
    for step in steps:
        p = np.clip(_curve(np.asarray(math.log(step.size)), ln_t, slope, lapse, chance), _EDGE, 1 - _EDGE)
        total += step.right * np.log(p) + (step.n - step.right) * np.log1p(-p)
    profile = total.max(axis=(1, 2))
    # a step in the data leaves a plateau between two sizes: its middle is the estimate
    plateau = np.flatnonzero(profile >= profile.max() - 0.005)
    i = int(plateau[len(plateau) // 2])
    j, k = np.unravel_index(int(total[i].argmax()), total[i].shape)
    ln = float((grid.ln_t[plateau[0]] + grid.ln_t[plateau[-1]]) / 2)
    return _Point(ln, float(grid.slope[j]), float(grid.lapse[k])), profile, total


def _closer(grid: _Grid, likelihood: Float) -> _Grid:
    """A finer grid over what the data leave possible, with a margin of one step."""
    likely = likelihood >= likelihood.max() - 8.0

    def span(values: Float, axis: int) -> tuple[float, float]:
        other = tuple(a for a in range(3) if a != axis)
        here = np.flatnonzero(likely.any(axis=other))
        return float(values[max(here[0] - 1, 0)]), float(values[min(here[-1] + 1, len(values) - 1)])

    t, s, lapse = (span(values, axis) for axis, values in enumerate(grid))
    lapses = np.linspace(*lapse, len(grid.lapse)) if len(grid.lapse) > 1 else grid.lapse
    return _Grid(np.linspace(*t, len(grid.ln_t)), np.geomspace(*s, len(grid.slope)), lapses)


def _limits(ln_t: Float, deviance: Float, limit: float) -> tuple[float | None, float | None]:
    """Where the deviance crosses `limit` on either side of its minimum, as sizes; None where it does not."""
    inside = np.flatnonzero(deviance <= limit)
    first, last = int(inside[0]), int(inside[-1])
    low = None if first == 0 else math.exp(_crossing(ln_t, deviance, first, first - 1, limit))
    high = None if last == len(ln_t) - 1 else math.exp(_crossing(ln_t, deviance, last, last + 1, limit))
    return low, high


def _crossing(x: Float, y: Float, inside: int, outside: int, limit: float) -> float:
    share = (limit - y[inside]) / (y[outside] - y[inside])
    return float(x[inside] + share * (x[outside] - x[inside]))


def _within(ln_t: float, low: float | None, high: float | None, steps: tuple[Step, ...]) -> tuple[float | None, str]:
    value = math.exp(ln_t)
    if value < steps[0].size:
        return None, f"the threshold lies below the smallest size shown, {steps[0].size:g}"
    if value > steps[-1].size:
        return None, f"the threshold lies above the largest size shown, {steps[-1].size:g}"
    if low is None and high is None:
        return None, "accuracy does not depend on size enough to place a threshold"
    return value, ""


def _design_effect(x: Float, flags: Float, groups: Clusters, best: _Point, chance: float) -> float:
    """Variance of the threshold's score when clusters are drawn, over that of independent answers; at least 1."""
    ln, step = np.log(x), 1e-4
    slope, lapse = np.asarray(best.slope), np.asarray(best.lapse)
    p, up, down = (_curve(ln, np.asarray(best.ln_t + shift), slope, lapse, chance) for shift in (0.0, step, -step))
    variance = np.clip(p * (1 - p), _EDGE, None)
    score = (flags - p) * (up - down) / (2 * step) / variance
    own = float((score**2).sum())
    if groups.count < 2 or own <= 0:
        return 1.0
    together = float((groups.sums(score) ** 2).sum()) * groups.count / (groups.count - 1)
    return max(1.0, together / own)


def _steps(x: Float, flags: Float) -> tuple[Step, ...]:
    sizes, index = np.unique(x, return_inverse=True)
    n = np.bincount(index, minlength=len(sizes))
    right = np.bincount(index, weights=flags, minlength=len(sizes))
    return tuple(Step(float(s), int(a), int(b)) for s, a, b in zip(sizes, n, right, strict=True))


def _check(x: Float, flags: Float, chance: float, lapse: float | None) -> None:
    if x.shape != flags.shape or x.ndim != 1 or not len(x):
        raise ShapeError(f"sizes and right must have one shape (n,) with n > 0, got {x.shape} and {flags.shape}")
    if not (np.isfinite(x) & (x > 0)).all():
        raise SpecError(f"sizes must be positive, got {x.min():g}")
    if not np.isin(flags, (0.0, 1.0)).all():
        raise SpecError("right must be true or false for every answer")
    if not 0 <= chance < 1:
        raise SpecError(f"the rate of guessing right must lie in [0, 1), got {chance}")
    if lapse is not None and not 0 <= lapse < (1 - chance) / 2:
        raise SpecError(f"a lapse rate must lie in [0, {(1 - chance) / 2:g}), got {lapse}")
