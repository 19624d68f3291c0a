"""Votes: what several draws of one prompt say together. A vote is worth something where draws can differ.

Closed answers: the answer named most often is the answer. Boxes: each draw stays an answer of its own, and the score of
a box is the share of the draws that hold one like it, its own draw among them. A user asks for votes by `-T votes=true`
(closed questions) or `-T scores=vote` (boxes), with `--draws` and a temperature above 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from snellen.core.detections import BoxTable, Detections, Float
from snellen.core.labels import normal
from snellen.core.stages import Reading
from snellen.scoring.matching import matched
from snellen.scoring.overlaps import pairs_of

ALIKE = 0.5
"""The IoU from which boxes of one class, in two draws, are the same find."""


def majority(readings: Sequence[Reading[str]]) -> list[Reading[str]]:
    """The answer named most often, its share of all draws as confidence; a tie means none. One reading stands as it is.

    A draw that names nothing has no vote, and counts among the draws.
    """
    if len(readings) == 1:
        return list(readings)
    counts = Counter(reading.value for reading in readings if reading.value is not None)
    best = [answer for answer, n in counts.items() if n == max(counts.values())]
    if len(best) == 1:
        chosen = next(reading for reading in readings if reading.value == best[0])
        return [replace(chosen, confidence=counts[best[0]] / len(readings))]
    if best:
        return [Reading(None, "malformed", reason=f"several: a tie between {', '.join(sorted(best))}")]
    return [readings[0] if readings else Reading(None, "malformed", reason="none: no reply")]


def supported(readings: Sequence[Reading[Detections]]) -> list[Reading[Detections]]:
    """The same readings, every box scored by the share of draws that hold a box of its class at IoU .5 or more.

    Boxes of two draws are matched one to one (`scoring.matching`), so that a box said twice has no second vote. A draw
    from which nothing could be read holds no box.
    """
    found = [Detections.empty() if reading.value is None else reading.value for reading in readings]
    return [
        reading if reading.value is None else replace(reading, value=replace(reading.value, scores=_votes(i, found)))
        for i, reading in enumerate(readings)
    ]


def _votes(own: int, draws: Sequence[Detections]) -> Float:
    """The share of `draws` that hold each box of draw `own`: (n,), from 1 / draws to 1."""
    mine = draws[own]
    others = [draw for i, draw in enumerate(draws) if i != own]
    classes = tuple(dict.fromkeys(normal(label) for draw in draws for label in draw.labels))
    pairs = pairs_of(_table(others, classes), _table([mine] * len(others), classes), same_label=True)
    told = matched(pairs, at_least=ALIKE).predicted % max(len(mine), 1)
    return np.asarray((1 + np.bincount(told, minlength=len(mine))) / len(draws), dtype=np.float64)


def _table(draws: Sequence[Detections], classes: tuple[str, ...]) -> BoxTable:
    """Draws as pictures of a set, in columns."""
    every = Detections.concatenate(draws)
    index = {name: i for i, name in enumerate(classes)}
    return BoxTable(
        tuple(str(i) for i in range(len(draws))),
        classes,
        np.repeat(np.arange(len(draws)), [len(draw) for draw in draws]),
        np.array([index[normal(label)] for label in every.labels], dtype=np.int64),
        every.boxes,
    )
