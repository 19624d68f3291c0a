"""Carrying out a bench: every job becomes a scored run, or a reason why there is none. Doing it again goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from snellen.bench.config import Bench
from snellen.bench.plan import Job
from snellen.core.errors import GuardError, IncompleteError, SnellenError
from snellen.core.stages import Usage
from snellen.evals.imports import import_file
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.table import SPEAKING, build
from snellen.probing.contradiction import Verdict
from snellen.probing.memory import declared_fits
from snellen.runs import cost
from snellen.runs.loop import Choices, Progress, Watch, open_or_create, work
from snellen.runs.manifest import Selection
from snellen.runs.store import Run, exists

State: TypeAlias = Literal["done", "incomplete", "stopped", "error"]
Told: TypeAlias = Callable[[Job, str], None]


@dataclass(frozen=True)
class Done:
    """What became of a job. `run` where there is one; `reason` where it is not simply done."""

    job: Job
    state: State
    run: Run | None = None
    reason: str = ""
    probe: Verdict | None = None


def execute(
    bench: Bench, jobs: Sequence[Job], out: Path, *, told: Told | None = None, progress: Watch | None = None
) -> list[Done]:
    """All jobs in order. A job that cannot be done does not hold back the others; the budget holds for all together."""
    finished: list[Done] = []
    probes: dict[str, Verdict | None] = {}
    for job in jobs:
        if told is not None:
            told(job, "")
        try:
            done = _one(bench, job, out / "runs" / job.name, spent=spent(finished), probes=probes, progress=progress)
        except SnellenError as error:
            done = Done(job, "error", reason=str(error))
        finished.append(done)
        if told is not None:
            told(job, done.state if not done.reason else f"{done.state}: {done.reason}")
    return finished


def _one(
    bench: Bench,
    job: Job,
    where: Path,
    *,
    spent: float,
    probes: dict[str, Verdict | None],
    progress: Watch | None,
) -> Done:
    if job.predictions is not None:
        return _imported(job, where)
    assert job.spec is not None
    task = open_task(job.task)
    model = build(job.spec, task=task)
    probe = None
    if bench.probe and job.task["task"] == "detect" and job.spec.provider in SPEAKING:
        name = f"{job.spec} {job.task.get('prompt')} {task.spec.get('notation')}"
        if name not in probes:
            probes[name] = declared_fits(model, task)
        probe = probes[name]
        if probe is not None and probe.contradicted:
            return Done(job, "stopped", reason=probe.reason, probe=probe)
    selection = Selection(sample=bench.sample, seed=bench.seed if bench.sample else 0)
    choices = Choices(selection=selection)
    run = open_or_create(task, model, where, choices)
    price = cost.price_of(model.spec)
    if bench.budget is not None and price is not None:
        choices = replace(choices, stop=cost.budget(run, price, max(0.0, bench.budget - spent)))
    state: Progress = work(run, task, model, choices, progress=progress)
    return _scored(bench, job, run, state.stopped, probe)


def _scored(bench: Bench, job: Job, run: Run, stopped: str, probe: Verdict | None) -> Done:
    try:
        score(run, draws=bench.bootstrap, failed=bench.failed)
    except IncompleteError as error:
        return Done(job, "incomplete", run, stopped or str(error), probe)
    return Done(job, "done", run, probe=probe)


def _imported(job: Job, where: Path) -> Done:
    assert job.predictions is not None
    if exists(where):
        run = Run.open(where)
    else:
        options = {name: job.task.get(name) for name in ("split",)}
        run = import_file(job.predictions, kind="coco", out=where, name=job.model, truth=job.task["data"],
                          format=job.format, **options)  # fmt: skip
    if not run.scored():
        score(run)
    return Done(job, "done", run)


def spent(finished: Sequence[Done]) -> float:
    """USD that the runs so far have cost, where their prices are known."""
    total = 0.0
    for done in finished:
        if done.run is None or done.job.spec is None:
            continue
        known = cost.price_of(done.job.spec)
        if known is not None:
            total += known.of(usage_of(done.run))
    return total


def usage_of(run: Run) -> Usage:
    """Tokens of all replies of a run."""
    total = Usage()
    for _, answer in run.replies():
        usage = getattr(answer, "usage", None)
        if usage is not None:
            total = total + usage
    return total


def check_names(done: Sequence[Done]) -> None:
    """GuardError unless something was scored at all."""
    if not any(each.state == "done" for each in done):
        raise GuardError("nothing was scored: " + "; ".join(f"{d.job.name}: {d.reason}" for d in done))
