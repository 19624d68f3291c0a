"""Regime options of a task, on its data: examples from the training part, rules and instructions of classes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.errors import SpecError, unknown
from snellen.core.pictures import Picture, Size, encode_png, snap
from snellen.core.specs import Json
from snellen.core.stages import Sample
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.evals.options import checked
from snellen.evals.shots import shown_of
from snellen.parsing.boxes import write_boxes
from snellen.parsing.notations import named
from snellen.prompts.boxes import Example, Regime
from snellen.prompts.rules import Chains
from snellen.prompts.templates import template

ANSWERED = ("id", "chain")
"""Notes of an instance with a chain that its answer gives (WADE's records). Other notes are the file's own matters."""

JPEG = b"\xff\xd8"
"""How a JPEG file begins."""

REGIMES = ("zero-shot", "few-shot", "knowledge", "instructions", "instructions+few-shot")


@checked("detect")
def regime_of(
    dataset: Dataset,
    data: Path,
    *,
    notation: str,
    prompt: str = "qwen3-vl",
    format: str | None = None,
    split: str | None = None,
    regime: str = "zero-shot",
    shots: int | None = None,
    shots_k: int | None = None,
    shots_candidates: int | None = None,
    shots_from: str = "train",
    shots_seed: int = 0,
    example_pixels: Sequence[int] | None = None,
    chains: Chains = "short",
) -> tuple[Regime, dict[str, Json]]:
    """The regime, and the options that its spec keeps.

    few-shot: `shots` pictures (2), or a split of `shots_k` boxes a class (see `evals.shots`), of the part `shots_from`,
    drawn with `shots_seed`, the same before every question, with areas within `example_pixels` (least and largest, px;
    default: as the wording `prompt` has it), larger and smaller ones scaled.
    knowledge: the rules of `classes.yaml`, in the length `chains`. instructions: the annotators' instructions.
    """
    if shots is not None and shots < 1:
        raise SpecError(f"shots are at least 1, got {shots}")
    if regime not in REGIMES:
        raise unknown("regime", regime, REGIMES)
    kept: dict[str, Json] = {"regime": regime}
    around = Regime()
    if "few-shot" in regime:
        if split == shots_from:
            raise SpecError(f"examples must not come from the part that is tested, got {shots_from!r} for both")
        whole_part = load_data(data, format=format, split=shots_from)
        source, shots, told = shown_of(whole_part, shots=shots, k=shots_k, candidates=shots_candidates, seed=shots_seed)
        bounds = template(prompt).example_pixels if example_pixels is None else _bounds(example_pixels)
        around = Regime(examples=examples_of(source, shots=shots, seed=shots_seed, notation=notation, pixels=bounds))
        kept |= {**told, "shots_from": shots_from, "shots_seed": shots_seed}
        if example_pixels is not None:
            kept["example_pixels"] = list(example_pixels)
    if regime == "knowledge":
        file = dataset.class_file
        rules = {} if file is None else {entry.name: entry.rules for entry in file.entries}
        around = Regime(around.examples, rules, chains)
        kept |= {"chains": chains}
    if "instructions" in regime:
        file = dataset.class_file
        own = {} if file is None else {e.name: e.instructions or e.description for e in file.entries}
        whole = "" if file is None else file.instructions
        if not whole and not any(own.values()):
            raise SpecError(f"the data set has no annotator instructions (classes.yaml, README.dataset.txt): {data}")
        around = Regime(around.examples, instructions=whole, class_instructions=own)
    return around, kept


def _bounds(pixels: Sequence[int]) -> tuple[int, int]:
    """SpecError where these are no bounds of an area."""
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in pixels)
    if len(pixels) != 2 or not whole or not 1 <= pixels[0] <= pixels[1]:
        raise SpecError(f"example_pixels are the least and the largest area in px, [3136, 10035200], got {pixels}")
    return pixels[0], pixels[1]


def examples_of(
    dataset: Dataset, *, shots: int, seed: int, notation: str, pixels: tuple[int, int] | None = None
) -> tuple[Example, ...]:
    """`shots` pictures with boxes, drawn with `seed`, with their complete answers. SpecError where there are fewer.

    pixels: the least and the largest area of a picture; others are scaled, and answered in the size then shown.
    """
    found = [sample for sample in dataset.samples() if len(sample.truth)]
    if len(found) < shots:
        raise SpecError(f"{shots} examples are wanted, the part {dataset.name!r} has {len(found)} pictures with boxes")
    chosen = np.sort(np.random.default_rng(seed).choice(len(found), size=shots, replace=False))
    return tuple(_example(found[i], notation, pixels) for i in chosen)


def _example(sample: Sample[Detections], notation: str, pixels: tuple[int, int] | None) -> Example:
    picture = sample.pictures[-1]
    size = picture.upright_size()
    if pixels is not None and not pixels[0] <= size.pixels <= pixels[1]:
        size = snap(size, multiple=named(notation).multiple, low=pixels[0], high=pixels[1])
        picture = Picture(picture.name, cache(partial(_scaled, picture, size)), size)
    return Example(picture, partial(complete, sample, notation, shown=size))


def _scaled(picture: Picture, size: Size) -> bytes:
    """The picture at that size, in a file of its own kind where that is JPEG, else PNG."""
    scaled = picture.image().resize(size, Image.Resampling.BICUBIC)
    if not picture.encoded().startswith(JPEG):
        return encode_png(scaled)
    buffer = io.BytesIO()
    scaled.save(buffer, "JPEG", quality=95, subsampling=0)
    return buffer.getvalue()


def complete(sample: Sample[Detections], notation: str, labels: Sequence[str], *, shown: Size | None = None) -> str:
    """The complete answer about a picture: its boxes of these labels, top to bottom, chains where the data has them.

    shown: the size at which the picture is shown (default: its own): what pixels of the input follow from.
    """
    truth = sample.truth
    wanted = top_to_bottom(truth.take(np.array([label in labels for label in truth.labels], dtype=np.bool_)))
    notes = tuple({name: note[name] for name in ANSWERED if "chain" in note and name in note} for note in wanted.notes)
    size = sample.pictures[-1].upright_size()
    seen = named(notation).input_of(shown or size)
    return write_boxes(replace(wanted, notes=notes), notation=notation, size=size, input_size=seen)


def top_to_bottom(found: Detections) -> Detections:
    """Sorted by ymin, ties by xmin (PROTOCOLS section 3, Regimes)."""
    return found.take(np.lexsort((found.boxes[:, 0], found.boxes[:, 1])))
