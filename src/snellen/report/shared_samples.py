"""Runs of unequal samples beside each other: all narrowed to the samples that every one of them answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from snellen.core.errors import GuardError
from snellen.evals.measures import Precision, results_of
from snellen.evals.score_sources import with_sources
from snellen.report.inputs import View


def on_common(views: Sequence[View]) -> list[View]:
    """The runs on the samples, of equal truth, that all of them answered; their results are worked out again.

    GuardError where there is no such sample, or runs of boxes and of closed questions are mixed.
    """
    if len({view.grounded for view in views}) > 1:
        raise GuardError("runs of boxes and of closed questions have no samples in common")
    shared = frozenset.intersection(*(_truths(view) for view in views))
    if not shared:
        raise GuardError(f"no sample was answered by all of {', '.join(view.name for view in views)}")
    return [_narrowed(view, {sample for sample, _ in shared}) for view in views]


def _truths(view: View) -> frozenset[tuple[str, str]]:
    """Samples and what is true of them: the target, or how many instances there are."""
    outcomes = view.outcomes
    truth = outcomes["truths"].astype(str) if view.grounded else outcomes["target"]
    return frozenset(zip(outcomes["sample"].tolist(), truth.tolist(), strict=True))


def _narrowed(view: View, samples: set[str]) -> View:
    every = view.outcomes["sample"].tolist()
    rows = np.array([i for i, sample in enumerate(every) if sample in samples], dtype=np.int64)
    told = {"on_common": [len(samples), len(set(every))]}
    if len(rows) == len(every):
        return replace(view, results=replace(view.results, facts={**view.results.facts, **told}))
    tables = view.tables.take(rows)
    if not view.grounded:
        labels = set(tables.outcomes["target"].tolist())
        tables = replace(tables, classes=tuple(label for label in tables.classes if label in labels))
    found = results_of(tables, task=view.results.task, options=view.results.options)
    found = with_sources(found, tables, {}, Precision())
    return replace(view, tables=tables, results=replace(found, facts={**found.facts, **told}))
