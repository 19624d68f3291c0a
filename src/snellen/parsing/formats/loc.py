"""`<locYYYY><locXXXX><locYYYY><locXXXX> label ; ...`: PaliGemma's 1,024 bins, y first. A label is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<loc\d")
_RUN = re.compile(r"<loc\d{4}>(?:\s*<loc\d{4}>)*")
_BIN = re.compile(r"\d{4}")
_PARTIAL = re.compile(r"<(?:l(?:o(?:c\d{0,4})?)?)?\s*$")
_SEGMENT = re.compile(r"<seg\d*>?")


def read(text: str, context: Context) -> Scan:
    """Four tokens and a label make a box; the label ends at `;` or at the next token."""
    runs = list(_RUN.finditer(text))
    ends = [*(run.start() for run in runs[1:]), len(text)][: len(runs)]
    items: list[Item] = []
    cut = _PARTIAL.search(text) is not None
    for run, end in zip(runs, ends, strict=True):
        bins = tuple(int(b) for b in _BIN.findall(run[0]))
        rest = _SEGMENT.sub(" ", text[run.end() : end])
        label = re.split(r"[;\n<]", rest, maxsplit=1)[0].strip() or None
        alone = len(context.classes) == 1 and len(bins) == 4
        last = end == len(text) and not re.search(r"[;\n]", rest)
        if last and (context.cut or (label is None and not alone)):  # the label comes last: it is missing, or cut
            cut = True
        else:
            items.append(Item(label, bins if len(bins) == 4 else None))
    return Scan(items, cut=cut, labelled=True)


def write(lines: Sequence[Line]) -> str:
    """Four tokens and the label per instance, joined by ` ; `."""
    return " ; ".join(
        "".join(f"<loc{min(int(x), 1023):04d}>" for x in line.numbers)
        + f" {writable(line.label, without=';<>', form='loc')}"
        for line in lines
    )
