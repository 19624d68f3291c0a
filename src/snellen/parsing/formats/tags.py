"""The common part of formats that put a label and its boxes between tags: a walk over the tags, once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.quads import boxes_of, numbers_of
from snellen.parsing.scanner import NUMBER, Group, number, scan

Inside = Callable[[str, bool, Item, Context], list[Item]]


@dataclass(frozen=True)
class Tags:
    """Tag names: what opens and closes a label and its boxes, and what makes the boxes after it no detections."""

    label: tuple[str, str]
    boxes: tuple[str, str]
    ignored: tuple[str, ...] = ()
    labelled: bool = False

    def pattern(self) -> re.Pattern[str]:
        """A pattern that finds any of the tags."""
        names = (*self.label, *self.boxes, *self.ignored)
        return re.compile("|".join(re.escape(name).replace(r"\|", "[|｜]") for name in names))


@dataclass
class _State:
    items: list[Item] = field(default_factory=list)
    label: str | None = None
    fresh: bool = False  # the label or its last boxes ended right before
    ignoring: bool = False
    cut: bool = False
    broken: bool = False


def read_tags(text: str, context: Context, *, tags: Tags, inside: Inside) -> Scan:
    """Items of every box tag that closes; one that another tag interrupts is an unreadable item."""
    marks = [(m.start(), m.end(), m[0].replace("｜", "|")) for m in tags.pattern().finditer(text)]
    marks.append((len(text), len(text), ""))
    state = _State()
    for (_, end, name), (after, _, following) in pairwise(marks):
        content = text[end:after]
        if name == tags.label[0]:
            state.label = content.strip() or None if following == tags.label[1] else None
            state.fresh, state.ignoring = following == tags.label[1], False
            state.cut |= not following
        elif name == tags.label[1] or name in tags.ignored:
            state.ignoring = name in tags.ignored
            state.fresh &= not content.strip()
        elif name == tags.boxes[0]:
            _take(content, following, state, tags, inside, context)
        elif name == tags.boxes[1]:
            state.fresh &= not content.strip()
    listed = any(item.nothing for item in state.items)
    return Scan(state.items, listed=listed, cut=state.cut, repaired=state.broken, labelled=tags.labelled)


def _take(content: str, following: str, state: _State, tags: Tags, inside: Inside, context: Context) -> None:
    if state.ignoring:
        return
    closed = following == tags.boxes[1]
    template = Item(state.label if state.fresh else None)
    found = inside(content, closed, template, context)
    if not closed and not following:
        state.cut = True
    elif not closed:
        state.broken = True
        found = found or [template]
    state.items += found
    state.fresh = closed and state.fresh


def bracketed(content: str, closed: bool, template: Item, context: Context) -> list[Item]:
    """`[[..],[..]]`, `(x1,y1),(x2,y2)`, `x1 y1 x2 y2` or `null` between box tags."""
    if content.strip().lower() in {"null", "none", "[]", "[[]]"}:
        return [template._replace(nothing=True)]
    roots = scan(content)
    if not roots:
        flat = [number(word) for word in re.split(r"[\s,，]+", content.strip())] if closed else []
        return [_whole(tuple(x for x in flat if x is not None) if None not in flat else None, template, context)][
            : 1 if closed else 0
        ]
    pairs = [numbers_of(root) for root in roots]
    if len(roots) % 2 == 0 and all(pair is not None and len(pair) == 2 for pair in pairs) and not context.points:
        whole = [(*(a or ()), *(b or ())) for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
        return [template._replace(numbers=four, corners=True) for four in whole]
    found: list[Item] = []
    for root, flat_root in zip(roots, pairs, strict=True):
        if flat_root is not None:
            found.append(_whole(flat_root, template, context))
        elif root.state != "open":
            found += boxes_of(root, template)
        else:
            found += [item for item in _complete(root, template) if closed or item.numbers]
    return found


def _complete(root: Group, template: Item) -> list[Item]:
    """The closed boxes of a list that is not closed itself."""
    inner = [value for value in root.values if isinstance(value, Group) and value.state != "open"]
    return [item for group in inner for item in boxes_of(group, template)] or [template]


def _whole(flat: tuple[float, ...] | None, template: Item, context: Context) -> Item:
    if flat is not None and len(flat) == 2 and context.points:
        return template._replace(numbers=flat, point=True)
    return template._replace(numbers=flat if flat is not None and len(flat) == 4 else None)


__all__ = ["NUMBER", "Tags", "bracketed", "read_tags"]
