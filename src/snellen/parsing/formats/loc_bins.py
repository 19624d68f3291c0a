"""`label<loc_x1><loc_y1><loc_x2><loc_y2>...`: Florence-2's 1,000 bins, whose centres are meant.

A label may be followed by several boxes. Eight bins that go round (the last two corners run from right to left) are
a quadrilateral, as Florence's OCR writes: its bounding box is taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<loc_\d")
_RUN = re.compile(r"(?:<loc_\d{1,9}>)+")
_BIN = re.compile(r"\d+")
_AROUND = re.compile(r"^[\s{\"':,]+|[\s\"']+$")  # of a wrapping {"<TASK>": "..."} too
BINS = 1000.0
_TASK = re.compile(r"<[A-Z_]+>|</?poly>")


def read(text: str, context: Context) -> Scan:
    """Boxes with the text before their run as label."""
    items: list[Item] = []
    at, cut = 0, re.search(r"<(?:l(?:o(?:c(?:_\d*)?)?)?)?\s*$", text) is not None
    for run in _RUN.finditer(text):
        before = _TASK.sub(" ", text[at : run.start()]).rstrip()
        label = _AROUND.sub("", before.rpartition("\n")[2]) or None  # prose may stand in the lines above
        at = run.end()
        bins = [float(b) + 0.5 for b in _BIN.findall(run[0])]
        whole = len(bins) - len(bins) % 4
        items += [Item(label, box if max(box) < BINS else None, scale=BINS) for box in _boxes(bins[:whole])]
        if whole < len(bins):
            ends_here = not text[at:].strip() or (cut and "<loc" in text[at:])
            cut |= ends_here
            items += [] if ends_here else [Item(label)]
    return Scan(items, cut=cut)


def write(lines: Sequence[Line]) -> str:
    """The label and four bins per instance, nothing between."""
    return "".join(
        writable(line.label, without="<>", form="loc-bins")
        + "".join(f"<loc_{min(max(math.floor(x), 0), 999)}>" for x in line.numbers)
        for line in lines
    )


def _boxes(bins: Sequence[float]) -> Iterator[tuple[float, ...]]:
    at = 0
    while at < len(bins):
        eight = bins[at : at + 8]
        if len(eight) == 8 and eight[4] >= eight[6]:
            xs, ys = eight[::2], eight[1::2]
            yield min(xs), min(ys), max(xs), max(ys)
            at += 8
        else:
            yield tuple(bins[at : at + 4])
            at += 4
