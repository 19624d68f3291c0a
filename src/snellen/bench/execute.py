"""Carrying out a bench: every job becomes a scored run, or a reason why there is none. Doing it again goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from snellen.bench.config import Bench, ModelEntry
from snellen.bench.plan import Job, selection_of
from snellen.bench.scoring import score_run, valid_part
from snellen.core.errors import DataError, IncompleteError, SnellenError, SpecError, StoreError
from snellen.core.stages import AnyTask, Failed, Model, Usage
from snellen.evals.imports import digest, import_file
from snellen.evals.native import asks_boxes, check_examples, detection_spec, fixes_notation, prescribed
from snellen.evals.tasks import open_task
from snellen.models.table import build, speaks
from snellen.probing.contradiction import Verdict
from snellen.probing.memory import declared_fits
from snellen.runs import cost
from snellen.runs.capacity import check_capacity
from snellen.runs.loop import Choices, Progress, Watch, open_or_create, work
from snellen.runs.store import Run, exists

State: TypeAlias = Literal["done", "incomplete", "stopped", "error"]
Told: TypeAlias = Callable[[Job, str], None]


@dataclass(frozen=True)
class Done:
    """What became of a job. `run` where there is one; `reason` where it is not simply done. asked: all its runs, also
    that on the validation part.
    """

    job: Job
    state: State
    run: Run | None = None
    reason: str = ""
    probe: Verdict | None = None
    asked: tuple[Run, ...] = ()


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
    if job.spec is None:
        raise SpecError(job.fault)
    entry = bench.models[job.model]
    task = open_task(job.task)
    model = build(job.spec, task=task)
    check_capacity(task, job.spec, requests=len(task.samples), context=entry.context,
                   single_picture=entry.single_picture or None)  # fmt: skip
    check_examples(task, job.spec)
    probe = _probed(bench, job, model, probes)
    if probe is not None and probe.contradicted and not _prescribes(job, entry):
        return Done(job, "stopped", reason=probe.reason, probe=probe)
    asker = _Asker(bench, spent, progress)
    run, stopped = asker.ask(task, model, where)

    def valid() -> Run:
        assert job.spec is not None
        apart = open_task({**job.task, "split": valid_part(bench, job)})
        beside, early = asker.ask(apart, build(job.spec, task=apart), _beside(where))
        if _left(bench, beside):
            raise IncompleteError(f"the validation part, where the operating point is chosen: "
                                  f"{early or f'{_left(bench, beside)} answers are missing'}")  # fmt: skip
        return beside

    try:
        chosen = None if _left(bench, run) or valid_part(bench, job) is None else valid
        score_run(bench, job, run, probe=probe, valid=chosen)
    except IncompleteError as error:
        reason = stopped or (missing(run) if _left(bench, run) else str(error))
        return Done(job, "incomplete", run, reason, probe, asker.asked)
    return Done(job, "done", run, probe=probe, asked=asker.asked)


@dataclass
class _Asker:
    """Asks models within what is left of the budget; asked: the runs that were worked on."""

    bench: Bench
    spent: float
    progress: Watch | None
    asked: tuple[Run, ...] = ()

    def ask(self, task: AnyTask, model: Model, where: Path) -> tuple[Run, str]:
        """The run at `where`, and why it ended early, if it did."""
        choices = Choices(selection=selection_of(self.bench))
        run = open_or_create(task, model, where, choices)
        price = cost.price_of(model.spec)
        if self.bench.budget is not None and price is not None:
            before = self.spent + sum(price.of(usage_of(each)) for each in self.asked)
            choices = replace(choices, stop=cost.budget(run, price, max(0.0, self.bench.budget - before)))
        self.asked = (*self.asked, run)
        state: Progress = work(run, task, model, choices, progress=self.progress)
        return run, state.stopped


def _beside(where: Path) -> Path:
    """Where the run on the validation part lies."""
    return where.with_name(f"{where.name}-valid")


def missing(run: Run) -> str:
    """How many answers a run lacks, by what most of its failed requests failed, and what to do."""
    done, _ = run.answered()
    causes = Counter((a.cause, a.message) for _, a in run.replies() if isinstance(a, Failed))
    text = f"{run.manifest.requests - len(done):,} of {run.manifest.requests:,} answers are missing"
    if causes:
        (cause, message), times = causes.most_common(1)[0]
        most = "" if len(causes) == 1 else f", {times:,} of them"
        said = f"{cause}: {message}".strip(": ")
        text += f"; {causes.total():,} failed{most} by {said[:MOST_SAID]}{'...' if len(said) > MOST_SAID else ''}"
    return f"{text}. The same command again asks for them; failed: count takes a failed request for an unreadable reply"


MOST_SAID = 300
"""Characters of a failure that are shown."""


def _left(bench: Bench, run: Run) -> int:
    """Answers that are missing; a failed request is an answer where failures count."""
    done, failed = run.answered()
    return run.manifest.requests - len(done) - (len(failed) if bench.failed == "count" else 0)


def _probed(bench: Bench, job: Job, model: Model, probes: dict[str, Verdict | None]) -> Verdict | None:
    """What the probe of a model that writes boxes says, once for each model, prompt and notation."""
    if not bench.probe or not speaks(model) or not asks_boxes(job.task):
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


def _imported(bench: Bench, job: Job, where: Path) -> Done:
    """Predictions that are there already, as a run about the same samples as everybody's."""
    assert job.predictions is not None
    files = bench.models[job.model].valid_predictions or {}
    part = valid_part(bench, job)
    if part is not None and job.data not in files:
        raise SpecError(f"operating_point: best-f1-on-valid needs valid_predictions of {job.data}")

    def valid() -> Run:
        return _placed(bench, job, Path(files[job.data]), {**job.task, "split": part}, _beside(where))

    run = _placed(bench, job, job.predictions, job.task, where)
    score_run(bench, job, run, valid=None if part is None else valid)
    return Done(job, "done", run)


def _placed(bench: Bench, job: Job, file: Path, task: Mapping[str, Any], where: Path) -> Run:
    """The run of the predictions in `file`, made once."""
    if not file.exists():
        raise DataError(f"there is no such file: {file}")
    selection, entry = selection_of(bench), bench.models[job.model]
    refs = {"image_refs": entry.image_refs, "class_refs": entry.class_refs}
    if not exists(where):
        return import_file(file, kind="coco", out=where, name=job.model, truth=task["data"], format=job.format,
                           split=task.get("split"), selection=selection, **refs)  # fmt: skip
    run = Run.open(where)
    same = run.manifest.data.get(file.name) == digest(file)
    was = run.manifest.notes
    read = (was.get("images_by"), was.get("classes_by"))
    reread = (entry.image_refs or read[0], entry.class_refs or read[1]) != read
    if not same or run.manifest.selection != selection or reread:
        what = "image_refs or class_refs differ from" if reread else "the samples differ from"
        what = what if same else "these predictions are not"
        raise StoreError(f"{what} those that were imported before: {file}. Remove {where} to import them anew")
    return run


def spent(finished: Sequence[Done]) -> float:
    """USD that the runs so far have cost, where their prices are known."""
    total = 0.0
    for done in finished:
        known = cost.price_of(done.job.spec) if done.asked and done.job.spec is not None else None
        if known is not None:
            total += sum(known.of(usage_of(run)) for run in done.asked)
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
    """IncompleteError unless something was scored at all; what several jobs have in common is said once."""
    if any(each.state == "done" for each in done):
        return
    reasons: dict[str, list[str]] = {}
    for each in done:
        reasons.setdefault(each.reason, []).append(each.job.name)
    raise IncompleteError(
        "nothing was scored: " + "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    )
