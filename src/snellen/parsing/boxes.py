"""Replies to grounding prompts -> boxes and points in px of the picture, and the way back. PROTOCOLS sections 3 and 4.

A reply from which no list can be read has no value. Inside a readable list, an item that cannot be read is counted
(`Reading.unread`) and the others stand: WADE's lenient reading. `strict` is the paper's.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from snellen.core.detections import Detections, Points
from snellen.core.errors import SpecError, unknown
from snellen.core.pictures import Size
from snellen.core.stages import Finish, Reading, Salvage, Status, Token
from snellen.parsing.confidence import scored
from snellen.parsing.formats.table import FORMATS, Format
from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.notations import NOTATIONS, Notation, named
from snellen.parsing.placing import Placed, place
from snellen.parsing.wrapping import final_part, grounded_answer, is_refusal, with_brackets, without_chat_tokens
from snellen.parsing.writing import Line

__all__ = ["NOTATIONS", "Grounded", "read_boxes", "read_items", "read_points", "read_reply", "strict", "write_boxes"]

_NONE = re.compile(
    r"\b(?:there (?:are|is) (?:no|none|nothing)\b|none(?: of (?:them|these|the))?\b"
    r"|nothing (?:was |is )?(?:found|detected)"
    r"|no (?:\w+ ){0,4}(?:were |was |are |is |could be )?(?:detected|found|visible|present|seen|identified)"
    r"|no (?:\w+ ){1,4}in (?:the|this) (?:image|picture|photo|scene)"
    r"|(?:image|picture|photo|scene) (?:does not|doesn'?t) (?:contain|show|include|have) any\b"
    r"|there (?:are not|aren'?t|is not|isn'?t) any\b)"
    r"|^\W*(?:no objects?|no detections?|empty|nothing|n/a)\W*$"
    r"|没有(?!办法|权限)|未(?:检测到|发现|找到)|不存在",
    re.IGNORECASE,
)
_NOT_ANY = re.compile(
    r"\b(?:do not|don'?t|did not|didn'?t|can ?not|can'?t|could not|couldn'?t) (?:see|find|detect|identify|locate|spot)"
    r" any\b(?! (?:image|picture|photo))",
    re.IGNORECASE,
)
_SOME = re.compile(r"\b(?:but|however|although|though|except|only|instead)\b|但|不过|只有", re.IGNORECASE)
_LONGEST_WORDS = 300


class Grounded(NamedTuple):
    """Both readings of one reply."""

    boxes: Reading[Detections]
    points: Reading[Points]


def read_boxes(
    text: str,
    *,
    notation: str | Notation,
    size: Size | tuple[int, int],
    input_size: Size | tuple[int, int] | None = None,
    format: str = "auto",
    classes: Sequence[str] = (),
    finish: Finish | None = None,
    tokens: Sequence[Token] = (),
) -> Reading[Detections]:
    """The boxes of a reply about a picture of `size` (w, h), px.

    notation: a name of NOTATIONS or a Notation. input_size: what the model resized the picture to; needed (SpecError)
    where it counts in pixels of that. format: a name of FORMATS, or `auto`. classes: asked for; where it is one, it
    names boxes without a label. finish: how the reply ended, where that is known. tokens: the reply's tokens; with
    them, a box without a written score gets the confidence of its tokens (`parsing.confidence`).
    """
    return read_reply(
        text, notation=notation, size=size, input_size=input_size, format=format, classes=classes, finish=finish,
        tokens=tokens,
    ).boxes  # fmt: skip


def read_points(
    text: str,
    *,
    notation: str | Notation,
    size: Size | tuple[int, int],
    input_size: Size | tuple[int, int] | None = None,
    format: str = "auto",
    classes: Sequence[str] = (),
    finish: Finish | None = None,
) -> Reading[Points]:
    """The points of a reply; as `read_boxes`."""
    return read_reply(
        text, notation=notation, size=size, input_size=input_size, format=format, classes=classes, finish=finish
    ).points


def read_reply(
    text: str,
    *,
    notation: str | Notation,
    size: Size | tuple[int, int],
    input_size: Size | tuple[int, int] | None = None,
    format: str = "auto",
    classes: Sequence[str] = (),
    finish: Finish | None = None,
    tokens: Sequence[Token] = (),
) -> Grounded:
    """Boxes and points of a reply; as `read_boxes`. What the notation does not ask for has no value where absent."""
    known = named(notation)
    answer, finished = _answer(text)
    if not finished:
        return _both(Reading(None, "truncated", "truncated", "the reasoning never ends"))
    form, scan = _scan(answer, known, format, _context(known, classes, finish))
    if form is None or not scan:
        return _both(_wordless(answer, known, format, finish))
    if tokens:
        scan = dataclasses.replace(scan, items=scored(scan.items, tokens, answer=answer))
    frame = None if input_size is None else _size(input_size)
    only = classes[0] if len(classes) == 1 else ""
    placed = place(scan, known, form.name, size=_size(size), input_size=frame, only=only)
    return _judged(scan, placed, known)


def read_items(
    text: str,
    *,
    notation: str | Notation,
    format: str = "auto",
    classes: Sequence[str] = (),
    finish: Finish | None = None,
) -> tuple[Item, ...]:
    """The items of a reply with their numbers as written: what a probe of the notation looks at."""
    known = named(notation)
    answer, _ = _answer(text)
    return tuple(_scan(answer, known, format, _context(known, classes, finish))[1].items)


def _answer(text: str) -> tuple[str, bool]:
    """What of a reply is its answer, and whether its reasoning ends."""
    answer, finished = final_part(without_chat_tokens(text))
    return with_brackets(grounded_answer(answer)), finished


def _context(known: Notation, classes: Sequence[str], finish: Finish | None) -> Context:
    return Context(known.points, tuple(classes), finish == "stop", known.unlabelled, finish == "length")


def strict(reading: Reading[Detections]) -> Reading[Detections]:
    """The paper's reading (WADE, C.1): no salvage, and every item valid; else the reply is malformed."""
    if reading.value is None or (reading.status == "ok" and reading.salvage == "intact" and not reading.unread):
        return reading
    reason = reading.reason or f"{reading.unread} items cannot be read"
    return Reading(None, "malformed", reading.salvage, f"strict: {reason}")


