"""How sure a model was of what it wrote, from the log-probabilities of the tokens it wrote it with.

The confidence of a closed answer is the probability of the tokens that spell it, given what stands before.

A box's confidence is the geometric mean of the probabilities of the tokens that hold its numbers and its label: what
every box's text has in common (brackets, keys) says nothing and is left out. It ranks a model's own boxes; it is no
probability of being right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from snellen.core.stages import Token
from snellen.parsing.items import Item
from snellen.parsing.wrapping import final_part

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def confidences(items: Sequence[Item], tokens: Sequence[Token], *, answer: str = "") -> list[float | None]:
    """The confidence of each item, in 0..1; None where its numbers do not stand in the tokens' text in its order.

    answer: the end of the text that the items were read from (what stands before it, reasoning, is not searched).
    """
    text = "".join(token.text for token in tokens)
    ends = list(accumulate(len(token.text) for token in tokens))
    start = text.rfind(answer) if answer else 0
    if start < 0:  # tags were taken out of the answer: what follows the reasoning
        start = len(text) - len(final_part(text)[0])
    places = [_numbers_at(match) for match in _NUMBER.finditer(text, start)]
    found = list(_placed(items, places))
    out: list[float | None] = []
    for i, (item, span) in enumerate(zip(items, found, strict=True)):
        if span is None:
            out.append(None)
            continue
        low = max((other[-1][1] for other in found[:i] if other), default=start)
        high = min((other[0][0] for other in found[i + 1 :] if other), default=len(text))
        parts = [*span, *_label(text, item.label, low=low, first=span[0][0], last=span[-1][1], high=high)]
        chosen = sorted({k for part in parts for k in _covering(part, ends)})
        out.append(math.exp(sum(tokens[k].logprob for k in chosen) / len(chosen)))
    return out


def scored(items: Sequence[Item], tokens: Sequence[Token], *, answer: str = "") -> tuple[Item, ...]:
    """The items, those without a written score with their confidence."""
    found = confidences(items, tokens, answer=answer)
    return tuple(
        item._replace(score=sure) if item.score is None else item for item, sure in zip(items, found, strict=True)
    )


def certainty(answer: str | None, tokens: Sequence[Token]) -> float | None:
    """The probability with which the tokens that spell `answer` (where it stands last, in any case) were written, 0..1.

    None where there is no answer, or its letters do not stand in the tokens' text as they are.
    """
    if not answer or not tokens:
        return None
    text = "".join(token.text for token in tokens)
    at = text.lower().rfind(answer.lower())
    if at < 0 or len(text.lower()) != len(text):
        return None
    ends = list(accumulate(len(token.text) for token in tokens))
    return math.exp(sum(tokens[k].logprob for k in _covering((at, at + len(answer)), ends)))


Place = tuple[int, int, float]


def _numbers_at(match: re.Match[str]) -> Place:
    return match.start(), match.end(), float(match.group())


def _placed(items: Sequence[Item], places: Sequence[Place]) -> Iterator[list[tuple[int, int]] | None]:
    """Where the numbers of each item stand, each item after the one before."""
    at = 0
    for item in items:
        wanted = item.numbers or ()
        n = len(wanted)
        hits = (
            i
            for i in range(at, len(places) - n + 1)
            if all(p[2] == value for p, value in zip(places[i : i + n], wanted, strict=True))
        )
        first = next(hits, None) if n else None
        if first is None:
            yield None
            continue
        at = first + n
        yield [(a, b) for a, b, _ in places[first:at]]


def _label(text: str, label: str | None, *, low: int, first: int, last: int, high: int) -> list[tuple[int, int]]:
    """Where the label stands: behind the numbers before the next item's, else before them; nowhere: nothing."""
    if not label:
        return []
    at = text.find(label, last, high)
    if at < 0:
        at = text.rfind(label, low, first)
    return [] if at < 0 else [(at, at + len(label))]


def _covering(part: tuple[int, int], ends: Sequence[int]) -> Iterator[int]:
    """The tokens that hold any of these characters."""
    start = 0
    for k, end in enumerate(ends):
        if start < part[1] and end > part[0]:
            yield k
        start = end
