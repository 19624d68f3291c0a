"""Regime options of a task, on its data: examples from the training part, rules and instructions of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from snellen.core.detections import Detections
from snellen.core.errors import SpecError, unknown
from snellen.core.specs import Json
from snellen.core.stages import Sample
from snellen.datasets.dataset import Dataset
from snellen.datasets.load import load_data
from snellen.evals.options import checked
from snellen.parsing.boxes import write_boxes
from snellen.prompts.boxes import Example, Regime
from snellen.prompts.rules import Chains

ANSWERED = ("id", "chain")
"""Notes of an instance with a chain that its answer gives (WADE's records). Other notes are the file's own matters."""

REGIMES = ("zero-shot", "few-shot", "knowledge", "instructions", "instructions+few-shot")


@checked("detect")
def regime_of(
    dataset: Dataset,
    data: Path,
    *,
    notation: str,
    format: str | None = None,
    split: str | None = None,
    regime: str = "zero-shot",
    shots: int = 2,
    shots_from: str = "train",
    shots_seed: int = 0,
    chains: Chains = "short",
) -> tuple[Regime, dict[str, Json]]:
    """The regime, and the options that its spec keeps.

    few-shot: `shots` pictures of the part `shots_from`, drawn with `shots_seed`, the same before every question.
    knowledge: the rules of `classes.yaml`, in the length `chains`. instructions: the annotators' instructions.
    """
    if shots < 1:
        raise SpecError(f"shots are at least 1, got {shots}")
    if regime not in REGIMES:
        raise unknown("regime", regime, REGIMES)
    kept: dict[str, Json] = {"regime": regime}
    around = Regime()
    if "few-shot" in regime:
        if split == shots_from:
            raise SpecError(f"examples must not come from the part that is tested, got {shots_from!r} for both")
        source = load_data(data, format=format, split=shots_from)
        around = Regime(examples=examples_of(source, shots=shots, seed=shots_seed, notation=notation))
        kept |= {"shots": shots, "shots_from": shots_from, "shots_seed": shots_seed}
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


def examples_of(dataset: Dataset, *, shots: int, seed: int, notation: str) -> tuple[Example, ...]:
    """`shots` pictures with boxes, drawn with `seed`, with their complete answers. SpecError where there are fewer."""
    found = [sample for sample in dataset.samples() if len(sample.truth)]
    if len(found) < shots:
        raise SpecError(f"{shots} examples are wanted, the part {dataset.name!r} has {len(found)} pictures with boxes")
    chosen = np.sort(np.random.default_rng(seed).choice(len(found), size=shots, replace=False))
    return tuple(Example(found[i].pictures[-1], answer_of(found[i], notation)) for i in chosen)


def answer_of(sample: Sample[Detections], notation: str) -> Callable[[tuple[str, ...]], str]:
    """Writes the complete answer of a solved picture for the classes asked about."""
    return partial(complete, sample, notation)


def complete(sample: Sample[Detections], notation: str, labels: Sequence[str]) -> str:
    """The complete answer about a picture: its boxes of these labels, top to bottom, chains where the data has them."""
    truth = sample.truth
    wanted = top_to_bottom(truth.take(np.array([label in labels for label in truth.labels], dtype=np.bool_)))
    notes = tuple({name: note[name] for name in ANSWERED if "chain" in note and name in note} for note in wanted.notes)
    size = sample.pictures[-1].upright_size()
    return write_boxes(replace(wanted, notes=notes), notation=notation, size=size, input_size=size)


def top_to_bottom(found: Detections) -> Detections:
    """Sorted by ymin, ties by xmin (PROTOCOLS section 3, Regimes)."""
    return found.take(np.lexsort((found.boxes[:, 0], found.boxes[:, 1])))
