"""`random` and `majority`: what one gets without looking."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from snellen.core.detections import Detections
from snellen.core.errors import DataError, SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Choice, Failed, Key, Prompt, Reply
from snellen.models.table import check_options

MOST_BOXES = 8


def draw_of(key: Key, *, seed: int) -> np.random.Generator:
    """A generator of its own for each key: answers do not depend on the order in which they are asked for."""
    return np.random.default_rng(int.from_bytes(_digest(key, seed), "big"))


def seed_of(key: Key, *, seed: int) -> int:
    """A seed of its own for each key, 0 to 2^31 - 1, for a sampler elsewhere: under one seed for all, what is drawn
    about one sample goes up and down with what is drawn about the others, and no interval holds.
    """
    return int.from_bytes(_digest(key, seed)[:4], "big") >> 1


def _digest(key: Key, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\0{key.sample}\0{key.call}\0{key.draw}".encode(), digest_size=16).digest()


@dataclass(frozen=True)
class RandomModel:
    """A uniform choice among the labels; for boxes, 0 to 8 random boxes with random labels and scores."""

    spec: ModelSpec
    seed: int = 0

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """One reply per prompt, in order."""
        for prompt in prompts:
            rng = draw_of(prompt.key, seed=self.seed)
            try:
                yield prompt.key, _boxes(prompt, rng) if prompt.wants == "boxes" else _label(prompt, rng)
            except DataError as error:
                yield prompt.key, Failed("picture", str(error))


@dataclass(frozen=True)
class MajorityModel:
    """The commonest right option among the task's questions with the same options (ties: the first in the alphabet)."""

    spec: ModelSpec
    common: Mapping[frozenset[str], str]

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """One reply per prompt, in order. Options that the task never offers are Failed."""
        for prompt in prompts:
            label = self.common.get(frozenset(prompt.labels))
            yield prompt.key, Failed("missing", "no question has these options") if label is None else Reply(label)


def random_model(spec: ModelSpec, task: AnyTask | None = None) -> RandomModel:
    """`random -M seed=0`."""
    check_options(spec, known=frozenset({"seed"}))
    seed = spec.options.get("seed", 0)
    if not isinstance(seed, int):
        raise SpecError(f"seed must be a whole number, got {seed!r}")
    return RandomModel(spec, seed)


def majority(spec: ModelSpec, task: AnyTask | None = None) -> MajorityModel:
    """`majority`. SpecError without a task, or where its truths are not choices."""
    check_options(spec, known=frozenset())
    if task is None:
        raise SpecError("the majority model needs the task whose answers it counts")
    counts: dict[frozenset[str], Counter[str]] = {}
    for sample in task.samples:
        if not isinstance(sample.truth, Choice):
            raise SpecError("the majority model answers closed questions only")
        counts.setdefault(frozenset(sample.truth.options), Counter())[sample.truth.target] += 1
    return MajorityModel(spec, {k: min(c, key=lambda label: (-c[label], label)) for k, c in counts.items()})


def _label(prompt: Prompt, rng: np.random.Generator) -> Reply:
    return Reply(prompt.labels[int(rng.integers(len(prompt.labels)))] if prompt.labels else "")


def _boxes(prompt: Prompt, rng: np.random.Generator) -> Reply:
    if not prompt.pictures or not prompt.labels:
        return Reply(detections=Detections.empty())
    size = prompt.pictures[-1].upright_size()
    count = int(rng.integers(MOST_BOXES + 1))
    corners = np.sort(rng.random((count, 2, 2)), axis=1) * np.array(size)
    labels = tuple(prompt.labels[i] for i in rng.integers(len(prompt.labels), size=count))
    return Reply(detections=Detections(corners.reshape(count, 4), labels, rng.random(count)))
