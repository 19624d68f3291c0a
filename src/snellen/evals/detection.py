"""Detection on pictures with boxes (Roboflow100-VL and WADE share it): prompts, reading, derived tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from snellen.core.detections import Detections
from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.stages import Exchange, Prompt, Reading, Reply, Sample, Task
from snellen.core.tables import Table
from snellen.datasets.load import load_data
from snellen.datasets.predictions import read_predictions
from snellen.evals.measures import results_of
from snellen.evals.results import Results
from snellen.parsing.boxes import read_boxes, write_boxes
from snellen.prompts.boxes import Calls, box_prompts, template
from snellen.scoring.tabulation import tables_of, tabulate

WORST = ("refused", "malformed", "truncated", "ok")
"""How the readings of several calls add up: the status of the whole is the first of these that occurs."""


def task(
    setting: str = "",
    *,
    data: str,
    split: str | None = None,
    format: str | None = None,
    notation: str = "qwen3-vl",
    prompt: str | None = None,
    calls: Calls = "multi",
    classes: Literal["all", "present"] = "all",
    failures: Literal["count", "parsed-only"] = "count",
) -> Task[Detections, Detections]:
    """Detection on the pictures of `data`.

    notation: how the model writes boxes (`snellen list notations`). prompt: the wording (default: the notation's own
    where there is one). calls: one prompt with all classes, or one per class. classes: `all` asks for every class of
    the data set (protocol detection), `present` only for those in the picture (protocol referential).
    """
    if setting:
        raise SpecError(f"the task detect has no setting, got {setting!r}")
    dataset = load_data(Path(data), format=format, split=split)
    wording = template(prompt or ("wade" if notation == "wade" else "gemini" if notation == "gemini" else "qwen3-vl"))
    spec: dict[str, Json] = {
        "task": "detect", "data": str(data), "split": split, "format": format, "notation": notation,
        "prompt": wording.name, "calls": calls, "classes": classes, "failures": failures,
    }  # fmt: skip

    def asked(sample: Sample[Detections]) -> tuple[str, ...]:
        if classes == "all":
            return dataset.classes
        present = set(sample.truth.labels)
        return tuple(name for name in dataset.classes if name in present)

    def prompts(sample: Sample[Detections]) -> Sequence[Prompt]:
        return box_prompts(sample, asked(sample), wording=wording, calls=calls)

    def read(sample: Sample[Detections], exchanges: Sequence[Exchange]) -> Reading[Detections]:
        return merged([_reading(sample, exchange, notation, calls) for exchange in exchanges])

    def target(sample: Sample[Detections], asking: Prompt) -> Reply:
        wanted = sample.truth.take([label in asking.labels for label in sample.truth.labels])
        size = sample.pictures[-1].upright_size()
        return Reply(text=write_boxes(wanted, notation=notation, size=size, input_size=size))

    def tables(pairs: Any) -> Any:
        return tabulate(pairs, classes=dataset.classes)

    return Task(spec, dataset.samples(), prompts, read, tables, target)


def _reading(sample: Sample[Detections], exchange: Exchange, notation: str, calls: Calls) -> Reading[Detections]:
    reply, prompt = exchange.reply, exchange.prompt
    if reply.detections is not None:
        reading: Reading[Detections] = Reading(reply.detections)
    else:
        seen = reply.seen[-1] if reply.seen else reply.sent[-1] if reply.sent else None
        size = sample.pictures[-1].upright_size()
        reading = read_boxes(reply.text, notation=notation, size=size, input_size=seen or size, classes=prompt.labels)
    return _labelled(reading, prompt.labels[0]) if calls == "single" else reading


def _labelled(reading: Reading[Detections], label: str) -> Reading[Detections]:
    """All boxes of a single-class call are of the class that was asked for, whatever they were called."""
    if reading.value is None:
        return reading
    found = reading.value
    named = Detections(found.boxes, (label,) * len(found), found.scores, found.crowd, found.area, found.notes)
    return Reading(named, reading.status, reading.salvage, reading.reason, reading.unread)


def merged(readings: Sequence[Reading[Detections]]) -> Reading[Detections]:
    """The readings of several calls about one picture as one. No value only where no call gave one."""
    if len(readings) == 1:
        return readings[0]
    values = [reading.value for reading in readings if reading.value is not None]
    worst = min((reading.status for reading in readings), key=WORST.index, default="ok")
    return Reading(
        Detections.concatenate(values) if values or not readings else None,
        worst,
        max((reading.salvage for reading in readings), key=("intact", "repaired", "truncated").index, default="intact"),
        "; ".join(dict.fromkeys(reading.reason for reading in readings if reading.reason)),
        sum(reading.unread for reading in readings),
    )


PROTOCOLS: dict[str, dict[str, Json]] = {
    "coco": {"protocol": "coco", "max_dets": 100},
    "rf100vl": {"protocol": "rf100vl", "max_dets": 500},
    "wade": {"protocol": "wade", "max_dets": 500, "chair": "class", "failures": "count"},
}
"""Protocol -> the options of the measures that it fixes."""


def score_predictions(
    truth: Path,
    predictions: Path,
    *,
    protocol: str = "rf100vl",
    format: str | None = None,
    split: str | None = None,
    min_score: float | None = None,
    intervals: bool = True,
    draws: int = 1000,
    seed: int = 0,
) -> Results:
    """A file of predictions against a file of truth, without a run between: the same tables, the same measures."""
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    dataset = load_data(truth, split=split)
    found = read_predictions(predictions, dataset, format=format)
    about = dataset.attributes if len(dataset.attributes) else None
    tables = tables_of(dataset.truth, found.table, about=_about(dataset.truth.images, about), min_score=min_score)
    options: dict[str, Json] = {**PROTOCOLS[protocol], "operating_point": "all" if min_score is None else min_score}
    results = results_of(tables, task="detect", options=options, intervals=intervals, draws=draws, seed=seed)
    return replace(results, facts={**results.facts, "predictions": found.facts()})


def _about(images: Sequence[str], attributes: Table | None) -> Table:
    """What is known per picture, as columns of the outcomes table; sites are clusters."""
    columns: dict[str, Any] = {"sample": np.array(images, dtype=np.str_)}
    for name in attributes.names if attributes is not None else ():
        assert attributes is not None
        columns["cluster" if name == "site" else f"attr.{name}"] = attributes[name]
    return Table(columns)
