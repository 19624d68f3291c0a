"""JSON: a list of objects, fenced or bare, in prose or alone, under many keys, well formed or not.

Of several answers the last counts: fenced ones before bare ones; objects that follow one another are one answer.
Our scanner reads it; json-repair comes last, and only boxes whose numbers stand in the text in that order are kept.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from snellen.core.labels import normal
from snellen.parsing.entries import Entries, entries
from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.scanner import WHOLE_NUMBER, Group, Number, Value, Word, number, scan, unescaped
from snellen.parsing.writing import Line

SIGNATURE = re.compile(r"[{\[｛［]")
_FENCE = re.compile(r"```")
_BOX_KEY = re.compile(r"box|x_?min|x_?1\b|coord|points?\b", re.IGNORECASE)
_GAP = re.compile(r"[\s,;，、]*(?:and)?[\s,;，、]*")
_DRAFT = re.compile(r"draft|final|example|format|schema|correct|revis|instead|wait|actually|detections|answer", re.I)
_STRING = re.compile(r'\\.|"((?:[^"\\]|\\.)*+)(?:"|$)', re.DOTALL)
_REPAIRABLE = 20_000


class _Answer(NamedTuple):
    root: Group
    found: Entries
    fence: int  # 0: outside of fences


def read(text: str, context: Context) -> Scan:
    """The last answer in the text that has entries or is an empty list; JSON in a JSON string is unpacked."""
    scanned = _read(text, context)
    if '\\"' not in text or any(item.numbers for item in scanned.items):
        return scanned
    inside = "\n".join(unescaped(m[1], packed=True) for m in _STRING.finditer(text) if m[1] and '\\"' in m[1])
    for packed in (inside, text.replace('\\"', '"').replace("\\n", "\n")):
        unpacked = _read(packed, context)
        if any(item.numbers for item in unpacked.items):
            return dataclasses.replace(unpacked, repaired=True)
    return scanned


def _read(text: str, context: Context) -> Scan:
    answers = [_Answer(root, entries(root), fence) for fence, root in _roots(text)]
    telling = [a for a in answers if a.found.boxed or _is_cut(a) or (a.found.empty and not a.found.items)]
    pool = [a for a in telling if a.fence] or telling
    if not pool and any(_says_nothing(answer.root, context) for answer in answers[-1:]):
        return Scan(listed=True)
    if not pool:
        return _repaired(text, context) if _BOX_KEY.search(text) and answers else Scan()
    strong = [a for a in pool if a.found.boxed or _is_cut(a)]
    final = pool[-1]
    nothing = final.found.empty and not final.found.boxed
    revoked = final.fence > 0 or (strong and _DRAFT.search(text, strong[-1].root.end, final.root.start))
    settled = not strong or bool(nothing and revoked)
    chosen = [final] if settled else _joined(text, strong)
    scanned = _scan_of(text, chosen, context)
    if not settled and len(chosen) < len(strong):
        note = "an earlier list is set aside"
        scanned = dataclasses.replace(scanned, reason="; ".join(filter(None, (scanned.reason, note))))
    if not scanned.cut and not any(item.numbers or item.nothing for item in scanned.items) and scanned.items:
        return _better(scanned, _repaired(text, context))
    return scanned


def write(lines: Sequence[Line], *, key: str, label_key: str) -> str:
    """A JSON list, an object per instance; scores as "confidence", notes under their own keys."""
    rows = []
    for line in lines:
        row: dict[str, object] = {key: list(line.numbers), label_key: line.label}
        if line.score is not None:
            row["confidence"] = line.score
        rows.append(row | {name: value for name, value in line.notes.items() if name not in row})
    body = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{body}\n]" if rows else "[]"


def _roots(text: str) -> Iterator[tuple[int, Group]]:
    """Outermost groups with the number of the fence they stand in (0: none). A fence that never ends runs on."""
    marks = [m.start() for m in _FENCE.finditer(text)]
    edges = [0, *marks, len(text)]
    for i, (start, end) in enumerate(pairwise(edges)):
        for root in scan(text, start + 3 if i else 0, end):
            yield (i + 1) // 2 if i % 2 else 0, root


def _says_nothing(root: Group, context: Context) -> bool:
    """`{"cat": [], "dog": []}`: an empty list for classes that were asked for."""
    asked = {normal(name) for name in context.classes}
    empty = all(isinstance(v, Group) and v.kind == "[" and v.state == "closed" and not v.members for v in root.values)
    return empty and bool(root.members) and {normal(key or "") for key, _ in root.members} <= asked


def _is_cut(answer: _Answer) -> bool:
    """Whether the text's end cuts this answer inside something that looks like entries."""
    if not answer.found.cut:
        return False
    root = answer.root
    return root.kind == "{" or any(isinstance(v, Group) and v.kind == "{" for v in root.values) or not root.members


