"""The lines of a YOLO label file: `class cx cy w h`, in parts of the picture's sides.

A row of five numbers is a box; one of seven or more, odd in count, is a polygon whose bounding box is meant; each row
for itself. In a file of predictions a sixth number is the confidence, and so is one behind a polygon. Where data.yaml
gives a `kpt_shape`, rows hold a box and its keypoints: the box is read. Without it, a row whose every third number is a
keypoint's visibility (0, 1 or 2) is no polygon, and told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

SLACK = 1e-6
"""How far a normalised number may lie outside 0..1 by rounding."""

MOST = 100_000
"""A class number beyond this is no class."""

PIXELS = 2.0
"""A number above this is one of pixels."""


@dataclass
class Lines:
    """What a file's lines say. boxes: `cx cy w h`; scores: None where absent; numbers: the line (from 1) of each row.

    problems: `line 3: ...`, for lines that cannot be read, which are not among the rows. polygons: rows that were one.
    """

    labels: list[int] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    polygons: int = 0
    posed: int = 0


def read_lines(text: str, *, kind: Literal["truth", "predictions"] = "truth", keypoints: int = 0) -> Lines:
    """The rows of `text`. keypoints: how many numbers of keypoints follow each box (0: there are none)."""
    lines = Lines()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            _add(lines, words, number, kind, keypoints)
        except ValueError as problem:
            lines.problems.append(f"line {number}: {problem}")
    return lines


def _add(lines: Lines, words: Sequence[str], number: int, kind: str, keypoints: int) -> None:
    if any(word.endswith((",", ";")) for word in words[:-1]) or (len(words) == 1 and set(words[0]) & set(",;")):
        found = "1 field" if len(words) == 1 else f"{len(words)} with commas or semicolons"
        raise ValueError(f"expected 5 numbers separated by spaces, found {found}")
    if keypoints and len(words) == 5 + keypoints:
        words = words[:5]
        lines.posed += 1
    count = len(words)
    label = _label(words[0], least=-1 if kind == "predictions" else 0)
    values = [_finite(word) for word in words[1:]]
    score = None
    if kind == "predictions" and (count == 6 or (count >= 8 and count % 2 == 0)):
        score = values.pop()
        if not 0 <= score <= 1:
            raise ValueError(f"confidence {score:g} outside 0..1")
    elif count != 5 and (count < 7 or count % 2 == 0):
        hint = ": is this a file of predictions, with confidences?" if count == 6 else ""
        raise ValueError(f"{count} numbers, expected 5 (a box) or an odd number from 7 (a polygon){hint}")
    if len(values) > 4 and _is_posed(values):
        raise ValueError(f"{count} numbers look like a box with keypoints: data.yaml must give their kpt_shape")
    box = (values[0], values[1], values[2], values[3]) if len(values) == 4 else _around(values)
    _check(values)
    lines.labels.append(label)
    lines.boxes.append(box)
    lines.scores.append(score)
    lines.numbers.append(number)
    lines.polygons += len(values) > 4


def _label(word: str, *, least: int) -> int:
    """`0`, also `0.0` as numeric tools write it; in predictions -1 stands for no known class."""
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f'class "{word}" is not a number') from None
    if not math.isfinite(value) or value != int(value) or value < least:
        raise ValueError(f'class "{word}" is not a whole number from {least}')
    if value > MOST:
        raise ValueError(f'class "{word}" is beyond {MOST:,}')
    return int(value)


def _is_posed(values: Sequence[float]) -> bool:
    """Whether these are a box and keypoints of x, y and visibility, 2 ("visible") among them: no polygon's corner."""
    seen = values[6::3]
    return len(values) % 3 == 1 and 2 in seen and set(seen) <= {0, 1, 2}


def _finite(word: str) -> float:
    try:
        value = float(word.replace("_", "?"))  # Python reads 1_0
    except ValueError:
        raise ValueError(f"{word!r} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{word!r} is not a finite number")
    return value


def _check(values: Sequence[float]) -> None:
    """Pixels instead of parts, and centres outside, are faults; a box that leaves the picture is one for `check`."""
    if max(values) > PIXELS:
        hint = ": is the last one a track's number?" if len(values) == 6 and values[-1] == max(values) else ""
        raise ValueError(f"values over 1: not normalised ({max(values):g}){hint}")
    if len(values) == 4:
        for name, value in zip(("centre x", "centre y", "width", "height"), values, strict=True):
            if not -SLACK <= value <= 1 + SLACK:
                raise ValueError(f"{name} {value:g} outside 0..1")


def _around(points: Sequence[float]) -> tuple[float, float, float, float]:
    xs, ys = points[::2], points[1::2]
    low, high = (min(xs), min(ys)), (max(xs), max(ys))
    return (low[0] + high[0]) / 2, (low[1] + high[1]) / 2, high[0] - low[0], high[1] - low[1]
