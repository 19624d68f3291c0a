"""Entries of JSON-like replies: which members of an object are its box, its label, its score. The keys are data.

A key's name never decides scale or order of `bbox_2d` and the like (PROTOCOLS section 4): the notation does. Only
keys that name single coordinates (`x_min`, `width`) carry their own order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from snellen.core.boxes import Order
from snellen.parsing.items import Item
from snellen.parsing.quads import boxes_of, numbers_of, numeric
from snellen.parsing.scanner import VALUES, Group, Number, Value, Word, plain

BOX_KEYS = frozenset([
    "bbox2d", "box2d", "bbox", "box", "boundingbox", "boundingbox2d", "bndbox", "bboxes", "boxes", "bboxes2d",
    "boxes2d", "boundingboxes", "detbox", "bboxxyxy", "boxxyxy", "regionbox",
])  # fmt: skip
LOOSE_BOX_KEYS = frozenset([
    "rect", "rectangle", "region", "coordinates", "coordinate", "coords", "coord", "location", "position",
])  # fmt: skip
"""Keys that hold a box where their value is bracketed, and words ("near the left bank") elsewhere."""
ORDER_KEYS: Mapping[str, Order] = {"xyxy": "xyxy", "cxcywh": "cxcywh", "xywh": "xywh", "yxyx": "yxyx"}
POLYGON_KEYS = frozenset(
    [
        "quadboxes",
        "quad",
        "quads",
        "polygon",
        "polygons",
        "poly",
        "segmentation",
        "corners",
        "vertices",
        "normalizedvertices",
        "boundingpoly",
    ]
)
POINT_KEYS = frozenset(["point2d", "point", "points", "points2d", "pointxy", "click", "keypoint", "centerpoint"])
LABEL_KEYS = (
    "label", "class", "classname", "category", "categoryname", "nameen", "labelen", "name", "object", "objectname",
    "labels", "classes", "categories", "names", "bboxeslabels", "text", "textcontent", "description", "phrase",
    "caption", "title", "tag", "type", "ref", "namezh", "labelzh", "标签", "类别", "名称", "classid", "categoryid",
    "labelname", "classlabel", "detectedobject", "obj", "entity", "item", "kind",
)  # fmt: skip
SCORE_KEYS = ("confidence", "score", "conf", "confidencescore", "probability", "prob", "scores", "confidences")
_SCORES = frozenset(SCORE_KEYS)
INHERITED = frozenset(LABEL_KEYS[:10])
COORDINATES: Sequence[tuple[Order, tuple[str, str, str, str]]] = (
    ("xyxy", ("xmin", "ymin", "xmax", "ymax")), ("xyxy", ("minx", "miny", "maxx", "maxy")),
    ("xyxy", ("x1", "y1", "x2", "y2")), ("xyxy", ("x0", "y0", "x1", "y1")),
    ("xyxy", ("left", "top", "right", "bottom")), ("xyxy", ("xtl", "ytl", "xbr", "ybr")),
    ("cxcywh", ("cx", "cy", "w", "h")), ("cxcywh", ("xcenter", "ycenter", "width", "height")),
    ("cxcywh", ("centerx", "centery", "width", "height")), ("xywh", ("x", "y", "width", "height")),
    ("xywh", ("x", "y", "w", "h")), ("xywh", ("left", "top", "width", "height")),
    ("xywh", ("xmin", "ymin", "width", "height")), ("xywh", ("x1", "y1", "width", "height")),
    ("xywh", ("x1", "y1", "w", "h")),
)  # fmt: skip
CORNERS = (
    ("topleft", "bottomright"), ("lefttop", "rightbottom"), ("upperleft", "lowerright"), ("tl", "br"), ("lt", "rb"),
    ("p1", "p2"), ("point1", "point2"), ("start", "end"), ("min", "max"), ("corner1", "corner2"), ("x1y1", "x2y2"),
)  # fmt: skip
"""Keys of two corner points that are a box."""
_CORNER_KEYS = frozenset(name for pair in CORNERS for name in pair)
_COORDINATE_KEYS = frozenset(name for _, names in COORDINATES for name in names)
_ALONE = frozenset(["xmin", "ymin", "xmax", "ymax", "x1", "y1", "x2", "y2"])
_CONTAINERS = frozenset([
    "objects", "detections", "instances", "predictions", "results", "result", "items", "annotations", "answer", "data",
    "output", "response", "detectedobjects", "content", "image", "images", "arguments", "parameters", "od", "",
])  # fmt: skip
_BOXES = BOX_KEYS | POLYGON_KEYS | frozenset(ORDER_KEYS)
_FIELDS = _BOXES | LOOSE_BOX_KEYS | POINT_KEYS | _ALONE
Record: TypeAlias = Mapping[str, tuple[str, Value]]
"""The members of an object: normal key -> (key as written, value)."""


@dataclass
class Entries:
    """What walking one answer finds. boxed, named: whether any entry has a box field, a label. cut: the text's end cuts
    it; dropped: entries that it cuts.
    """

    items: list[Item] = field(default_factory=list)
    boxed: bool = False
    named: bool = False
    empty: bool = False
    cut: bool = False
    dropped: int = 0


class _Place(NamedTuple):
    """A group to be walked: under which key it stands, the label that it inherits, and whether inside an entry."""

    group: Group
    name: str = ""
    label: str | None = None
    inside: bool = False


def entries(root: Group) -> Entries:
    """The entries of a scanned group, in the order of the text. An entry that the text's end cuts is dropped."""
    found = Entries()
    stack = [_Place(root)]
    while stack:
        place = stack.pop()
        below = _object(place, found) if place.group.kind == "{" else _list(place, found)
        stack += reversed(below)
    return found


