"""`<points label="cat" coords="1 1 900 400 2 911 800"/>`: Molmo 2, the picture's number, then (id, x, y) in 0..1000.

The compact form of videos, `<points 13.5 1 44.4 69.9/>` (time, id, x, y), counts in percent of the side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from snellen.parsing.formats.points_xml import TAG
from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.scanner import number
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<(?:points?|tracks)\b")
_COORDS = re.compile(r"\bcoords\s*=\s*[\"']([^\"']*)([\"']|$)")
_LABEL = re.compile(r"\b(?:label|alt)\s*=\s*\"([^\"]*)\"")
_COMPACT = re.compile(r"[\s\d.,;+-]+")
_QUOTED = re.compile(r"\"([^\"\n]{1,200})\"")
PERCENT = 100.0


def read(text: str, context: Context) -> Scan:
    """Points of every tag; without a label of its own, the text last quoted before the first tag."""
    items: list[Item] = []
    cut = False
    tags = list(TAG.finditer(text))
    said = _QUOTED.findall(text[: tags[0].start()]) if tags else []
    for tag in tags:
        inside = tag["inside"].rstrip("/ ")
        ended = tag["end"] == ">"
        cut |= not ended and tag.end() >= len(text.rstrip())
        coords, label = _COORDS.search(inside), _LABEL.search(inside)
        name = (label[1] if label else tag["text"] if coords else said[-1] if said else "").strip() or None
        if coords:
            items += [Item(name, p, point=True) for p in _triples(coords[1], closed=bool(coords[2]))]
        elif inside.strip() and _COMPACT.fullmatch(inside) and ended:
            items += [Item(name, p, point=True, scale=PERCENT) for p in _triples(inside, closed=True)]
    return Scan(items, cut=cut)


def write(lines: Sequence[Line]) -> str:
    """One tag per label with the middle of each of its boxes; labels in order of first appearance."""
    names = {writable(line.label, without='<>"', form="points-coords"): None for line in lines}
    return "\n".join(_tag(name, [line.numbers for line in lines if line.label == name]) for name in names)


def _tag(name: str, points: Sequence[tuple[float, ...]]) -> str:
    triples = " ".join(f"{i} {x} {y}" for i, (x, y) in enumerate(points, start=1))
    return f'<points label="{name}" coords="1 {triples}"/>'


def _triples(text: str, *, closed: bool) -> Iterator[tuple[float, float] | None]:
    """(id, x, y) triples after the frame's number; frames are parted by `;` or a tab (also the number may be)."""
    frames: list[list[str]] = []
    for part in re.split(r"[;,\t]", text):
        alone = bool(frames) and len(frames[-1]) == 1
        frames[-1:] = [[*frames[-1], *part.split()]] if alone else [*frames[-1:], part.split()]
    if not closed and frames:
        frames[-1] = frames[-1][:-1]  # the text ends here: the last number may be cut
    for words in frames:
        for i in range(2, len(words) - 1, 3):
            x, y = number(words[i]), number(words[i + 1])
            yield None if x is None or y is None else (x, y)
