"""Every registered model once, small, and what it is asked."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tiny_models
from snellen.core.detections import Detections
from snellen.core.pictures import Picture
from snellen.core.specs import Json, ModelSpec
from snellen.core.stages import Choice, Key, Prompt, Sample, Task, Turn

HEAVY = (pytest.mark.tier2, pytest.mark.filterwarnings("default"), pytest.mark.timeout(600))
COLOURS = ("red", "green", "blue")
SIZES = {"red": (32, 24), "green": (120, 90), "blue": (60, 150)}
MANY = tuple(f"k{i}" for i in range(200))


def picture(colour: str, size: tuple[int, int], kind: str = "PNG") -> Picture:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, kind)
    return Picture(f"{colour}-{size[0]}x{size[1]}.{kind.lower()}", buffer.getvalue)


def question(name: str, shown: Picture, options: tuple[str, ...], text: str = "What is the color?") -> Sample[Choice]:
    return Sample(name, Choice(options[0], options, "color"), (shown,), {"text": text})


def closed(samples: list[Sample[Choice]]) -> Task[Any, Any]:
    def prompts(sample: Sample[Choice]) -> list[Prompt]:
        options = sample.truth.options
        text = f"{sample.attributes['text']} Choose from [{', '.join(options)}]."
        turns = (Turn("user", (*sample.pictures, text)),)
        return [Prompt(Key(sample.id), turns, "choice", options, max_tokens=6)]

    return Task({"task": "toy"}, samples, prompts, None, None)  # type: ignore[arg-type]


def boxes(samples: list[Sample[Detections]], calls: tuple[tuple[str, ...], ...]) -> Task[Any, Any]:
    """A call per tuple of labels."""

    def prompts(sample: Sample[Detections]) -> list[Prompt]:
        turns = (Turn("user", (*sample.pictures, "Detect.")),)
        return [Prompt(Key(sample.id, labels[0]), turns, "boxes", labels, max_tokens=12) for labels in calls]

    return Task({"task": "toy-boxes"}, samples, prompts, None, None)  # type: ignore[arg-type]


TRUTH = Detections(np.array([[1.0, 2, 10, 12], [3, 3, 9, 9]]), ("cat", "dog"))
SHOWN = {colour: picture(colour, size) for colour, size in SIZES.items()}
ODD = {"one": picture("red", (1, 1)), "large": picture("blue", (4000, 3000), "JPEG")}

USUAL: Mapping[str, Task[Any, Any]] = {
    "closed": closed([
        question(f"{colour}{i}", SHOWN[colour], (colour, *(c for c in COLOURS if c != colour)),
                 "Which?" if i else "What is the color of the object?")
        for i in range(2) for colour in COLOURS
    ]),
    "boxes": boxes([Sample(c, TRUTH, (SHOWN[c],)) for c in COLOURS], (("cat",), ("dog", "cat"))),
}  # fmt: skip
"""What is asked: pictures of different sizes, texts of different lengths."""

STRANGE: Mapping[str, Task[Any, Any]] = {
    "closed": closed([*(question(name, shown, COLOURS) for name, shown in ODD.items()),
                      question("many", SHOWN["red"], MANY)]),
    "boxes": boxes([Sample(name, Detections.empty(), (shown,)) for name, shown in ODD.items()], (("cat",), MANY)),
}  # fmt: skip
"""A picture of 1 px, one of 12 megapixels, 200 options."""


@dataclass(frozen=True)
class Place:
    """Where specs find what they need: a folder of their own, and servers on loopback by their options."""

    folder: Path
    loopback: Callable[..., str]


@dataclass(frozen=True)
class Case:
    """A model of a provider. kinds: what it answers. batch: the option that says how many prompts go together.

    of_task: it is built for one task. refuses: it is asked where every answer is a refusal. needs: modules that it must
    have.
    """

    provider: str
    spec: Callable[[Place], ModelSpec]
    name: str = ""
    kinds: tuple[str, ...] = ("closed", "boxes")
    batch: str = ""
    of_task: bool = False
    refuses: Callable[[Place], ModelSpec] | None = None
    needs: tuple[str, ...] = ()
    marks: tuple[Any, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.provider}-{self.name}" if self.name else self.provider


def plain(provider: str, name: str = "", **options: Json) -> Callable[[Place], ModelSpec]:
    return lambda place: ModelSpec(provider, name, options)


def replayed(text: str = "red", **fields: Json) -> Callable[[Place], ModelSpec]:
    def spec(place: Place) -> ModelSpec:
        path = place.folder / f"{text}-{len(fields)}.jsonl"
        keys = [prompt.key for tasks in (USUAL, STRANGE) for task in tasks.values() for prompt in task.requests(2)]
        rows = [{"sample": k.sample, "call": k.call, "draw": k.draw, "text": text, **fields} for k in keys]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ModelSpec("replay", str(path))

    return spec


def served(*options: str) -> Callable[[Place], ModelSpec]:
    return lambda place: ModelSpec("openai", "x", {"base_url": place.loopback(*options), "concurrency": 4})


def tiny(provider: str, name: str, file: str = "", **options: Json) -> Callable[[Place], ModelSpec]:
    return lambda place: ModelSpec(provider, str(tiny_models.folder(name) / file), options)


TORCH, ONNX = ("torch", "transformers"), ("onnx", "onnxruntime", "tokenizers")

CASES = (
    Case("fake", plain("fake", texts=["red", "blue"], fail=0.3)),
    Case("random", plain("random", seed=3)),
    Case("majority", plain("majority"), kinds=("closed",), of_task=True),
    Case("oracle", plain("oracle"), of_task=True),
    Case("observer", plain("observer", "24px", noise=5)),
    Case("replay", replayed(), refuses=replayed("No.", finish="refused")),
    Case("openai", served(), batch="concurrency", refuses=served("--faults", '{"refuse": 1}')),
    Case("embedded", plain("embedded", "snellen-tiny"), needs=("xllamacpp",), marks=HEAVY),
    Case("hf", tiny("hf", "qwen3_vl"), "speaker", batch="batch_size", needs=TORCH, marks=HEAVY),
    Case("hf", tiny("hf", "rt_detr_v2", min_score=0, most=20), "detector", ("boxes",), "batch_size", needs=TORCH,
         marks=HEAVY),
    Case("hf", tiny("hf", "grounding-dino", min_score=0, most=20), "grounder", ("boxes",), needs=TORCH, marks=HEAVY),
    Case("hf", tiny("hf", "clip"), "scorer", ("closed",), "batch_size", needs=TORCH, marks=HEAVY),
    Case("onnx", tiny("onnx", "yolo-graph", "best.onnx", layout="yolov8"), "detector", ("boxes",), needs=ONNX,
         marks=HEAVY),
    Case("onnx", tiny("onnx", "clip-graphs"), "pair", ("closed",), "batch_size", needs=ONNX, marks=HEAVY),
)  # fmt: skip
"""A new provider adds a row: without one the suite fails."""


def of_cases(*, kinds: bool = True, where: Callable[[Case], object] = lambda case: True) -> list[Any]:
    """The cases as parameters with their marks, each with every kind of prompt that it answers."""
    return [
        pytest.param(case, kind, id=f"{case}-{kind}", marks=case.marks)
        for case in CASES
        if where(case)
        for kind in ("closed", "boxes")
        if (kind in case.kinds) == kinds
    ]
