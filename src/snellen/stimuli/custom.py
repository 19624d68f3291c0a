"""Exams of one's own: from a YAML file, or a Python file with a function `exam()`. See docs/custom-exam.md.

In the YAML a factor of an object is *fixed* (one value), *crossed* (a list: every value with every other) or *drawn*
(`{draw: [...]}`: anew for each scene, seeded). What is left out has a fixed default; nothing is ever random unsaid.
"""

from __future__ import annotations

import hashlib
import random
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from snellen.core.errors import DataError, SpecError
from snellen.stimuli.asking import Asking, asking_of
from snellen.stimuli.exams import Exam, Question
from snellen.stimuli.marked import Marked, load
from snellen.stimuli.worlds import PAINTS, SECTIONS, SHAPES, SHEENS, SIZES, Object, World, scale_of, section

MOST = 200_000
"""Scenes that an exam may have."""

FIELDS = ("name", "side", "grid", "background", "antialias", "objects", "repeat", "questions")
OBJECT = ("shape", "colour", "sheen", "size", "cell", "copies")
DEFAULTS: Mapping[str, Any] = {"shape": "circle", "colour": "yellow", "sheen": "none", "size": "regular"}


@dataclass(frozen=True)
class Factor:
    """The values that a factor takes, and how."""

    how: Literal["fixed", "crossed", "drawn"]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Rule:
    """What one entry under `objects` says. `copies` are further objects of the kind, each in a cell of its own."""

    factors: Mapping[str, Factor]
    copies: Factor
    place: Marked


def custom(*, file: str, sha256: str = "", seed: int = 0) -> Exam:
    """The exam that `file` (.yaml, .yml or .py) defines. `sha256`, where given, must be the file's: else SpecError."""
    path = Path(file)
    digest = sha256_of(path)
    if sha256 and sha256 != digest:
        raise SpecError(f"the exam's file has changed (SHA-256 {digest[:12]}, expected {sha256[:12]}): {file}")
    return _from_python(path) if path.suffix == ".py" else from_yaml(path, seed=seed)


