"""`<ref>label</ref><box>[[x1, y1, x2, y2], ...]</box>`: InternVL, All-Seeing, Qwen-VL.

Boxes after `<pred>` repeat boxes of objects (All-Seeing's relations) and are no detections.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.formats.tags import Tags, bracketed, read_tags
from snellen.parsing.items import Context, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<box>")
TAGS = Tags(("<ref>", "</ref>"), ("<box>", "</box>"), ignored=("<pred>", "</pred>"))


def read(text: str, context: Context) -> Scan:
    """Boxes with the label right before them, where there is one."""
    return read_tags(text, context, tags=TAGS, inside=bracketed)


def write(lines: Sequence[Line]) -> str:
    """One tag pair per instance, a line each."""
    return "\n".join(
        f"<ref>{writable(line.label, without='<>', form='ref-box')}</ref><box>[{list(line.numbers)}]</box>"
        for line in lines
    )
