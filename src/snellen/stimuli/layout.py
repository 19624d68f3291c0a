"""The authors' layout: a folder with `images/<stim>.png`, `repr.json`, `questions.json` and `answers.json`.

Questions are nested stim -> entity -> kind, properties one level deeper (release). `answers.json` is missing from the
folders that the release makes for its main exams: there the truth is derived from `repr.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError
from snellen.core.pictures import Picture
from snellen.core.stages import Attribute, Choice, Sample
from snellen.stimuli.render import paint, render
from snellen.stimuli.representation import to_repr, truth_of
from snellen.stimuli.worlds import World

PATHS: Mapping[str, tuple[str, ...]] = {
    "shape": ("properties", "shape"),
    "color": ("properties", "color"),
    "sheen": ("properties", "sheen"),
    "category": ("properties", "category"),
    "position": ("position_absolute",),
    "relative_position": ("position_relative",),
    "relative_size": ("size_relative",),
    "relative_distance": ("distance_relative",),
    "count": ("count_closed",),
}
"""Kind of question -> where the layout files it. Other kinds stand under their own name."""

_KINDS = {"/".join(path): kind for kind, path in PATHS.items()}
_OPTIONS = re.compile(r"^(?P<text>.*?)\s*Choose from \[(?P<options>[^\[\]]*)\]\.?\s*$", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A question of a folder: what is asked of which entity of which stimulus, the options in the order shown."""

    stim: str
    entity: str
    kind: str
    text: str
    options: tuple[str, ...]
    target: str
    also: frozenset[str] = frozenset()


def write_layout(folder: Path, worlds: Iterable[World], questions: Iterable[Asked]) -> int:
    """Writes the pictures and the three JSON files; the number of pictures. DataError where files stand already."""
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"the folder must be new or empty: {folder}")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    representations: dict[str, Any] = {}
    for i, world in enumerate(worlds):
        (folder / "images" / f"{i}.png").write_bytes(render(world))
        representations[str(i)] = to_repr(world, f"images/{i}.png")
    asked: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    for question in questions:
        text = f"{question.text} Choose from [{', '.join(question.options)}]."
        counted = question.kind == "count" and question.target.isdecimal()  # the authors write numbers as numbers
        target: Any = int(question.target) if counted else question.target
        path = (question.stim, question.entity, *PATHS.get(question.kind, (question.kind,)))
        _put(asked, path, text)
        _put(answers, path, [target, *sorted(question.also)] if question.also else target)
    for name, value in (("repr", representations), ("questions", asked), ("answers", answers)):
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1), encoding="utf-8")
    return len(representations)


def read_layout(folder: Path) -> list[Asked]:
    """The questions of a folder in file order. DataError for a missing file, picture, answer or list of options."""
    asked = read_json(folder / "questions.json")
    answers = read_json(folder / "answers.json") if (folder / "answers.json").is_file() else None
    worlds = read_json(folder / "repr.json") if answers is None else {}
    out = []
    for (stim, entity, *path), text in leaves(asked, depth=3):
        place = f"{folder / 'questions.json'}: {stim} / {entity} / {' / '.join(path)}"
        if not (folder / "images" / f"{stim}.png").is_file():
            raise DataError(f"a stimulus needs its picture images/{stim}.png: {place}")
        question, options = split_options(str(text), place)
        kind = kind_of(path)
        if answers is None:
            target, also = truth_of(worlds.get(stim), entity, kind, place=place), frozenset[str]()
        else:
            target, also = _answer(answers, (stim, entity, *path), place)
        if target not in options:
            raise DataError(f"the answer {target!r} is not among the options {', '.join(options)}: {place}")
        out.append(Asked(stim, entity, kind, question, options, target, also))
    return out


def check_pictures(folder: Path) -> dict[str, int]:
    """Looks at every picture of a folder: how many there are, and how many show exactly the world that we wrote.

    DataError for a picture that is missing, damaged, or shows something else than its world.
    """
    told = read_json(folder / "repr.json") if (folder / "repr.json").is_file() else {}
    stims = list(read_json(folder / "questions.json"))
    shown = 0
    for stim in stims:
        picture = Picture.from_file(folder / "images" / f"{stim}.png")
        image = picture.image()
        if "snellen" in told.get(stim, {}):
            world = World.from_json(told[stim]["snellen"])
            if picture.encoded() != render(world) and not np.array_equal(np.asarray(image), paint(world)):
                raise DataError(f"the picture does not show the world that repr.json tells: {picture.path}")
            shown += 1
    return {"whole": len(stims), "equal to their worlds": shown}


def sample_of(asked: Asked, folder: Path, *, attributes: Mapping[str, Attribute] | None = None) -> Sample[Choice]:
    """A question of a folder as a sample."""
    path = folder / "images" / f"{asked.stim}.png"
    return Sample(
        f"{asked.stim}/{asked.entity}/{asked.kind}",
        Choice(asked.target, asked.options, asked.kind, asked.also),
        (Picture.from_file(path, name=f"images/{asked.stim}.png"),),
        {**(attributes or {}), "entity": asked.entity, "text": asked.text},
        asked.stim,
    )


def split_options(text: str, place: str) -> tuple[str, tuple[str, ...]]:
    """`Where? Choose from [a, b].` as the question and its options. DataError where no list stands at the end."""
    found = _OPTIONS.match(text)
    options = tuple(option.strip() for option in found["options"].split(",")) if found else ()
    if found is None or not all(options):
        raise DataError(f"a closed question ends with `Choose from [a, b].`, got {text!r}: {place}")
    return found["text"], options


def kind_of(path: Iterable[str]) -> str:
    """Our name of the kind of question that the layout files under `path`."""
    parts = tuple(path)
    return _KINDS.get("/".join(parts), parts[-1])


def read_json(path: Path) -> Any:
    """A JSON file. DataError names the file, line and column."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON ({error.msg}): {path}, line {error.lineno}, column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text: {path}") from error


def leaves(value: Any, *, depth: int, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """`(keys, value)` of a nested mapping, at least `depth` deep. DataError where it is less deep."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, depth=depth, path=(*path, str(key)))
    elif len(path) < depth:
        raise DataError(f"expected stim -> entity -> kind, got {value!r} at {' / '.join(path) or 'the top'}")
    else:
        yield path, value


def _answer(answers: Any, path: tuple[str, ...], place: str) -> tuple[str, frozenset[str]]:
    for key in path:
        if not isinstance(answers, Mapping) or key not in answers:
            raise DataError(f"answers.json has no answer to the question: {place}")
        answers = answers[key]
    every = answers if isinstance(answers, list) else [answers]
    return str(every[0]), frozenset(str(answer) for answer in every[1:])


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    if path[-1] in tree:
        raise DataError(f"two questions stand under {' / '.join(path)}")
    tree[path[-1]] = value
