"""Boxes in the report, on a hand-made set whose every figure is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.estimates import Estimate
from snellen.core.stages import Prompt, Reply
from snellen.report.box_data import grid_cells
from snellen.report.box_tables import by_attribute, confused, confusions
from snellen.report.box_terms import failures_grid, set_grid, ties_grid
from snellen.report.boxes import Boxes, sections
from snellen.report.examples import boxes as gallery
from snellen.report.grids import Grid
from snellen.report.inputs import View, views_of
from snellen.report.pages import report
from snellen.report.thumbnails import Cabinet
from snellen.runs.store import Run
from vega_lite import check_report

CLASSES = ("cat", "dog")
TRUTH = {
    "a.jpg": [("cat", (0, 0, 40, 40)), ("dog", (50, 50, 90, 90))],
    "b.jpg": [("cat", (10, 10, 30, 30)), ("cat", (60, 60, 90, 90))],
    "c.jpg": [],
}
SAID = {
    "a.jpg": [("cat", (0, 0, 40, 40), 0.9), ("cat", (50, 50, 90, 90), 0.8), ("cat", (1, 0, 41, 40), 0.7)],
    "b.jpg": [("cat", (20, 10, 40, 30), 0.6)],
    "c.jpg": [("bird", (0, 0, 10, 10), 0.5)],
}
"""hit, label, repeat; place (IoU 1/3) and a miss; a ghost of no known class."""


@pytest.fixture(scope="session")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A COCO folder with pictures of 100 x 100 px."""
    folder = tmp_path_factory.mktemp("animals") / "test"
    folder.mkdir()
    for i, name in enumerate(TRUTH):
        Image.new("RGB", (100, 100), (40 * i, 90, 120)).save(folder / name)
    boxes = [(i, label, box) for i, found in enumerate(TRUTH.values(), 1) for label, box in found]
    data = {
        "images": [{"id": i, "file_name": name, "width": 100, "height": 100} for i, name in enumerate(TRUTH, 1)],
        "categories": [{"id": i, "name": name} for i, name in enumerate(CLASSES, 1)],
        "annotations": [
            {
                "id": k, "image_id": i, "category_id": CLASSES.index(label) + 1, "iscrowd": 0,
                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1),
            }
            for k, (i, label, (x1, y1, x2, y2)) in enumerate(boxes, 1)
        ],
    }  # fmt: skip
    (folder / "_annotations.coco.json").write_text(json.dumps(data))
    return folder.parent


def detector(prompt: Prompt) -> Reply:
    found = SAID[prompt.key.sample]
    labels, boxes, scores = zip(*found, strict=True)
    return Reply(detections=Detections(np.array(boxes), labels, np.array(scores)))


@pytest.fixture(scope="session")
def detected(make_run: Callable[..., Run], animals: Path) -> Run:
    return make_run("detector", detector, sample=None, task="detect", data=str(animals), split="test")


@pytest.fixture(scope="session")
def view(detected: Run) -> View:
    return views_of([detected])[0]


def test_every_instance_has_its_kind(view: View) -> None:
    run = Boxes.of(view)
    assert run.kinds.counts == {"hit": 1, "place": 1, "label": 1, "both": 0, "repeat": 1, "ghost": 1, "miss": 1}
    truths = run.kinds.kind[run.instances.truth].tolist()
    assert truths == ["hit", "label", "place", "miss"]
    f1 = view.results.metrics["f1"].value
    assert f1 == pytest.approx(2 * 1 / (5 + 4))
    assert run.kinds.cost["label"].value == pytest.approx(2 * 2 / (5 + 4) - f1)
    assert run.kinds.cost["ghost"].value == pytest.approx(2 * 1 / (4 + 4) - f1)
    assert run.kinds.cost["both"].value == pytest.approx(0)


def test_labels_are_crossed_over_boxes_in_the_right_place(view: View) -> None:
    truths, said, counts = confused(view)
    assert truths == ["cat", "dog", "(nothing there)"]
    assert said == ["cat", "dog", "(unknown)", "(missed)"]
    assert counts.tolist() == [[1, 0, 0, 2], [1, 0, 0, 0], [2, 0, 1, 0]]
    assert confusions(view).rows == (("dog", "cat", 1, 1.0),)


def test_recall_is_mapped_over_the_picture(view: View) -> None:
    found = Boxes.of(view).instances
    cells = {(c.row, c.column): (c.correct, c.n) for c in grid_cells(found, of=found.hit, among=found.truth)}
    assert cells == {(1, 1): (1, 2), (6, 6): (0, 2)}


def test_recall_by_stratum_stands_as_the_results_hold_it(view: View) -> None:
    section = {made.id: made for made in sections([Boxes.of(view)])}["strata"]
    grids = {block.id: block for block in section.blocks if isinstance(block, Grid)}
    by_size = {row[0]: (row[2].value, row[1]) for row in grids["recall-by-size"].rows}  # type: ignore[union-attr]
    assert by_size == {"16 to 32": (0.0, 2), "32 to 64": (0.5, 2)}
    assert "recall-by-crowding" in grids


def test_scores_duplicates_and_the_operating_point_are_told(view: View) -> None:
    (row,) = set_grid([view]).rows
    assert row[1:5] == (3, 2, 4, 5)
    assert row[5] == view.results.facts["duplicates"]
    assert row[6:] == ("model", "all")
    assert ties_grid([view]) is None
    assert failures_grid([view]) is not None, "a label outside the classes fails the strict reading"


