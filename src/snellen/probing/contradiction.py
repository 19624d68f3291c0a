"""Asking a model about the probe scenes, and whether the notation that a task declares fits what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.core.detections import Detections
from snellen.core.pictures import Size
from snellen.core.stages import AnyTask, Failed, Key, Model, Prompt, Reply, Sample
from snellen.parsing.boxes import read_items
from snellen.parsing.notations import named
from snellen.probing.notation import Finding, Spoken, describe, find_notation
from snellen.probing.scenes import CLASSES, probe_scenes
from snellen.prompts.boxes import box_prompts
from snellen.prompts.templates import Template, template


@dataclass(frozen=True)
class Probe:
    """What the probe of one (model, prompt) found. contradicted: the replies speak against the declared notation."""

    model: str
    prompt: str
    declared: str
    finding: Finding
    answered: int
    failed: int

    @property
    def contradicted(self) -> bool:
        """Whether another notation than the declared one is named."""
        return self.finding.contradicts(named(self.declared).box)

    @property
    def reason(self) -> str:
        """What was found, in a sentence."""
        declared = describe(named(self.declared).box)
        best = self.finding.best
        if self.finding.verdict == "cannot tell":
            return f"the probe cannot tell which notation {self.model} speaks: {self.finding.reason}"
        assert best is not None
        found = f"{describe(best)} (mean IoU {self.finding.agreement[best]:.2f}"
        margin = self.finding.margin
        found += ")" if margin is None else f", {margin:.2f} ahead of the next)"
        if self.contradicted:
            return f"{self.model} declares {self.declared} ({declared}) but speaks {found}"
        return f"{self.model} speaks {found}, as {self.declared} declares"

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        finding = self.finding
        return {
            "model": self.model,
            "prompt": self.prompt,
            "declared": self.declared,
            "verdict": finding.verdict,
            "best": None if finding.best is None else describe(finding.best),
            "margin": finding.margin,
            "contradicted": self.contradicted,
            "reason": self.reason,
            "possible": [describe(notation) for notation in finding.possible],
            "agreement": {describe(n): value for n, value in list(finding.agreement.items())[:8]},
            "scenes": finding.scenes,
            "boxes": finding.boxes,
            "answered": self.answered,
            "failed": self.failed,
        }


def probe(
    model: Model,
    *,
    prompt: str = "qwen3-vl",
    notation: str | None = None,
    samples: Sequence[Sample[Detections]] | None = None,
    classes: Sequence[str] = CLASSES,
) -> Probe | None:
    """Asks `model` about controlled scenes (or `samples` with known boxes) and finds the notation of its replies.

    None for a model that replies with detections: there is nothing to be read.
    """
    wording: Template = template(prompt)
    declared = notation or wording.notation or "qwen3-vl"
    scenes = probe_scenes() if samples is None else samples
    prompts = {p.key: p for scene in scenes for p in box_prompts(scene, classes, wording=wording)}
    answers: Mapping[Key, Reply | Failed] = dict(model.answer(iter(prompts.values())))
    replies = {key: answer for key, answer in answers.items() if isinstance(answer, Reply)}
    if any(reply.detections is not None for reply in replies.values()):
        return None
    said = [_spoken(scene, prompts, replies, declared) for scene in scenes if Key(scene.id) in replies]
    return Probe(str(model.spec), prompt, declared, find_notation(said), len(replies), len(answers) - len(replies))


def declared_fits(model: Model, task: AnyTask) -> Probe | None:
    """The probe of `model` under the prompt and notation of a detection task."""
    return probe(model, prompt=str(task.spec["prompt"]), notation=str(task.spec["notation"]))


def _spoken(
    scene: Sample[Detections], prompts: Mapping[Key, Prompt], replies: Mapping[Key, Reply], declared: str
) -> Spoken:
    key = Key(scene.id)
    reply, size = replies[key], scene.pictures[-1].upright_size()
    seen = reply.seen[-1] if reply.seen else reply.sent[-1] if reply.sent else None
    items = [
        item
        for item in read_items(reply.text, notation=declared, classes=prompts[key].labels)
        if item.numbers is not None and len(item.numbers) == 4
    ]
    numbers = np.array([item.numbers for item in items], dtype=np.float64).reshape(-1, 4)
    labels = tuple((item.label or "").strip().casefold() for item in items)
    return Spoken(numbers, labels, scene.truth, size, None if seen is None else Size(*seen))
