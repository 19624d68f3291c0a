"""Scoring a run: replies -> readings -> derived tables -> results. Needs no model, and can be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from snellen.core.errors import IncompleteError, InputError, SpecError
from snellen.core.stages import AnyTask, Exchange, Failed, Key, Pool, Prompt, Reading, Reply, Sample
from snellen.core.tables import Tables
from snellen.evals.measures import Precision, results_of
from snellen.evals.resolution import audit
from snellen.evals.results import Results
from snellen.evals.score_sources import GROUP, SOURCES, with_sources
from snellen.evals.tasks import open_task
from snellen.runs.selection import TruthDigest, walk
from snellen.runs.store import Run
from snellen.scoring.operating_points import OperatingPoint


def score(
    run: Run,
    *,
    by: Sequence[str] = (),
    intervals: bool = True,
    draws: int = 1000,
    seed: int = 0,
    incomplete: bool = False,
    failed: Literal["block", "count"] = "block",
    point: OperatingPoint | None = None,
    nms: float | None = None,
) -> Results:
    """Scores all replies of `run`, writes its derived tables and `results.json`, and returns the results.

    IncompleteError where requests failed or were never made, unless `incomplete`: then only samples with all their
    answers count, and the results say how many those are; or `failed="count"`: then a failed request is a reply from
    which nothing can be read (the paper's oversize requests, PROTOCOLS section 2). by: groups that must be among
    the results, beside those of few values. point: the operating point (`evals.points`), instead of the one that
    the run was made with. nms: suppression of boxes (see `evals.detection.task`), instead of the run's.

    Where the truth is not the one that the run was made with, the fact `truth_changed` says so.
    """
    task = task_of(run, point=point, nms=nms)
    answers = answers_of(run, failed=failed)
    ragged = run.manifest.kind == "import"
    truth = TruthDigest()
    tables, missing = tabulate(
        task, answers, draws=run.manifest.draws, selection=run.selected(), ragged=ragged, truth=truth
    )
    if missing and not incomplete:
        some = ", ".join(repr(key.sample) for key in missing[:3])
        raise IncompleteError(
            f"{len(missing)} answers are missing (failed or never asked; the first: {some}). "
            f"Type:  snellen retry {run.path}   or score what there is with --incomplete"
        )
    results = results_of(tables, task=str(task.spec["task"]), options=_options(task),
                         by=[name for name in by if name != GROUP], intervals=intervals,
                         draws=draws, seed=seed)  # fmt: skip
    others = _other_sources(run, task, answers) if tables.kind == "boxes" and not ragged else {}
    results = with_sources(results, tables, others, Precision(intervals, draws, seed))
    if GROUP in by and GROUP not in results.groups:
        raise SpecError(
            f"the boxes of {run.path} have no two sources of scores to set beside each other: token log-probabilities "
            "need a run with -M logprobs=true, votes one with --draws 2 or more"
        )
    seen = audit(run, tables)
    more: dict[str, Any] = {} if seen is None else {"resolution": seen.to_json()}
    if missing:
        more["missing_answers"] = len(missing)
    if point is not None:
        more["operating_point"] = point.to_json()
    if truth.hexdigest() != run.manifest.data.get("truth", truth.hexdigest()):
        more["truth_changed"] = True
    results = replace(results, facts={**results.facts, **more})
    run.write_tables(tables)
    run.write_results(results.to_json())
    return results


def task_of(run: Run, *, point: OperatingPoint | None = None, nms: float | None = None) -> AnyTask:
    """The task that `run` was made with, at its operating point or this one, with its suppression or this one; where
    its data are gone, the error says whose they are.
    """
    changes = ({} if point is None else {"min_score": point.min_score}) | ({} if nms is None else {"nms": nms})
    try:
        return open_task({**run.manifest.task, **changes})
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
    truth: TruthDigest | None = None,
) -> tuple[Tables, list[Key]]:
    """The derived tables of all samples whose every call was answered, and the keys that were not.

    With several draws, each draw is an observation of its own (attribute `draw`; the cluster stays the sample's);
    where draws vote (`Task.pool`), a sample without all of them is missing as a whole. `selection` keeps the samples
    with these ids. `ragged`: not every sample has all draws (imported ratings), only one without any is missing.
    truth: is told every sample.
    """
    missing: list[Key] = []

    def pairs() -> Iterator[tuple[Sample[Any], Reading[Any]]]:
        for sample in walk(task, selection):
            if truth is not None:
                truth.add(sample)
            prompts = task.prompts(sample)
            groups = [[p.drawn(d) for p in prompts] for d in range(draws)]
            if ragged and len(groups) > 1:
                groups = [group for group in groups if _exchanges(group, replies)] or groups[:1]
            readings: list[tuple[int, Reading[Any]]] = []
            for group in groups:
                exchanges = _exchanges(group, replies)
                if len(exchanges) < len(group):
                    missing.extend(p.key for p in group if not isinstance(replies.get(p.key), Reply))
                    continue
                readings.append((group[0].key.draw if group else 0, _read(task, sample, exchanges)))
            if task.pool is not None:
                readings = _pooled(task.pool, readings) if len(readings) == len(groups) else []
            apart = draws > 1 and (task.pool is None or len(readings) > 1)
            for draw, reading in readings:
                yield replace(sample, attributes={**sample.attributes, "draw": draw}) if apart else sample, reading

    return task.tabulate(pairs()), missing


def _other_sources(run: Run, task: AnyTask, answers: Mapping[Key, Reply | Failed]) -> dict[str, Tables]:
    """The tables of the same replies under the sources of scores that the run was not scored with, as far as the
    replies have something for them. Of boxes that were read from text; those of a detector are what they are.
    """
    first = next((answer for answer in answers.values() if isinstance(answer, Reply)), None)
    if first is None or first.detections is not None:
        return {}
    tokens = any(isinstance(answer, Reply) and answer.tokens for answer in answers.values())
    there = {"token-logprob": tokens, "vote": run.manifest.draws > 1}
    names = [name for name in SOURCES if there.get(name, True) and name != task.spec.get("scores", "model")]
    if not any(there.values()):
        return {}
    made = ((name, open_task({**task.spec, "scores": name})) for name in names)
    return {n: tabulate(t, answers, draws=run.manifest.draws, selection=run.selected())[0] for n, t in made}


def _pooled(pool: Pool[Any], readings: list[tuple[int, Reading[Any]]]) -> list[tuple[int, Reading[Any]]]:
    """What the draws voted for: one reading for all, or one for each."""
    voted = pool([reading for _, reading in readings])
    draws = [draw for draw, _ in readings] if len(voted) == len(readings) else [0] * len(voted)
    return list(zip(draws, voted, strict=True))


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
