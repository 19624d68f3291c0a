"""The table of exams: adding one touches its own file and one line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from snellen.core.errors import SpecError, unknown
from snellen.stimuli.acuity import acuity
from snellen.stimuli.counting import counting
from snellen.stimuli.custom import custom
from snellen.stimuli.exams import Exam
from snellen.stimuli.relative import relative_distance, relative_position, relative_size
from snellen.stimuli.single_image import single_image
from snellen.stimuli.single_object import single_object

EXAMS: Mapping[str, tuple[Callable[..., Exam], str]] = {
    "single-object": (single_object, "shape, colour, sheen and place of one object: 5,832 scenes"),
    "single-object-image": (single_image, "category and place of a picture of yours: 81 scenes a category"),
    "relative-position": (relative_position, "where one of two objects lies, seen from the other: 6,480 scenes"),
    "relative-size": (relative_size, "which of two objects is larger: 25,920 scenes"),
    "relative-distance": (relative_distance, "which of two objects is closer to a third: 4,374 scenes"),
    "counting": (counting, "how many, scattered or clustered, with distractors: 392 scenes"),
    "acuity": (acuity, "the shape of ever smaller objects: 2,592 scenes"),
    "custom": (custom, "an exam of yours, from a YAML or Python file: see docs/custom-exam.md"),
}
"""Exam -> (builder, one line of help)."""


def options_of(name: str) -> dict[str, Any]:
    """The options of an exam and their defaults; `inspect.Parameter.empty` where one must be given."""
    builder, _ = _entry(name)
    return {option: given.default for option, given in inspect.signature(builder).parameters.items()}


def build(name: str, **options: Any) -> Exam:
    """The exam `name`. SpecError for an unknown exam or option, and for a missing one."""
    builder, _ = _entry(name)
    known = options_of(name)
    for option in options:
        if option not in known:
            raise unknown(f"option of {name}", option, known)
    for option, default in known.items():
        if default is inspect.Parameter.empty and option not in options:
            raise SpecError(f"the exam {name} needs the option {option}: -T {option}=...")
    return builder(**options)


def _entry(name: str) -> tuple[Callable[..., Exam], str]:
    if name not in EXAMS:
        raise unknown("exam", name, EXAMS)
    return EXAMS[name]
