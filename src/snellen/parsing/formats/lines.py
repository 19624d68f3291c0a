"""One instance a line: `class cx cy w h [confidence]` (YOLO), `- cat: 10, 20, 30, 40`, `10 20 30 40 cat`.

A last line without a line end may be cut in its last number or name: it counts only where a closing sign follows, or
where the reply is known to be complete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.parsing.items import Context, Item, Scan
from snellen.parsing.scanner import number
from snellen.parsing.writing import Line, writable

SIGNATURE = re.compile(r"\d[\s,;|:]+[-+.\dxXyY]")
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?")
_SPLIT = re.compile(r"(?:[\s,，;|：()\[\]]|(?<!\d):|:(?!\d))+")  # 12:30:45 is no three numbers
_SPELLED = re.compile(
    r"\bx_?(?:1|min)\s*[=:]\s*([-+.\deE]+)[\s,;]+y_?(?:1|min)\s*[=:]\s*([-+.\deE]+)[\s,;]+"
    r"x_?(?:2|max)\s*[=:]\s*([-+.\deE]+)[\s,;]+y_?(?:2|max)\s*[=:]\s*([-+.\deE]+)",
    re.IGNORECASE,
)
_COLON = re.compile("[:：]")
_NUMBERS = re.compile(r"[\s\d.,，;|()\[\]+\-\u2212]+")
_INDEX = re.compile(r"^\s*\|\s*\d+\s*\|(?=\s*[^\W\d])")
"""The first column of a table that numbers its rows."""
_WORDS = 6


def read(text: str, context: Context) -> Scan:
    """Lines that hold four numbers at their end or their beginning, and a label or class number beside them.

    Where braces are open, the lines are parts of an object that was cut: its numbers are no list's, nor in its scale.
    """
    cut_object = text.count("{") != text.count("}")
    lines = [] if context.points or cut_object else text.splitlines(keepends=True)
    items = []
    cut = False
    for i, line in enumerate(lines):
        item = _item(line, context)
        if item is None:
            continue
        last = i == len(lines) - 1 and not line.endswith(("\n", "\r", ")", "]", "|", ";"))
        if last and not context.complete:
            cut = True
        else:
            items.append(item)
    return Scan(items, cut=cut)


def write(lines: Sequence[Line]) -> str:
    """A line per instance: label, four numbers, and the score where there is one."""
    return "".join(
        f"{_label(line.label)} {' '.join(map(str, line.numbers))}"
        + ("\n" if line.score is None else f" {line.score!r}\n")
        for line in lines
    )


def _label(label: str) -> str:
    writable(label, without=",，;|:：()[]\n", form="lines")
    words = label.split()
    if any(number(word) is not None for word in words) and len(words) > 1:
        return writable(label, without=[word for word in words if number(word) is not None], form="lines")
    return " ".join(words)


def _item(line: str, context: Context) -> Item | None:
    opened = sum(map(line.count, "[(（［"))
    if opened > 1 or opened != sum(map(line.count, "])）］")):
        return None  # "[580, 270, 999, [904]": brackets that mean something else than a row of four
    spelled = _SPELLED.search(line)
    if spelled:
        numbers = tuple(number(word) for word in spelled.groups())
        whole = tuple(x for x in numbers if x is not None)
        label = " ".join(word for word in _SPLIT.split(_BULLET.sub("", line[: spelled.start()]).strip()) if word)
        return Item(label or None, whole if len(whole) == 4 else None, order="xyxy")
    line = _INDEX.sub("", line)
    parts = _COLON.split(line, maxsplit=1)
    if len(parts) == 2 and any(sign.isalpha() for sign in parts[0]) and _NUMBERS.fullmatch(parts[1]):
        # "box 0: 10 20 30 40": what stands before the colon is the name, numbers in it too
        return _row(_SPLIT.split(_BULLET.sub("", parts[0]).strip(" |*\"'`")), [number(w) for w in _words(parts[1])])
    bare = line if re.match(r"\s*\d+\s", line) else _BULLET.sub("", line)
    words = _words(bare)
    values = [number(word) for word in words]
    tail = _run(values[::-1])
    if tail == len(values):
        if opened and tail != 4:  # "[1, 2, 3, 4, 5]" is no class and a box
            return None
        return _numbers_alone(words, [v for v in values if v is not None], context.classes)
    for name, run in (
        (words[: len(words) - tail], values[len(values) - tail :]),
        (words[_run(values) :], values[: _run(values)]),
    ):
        if not any(number(word) is not None for word in name) and (item := _row(name, run)):
            return item
    return None


def _words(text: str) -> list[str]:
    return [word for word in _SPLIT.split(text.strip()) if word]


def _row(name: Sequence[str], run: Sequence[float | None]) -> Item | None:
    """A name of a few words with four numbers, and perhaps a fifth that is a score."""
    got = [value for value in run if value is not None]
    score = got[4] if len(got) == 5 else None
    if len(got) not in {4, 5} or len(name) > _WORDS or (score is not None and not 0 <= score <= 1):
        return None
    return Item(" ".join(name), tuple(got[:4]), score=score)


def _numbers_alone(words: Sequence[str], values: Sequence[float], classes: Sequence[str]) -> Item | None:
    """`x1 y1 x2 y2`; with a whole number in front, that is the class; a sixth number is the confidence."""
    if len(values) == 4:
        return Item(None, tuple(values))
    if len(values) in {5, 6} and words[0].isdigit():
        name = classes[int(words[0])] if len(words[0]) < 9 and int(words[0]) < len(classes) else words[0]
        return Item(name, tuple(values[1:5]), score=values[5] if len(values) == 6 else None)
    return None


def _run(values: Sequence[float | None]) -> int:
    """How many numbers stand at the beginning."""
    return next((i for i, value in enumerate(values) if value is None), len(values))
