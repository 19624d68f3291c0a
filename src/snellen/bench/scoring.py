"""Scoring the runs of a bench: at which operating point, in which notations, and only what is new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from snellen.bench.config import Bench
from snellen.bench.plan import Job
from snellen.core.errors import SpecError
from snellen.core.specs import Json
from snellen.datasets.load import parts_of
from snellen.evals.native import add_native, asks_boxes
from snellen.evals.points import best_on, gives_scores
from snellen.evals.scores import score, task_of
from snellen.evals.stamps import holds, keep, stamp
from snellen.probing.contradiction import Verdict, preset
from snellen.runs.store import Run
from snellen.scoring.operating_points import OperatingPoint, fixed

DETECTING = frozenset({"hf", "onnx", "embedded"})
"""Providers whose models are asked about the validation part without being told to: they cost time alone."""


def score_run(
    bench: Bench, job: Job, run: Run, *, probe: Verdict | None = None, valid: Callable[[], Run] | None = None
) -> None:
    """Scores `run`, unless it was scored from the same replies, truth, settings and code before.

    valid: gives the run on the validation part, where the operating point shall be chosen on it; it is called for
    boxes with scores alone. IncompleteError where answers are missing.
    """
    draws, failed = bench.bootstrap, bench.failed
    boxes = asks_boxes(run.manifest.task)
    native, source = bench.models[job.model].native, "declared"
    if native is None and probe is not None and probe.contradicted:
        native, source = preset(probe.best), "probed"
    settings: dict[str, Json] = {"draws": draws, "failed": failed, "native": [native, source] if boxes else None}
    chosen: Callable[[], OperatingPoint | None] = lambda: None  # noqa: E731
    if boxes and (valid is not None or isinstance(bench.operating_point, float)) and gives_scores(run):
        if isinstance(bench.operating_point, float):
            least = bench.operating_point
            settings["point"], chosen = least, lambda: fixed(least)
        elif valid is not None:
            on = valid()
            settings["point"], chosen = dict(stamp(on, task_of(on))), lambda: best_on(on, of=run)
    found = stamp(run, task_of(run), **settings)
    if holds(run, found):
        return
    score(run, draws=draws, failed=failed, point=chosen())
    if native is not None and boxes:
        add_native(run, native, source=source, draws=draws, failed=failed)
    keep(run, found)


def valid_part(bench: Bench, job: Job) -> str | None:
    """The part of the data on which the operating point of `job` is chosen, if its boxes have scores; None: nowhere.

    SpecError where the bench asks for one and the data have none.
    """
    wanted = bench.operating_point
    data, part = bench.data[job.data], bench.data[job.data].valid
    if data.path is None or wanted not in {None, "best-f1-on-valid"}:
        return None
    if wanted is None and not _for_nothing(bench, job):
        return None
    where, split = Path(data.path), data.split
    try:
        parts = {each.name for each in parts_of(where, format=data.format, split=part)}
        scored = {each.name for each in parts_of(where, format=data.format, split=split)}
    except SpecError as error:
        if wanted is None:
            return None
        error.add_note("operating_point: best-f1-on-valid needs a validation part")
        raise
    if parts & scored and wanted is not None:
        raise SpecError(f"an operating point is never chosen on the part that is scored: {split} of {where}")
    return None if parts & scored else part


def _for_nothing(bench: Bench, job: Job) -> bool:
    """Whether the validation part can be had without money."""
    if job.spec is None:
        return job.data in (bench.models[job.model].valid_predictions or {})
    return job.spec.provider in DETECTING