def sha256_of(path: Path) -> str:
    """SHA-256 of an exam's file. DataError where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error


def from_yaml(path: Path, *, seed: int = 0) -> Exam:
    """The exam of a YAML file. DataError names the line and the known values."""
    document = load(path)
    fields = document.mapping(FIELDS, "an exam")
    for needed in ("objects", "questions"):
        if needed not in fields:
            raise document.error(f"an exam needs {needed}: a list with at least one entry")
        if not fields[needed].items(needed):
            raise fields[needed].error(f"an exam needs {needed}: the list is empty")
    grid = fields["grid"].number("grid", least=1) if "grid" in fields else 9
    frame = _frame(fields, grid)
    rules = [_rule(entry, grid) for entry in fields["objects"].items("objects")]
    most = sum(max(rule.copies.values) for rule in rules)
    asking = [asking_of(entry, most) for entry in fields["questions"].items("questions")]
    repeat = fields["repeat"].number("repeat", least=1) if "repeat" in fields else 1
    rng = random.Random(f"custom {seed}")
    worlds: list[World] = []
    for things in _scenes(rules, repeat, grid, rng):
        with fields["objects"].checked():
            worlds.append(World(things, **frame))
        if len(worlds) > MOST:
            raise fields["objects"].error(f"an exam has at most {MOST:,} scenes: draw a factor instead of crossing it")
    if not worlds:
        raise fields["objects"].error("no scene is possible: two objects are fixed to one cell")
    name = fields["name"].words("name") if "name" in fields else path.stem
    return Exam(name, worlds, _questions(worlds, asking))


def _frame(fields: Mapping[str, Marked], grid: int) -> dict[str, Any]:
    frame: dict[str, Any] = {"grid": grid}
    if "side" in fields:
        frame["side"] = fields["side"].number("side", least=4 * grid)
    if "background" in fields:
        frame["background"] = fields["background"].one_of(PAINTS, "background")
    if "antialias" in fields:
        if not isinstance(fields["antialias"].value, bool):
            raise fields["antialias"].error(f"antialias is true or false, got {fields['antialias'].text!r}")
        frame["antialias"] = fields["antialias"].value
    return frame


def _rule(entry: Marked, grid: int) -> Rule:
    fields = entry.mapping(OBJECT, "an object")
    readers = {
        "shape": lambda value: value.one_of(SHAPES, "shape"),
        "colour": lambda value: value.one_of(PAINTS, "colour"),
        "sheen": lambda value: value.one_of(SHEENS, "sheen"),
        "size": _size,
    }
    factors = {
        name: _factor(fields[name], read) if name in fields else Factor("fixed", (_default(name),))
        for name, read in readers.items()
    }
    factors["cell"] = _cells(fields["cell"], grid) if "cell" in fields else Factor("drawn", _all(grid))
    copies = Factor("fixed", (1,))
    if "copies" in fields:
        copies = _factor(fields["copies"], lambda value: value.number("copies"))
        if any(n != 1 for n in copies.values) and factors["cell"].how != "drawn":
            raise fields["copies"].error("copies need cells that are drawn: cell: {draw: all}")
    return Rule(factors, copies, entry)


def _default(name: str) -> Any:
    return scale_of(DEFAULTS[name]) if name == "size" else DEFAULTS[name]


def _size(value: Marked) -> float:
    if isinstance(value.value, int | float) or value.text in SIZES:
        with value.checked():
            return scale_of(value.value)
    raise value.error(f"size is {', '.join(SIZES)}, or a fraction of the cell (0.5 is half its side), got {value.seen}")


def _factor(value: Marked, read: Any) -> Factor:
    if isinstance(value.value, dict):
        drawn = value.mapping(["draw"], "a drawn factor")
        if "draw" not in drawn:
            raise value.error("a drawn factor is written {draw: [...]}")
        return Factor("drawn", tuple(read(item) for item in drawn["draw"].items("draw")))
    if isinstance(value.value, list):
        if not value.value:
            raise value.error("a crossed factor has at least one value")
        return Factor("crossed", tuple(read(item) for item in value.value))
    return Factor("fixed", (read(value),))


def _cells(value: Marked, grid: int) -> Factor:
    """`all`, a section, `[row, col]`, a list of these, or `{draw: ...}`; several cells are crossed."""
    if isinstance(value.value, dict):
        drawn = value.mapping(["draw"], "a drawn cell")
        if "draw" not in drawn:
            raise value.error("a drawn cell is written {draw: all} or {draw: [...]}")
        return Factor("drawn", tuple(_cells_of(drawn["draw"], grid)))
    cells = tuple(_cells_of(value, grid))
    return Factor("crossed" if len(cells) > 1 else "fixed", cells)


def _cells_of(value: Marked, grid: int) -> list[tuple[int, int]]:
    if isinstance(value.value, list):
        if len(value.value) == 2 and all(isinstance(item.value, int) for item in value.value):
            row, col = (item.number("a row or column") for item in value.value)
            if max(row, col) >= grid:
                raise value.error(f"cell ({row}, {col}) lies outside a grid of {grid} x {grid}, counted from 0")
            return [(row, col)]
        return list(dict.fromkeys(cell for item in value.value for cell in _cells_of(item, grid)))
    if value.text == "all":
        return list(_all(grid))
    names = ["all", *(name for row in SECTIONS for name in row)] if grid % 3 == 0 else ["all"]
    chosen = value.one_of(names, "cell")
    return [cell for cell in _all(grid) if section(*cell, grid) == chosen]


def _all(grid: int) -> tuple[tuple[int, int], ...]:
    return tuple(product(range(grid), range(grid)))


def _scenes(rules: Sequence[Rule], repeat: int, grid: int, rng: random.Random) -> Iterator[tuple[Object, ...]]:
    """Every combination of the crossed values, `repeat` times, without those that put two objects into one cell."""
    crossed: list[tuple[int, str]] = [
        (i, name)
        for i, rule in enumerate(rules)
        for name, factor in {**rule.factors, "copies": rule.copies}.items()
        if factor.how == "crossed"
    ]
    values = [rules[i].factors[name].values if name != "copies" else rules[i].copies.values for i, name in crossed]
    for combination in product(*values, range(repeat)):
        chosen: dict[tuple[int, str], Any] = dict(zip(crossed, combination, strict=False))
        things = _scene(rules, chosen, rng)
        if things is not None:
            yield things


def _scene(
    rules: Sequence[Rule], chosen: Mapping[tuple[int, str], Any], rng: random.Random
) -> tuple[Object, ...] | None:
    """One scene, or None where two objects would stand in one cell. Cells given come before cells drawn."""

    def value(i: int, name: str, factor: Factor) -> Any:
        return chosen[i, name] if factor.how == "crossed" else rng.choice(factor.values)

    taken: set[tuple[int, int]] = set()
    given: dict[int, tuple[int, int]] = {}
    for i, rule in enumerate(rules):
        if rule.factors["cell"].how != "drawn":
            given[i] = value(i, "cell", rule.factors["cell"])
    if len(set(given.values())) < len(given):
        return None
    taken.update(given.values())
    things = []
    for i, rule in enumerate(rules):
        for _ in range(value(i, "copies", rule.copies)):
            looks = {name: value(i, name, factor) for name, factor in rule.factors.items() if name != "cell"}
            cell = given[i] if i in given else _free(rule, taken, rng)
            taken.add(cell)
            things.append(Object(looks["shape"], looks["colour"], *cell, looks["sheen"], looks["size"]))
    return tuple(things)


def _free(rule: Rule, taken: set[tuple[int, int]], rng: random.Random) -> tuple[int, int]:
    free: list[tuple[int, int]] = [cell for cell in rule.factors["cell"].values if cell not in taken]
    if not free:
        raise rule.place.error("no free cell is left to draw")
    return free[rng.randrange(len(free))]


def _questions(worlds: Sequence[World], asking: Sequence[Asking]) -> list[Question]:
    named: set[tuple[str, int]] = set()
    for question in asking:
        if (question.kind, question.about) in named:
            raise question.place.error(f"two questions about one object are called {question.kind!r}: give one a kind")
        named.add((question.kind, question.about))
    asked: dict[tuple[int, int], Question] = {}
    for k, question in enumerate(asking):
        for scene, asks in question.ask(worlds):
            asked[scene, k] = asks
    return [asked[key] for key in sorted(asked)]


def _from_python(path: Path) -> Exam:
    """The exam that the file's function `exam()` returns."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"snellen_exam_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DataError(f"no Python file: {path}")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        build = getattr(module, "exam", None)
        found = build() if callable(build) else None
    except Exception as error:  # whatever the user's code raises
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        place = f"{path}, line {lines[-1]}" if lines else str(path)
        raise DataError(f"the exam's code raises {type(error).__name__} ({error}): {place}") from error
    if not callable(build):
        raise DataError(f"a Python file of an exam has a function exam() that returns it: {path}")
    if not isinstance(found, Exam):
        raise DataError(f"exam() must return snellen.stimuli.exams.Exam, got {type(found).__name__}: {path}")
    return found
