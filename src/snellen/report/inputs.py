"""What a report reads from a run: manifest, results, derived tables, replies. The only file that knows the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from snellen.core.specs import Json, canonical
from snellen.core.stages import Failed, Key, Reply
from snellen.core.tables import Table, Tables
from snellen.evals.comparison import Scored
from snellen.evals.results import Results
from snellen.runs.store import Run

QUESTIONS = ("category", "shape", "color", "sheen", "position")
"""The order of the paper's tables."""

NAMED = 32
"""An option whose value is longer as JSON (a path, a hash) is no part of a run's name."""


@dataclass(frozen=True, eq=False)
class View:
    """A run as the report sees it. `name` tells it from the others of its data set, `slug` names its files.

    data: what a bench calls the data set; "" elsewhere.
    """

    name: str
    slug: str
    run: Run
    results: Results
    tables: Tables
    data: str = ""

    @property
    def title(self) -> str:
        """The name that tells it from all others on the page."""
        return f"{self.name}, {self.data}" if self.data else self.name

    @property
    def model(self) -> str:
        """`provider/name`."""
        return self.run.manifest.model_name

    @property
    def task(self) -> Mapping[str, Json]:
        """The task's canonical spec."""
        return self.run.manifest.task

    @property
    def outcomes(self) -> Table:
        """A row per sample."""
        return self.tables.outcomes

    @property
    def grounded(self) -> bool:
        """Whether it is about boxes, not about closed questions."""
        return self.tables.kind == "boxes"

    @property
    def scored_detections(self) -> bool:
        """Whether all predicted boxes have scores (closed answers need none)."""
        if self.tables.kind == "answers":
            return True
        table = self.tables.instances
        return bool(np.isfinite(table["score"][~table["truth"]]).all())

    @property
    def scored(self) -> Scored:
        """The run as comparisons take it."""
        return Scored(self.name, self.results, self.tables)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The kinds of question: the paper's in its order, then others in order of appearance."""
        found = dict.fromkeys(self.outcomes["question"].tolist()) if "question" in self.outcomes else {}
        return tuple(sorted(found, key=lambda name: QUESTIONS.index(name) if name in QUESTIONS else len(QUESTIONS)))

    def asked(self, question: str) -> Table:
        """The outcomes of one kind of question."""
        return self.outcomes.take(self.outcomes["question"] == question)

    @cached_property
    def asked_of(self) -> Mapping[str, frozenset[tuple[str, str]]]:
        """For each kind of question, the samples and their truths."""
        asked = ((q, self.asked(q)) for q in self.questions)
        return {q: frozenset(zip(t["sample"].tolist(), t["target"].tolist(), strict=True)) for q, t in asked}

    def replies_to(self, samples: Iterable[str]) -> dict[str, list[tuple[Key, Reply | Failed]]]:
        """Replies to these samples, in the order of their keys."""
        wanted = set(samples)
        found: dict[str, list[tuple[Key, Reply | Failed]]] = {}
        for key, reply in self.run.replies():
            if key.sample in wanted:
                found.setdefault(key.sample, []).append((key, reply))
        return {sample: sorted(pairs, key=lambda pair: pair[0]) for sample, pairs in found.items()}

    @cached_property
    def failures(self) -> list[tuple[Key, Failed]]:
        """Requests that the world failed and no later attempt mended."""
        found = ((key, reply) for key, reply in self.run.replies() if isinstance(reply, Failed))
        return sorted(found, key=lambda pair: pair[0])


def views_of(runs: Sequence[Run], names: Sequence[str] | None = None, data: Sequence[str] | None = None) -> list[View]:
    """The runs under names that differ: the model; then the options of the task, then the folder, where needed. Or
    under `names`, one a run, all different within each of the data sets `data`, one a run.

    StoreError where a run was not scored.
    """
    return [
        View(name, f"run-{i}", run, Results.from_json(run.results()), run.tables(), of)
        for i, (run, name, of) in enumerate(
            zip(runs, names or names_of(runs), data or [""] * len(runs), strict=True), 1
        )
    ]


def comparable(views: Sequence[View]) -> list[list[View]]:
    """Runs that share what the guard asks for, together, in order of appearance."""
    groups: dict[str, list[View]] = {}
    for view in views:
        groups.setdefault(canonical({"guard": view.results.guard, "boxes": view.grounded}), []).append(view)
    return list(groups.values())


def parts(views: Sequence[View]) -> list[list[View]]:
    """Runs that may stand in one table: of one data set of a bench, no two of them give different truths, or samples,
    to one kind of question, or were scored by different rules.
    """
    found: list[list[View]] = []
    for view in views:
        home = next((part for part in found if all(_agree(view, other) for other in part)), None)
        if home is None:
            found.append([view])
        else:
            home.append(view)
    return found


def _agree(one: View, other: View) -> bool:
    if one.data != other.data:
        return False
    if one.grounded or other.grounded:
        return one.grounded == other.grounded and one.results.guard == other.results.guard
    guards = ({k: v for k, v in view.results.guard.items() if k not in {"truth", "samples"}} for view in (one, other))
    if one.results.task == other.results.task and canonical(next(guards)) != canonical(next(guards)):
        return False
    shared = set(one.questions) & set(other.questions)
    return all(one.asked_of[question] == other.asked_of[question] for question in shared)


def names_of(runs: Sequence[Run]) -> list[str]:
    """Names that differ: the model; else with the options in which runs of it differ; else the run's folder."""
    models = [run.manifest.model_name.removeprefix("import/") for run in runs]
    names = list(models)
    for i, run in enumerate(runs):
        peers = [other for other, model in zip(runs, models, strict=True) if model == models[i]]
        if len(peers) > 1:
            said = [*_differing(run, peers, "task"), *_differing(run, peers, "model")]
            names[i] = f"{models[i]} ({', '.join(said)})" if said else models[i]
    counts = Counter(names)
    for i, run in enumerate(runs):
        if counts[names[i]] > 1:
            names[i] = run.name if models[i] in run.name else f"{names[i]} [{run.name}]"
    counts, seen = Counter(names), Counter[str]()
    for i, name in enumerate(names):
        if counts[name] > 1:
            seen[name] += 1
            names[i] = f"{name} #{seen[name]}"
    return names


def _differing(run: Run, peers: Sequence[Run], part: str) -> list[str]:
    """The options of the task or the model in which a run differs from others of the same model, if short enough."""

    def options(of: Run) -> Mapping[str, Any]:
        return of.manifest.task if part == "task" else of.manifest.model.get("options", {})

    names = dict.fromkeys(name for peer in peers for name in options(peer))
    said = []
    for name in names:
        values = {canonical(options(peer).get(name)) for peer in peers}
        if len(values) > 1 and all(len(value) <= NAMED for value in values):
            value = options(run).get(name)
            if value is None:
                continue
            said.append(str(value) if name == "task" else f"{name.replace('_', ' ')} {_plain(value)}")
    return said


def _plain(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
