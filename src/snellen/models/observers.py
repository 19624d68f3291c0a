"""`observer/<pixels>`: answers from the pixels alone, by classical image processing, at a set resolution and noise.

It proves that stimuli can be answered from what they show, and gives runs something true to show. It takes a prompt
like any model: the picture, the text, the labels. Flaws may be given to it, to see whether a report finds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from snellen.core.detections import Detections
from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Size
from snellen.core.specs import ModelSpec
from snellen.core.stages import AnyTask, Failed, Key, Prompt, Reply
from snellen.models.chance import draw_of
from snellen.models.seeing import COLOURS, SHAPES, Thing, held, look
from snellen.models.table import check_options

_PLACES = frozenset({"top left", "top center", "top right", "center left", "center", "center right"}) | frozenset(
    {"bottom left", "bottom center", "bottom right"}
)
_ROWS, _COLUMNS = ("top", "center", "bottom"), ("left", "center", "right")
_SIZES = frozenset({"larger", "same", "smaller"})
_SHEENS = frozenset({"none", "matte", "glossy"})
_DIRECTIONS = (
    ("above left", "directly above", "above right"),
    ("directly left", "", "directly right"),
    ("below left", "directly below", "below right"),
)
_POSITIONS = frozenset(name for row in _DIRECTIONS for name in row if name)
_WORDS = re.compile(r"[a-z]+")
SAME_LINE = 0.05
"""Middles closer than this share of the picture's side stand in one row or column."""


class CannotTellError(Exception):
    """The picture does not show what is asked."""


@dataclass(frozen=True)
class Observer:
    """Looks and answers. What it cannot see it guesses; what it is not made for it declines, in words.

    pixels: its resolution (longest side of the picture), None for full. noise: standard deviation in grey levels.
    order_bias: how often it names the first option whatever it sees. blind: a section of the picture where it sees
    nothing. confuses: colours taken for others.
    """

    spec: ModelSpec
    pixels: int | None = None
    noise: float = 0.0
    seed: int = 0
    order_bias: float = 0.0
    blind: str = ""
    confuses: Mapping[str, str] = field(default_factory=dict)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[tuple[Key, Reply | Failed]]:
        """One reply per prompt, in order; a picture that cannot be read is Failed."""
        for prompt in prompts:
            try:
                yield prompt.key, self._reply(prompt)
            except DataError as error:
                yield prompt.key, Failed("picture", str(error))

    def _reply(self, prompt: Prompt) -> Reply:
        if not prompt.pictures:
            return Reply("I see no picture.")
        picture = prompt.pictures[-1]
        rng = draw_of(prompt.key, seed=self.seed)
        image = picture.image()
        things = look(
            picture.encoded(), held(image), pixels=self.pixels, noise=self.noise, seed=self._glance(prompt.key)
        )
        things = tuple(thing for thing in things if section_of(thing) != self.blind)
        scale = 1.0 if self.pixels is None else min(1.0, self.pixels / max(image.size))
        seen = (Size(max(1, round(image.width * scale)), max(1, round(image.height * scale))),)
        if prompt.wants == "boxes":
            return Reply(detections=_boxes(things, prompt.labels, Size(*image.size)), seen=seen)
        if not prompt.labels:
            return Reply("I answer closed questions and find things; this is neither.", seen=seen)
        if rng.random() < self.order_bias:
            return Reply(prompt.labels[0], seen=seen)
        try:
            said = _answer(things, prompt.text.casefold(), prompt.labels)
        except CannotTellError:
            said = prompt.labels[int(rng.integers(len(prompt.labels)))]
        return Reply(self.confuses.get(said, said), seen=seen)

    def _glance(self, key: Key) -> int:
        """The seed of the noise: one glance a sample and draw."""
        return int(draw_of(key, seed=self.seed).integers(2**32)) if self.noise else 0


