"""Numbers in brackets -> items: flat boxes, lists of boxes, corner pairs, polygons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from snellen.parsing.items import Item
from snellen.parsing.scanner import Group, Number, Value, Word, number, scan

_NOTHING = frozenset({"null", "none", "nil", "n/a", "undefined"})


def numeric(value: Value) -> float | None:
    """The number that a member is, be it written in quotes; None where it is none. NaN and infinity are none."""
    if isinstance(value, Number):
        return value.value
    if isinstance(value, str) and not isinstance(value, Word):
        return number(value)
    return None


def numbers_of(group: Group) -> tuple[float, ...] | None:
    """The members as numbers; None where one is not a number, carries a key, or the group was cut."""
    if group.state == "open":
        return None
    found = [None if key is not None else numeric(value) for key, value in group.members]
    return None if None in found else tuple(x for x in found if x is not None)


def boxes_of(value: Value, template: Item, *, polygon: bool = False) -> list[Item]:
    """The boxes that the value of a box field holds: one, several (a list of lists), or one that cannot be read."""
    if isinstance(value, Word):
        return [template._replace(nothing=True)] if value.lower() in _NOTHING else [template]
    if isinstance(value, str):
        inside = scan(value) if value.lstrip()[:1] in {"[", "("} else []
        return boxes_of(inside[0], template, polygon=polygon) if len(inside) == 1 else [template]
    if not isinstance(value, Group) or value.state == "open":
        return [template]
    if not value.members:
        return [template._replace(nothing=True)]
    groups = [member for member in value.values if isinstance(member, Group)]
    if len(groups) == len(value.members):
        return _nested(groups, template, polygon=polygon)
    flat = numbers_of(value)
    if flat is not None and value.breaks:
        return [template._replace(numbers=row if len(row) == 4 else None) for row in _rows(flat, value.breaks)]
    if flat is not None and polygon and len(flat) >= 6 and len(flat) % 2 == 0:
        return [_bounds(list(zip(flat[::2], flat[1::2], strict=True)), template)]
    return [template._replace(numbers=flat) if flat is not None and len(flat) == 4 else template]


def _nested(groups: Sequence[Group], template: Item, *, polygon: bool) -> list[Item]:
    while len(groups) == 1 and groups[0].members and all(isinstance(v, Group) for v in groups[0].values):
        groups = [v for v in groups[0].values if isinstance(v, Group)]
    lists = [numbers_of(group) for group in groups]
    pairs = [pair for pair in lists if pair is not None and len(pair) == 2]
    if len(pairs) == len(groups) and len(pairs) >= 2:
        return [_bounds(pairs, template) if len(pairs) > 2 else _corners(pairs, template)]
    found: list[Item] = []
    for group, flat in zip(groups, lists, strict=True):
        if group.state == "open":
            continue
        if flat is not None and group.breaks:
            found += boxes_of(group, template)
        elif flat is not None and polygon and len(flat) >= 6 and len(flat) % 2 == 0:
            found.append(_bounds(list(zip(flat[::2], flat[1::2], strict=True)), template))
        else:
            found.append(template._replace(numbers=flat) if flat is not None and len(flat) == 4 else template)
    return found


def _rows(flat: Sequence[float], breaks: Sequence[int]) -> list[tuple[float, ...]]:
    """The numbers between semicolons."""
    edges = [0, *breaks, len(flat)]
    return [tuple(flat[a:b]) for a, b in pairwise(edges) if b > a]


def _corners(pairs: Sequence[Sequence[float]], template: Item) -> Item:
    return template._replace(numbers=(*pairs[0], *pairs[1]), corners=True)


def _bounds(points: Sequence[Sequence[float]], template: Item) -> Item:
    """The box around points that are written in the notation's order of axes."""
    first, second = zip(*points, strict=True)
    return template._replace(numbers=(min(first), min(second), max(first), max(second)), corners=True)
