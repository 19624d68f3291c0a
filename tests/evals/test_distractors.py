from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from archives import unpack
from snellen.core.stages import Choice, Sample
from snellen.evals import answers, distractors
from snellen.evals.answers import task
from snellen.evals.imports import import_file
from snellen.evals.scores import score
from snellen.stimuli.render import render
from snellen.stimuli.worlds import Object, World

CELL = distractors._cell
CIRCLES = (Object("circle", "magenta", 0, 0), Object("circle", "magenta", 4, 7), Object("circle", "magenta", 8, 1))
STAR = Object("star", "red", 2, 6, scale=0.5)


def published(folder: Path, scenes: Sequence[World], targets: Sequence[int], entity: str = "magenta_circles") -> Path:
    """A results file about the scenes, beside a folder `images`."""
    (folder / "images").mkdir()
    answers = {}
    for i, (world, target) in enumerate(zip(scenes, targets, strict=True)):
        (folder / "images" / f"{i}.png").write_bytes(render(world))
        asked = f"How many {entity.replace('_', ' ')} are there? Choose from [1, 2, 3]."
        answers[str(i)] = {entity: {"count_closed": {"target": target, "input": asked, "original_pred": "2"}}}
    (folder / "results.json").write_text(json.dumps(answers))
    return folder / "results.json"


def cells(file: Path, images: Path | None) -> list[tuple[object, object]]:
    found = task(file=str(file), images=None if images is None else str(images))
    return [(s.attributes.get("cell_row"), s.attributes.get("cell_col")) for s in found.samples]


@pytest.mark.parametrize("side", [336, 672, 1344])
def test_samples_say_in_which_cell_the_lone_distractor_stands(tmp_path: Path, side: int) -> None:
    scenes = [World((*CIRCLES[:n], Object("star", "red", row, col, scale=0.5)), side=side)
              for n, row, col in [(1, 2, 6), (2, 0, 8), (3, 8, 0)]]  # fmt: skip
    file = published(tmp_path, scenes, [1, 2, 3])
    assert cells(file, tmp_path / "images") == [(2, 6), (0, 8), (8, 0)]
    assert cells(file, None) == [(None, None)] * 3


def test_a_distractor_that_differs_in_shape_alone_is_found(tmp_path: Path) -> None:
    square = Object("square", "magenta", 5, 3)
    file = published(tmp_path, [World((*CIRCLES, square))], [3])
    assert cells(file, tmp_path / "images") == [(5, 3)]


@pytest.mark.parametrize(
    ("world", "target", "entity", "doubt"),
    [
        (World(CIRCLES), 3, "magenta_circles", "1.png shows magenta circles: 3, other things: 0; expected 3 and 1"),
        (World((*CIRCLES, STAR)), 2, "magenta_circles", "magenta circles: 3, other things: 1; expected 2 and 1"),
        (
            World((*CIRCLES, STAR, Object("star", "red", 7, 7))),
            3,
            "magenta_circles",
            "other things: 2; expected 3 and 1",
        ),
        (World((CIRCLES[0], Object("star", "red", 1, 2)), grid=6), 1, "magenta_circles", "stands between the cells"),
        (World((*CIRCLES, STAR)), 3, "e1", "no colour or shape is named in 'e1'"),
    ],
)
def test_one_doubtful_picture_leaves_the_cells_out_of_the_whole_file_and_is_named(
    tmp_path: Path, world: World, target: int, entity: str, doubt: str
) -> None:
    file = published(tmp_path, [World((*CIRCLES, STAR)), world], [3, target], entity)
    assert cells(file, tmp_path / "images") == [(None, None)] * 2
    run = import_file(file, kind="civet-results", out=tmp_path / "run", images=str(tmp_path / "images"))
    (finding,) = run.manifest.notes["findings"]
    assert finding.startswith("no cells of distractors: ")
    assert doubt in finding


def test_a_picture_that_is_missing_is_said(tmp_path: Path) -> None:
    file = published(tmp_path, [World((*CIRCLES, STAR))], [3])
    (tmp_path / "images" / "0.png").unlink()
    run = import_file(file, kind="civet-results", out=tmp_path / "run", images=str(tmp_path / "images"))
    assert "0.png" in run.manifest.notes["findings"][0]


def test_published_pictures_give_cells_that_the_tables_of_a_scored_run_hold(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/dere_vlm_closed_vqa"
    name = "distractors_1_small_red_star"
    answers = json.loads(gzip.decompress((folder / "qwen2-vl-7b" / name / "results.json.gz").read_bytes()))
    some = {stim: answers[stim] for stim in ("0", "982", "1500", "2186")}
    (tmp_path / "results.json").write_text(json.dumps(some))
    unpack(folder / f"{name}.tar.gz", tmp_path, wanted=lambda path: path.suffix == ".png" and path.stem in some)
    images = next(tmp_path.rglob("images"))
    run = import_file(tmp_path / "results.json", kind="civet-results", out=tmp_path / "run", images=str(images))
    assert "findings" not in run.manifest.notes
    score(run)
    rows = run.tables().outcomes
    names = ("sample", "attr.cell_row", "attr.cell_col")
    where = {name: (row, col) for name, row, col in zip(*(rows[c].tolist() for c in names), strict=True)}
    assert where["982/magenta_circles/count"] == (8, 5)


def test_pictures_are_looked_at_once_until_one_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache" / "replies.sqlite"))
    looked: list[str] = []

    def cell(sample: Sample[Choice]) -> tuple[int, int]:
        looked.append(sample.id)
        return CELL(sample)

    monkeypatch.setattr(distractors, "_cell", cell)
    scenes = [World((CIRCLES[0], Object("star", "red", 2, i, scale=0.5))) for i in (3, 4)]
    file = published(tmp_path, scenes, [1, 1])

    def anew() -> list[tuple[object, object]]:
        answers._placed.cache_clear()
        return cells(file, tmp_path / "images")

    assert anew() == anew() == [(2, 3), (2, 4)]
    assert len(looked) == 2
    (tmp_path / "images" / "1.png").write_bytes(render(World((CIRCLES[0], Object("star", "red", 6, 7, scale=0.5)))))
    assert anew() == [(2, 3), (6, 7)]
    assert len(looked) == 4
    (memory,) = [path for path in (tmp_path / "cache" / "cells").iterdir() if "6" in path.read_text()]
    memory.write_text("[[")
    assert anew() == [(2, 3), (6, 7)], "a damaged memory is made again"
    (tmp_path / "images" / "1.png").write_bytes(render(World(CIRCLES)))
    assert anew() == anew() == [(None, None)] * 2
    assert answers.unplaced(str(file), str(tmp_path / "images")).startswith("no cells of distractors: 1.png shows")
    assert len(looked) == 8
