"""What models that answer by looking share: prompts in batches with their pictures opened, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from PIL import Image

from snellen.core.errors import DataError, SpecError
from snellen.core.stages import Failed, Key, Prompt, Reply

Opened: TypeAlias = tuple[Prompt, Image.Image]
"""A prompt and its last picture."""


def in_batches(
    prompts: Iterable[Prompt],
    see: Callable[[Sequence[Opened]], Iterable[tuple[Key, Reply | Failed]]],
    *,
    check: Callable[[Prompt], None],
    batch_size: int = 1,
) -> Iterator[tuple[Key, Reply | Failed]]:
    """What `see` answers to batches of prompts, in order. A picture that cannot be read is Failed.

    check: raises SpecError for a prompt that the model does not answer.
    """
    waiting = iter(prompts)
    while batch := list(islice(waiting, batch_size)):
        opened: list[Opened] = []
        for prompt in batch:
            check(prompt)
            try:
                opened.append((prompt, prompt.pictures[-1].image()))
            except DataError as error:
                yield prompt.key, Failed("picture", str(error))
        if opened:
            yield from see(opened)


def only_boxes(prompt: Prompt) -> None:
    """SpecError for a prompt that asks for something else than boxes, or shows nothing."""
    if prompt.wants == "choice" or not prompt.pictures:
        raise SpecError(f"a detector answers prompts for boxes, with a picture: {prompt.key.sample}")


def only_choices(prompt: Prompt) -> None:
    """SpecError for a prompt that asks for something else than one of several options, or shows nothing."""
    if not prompt.labels or prompt.wants != "choice":
        raise SpecError(f"a scorer of options answers closed questions with options only: {prompt.key.sample}")
    if not prompt.pictures:
        raise SpecError(f"a scorer of options needs a picture: {prompt.key.sample}")