def _joined(text: str, strong: Sequence[_Answer]) -> list[_Answer]:
    """The last answer and those before it that belong to it: objects one after another, lists with nothing between."""
    chosen = [strong[-1]]
    for before in reversed(strong[:-1]):
        after = chosen[-1]
        gap = text[before.root.end : after.root.start]
        objects = before.root.kind == "{" and after.root.kind == "{" and not _DRAFT.search(gap)
        same = before.fence == after.fence and (objects or _GAP.fullmatch(gap) is not None)
        if not same and not _are_parts(before, after, gap):
            break
        chosen.append(before)
    return chosen[::-1]


def _are_parts(before: _Answer, after: _Answer, gap: str) -> bool:
    """A list per class: two of different classes, or one that the text's end cuts at once, with nothing between that
    calls the first a draft.
    """
    labels = [{item.label for item in answer.found.items} for answer in (before, after)]
    apart = labels[0].isdisjoint(labels[1]) if labels[1] else after.found.cut
    return bool(labels[0]) and apart and not _DRAFT.search(gap)


def _scan_of(text: str, chosen: Sequence[_Answer], context: Context) -> Scan:
    items = [item for answer in chosen for item in answer.found.items]
    boxed = any(answer.found.boxed for answer in chosen)
    named = context.unlabelled or len(context.classes) == 1 or any(answer.found.named for answer in chosen)
    empty = any(answer.found.empty for answer in chosen) and not items
    ended = max(answer.root.end for answer in chosen) >= len(text.rstrip())
    cut = any(answer.found.cut for answer in chosen)
    if cut and not ended:  # a fence closes inside an entry: the model left it like that
        items += [Item()] * sum(answer.found.dropped for answer in chosen)
    return Scan(
        items if boxed else [],
        listed=(boxed and (named or all(item.point for item in items))) or empty,
        cut=cut and ended,
        repaired=not all(_is_strict(text, answer.root) for answer in chosen),
        labelled=not context.unlabelled,
        reason="no entry has a label" if not named and any(i.numbers and not i.point for i in items) else "",
    )


def _is_strict(text: str, root: Group) -> bool:
    try:
        json.loads(text[root.start : root.end])
    except (ValueError, RecursionError):
        return False
    return True


def _repaired(text: str, context: Context) -> Scan:
    """What json-repair makes of the text, less every box whose numbers do not stand in the text in that order."""
    if len(text) > _REPAIRABLE:
        return Scan()
    import json_repair

    try:
        made = json_repair.loads(text)
    except Exception:  # it is a last resort, and on mangled text it fails in ways of its own (assertions too)
        return Scan()
    root = _grouped(made, 0)
    if not isinstance(root, Group):
        return Scan()
    found = entries(root)
    there = _quads(text)
    items = [item for item in found.items if item.numbers is None or item.numbers in there]
    if not any(item.numbers for item in items):
        return Scan()
    return Scan(items, listed=found.named or context.unlabelled, repaired=True, labelled=not context.unlabelled)


def _better(ours: Scan, other: Scan) -> Scan:
    return other if any(item.numbers for item in other.items) else ours


def _quads(text: str) -> frozenset[tuple[float, ...]]:
    """All runs of two and of four numbers of the text, without a number that the text's end may cut."""
    found = [m[0] for m in WHOLE_NUMBER.finditer(text) if m.end() < len(text) and m.end() - m.start() <= 40]
    values = [value for value in map(number, found) if value is not None]
    fours = {tuple(values[i : i + 4]) for i in range(len(values) - 3)}
    return frozenset(fours | {tuple(values[i : i + 2]) for i in range(len(values) - 1)})


def _grouped(value: object, depth: int) -> Value:
    """Plain Python as scanned groups."""
    if depth > 50:
        return Word("null")
    if isinstance(value, Mapping):
        members = [(str(key), _grouped(member, depth + 1)) for key, member in value.items()]
        return Group("{", 0, 0, "closed", list(members))
    if isinstance(value, list):
        return Group("[", 0, 0, "closed", [(None, _grouped(member, depth + 1)) for member in value])
    if isinstance(value, bool) or value is None:
        return Word(str(value).lower())
    if isinstance(value, int | float):
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "9" * 50
        return Number(text, float(value) if len(text) <= 40 else None)
    return str(value)


__all__ = ["SIGNATURE", "Item", "read", "write"]
