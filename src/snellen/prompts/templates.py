"""Wordings of the question for boxes: named templates that can be read, printed (`--dry-run`) and replaced.

`rf-qwen` and `rf-gemini` are the strings of Roboflow100-VL, Appendix A, verbatim. WADE's base instruction is
unpublished: `wade` is ours, a versioned text (PROTOCOLS section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import DataError, SpecError, unknown


@dataclass(frozen=True)
class Template:
    """A named wording.

    multi: the question with all classes, `{classes}`. single: the question with one, `{class}` (None: `multi` serves).
    system: what stands before everything. notation: the notation that the wording prescribes, where it does.
    max_tokens: the longest answer. max_examples: how many example pictures the preset sends at most; example_pixels:
    the least and the largest area of one, px (others are scaled).
    """

    name: str
    multi: str
    single: str | None = None
    system: str = ""
    notation: str | None = None
    max_tokens: int = 4096
    max_examples: int | None = None
    example_pixels: tuple[int, int] | None = None

    def question(self, classes: tuple[str, ...], *, alone: bool) -> str:
        """The question for these classes."""
        if alone and self.single is not None:
            return self.single.replace("{class}", classes[0])
        return self.multi.replace("{classes}", ", ".join(classes))


_WADE = (
    "Detect every instance of the following categories in the image: {classes}. Answer with JSON only: a list with one "
    'object per instance, [{"box": [ymin, xmin, ymax, xmax], "label": "category"}], where the coordinates are integers '
    "from 0 to 1000, relative to the image's height and width, y before x. Use no category outside the list. If there "
    "is no instance, answer []."
)

TEMPLATES: Mapping[str, Template] = {
    each.name: each
    for each in (
        Template(
            "qwen3-vl",
            "Locate every instance that belongs to the following categories: {classes}. Report bbox coordinates in "
            'JSON format, as a list like [{"bbox_2d": [x1, y1, x2, y2], "label": "category"}]. If there is none, '
            "answer [].",
            notation="qwen3-vl",
        ),
        Template("wade", _WADE, notation="wade"),
        Template(
            "gemini",
            "Detect all instances of: {classes}. Output a JSON list where each entry holds the 2D bounding box in "
            '"box_2d" and the category in "label", like [{"box_2d": [ymin, xmin, ymax, xmax], "label": "category"}]. '
            "If there is none, output [].",
            notation="gemini",
        ),
        Template(
            "rf-qwen",
            "Locate all of the following objects: {classes} in the image and output the coordinates in JSON format.",
            "Locate every {class} in the image and output the coordinates in JSON format.",
            system="You are a helpful assistant capable of object detection.",
            notation="qwen2.5-vl",
            max_examples=3,
            example_pixels=(4 * 28 * 28, 12_800 * 28 * 28),
        ),
        Template(
            "rf-gemini",
            "Detect the 2d bounding boxes of the following objects: {classes}",
            "Detect all 2d bounding boxes of {class}.",
            system="Return bounding boxes as a JSON array with labels. Never return masks or code fencing.",
            notation="gemini",
            max_tokens=8192,
        ),
    )
}
"""The wordings, by name."""


def template(name: str) -> Template:
    """The template of that name, or a text file (`@file`) that holds `{classes}`; SpecError lists the known names."""
    if name.startswith("@"):
        path = Path(name[1:])
        try:
            text = path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise DataError(f"prompt file cannot be read: {error.strerror or error}: {path}") from error
        if "{classes}" not in text and "{class}" not in text:
            raise SpecError(f"a prompt file holds {{classes}} or {{class}} where the names go: {path}")
        return Template(name, text.replace("{class}", "{classes}"))
    if name not in TEMPLATES:
        raise unknown("prompt template", name, TEMPLATES)
    return TEMPLATES[name]
