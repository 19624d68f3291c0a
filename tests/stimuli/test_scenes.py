from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.errors import DataError, SpecError
from snellen.datasets.load import load_data
from snellen.stimuli.render import render
from snellen.stimuli.scenes import box_of, detection
from snellen.stimuli.worlds import SHAPES, Object, World


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(SHAPES), st.integers(60, 400), st.sampled_from([1.0, 0.5, 0.3]), st.integers(0, 4), st.booleans()
)
def test_a_box_is_tight_around_the_pixels(shape: str, side: int, scale: float, row: int, soft: bool) -> None:
    world = World((Object(shape, "white", row, 4 - row, scale=scale),), side=side, grid=5, antialias=soft)
    pixels = np.asarray(Image.open(io.BytesIO(render(world))).convert("L"))
    rows, cols = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    assert box_of(world.objects[0], world).tolist() == [cols[0], rows[0], cols[-1] + 1, rows[-1] + 1]


def test_scenes_have_the_objects_and_classes_asked_for() -> None:
    scenes = detection(scenes=10, objects=[0, 3], colours=["red", "cyan"], label="colour shape", seed=3)
    assert [len(sample.truth) for sample in scenes] == [0, 3] * 5
    assert len(scenes.classes) == 8
    assert all(label in scenes.classes for sample in scenes for label in sample.truth.labels)
    assert detection(scenes=10, seed=3).worlds == detection(scenes=10, seed=3).worlds
    assert detection(scenes=10, seed=3).worlds != detection(scenes=10, seed=4).worlds


def test_what_is_written_loads_as_a_data_set_with_the_same_boxes(tmp_path: Path) -> None:
    scenes = detection(scenes=6, objects=[0, 2, 5], side=180)
    assert scenes.write(tmp_path / "set") == 6
    loaded = load_data(tmp_path / "set")
    assert sorted(loaded.classes) == sorted(scenes.classes)
    for ours, theirs in zip(scenes, loaded.samples(), strict=True):
        assert sorted(ours.truth.boxes.tolist()) == sorted(theirs.truth.boxes.tolist())
        assert ours.pictures[0].encoded() == theirs.pictures[0].encoded()
    with pytest.raises(DataError, match="new or empty"):
        scenes.write(tmp_path / "set")
    assert json.loads((tmp_path / "set" / "_annotations.coco.json").read_text())["annotations"][0]["iscrowd"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "name"}, "by shape or by `colour shape`"),
        ({"objects": [82]}, "0 to 81"),
        ({"scenes": 0}, "one scene"),
    ],
)
def test_impossible_scenes_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        detection(**options)  # type: ignore[arg-type]
