"""The score under the notation that a model speaks by itself, beside the one that the prompt prescribes.

Where a prompt prescribes a notation (WADE: yxyx 0..1000 for every model), that one is scored; a model that writes its
own order all the same loses nearly every box. Reading the stored replies again under its native notation tells a model
that cannot find things from one that writes them down otherwise. PROTOCOLS section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Literal

from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import AnyTask
from snellen.evals import rf100vl, wade
from snellen.evals.measures import results_of
from snellen.evals.results import Results
from snellen.evals.scores import answers_of, tabulate
from snellen.evals.tasks import open_task
from snellen.parsing.notations import named
from snellen.prompts.templates import template
from snellen.runs.store import Run

PLAIN = frozenset({"detect", "civet/detection"})
"""Tasks of boxes whose spec names prompt and notation itself."""

SETTINGS = {"wade": (wade.FIXED, wade.SETTINGS), "rf100vl": ({}, rf100vl.SETTINGS)}
"""Family -> (what all its settings share, what each adds): options of the task `detect`."""


def asks_boxes(spec: Mapping[str, Json]) -> bool:
    """Whether a task asks for boxes."""
    return spec["task"] in PLAIN or _family(spec) in SETTINGS


def fixes_notation(spec: Mapping[str, Json]) -> bool:
    """Whether the protocol prescribes one notation to every model: then a model that speaks another is scored so."""
    return "notation" in SETTINGS.get(_family(spec), ({}, {}))[0]


def detection_spec(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The spec with prompt and notation in it: that of the task `detect` for a protocol on pictures with boxes.

    SpecError for a task without boxes.
    """
    if not asks_boxes(spec):
        raise SpecError(f"a notation of boxes belongs to detection, this is the task {spec['task']!r}")
    if spec["task"] in PLAIN:
        return dict(spec)
    shared, settings = SETTINGS[_family(spec)]
    setting = str(spec["task"]).partition("/")[2]
    rest = {name: value for name, value in spec.items() if name != "task"}
    return {**shared, **settings[setting], **rest, "task": "detect"}


def _family(spec: Mapping[str, Json]) -> str:
    return str(spec["task"]).partition("/")[0]


def prescribed(spec: Mapping[str, Json]) -> str:
    """The notation under which a detection task is scored: its own, else the one of its prompt."""
    plain = detection_spec(spec)
    return str(plain.get("notation") or template(str(plain.get("prompt", "qwen3-vl"))).notation)


def check_examples(task: AnyTask, model: ModelSpec) -> None:
    """SpecError where the model's `max_pixels` would scale example pictures whose answers count their pixels."""
    limit = model.options.get("max_pixels")
    if not isinstance(limit, int) or not asks_boxes(task.spec) or named(prescribed(task.spec)).box.scale is not None:
        return
    shown = [
        picture for sample in islice(iter(task.samples), 1) for p in task.prompts(sample) for picture in p.pictures[:-1]
    ]
    large = max((picture.upright_size() for picture in shown), key=lambda size: size.pixels, default=Size(0, 0))
    if large.pixels > limit:
        raise SpecError(
            f"{prescribed(task.spec)} counts pixels, the examples are answered in those of pictures of up to "
            f"{large.width} x {large.height}, and max_pixels={limit} of {model} would scale them down: "
            f"say -T example_pixels=[1,{limit}] too"
        )


def add_native(
    run: Run,
    notation: str,
    *,
    source: str = "declared",
    draws: int = 1000,
    seed: int = 0,
    failed: Literal["block", "count"] = "block",
) -> Results:
    """Reads the stored replies again under `notation`, and keeps those metrics in the scored run's results.

    They stand in the group `notation` beside the prescribed ones, and in the fact `native`; the run's own metrics are
    not touched. source: who says that this is the model's notation, `declared` or `probed`. Where it is the prescribed
    one there is nothing to add.
    """
    before = Results.from_json(run.results())
    spec = detection_spec(run.manifest.task)
    own = prescribed(run.manifest.task)
    native = named(notation).name
    if named(own).box == named(native).box:
        return before
    task = open_task({**spec, "notation": native})
    answers = answers_of(run, failed=failed)
    tables, _ = tabulate(task, answers, draws=run.manifest.draws, selection=run.selected())
    options = {name: value for name, value in run.manifest.task.items() if name != "task"}
    found = results_of(tables, task=before.task, options=options, draws=draws, seed=seed)
    groups = {**before.groups, "notation": {f"{own} (prescribed)": before.metrics, f"{native} (native)": found.metrics}}
    facts = {**before.facts, "native": {"notation": native, "prescribed": own, "source": source}}
    after = replace(before, groups=groups, facts=facts)
    run.write_results(after.to_json())
    return after
