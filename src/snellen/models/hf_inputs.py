"""Prompts as the inputs of a transformers processor, and the sizes at which it looked at the pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from snellen.core.errors import SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.stages import Prompt

Seen: TypeAlias = Callable[[Mapping[str, Any], Any, Sequence[int]], list[tuple[Size, ...]]]

PLAIN: Mapping[str, str] = {
    "paligemma": "<image>{text}",
    "florence2": "{text}",
    "kosmos-2": "<grounding>{text}",
    "blip-2": "{text}",
    "instructblip": "{text}",
}
"""Families without a conversation: the text that the processor takes with one picture."""


@dataclass(frozen=True)
class Asker:
    """A processor and how prompts are put to it. `encodes`: the model has an encoder for the prompt of its own."""

    processor: Any
    model_type: str
    encodes: bool = False

    @property
    def tokenizer(self) -> Any:
        """The processor's tokenizer."""
        return self.processor.tokenizer

    def ends(self, model: Any) -> frozenset[int]:
        """The ids that end an answer."""
        given = [getattr(model.generation_config, "eos_token_id", None), self.tokenizer.eos_token_id]
        given += [getattr(model.generation_config, "pad_token_id", None), self.tokenizer.pad_token_id]
        flat = [number for value in given for number in (value if isinstance(value, list | tuple) else [value])]
        return frozenset(number for number in flat if number is not None)

    def bound(self, low: int | None, high: int | None) -> None:
        """Bounds of the picture's area, px, where the processor scales by area. SpecError where it does not."""
        if low is None and high is None:
            return
        pictures = self.processor.image_processor
        size = dict(getattr(pictures, "size", None) or {})
        if not size.get("shortest_edge") or not size.get("longest_edge") or not hasattr(pictures, "merge_size"):
            raise SpecError(
                f"min_pixels and max_pixels need a processor that scales by area; {self.model_type} does not"
            )
        least, most = low or size["shortest_edge"], high or size["longest_edge"]
        side = pictures.patch_size * pictures.merge_size
        if most < max(least, side * side):
            raise SpecError(
                f"max_pixels={most} of {self.model_type} is below its min_pixels={least}, or below one vision token of "
                f"{side} x {side} px ({side * side}): give a larger one, or a smaller min_pixels too"
            )
        pictures.size = type(pictures.size)(shortest_edge=least, longest_edge=most)

    def inputs(self, prompts: Sequence[Prompt], images: Sequence[Sequence[Any]]) -> Any:
        """The batch: padded on the left, where answers follow the prompt; on the right for an encoder."""
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.tokenizer.padding_side = "right" if self.encodes else "left"
        if self._talks():
            conversations = [conversation(prompt, shown) for prompt, shown in zip(prompts, images, strict=True)]
            return self.processor.apply_chat_template(
                conversations,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True},
            )
        if self.model_type not in PLAIN:
            raise SpecError(f"{self.model_type} has no chat template, and how to ask it is not known here")
        for prompt, shown in zip(prompts, images, strict=True):
            if len(shown) != 1:
                raise SpecError(f"{self.model_type} takes one picture a prompt, got {len(shown)}: {prompt.key.sample}")
        texts = [PLAIN[self.model_type].format(text=prompt.text) for prompt in prompts]
        pictures = [shown[0] for shown in images]
        return self.processor(images=pictures, text=texts, padding=True, return_tensors="pt")

    def _talks(self) -> bool:
        template = getattr(self.processor, "chat_template", None) or getattr(self.tokenizer, "chat_template", None)
        return bool(template) and self.model_type not in PLAIN


def conversation(prompt: Prompt, images: Sequence[Any]) -> list[dict[str, Any]]:
    """The turns as messages: text and pictures in the order in which they are shown."""
    shown = iter(images)
    return [
        {
            "role": turn.role,
            "content": [
                {"type": "image", "image": next(shown)} if isinstance(part, Picture) else {"type": "text", "text": part}
                for part in turn.parts
            ],
        }
        for turn in prompt.turns
    ]


def seen_sizes(inputs: Mapping[str, Any], processor: Any, counts: Sequence[int]) -> list[tuple[Size, ...]]:
    """Per prompt the sizes its pictures were scaled to, where the inputs tell; () where they do not (tiles).

    `counts` are the pictures of each prompt.
    """
    pictures = getattr(processor, "image_processor", None)
    side = int(getattr(pictures, "patch_size", 0) or 0) if "image_grid_thw" in inputs else 0
    if side:
        grids = inputs["image_grid_thw"].tolist()
        return _dealt([Size(columns * side, rows * side) for _, rows, columns in grids], counts)
    pixels = inputs.get("pixel_values")
    if pixels is not None and getattr(pixels, "ndim", 0) == 4 and len(pixels) == sum(counts):
        size = Size(int(pixels.shape[3]), int(pixels.shape[2]))
        return _dealt([size] * sum(counts), counts)
    return [() for _ in counts]


def _dealt(sizes: Sequence[Size], counts: Sequence[int]) -> list[tuple[Size, ...]]:
    rest = iter(sizes)
    return [tuple(next(rest) for _ in range(count)) for count in counts]
