"""The table of tasks: a stored spec becomes a task again.

A spec is plain JSON, `{"task": "family/setting", ...options}`; each family is one file of this package with a function
`task(setting, **options) -> Task`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.stages import AnyTask

TASKS: dict[str, tuple[str, str]] = {
    "civet": ("civet", "exams on controlled stimuli: civet/single-object, civet/relative-position, ..."),
    "detect": ("detection", "detection on pictures with boxes: detect, with data=FOLDER"),
    "crops": ("crops", "which category each box of a data set shows: crops, with data=FOLDER"),
    "wade": ("wade", "WADE's regimes: wade/zero-shot, two-shot, reasoning, fine-tuned; with data=FOLDER"),
    "rf100vl": ("rf100vl", "Roboflow100-VL's prompts: rf100vl/qwen, rf100vl/gemini; with data=FOLDER"),
    "answers": ("answers", "published answers to closed questions, from a results file"),
    "ratings": ("ratings", "what people answered, from a CSV of ratings"),
}
"""Family -> (module in `snellen.evals`, one line of help)."""


def open_task(spec: Mapping[str, Json]) -> AnyTask:
    """The task of a spec. SpecError for an unknown family or an option that it does not take."""
    options = dict(spec)
    name = options.pop("task", None)
    if not isinstance(name, str) or not name:
        raise SpecError(f"a task spec names its task, got {dict(spec)!r}")
    family, _, setting = name.partition("/")
    if family not in TASKS:
        raise unknown("task", family, TASKS)
    build = import_module(f"snellen.evals.{TASKS[family][0]}").task
    try:
        task: AnyTask = build(setting, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        option = str(error).rsplit("'", 2)[-2]
        raise SpecError(f"task {name!r} takes no option {option!r}") from error
    return task
