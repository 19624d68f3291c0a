"""Asking a model about the probe scenes, and whether the notation that a task declares fits what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from snellen.core.detections import Detections
from snellen.core.pictures import Size
from snellen.core.stages import Failed, Key, Model, Prompt, Reply, Sample
from snellen.parsing.boxes import read_items
from snellen.parsing.notations import NOTATIONS, named
from snellen.probing.notation import Finding, Spoken, describe, find_notation
from snellen.probing.scenes import CLASSES, probe_scenes
from snellen.prompts.boxes import box_prompts
from snellen.prompts.templates import Template, template


@dataclass(frozen=True)
class Verdict:
    """What a probe of one (model, prompt) found, in words and numbers: what is stored, shown and acted upon.

    verdict: `named`, `cannot tell`, or `no notation` for a model that replies with detections. contradicted: the
    replies speak against the declared notation. agreement: mean IoU under each notation, best first.
    """

    model: str
    prompt: str
    declared: str
    verdict: str
    best: str | None
    margin: float | None
    contradicted: bool
    reason: str
    possible: tuple[str, ...] = ()
    agreement: Mapping[str, float] = field(default_factory=dict)
    scenes: int = 0
    boxes: int = 0
    answered: int = 0
    failed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain."""
        return {**asdict(self), "possible": list(self.possible)}


def judged(finding: Finding, *, model: str, prompt: str, declared: str) -> Verdict:
    """The finding as a verdict on the declared notation."""
    finding = _usual(finding)
    best = finding.best
    contradicted = finding.contradicts(named(declared).box)
    found = {describe(n): value for n, value in list(finding.agreement.items())[:8]}
    return Verdict(
        model,
        prompt,
        declared,
        finding.verdict,
        None if best is None else describe(best),
        finding.margin,
        contradicted,
        _reason(finding, model=model, declared=declared, contradicted=contradicted),
        tuple(describe(notation) for notation in finding.possible),
        found,
        finding.scenes,
        finding.boxes,
    )


def _usual(finding: Finding) -> Finding:
    """The finding, told in the usual one of the notations that the replies leave open."""
    if finding.verdict != "named":
        return finding
    usual = (named(name).box for name in PRESETS)
    return replace(finding, best=next((box for box in usual if box in finding.possible), finding.best))


PRESETS = ("thousand", "wade", "unit", "pixels", "gpt", "coco", "yolo", "all-seeing", "paligemma")
"""Named notations under which a finding may be read, plain JSON first."""


def preset(best: str | None) -> str | None:
    """The named notation of a finding in words (`xyxy 0..1000`), None where no preset means the same."""
    return next((name for name in (*PRESETS, *NOTATIONS) if describe(named(name).box) == best), None)


def _reason(finding: Finding, *, model: str, declared: str, contradicted: bool) -> str:
    best = finding.best
    if finding.verdict == "cannot tell" or best is None:
        return f"the probe cannot tell which notation {model} speaks: {finding.reason}"
    margin = "" if finding.margin is None else f", {finding.margin:.2f} ahead of the next"
    found = f"(mean IoU {finding.agreement[best]:.2f}{margin})"
    meant = describe(named(declared).box)
    if contradicted:
        return f"{model} declares {declared} ({meant}) but speaks {describe(best)} {found}"
    return f"{model} speaks {meant}, as {declared} declares {found}"


def probe(
    model: Model,
    *,
    prompt: str = "qwen3-vl",
    notation: str | None = None,
    samples: Sequence[Sample[Detections]] | None = None,
    classes: Sequence[str] = CLASSES,
) -> Verdict:
    """Asks `model` about controlled scenes (or `samples` with known boxes) and finds the notation of its replies."""
    wording: Template = template(prompt)
    declared = notation or wording.notation or "qwen3-vl"
    scenes = probe_scenes() if samples is None else samples
    prompts = {p.key: p for scene in scenes for p in box_prompts(scene, classes, wording=wording)}
    answers: Mapping[Key, Reply | Failed] = dict(model.answer(iter(prompts.values())))
    replies = {key: answer for key, answer in answers.items() if isinstance(answer, Reply)}
    if any(reply.detections is not None for reply in replies.values()):
        reason = f"{model.spec} replies with detections: there is no notation to be read"
        nothing = Verdict(
            str(model.spec), prompt, declared, "no notation", None, None, contradicted=False, reason=reason
        )
        return replace(nothing, answered=len(replies), failed=len(answers) - len(replies))
    said = [_spoken(scene, prompts, replies, declared) for scene in scenes if Key(scene.id) in replies]
    found = judged(find_notation(said), model=str(model.spec), prompt=prompt, declared=declared)
    return replace(found, answered=len(replies), failed=len(answers) - len(replies))


def _spoken(
    scene: Sample[Detections], prompts: Mapping[Key, Prompt], replies: Mapping[Key, Reply], declared: str
) -> Spoken:
    key = Key(scene.id)
    reply, size = replies[key], scene.pictures[-1].upright_size()
    seen = Size(*reply.seen[-1]) if reply.seen else None
    if seen is None and reply.sent:
        seen = named(declared).input_of(Size(*reply.sent[-1]))
    items = [
        item
        for item in read_items(reply.text, notation=declared, classes=prompts[key].labels)
        if item.numbers is not None and len(item.numbers) == 4
    ]
    numbers = np.array([item.numbers for item in items], dtype=np.float64).reshape(-1, 4)
    labels = tuple((item.label or "").strip().casefold() for item in items)
    return Spoken(numbers, labels, scene.truth, size, seen)