def _list(place: _Place, found: Entries) -> list[_Place]:
    group = place.group
    if not group.members and group.state == "closed" and (place.name in _CONTAINERS or place.name in BOX_KEYS):
        found.empty |= not place.inside
    found.cut |= group.state == "open"
    children = [value for value in group.values if isinstance(value, Group)]
    if not place.inside and any(_has_box(child) for child in children):
        for key, value in group.members:
            if key is None and not (isinstance(value, Group) and (value.state == "open" or _holds_entry(value))):
                _count_broken(value, found)
    return [_Place(child, place.name, place.label, place.inside) for child in children]


def _count_broken(value: Value, found: Entries) -> None:
    """A member of a list of entries that is none itself: a text, a number, or an object without a box."""
    if isinstance(value, Group) and value.kind == "{" and not _has_box(value):
        label = _label(next(_records(value)))[1]
        found.items.append(Item(label))
        found.named |= label is not None
    elif isinstance(value, Number) or (isinstance(value, str) and not isinstance(value, Word)):
        found.items.append(Item())


def _has_box(group: Group) -> bool:
    names = {_normal(key) for key, _ in group.members if key}
    return group.kind == "{" and (
        not names.isdisjoint(_FIELDS) or {"x", "y"} <= names or any(names.issuperset(pair) for pair in CORNERS)
    )


def _holds_entry(value: Group) -> bool:
    """Whether anything below a member of a list may be an entry: an object with a box, a list of numbers."""
    pending = [v for v in value.values if isinstance(v, Group)]
    while pending:
        group = pending.pop()
        if _has_box(group) or (group.kind != "{" and len(numbers_of(group) or ()) == 4):
            return True
        pending += [v for v in group.values if isinstance(v, Group)]
    return False


def _object(place: _Place, found: Entries) -> list[_Place]:
    below = [each for record in _records(place.group) for each in _record(record, place, found)]
    found.cut |= place.group.state == "open"
    return below


def _records(group: Group) -> Iterator[Record]:
    """The object's members by normal key; where a box or label key comes again, a new record begins."""
    record: dict[str, tuple[str, Value]] = {}
    carried = ""  # the label of the record before, until this one brings its own
    for key, value in group.members:
        key = key or ""
        name = _normal(key)
        again = name in record and (name in BOX_KEYS or name in INHERITED or name in _ALONE)
        if again and name != carried:
            yield record
            carried = (_label(record)[0] or "") if name not in INHERITED else ""
            record = {carried: record[carried]} if carried else {}
        elif again:
            carried = ""
            del record[name]
        record[name if name not in record else f"{name} {len(record)}"] = (key, value)
    yield record


def _record(record: Record, place: _Place, found: Entries) -> list[_Place]:
    label_key, label = _label(record)
    template = Item(place.label if label is None and label_key is None else label, score=_score(record))
    used, items, is_entry = _boxes(record, template)
    if is_entry and place.inside and (label is None or not all(item.numbers for item in items)):
        is_entry = False  # words about an instance that use the words of a box
    if is_entry and place.group.state == "open":  # the end of the text cuts this entry
        found.cut = True
        found.dropped += 1
        return []
    if is_entry:
        found.boxed = True
        items = _zipped(items, record)
        notes = _notes(record, {*used, label_key or "", *SCORE_KEYS})
        found.items += [item._replace(notes=notes) for item in items] if notes else items
        found.named |= any(item.label is not None for item in items)
    own = label if label_key in INHERITED else place.label
    below = [
        _Place(value, name, _passed_on(name, key, own), place.inside or is_entry)
        for name, (key, value) in record.items()
        if isinstance(value, Group)
        and not (is_entry and name in used)
        and (name not in {label_key, *SCORE_KEYS} or _holds_objects(value))
    ]
    return below if is_entry or place.inside else [each for each in below if not _keyed(each.group, each.label, found)]


