"""Comparing two runs: the guard first, then paired differences with intervals, corrected for how many were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from snellen.core.errors import GuardError, unknown
from snellen.core.tables import Column, Tables
from snellen.evals.averaged import PerSample
from snellen.evals.measures import measure_of, narrowed, split_classes
from snellen.evals.results import Results, guard_of
from snellen.evals.scores import score
from snellen.runs.store import Run
from snellen.statistics.paired import Difference, difference, holm

MUST_AGREE = {
    "truth": "the truth that they were scored against",
    "samples": "the samples that they answered",
    "max_dets": "the limit of detections per picture and class",
    "chair": "the meaning of CHAIR",
    "classes": "whether all classes were asked for or only those present",
    "failures": "whether failed replies count",
    "ties": "how ties are scored",
    "reader": "how answers were read",
}


@dataclass(frozen=True)
class Scored:
    """A run as comparisons need it: its name, results and derived tables."""

    name: str
    results: Results
    tables: Tables


@dataclass(frozen=True)
class Comparison:
    """B minus A for every metric, on the samples of both."""

    a: str
    b: str
    differences: Mapping[str, Difference]
    samples: int
    on_common: bool

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: per metric a, b, difference with low and high, p, p_holm."""
        return {
            "a": self.a,
            "b": self.b,
            "samples": self.samples,
            "on_common": self.on_common,
            "metrics": {name: found.to_json() for name, found in self.differences.items()},
        }


def compare(
    a: Scored,
    b: Scored,
    *,
    on: Literal["all", "common"] = "all",
    metrics: Sequence[str] = (),
    draws: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Paired comparison of two scored runs of one task.

    Where one has several answers a sample (raters, draws) and the other has not, each sample counts once in both.
    GuardError where the two must not be compared: another truth, other options of the metric, other samples (unless
    `on="common"`: then the samples of both, and the comparison says so). `metrics` chooses some; Holm's correction
    is over those that are reported.
    """
    check_guard(a.results, b.results, ignore=("samples", "truth") if on == "common" else ())
    first, second = _aligned(a.tables, b.tables)
    if not len(first.outcomes):
        raise GuardError(f"{a.name} and {b.name} have no sample in common")
    if on == "common":
        check_guard(a.results, b.results, found=(guard_of(first), guard_of(second)), ignore=("samples",))
    alone = len(metrics) == 1 and metrics[0] in a.results.metrics
    one, two = (
        narrowed(tables, run.results.options, metrics[0]) if alone else measure_of(tables, run.results.options)
        for run, tables in ((a, first), (b, second))
    )
    clusters, samples = first.outcomes["cluster"], first.outcomes["sample"]
    if len(samples) != len(second.outcomes) or len(np.unique(samples)) != len(samples):
        names, firsts = np.unique(samples, return_index=True)
        one, two = (
            PerSample(measure, np.searchsorted(names, tables.outcomes["sample"]), len(names))
            for measure, tables in ((one, first), (two, second))
        )
        clusters, samples = clusters[firsts], names
    found = difference(one, two, clusters, draws=draws, rng=np.random.default_rng(seed))
    whole, _ = split_classes(found, first.classes)  # type: ignore[arg-type]
    for name in metrics:
        if name not in whole:
            raise unknown("metric", name, whole)
    kept = {name: value for name, value in whole.items() if not metrics or name in metrics}
    return Comparison(a.name, b.name, holm(kept), len(samples), on == "common")  # type: ignore[arg-type]


def scored(run: Run) -> Scored:
    """A run as comparisons need it; it is scored now if it was not."""
    results = Results.from_json(run.results()) if run.scored() else score(run)
    return Scored(run.path, results, run.tables())


def compare_runs(
    a: Run,
    b: Run,
    *,
    on: Literal["all", "common"] = "all",
    metrics: Sequence[str] = (),
    draws: int = 1000,
    seed: int = 0,
) -> Comparison:
    """`compare` of two runs as they lie in the store."""
    return compare(scored(a), scored(b), on=on, metrics=metrics, draws=draws, seed=seed)


def check_guard(
    a: Results,
    b: Results,
    *,
    ignore: Sequence[str] = (),
    found: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
) -> None:
    """GuardError that names everything in which two results differ and must not."""
    one, two = found or (a.guard, b.guard)
    if ("chair" in one) != ("chair" in two):
        raise GuardError(
            f"these two must not be compared: one is of boxes, the other of closed answers ({a.task}, {b.task})"
        )
    reasons = {
        name: f"{meaning} ({_short(one.get(name))} against {_short(two.get(name))})"
        for name, meaning in MUST_AGREE.items()
        if name not in ignore and name in {**one, **two} and one.get(name) != two.get(name)
    }
    if reasons:
        mended = "samples" in reasons and not set(reasons) - {"samples", "truth"}
        hint = " To compare on the samples that both answered: --on common" if mended else ""
        raise GuardError(f"these two must not be compared: they differ in {'; '.join(reasons.values())}.{hint}")


def _short(value: object) -> str:
    text = str(value)
    return text[:10] if len(text) == 64 else text


def _aligned(a: Tables, b: Tables) -> tuple[Tables, Tables]:
    """Both tables on the samples of both, in one order; several answers to a sample stay together."""
    common = np.intersect1d(a.outcomes["sample"], b.outcomes["sample"])
    return _ordered(a, common), _ordered(b, common)


def _ordered(tables: Tables, common: Column) -> Tables:
    """The rows of the `common` samples (sorted), sample by sample."""
    samples = tables.outcomes["sample"]
    kept = np.flatnonzero(np.isin(samples, common))
    return tables.take(kept[np.argsort(samples[kept], kind="stable")])