def write_boxes(
    detections: Detections,
    *,
    notation: str | Notation,
    size: Size | tuple[int, int],
    input_size: Size | tuple[int, int] | None = None,
    format: str = "auto",
) -> str:
    """The ideal reply: `detections` as this notation writes them; `read_boxes` of it gives them back.

    Coordinates are rounded as the notation rounds, and never so that a box loses its area. Notations of points write
    the middle of each box. SpecError where the form cannot carry a label.
    """
    known = named(notation)
    form = _format(known.formats[0] if format == "auto" else format)
    frame = None if input_size is None else _size(input_size)
    numbers = _numbers(detections, known, form, size=_size(size), input_size=frame)
    scores = detections.scores
    lines = [
        Line(
            label,
            row,
            None if scores is None or np.isnan(scores[i]) else float(scores[i]),
            detections.notes[i] if detections.notes else {},
        )
        for i, (label, row) in enumerate(zip(detections.labels, numbers, strict=True))
    ]
    if not lines:
        return form.nothing
    if form.name == "json":
        return form.write(lines, key=known.key, label_key=known.label_key)
    return form.write(lines)


def _scan(text: str, known: Notation, name: str, context: Context) -> tuple[Format | None, Scan]:
    """The first form that finds something: the notation's own ones, then the common ones."""
    if name != "auto":
        return _format(name), _format(name).read(text, context)
    first: tuple[Format | None, Scan] = (None, Scan())
    for form in FORMATS.values():
        if (form.own and form.name not in known.formats) or not form.signature.search(text):
            continue
        if form.points and not known.points and form.name not in known.formats:
            continue
        if form.name == "lines" and known.prescribed:
            continue
        scan = form.read(text, context)
        if any(item.numbers or item.nothing for item in scan.items) or scan.listed:
            return form, scan
        if scan and not first[1]:
            first = (form, scan)
    return first


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise unknown("format", name, ("auto", *FORMATS))
    return FORMATS[name]


def _wordless(text: str, known: Notation, name: str, finish: Finish | None) -> Reading[Detections]:
    """The reading of a reply in which no form finds anything."""
    silent = any(FORMATS[form].silent for form in (known.formats if name == "auto" else (name,)))
    if not text.strip():
        if silent and finish != "length":
            return Reading(Detections.empty())
        return Reading(None, "malformed", "intact", "the reply is empty")
    if not known.prescribed and len(text) <= _LONGEST_WORDS and _says_none(text):
        return Reading(Detections.empty(), "ok", "repaired", "says in words that there is nothing")
    if finish == "refused" or is_refusal(text):
        return Reading(None, "refused", "intact", "the reply refuses")
    if finish == "length":
        return Reading(None, "truncated", "truncated", "the reply ends before any box")
    return Reading(None, "malformed", "intact", "no list of boxes in the reply")


def _says_none(text: str) -> bool:
    """Whether the reply says in words that there is nothing, and no more: "There are none", "I don't see any cars"."""
    plain = text.replace("\u2019", "'")
    if _SOME.search(plain):  # "no dogs, but two cats"
        return False
    if _NOT_ANY.search(plain):
        return "sorry" not in plain.lower()
    return _NONE.search(plain) is not None and not is_refusal(plain)


