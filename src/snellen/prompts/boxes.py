"""Prompts that ask for boxes: the base instruction, the classes, the answer's form. One call for all classes, or one each.

The wording is ours and versioned where a paper's is unpublished (WADE, PROTOCOLS section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from snellen.core.errors import unknown
from snellen.core.stages import Key, Prompt, Sample, Turn

Calls: TypeAlias = Literal["multi", "single"]


@dataclass(frozen=True)
class Template:
    """A named wording. `text` has the fields {classes} (names, comma-separated) and {example} (JSON of one answer)."""

    name: str
    text: str
    example: str
    max_tokens: int = 4096


TEMPLATES: Mapping[str, Template] = {
    template.name: template
    for template in (
        Template(
            "qwen3-vl",
            "Locate every instance that belongs to the following categories: {classes}. "
            "Report bbox coordinates in JSON format, as a list like {example}. If there is none, answer [].",
            '[{"bbox_2d": [x1, y1, x2, y2], "label": "category"}]',
        ),
        Template(
            "wade",
            "Detect every instance of the following categories in the image: {classes}. Answer with JSON only: a list "
            "with one object per instance, {example}, where the coordinates are integers from 0 to 1000, relative to "
            "the image's height and width, y before x. Use no category outside the list. If there is no instance, "
            "answer [].",
            '[{"box": [ymin, xmin, ymax, xmax], "label": "category"}]',
        ),
        Template(
            "gemini",
            "Detect all instances of: {classes}. Output a JSON list where each entry holds the 2D bounding box in "
            '"box_2d" and the category in "label", like {example}. If there is none, output [].',
            '[{"box_2d": [ymin, xmin, ymax, xmax], "label": "category"}]',
        ),
    )
}
"""The wordings, by name. The notation that a template prescribes is the one that its example shows."""


def template(name: str) -> Template:
    """The template of that name; SpecError lists the known ones."""
    if name not in TEMPLATES:
        raise unknown("prompt template", name, TEMPLATES)
    return TEMPLATES[name]


def box_prompts(
    sample: Sample[object], classes: Sequence[str], *, wording: Template, calls: Calls = "multi", instructions: str = ""
) -> tuple[Prompt, ...]:
    """One prompt with all `classes`, or one per class (the call's name is the class)."""
    groups = [tuple(classes)] if calls == "multi" else [(name,) for name in classes]
    return tuple(
        Prompt(
            Key(sample.id, "" if calls == "multi" else group[0]),
            (Turn("user", (*sample.pictures, _text(wording, group, instructions))),),
            wants="boxes",
            labels=group,
            max_tokens=wording.max_tokens,
        )
        for group in groups
    )


def _text(wording: Template, classes: Sequence[str], instructions: str) -> str:
    text = wording.text.replace("{classes}", ", ".join(classes)).replace("{example}", wording.example)
    if instructions:
        text += f" Use the following annotator instructions to improve detection accuracy: {instructions}"
    return text
