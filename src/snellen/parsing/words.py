"""Words of a reply in the form in which options are compared: casefolded, NFKC, without punctuation and articles."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

ARTICLES = frozenset({"a", "an", "the"})
SPELLINGS = {"centre": "center", "grey": "gray", "colour": "color"}

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
NUMBERS = {word: i for i, word in enumerate(_ONES)} | {word: 10 * i for i, word in enumerate(_TENS, start=2)}

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"  # vowel signs: not in Python's \\w
_TOKEN = re.compile(
    rf"(?P<number>(?<![^\W_])-?[0-9]+(?:\.[0-9]+)?(?![^\W_{_UNSPACED}]))"
    rf"|(?P<sign>[{_UNSPACED}])|(?P<word>(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+)"
    r"|(?P<stop>[.,;:!?\n\u3001\u3002\u00a1\u00bf\u0964\u060c\u061b\u061f]+)"
)
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019`](?=\w)")


class Token(NamedTuple):
    """A word, a number, or one sign of a script that writes without spaces; `stop`: punctuation stands before it."""

    text: str
    stop: bool = False


def tokens(text: str, *, articles: bool = False) -> list[Token]:
    """The words of `text`; articles are left out unless `articles`.

    A hyphen, an underscore or a quote parts words and is gone; a point inside a number and a minus before one stay.
    """
    text = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    found: list[Token] = []
    stop = False
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "stop":
            stop = True
            continue
        word = SPELLINGS.get(match[0], match[0])
        if articles or word not in ARTICLES:
            found.append(Token(word, stop))
            stop = False
    return found


def with_digits(words: list[Token]) -> list[Token]:
    """The same words with English number words up to ninety-nine as digits."""
    out: list[Token] = []
    open_tens = False
    for word in words:
        value = NUMBERS.get(word.text)
        if value is None:
            out.append(word)
            open_tens = False
        elif open_tens and 0 < value < 10 and not word.stop:
            out[-1] = Token(str(int(out[-1].text) + value), out[-1].stop)
            open_tens = False
        else:
            out.append(Token(str(value), word.stop))
            open_tens = value >= 20
    return out


def first_number(text: str) -> str | None:
    """The first number of `text` in digits; else the first number word, as digits; else None."""
    digits = re.search(r"\d+", unicodedata.normalize("NFKC", text))
    if digits:
        return str(int(digits[0][:300]))
    return next((word.text for word in with_digits(tokens(text)) if word.text.isdigit()), None)
