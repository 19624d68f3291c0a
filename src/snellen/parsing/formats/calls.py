"""`click(start_box='(x,y)')`, `click(point='<point>x y</point>')`: actions of GUI models. They name points."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.scanner import number
from snellen.parsing.writing import Line

SIGNATURE = re.compile(r"\b(?:start_box|end_box|point|start_point|end_point|coordinate)\s*=\s*[\"'\[(]")
_ARGUMENT = re.compile(
    r"\b(?:start_box|end_box|point|start_point|end_point|coordinate)\s*=\s*(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)'"
    r"|[\[(](?P<c>[^\])]*)[\])])"
)


def read(text: str, context: Context) -> Scan:
    """The point of every argument that ends; arguments of other than two numbers cannot be read."""
    items = []
    for argument in _ARGUMENT.finditer(text):
        inside = re.sub(r"<[^<>]*>|[()\[\]]", " ", argument["a"] or argument["b"] or argument["c"] or "")
        values = [number(word) for word in re.split(r"[\s,，]+", inside.strip())]
        whole = tuple(value for value in values if value is not None)
        items.append(Item(None, whole if len(whole) == len(values) == 2 else None, point=True))
    return Scan(items, cut=not items and SIGNATURE.search(text) is not None)


def write(lines: Sequence[Line]) -> str:
    """One click per instance, in the middle of its box; labels cannot be carried."""
    return "\n".join(f"click(start_box='({x},{y})')" for line in lines for x, y in [line.numbers])
