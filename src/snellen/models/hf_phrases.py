"""Class names as one text for detectors that read a caption: which tokens belong to which class, in chunks that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from snellen.core.errors import SpecError


class Phrases(NamedTuple):
    """A caption "a. b. c." and, per class, the places of its tokens."""

    text: str
    tokens: tuple[tuple[int, ...], ...]


def chunks_of(names: Sequence[str], tokenizer: Any, *, limit: int) -> Iterator[Phrases]:
    """Captions of at most `limit` tokens that hold all `names` in order.

    SpecError for a name that no caption can hold, or that has no tokens of its own.
    """
    part: list[str] = []
    for name in names:
        if part and len(_ids(tokenizer, caption([*part, name]))) > limit:
            yield _phrases(part, tokenizer, limit)
            part = []
        part.append(name)
    if part:
        yield _phrases(part, tokenizer, limit)


def caption(names: Sequence[str]) -> str:
    """The names as Grounding DINO was trained on them: lower case, each with a full stop."""
    return " ".join(f"{_plain(name)}." for name in names)


def _plain(name: str) -> str:
    """A full stop inside a name would end it."""
    return " ".join(name.lower().replace(".", " ").split())


def _phrases(names: Sequence[str], tokenizer: Any, limit: int) -> Phrases:
    text = caption(names)
    encoded = tokenizer(text, return_offsets_mapping=True)
    offsets = encoded["offset_mapping"]
    if len(offsets) > limit:
        raise SpecError(f"the class name {names[0]!r} has more tokens than the model can read ({limit})")
    found, start = [], 0
    for name in names:
        end = start + len(_plain(name))
        places = tuple(i for i, (a, b) in enumerate(offsets) if b > a and a >= start and b <= end)
        if not places:
            raise SpecError(f"the class name {name!r} has no tokens that the model knows")
        found.append(places)
        start = end + 2  # the full stop and the space
    return Phrases(text, tuple(found))


def _ids(tokenizer: Any, text: str) -> Sequence[int]:
    ids: Sequence[int] = tokenizer(text)["input_ids"]
    return ids
