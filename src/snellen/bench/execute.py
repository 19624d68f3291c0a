"""Carrying out a bench: every job becomes a scored run, or a reason why there is none. Doing it again goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from snellen.bench.config import Bench, ModelEntry
from snellen.bench.plan import Job, selection_of
from snellen.core.errors import DataError, GuardError, IncompleteError, SnellenError, StoreError
from snellen.core.stages import Model, Usage
from snellen.evals.imports import digest, import_file
from snellen.evals.native import add_native, asks_boxes, detection_spec, fixes_notation, prescribed
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.table import SPEAKING, build
from snellen.probing.contradiction import Verdict, preset
from snellen.probing.memory import declared_fits
from snellen.runs import cost
from snellen.runs.capacity import check_capacity
from snellen.runs.loop import Choices, Progress, Watch, open_or_create, work
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
        return _imported(bench, job, where)
    assert job.spec is not None
    entry = bench.models[job.model]
    task = open_task(job.task)
    model = build(job.spec, task=task)
    check_capacity(task, job.spec, requests=len(task.samples), context=entry.context,
                   single_picture=entry.single_picture or None)  # fmt: skip
    probe = _probed(bench, job, model, probes)
    if probe is not None and probe.contradicted and not _prescribes(job, entry):
        return Done(job, "stopped", reason=probe.reason, probe=probe)
    choices = Choices(selection=selection_of(bench))
    run = open_or_create(task, model, where, choices)
    price = cost.price_of(model.spec)
    if bench.budget is not None and price is not None:
        choices = replace(choices, stop=cost.budget(run, price, max(0.0, bench.budget - spent)))
    state: Progress = work(run, task, model, choices, progress=progress)
    return _scored(bench, job, run, state.stopped, probe)


def _probed(bench: Bench, job: Job, model: Model, probes: dict[str, Verdict | None]) -> Verdict | None:
    """What the probe of a model that writes boxes says, once for each model, prompt and notation."""
    if not bench.probe or model.spec.provider not in SPEAKING or not asks_boxes(job.task):
        return None
    prompt = str(detection_spec(job.task).get("prompt", "qwen3-vl"))
    notation = prescribed(job.task)
    name = f"{model.spec} {prompt} {notation}"
    if name not in probes:
        probes[name] = declared_fits(model, prompt=prompt, notation=notation)
    return probes[name]


def _prescribes(job: Job, entry: ModelEntry) -> bool:
    """Whether the protocol prescribes the notation whatever the model speaks: then nothing is declared wrongly."""
    return entry.native is not None or fixes_notation(job.task)


def _scored(bench: Bench, job: Job, run: Run, stopped: str, probe: Verdict | None) -> Done:
    try:
        score(run, draws=bench.bootstrap, failed=bench.failed)
    except IncompleteError as error:
        return Done(job, "incomplete", run, stopped or str(error), probe)
    native, source = bench.models[job.model].native, "declared"
    if native is None and probe is not None and probe.contradicted:
        native, source = preset(probe.best), "probed"
    if native is not None and asks_boxes(job.task):
        add_native(run, native, source=source, draws=bench.bootstrap, failed=bench.failed)
    return Done(job, "done", run, probe=probe)


def _imported(bench: Bench, job: Job, where: Path) -> Done:
    """Predictions that are there already, as a run about the same samples as everybody's."""
    assert job.predictions is not None
    if not job.predictions.exists():
        raise DataError(f"there is no such file: {job.predictions}")
    selection = selection_of(bench)
    if exists(where):
        run = Run.open(where)
        same = run.manifest.data.get(job.predictions.name) == digest(job.predictions)
        if not same or run.manifest.selection != selection:
            what = "the samples differ from" if same else "these predictions are not"
            raise StoreError(f"{what} those that were imported before: {job.predictions}. "
                             f"Remove {where} to import them anew")  # fmt: skip
    else:
        run = import_file(job.predictions, kind="coco", out=where, name=job.model, truth=job.task["data"],
                          format=job.format, split=job.task.get("split"), selection=selection)  # fmt: skip
    if not run.scored():
        score(run, draws=bench.bootstrap)
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
