"""Runs beside each other: ranking, paired differences, and what a change of the stimuli does (ablations)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from snellen.core.errors import GuardError
from snellen.core.estimates import Estimate
from snellen.core.specs import canonical
from snellen.evals.comparison import Comparison, Scored, compare
from snellen.report.grids import Cell, Column, Grid, percent
from snellen.report.inputs import View
from snellen.statistics.paired import Difference, holm

ALL_PAIRS = 6
"""Up to so many runs every pair is compared, beyond it each with the best."""

METRICS = {"accuracy": "accuracy", "ap": "AP", "f1": "F1"}
"""Metrics that runs are ranked by, and what they are called."""


@dataclass(frozen=True)
class Pair:
    """`b` minus `a` on one metric: the difference, its p value as it is and corrected for all pairs of the table, and
    the smallest true difference that these samples would show with 80 % power.
    """

    a: str
    b: str
    difference: Estimate
    p: float | None
    p_holm: float | None
    gap: float | None

    @property
    def told_apart(self) -> bool:
        """Whether the difference holds at 5 % after correction."""
        return self.p_holm is not None and self.p_holm < 0.05


def main_metrics(views: Sequence[View]) -> list[str]:
    """The metrics that rank these runs, the main one first: AP goes before F1 where all detections have scores, and
    ranks nothing where they have none.
    """
    known = [name for name in METRICS if all(name in view.results.metrics for view in views)]
    return known if all(view.scored_detections for view in views) else [name for name in known if name != "ap"]


def ranked(views: Sequence[View], metric: str) -> list[View]:
    """Best first; runs without a value last."""

    def rank(view: View) -> tuple[bool, float]:
        value = view.results.metrics[metric].value
        return value is None, -(value or 0.0)

    return sorted(views, key=rank)


def pairs(views: Sequence[View], metrics: Sequence[str], *, draws: int = 1000) -> dict[str, list[Pair]]:
    """For each metric the paired differences between runs of one truth, better minus worse, corrected by Holm over all
    of the metric's.
    """
    order = {metric: ranked(views, metric) for metric in metrics}
    chosen = {metric: _chosen(some) for metric, some in order.items()}
    wanted: dict[tuple[str, str], list[str]] = {}
    for metric, some in chosen.items():
        for pair in some:
            first, second = sorted(pair, key=lambda view: view.slug)
            wanted.setdefault((first.slug, second.slug), []).append(metric)
    by_slug = {view.slug: view for view in views}
    found: dict[tuple[str, str], Comparison] = {
        (a, b): compare(by_slug[a].scored, by_slug[b].scored, metrics=tuple(some), draws=draws)
        for (a, b), some in wanted.items()
    }
    return {metric: _oriented(some, metric, found) for metric, some in chosen.items()}


def _chosen(order: Sequence[View]) -> list[tuple[View, View]]:
    """(better, worse): every pair, or, of many runs, the best with each."""
    return list(combinations(order, 2)) if len(order) <= ALL_PAIRS else [(order[0], view) for view in order[1:]]


def _oriented(
    chosen: Sequence[tuple[View, View]], metric: str, found: Mapping[tuple[str, str], Comparison]
) -> list[Pair]:
    differences: dict[str, Difference] = {}
    names: list[tuple[str, str]] = []
    for better, worse in chosen:
        first, second = sorted((better, worse), key=lambda view: view.slug)
        value = found[first.slug, second.slug].differences.get(metric)
        if value is not None:
            differences[str(len(names))] = value if second is better else _turned(value)
            names.append((better.name, worse.name))
    corrected = holm(differences).values()
    return [
        Pair(worse, better, d.difference, d.p, d.p_holm, d.gap)
        for (better, worse), d in zip(names, corrected, strict=True)
    ]


def _turned(value: Difference) -> Difference:
    """A minus B of B minus A."""
    gap = value.difference
    low, high = (None if end is None else -end for end in (gap.high, gap.low))
    turned = Estimate(None if gap.value is None else -gap.value, low, high, gap.n, gap.method)
    return replace(value, a=value.b, b=value.a, difference=turned)


def pairs_grid(id: str, found: Sequence[Pair], metric: str) -> Grid:
    """The differences as a table that says in words what they mean."""
    columns = (
        Column("Better"),
        Column("Worse"),
        Column("Difference, points", "points"),
        Column("p", "p"),
        Column("p (Holm)", "p"),
        Column("Detectable", "points"),
        Column("Verdict"),
    )
    rows = tuple(
        (p.b, p.a, p.difference, p.p, p.p_holm, p.gap, "differ" if p.told_apart else "cannot be told apart")
        for p in found
    )
    note = (
        "Paired on the same samples: what both get right or wrong cancels out. Brackets: 95 % intervals. "
        f"Holm's correction is over the comparisons of this table ({len(found)}). "
        "Detectable: the smallest true difference that these samples would show four times in five."
    )
    return Grid(id, f"Paired differences in {METRICS[metric]}", columns, rows, note)


def verdict(views: Sequence[View], found: Sequence[Pair], metric: str) -> str:
    """The ranking in a sentence: the best run, and which cannot be told from it."""
    best = ranked(views, metric)[0]
    said = f"{best.name} has the highest {METRICS[metric]}: {percent(best.results.metrics[metric])}."
    close = [pair.a for pair in found if pair.b == best.name and not pair.told_apart]
    if not close:
        return f"{said} All others are lower by more than chance explains."
    return f"{said} These samples cannot tell it from {_listed(close)}."


def ablation(views: Sequence[View], option: str, a: object, b: object, *, questions: Sequence[str]) -> Grid | None:
    """Accuracy with `option = a` minus accuracy with `option = b`, for runs alike in all else (Tables 8 and 9).

    None where no two runs differ in that option alone. Two that the guard keeps apart have dashes; the note says why.
    """
    rows: list[tuple[Cell, ...]] = []
    note = "Paired differences on the same scenes, with 95 % intervals; the run named is the first of its pair."
    for one, other in _twins(views, option, a, b):
        cells: list[Cell] = [one.name]
        try:
            cells += [_gap(other, one, question) for question in questions]
        except GuardError as error:
            cells += [None] * len(questions)
            note += f" {one.name} is not compared: {error}"
        rows.append(tuple(cells))
    if not rows:
        return None
    columns = (Column("Run"), *(Column(question.capitalize() or "All", "points") for question in questions))
    title = f"Accuracy, points: {option.replace('_', ' ')} {_value(a)} minus {_value(b)}"
    return Grid(f"ablation-{option}-{a}-{b}".replace("_", "-").lower(), title, columns, tuple(rows), note)


def varied(views: Sequence[View]) -> list[tuple[str, object, object]]:
    """Options of the task in which two runs of one model differ alone: `(option, first value, second value)`."""
    found: dict[tuple[str, str, str], tuple[str, object, object]] = {}
    for one, other in combinations(views, 2):
        if _same_model(one, other):
            names = _differing(one, other)
            if len(names) == 1:
                a, b = one.task.get(names[0]), other.task.get(names[0])
                key = (names[0], *sorted((canonical(a), canonical(b))))
                found.setdefault(key, (names[0], a, b))  # type: ignore[arg-type]
    return list(found.values())


def _twins(views: Sequence[View], option: str, a: object, b: object) -> list[tuple[View, View]]:
    return [
        (one, other)
        for one in views
        for other in views
        if one.task.get(option) == a
        and other.task.get(option) == b
        and _same_model(one, other)
        and _differing(one, other) == [option]
    ]


def _gap(a: View, b: View, question: str) -> Estimate | None:
    """`b` minus `a` in accuracy on one kind of question."""
    if question not in a.questions or question not in b.questions:
        return None
    found = compare(_only(a, question), _only(b, question), on="common", metrics=("accuracy",))
    return found.differences["accuracy"].difference


def _only(view: View, question: str) -> Scored:
    rows = np.flatnonzero(view.outcomes["question"] == question)
    return Scored(view.name, view.results, view.tables.take(rows))


def _same_model(one: View, other: View) -> bool:
    return canonical(one.run.manifest.model) == canonical(other.run.manifest.model)


def _differing(one: View, other: View) -> list[str]:
    names = dict.fromkeys([*one.task, *other.task])
    return [name for name in names if canonical(one.task.get(name)) != canonical(other.task.get(name))]


def _value(value: object) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
