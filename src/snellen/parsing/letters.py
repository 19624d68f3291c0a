"""Option letters: `(B)`, `Answer: **D**`, `I pick c`. The last declaration wins; the article "A" is no option."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_WRAP = r"[\s(\[{*\"'`_$:：（【「“‘]*"
_DECLARED = re.compile(
    r"\b(?:answer|answers|pick|choose|select|go with|correct (?:one|choice|option|letter))\b"
    r"(?:\s+(?:would be|must be|should be|is|was|option|choice|letter|number|the))*" + _WRAP + r"(?P<letter>[a-z])\b"
    r"(?P<after>[^\w\n]?\s?\w?)"
    r"|(?:答案|选)(?:是|为|选|择|项|：|:)?" + _WRAP + r"(?P<sign>[a-z])(?![a-z])",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:option|choice|letter)\b" + _WRAP + r"(?P<letter>[a-z])\b", re.IGNORECASE)
_WRAPPED = re.compile(
    r"(?:[(\[（【]\s*|\*\*\s*)(?P<letter>[A-Za-z])(?:\s*[)\]）】.:]|\s*\*\*)"  # (b) [b] **b**
    r"|(?:^|\n)\s*(?P<sign>[A-Za-z])\s*[).:：、](?!\w)"  # b) or b. where a line begins
)
_CAPITAL = re.compile(
    r"(?<![\w'\u2019])(?P<letter>[A-Z])(?![\w'\u2019])(?P<after>\s+(?!(?:or|and|nor|is|was|because|since)\b)[a-z])?"
)
_REJECTED = re.compile(
    r"\W*(?:,|but|which|that|it|and)?\W*(?:is|was|are|it is|it's|seems|looks)?\s*"
    r"(?:not\b(?!\W*(?:option|choice)?\W*[a-z]\b)|n't|incorrect|wrong|false|excluded|ruled out|isn)",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"(?:\bnot|\bcannot|n't|\bneither|\bnor|\brather than|\binstead of|\bexcept)\W*(?:be\b)?\W*(?:option|choice)?\W*"
    r"(?:[a-z]\W+(?:or|nor)\W+)?$",
    re.IGNORECASE,
)
_OR_ELSE = re.compile(r"\W{0,3}\s(?:or|and)\W{1,3}(?P<letter>[A-Z])(?![\w'\u2019])(?P<after>\s+[a-z])?")
_PRONOUNS = frozenset("AI")


class Letters(NamedTuple):
    """The distinct letters found, upper case, in order of appearance; one when the reply settles on one."""

    found: tuple[str, ...]


def read_letters(text: str, letters: Sequence[str]) -> Letters:
    """The option letters that `text` settles on, by the first rule that finds any.

    Exact; the last declaration ("answer is B"); named options ("option C"); wrapped letters ("(B)", "B."); capitals
    that stand alone. A mention that is rejected ("not A", "A is wrong") does not count.
    """
    text = unicodedata.normalize("NFKC", text)
    known = frozenset(letter.upper() for letter in letters)
    bare = text.strip(" \t\r\n.,:;!?()[]{}*\"'`_“”‘’（）【】。：").upper()
    if bare in known:
        return Letters((bare,))
    declared = [m for m in _DECLARED.finditer(text) if _is_option(m)]
    standing = [m for m in declared if _letter(m) in known and not _rejected(text, m)]
    if standing:
        last = standing[-1]
        other = _OR_ELSE.match(text, last.end("letter" if last["letter"] else "sign"))  # "Answer: B or C"
        more = [other["letter"]] if other and other["letter"] in known and not _is_word(other) else []
        return Letters(tuple(dict.fromkeys([_letter(last), *more])))
    for rule in (_NAMED, _WRAPPED, _CAPITAL):
        found = [
            _letter(m)
            for m in rule.finditer(text)
            if _letter(m) in known and not _rejected(text, m) and not (rule is _CAPITAL and _is_word(m))
        ]
        if found:
            return Letters(tuple(dict.fromkeys(found)))
    return Letters(())


def _letter(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return str(groups.get("letter") or groups.get("sign")).upper()


def _is_option(match: re.Match[str]) -> bool:
    """Not the article or the pronoun of "the answer is a dog", "answer: I think so"."""
    letter, after = match["letter"], match["after"] or ""
    if letter is None or letter.upper() not in _PRONOUNS:
        return True
    follows_word = len(after) == 2 and after[0].isspace() and after[1].isalpha()
    if not follows_word:
        return True
    said = match[0][: match.start("letter") - match.start()].rstrip(" (*\"'`")
    return letter == "A" and (after[1].isupper() or not said.endswith((":", "：")))


def _is_word(match: re.Match[str]) -> bool:
    """A capital A or I that begins a phrase ("A dog") is a word."""
    return match["letter"] in _PRONOUNS and match["after"] is not None


def _rejected(text: str, match: re.Match[str]) -> bool:
    letter = "letter" if match.groupdict().get("letter") else "sign"
    before = text[max(0, match.start(letter) - 24) : match.start(letter)]
    return bool(_REJECTED.match(text[match.end(letter) : match.end(letter) + 40]) or _NOT_BEFORE.search(before))
