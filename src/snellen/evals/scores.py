"""Scoring a run: replies -> readings -> derived tables -> results. Needs no model, and can be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from snellen.core.errors import IncompleteError, InputError
from snellen.core.stages import AnyTask, Exchange, Failed, Key, Prompt, Reading, Reply, Sample
from snellen.core.tables import Tables
from snellen.evals.measures import results_of
from snellen.evals.resolution import audit
from snellen.evals.results import Results
from snellen.evals.tasks import open_task
from snellen.runs.store import Run


def score(
    run: Run,
    *,
    intervals: bool = True,
    draws: int = 1000,
    seed: int = 0,
    incomplete: bool = False,
    failed: Literal["block", "count"] = "block",
) -> Results:
    """Scores all replies of `run`, writes its derived tables and `results.json`, and returns the results.

    IncompleteError where requests failed or were never made, unless `incomplete`: then only samples with all their
    answers count, and the results say how many those are; or `failed="count"`: then a failed request is a reply from
    which nothing can be read (the paper's oversize requests, PROTOCOLS section 2).
    """
    task = task_of(run)
    answers = answers_of(run, failed=failed)
    ragged = run.manifest.kind == "import"
    tables, missing = tabulate(task, answers, draws=run.manifest.draws, selection=run.selected(), ragged=ragged)
    if missing and not incomplete:
        some = ", ".join(repr(key.sample) for key in missing[:3])
        raise IncompleteError(
            f"{len(missing)} answers are missing (failed or never asked; the first: {some}). "
            f"Type:  snellen retry {run.path}   or score what there is with --incomplete"
        )
    results = results_of(tables, task=str(task.spec["task"]), options=_options(task), intervals=intervals, draws=draws,
                         seed=seed)  # fmt: skip
    seen = audit(run, tables)
    more: dict[str, Any] = {} if seen is None else {"resolution": seen.to_json()}
    if missing:
        more["missing_answers"] = len(missing)
    results = replace(results, facts={**results.facts, **more})
    run.write_tables(tables)
    run.write_results(results.to_json())
    return results


def task_of(run: Run) -> AnyTask:
    """The task that `run` was made with; where its data are gone, the error says whose they are."""
    try:
        return open_task(run.manifest.task)
    except InputError as error:
        error.add_note(f"named by the run {run.path}; relative paths start at the current folder, {Path.cwd()}")
        raise


def answers_of(run: Run, *, failed: Literal["block", "count"] = "block") -> Mapping[Key, Reply | Failed]:
    """The stored answers by key; with `count`, a failed request is a reply from which nothing can be read."""
    return _FailuresAsReplies(run.answers()) if failed == "count" else run.answers()


class _FailuresAsReplies(Mapping[Key, Reply | Failed]):
    """The answers, a failure read as an empty reply that was cut."""

    def __init__(self, answers: Mapping[Key, Reply | Failed]) -> None:
        self._answers = answers

    def __getitem__(self, key: Key) -> Reply | Failed:
        found = self._answers[key]
        return Reply(finish="length") if isinstance(found, Failed) else found

    def __iter__(self) -> Iterator[Key]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)


def tabulate(
    task: AnyTask,
    replies: Mapping[Key, Reply | Failed],
    *,
    draws: int = 1,
    selection: frozenset[str] | None = None,
    ragged: bool = False,
) -> tuple[Tables, list[Key]]:
    """The derived tables of all samples whose every call was answered, and the keys that were not.

    With several draws, each draw is an observation of its own (attribute `draw`; the cluster stays the sample's),
    unless the task reads all draws together (`Task.votes`). `selection` keeps the samples with these ids. `ragged`: not
    every sample has all draws (imported ratings), only one without any is missing.
    """
    missing: list[Key] = []

    def pairs() -> Iterator[tuple[Sample[Any], Reading[Any]]]:
        for sample in task.samples:
            if selection is not None and sample.id not in selection:
                continue
            prompts = task.prompts(sample)
            groups = [[p.drawn(d) for p in prompts] for d in range(draws)]
            if task.votes:
                groups = [[prompt for group in groups for prompt in group]]
            if ragged and len(groups) > 1:
                groups = [group for group in groups if _exchanges(group, replies)] or groups[:1]
            for group in groups:
                exchanges = _exchanges(group, replies)
                draw = group[0].key.draw if group else 0
                if len(exchanges) < len(group):
                    missing.extend(p.key for p in group if not isinstance(replies.get(p.key), Reply))
                    continue
                seen = (
                    sample
                    if draws == 1 or task.votes
                    else replace(sample, attributes={**sample.attributes, "draw": draw})
                )
                yield seen, _read(task, seen, exchanges)

    return task.tabulate(pairs()), missing


def _exchanges(prompts: list[Prompt], replies: Mapping[Key, Reply | Failed]) -> list[Exchange]:
    found = ((prompt, replies.get(prompt.key)) for prompt in prompts)
    return [Exchange(prompt, reply) for prompt, reply in found if isinstance(reply, Reply)]


def _read(task: AnyTask, sample: Sample[Any], exchanges: list[Exchange]) -> Reading[Any]:
    try:
        return task.read(sample, exchanges)
    except Exception as error:
        error.add_note(f"while reading the replies to sample {sample.id!r}")
        raise


def _options(task: AnyTask) -> dict[str, Any]:
    return {name: value for name, value in task.spec.items() if name != "task"}