def _keyed(value: Group, label: str | None, found: Entries) -> bool:
    """`{"cat": [[...], [...]], "dog": [...]}`: whether the boxes of a class stand under its name; they are taken."""
    if _holds_objects(value) or value.state == "open":
        return False
    items = boxes_of(value, Item(label))
    if not any(item.numbers for item in items):
        return False
    found.items += items
    found.boxed = True
    found.named |= label is not None
    return True


def _boxes(record: Record, template: Item) -> tuple[set[str], list[Item], bool]:
    """The box fields of a record: keys used, items, and whether it has any. A box key goes before coordinates."""
    for names in ([n for n in record if n in _BOXES], [n for n in record if _is_loose(n)]):
        for name in names:
            items = _field(name, record[name][1], template)
            if items is not None:
                return {name}, items, True
        spelled = _coordinates(record, template) or _corner_points(record, template)
        if spelled is not None:
            return *spelled, True
    return _points(record, template)


def _field(name: str, value: Value, template: Item) -> list[Item] | None:
    """The items of a box field; None where it is none: words under a loose key, or a list of entries."""
    made = template._replace(order=_order_named(name))
    if name not in _BOXES and not isinstance(value, Group):
        return None
    if isinstance(value, Group) and _holds_objects(value):
        return _coordinates_inside(value, made)
    pair = numbers_of(value) if isinstance(value, Group) and name in LOOSE_BOX_KEYS else None
    if pair is not None and len(pair) == 2:  # "coordinate": [x, y]
        return [template._replace(numbers=pair, point=True)]
    return boxes_of(value, made, polygon=name in POLYGON_KEYS)


def _coordinates(record: Record, template: Item) -> tuple[set[str], list[Item]] | None:
    """A box whose coordinates have a key each, which name their order."""
    for order, names in COORDINATES if len(record.keys() & _COORDINATE_KEYS) > 3 else ():
        if all(name in record for name in names):
            numbers = tuple(numeric(record[name][1]) for name in names)
            whole = None if None in numbers else tuple(x for x in numbers if x is not None)
            return set(names), [template._replace(numbers=whole, order=order, spelled=True)]
    return None


def _corner_points(record: Record, template: Item) -> tuple[set[str], list[Item]] | None:
    """A box whose two corners have a key each: `[x, y]` in the notation's order, or `{"x": ..., "y": ...}`."""
    names = next((pair for pair in CORNERS if record.keys() >= {*pair}), None) if record.keys() & _CORNER_KEYS else None
    groups = [record[name][1] for name in names or ()]
    if names is None or not all(isinstance(group, Group) for group in groups):
        return None
    flat = [numbers_of(group) for group in groups if isinstance(group, Group)]
    if all(pair is not None and len(pair) == 2 for pair in flat):
        return set(names), [template._replace(numbers=(*(flat[0] or ()), *(flat[1] or ())), corners=True)]
    points = [_points(next(_records(group)), template)[1] for group in groups if isinstance(group, Group)]
    pairs = [found[0].numbers if len(found) == 1 else None for found in points]
    whole = None if None in pairs else (*(pairs[0] or ()), *(pairs[1] or ()))
    return set(names), [template._replace(numbers=whole, order="xyxy")]


def is_box_key(word: str) -> bool:
    """Whether a word names a box: `bbox_2d`, `Bounding box`, `coordinates`."""
    name = _normal(word)
    return name in _FIELDS or _is_loose(name)


def _is_loose(name: str) -> bool:
    return name in LOOSE_BOX_KEYS or (name.startswith(("bbox", "box", "boundingbox")) and "3d" not in name)


def _order_named(name: str) -> Order | None:
    return next((order for ending, order in ORDER_KEYS.items() if name.endswith(ending)), None)