def observer(spec: ModelSpec, task: AnyTask | None = None) -> Observer:
    """`observer/full`, `observer/48` or `observer/48px`, `-M noise=10 seed=1`, and the flaws `order_bias=0.3`,
    `blind="top right"`, `confuses='{"cyan": "blue"}'`.
    """
    known = {"noise", "seed", "order_bias", "blind", "confuses"}
    check_options(spec, known=frozenset(known), needs_name=True)
    options = {name: _checked(name, value) for name, value in spec.options.items()}
    return Observer(spec, _pixels(spec.name), **options)  # type: ignore[arg-type]


def _pixels(name: str) -> int | None:
    if name == "full":
        return None
    digits = name.removesuffix("px")
    if not digits.isdecimal() or int(digits) < 2:
        raise SpecError(f"an observer is named observer/full or by its resolution, observer/48, got {name!r}")
    return int(digits)


def _checked(name: str, value: object) -> object:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    good: Mapping[str, bool] = {
        "noise": numeric and float(str(value)) >= 0,
        "seed": isinstance(value, int) and not isinstance(value, bool),
        "order_bias": numeric and 0 <= float(str(value)) <= 1,
        "blind": isinstance(value, str) and value in {*_PLACES, ""},
        "confuses": isinstance(value, dict) and all(isinstance(other, str) for other in value.values()),
    }
    if not good[name]:
        wanted = {
            "noise": "a number of grey levels from 0", "seed": "a whole number", "order_bias": "a share from 0 to 1",
            "blind": f"a section ({', '.join(sorted(_PLACES))})", "confuses": 'a mapping like {"cyan": "blue"}',
        }  # fmt: skip
        raise SpecError(f"{name} of an observer must be {wanted[name]}, got {value!r}")
    return value


def section_of(thing: Thing) -> str:
    """Which ninth of the picture the thing's middle lies in."""
    x, y = thing.centre
    down, across = _ROWS[min(int(y * 3), 2)], _COLUMNS[min(int(x * 3), 2)]
    return "center" if down == across == "center" else f"{down} {across}"


def apart(things: Sequence[Thing], text: str) -> tuple[list[Thing], list[Thing]]:
    """The things that the colour and shape words of `text` fit ("magenta circles"), and all others.

    SpecError where the text names neither a colour nor a shape.
    """
    colours = sorted(set(COLOURS) - {"gray"})
    if not _mentioned(text, (*SHAPES, *colours)):
        raise SpecError(f"no colour or shape is named in {text!r}")
    fitting = [thing for thing in things if _fits(thing, text, colours)]
    return fitting, [thing for thing in things if thing not in fitting]


