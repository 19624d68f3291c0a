"""`<point x="10" y="20" alt="cat">cat</point>` and `<points x1="" y1="" x2="" ...>`: Molmo, Qwen3-VL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.scanner import number
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"<points?\b[^<>]*\bx\d*\s*=")
TAG = re.compile(r"<(?:points?|tracks)\b(?P<inside>[^<>]*)(?P<end>>|$|(?=<))(?P<text>[^<>]*)")
_ATTRIBUTE = re.compile(r"([A-Za-z]+)(\d*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


def read(text: str, context: Context) -> Scan:
    """Points in the order of their numbers (x2 before x10); the label is `alt`, `label` or the tag's text."""
    items: list[Item] = []
    cut = False
    for tag in TAG.finditer(text):
        found = {(name, index): a or b for name, index, a, b in _ATTRIBUTE.findall(tag["inside"])}
        cut |= tag["end"] != ">" and tag.end() >= len(text.rstrip())
        label = (found.get(("alt", "")) or found.get(("label", "")) or tag["text"]).strip() or None
        indices = sorted({i for n, i in found if n in {"x", "y"}}, key=lambda i: int(i[:9] or 0))
        items += [Item(label, _pair(found.get(("x", i)), found.get(("y", i))), point=True) for i in indices]
    if cut and items and items[-1].numbers is None:
        items.pop()
    return Scan(items, cut=cut)


def write(lines: Sequence[Line]) -> str:
    """One tag per instance: the middle of its box."""
    return "\n".join(
        f'<point x="{x}" y="{y}" alt="{name}">{name}</point>'
        for line in lines
        for name, (x, y) in [(writable(line.label, without='<>"', form="points-xml"), line.numbers)]
    )


def _pair(x: str | None, y: str | None) -> tuple[float, float] | None:
    first, second = number(x or ""), number(y or "")
    return None if first is None or second is None else (first, second)
