"""The first section: what was scored, how well, who is better, and what stands out."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.report import answer_tables
from snellen.report.blocks import Block, Findings, Section
from snellen.report.comparisons import main_metric, pairs, pairs_grid, verdict
from snellen.report.grids import percent
from snellen.report.inputs import View, comparable


def section(views: Sequence[View], *, id: str = "overview") -> Section:
    """The overview of runs that may stand in one table."""
    groups = comparable(views)
    said: list[tuple[str, tuple[str, ...]]] = []
    tables: list[Block] = []
    for i, group in enumerate(groups):
        metric = main_metric(group)
        if metric is None:
            continue
        if len(group) == 1:
            said.append(("", (_alone(group[0], metric),)))
            continue
        found = pairs(group, metric)
        said.append((_of(group) if len(groups) > 1 else "", (verdict(group, found, metric),)))
        tables.append(pairs_grid(f"pairs-{i + 1}", found, metric))
    blocks: list[Block] = [Findings(tuple(said))] if said else []
    blocks.append(answer_tables.headline(views))
    return Section(id, "Overview", (*blocks, *tables))


def _alone(view: View, metric: str) -> str:
    return f"{view.name}: {metric.replace('_', ' ')} {percent(view.results.metrics[metric])} on {_of([view])}."


def _of(group: Sequence[View]) -> str:
    view = group[0]
    return f"{view.results.task}, {len(view.outcomes):,} samples"