def _answer(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    offered = frozenset(labels)
    if not things and not _is_count(labels):
        raise CannotTellError
    for knows, answer in _QUESTIONS:
        if knows(offered, text):
            return answer(things, text, labels)
    return "I was not made to answer this."


def _shape(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    return min(labels, key=lambda name: things[0].errors[name])


def _colour(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    return things[0].colour_among(labels)


def _sheen(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    thing = things[0]
    if thing.sheen in labels:
        return thing.sheen
    return "glossy" if thing.gloss > thing.pale / 2 else "matte"


def _place(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    return section_of(_described(things, text))


def _position(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    one, other = _named(things, text, 2)
    across, down = (a - b for a, b in zip(one.centre, other.centre, strict=True))
    return _DIRECTIONS[_side(down) + 1][_side(across) + 1] or labels[0]


def _size(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    one, other = (thing.box[2] - thing.box[0] for thing in _named(things, text, 2))
    return "larger" if one > 1.3 * other else "smaller" if other > 1.3 * one else "same"


def _closest(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    asked, *_ = _mentioned(text.partition("choose from")[0], SHAPES)
    names = (asked, *labels)
    one, *others = _assigned(things, names)
    far = [sum((a - b) ** 2 for a, b in zip(one.centre, other.centre, strict=True)) for other in others]
    return labels[far.index(min(far))]


def _name(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    """The first label whose colour and shape words the largest thing fits."""
    colours = sorted(set(COLOURS) - {"gray"})
    fitting = [label for label in labels if _fits(things[0], label.casefold(), colours)]
    if not fitting:
        raise CannotTellError
    return fitting[0]


def _count(things: Sequence[Thing], text: str, labels: Sequence[str]) -> str:
    asked = text.partition("choose from")[0]
    colours = sorted(set(COLOURS) - {"gray"})
    return str(sum(_fits(thing, asked, colours) for thing in things))


def _is_count(labels: Iterable[str]) -> bool:
    return all(label.isdecimal() for label in labels)


_QUESTIONS: tuple[
    tuple[Callable[[frozenset[str], str], bool], Callable[[Sequence[Thing], str, Sequence[str]], str]], ...
] = (
    (lambda labels, _: labels <= _PLACES, _place),
    (lambda labels, _: labels <= _POSITIONS, _position),
    (lambda labels, _: labels <= _SIZES, _size),
    (lambda labels, text: labels <= frozenset(SHAPES) and "closest" in text, _closest),
    (lambda labels, _: labels <= frozenset(SHAPES), _shape),
    (lambda labels, _: labels <= frozenset(COLOURS), _colour),
    (lambda labels, _: labels <= _SHEENS, _sheen),
    (lambda labels, _: _is_count(labels), _count),
    (lambda labels, _: all(_mentioned(label.casefold(), SHAPES) for label in labels), _name),
)
"""Which question it is, told by the options (and a word), and who answers it. The order is the order of trying."""


def _described(things: Sequence[Thing], text: str) -> Thing:
    """The thing whose looks the question names: the best of those that fit, else the largest."""
    colours = sorted(set(COLOURS) - {"gray"})
    fitting = [thing for thing in things if _fits(thing, text.partition("choose from")[0], colours)]
    return (fitting or list(things))[0]


def _fits(thing: Thing, text: str, colours: Sequence[str]) -> bool:
    shapes, named = _mentioned(text, SHAPES), _mentioned(text, colours)
    return (not shapes or thing.shape in shapes) and (not named or thing.colour_among(colours) in named)


def _named(things: Sequence[Thing], text: str, n: int) -> tuple[Thing, ...]:
    """The `n` things that the question names by shape, in its order."""
    names = _mentioned(text.partition("choose from")[0], SHAPES)
    if len(names) < n:
        raise CannotTellError
    return _assigned(things, names[:n])


def _assigned(things: Sequence[Thing], names: Sequence[str]) -> tuple[Thing, ...]:
    """One thing for each shape, with the least error in all."""
    if len(things) < len(names):
        raise CannotTellError
    some = sorted(things, key=lambda thing: -thing.area)[:6]
    return min(
        permutations(some, len(names)),
        key=lambda chosen: sum(thing.errors[name] for thing, name in zip(chosen, names, strict=True)),
    )


def _mentioned(text: str, words: Iterable[str]) -> list[str]:
    """Which of `words` (or their plurals) stand in the text, in its order."""
    known = {form: word for word in words for form in (word, f"{word}s")}
    return list(dict.fromkeys(known[word] for word in _WORDS.findall(text) if word in known))


def _side(value: float) -> int:
    return 0 if abs(value) < SAME_LINE else 1 if value > 0 else -1


def _boxes(things: Sequence[Thing], labels: Sequence[str], size: Size) -> Detections:
    """Things that fit a label, as boxes in px; the score is how well the ideal shape fits, 0..1."""
    colours = sorted(set(COLOURS) - {"gray"})
    rows = []
    for thing in things:
        label = next((label for label in labels if _fits(thing, label.casefold(), colours)), None)
        if label is not None:
            score = max(0.0, 1 - min(thing.errors.values()))
            rows.append((np.asarray(thing.box) * np.tile(np.asarray(size, dtype=np.float64), 2), label, score))
    if not rows:
        return Detections.empty()
    boxes, names, scores = zip(*rows, strict=True)
    return Detections(np.stack(boxes), names, np.asarray(scores))
