"""What the embedded VLM is trained on: pictures that stand in no exam. `embedded_questions` asks about them.

Exams put objects in the middle of the cells of a 9 x 9 grid, at 86 % of the cell. Here objects stand anywhere, on
grids of other counts moved by a random offset, in sizes drawn freely; two pairs of shape and colour never occur at all
(`HELD_OUT`). Pictures are drawn at twice their size and scaled down, as large exam pictures are before a model sees
them. Everything follows from the random generator that is handed in.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from snellen.stimuli.shapes import FILL
from snellen.stimuli.sheens import ramp, shades
from snellen.stimuli.worlds import COLOURS, SHAPES, SHEENS

HELD_OUT = frozenset({("triangle", "magenta"), ("square", "cyan")})
"""Pairs that are never drawn: what the model says of them it has composed."""

PAIRS = tuple((s, c) for s in SHAPES for c in COLOURS if (s, c) not in HELD_OUT)
RELATIONS = {
    (-1, -1): "above left",
    (0, -1): "directly above",
    (1, -1): "above right",
    (-1, 0): "directly left",
    (1, 0): "directly right",
    (-1, 1): "below left",
    (0, 1): "directly below",
    (1, 1): "below right",
}


@dataclass(frozen=True)
class Thing:
    """An object: its centre and side as parts of the picture's sides (x, y) and shorter side."""

    shape: str
    colour: str
    sheen: str
    x: float
    y: float
    side: float

    @property
    def name(self) -> str:
        """Colour and shape."""
        return f"{self.colour} {self.shape}"

    @property
    def full_name(self) -> str:
        """Sheen, colour and shape, as the exam names an object."""
        return self.name if self.sheen == "none" else f"{self.sheen} {self.name}"


@dataclass(frozen=True)
class Scene:
    """A picture's content. `size` is its width and height in px."""

    things: tuple[Thing, ...]
    size: tuple[int, int]
    ground: tuple[int, int, int] = (0, 0, 0)
    seed: int = 0

    def box(self, thing: Thing) -> tuple[float, float, float, float]:
        """The thing's box, px."""
        width, height = self.size
        half = thing.side * min(self.size) / 2
        tall = half * (math.sqrt(3) / 2 if thing.shape == "triangle" else 0.951 if thing.shape == "star" else 1.0)
        x, y = thing.x * width, thing.y * height
        return x - half, y - tall, x + half, y + tall


# ---------------------------------------------------------------------------------------------------- pictures


def outline(shape: str, box: Sequence[float]) -> list[tuple[float, float]]:
    """The corners of `shape` in `box`, px."""
    x1, y1, x2, y2 = box
    middle = (x1 + x2) / 2
    if shape == "triangle":
        return [(middle, y1), (x2, y2), (x1, y2)]
    if shape == "square":
        return [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]
    radius = (x2 - x1) / 1.902
    turns = [(radius if i % 2 == 0 else 0.38 * radius, math.pi * (i / 5 - 0.5)) for i in range(10)]
    return [(middle + r * math.cos(a), y1 + radius + r * math.sin(a)) for r, a in turns]


def draw(scene: Scene) -> Image.Image:
    """The picture, RGB; equal scenes give equal pixels."""
    width, height = scene.size
    canvas = Image.new("RGB", (2 * width, 2 * height), scene.ground)
    for i, thing in enumerate(scene.things):
        box = [2 * v - 0.5 for v in scene.box(thing)]
        mask = _mask(thing.shape, box, canvas.size)
        left, top = math.floor(box[0]), math.floor(box[1])
        if thing.sheen == "none":
            canvas.paste(COLOURS[thing.colour], (left, top), mask)
        else:
            canvas.paste(_surface(thing, box, mask.size, scene.seed + i), (left, top), mask)
    return canvas.resize(scene.size, Image.Resampling.BICUBIC)


def _mask(shape: str, box: Sequence[float], size: tuple[int, int]) -> Image.Image:
    left, top = math.floor(box[0]), math.floor(box[1])
    mask = Image.new("L", (math.ceil(box[2]) - left + 1, math.ceil(box[3]) - top + 1), 0)
    pen = ImageDraw.Draw(mask)
    inside = [box[0] - left, box[1] - top, box[2] - left, box[3] - top]
    if shape == "circle":
        pen.ellipse(inside, fill=255)
    else:
        pen.polygon(outline(shape, inside), fill=255)
    return mask


