"""Named notations: how a family of models writes boxes and points. PROTOCOLS section 4.

A notation belongs to a (model, prompt): it is declared, never guessed from the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from snellen.core.boxes import BoxNotation, Frame, Order
from snellen.core.errors import unknown
from snellen.core.pictures import Size, snap


@dataclass(frozen=True)
class Notation:
    """A named preset.

    formats: the forms that this family writes, the one that is written first; other common forms are read under the
    same numbers, forms with numbers of their own only where they are named here. scales: where a form counts
    differently. spelled: what coordinates under keys of their own (`x_min`) mean, where that differs. key, label_key:
    of JSON that is written. rounding: `whole` numbers, `floor` (bins), or decimals; limit: the largest number that the
    form has. unlabelled: entries without a label are readable. clip: boxes are clipped to the picture, as the family's
    own readers do. prescribed: the prompt prescribes a list of labelled boxes: words ("there are none"), lines of
    numbers and boxes without a label are no answer. multiple, area: of pixels of a resized input, what its sides are
    multiples of, and the least and largest area, px.
    """

    name: str
    family: str
    box: BoxNotation
    formats: tuple[str, ...] = ("json",)
    points: bool = False
    scales: Mapping[str, BoxNotation] = field(default_factory=dict)
    spelled: BoxNotation | None = None
    key: str = "bbox_2d"
    label_key: str = "label"
    rounding: Literal["whole", "floor"] | int = "whole"
    limit: float | None = None
    unlabelled: bool = False
    clip: bool = False
    prescribed: bool = False
    multiple: int = 1
    area: tuple[int, int] = (1, 2**62)

    def input_of(self, sent: Size) -> Size:
        """The size at which a picture that is sent at that size is looked at, where nobody tells it."""
        return snap(sent, multiple=self.multiple, low=self.area[0], high=self.area[1]) if self.multiple > 1 else sent

    def of(self, form: str) -> BoxNotation:
        """What numbers mean in that form."""
        return self.scales.get(form, self.box)

    @property
    def scale_text(self) -> str:
        """The scale in words: `0..1000`, `px of the input` ..."""
        if self.box.scale is None:
            return "px of the picture" if self.box.frame == "picture" else "px of the resized input"
        return f"0..{self.box.scale:g}" + (" of the padded square" if self.box.frame == "square" else "")


def _box(order: Order = "xyxy", scale: float | None = 1000, frame: Frame = "picture") -> BoxNotation:
    return BoxNotation(order, scale, frame)


_PIXELS = _box(scale=None)
_INPUT = _box(scale=None, frame="input")
_UNIT = _box(scale=1)

NOTATIONS: Mapping[str, Notation] = MappingProxyType({
    notation.name: notation
    for notation in (
        Notation("wade", "WADE's prompt, every model", _box("yxyx"), key="box", prescribed=True),
        Notation("qwen-vl", "Qwen-VL", _box(), ("ref-box",)),
        Notation("qwen2-vl", "Qwen2-VL", _box(), ("box-tokens", "json")),
        Notation(
            "qwen2.5-vl", "Qwen2.5-VL", _INPUT, ("json", "box-tokens"), multiple=28, area=(56 * 56, 16_384 * 28 * 28)
        ),
        Notation("qwen3-vl", "Qwen3-VL, Qwen3.5", _box(), ("json", "points-xml", "box-tokens"), clip=True),
        Notation("qwen3-vl-points", "Qwen3-VL, points", _box(), ("json", "points-xml"), points=True, key="point_2d"),
        Notation("gemini", "Gemini, Gemma 4; x_min keys: 0..1", _box("yxyx"), key="box_2d", spelled=_UNIT),
        Notation("gemini-points", "Gemini, points", _box("yxyx"), points=True, key="point"),
        Notation("paligemma", "PaliGemma 1 and 2", _box("yxyx", 1024), ("loc",), limit=1023),
        Notation(
            "florence-2", "Florence-2: tokens, or the processor's px", _box(), ("loc-bins", "json"),
            scales={"json": _PIXELS}, key="bbox", rounding="floor", limit=999, unlabelled=True,
        ),
        Notation("kosmos-2", "Kosmos-2", _box(scale=32), ("patches",), rounding="floor", limit=31),
        Notation("internvl", "InternVL 2 to 3.5", _box(), ("ref-box", "json", "brackets"), key="bbox"),
        Notation("all-seeing", "All-Seeing V2", _box(scale=999), ("ref-box",)),
        Notation("deepseek-vl2", "DeepSeek-VL2, DeepSeek-OCR", _box(scale=999), ("ref-det",)),
        Notation("glm-4.5v", "GLM-4.1V, 4.5V, 4.6V", _box(), ("brackets", "json"), unlabelled=True),
        Notation("cogvlm", "CogVLM", _box(), ("brackets",), unlabelled=True),
        Notation("minicpm-v", "MiniCPM-V", _box(), ("box-spaces",)),
        Notation("seed-vl", "Seed1.5-VL, <bbox> tags as bare lists", _box(), ("brackets", "json"), unlabelled=True),
        Notation("molmo", "Molmo 1", _box(scale=100), ("points-xml",), points=True, rounding=1),
        Notation("molmo2", "Molmo 2", _box(), ("points-coords",), points=True),
        Notation("moondream", "Moondream 2 and 3", _UNIT, rounding=4, key="bbox", unlabelled=True),
        Notation("lfm2-vl", "LFM2-VL", _UNIT, rounding=4, key="bbox", unlabelled=True, clip=True),
        Notation("llava", "LLaVA, Shikra: 0..1", _UNIT, ("brackets", "json"), rounding=4, unlabelled=True),
        Notation(
            "llava-square", "LLaVA 1.5 on the picture padded to a square", _box(scale=1, frame="square"),
            ("brackets", "json"), rounding=4, unlabelled=True,
        ),
        Notation("gpt", "GPT, Claude: px of the picture as sent", _INPUT, key="bbox", clip=True),
        Notation("ui-tars", "UI-TARS and other GUI models", _INPUT, ("calls", "json"), points=True, key="point"),
        Notation("unit", "prompted: 0..1, x1 y1 x2 y2", _UNIT, rounding=4, key="bbox"),
        Notation("thousand", "prompted: 0..1000, x1 y1 x2 y2", _box(), key="bbox"),
        Notation("pixels", "prompted: px of the picture, x1 y1 x2 y2 (Pascal VOC)", _PIXELS, key="bbox"),
        Notation("coco", "COCO: px of the picture, x y width height", _box("xywh", None), rounding=2, key="bbox"),
        Notation("yolo", "YOLO lines: class cx cy w h [confidence]", _box("cxcywh", 1), ("lines", "json"), rounding=6),
        Notation("points", "prompted: points, px of the picture", _PIXELS, points=True, key="point"),
    )
})  # fmt: skip
"""Name -> notation."""

ALIASES: Mapping[str, str] = MappingProxyType({
    "qwen2": "qwen2-vl", "qwen2.5": "qwen2.5-vl", "qwen3": "qwen3-vl", "qwen3.5": "qwen3-vl", "qwen3.5-vl": "qwen3-vl",
    "gemini-2": "gemini", "gemini-2.5": "gemini", "gemini-3": "gemini", "gemma": "gemini", "gemma-4": "gemini",
    "paligemma-2": "paligemma", "florence": "florence-2", "kosmos": "kosmos-2", "internvl-2": "internvl",
    "internvl-2.5": "internvl", "internvl-3": "internvl", "internvl-3.5": "internvl", "asm-v2": "all-seeing",
    "all-seeing-v2": "all-seeing", "deepseek": "deepseek-vl2", "deepseek-ocr": "deepseek-vl2",
    "deepseek-ocr-2": "deepseek-vl2", "glm": "glm-4.5v", "glm-4.1v": "glm-4.5v", "glm-4.6v": "glm-4.5v",
    "minicpm": "minicpm-v", "minicpm-v-4.5": "minicpm-v", "minicpm-v-2.6": "minicpm-v", "seed-1.5-vl": "seed-vl",
    "molmo-1": "molmo", "moondream-2": "moondream", "moondream-3": "moondream", "lfm2": "lfm2-vl",
    "lfm2.5-vl": "lfm2-vl", "llava-1.5": "llava", "shikra": "llava", "openai": "gpt", "gpt-4o": "gpt", "gpt-5": "gpt",
    "voc": "pixels", "pascal-voc": "pixels", "claude": "gpt", "xyxy-1000": "thousand", "xyxy-1": "unit",
    "xyxy-px": "pixels", "yxyx-1000": "gemini", "xywh-px": "coco",
})  # fmt: skip
"""Other names of a notation."""

_SPELLED = {
    re.sub(r"[^a-z0-9]", "", name): target for name, target in [*ALIASES.items(), *((name, name) for name in NOTATIONS)]
}


def named(name: str | Notation) -> Notation:
    """The notation of that name (case, dots, dashes and blanks do not matter); SpecError lists the known ones."""
    if isinstance(name, Notation):
        return name
    found = _SPELLED.get(re.sub(r"[^a-z0-9]", "", name.lower()))
    if found is None:
        raise unknown("notation", name, NOTATIONS)
    return NOTATIONS[found]
