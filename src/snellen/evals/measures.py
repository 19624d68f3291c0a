"""Which measures belong to which tables, and the results made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.core.errors import unknown
from snellen.core.estimates import Estimate, Float, Measure, Ratio, Ratios
from snellen.core.specs import Json
from snellen.core.tables import Table, Tables
from snellen.evals.box_measures import FIELD, Joined, ap_measure, facts_of, grounded, group_measures, per_image
from snellen.evals.results import Results, guard_of
from snellen.statistics.intervals import bootstrap, point

GROUPED = 12
"""An attribute with more values than this is no stratum of its own in the results (the tables still hold it)."""

PER_CLASS = frozenset({"f1", "precision", "recall", "ap", "ap50"})


def measure_of(tables: Tables, options: Mapping[str, Any]) -> Measure:
    """The measures of these tables: closed answers, or boxes.

    options for boxes: max_dets (500), chair (class | overlap | match), failures (count | parsed-only | strict).
    """
    if tables.kind == "answers":
        from snellen.scoring import choice  # and all that samples are made of, which boxes alone do not need

        return choice.measure(tables)
    return Joined((ap_measure(tables, options), *grounded(tables, options)))


@dataclass(frozen=True)
class Precision:
    """How intervals are made: none, or so many bootstrap draws with this seed."""

    intervals: bool = True
    draws: int = 1000
    seed: int = 0

    def of(self, measure: Measure, tables: Tables) -> dict[str, Estimate]:
        """The measure's figures on `tables`, with intervals over clusters."""
        if not self.intervals or not len(tables.outcomes):
            return point(measure, len(tables.outcomes))
        rng = np.random.default_rng(self.seed)
        return bootstrap(measure, tables.outcomes["cluster"], draws=self.draws, rng=rng)


def narrowed(tables: Tables, options: Mapping[str, Any], name: str) -> Narrowed:
    """The metric `name` of these tables, one of those of `measure_of`. AP, whose expectation over the order of boxes
    without confidences takes its time, is made ready for itself alone.
    """
    if tables.kind == "boxes":
        quick = Joined(grounded(tables, options))
        if name in quick.names:
            return Narrowed(quick, name)
    return Narrowed(measure_of(tables, options), name)


class Narrowed:
    """Some metrics of a measure, without the work for the others where they are parts of their own."""

    def __init__(self, inner: Measure, *names: str) -> None:
        if isinstance(inner, Joined):
            inner = next(part for part in inner.parts if set(names) <= set(part.names))
        self.names = names
        self.inner = inner
        ratios = inner.ratios if isinstance(inner, Ratios) else {}
        self.ratios: Mapping[str, Ratio] = {name: ratios[name] for name in names if name in ratios}

    def __call__(self, weights: Float) -> Mapping[str, Float]:
        """The metrics under each row of `weights`, and the same by class where there are any: `ap` and `ap.<class>`."""
        found = self.inner(weights)
        return {name: values for name, values in found.items() if {name, name.partition(".")[0]} & set(self.names)}


def results_of(
    tables: Tables,
    *,
    task: str,
    options: Mapping[str, Json],
    by: Sequence[str] = (),
    intervals: bool = True,
    draws: int = 1000,
    seed: int = 0,
) -> Results:
    """All metrics of `tables`, whole, per class and by groups, with intervals over clusters.

    by: groups that must be among them (an attribute of many values, `image`); SpecError for one that there is not.
    """
    how = Precision(intervals, draws, seed)
    boxes = tables.kind == "boxes"
    whole = measure_of(tables, options)
    metrics, per_class = split_classes(how.of(whole, tables), tables.classes)
    groups: dict[str, dict[str, dict[str, Estimate]]] = {}
    for name in strata(tables.outcomes, by):
        column = tables.outcomes[name]
        found = {}
        for value in np.unique(column).tolist():
            part = tables.take(np.flatnonzero(column == value))
            inner = Joined(grounded(part, options)) if boxes else measure_of(part, options)
            found[str(value)] = split_classes(how.of(inner, part), part.classes)[0]
        groups[name.removeprefix("attr.")] = found
    facts = {"samples": len(tables.outcomes), **counts(tables.outcomes), **tables.facts}
    if boxes:
        facts |= facts_of(tables, options, measure=whole)
        for name, measures in group_measures(tables, options, measure=whole).items():
            groups[name] = {value: split_classes(how.of(m, tables), tables.classes)[0] for value, m in measures.items()}
        if "image" in by:
            groups["image"] = per_image(tables, options)
    known = {"class", *(name.removeprefix(FIELD) for name in groups), *(["image"] if boxes else [])}
    known |= {name.removeprefix("attr.") for name in tables.outcomes.names if name.startswith("attr.")}
    for name in by:
        if name not in known:
            raise unknown("group", name, known)
    guard = guard_of(tables, **compared(options, boxes=boxes))
    return Results(task, metrics, per_class, groups, options, facts, guard)


GUARDED: Mapping[str, Json] = {
    "max_dets": 500, "chair": "class", "classes": "all", "failures": "count", "ties": "drop", "reader": "options",
}  # fmt: skip
"""Options that two results must share to be compared, and what they are where a task does not say."""

OF_BOXES = frozenset({"max_dets", "chair", "classes", "failures"})


def compared(options: Mapping[str, Json], *, boxes: bool) -> dict[str, Json]:
    """The options that the guard looks at."""
    return {name: options.get(name, usual) for name, usual in GUARDED.items() if (name in OF_BOXES) == boxes}


def split_classes(
    estimates: Mapping[str, Estimate], classes: Sequence[str]
) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    """`f1.<class>` and its like go to their class; the rest stays."""
    metrics: dict[str, Estimate] = {}
    per_class: dict[str, dict[str, Estimate]] = {label: {} for label in classes}
    for name, found in estimates.items():
        kind, dot, label = name.partition(".")
        if dot and kind in PER_CLASS and label in per_class:
            per_class[label][kind] = found
        else:
            metrics[name] = found
    return metrics, {label: found for label, found in per_class.items() if found}


def strata(outcomes: Table, by: Sequence[str] = ()) -> list[str]:
    """Columns by whose values results are split: the question, attributes of few values, and those named in `by`."""
    names = ["question", *(name for name in outcomes.names if name.startswith("attr."))]
    found = {name: len(np.unique(outcomes[name])) for name in names if name in outcomes}
    return [name for name, n in found.items() if 1 < n <= GROUPED or (n and name.removeprefix("attr.") in by)]


def counts(outcomes: Table) -> dict[str, Any]:
    """How many samples have which status and salvage level."""
    return {
        name: dict(zip(*(part.tolist() for part in np.unique(outcomes[name], return_counts=True)), strict=True))
        for name in ("status", "salvage")
    }