def _surface(thing: Thing, box: Sequence[float], size: tuple[int, int], seed: int) -> Image.Image:
    """The exams' own surfaces (`stimuli.sheens`) under another seed, laid so that the object is 86 % of their cell."""
    left, top = math.floor(box[0]), math.floor(box[1])
    cell = max(4, round((box[2] - box[0]) / FILL))
    texture = Image.fromarray(ramp(COLOURS[thing.colour], thing.sheen)[shades(thing.sheen, cell, f"{seed}")])
    x, y = (box[0] + box[2]) / 2 - left - cell / 2, (box[1] + box[3]) / 2 - top - cell / 2
    return texture.crop((-round(x), -round(y), size[0] - round(x), size[1] - round(y)))


# ---------------------------------------------------------------------------------------------------- scenes


def _ground(rng: random.Random) -> tuple[int, int, int]:
    """Black as in the exams, at times another ground that no object's colour comes near."""
    if rng.random() < 0.85:
        return (0, 0, 0)
    grey = rng.choice((rng.randint(0, 110), rng.randint(190, 255)))
    return (grey, grey, grey)


def _side(rng: random.Random, low: float = 0.03, high: float = 0.4) -> float:
    """A side, log-uniform; one in two near the exams' regular and small sizes."""
    if rng.random() < 0.5:
        return rng.choice((0.095, 0.048)) * rng.uniform(0.85, 1.2)
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _thing(rng: random.Random, x: float, y: float, side: float, pair: tuple[str, str] | None = None) -> Thing:
    shape, colour = pair or rng.choice(PAIRS)
    return Thing(shape, colour, rng.choice(SHEENS) if rng.random() < 0.6 else "none", x, y, side)


def single(rng: random.Random, size: tuple[int, int]) -> Scene:
    """One object anywhere; its place first by the nine parts, so that each is as frequent."""
    side = _side(rng)
    edge = side / 2 + 0.005
    row, column = rng.randrange(3), rng.randrange(3)
    x = min(max((column + rng.uniform(0.04, 0.96)) / 3, edge), 1 - edge)
    y = min(max((row + rng.uniform(0.04, 0.96)) / 3, edge), 1 - edge)
    return Scene((_thing(rng, x, y, side),), size, _ground(rng), rng.getrandbits(32))


class Cells:
    """A grid that is no exam's: another count, moved by an offset; gives free places."""

    def __init__(self, rng: random.Random, counts: Sequence[int]) -> None:
        if 9 in counts:
            raise ValueError("a grid of 9 x 9 cells is the exams' own")
        self.count = rng.choice(counts)
        self.pitch = rng.uniform(0.93, 0.995) / self.count
        room = 1 - self.pitch * self.count
        self.left, self.top = rng.uniform(0, room), rng.uniform(0, room)

    def centre(self, column: int, row: int) -> tuple[float, float]:
        """The middle of a cell, as parts of the sides."""
        return self.left + (column + 0.5) * self.pitch, self.top + (row + 0.5) * self.pitch

    def pick(self, rng: random.Random, n: int) -> list[tuple[int, int]]:
        """`n` different cells (column, row)."""
        cells = [(c, r) for c in range(self.count) for r in range(self.count)]
        return rng.sample(cells, n)


def pair(rng: random.Random, size: tuple[int, int]) -> Scene:
    """Two or three objects, no two of one shape or one colour: each can be asked for by either."""
    cells = Cells(rng, (4, 5, 6, 7, 8))
    n = rng.choice((2, 2, 3))
    while True:
        kinds = list(zip(rng.sample(SHAPES, n), rng.sample(list(COLOURS), n), strict=True))
        if not HELD_OUT.intersection(kinds):
            break
    things = tuple(
        _thing(rng, *cells.centre(*cell), cells.pitch * rng.uniform(0.4, 0.98), kind)
        for kind, cell in zip(kinds, cells.pick(rng, n), strict=True)
    )
    return Scene(things, size, _ground(rng), rng.getrandbits(32))


