"""`<|object_ref_start|>label<|object_ref_end|><|box_start|>(x1,y1),(x2,y2)<|box_end|>`: Qwen2-VL and its like."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.formats.tags import Tags, bracketed, read_tags
from snellen.parsing.items import Context, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<\|(?:box_start|object_ref_start)\|>")
TAGS = Tags(("<|object_ref_start|>", "<|object_ref_end|>"), ("<|box_start|>", "<|box_end|>"))


def read(text: str, context: Context) -> Scan:
    """Boxes (or points, where points are wanted) with the label right before them, where there is one."""
    return read_tags(text, context, tags=TAGS, inside=bracketed)


def write(lines: Sequence[Line]) -> str:
    """One token pair per instance, a line each."""
    return "\n".join(
        f"<|object_ref_start|>{writable(line.label, without='<>', form='box-tokens')}<|object_ref_end|>"
        f"<|box_start|>({x1},{y1}),({x2},{y2})<|box_end|>"
        for line in lines
        for x1, y1, x2, y2 in [line.numbers]
    )
