"""A scanner of JSON-like text that knows where the text was cut.

It reads strict JSON, Python literals, and what models write instead: comments, trailing and missing commas, unquoted
keys, single, curly and unescaped quotes, full-width punctuation, brackets closed wrongly or never. It runs once over
the text without recursion or backtracking. Nothing is completed: a group that was never closed stays `open`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

OPENERS = {"{": "{", "[": "[", "(": "(", "｛": "{", "［": "[", "【": "[", "（": "("}
CLOSERS = {"}": "{", "]": "[", ")": "(", "｝": "{", "］": "[", "】": "[", "）": "("}
QUOTES = {'"': '"', "'": "'", "`": "`", "“": '”“"', "”": '”"', "‘": "’'", "’": "’'", "＂": '＂"', "「": "」"}

_NUMBER = r"[+\-\u2212]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NUMBER = re.compile(_NUMBER)
WHOLE_NUMBER = re.compile(rf"(?<![\w.%~\u2248$\u20ac+\-\u2212]){_NUMBER}(?![\w%]|\.\d)")
"""A number that is no part of another, of a word, a range (`10-20`) a percentage or a guess (`~10`)."""
_START = re.compile(rf"[{{\[｛［【]|[(（](?=\s*{_NUMBER})")
_TOKEN = re.compile(
    rf"[\s\u3000]*(?:(?P<comment>//[^\n]*|\#[^\n]*)|(?P<block>/\*)"
    rf"|(?P<number>(?<![\w.%]){_NUMBER}(?![\w.%]))|(?P<open>[{{\[｛［【]|[(（])|(?P<close>[}}\])｝］】）])"
    r"|(?P<comma>[,，、;；])|(?P<colon>[:：]|=>?)|(?P<quote>[\"'`“”‘’＂「])"
    r"|(?P<word>[^\s{}\[\]()｛｝［］【】（）,，、;；:：=\"“”＂「」]+|[」]))"
)
_AFTER_STRING = re.compile(
    r"[\s\u3000]*(?:[:=}\])：、｝］】）]|$"
    r"|[,，](?!\s{0,20}[^\W\d][^\"“”{}\[\]:：,，]{0,60}[\"”]\s{0,20}[,}\]]))"  # `"a "b", c", ...`: the string goes on
)
_STRUCTURE = re.compile(r"[}\]]\s*,\s*[{\[]")
_NEXT_KEY = re.compile(r"\s{0,20},\s{0,20}[\"']\w{1,40}[\"']\s{0,20}:")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_BROKEN = re.compile("[.eE]")
_LONGEST = 40
_DEEPEST = 64
VALUES = {"true": True, "false": False, "null": None, "none": None}
"""Words that are values."""


class Number(NamedTuple):
    """A number as written; `value` is None where it has more than 40 characters."""

    text: str
    value: float | None


class Word(str):
    """Unquoted words: `true`, `null`, `NaN`, or anything else that is no number."""

    __slots__ = ()


State: TypeAlias = Literal["closed", "forced", "open"]
Value: TypeAlias = "Group | Number | Word | str"


@dataclass(slots=True, eq=False)
class Group:
    """A bracketed group: members with their keys (None in lists), and where it stands in the text.

    `state`: closed by its own bracket; forced: an outer bracket closed it; open: the text ended first. `breaks`:
    after how many members a semicolon stands (`[1,2,3,4;5,6,7,8]`).
    """

    kind: str
    start: int
    end: int = -1
    state: State = "open"
    members: list[tuple[str | None, Value]] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)

    @property
    def values(self) -> list[Value]:
        """The members without their keys."""
        return [value for _, value in self.members]


def number(text: str) -> float | None:
    """The value of a number written in `text` (and nothing else); None where it is none or absurdly long.

    An int where it is written as one: `1` and `1.0` tell scales apart.
    """
    text = text.strip()
    if len(text) > _LONGEST or NUMBER.fullmatch(text) is None:
        return None
    text = text.replace("\u2212", "-")
    return float(text) if _BROKEN.search(text) else int(text)


def scan(text: str, start: int = 0, end: int | None = None) -> list[Group]:
    """The outermost bracketed groups between `start` and `end`, in order; prose around them is passed over."""
    return list(_Scan(text, start, len(text) if end is None else end).run())


class _Scan:
    """One pass over the text: a stack of open groups, and in each the key that waits for its value."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.at, self.end = text, start, end
        self.stack: list[Group] = []
        self.keys: list[str | None] = []
        self.fresh = True  # nothing since the last comma, colon or bracket: a word begins
        self.open_of = {"{": 0, "[": 0, "(": 0}
        self.blocks = True  # whether a block comment may still end

    def run(self) -> Iterator[Group]:
        """The outermost groups, each when it is complete; the last one may be open."""
        take: dict[str, Callable[[str], Group | None]] = {
            "comment": self._comment, "block": self._block, "number": self._number, "open": self._open,
            "close": self._close, "comma": self._comma, "colon": self._colon, "quote": self._quote, "word": self._word,
        }  # fmt: skip
        while self.at < self.end:
            if not self.stack:
                opener = _START.search(self.text, self.at, self.end)
                if opener is None:
                    return
                self.at = opener.start()
            token = _TOKEN.match(self.text, self.at, self.end)
            if token is None:
                self.at += 1
                continue
            self.at = token.end()
            kind = token.lastgroup or ""
            root = take[kind](token[kind])
            if root is not None:
                yield root
        for group in self.stack:
            group.end = self.end
        if self.stack:
            yield self.stack[0]

    def _comment(self, _: str) -> None: ...

    def _block(self, _: str) -> None:
        stop = self.text.find("*/", self.at, self.end) if self.blocks else -1
        self.blocks = stop >= 0
        self.at = stop + 2 if stop >= 0 else self.at

    def _open(self, sign: str) -> None:
        group = Group(OPENERS[sign], self.at - 1)
        if self.stack:
            self._add(group)
        self.stack.append(group)
        self.keys.append(None)
        self.open_of[group.kind] += 1
        self.fresh = True

    def _close(self, sign: str) -> Group | None:
        kind = CLOSERS[sign]
        top = self.stack[-1]
        if top.kind != kind and _NEXT_KEY.match(self.text, self.at, self.end):
            kind = top.kind  # "[1, 2, 3, 4}, "label": ...": the wrong sign, for the next key belongs to the object
        if not self.open_of[kind]:
            return None
        while True:
            group = self.stack.pop()
            self.keys.pop()
            self.open_of[group.kind] -= 1
            group.end = self.at
            group.state = "closed" if group.kind == CLOSERS[sign] else "forced"
            if group.kind == kind:
                break
        self.fresh = True
        return None if self.stack else group

    def _comma(self, sign: str) -> None:
        if sign in ";；":
            self.stack[-1].breaks.append(len(self.stack[-1].members))
        self.keys[-1] = None
        self.fresh = True

    def _colon(self, _: str) -> None:
        members = self.stack[-1].members
        if members and members[-1][0] is None and not isinstance(members[-1][1], Group):
            name = members.pop()[1]
            self.keys[-1] = name.text if isinstance(name, Number) else str(name)
        self.fresh = True

    def _number(self, text: str) -> None:
        self._add(Number(text, number(text)))

    def _word(self, text: str) -> None:
        members = self.stack[-1].members
        if not self.fresh and members and isinstance(members[-1][1], Word):
            key, before = members[-1][0], str(members[-1][1])
            members[-1] = (key, Word(f"{before} {text}" if len(before) < 200 else before))
            return
        self._add(Word(text))

    def _quote(self, sign: str) -> None:
        members = self.stack[-1].members
        if sign in "'‘’" and not self.fresh and members and isinstance(members[-1][1], Word):
            self._word(sign)  # an apostrophe inside unquoted words
            return
        content, self.at = self._string(sign)
        self._add(content)

    def _add(self, value: Value) -> None:
        self.stack[-1].members.append((self.keys[-1], value))
        self.keys[-1] = None
        self.fresh = False

    def _string(self, sign: str) -> tuple[str, int]:
        """The string that begins here and where it ends: at a quote that structure follows."""
        start = self.at
        stops = re.compile(rf"[\\{QUOTES[sign]}]")
        at, inner = start, False
        while True:
            found = stops.search(self.text, at, self.end)
            if found is None:
                return self.text[start : self.end], self.end
            if found[0] == "\\":
                at = min(found.end() + 1, self.end)
                continue
            if _AFTER_STRING.match(self.text, found.end(), self.end):
                break
            at, inner = found.end(), True
        if inner:  # quotes inside: unescaped ones, or a closing quote was forgotten
            lost = _STRUCTURE.search(self.text, start, found.start())
            if lost:
                return self.text[start : lost.start()].rstrip(QUOTES[sign]), lost.start()
        return unescaped(self.text[start : found.start()]), found.end()


def unescaped(content: str, *, packed: bool = False) -> str:
    """A string's content with its escapes (also of signs that need none) as the signs they stand for.

    packed: the content is JSON itself; then signs that need no escape keep the backslash, for `2\\0` is no number 20.
    """
    if "\\" not in content:
        return content
    sign = r'["\\/bfnrt]' if packed else "."
    text = re.sub(rf"\\(u[0-9a-fA-F]{{4}}|{sign})", _escape, content, flags=re.DOTALL)
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs are one sign; half a pair is none


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def plain(value: Value, depth: int = 0) -> object:
    """A scanned value as plain Python; what is nested deeper than 64 becomes None."""
    if isinstance(value, Number):
        whole = re.fullmatch(r"[+-]?\d{1,15}", value.text)
        return int(value.text) if whole else value.value if value.value is not None else value.text
    if isinstance(value, Word):
        return VALUES.get(value.lower(), str(value))
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return None
    if value.kind == "{":
        return {key or "": plain(member, depth + 1) for key, member in value.members}
    return [plain(member, depth + 1) for _, member in value.members]
