"""`civet/detection`: objects on controlled scenes, boxes known to the pixel; for any detector or grounding prompt."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from snellen.core.detections import Detections
from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.stages import Exchange, Prompt, Reading, Reply, Sample, Task
from snellen.core.tables import Tables
from snellen.evals.detection import merged, reading_of
from snellen.evals.options import check_like, checked
from snellen.parsing.boxes import write_boxes
from snellen.parsing.notations import named
from snellen.prompts.boxes import Calls, box_prompts
from snellen.prompts.templates import template
from snellen.scoring.tabulation import tabulate
from snellen.stimuli.scenes import detection

OPTIONS = {name: given.default for name, given in inspect.signature(detection).parameters.items()}


@checked("civet/detection")
def task(
    *,
    notation: str | None = None,
    prompt: str = "qwen3-vl",
    calls: Calls = "multi",
    failures: Literal["count", "parsed-only", "strict"] = "count",
    min_score: float | None = None,
    scores: Literal["model", "token-logprob"] = "model",
    **scenes: Any,
) -> Task[Detections, Detections]:
    """Detection scenes as a task: `scenes` are the options of the stimuli, the others those of `detect`."""
    for name in scenes:
        if name not in OPTIONS:
            known = [*OPTIONS, "notation", "prompt", "calls", "failures", "min_score", "scores"]
            raise unknown("option of civet/detection", name, known)
    wording = template(prompt)
    check_like("civet/detection", scenes, OPTIONS)
    chosen = notation or wording.notation
    if chosen is not None:
        named(chosen)
    else:
        raise SpecError(f"the prompt {prompt!r} prescribes no notation: say which the model speaks (notation=...)")
    made = detection(**scenes)
    options = {name: scenes.get(name, default) for name, default in OPTIONS.items()}
    spec: dict[str, Json] = {
        "task": "civet/detection", **{name: list(v) if isinstance(v, tuple) else v for name, v in options.items()},
        "notation": chosen, "prompt": prompt, "calls": calls, "failures": failures, "min_score": min_score,
        "scores": scores,
    }  # fmt: skip

    def prompts(sample: Sample[Detections]) -> Sequence[Prompt]:
        return box_prompts(sample, made.classes, wording=wording, calls=calls)

    def read(sample: Sample[Detections], exchanges: Sequence[Exchange]) -> Reading[Detections]:
        return merged(
            [reading_of(sample, exchange, chosen, calls, sure=scores == "token-logprob") for exchange in exchanges]
        )

    def target(sample: Sample[Detections], asking: Prompt) -> Reply:
        wanted = sample.truth.take(np.array([label in asking.labels for label in sample.truth.labels], dtype=bool))
        size = sample.pictures[-1].upright_size()
        return Reply(text=write_boxes(wanted, notation=chosen, size=size, input_size=size))

    def tables(pairs: Any) -> Tables:
        return tabulate(pairs, classes=made.classes, min_score=min_score, failures=failures)

    return Task(spec, made, prompts, read, tables, target)
