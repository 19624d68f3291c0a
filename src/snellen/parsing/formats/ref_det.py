"""`<|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2], ...]<|/det|>`: DeepSeek-VL2, DeepSeek-OCR. A label is needed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.formats.tags import Tags, bracketed, read_tags
from snellen.parsing.items import Context, Scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<[|｜](?:det|ref)[|｜]>")
TAGS = Tags(("<|ref|>", "<|/ref|>"), ("<|det|>", "<|/det|>"), labelled=True)


def read(text: str, context: Context) -> Scan:
    """Boxes with the label right before them."""
    return read_tags(text, context, tags=TAGS, inside=bracketed)


def write(lines: Sequence[Line]) -> str:
    """One tag pair per instance, without anything between."""
    return "".join(
        f"<|ref|>{writable(line.label, without='<>', form='ref-det')}<|/ref|><|det|>[{list(line.numbers)}]<|/det|>"
        for line in lines
    )
