"""Ways of asking held against each other, model by model: one class a prompt or all; all classes or those present.

Regimes that differ in `calls` answer the same question and are ranked together too. Those that differ in `classes`
(the protocols detection and referential) do not: the guard keeps them apart, and they meet here alone, paired on the
same pictures. Roboflow100-VL, Table 5 and section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.bench.decide import Entry, averaged
from snellen.core.errors import GuardError
from snellen.evals.comparison import check_guard
from snellen.evals.measures import narrowed
from snellen.statistics.datasets import mean_difference
from snellen.statistics.hypotheses import holm_adjusted
from snellen.statistics.paired import Difference, difference

Kind: TypeAlias = Literal["calls", "classes"]
KINDS: tuple[Kind, ...] = ("calls", "classes")
USUAL: Mapping[str, str] = {"calls": "multi", "classes": "all"}
"""What a regime does unless it says otherwise; it stands first in a contrast."""


@dataclass(frozen=True)
class Contrast:
    """One model on one data set (or `all`) under two regimes that differ in `kind` alone: `other` minus `usual`."""

    kind: Kind
    data: str
    model: str
    usual: str
    other: str
    metric: str
    difference: Difference
    p_holm: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "kind": self.kind, "data": self.data, "model": self.model, "usual": self.usual, "other": self.other,
            "metric": self.metric, **self.difference.to_json(), "p_holm": self.p_holm,
        }  # fmt: skip


def matched_regimes(regimes: Mapping[str, Mapping[str, Any]]) -> list[tuple[Kind, str, str]]:
    """The pairs of regimes that differ in `calls` alone, or in `classes` alone: (kind, the usual one, the other)."""
    found: list[tuple[Kind, str, str]] = []
    for a, b in combinations(regimes, 2):
        one, two = {**USUAL, **regimes[a]}, {**USUAL, **regimes[b]}
        differing = [name for name in {**one, **two} if one.get(name) != two.get(name)]
        order = (a, b) if one == {**two, **{name: USUAL.get(name) for name in differing}} else (b, a)
        found += [(kind, *order) for kind in KINDS if differing == [kind]]
    return found


def contrasts(
    entries: Mapping[str, Sequence[Entry]],
    regimes: Mapping[str, Mapping[str, Any]],
    metrics: Mapping[str, str],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[Contrast, ...]:
    """All contrasts that the regimes allow, data set by data set, then over all of them where there are several.

    metrics: data set -> the metric of its decision. p values are Holm's over all contrasts of a kind. Runs on other
    pictures or another truth make no contrast.
    """
    found: list[Contrast] = []
    for kind, usual, other in matched_regimes(regimes):
        for model in dict.fromkeys(entry.facts["model"] for each in entries.values() for entry in each):
            pairs = {
                data: made
                for data, each in entries.items()
                if data in metrics
                and (made := _contrast(each, model, (usual, other), metrics[data], draws=draws, seed=seed)) is not None
            }
            found += [Contrast(kind, data, model, usual, other, metrics[data], d) for data, d in pairs.items()]
            if len(pairs) > 1 and len({metrics[data] for data in pairs}) == 1:
                together = mean_difference(list(pairs.values()))
                found.append(Contrast(kind, "all", model, usual, other, metrics[next(iter(pairs))], together))
    return _corrected(found)


def _contrast(
    entries: Sequence[Entry], model: str, regimes: tuple[str, str], metric: str, *, draws: int, seed: int
) -> Difference | None:
    """The second regime minus the first, paired."""
    by_regime = {entry.facts["regime"]: entry for entry in entries if entry.facts["model"] == model}
    if not all(name in by_regime for name in regimes):
        return None
    a, b = (by_regime[name] for name in regimes)
    try:
        check_guard(a.runs[0].results, b.runs[0].results, ignore=("classes",))
    except GuardError:
        return None
    one, two = (averaged([narrowed(run.tables, run.results.options, metric) for run in entry.runs]) for entry in (a, b))
    clusters = a.runs[0].tables.outcomes["cluster"]
    return difference(one, two, clusters, draws=draws, rng=np.random.default_rng(seed))[metric]


def _corrected(found: Sequence[Contrast]) -> tuple[Contrast, ...]:
    kept: list[Contrast] = []
    for kind in KINDS:
        some = [contrast for contrast in found if contrast.kind == kind]
        adjusted = holm_adjusted([contrast.difference.p for contrast in some])
        kept += [replace(contrast, p_holm=p) for contrast, p in zip(some, adjusted, strict=True)]
    return tuple(kept)
