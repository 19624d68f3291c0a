"""What the jobs of a bench will ask, cost and take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snellen.bench.config import Bench, ModelEntry
from snellen.bench.plan import Job, selection_of
from snellen.bench.scoring import valid_part
from snellen.core.errors import DataError, SnellenError, SpecError
from snellen.evals.native import check_examples
from snellen.evals.tasks import open_task
from snellen.models.table import build
from snellen.runs.capacity import check_capacity
from snellen.runs.cost import Plan
from snellen.runs.cost import plan as plan_cost
from snellen.runs.selection import survey
from snellen.runs.speed import lanes, speed_of
from snellen.runs.store import Run, exists


@dataclass(frozen=True)
class Forecast:
    """What a job will ask, cost and take. plan: of all its requests; None for predictions that are there already.

    answered: requests with a reply in the store. seconds: of what is left, None where nobody knows; timed: where that
    is from (`measured`, `declared`, `guessed`). valid: requests about the validation part, should the boxes turn out to
    have scores; they are in none of the other figures. fault: why the job cannot be done.
    """

    job: Job
    plan: Plan | None = None
    answered: int = 0
    seconds: float | None = None
    timed: str = ""
    valid: int = 0
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
            "left": self.left, "seconds": self.seconds, "timed": self.timed, "valid": self.valid, "fault": self.fault,
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
    if job.fault:
        raise SpecError(job.fault)
    if job.spec is None:
        if job.predictions is not None and not job.predictions.exists():
            raise DataError(f"there is no such file: {job.predictions}")
        return Forecast(job)
    entry, task = bench.models[job.model], open_task(job.task)
    if job.spec.provider not in {"hf", "onnx", "embedded"}:
        build(job.spec, task=task)  # tells unknown providers and options, and missing keys
    check_capacity(task, job.spec, requests=len(task.samples), context=entry.context,
                   single_picture=entry.single_picture or None)  # fmt: skip
    check_examples(task, job.spec)
    found = survey(task, selection_of(bench))
    plan = plan_cost(task, job.spec, ids=found.ids, requests=found.requests)
    place = None if out is None else out / "runs" / job.name
    answered = len(Run.open(place).answered()[0]) if place is not None and exists(place) else 0
    part = valid_part(bench, job)
    more = 0 if part is None else survey(open_task({**job.task, "split": part}), selection_of(bench)).requests
    whole = Forecast(job, plan, answered, valid=more)
    seconds, timed = _latency(entry, job, plan, found.samples, place)
    return replace(whole, seconds=None if seconds is None else seconds * whole.left / lanes(job.spec), timed=timed)


def _latency(entry: ModelEntry, job: Job, plan: Plan, samples: int, place: Path | None) -> tuple[float | None, str]:
    """Seconds a request: as measured in earlier replies, as declared, or a guess for models behind a server."""
    assert job.spec is not None
    known = None if place is None else speed_of(job.spec, place)
    if known is not None:
        return known.seconds, "measured"
    if entry.seconds_per_image is not None:
        return entry.seconds_per_image * samples / max(1, plan.requests), "declared"
    if job.spec.provider in QUICK:
        return 0.0, ""
    if job.spec.provider == "openai":
        return WAIT + plan.usage.output_tokens / max(1, plan.requests) / TOKENS_PER_SECOND, "guessed"
    return None, ""
