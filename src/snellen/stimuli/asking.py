"""Questions of one's own: what is asked of a scene, and what is true there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from snellen.core.errors import DataError
from snellen.stimuli.exams import Question
from snellen.stimuli.marked import Marked
from snellen.stimuli.relations import POSITIONS, SIZES_SEEN, closest, position_of, size_of
from snellen.stimuli.worlds import PAINTS, SECTIONS, SHAPES, SHEENS, Object, World, section

FIELDS = ("kind", "text", "answer", "about", "other", "of", "options", "where")
WORDS = ("shape", "colour", "sheen", "size", "name", "section")
"""What a text may say of an object, `{shape}` of the one asked about, `{other.shape}` of the other."""


def _section(thing: Object, world: World) -> str:
    return section(thing.row, thing.col, world.grid)


def _look(name: str) -> Callable[[World, int, int], str]:
    return lambda world, about, _: str(getattr(world.objects[about], name))


def _closest(world: World, about: int, _: int) -> str:
    others = [thing for i, thing in enumerate(world.objects) if i != about]
    near = closest(world.objects[about], others)
    return others[near[0]].name if len(near) == 1 else ""


ANSWERS: Mapping[str, tuple[Callable[[World, int, int], str], tuple[str, ...]]] = {
    "shape": (_look("shape"), ()),
    "colour": (_look("colour"), ()),
    "sheen": (_look("sheen"), ()),
    "size": (_look("size"), ()),
    "name": (_look("name"), ()),
    "section": (lambda world, about, _: _section(world.objects[about], world), tuple(s for r in SECTIONS for s in r)),
    "relative_position": (lambda w, about, other: position_of(w.objects[about], w.objects[other]), POSITIONS),
    "relative_size": (lambda w, about, other: size_of(w.objects[about], w.objects[other]), SIZES_SEEN),
    "closest": (_closest, ()),
    "count": (lambda world, _, __: str(len(world.objects)), ()),
}
"""What may be asked for: how it is found in a world (empty: not asked there), and its values where they are known."""

NEEDED = {"text": "what is asked", "answer": f"what is true, one of {', '.join(ANSWERS)}"}
"""Fields of a question that have no default, and what they are."""

KINDS = {"colour": "color", "section": "position"}
"""What questions are called where their kind is not given and the answer's name is not the paper's."""

VALUES = {"shape": SHAPES, "colour": tuple(PAINTS), "sheen": SHEENS, "section": tuple(s for r in SECTIONS for s in r)}
"""What objects may be, where that is a closed list: other values in `of` and `where` would silently fit nothing."""

_TWO = frozenset({"relative_position", "relative_size", "closest"})


@dataclass(frozen=True)
class Asking:
    """A question as the file has it. `options`: true value -> answer shown, in canonical order, or None: as found."""

    kind: str
    text: str
    answer: str
    about: int
    other: int
    options: Mapping[str, str] | None
    where: Mapping[str, tuple[str, ...]]
    of: Mapping[str, tuple[str, ...]]
    place: Marked

    def ask(self, worlds: Sequence[World]) -> Iterator[tuple[int, Question]]:
        """The question about every world where it applies."""
        with self.place.checked():
            truths = {i: self._truth(world) for i, world in enumerate(worlds) if self._applies(world)}
        truths = {i: truth for i, truth in truths.items() if truth}
        known = ANSWERS[self.answer][1]
        shown = self.options or {value: value for value in (known or _in_order(truths.values()))}
        options = tuple(dict.fromkeys(shown.values()))
        if len(options) < 2:
            raise self.place.error(f"a question has at least two options, got {list(options)}: add values or options")
        for scene, truth in truths.items():
            if truth not in shown:
                raise self.place.error(f"the options have none for {self.answer} {truth!r}; they have: {list(shown)}")
            things = worlds[scene].objects
            text = self.text.format_map(_Words(worlds[scene], self.about, self.other))
            about = None if self.answer == "count" or self.about >= len(things) else self.about
            yield scene, Question(scene, self.kind, text, shown[truth], options, about, f"e{self.about + 1}")

    def _truth(self, world: World) -> str:
        if self.answer == "count":
            return str(sum(_fits(world, i, self.of) for i in range(len(world.objects))))
        return ANSWERS[self.answer][0](world, self.about, self.other)

    def _applies(self, world: World) -> bool:
        needs = self.about if self.answer not in _TWO else max(self.about, self.other)
        if self.answer != "count" and needs >= len(world.objects):
            return False
        return _fits(world, self.about, self.where)


def asking_of(entry: Marked, most: int) -> Asking:
    """A question of the file, checked. `most`: how many objects a scene may hold."""
    fields = entry.mapping(FIELDS, "a question")
    for needed in NEEDED:
        if needed not in fields:
            raise entry.error(f"a question needs {needed}: {NEEDED[needed]}")
    answer = fields["answer"].one_of(ANSWERS, "answer")
    about, other = _index(fields, "about", 1), _index(fields, "other", 2)
    if max(about + 1, other + 1 if answer in _TWO else 0) > most:
        raise entry.error(f"a question is about objects 1 to {most}, got about {about + 1} and other {other + 1}")
    if "of" in fields and answer != "count":
        raise fields["of"].error("`of` belongs to answer: count")
    if answer in _TWO and about == other:
        raise entry.error("about and other must be different objects")
    _check_text(fields["text"])
    kind = fields["kind"].words("kind") if "kind" in fields else KINDS.get(answer, answer)
    options = _options(fields["options"]) if "options" in fields else None
    where, of = (_where(fields.get(name), name) for name in ("where", "of"))
    return Asking(kind, fields["text"].text, answer, about, other, options, where, of, entry)


def _index(fields: Mapping[str, Marked], name: str, default: int) -> int:
    return fields[name].number(name, least=1) - 1 if name in fields else default - 1


def _options(value: Marked) -> dict[str, str]:
    """A list of values, or a mapping from true value to the answer shown."""
    if isinstance(value.value, dict):
        return {name: inner.words(f"the answer shown for {name}") for name, inner in value.value.items()}
    if not isinstance(value.value, list):
        raise value.error(
            f"options are a list of values, or a mapping from true value to answer shown, got {value.seen}"
        )
    return {text: text for text in (item.words("an option") for item in value.value)}


def _where(value: Marked | None, what: str) -> dict[str, tuple[str, ...]]:
    if value is None:
        return {}
    return {
        name: tuple(
            item.one_of(VALUES[name], name) if name in VALUES else item.words(name)
            for item in (inner.value if isinstance(inner.value, list) else [inner])
        )
        for name, inner in value.mapping(WORDS, what).items()
    }


def _check_text(text: Marked) -> None:
    known = [*WORDS, *(f"other.{word}" for word in WORDS)]
    try:
        names = [name for _, name, _, _ in Formatter().parse(text.words("text")) if name is not None]
    except ValueError as error:
        raise text.error(f"a text with a stray brace ({error})") from error
    for name in names:
        if name not in known:
            raise text.error(f"unknown word {{{name}}} in a text. Known: {', '.join(known)}")


def _fits(world: World, index: int, wanted: Mapping[str, tuple[str, ...]]) -> bool:
    return all(_word(world, index, name) in values for name, values in wanted.items())


def _word(world: World, index: int, word: str) -> str:
    if index >= len(world.objects):
        raise DataError(f"the scene has {len(world.objects)} objects, number {index + 1} is asked about")
    thing = world.objects[index]
    return _section(thing, world) if word == "section" else str(getattr(thing, word))


class _Words(dict[str, Any]):
    """The words of a text, looked up when they are needed."""

    def __init__(self, world: World, about: int, other: int) -> None:
        self._world, self._about, self._other = world, about, other

    def __missing__(self, name: str) -> Any:
        return _Other(self._world, self._other) if name == "other" else _word(self._world, self._about, name)


class _Other:
    def __init__(self, world: World, index: int) -> None:
        self._world, self._index = world, index

    def __getattr__(self, word: str) -> str:
        return _word(self._world, self._index, word)


def _in_order(values: Any) -> list[str]:
    """Distinct values as they first occur; numbers by size."""
    found = list(dict.fromkeys(values))
    return sorted(found, key=int) if all(value.isdecimal() for value in found) else found
