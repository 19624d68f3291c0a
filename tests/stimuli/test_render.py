from __future__ import annotations

import hashlib
import io
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.errors import SpecError
from snellen.stimuli.render import paint, render
from snellen.stimuli.shapes import mask
from snellen.stimuli.worlds import COLOURS, PAINTS, SHAPES, SHEENS, Object, World, board, section


def decoded(world: World) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(render(world))).convert("RGB"))


@pytest.mark.parametrize(("side", "cell", "pad"), [(336, 37, 2), (672, 74, 3), (1344, 149, 2)])
def test_the_grid_lies_where_the_release_puts_it(side: int, cell: int, pad: int) -> None:
    assert board(side, 9) == (side, 9, cell, pad)


@pytest.mark.parametrize(
    ("shape", "scale", "box"),  # left, top, width, height in a cell of 74 px, measured on the authors' pictures
    [("triangle", 1.0, (5, 10, 63, 54)), ("circle", 1.0, (5, 5, 64, 64)), ("star", 0.5, (21, 21, 31, 30))],
)
def test_shapes_cover_the_cells_as_the_authors_do(shape: str, scale: float, box: tuple[int, int, int, int]) -> None:
    rows, cols = np.nonzero(mask(shape, 74, scale))
    left, top, width, height = cols.min(), rows.min(), np.ptp(cols) + 1, np.ptp(rows) + 1
    assert (top, height) == (box[1], box[3])
    assert abs(left - box[0]) <= 1
    assert abs(width - box[2]) <= 1


@pytest.mark.parametrize("side", [336, 672, 1344])
@pytest.mark.parametrize("sheen", SHEENS)
def test_the_png_holds_exactly_the_painted_pixels(side: int, sheen: str) -> None:
    for shape, scale in product(SHAPES, (1.0, 0.5)):
        world = World((Object(shape, "cyan", 3, 8, sheen, scale), Object("star", "yellow", 0, 0)), side=side)
        np.testing.assert_array_equal(decoded(world), paint(world))


def test_a_flat_scene_holds_black_and_the_objects_colours_alone() -> None:
    pairs = enumerate(zip(SHAPES, COLOURS, strict=False))
    world = World(tuple(Object(shape, colour, i, i) for i, (shape, colour) in pairs))
    found = {tuple(colour) for colour in np.unique(decoded(world).reshape(-1, 3), axis=0).tolist()}
    assert found == {(0, 0, 0), *list(COLOURS.values())[:4]}


def test_the_same_world_has_the_same_bytes_and_pixels_that_never_change() -> None:
    surfaces = enumerate(product(("red", "cyan"), SHEENS))
    world = World(tuple(Object("star", colour, 2, i, sheen) for i, (colour, sheen) in surfaces))
    assert render(world) == render(World.from_json(world.to_json()))
    golden = "5914788dc1827d43ec892a2b600bea948f006e590f3756075148f708416de903"
    assert hashlib.sha256(decoded(world).tobytes()).hexdigest() == golden


objects = st.builds(
    Object,
    shape=st.sampled_from(SHAPES),
    colour=st.sampled_from(sorted(COLOURS)),
    row=st.integers(0, 4),
    col=st.integers(0, 4),
    sheen=st.sampled_from(SHEENS),
    scale=st.sampled_from([1.0, 0.5, 0.3]),
)
worlds = st.builds(
    World,
    objects=st.lists(objects, max_size=8, unique_by=lambda thing: (thing.row, thing.col)).map(tuple),
    side=st.integers(40, 130),
    grid=st.just(5),
    background=st.sampled_from(sorted(PAINTS)),
    antialias=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(worlds)
def test_any_world_survives_json_and_its_png_holds_its_pixels(world: World) -> None:
    assert World.from_json(world.to_json()) == world
    np.testing.assert_array_equal(decoded(world), paint(world))


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ((Object("hexagon", "red", 0, 0),), "unknown shape 'hexagon'.*circle"),
        ((Object("star", "rde", 0, 0),), "Did you mean 'red'"),
        ((Object("star", "red", 9, 0),), "outside a grid of 9 x 9"),
        ((Object("star", "red", 0, 0), Object("circle", "red", 0, 0)), "two objects stand in cell"),
        ((Object("star", "red", 0, 0, scale=1.5),), "at most 1"),
    ],
)
def test_an_impossible_world_is_refused(objects: tuple[Object, ...], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        World(objects)


def test_sections_are_three_by_three_blocks() -> None:
    assert [section(r, c) for r, c in [(0, 0), (2, 3), (0, 8), (4, 4), (5, 2), (8, 5), (6, 6)]] == [
        "top left", "top center", "top right", "center", "center left", "bottom center", "bottom right",
    ]  # fmt: skip
