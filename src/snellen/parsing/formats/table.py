"""The output formats by name, in the order in which `auto` tries them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from snellen.parsing.formats import (
    box_spaces,
    box_tokens,
    brackets,
    calls,
    json_list,
    lines,
    loc,
    loc_bins,
    patches,
    points_coords,
    points_xml,
    ref_box,
    ref_det,
)
from snellen.parsing.items import Context, Scan


@dataclass(frozen=True)
class Format:
    """A form of answer. `own`: its numbers mean something of their own, so only notations that name it use it."""

    name: str
    signature: re.Pattern[str]
    read: Callable[[str, Context], Scan]
    write: Callable[..., str]
    example: str
    own: bool = False
    points: bool = False
    silent: bool = False  # an empty reply is this format's way to say "nothing"

    @property
    def nothing(self) -> str:
        """What is written where there is nothing."""
        return "" if self.silent else "There are none." if self.points else "[]"


def _format(name: str, module: Any, example: str, **more: bool) -> Format:
    return Format(name, module.SIGNATURE, module.read, module.write, example, **more)


_TOKENS = "<|object_ref_start|>cat<|object_ref_end|><|box_start|>(1,2),(3,4)<|box_end|>"
_PATCHES = "<phrase> cat</phrase><object><patch_index_0044><patch_index_0863></object>"

FORMATS: Mapping[str, Format] = MappingProxyType({
    form.name: form
    for form in (
        _format("ref-det", ref_det, "<|ref|>cat<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>"),
        _format("box-tokens", box_tokens, _TOKENS),
        _format("patches", patches, _PATCHES, own=True),
        _format("loc", loc, "<loc0001><loc0002><loc0003><loc0004> cat", own=True, silent=True),
        _format("loc-bins", loc_bins, "cat<loc_1><loc_2><loc_3><loc_4>", own=True, silent=True),
        _format("ref-box", ref_box, "<ref>cat</ref><box>[[1, 2, 3, 4]]</box>"),
        _format("box-spaces", box_spaces, "<ref>cat</ref><box>1 2 3 4</box>"),
        _format("points-coords", points_coords, '<points label="cat" coords="1 1 900 400"/>', own=True, points=True),
        _format("points-xml", points_xml, '<point x="1" y="2" alt="cat">cat</point>', own=True, points=True),
        _format("json", json_list, '[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]'),
        _format("calls", calls, "click(start_box='(1,2)')", points=True),
        _format("brackets", brackets, "cat[[1, 2, 3, 4]]"),
        _format("lines", lines, "cat 1 2 3 4", silent=True),
    )
})  # fmt: skip
"""Name -> format."""