def sign(value: float) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def related(rng: random.Random, size: tuple[int, int]) -> Scene:
    """Two objects of different shapes; the eight relations about as frequent; as large, or one about half as large."""
    cells = Cells(rng, (5, 6, 7, 8, 10, 11, 12))
    dx, dy = rng.choice(tuple(RELATIONS))
    while True:
        (c1, r1), (c2, r2) = cells.pick(rng, 2)
        if c1 != c2 and dx == 0:
            c2 = c1
        if r1 != r2 and dy == 0:
            r2 = r1
        if (sign(c1 - c2), sign(r1 - r2)) == (dx, dy):
            break
    shapes = rng.sample(SHAPES, 2)
    full = cells.pitch * rng.uniform(0.7, 0.98)
    sides = [full, full * rng.uniform(0.4, 0.6)]
    sides = [rng.choice(sides)] * 2 if rng.random() < 0.4 else rng.sample(sides, 2)
    colour = _colour(rng, shapes)
    sheen = "none" if rng.random() < 0.7 else rng.choice(SHEENS)
    things = [
        Thing(shape, colour if colour else rng.choice([c for s, c in PAIRS if s == shape]), sheen, x, y, side)
        for shape, side, (x, y) in zip(shapes, sides, (cells.centre(c1, r1), cells.centre(c2, r2)), strict=True)
    ]
    return Scene(tuple(things), size, _ground(rng), rng.getrandbits(32))


def _colour(rng: random.Random, shapes: Sequence[str]) -> str | None:
    """One colour for all (most often, as in the exams, yellow), or None: each its own."""
    if rng.random() < 0.3:
        return None
    fits = [c for c in COLOURS if all((s, c) not in HELD_OUT for s in shapes)]
    return "yellow" if rng.random() < 0.5 else rng.choice(fits)


def three(rng: random.Random, size: tuple[int, int]) -> Scene:
    """Three different shapes of one size, no two pairs about equally far apart."""
    cells = Cells(rng, (6, 7, 8, 10, 11, 12))
    side = cells.pitch * rng.uniform(0.7, 0.98)
    shapes = rng.sample(SHAPES, 3)
    colour = _colour(rng, shapes)
    things = tuple(
        Thing(shape, colour or rng.choice([c for s, c in PAIRS if s == shape]), "none", *cells.centre(c, r), side)
        for shape, (c, r) in zip(shapes, cells.pick(rng, 3), strict=True)
    )
    return Scene(things, size, _ground(rng), rng.getrandbits(32))


def several(rng: random.Random, size: tuple[int, int]) -> Scene:
    """Two to six objects of any kind in different cells."""
    cells = Cells(rng, (4, 5, 6, 7, 8))
    things = []
    for column, row in cells.pick(rng, rng.randint(2, 6)):
        x, y = cells.centre(column, row)
        side = cells.pitch * rng.uniform(0.4, 0.98)
        slack = (cells.pitch - side) / 2
        x, y = x + rng.uniform(-slack, slack), y + rng.uniform(-slack, slack)
        things.append(_thing(rng, x, y, side))
    return Scene(tuple(things), size, _ground(rng), rng.getrandbits(32))


def many(rng: random.Random, size: tuple[int, int]) -> Scene:
    """Two to nine of one kind to be counted (rarely none or one), scattered or side by side, and at times others."""
    cells = Cells(rng, (6, 7, 8, 10))
    n = rng.randint(2, 9) if rng.random() < 0.9 else rng.randint(0, 1)
    pair = rng.choice(PAIRS)
    places = cells.pick(rng, n + (rng.randint(1, 3) if rng.random() < 0.35 or not n else 0))
    if rng.random() < 0.3:
        c0, r0 = rng.randrange(cells.count), rng.randrange(cells.count)
        places.sort(key=lambda p: (p[0] - c0) ** 2 + (p[1] - r0) ** 2 + rng.random())
    side = cells.pitch * rng.uniform(0.45, 0.98)
    sheen = "none" if rng.random() < 0.8 else rng.choice(SHEENS)
    things = []
    for i, (column, row) in enumerate(places):
        other = rng.choice([p for p in PAIRS if p != pair])
        shape, colour = pair if i < n else other
        things.append(Thing(shape, colour, sheen, *cells.centre(column, row), side))
    rng.shuffle(things)
    return Scene(tuple(things), size, _ground(rng), rng.getrandbits(32))


def crowd(rng: random.Random, size: tuple[int, int]) -> Scene:
    """A grid full of objects of all kinds and sizes: nothing is asked about it but what stands where."""
    cells = Cells(rng, (3, 4, 5, 6, 7, 8))
    things = []
    for column, row in cells.pick(rng, rng.randint(cells.count**2 // 2, cells.count**2)):
        x, y = cells.centre(column, row)
        side = max(0.02, cells.pitch * rng.uniform(0.25, 0.98))
        slack = (cells.pitch - side) / 2
        things.append(_thing(rng, x + rng.uniform(-slack, slack), y + rng.uniform(-slack, slack), side))
    return Scene(tuple(things), size, _ground(rng), rng.getrandbits(32))


SCENES = {"single": single, "pair": pair, "related": related, "three": three, "several": several, "many": many}