def _points(record: Record, template: Item) -> tuple[set[str], list[Item], bool]:
    point = template._replace(point=True)
    for name, (_, value) in record.items():
        if name in POINT_KEYS and isinstance(value, Group) and not _holds_objects(value):
            inner = [v for v in value.values if isinstance(v, Group)]
            lists = [numbers_of(v) for v in inner] if inner else [numbers_of(value)]
            return {name}, [point._replace(numbers=n if n and len(n) == 2 else None) for n in lists], True
    if {"x", "y"} <= record.keys():
        numbers = (numeric(record["x"][1]), numeric(record["y"][1]))
        whole = None if None in numbers else (numbers[0] or 0.0, numbers[1] or 0.0)
        return {"x", "y"}, [point._replace(numbers=whole, order="xyxy")], True
    if record.keys() & _ALONE:  # some coordinates of a box, not all
        return set(record.keys() & _ALONE), [template], True
    return set(), [], False


def _coordinates_inside(value: Group, template: Item) -> list[Item] | None:
    """`"box": {"x_min": ...}`, or a list of corner points `[{"x": ..., "y": ...}, ...]`; None where it is neither."""
    if value.kind == "{":
        record = next(_records(value))
        used, items, is_entry = _boxes(record, template)
        nested = any(isinstance(v, Group) and _holds_objects(v) for n, (_, v) in record.items() if n not in used)
        nested |= _label(record)[1] is not None  # an entry of its own
        short = len(record) < 4 and not all(item.numbers for item in items)
        return None if nested or short or not is_entry or items[0].point else items
    records = [next(_records(v)) if isinstance(v, Group) and v.kind == "{" else {} for v in value.values]
    points = [_points(record, template)[1] if len(record) == 2 else [] for record in records]
    if len(points) < 2 or not all(len(p) == 1 and p[0].numbers for p in points):
        return None
    xs, ys = zip(*[p[0].numbers or (0.0, 0.0) for p in points], strict=True)
    return [template._replace(numbers=(min(xs), min(ys), max(xs), max(ys)), order="xyxy")]


def _holds_objects(value: Group) -> bool:
    return value.kind == "{" or any(isinstance(v, Group) and v.kind == "{" for v in value.values)


def _zipped(items: list[Item], record: Record) -> list[Item]:
    """Parallel lists: `labels` (and `scores`) that run beside a list of boxes."""
    labels = next((v for n, (_, v) in record.items() if n in LABEL_KEYS and isinstance(v, Group)), None)
    if (labels is not None and labels.state != "open" and len(items) > 1) or _is_plural(record, labels):
        named = [_text(v) for v in labels.values] if labels is not None else []
        items = [item._replace(label=named[i] if i < len(named) else None) for i, item in enumerate(items)]
    scores = next((v for n, (_, v) in record.items() if n in SCORE_KEYS and isinstance(v, Group)), None)
    if scores is not None:
        marks = [numeric(v) for v in scores.values]
        items = [item._replace(score=marks[i] if i < len(marks) else None) for i, item in enumerate(items)]
    return items


def _is_plural(record: Record, labels: Group | None) -> bool:
    return (
        labels is not None
        and labels.state != "open"
        and any(n in {"bboxes", "boxes", "quadboxes", "polygons"} for n in record)
    )


def _label(record: Record) -> tuple[str | None, str | None]:
    """The key of the label field, if there is one, and the label, if it is a usable one."""
    for name in LABEL_KEYS:
        if name in record:
            return name, _text(record[name][1])
    return None, None


def _text(value: Value) -> str | None:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, Word):
        return None if value.lower() in VALUES or value.lower() == "nan" else str(value)
    return value if isinstance(value, str) and value.strip() else None


def _score(record: Record) -> float | None:
    for name in SCORE_KEYS if record.keys() & _SCORES else ():
        value = record.get(name, ("", Word("null")))[1]
        found = numeric(value)
        if found is None and isinstance(value, str) and value.rstrip().endswith("%"):
            percent = numeric(str(value).rstrip()[:-1])
            found = None if percent is None else percent / 100
        if found is not None:
            return min(max(found, 0.0), 1.0)
    return None


def _passed_on(name: str, key: str, label: str | None) -> str | None:
    """The label for what lies under `key`: the entry's own, else the key, unless it only means "a list of things"."""
    if label is not None or not key or name in _CONTAINERS or name in BOX_KEYS or name in POINT_KEYS:
        return label
    return None if key.startswith("<") else key


def _notes(record: Record, left_out: set[str]) -> dict[str, object]:
    return {key: plain(value) for name, (key, value) in record.items() if name not in left_out and key}


def _normal(key: str) -> str:
    return re.sub(r"[\W_]", "", key.lower())
