"""WADE: multi-instance grounding with reasoning chains, under four regimes.

WADE: A Reasoning-Annotated Benchmark for Multi-Instance Floating-Waste Grounding with Compact Vision-Language Models
(2026). What is computed: PROTOCOLS section 3. The taxonomy and the chains are data of the data set; the machinery
serves any taxonomy. The paper's base instruction is unpublished: the template `wade` is ours, versioned text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from snellen.core.detections import Detections
from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.stages import Task
from snellen.evals import detection

SETTINGS: Mapping[str, Mapping[str, Json]] = {
    "zero-shot": {"regime": "zero-shot"},
    "two-shot": {"regime": "few-shot", "shots": 2},
    "reasoning": {"regime": "knowledge", "chains": "short"},
    "fine-tuned": {"regime": "zero-shot"},
}
"""Regime of the paper -> options of detection (section 4.2, Appendix C.2). A fine-tuned model is asked as zero-shot."""

FIXED: Mapping[str, Json] = {"prompt": "wade", "notation": "wade", "calls": "multi", "classes": "all"}
"""The same base instruction, coordinate convention, taxonomy and schema in all regimes."""

LABELS = (
    "water hyacinth", "plastic bottle", "organic waste", "industrial waste", "polythene", "algal bloom", "solid waste",
    "fabric waste", "wood debris", "foam waste",
)  # fmt: skip
"""The ten labels of the paper's own data set."""


def task(setting: str = "zero-shot", **options: Any) -> Task[Detections, Detections]:
    """Detection as WADE asks for it. options: `data`, `split` and what else `evals.detection.task` takes.

    SpecError for an unknown regime, or an option that the protocol fixes.
    """
    if setting not in SETTINGS:
        raise unknown("regime of wade", setting, SETTINGS)
    for name in options:
        if name in FIXED:
            raise SpecError(f"wade fixes {name}={FIXED[name]!r}; for another one use the task detect")
    made = detection.task("", **{**FIXED, **SETTINGS[setting], **options})
    kept = {name: value for name, value in made.spec.items() if name not in {*FIXED, *SETTINGS[setting], "task"}}
    shown = {name: value for name, value in kept.items() if value is not None}
    return replace(made, spec={"task": f"wade/{setting}", **shown})
