"""`label[[x1, y1, x2, y2], ...]`, `(x1,y1),(x2,y2)`, a bare list: GLM, CogVLM, LLaVA, and others whose tags were lost.

The label is what stands right before the bracket on its line, where that is a name and not a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.core.errors import SpecError
from snellen.core.labels import normal
from snellen.parsing.entries import is_box_key
from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.quads import boxes_of, numbers_of, numeric
from snellen.parsing.scanner import Group, Word, number, scan
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"[(\[（［【]")
_JOINT = re.compile(r"\s*[,，、;-]?\s*(?:to|and)?\s*")
_BULLET = re.compile(r"^[\s>*•·\-–—#|\"'`“”‘’*]*(?:\d+[.)]\s+)?[\s*\"'`“”]*")
_TRAIL = re.compile(r"[\s:：=\-–—>|*\"'`“”‘’,，(]+$")
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|at|the|located|coordinates|box|boxes|bounding|here|in)\b|[是为在]|位于", re.I
)
_VERB = re.compile(r"\b(?:is|are|was|were)\b|[是为在]|位于", re.I)
_FIELD = re.compile(r"\b(?:label|class|category|name|object)\b[\s\"'*]*[:：=]\s*([^\n,，;；{}\[\]]{1,80})", re.I)
_JOINED = re.compile(r"^(?:and|or|then|also)(?:\s+|$)", re.IGNORECASE)
_WORDS = 4
_ENDING = "[](){}:\n"


def read(text: str, context: Context) -> Scan:
    """Every bracketed box (or point, where points are wanted) of the text."""
    roots = [root for root in scan(text) if root.kind != "{"]
    items: list[Item] = []
    at, i, label = 0, 0, None
    box_first = _names_come_after(text, roots)
    while i < len(roots):
        root = roots[i]
        if box_first:
            ends = [other.start for other in roots[i + 1 : i + 2]]
            said = _FIELD.search(text, root.end, *ends)
            template = Item(_bare(said[1]) if said else None)
        else:
            name = _label(text[at : root.start], context)
            template = Item(name or (label if _joined(text, at, root, items) else None))
        taken, found = _items(text, roots, i, template, context)
        items += found
        label = template.label
        i += taken
        at = roots[i - 1].end
    cut = bool(roots) and roots[-1].state == "open" and _numeric(roots[-1])
    return Scan(items, cut=cut)


def write(lines: Sequence[Line]) -> str:
    """One line per instance: the label, then the box in double brackets."""
    return "\n".join(f"{_writable(line.label)}[{list(line.numbers)}]" for line in lines)


def _writable(label: str) -> str:
    if _label(writable(label, without=_ENDING, form="brackets"), Context()) != label:
        raise SpecError(f"the format brackets cannot carry the label {label!r}: it would be read as part of a sentence")
    return label


def _items(text: str, roots: Sequence[Group], i: int, template: Item, context: Context) -> tuple[int, list[Item]]:
    """How many roots are used from the i-th on, and their items."""
    flat = numbers_of(roots[i])
    if flat is None or roots[i].breaks:
        return 1, _from_list(roots[i], template, context)
    if len(flat) == 4 and not context.points:
        return 1, [template._replace(numbers=flat)]
    if len(flat) != 2:
        return 1, [template] if len(flat) > 2 else []
    if context.points:
        return 1, [template._replace(numbers=flat, point=True)]
    second = numbers_of(roots[i + 1]) if i + 1 < len(roots) else None
    if second is None or len(second) != 2 or not _JOINT.fullmatch(text[roots[i].end : roots[i + 1].start]):
        return 1, []
    return 2, [template._replace(numbers=(*flat, *second), corners=True)]


def _from_list(root: Group, template: Item, context: Context) -> list[Item]:
    groups = [value for value in root.values if isinstance(value, Group)]
    if root.breaks and not groups and not context.points:
        return boxes_of(root, template)
    named = [item for item in map(_named, [root, *groups]) if item is not None]
    if named:  # ["cat", 1, 2, 3, 4] or ["cat", [1, 2, 3, 4]], alone or in a list
        return named
    if not groups or len(groups) < len(root.members):
        words = root.state != "open" and root.members and any(not isinstance(v, Word | str) for v in root.values)
        return [template] if words and not groups else []
    pairs = [numbers_of(group) for group in groups]
    if context.points:
        whole = [pair for group, pair in zip(groups, pairs, strict=True) if group.state != "open"]
        return [
            template._replace(numbers=pair if pair is not None and len(pair) == 2 else None, point=True)
            for pair in whole
        ]
    if root.state == "open":
        found = [item for group in groups if group.state != "open" for item in boxes_of(group, template)]
        return [item for item in found if item.numbers]
    return boxes_of(root, template)


def _named(group: Group) -> Item | None:
    """A list of one text and one box."""
    texts = [v for v in group.values if isinstance(v, str) and not isinstance(v, Word) and number(v) is None]
    rest = [value for value in group.values if value not in texts]
    if group.kind == "{" or group.state == "open" or len(texts) != 1 or len(rest) + 1 != len(group.members):
        return None
    if len(rest) == 1 and isinstance(rest[0], Group):
        found = boxes_of(rest[0], Item(texts[0]))
        return found[0] if len(found) == 1 and found[0].numbers else None
    numbers = [numeric(value) for value in rest]
    whole = tuple(x for x in numbers if x is not None)
    return Item(texts[0], whole) if len(whole) == len(numbers) == 4 else None


def _label(before: str, context: Context) -> str | None:
    """A name at the end of the line before the bracket; with classes given, the one class that is named there."""
    line = before.rpartition("\n")[2][-200:]
    bare = _TRAIL.sub("", _BULLET.sub("", line))
    if not bare:
        return None
    if context.classes:
        named = f" {normal(bare)} "
        hits = [name for name in context.classes if f" {normal(name)} " in named]
        longest = max(hits, key=len, default=None)
        if longest is not None and all(normal(hit) in normal(longest) for hit in hits):
            return longest
    name = _JOINED.sub("", _bare(re.split(r"[:：,，;；.。!?！？)\]]\s*", bare)[-1]) or "")
    if is_box_key(name):  # "label: cat, box: [1, 2, 3, 4]"
        said = _FIELD.findall(before)
        return _bare(said[-1]) if said else None
    adjacent = not line[-1].isspace() and name and line.endswith(name)
    words, sentence = (2 * _WORDS, _VERB) if adjacent else (_WORDS, _SENTENCE)
    return name if name and len(name.split()) <= words and not sentence.search(name) and not {*name} & {*"(="} else None


def _names_come_after(text: str, roots: Sequence[Group]) -> bool:
    """Whether entries are written box first: "bbox: [1, 2, 3, 4]", and "label: cat" behind it."""
    if not roots or _FIELD.search(text, 0, roots[0].start) or not _FIELD.search(text, roots[0].end):
        return False
    return is_box_key(_bare(_TRAIL.sub("", _BULLET.sub("", text[: roots[0].start].rpartition("\n")[2][-200:]))) or "")


def _bare(name: str) -> str | None:
    return name.strip(" *\"'`“”‘’") or None


def _joined(text: str, at: int, root: Group, items: Sequence[Item]) -> bool:
    """Whether only a joint stands between the last box and this one, so that the label goes on."""
    return bool(items) and _JOINT.fullmatch(text[at : root.start]) is not None


def _numeric(root: Group) -> bool:
    return not any(key is not None or isinstance(value, str) for key, value in root.members)
