"""Closed questions: which of the options offered a reply means. PROTOCOLS section 1, "Reading an answer"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from snellen.core.errors import SpecError, unknown
from snellen.core.stages import Reading
from snellen.parsing.letters import read_letters
from snellen.parsing.words import Token, first_number, tokens, with_digits
from snellen.parsing.wrapping import boxed_answer, final_part, is_refusal, without_chat_tokens

ALIASES: Mapping[str, str] = MappingProxyType({"bottom left": "below left", "bottom right": "below right"})
"""Other words for an option, used where the option is offered and the alias is not (PROTOCOLS section 1)."""

_WORD = re.compile(r"\w+")  # a word, for the length of a reply
_PLACES = frozenset({"top", "bottom", "left", "right", "center", "above", "below"})
_NEGATORS = frozenset(
    [
        "not",
        "non",
        "isnt",
        "arent",
        "wasnt",
        "werent",
        "doesnt",
        "dont",
        "didnt",
        "cannot",
        "cant",
        "couldnt",
        "never",
        "neither",
        "nor",
        "without",
        "except",
    ]
)
_NEGATING_PAIRS = frozenset({("rather", "than"), ("instead", "of"), ("ruled", "out")})
_FILLERS = frozenset(
    ["in", "on", "at", "of", "to", "be", "really", "quite", "exactly", "any", "either", "its", "it", "that", "option"]
)
_DECLARATIONS = (("answer", "is"), ("answer",), ("i", "choose"), ("i", "pick"), ("i", "select"))

_PREFIX = re.compile(r"\(?([A-Za-z])[.):]\s+(?=\S)")

Phrase = tuple[str, ...]


class _Options(NamedTuple):
    """Phrases of the options and their aliases, longest first; and the same with number words as digits."""

    phrases: tuple[tuple[Phrase, str], ...]
    exact: Mapping[Phrase, str]
    digits: tuple[tuple[Phrase, str], ...]
    letters: Mapping[str, str]
    prefixed: bool = False


def read_choice(
    text: str, options: Sequence[str], *, reader: str = "options", aliases: Mapping[str, str] = ALIASES
) -> Reading[str]:
    """The option that `text` means, spelled as in `options`; value None where it means none or several.

    `options`: exact, else whole phrases, longest first, exactly one distinct; single-letter options by their own
    rules. `lettered`: the options were shown as A, B, C ... and either the letter or the words may come.
    `first-number`: the first number of the answer (the published counting results), any number where no options are
    given. What is in reasoning tags does not count. The reading's `words` is the length of the whole reply.
    """
    if reader not in READERS:
        raise unknown("reader of answers", reader, READERS)
    return replace(_read(text, options, reader, aliases), words=len(_WORD.findall(text)))


def _read(text: str, options: Sequence[str], reader: str, aliases: Mapping[str, str]) -> Reading[str]:
    answer, finished = final_part(without_chat_tokens(text))
    if not finished:
        return Reading(None, "truncated", "truncated", "none: the reasoning never ends")
    if not answer.strip():
        return Reading(None, "malformed", "intact", "none: the reply is empty")
    return READERS[reader](boxed_answer(answer), _prepared(tuple(options), tuple(aliases.items())))


def _read_options(text: str, options: _Options) -> Reading[str]:
    if options.letters and options.prefixed:
        return _read_lettered(text, options)
    if options.letters:
        return _settled([options.letters[letter] for letter in read_letters(text, tuple(options.letters)).found], text)
    words = tokens(text)
    exact = next((options.exact[key] for key in _keys(text, words) if key in options.exact), None)
    if exact is not None:
        return Reading(exact)
    words = _without_echo(words, options)
    found = _mentions(words, options.phrases)
    if found:
        return _settled(found, text) if len(set(found)) == 1 else _declared(words, options, found)
    return _settled(_mentions(with_digits(words), options.digits), text, salvage="repaired")


def _read_lettered(text: str, options: _Options) -> Reading[str]:
    names = list(dict.fromkeys(options.exact.values()))
    alphabet = options.letters or {chr(ord("A") + i): name for i, name in enumerate(names[:26])}
    by_word = _read_options(text, options._replace(letters={}))
    letters = [alphabet[letter] for letter in read_letters(text, tuple(alphabet)).found]
    if len(set(letters)) == 1 and by_word.value in (None, letters[0]):
        return Reading(letters[0])
    if by_word.value is not None and letters:
        return _settled([by_word.value, *letters], text)
    return by_word if by_word.value is not None or not letters else _settled(letters, text)


def _read_first_number(text: str, options: _Options) -> Reading[str]:
    number = first_number(text)
    if number is None:
        return _settled([], text)
    if not options.exact:
        return Reading(number)
    option = options.exact.get((number,)) or dict(options.digits).get((number,))
    if option is None:
        return Reading(None, "malformed", "intact", f"none: {number} is not among the options")
    return Reading(option)


READERS: Mapping[str, Callable[[str, _Options], Reading[str]]] = MappingProxyType(
    {"options": _read_options, "lettered": _read_lettered, "first-number": _read_first_number}
)
"""The readers of answers by name."""


def _settled(found: Sequence[str], text: str, *, salvage: str = "intact") -> Reading[str]:
    distinct = list(dict.fromkeys(found))
    if len(distinct) == 1:
        return Reading(distinct[0], "ok", "repaired" if salvage == "repaired" else "intact")
    if distinct:
        return Reading(None, "malformed", "intact", f"several: {', '.join(distinct)}")
    if is_refusal(text):
        return Reading(None, "refused", "intact", "none: the reply refuses")
    return Reading(None, "malformed", "intact", "none: no option in the reply")


def _declared(words: Sequence[Token], options: _Options, found: Sequence[str]) -> Reading[str]:
    """Of several options the one behind the last "answer is ...", if exactly one stands there."""
    texts = _texts(words)
    for declaration in _DECLARATIONS:
        size = len(declaration)
        starts = [i for i in range(len(texts) - size + 1) if texts[i : i + size] == declaration]
        if starts:
            behind = _mentions(words[starts[-1] + size :], options.phrases)
            if len(set(behind)) == 1:
                return Reading(behind[0], "ok", "repaired")
    return _settled(found, "")


def _mentions(words: Sequence[Token], phrases: Sequence[tuple[Phrase, str]]) -> list[str]:
    """Options that stand in `words` as whole phrases, longest first with masking, negated ones left out."""
    texts = _texts(words)
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        places.setdefault(text, []).append(i)
    masked = bytearray(len(words))
    hits: dict[int, tuple[int, str]] = {}
    same_length: list[tuple[int, int, str]] = []
    length = 0
    for phrase, option in (*phrases, ((), "")):
        if len(phrase) != length:  # phrases of one length do not mask one another
            for start, size, name in same_length:
                masked[start : start + size] = b"\1" * size
                hits.setdefault(start, (size, name))
            same_length, length = [], len(phrase)
        for start in places.get(phrase[0], ()) if phrase else ():
            if texts[start : start + length] == phrase and not any(masked[start : start + length]):
                same_length.append((start, length, option))
    return _asserted(words, hits)


def _asserted(words: Sequence[Token], hits: Mapping[int, tuple[int, str]]) -> list[str]:
    kept: list[str] = []
    negated_until = -1
    for start in sorted(hits):
        size, option = hits[start]
        joined = negated_until == start - 1 and words[start - 1].text in {"or", "nor"}
        if joined or _negated(words, start, hits):
            negated_until = start + size
        else:
            kept.append(option)
    return kept


def _negated(words: Sequence[Token], start: int, hits: Mapping[int, tuple[int, str]]) -> bool:
    """Whether a negator stands right before the phrase, with nothing between but little words."""
    if words[start].stop:
        return False
    i = start - 1
    while i > max(-1, start - 4) and words[i].text in _FILLERS and not words[i].stop and i not in hits:
        i -= 1
    if i < 0 or i in hits:
        return False
    pair = (words[i - 1].text, words[i].text) if i else ("", "")
    # "no red": a negator only right before it, and not where "no" is itself an option
    return words[i].text in _NEGATORS or pair in _NEGATING_PAIRS or (words[i].text == "no" and i == start - 1)


def _without_echo(words: list[Token], options: _Options) -> list[Token]:
    """The words without our own "Choose from [a, b, c]" where the reply repeats it."""
    texts = _texts(words)
    listed = sum(len(phrase) for phrase, _ in options.exact.items())
    for i in range(len(texts) - 1):
        if texts[i : i + 2] == ("choose", "from"):
            rest = sorted(texts[i + 2 : i + 2 + listed])
            if rest == sorted(word for phrase in options.exact for word in phrase):
                return words[:i] + words[i + 2 + listed :]
    return words


@lru_cache(maxsize=4096)
def _prepared(options: tuple[str, ...], aliases: tuple[tuple[str, str], ...]) -> _Options:
    exact: dict[Phrase, str] = {}
    for option in options:
        phrase = next(key for key in _keys(option, tokens(option)) if key)
        if exact.setdefault(phrase, option) != option:
            raise SpecError(f"options must differ after normalising, got {exact[phrase]!r} and {option!r}")
    prefixes = [_PREFIX.match(option) for option in options]
    letters = {m[1].upper(): m.string for m in prefixes if m is not None}
    prefixed = bool(options) and len(letters) == len(set(options))
    letters = letters if prefixed else {}
    if prefixed:
        exact |= {_texts(tokens(m.string[m.end() :])): m.string for m in prefixes if m is not None}
    every = dict(exact)
    for alias, option in aliases:
        target = exact.get(_texts(tokens(option)))
        if target is not None:
            every.setdefault(_texts(tokens(alias)), target)
    for phrase, option in exact.items():
        if len(phrase) == 2 and _PLACES.issuperset(phrase):
            every.setdefault(phrase[::-1], option)
    digits = {_texts(with_digits([Token(word) for word in phrase])): option for phrase, option in every.items()}
    if options and all(len(option) == 1 and option.isalpha() and option.isascii() for option in options):
        letters = {option.upper(): option for option in options}
    return _Options(_longest_first(every), exact, _longest_first(digits), letters, prefixed)


def _longest_first(phrases: Mapping[Phrase, str]) -> tuple[tuple[Phrase, str], ...]:
    return tuple(sorted(phrases.items(), key=lambda item: (-len(item[0]), item[0])))


def _texts(words: Sequence[Token]) -> Phrase:
    return tuple(word.text for word in words)


def _keys(text: str, words: Sequence[Token]) -> tuple[Phrase, Phrase, Phrase]:
    """Forms in which a whole text is compared: without articles, with them, and verbatim (an option may be "+")."""
    return _texts(words), _texts(tokens(text, articles=True)), (text.strip().casefold(),)
