"""A world in the words of the CIVET release (`repr.json`), and the truth that it holds."""

from __future__ import annotations

from typing import Any

from snellen.core.errors import DataError
from snellen.stimuli.relations import closest, position_of, size_of
from snellen.stimuli.worlds import SECTIONS, SIZES, Object, World, section

_COMPASS = dict(
    zip(
        (name for row in SECTIONS for name in row),
        ("NW", "N", "NE", "W", "C", "E", "SW", "S", "SE"),
        strict=True,
    )
)
_SIZES = {"regular": "large", "small": "small"}  # the release says large where the paper says regular


def to_repr(world: World, picture: str) -> dict[str, Any]:
    """`world` as the release writes it, and under `snellen` as we do (sizes and colours that the release lacks)."""
    entities: dict[str, Any] = {"w": {"class": "Entity", "position": [(world.grid - 1) / 2] * 2}}
    for i, thing in enumerate(world.objects, start=1):
        entities[f"e{i}"] = _entity(thing, world.grid)
    return {
        "size": [world.grid, world.grid],
        "background": "none" if world.background == "black" else world.background,
        "img": picture,
        "ents": entities,
        "snellen": world.to_json(),
    }


def truth_of(value: Any, entity: str, kind: str, *, place: str) -> str:
    """The true answer to the question of `kind` about `entity` in a world of the release."""
    grid, things = _parts(value, place)
    if entity not in things:
        raise DataError(f"repr.json has no entity {entity!r}: {place}")
    thing = things[entity]
    others = [other for name, other in things.items() if name != entity]
    if kind == "position":
        return section(thing.row, thing.col, grid)
    simple = {"shape": thing.shape, "color": thing.colour, "sheen": thing.sheen, "category": thing.shape}
    if kind in simple:
        return simple[kind]
    if len(others) == 1 and kind == "relative_position":
        return position_of(thing, others[0])
    if len(others) == 1 and kind == "relative_size":
        return size_of(thing, others[0])
    if kind == "relative_distance" and others:
        near = closest(thing, others)
        if len(near) == 1:
            return others[near[0]].shape
    raise DataError(f"repr.json does not tell the answer to a question of kind {kind!r}: {place}")


def _entity(thing: Object, grid: int) -> dict[str, Any]:
    placed: dict[str, Any] = {
        "class": "ImgEntity" if thing.image else "ObjEntity",
        "position": [thing.row, thing.col],
    }
    if grid % 3 == 0:
        placed["area"] = _COMPASS[section(thing.row, thing.col, grid)]
    if thing.image:
        return placed | {"category": thing.shape, "size": _SIZES.get(thing.size, thing.size)}
    looks = {"shape": thing.shape, "color": thing.colour, "sheen": thing.sheen}
    return placed | looks | {"size": _SIZES.get(thing.size, thing.size)}


def _parts(value: Any, place: str) -> tuple[int, dict[str, Object]]:
    """Grid and objects by entity."""
    sizes = {theirs: SIZES[ours] for ours, theirs in _SIZES.items()}
    try:
        things = {
            name: Object(
                str(entity.get("shape") or entity["category"]),
                str(entity.get("color", "")),
                int(entity["position"][0]),
                int(entity["position"][1]),
                str(entity.get("sheen", "none")),
                sizes[entity["size"]] if entity["size"] in sizes else float(entity["size"]),
                "" if "shape" in entity else str(entity["category"]),
            )
            for name, entity in value["ents"].items()
            if name != "w"
        }
        return int(value["size"][0]), things
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise DataError(f"repr.json holds no world of the release ({error!r}): {place}") from error
