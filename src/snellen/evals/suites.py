"""Suites: several exams of one protocol, named so that reports can lay them beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from snellen.core.errors import unknown
from snellen.core.specs import Json

Specs = dict[str, Mapping[str, Json]]
SIDES = (336, 672, 1344)


def ablation(images: str | None = None) -> Specs:
    """CIVET's appendix A.2 and A.3: three picture sizes x two object sizes, with and without the short-answer
    instruction; the same of image objects where `images` are given (Tables 8 to 12 and 17).
    """
    specs: Specs = {}
    for side, size, short in product(SIDES, ("regular", "small"), (True, False)):
        name = f"{side}-{size}{'' if short else '-no-instruction'}"
        common: dict[str, Json] = {"side": side, "size": size, "short_answers": short}
        specs[f"object-{name}"] = {"task": "civet/single-object", **common}
        if images is not None and short:
            specs[f"image-{name}"] = {"task": "civet/single-object-image", "images": images, **common}
    return specs


def paper(images: str | None = None) -> Specs:
    """CIVET's main text: the five settings at the sizes that it reports (672 px; image objects 1344 px)."""
    names = ("single-object", "relative-position", "relative-size", "relative-distance")
    specs: Specs = {name: {"task": f"civet/{name}"} for name in names}
    if images is not None:
        specs["single-object-image"] = {"task": "civet/single-object-image", "images": images}
    return specs


SUITES: Mapping[str, tuple[Callable[[str | None], Specs], str]] = {
    "ablation": (
        ablation,
        "single object at 3 picture x 2 object sizes, with and without the short-answer instruction",
    ),
    "paper": (paper, "the settings of CIVET's main text"),
}
"""Suite -> (its exams, one line of help)."""


def suite(name: str, *, images: str | None = None) -> Specs:
    """The exams of a suite: name of the run -> task spec. `images`: a folder of pictures for image objects."""
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name][0](images)
