"""What a bench will do: the jobs, and their folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.bench.config import Bench, DataEntry, ModelEntry
from snellen.core.errors import SnellenError
from snellen.core.specs import Json, ModelSpec
from snellen.models.named import resolve
from snellen.runs.manifest import Selection

IMPORTED = "imported"
"""The regime of predictions that are there already."""
EXAM = "exam"
"""The regime of an exam: exams have their own instruction."""


@dataclass(frozen=True)
class Job:
    """One run: a model under a regime on a data set, with one seed. fault: why its model cannot be had."""

    data: str
    model: str
    regime: str
    seed: int
    task: Mapping[str, Json]
    spec: ModelSpec | None = None
    predictions: Path | None = None
    format: str | None = None
    fault: str = ""

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
    regimes = data.regimes or ({EXAM: {}} if data.exam is not None else bench.regimes)
    try:
        spec = _spec(model, models_file)
    except SnellenError as error:
        task = _task(data, model, {})
        return [Job(data_name, model_name, regime, bench.seeds[0], task, fault=str(error)) for regime in regimes]
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
    drawn = _draws_examples(options) or bool(spec.options.get("temperature"))
    return bench.seeds if drawn else bench.seeds[:1]


def _seeded(options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    return {**options, **({"shots_seed": seed} if _draws_examples(options) else {})}


def _draws_examples(options: Mapping[str, Any]) -> bool:
    """Whether the seed decides the examples: not where the regime names a seed of its own."""
    return "few-shot" in str(options.get("regime", "")) and "shots_seed" not in options


def with_seed(spec: ModelSpec, seed: int) -> ModelSpec:
    """The model with its sampling seed, where it samples."""
    if not spec.options.get("temperature"):
        return spec
    return ModelSpec(spec.provider, spec.name, {**spec.options, "seed": seed})


def selection_of(bench: Bench) -> Selection:
    """The samples of each data set that the bench is about."""
    return Selection(sample=bench.sample, seed=bench.seed if bench.sample else 0)
