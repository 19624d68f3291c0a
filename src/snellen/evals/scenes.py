"""`civet/detection`: objects on controlled scenes, boxes known to the pixel; for any detector or grounding prompt."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from snellen.core.detections import Detections
from snellen.core.errors import unknown
from snellen.core.specs import Json
from snellen.core.stages import Prompt, Sample, Task
from snellen.core.tables import Tables
from snellen.evals.detection import Failures, Scores, pool_of, reader_of, target_in, wording_of
from snellen.evals.options import check_like, checked
from snellen.prompts.boxes import Calls, box_prompts
from snellen.scoring.tabulation import tabulate
from snellen.stimuli.scenes import detection

OPTIONS = {name: given.default for name, given in inspect.signature(detection).parameters.items()}


@checked("civet/detection")
def task(
    *,
    notation: str | None = None,
    prompt: str = "qwen3-vl",
    calls: Calls = "multi",
    failures: Failures = "count",
    min_score: float | None = None,
    scores: Scores = "model",
    **scenes: Any,
) -> Task[Detections, Detections]:
    """Detection scenes as a task: `scenes` are the options of the stimuli, the others those of `detect`."""
    for name in scenes:
        if name not in OPTIONS:
            known = [*OPTIONS, "notation", "prompt", "calls", "failures", "min_score", "scores"]
            raise unknown("option of civet/detection", name, known)
    check_like("civet/detection", scenes, OPTIONS)
    wording, chosen = wording_of(prompt, notation)
    made = detection(**scenes)
    options = {name: scenes.get(name, default) for name, default in OPTIONS.items()}
    spec: dict[str, Json] = {
        "task": "civet/detection", **{name: list(v) if isinstance(v, tuple) else v for name, v in options.items()},
        "notation": chosen, "prompt": prompt, "calls": calls, "failures": failures, "min_score": min_score,
        "scores": scores,
    }  # fmt: skip

    def prompts(sample: Sample[Detections]) -> Sequence[Prompt]:
        return box_prompts(sample, made.classes, wording=wording, calls=calls)

    def tables(pairs: Any) -> Tables:
        return tabulate(pairs, classes=made.classes, min_score=min_score, failures=failures)

    reader = reader_of(chosen, calls=calls, scores=scores)
    return Task(spec, made, prompts, reader, tables, target_in(chosen), pool_of(scores))