def _judged(scan: Scan, placed: Placed, known: Notation) -> Grounded:
    """Status, salvage and reason of what was placed."""
    reason = _reason(scan, placed)
    found = len(placed.boxes) + len(placed.points)
    repaired = scan.repaired or placed.swapped > 0 or (found > 0 and scan.reason != "")
    salvage: Salvage = "truncated" if scan.cut else "repaired" if repaired else "intact"
    status: Status = "truncated" if scan.cut else "ok"
    if not found and scan.cut:
        return _both(Reading(None, "truncated", "truncated", reason))
    contradicts = placed.off_scale > 0 and not found
    if not found and (contradicts or not (scan.listed or placed.nothing)):
        return _both(Reading(None, "malformed", salvage, reason))
    has_boxes, has_points = len(placed.boxes) > 0, len(placed.points) > 0
    boxes: Reading[Detections] = Reading(placed.boxes, status, salvage, reason, placed.unread)
    points: Reading[Points] = Reading(placed.points, status, salvage, reason, placed.unread)
    if has_points and not has_boxes:
        boxes = Reading(None, "malformed", salvage, "the reply holds points, not boxes")
    if has_boxes and not has_points:
        points = Reading(None, "malformed", salvage, "the reply holds boxes, not points")
    return Grounded(boxes, points)


def _reason(scan: Scan, placed: Placed) -> str:
    """What was wrong, in one line."""
    parts = [scan.reason] if scan.reason else []
    if scan.cut:
        parts.append("the text ends inside the list")
    other = placed.unread - placed.off_scale - placed.unnamed
    for n, one, many in (
        (placed.off_scale, "contradicts the scale of the notation", "contradict the scale of the notation"),
        (0 if scan.reason else placed.unnamed, "has no label", "have no label"),
        (other, "cannot be read", "cannot be read"),
        (placed.swapped, "had its corners swapped", "had their corners swapped"),
    ):
        parts += [f"{n} {one if n == 1 else many}"] if n > 0 else []
    return "; ".join(parts)


def _both(reading: Reading[Detections]) -> Grounded:
    points = None if reading.value is None else Points.empty()
    return Grounded(reading, Reading(points, reading.status, reading.salvage, reading.reason, reading.unread))


def _numbers(
    detections: Detections, known: Notation, form: Format, *, size: Size, input_size: Size | None
) -> list[tuple[int | float, ...]]:
    """Rows of numbers as the notation writes them: rounded, inside its limits, no side collapsed."""
    means, steps = known.of(form.name), _steps(known, form)
    if (known.points or form.points) and len(detections):
        middles = (detections.boxes[:, :2] + detections.boxes[:, 2:]) / 2
        rows = means.encode(np.tile(middles, 2), size=size, input_size=input_size)[:, :2]
        return [_row(row, steps) for row in rows.tolist()]
    rows = means.encode(detections.boxes, size=size, input_size=input_size)
    if means.order in {"xywh", "cxcywh"}:
        return [_row(row, steps, sized=True) for row in rows.tolist()]
    edge = means.encode([[0, 0, *size]], size=size, input_size=input_size)[0, 2:].tolist()
    return [_spread(row, steps, edge) for row in rows.tolist()]


class _Steps(NamedTuple):
    """How numbers are rounded: to `digits` decimals (None: down, to bins), within 0..limit where there is one."""

    digits: int | None
    limit: float | None

    @property
    def step(self) -> float:
        return 10.0 ** -(self.digits or 0)

    def __call__(self, x: float) -> int | float:
        value = math.floor(x + 1e-9) if self.digits is None else round(x, self.digits or None)
        return value if self.limit is None else type(value)(min(max(value, 0), self.limit))


def _steps(known: Notation, form: Format) -> _Steps:
    if form.name in known.scales:  # px of the picture beside a form that counts in bins
        return _Steps(2, None)
    digits = None if known.rounding == "floor" else 0 if known.rounding == "whole" else known.rounding
    return _Steps(digits, known.limit if known.limit is not None else known.box.scale)


def _row(row: Sequence[float], rounded: _Steps, *, sized: bool = False) -> tuple[int | float, ...]:
    numbers = [rounded(x) for x in row]
    if sized:
        numbers[2:] = [max(x, rounded.step) for x in numbers[2:]]
    return tuple(numbers)


def _spread(row: Sequence[float], rounded: _Steps, edge: Sequence[float]) -> tuple[int | float, ...]:
    """Low and high of each axis, rounded, one step apart where rounding would take the side's length.

    `edge` is the picture's own end on each axis: a step goes inwards there.
    """
    low, high = [rounded(x) for x in row[:2]], [rounded(x) for x in row[2:]]
    for axis in (0, 1):
        if high[axis] <= low[axis]:
            up = rounded(low[axis] + rounded.step)
            inwards = up <= low[axis] or up > max(edge[axis], high[axis])
            low[axis], high[axis] = (rounded(low[axis] - rounded.step), low[axis]) if inwards else (low[axis], up)
    return (*low, *high)


def _size(size: Size | tuple[int, int]) -> Size:
    """A width and a height of at least 1 px; SpecError else."""
    if len(size) != 2 or min(size) < 1:
        raise SpecError(f"a size is a width and a height of at least 1 px, got {tuple(size)}")
    return Size(*size)
