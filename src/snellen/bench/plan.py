"""What a bench will do: the jobs, their folders, requests and price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snellen.bench.config import Bench, DataEntry, ModelEntry
from snellen.core.errors import DataError, SnellenError
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import Reply
from snellen.evals.tasks import open_task
from snellen.models.named import resolve
from snellen.models.table import build
from snellen.runs.capacity import check_capacity
from snellen.runs.cost import Plan
from snellen.runs.cost import plan as plan_cost
from snellen.runs.manifest import Selection
from snellen.runs.selection import survey
from snellen.runs.store import Run, exists

IMPORTED = "imported"
"""The regime of predictions that are there already."""
EXAM = "exam"
"""The regime of an exam: exams have their own instruction."""


@dataclass(frozen=True)
class Job:
    """One run: a model under a regime on a data set, with one seed."""

    data: str
    model: str
    regime: str
    seed: int
    task: Mapping[str, Json]
    spec: ModelSpec | None = None
    predictions: Path | None = None
    format: str | None = None

    @property
    def name(self) -> str:
        """`data/model/regime/seed-0`, also its folder among the runs."""
        return f"{self.data}/{self.model}/{self.regime}/seed-{self.seed}"


def jobs_of(bench: Bench, *, models_file: Path = Path("models.yaml")) -> list[Job]:
    """All jobs, data set by data set, so that an early end leaves whole data sets."""
    return [
        job
        for data_name, data in bench.data.items()
        for model_name, model in bench.models.items()
        for job in _jobs(bench, data_name, data, model_name, model, models_file)
    ]


def _jobs(
    bench: Bench, data_name: str, data: DataEntry, model_name: str, model: ModelEntry, models_file: Path
) -> list[Job]:
    if model.predictions is not None:
        if data_name not in model.predictions:
            return []
        task = _detection(data, model, {})
        file = Path(model.predictions[data_name])
        return [Job(data_name, model_name, IMPORTED, 0, task, predictions=file, format=model.format)]
    spec = _spec(model, models_file)
    regimes = data.regimes or ({EXAM: {}} if data.exam is not None else bench.regimes)
    return [
        Job(data_name, model_name, regime, seed, _task(data, model, _seeded(options, seed)), with_seed(spec, seed))
        for regime, options in regimes.items()
        for seed in _seeds(bench, spec, options)
    ]


def _task(data: DataEntry, model: ModelEntry, regime: Mapping[str, Any]) -> dict[str, Json]:
    if data.exam is not None:
        return {"task": data.exam, **data.options, **regime}
    return _detection(data, model, regime)


def _detection(data: DataEntry, model: ModelEntry, regime: Mapping[str, Any]) -> dict[str, Json]:
    task: dict[str, Json] = {"task": "detect", "data": data.path}
    given = {"split": data.split, "format": data.format, "cluster": data.cluster, **data.options}
    given |= {"notation": model.notation, "prompt": model.prompt, **regime}
    return task | {name: value for name, value in given.items() if value is not None}


def _spec(model: ModelEntry, models_file: Path) -> ModelSpec:
    spec = resolve(str(model.model), [], file=models_file)
    price = {"price": list(model.price)} if model.price is not None and spec.provider == "openai" else {}
    return ModelSpec(spec.provider, spec.name, {**spec.options, **model.options, **price})


def _seeds(bench: Bench, spec: ModelSpec, options: Mapping[str, Any]) -> tuple[int, ...]:
    """Several seeds only where something is drawn: examples, or a model above temperature 0."""
    drawn = "few-shot" in str(options.get("regime", "")) or bool(spec.options.get("temperature"))
    return bench.seeds if drawn else bench.seeds[:1]


def _seeded(options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    return {**options, **({"shots_seed": seed} if "few-shot" in str(options.get("regime", "")) else {})}


def with_seed(spec: ModelSpec, seed: int) -> ModelSpec:
    """The model with its sampling seed, where it samples."""
    if not spec.options.get("temperature"):
        return spec
    return ModelSpec(spec.provider, spec.name, {**spec.options, "seed": seed})


def selection_of(bench: Bench) -> Selection:
    """The samples of each data set that the bench is about."""
    return Selection(sample=bench.sample, seed=bench.seed if bench.sample else 0)


@dataclass(frozen=True)
class Forecast:
    """What a job will ask, cost and take. plan: of all its requests; None for predictions that are there already.

    answered: requests with a reply in the store. seconds: of what is left, None where nobody knows; timed: where that
    is from (`measured`, `declared`, `guessed`). fault: why the job cannot be done.
    """

    job: Job
    plan: Plan | None = None
    answered: int = 0
    seconds: float | None = None
    timed: str = ""
    fault: str = ""

    @property
    def left(self) -> int:
        """Requests still to be made."""
        return 0 if self.plan is None else max(0, self.plan.requests - self.answered)

    @property
    def dollars(self) -> float | None:
        """USD of what is left; 0 for what runs here without a price, None where the price is not known."""
        if self.plan is None or self.job.spec is None or self.job.spec.provider in HERE:
            return 0.0
        if self.plan.dollars is None:
            return None
        return self.plan.dollars * self.left / max(1, self.plan.requests)

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "job": self.job.name, **({} if self.plan is None else self.plan.to_json()), "answered": self.answered,
            "left": self.left, "seconds": self.seconds, "timed": self.timed, "fault": self.fault,
        }  # fmt: skip


HERE = frozenset({"fake", "random", "majority", "oracle", "observer", "replay", "hf", "onnx", "embedded"})
"""Providers that run on this machine: no request costs money."""

QUICK = frozenset({"fake", "random", "majority", "oracle", "observer", "replay"})
"""Providers whose time is not worth a word."""

WAIT, TOKENS_PER_SECOND = 1.0, 40.0
"""A guess of a server's latency: what any request takes, and how fast an answer is written."""


