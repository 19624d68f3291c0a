"""`<ref>label</ref><box>x1 y1 x2 y2</box>`: MiniCPM-V."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.parsing.formats.ref_box import SIGNATURE, read
from snellen.parsing.writing import Line, writable

__all__ = ["SIGNATURE", "read", "write"]


def write(lines: Sequence[Line]) -> str:
    """One tag pair per instance, a line each."""
    return "\n".join(
        f"<ref>{writable(line.label, without='<>', form='box-spaces')}</ref>"
        f"<box>{' '.join(map(str, line.numbers))}</box>"
        for line in lines
    )