def test_the_gallery_holds_boxes_kinds_and_pictures(view: View, tmp_path: Path) -> None:
    section = gallery([Boxes.of(view)], Cabinet(tmp_path / "pictures", side=50), 10)
    data = section.blocks[0].data  # type: ignore[union-attr]
    assert [item["id"] for item in data["items"]] == list(TRUTH)
    assert [item["errors"] for item in data["items"]] == [2, 2, 1]
    assert [item["size"] for item in data["items"]] == [[100, 100]] * 3
    first = data["items"][0]["boxes"]
    assert first[0] == [1, 0.0, 0.0, 40.0, 40.0, 0, data["kinds"].index("hit")]
    assert first[-1] == [0, 1.0, 0.0, 41.0, 40.0, 0, data["kinds"].index("repeat"), 0.7]
    assert data["labels"][data["items"][2]["boxes"][0][5]] == "(unknown)"
    with Image.open(tmp_path / "pictures" / "00001.jpg") as small:
        assert small.size == (50, 50)


def test_of_too_many_pictures_those_with_most_errors_are_kept(view: View) -> None:
    section = gallery([Boxes.of(view)], Cabinet(None, side=20), 2)
    data = section.blocks[0].data  # type: ignore[union-attr]
    assert [item["id"] for item in data["items"]] == ["a.jpg", "b.jpg"]
    assert data["note"] == "Shown: 2 of 3 pictures, those with most errors."
    assert data["items"][0]["picture"].startswith("data:image/jpeg;base64,")


def test_a_report_of_boxes_has_its_sections_and_files(detected: Run, tmp_path: Path) -> None:
    page = report([detected], tmp_path)
    text = page.read_text()
    for id in ("overview", "precision", "classes", "errors", "confusion", "field", "strata", "pictures", "manifest"):
        assert f'<section id="{id}"' in text
    assert (tmp_path / "figures" / "curve-50.svg").is_file()
    assert (tmp_path / "data" / "run-1.js").is_file()
    assert len(list((tmp_path / "pictures").iterdir())) == 3
    assert check_report(tmp_path) == {"confusion", "curve", "false", "kinds", "recall", "reliability"}


def test_pictures_that_are_gone_do_not_stop_the_report(
    make_run: Callable[..., Run], animals: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    (moved / "test").mkdir(parents=True)
    for file in (animals / "test").iterdir():
        (moved / "test" / file.name).write_bytes(file.read_bytes())
    run = make_run("gone", detector, sample=None, task="detect", data=str(moved), split="test")
    (moved / "test" / "a.jpg").write_bytes(b"no picture")
    (view,) = views_of([run])
    items = gallery([Boxes.of(view)], Cabinet(None, side=20), 9).blocks[0].data["items"]  # type: ignore[union-attr]
    assert items[0]["picture"] is None
    assert "a.jpg" in items[0]["missing"]
    assert items[1]["picture"] is not None
    (moved / "test" / "_annotations.coco.json").unlink()
    data = gallery([Boxes.of(view)], Cabinet(None, side=20), 9).blocks[0].data  # type: ignore[union-attr]
    assert "The pictures are not at hand" in data["note"]
    assert data["items"][0]["size"] == [100, 100]


def test_boxes_without_scores_are_ranked_by_f1_and_drawn_as_points(make_run: Callable[..., Run], animals: Path) -> None:
    def says(prompt: Prompt) -> Reply:
        return Reply(detections=Detections(np.array([[0.0, 0.0, 40.0, 40.0]]), ("cat",)))

    runs = [make_run(name, says, sample=None, task="detect", data=str(animals), split="test") for name in ("x", "y")]
    made = {section.id: section for section in sections([Boxes.of(view) for view in views_of(runs)])}
    (curve,) = made["precision"].blocks[0].figures  # type: ignore[union-attr]
    assert "operating point" in curve.note
    headings = {block.id for block in made["precision"].blocks if isinstance(block, Grid)}
    assert {"matching", "ap-ties"} <= headings


def test_an_attribute_of_the_pictures_has_a_table_of_its_own(view: View) -> None:
    some = {"dark": {"f1": Estimate(0.5, 0.4, 0.6)}, "bright": {"f1": Estimate(0.7)}}
    groups = {**view.results.groups, "lighting": some}
    lit = replace(view, results=replace(view.results, groups=groups))
    grid = by_attribute([lit], "lighting", metrics=[("f1", "F1")])
    assert grid.rows == (("bright", Estimate(0.7)), ("dark", Estimate(0.5, 0.4, 0.6)))
    made = {section.id: section for section in sections([Boxes.of(lit)])}
    assert [block.id for block in made["attributes"].blocks] == ["by-lighting"]  # type: ignore[union-attr]


def test_replies_read_twice_show_both_notations(view: View) -> None:
    read = {"prescribed": {"f1": Estimate(0.1)}, "native": {"f1": Estimate(0.8)}}
    twice = replace(view, results=replace(view.results, groups={**view.results.groups, "notation": read}))
    made = {section.id: section for section in sections([Boxes.of(twice)])}
    (grid,) = [block for block in made["precision"].blocks if isinstance(block, Grid) and block.id == "notation"]
    assert [(row[1], row[4]) for row in grid.rows] == [("prescribed", Estimate(0.1)), ("native", Estimate(0.8))]
    assert "attributes" not in made