def forecast(bench: Bench, job: Job, out: Path | None = None) -> Forecast:
    """What one job will ask, from its prompts, and what of it is answered in `out`; a fault where it cannot be done."""
    try:
        return _forecast(bench, job, out)
    except SnellenError as error:
        return Forecast(job, fault=str(error))


def _forecast(bench: Bench, job: Job, out: Path | None) -> Forecast:
    if job.spec is None:
        if job.predictions is not None and not job.predictions.exists():
            raise DataError(f"there is no such file: {job.predictions}")
        return Forecast(job)
    entry, task = bench.models[job.model], open_task(job.task)
    if job.spec.provider not in {"hf", "onnx", "embedded"}:
        build(job.spec, task=task)  # tells unknown providers and options, and missing keys
    check_capacity(task, job.spec, requests=len(task.samples), context=entry.context,
                   single_picture=entry.single_picture or None)  # fmt: skip
    found = survey(task, selection_of(bench))
    plan = plan_cost(task, job.spec, ids=found.ids, requests=found.requests)
    stored = None if out is None or not exists(out / "runs" / job.name) else Run.open(out / "runs" / job.name)
    answered = 0 if stored is None else len(stored.answered()[0])
    whole = Forecast(job, plan, answered)
    seconds, timed = _latency(entry, job, plan, found.samples, stored)
    concurrency = job.spec.options.get("concurrency", 16 if job.spec.provider == "openai" else 1)
    lanes = concurrency if isinstance(concurrency, int) and concurrency > 0 else 1
    return replace(whole, seconds=None if seconds is None else seconds * whole.left / lanes, timed=timed)


def _latency(entry: ModelEntry, job: Job, plan: Plan, samples: int, stored: Run | None) -> tuple[float | None, str]:
    """Seconds a request: as measured in earlier replies, as declared, or a guess for models behind a server."""
    if stored is not None:
        known = [a.seconds for _, a in stored.replies() if isinstance(a, Reply) and a.seconds is not None]
        if known:
            return sum(known) / len(known), "measured"
    if entry.seconds_per_image is not None:
        return entry.seconds_per_image * samples / max(1, plan.requests), "declared"
    assert job.spec is not None
    if job.spec.provider in QUICK:
        return 0.0, ""
    if job.spec.provider == "openai":
        return WAIT + plan.usage.output_tokens / max(1, plan.requests) / TOKENS_PER_SECOND, "guessed"
    return None, ""
