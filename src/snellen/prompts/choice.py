"""Closed questions as prompts: instruction, options, and the order these stand in. PROTOCOLS section 1."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from string import ascii_uppercase

from snellen.core.errors import SpecError
from snellen.core.stages import Choice, Key, Prompt, Sample, Turn

INSTRUCTION = "Answer with as few words as possible."
"""The paper's short-answer instruction (section 4.1)."""


def closed_prompt(
    sample: Sample[Choice],
    text: str,
    *,
    instruction: str = INSTRUCTION,
    template: str = "a photo of a {label}",
    lettered: bool = False,
    max_tokens: int = 64,
) -> Prompt:
    """The picture, then `<instruction> <question> Choose from [a, b].`; `template` serves scorers of options.

    lettered: the options are shown as `A. a, B. b`; SpecError for more than 26.
    """
    options = sample.truth.options
    shown = options
    if lettered:
        if len(options) > len(ascii_uppercase):
            raise SpecError(f"at most {len(ascii_uppercase)} options have letters, got {len(options)}")
        shown = tuple(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
    words = " ".join(part for part in (instruction, text, f"Choose from [{', '.join(shown)}].") if part)
    return Prompt(
        Key(sample.id),
        (Turn("user", (*sample.pictures, words)),),
        wants="choice",
        labels=options,
        template=template,
        max_tokens=max_tokens,
    )


def option_orders(targets: Sequence[str], options: Sequence[str], *, seed: str) -> list[tuple[str, ...]]:
    """An order of `options` for each question, given the questions' true options; the same for the same seed.

    Where the k! orders fit into the number of questions, each occurs equally often (+-1), over all and within each
    label. Where they do not, the place of the true option does.
    """
    rng = random.Random(seed)
    rows: dict[str, list[int]] = defaultdict(list)
    for i, target in enumerate(targets):
        rows[target].append(i)
    deal = _whole_orders if math.factorial(len(options)) <= len(targets) else _places
    out: list[tuple[str, ...]] = [()] * len(targets)
    start = 0
    for target in sorted(rows):
        dealt = deal(target, tuple(options), len(rows[target]), start, random.Random(seed))
        start += len(dealt)
        rng.shuffle(dealt)
        for i, order in zip(rows[target], dealt, strict=True):
            out[i] = order
    return out


def _whole_orders(
    target: str, options: tuple[str, ...], n: int, start: int, rng: random.Random
) -> list[tuple[str, ...]]:
    """`n` orders from one endless round of all orders; each label deals on where the last one stopped.

    The round goes by families of rotations, so that in any stretch of it each option visits its places evenly (+-2).
    """
    families = list(permutations(options[1:]))
    rng.shuffle(families)
    k = len(options)
    every = [(*family[k - turn - 1 :], options[0], *family[: k - turn - 1]) for family in families for turn in range(k)]
    return [every[(start + i) % len(every)] for i in range(n)]


def _places(target: str, options: tuple[str, ...], n: int, start: int, rng: random.Random) -> list[tuple[str, ...]]:
    """`n` orders whose true option goes round the places; the other options stand at random."""
    rng.seed(f"{rng.random()} {target}")
    others = [option for option in options if option != target]
    out = []
    for i in range(n):
        rng.shuffle(others)
        place = (start + i) % len(options)
        out.append((*others[:place], target, *others[place:]))
    return out
