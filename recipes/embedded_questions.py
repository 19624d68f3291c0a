"""What the embedded VLM is asked in training: the exams' questions about pictures of `embedded_scenes`, and boxes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from embedded_scenes import PAIRS, RELATIONS, SCENES, Scene, Thing, sign

from snellen.prompts.choice import INSTRUCTION
from snellen.prompts.templates import TEMPLATES
from snellen.stimuli.single_object import EXPLANATION
from snellen.stimuli.worlds import COLOURS, SHAPES

POSITIONS = tuple(
    "center" if (row, column) == ("center", "center") else f"{row} {column}"
    for row in ("top", "center", "bottom")
    for column in ("left", "center", "right")
)
SHORT = f"{INSTRUCTION} "


@dataclass(frozen=True)
class Question:
    """A question, the right answer, and the task it belongs to."""

    task: str
    text: str
    answer: str


def _choose(rng: random.Random, question: str, options: Sequence[str]) -> str:
    options = rng.sample(list(options), len(options))
    text = f"{question} Choose from [{', '.join(options)}]."
    return SHORT + text if rng.random() < 0.7 else text


def _called(rng: random.Random, thing: Thing, scene: Scene) -> str | None:
    """A name that fits this thing alone, at random among those that do."""
    names = []
    for of in (lambda t: t.full_name, lambda t: t.name, lambda t: t.shape):
        name = of(thing)
        if sum(of(other) == name for other in scene.things) == 1:
            names.append(name)
    return rng.choice(names) if names else None


def position_of(x: float, y: float) -> str | None:
    """The part of the picture, or None on a border between two."""
    if any(abs(v - edge) < 0.008 for v in (x, y) for edge in (1 / 3, 2 / 3)):
        return None
    return POSITIONS[3 * min(int(3 * y), 2) + min(int(3 * x), 2)]


def boxes_json(scene: Scene, things: Sequence[tuple[Thing, str]]) -> str:
    """Qwen3-VL's notation, from top to bottom: 0..1000 of the picture's sides."""
    width, height = scene.size
    rows = []
    for thing, label in things:
        box = [round(1000 * v / full) for v, full in zip(scene.box(thing), (width, height, width, height), strict=True)]
        rows.append({"bbox_2d": [min(max(v, 0), 1000) for v in box], "label": label})
    rows.sort(key=lambda row: (row["bbox_2d"][1], row["bbox_2d"][0]))
    return json.dumps(rows, separators=(",", ":"))


ASKED = TEMPLATES["qwen3-vl"].multi
LOCATE = (
    "Locate {classes} and output the bbox coordinates in JSON format.",
    "Detect {classes} in the image and return their locations and labels as JSON.",
    "Find all instances of: {classes}. Answer as JSON.",
    "Locate every instance that belongs to the following categories: {classes}. Report bbox coordinates in JSON.",
)
LOCATE_ALL = (
    "Locate every object and output JSON.",
    "Detect all objects. Report bbox coordinates in JSON format.",
    "Find all objects in the picture. Answer with a JSON list of objects with bbox_2d and label.",
)


def property_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """Shape, colour, sheen and place of the only object."""
    thing = scene.things[0]
    object_name = "object" if rng.random() < 0.85 else rng.choice((thing.name, thing.shape))
    shape = _choose(rng, "What is the shape of the object?", SHAPES)
    colour = _choose(rng, f"What is the {rng.choice(('color', 'colour'))} of the {object_name}?", tuple(COLOURS))
    questions = [Question("shape", shape, thing.shape), Question("colour", colour, thing.colour)]
    if thing.sheen != "none":
        text = _choose(rng, "What is the sheen of the object?", ("matte", "glossy"))
        note = EXPLANATION if rng.random() < 0.7 else ""
        text = text.replace(SHORT, SHORT + note) if text.startswith(SHORT) else note + text
        questions.append(Question("sheen", text, thing.sheen))
    return questions + place_questions(rng, scene)


def place_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """Where each thing is that has a name of its own."""
    questions = []
    for thing in scene.things:
        name, place = _called(rng, thing, scene), position_of(thing.x, thing.y)
        if name and place:
            questions.append(Question("position", _choose(rng, f"Where is the {name}?", POSITIONS), place))
            if len(scene.things) > 1 and scene.things.count(thing) == 1 and rng.random() < 0.3:
                shapes = [t.shape for t in scene.things]
                if shapes.count(thing.shape) == 1:
                    text = _choose(rng, f"What is the color of the {thing.shape}?", tuple(COLOURS))
                    questions.append(Question("colour of one", text, thing.colour))
    return rng.sample(questions, min(2, len(questions)))


def named_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """The colour of each shape, the shape of each colour: one word tells whether the thing asked for was looked at."""
    questions = []
    for thing in scene.things:
        text = _choose(rng, f"What is the color of the {thing.shape}?", tuple(COLOURS))
        questions.append(Question("colour of one", text, thing.colour))
        text = _choose(rng, f"What is the shape of the {thing.colour} object?", SHAPES)
        questions.append(Question("shape of one", text, thing.shape))
    return questions


def relation_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """How two things stand to each other, and which is larger, both ways."""
    questions = []
    for a, b in (scene.things, scene.things[::-1]):
        by = [0 if abs(u - v) < 1e-6 else sign(u - v) for u, v in ((a.x, b.x), (a.y, b.y))]
        text = f"Where is the {a.shape} positioned with respect to the {b.shape}?"
        answer = RELATIONS[by[0], by[1]]
        questions.append(Question("relation", _choose(rng, text, tuple(RELATIONS.values())), answer))
        size = ("same", "larger", "smaller")[sign(round(a.side - b.side, 6))]
        text = f"What is the size of the {a.shape} with respect to the {b.shape}?"
        questions.append(Question("size", _choose(rng, text, ("larger", "same", "smaller")), size))
    return questions


def distance_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """Which of the two others is closer; near ties are not asked."""
    questions = []
    for thing in scene.things:
        others = [t for t in scene.things if t is not thing]
        far = [math.hypot(t.x - thing.x, t.y - thing.y) for t in others]
        if abs(far[0] - far[1]) > 0.02:
            text = _choose(rng, f"What is the closest object to the {thing.shape}?", [t.shape for t in others])
            questions.append(Question("distance", text, others[far.index(min(far))].shape))
    return questions


def count_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """How many of a kind there are."""
    questions = []
    for shape, colour in sorted({(t.shape, t.colour) for t in scene.things}):
        n = sum((t.shape, t.colour) == (shape, colour) for t in scene.things)
        options = range(2, 10) if 2 <= n <= 9 else range(10)
        text = _choose(rng, f"How many {colour} {shape}s are there?", [str(k) for k in options])
        questions.append((n, Question("count", text, str(n))))
    questions.sort(key=lambda q: -q[0])
    return [q for _, q in questions[:2]]


def grounding_questions(rng: random.Random, scene: Scene) -> list[Question]:
    """Everything as boxes, the things of some names (at times of none that is there), and single things by name."""
    things = scene.things
    label = {t: t.name for t in things} if rng.random() < 0.5 else {t: t.shape for t in things}
    if rng.random() < 0.2:
        text, wanted = rng.choice(LOCATE_ALL), [(t, t.name) for t in things]
    else:
        names = _names(rng, sorted(set(label.values())))
        text = _located(rng, names)
        wanted = [(t, label[t]) for t in things if label[t] in names]
    questions = [Question("ground", text, boxes_json(scene, wanted))]
    for thing in rng.sample(things, min(2, len(things))):
        name = _called(rng, thing, scene)
        if name:
            questions.append(Question("refer", _located(rng, [name]), boxes_json(scene, [(thing, name)])))
    return questions


def _names(rng: random.Random, present: Sequence[str]) -> list[str]:
    """Names to ask for: those there, often others as well, at times some or all of those there left out."""
    names, by_shape = list(present), present[0] in SHAPES
    every = SHAPES if by_shape else [f"{colour} {shape}" for shape, colour in PAIRS]
    if rng.random() < 0.5:
        names = sorted({*names, *rng.sample(every, len(every) if by_shape else rng.randint(1, 6))})
    if len(names) > 1 and rng.random() < 0.25:
        names.remove(rng.choice(names))
    if rng.random() < 0.05:
        names = [name for name in every if name not in present][:3] or names
    rng.shuffle(names)
    return names


def _located(rng: random.Random, names: Sequence[str]) -> str:
    return (ASKED if rng.random() < 0.5 else rng.choice(LOCATE)).replace("{classes}", ", ".join(names))


def questions_about(rng: random.Random, kind: str, scene: Scene) -> list[Question]:
    """Closed questions that fit the scene, and boxes."""
    asked: list[Question] = []
    if kind == "single":
        asked += property_questions(rng, scene)
    else:
        asked += place_questions(rng, scene)
    if kind == "pair":
        return asked + named_questions(rng, scene)
    if kind == "related":
        asked += relation_questions(rng, scene)
    if kind == "three":
        asked += distance_questions(rng, scene)
    if kind in {"several", "many"}:
        asked += count_questions(rng, scene)
    if len(scene.things) <= 6 and scene.things:
        asked += grounding_questions(rng, scene)
    return asked


def made(rng: random.Random, kind: str, size: tuple[int, int]) -> tuple[Scene, list[Question]]:
    """A scene of a kind and the questions about it."""
    scene = SCENES[kind](rng, size)
    return scene, questions_about(rng, kind, scene)
