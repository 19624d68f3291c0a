"""The first section: what was scored, how well, who is better, and what stands out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from snellen.report import answer_tables, box_terms
from snellen.report.blocks import Block, Findings, Section
from snellen.report.comparisons import METRICS, main_metrics, pairs, pairs_grid, verdict
from snellen.report.grids import percent
from snellen.report.inputs import View, comparable


def section(views: Sequence[View], *, id: str = "overview") -> Section:
    """The overview of runs that may stand in one table."""
    groups = comparable(views)
    said: list[tuple[str, tuple[str, ...]]] = []
    tables: list[Block] = []
    for i, group in enumerate(groups):
        metrics = main_metrics(group)
        if not metrics:
            continue
        if len(group) == 1:
            said.append(("", (_alone(group[0], metrics[0]),)))
            continue
        found = pairs(group, metrics)
        sentences = tuple(verdict(group, some, metric) for metric, some in found.items())
        said.append((_of(group) if len(groups) > 1 else "", sentences))
        tables += [pairs_grid(f"pairs-{metric}-{i + 1}", some, metric) for metric, some in found.items()]
    blocks: list[Block] = [Findings(tuple(said))] if said else []
    blocks.append(box_terms.set_grid(views) if views[0].grounded else answer_tables.headline(views))
    return Section(id, "Overview", (*blocks, *tables), _narrowed(views))


def _narrowed(views: Sequence[View]) -> str:
    """That the runs were narrowed to the samples that all answered, where they were."""
    told = [(view.name, view.results.facts["on_common"]) for view in views if "on_common" in view.results.facts]
    if not told:
        return ""
    whole = ", ".join(f"{name} {of:,}" for name, (_, of) in told)
    return f"On the {told[0][1][0]:,} samples that all runs answered. Each answered: {whole}."


def _alone(view: View, metric: str) -> str:
    return f"{view.name}: {METRICS[metric]} {percent(view.results.metrics[metric])} on {_of([view])}."


def about(group: Sequence[View]) -> str:
    """What these runs are about, in a few words."""
    tasks = dict.fromkeys(_task(view) for view in group)
    questions = dict.fromkeys(question for view in group for question in view.questions if question)
    asked = f": {', '.join(questions)}" if 0 < len(questions) <= 4 else ""
    samples = f"({len(group[0].outcomes):,} samples)"
    return f"{group[0].data}: {', '.join(tasks)} {samples}" if group[0].data else f"{', '.join(tasks)}{asked} {samples}"


def _task(view: View) -> str:
    """The task, and the folder and part that it is about."""
    words = [view.results.task]
    if isinstance(view.task.get("data"), str):
        words.append(PurePath(str(view.task["data"])).name)
    if isinstance(view.task.get("split"), str):
        words.append(str(view.task["split"]))
    if view.task.get("classes") == "present":
        words.append("classes present only")
    return " ".join(words)


def _of(group: Sequence[View]) -> str:
    view = group[0]
    return f"{view.results.task}, {len(view.outcomes):,} samples"
