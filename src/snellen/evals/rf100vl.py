"""Roboflow100-VL: detection in many domains, asked as its authors asked.

Robicheaux, Popov, Madan, Robinson, Nelson, Ramanan, Peri: Roboflow100-VL: A Multi-Domain Object Detection Benchmark for
Vision-Language Models (2025). What is computed: PROTOCOLS section 2. The roll-up is in `evals.rollup`.
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
    "qwen": {"prompt": "rf-qwen", "notation": "qwen2.5-vl"},
    "gemini": {"prompt": "rf-gemini", "notation": "gemini"},
}
"""Preset of Appendix A -> options of detection. Qwen gets 3 example pictures at most, Gemini all of them."""


def task(setting: str = "qwen", **options: Any) -> Task[Detections, Detections]:
    """Detection as the benchmark asks for it. options: `data`, `split`, `regime` (zero-shot, instructions, few-shot,
    instructions+few-shot), `calls` (multi, single), `classes` (all, present: the referential protocol).
    """
    if setting not in SETTINGS:
        raise unknown("preset of rf100vl", setting, SETTINGS)
    for name in options:
        if name in SETTINGS[setting]:
            raise SpecError(f"rf100vl/{setting} fixes {name}; for another one use the task detect")
    made = detection.task("", **{**SETTINGS[setting], **options})
    kept = {name: value for name, value in made.spec.items() if name not in {*SETTINGS[setting], "task"}}
    shown = {name: value for name, value in kept.items() if value is not None}
    return replace(made, spec={"task": f"rf100vl/{setting}", **shown})
