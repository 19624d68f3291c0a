"""The report in a real browser (second tier): scripts run, galleries work, nothing is asked of the network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.stages import Prompt, Reply
from snellen.report.pages import report
from snellen.runs.store import Run

pytestmark = [pytest.mark.tier2, pytest.mark.timeout(240)]


def cards(expression: str) -> str:
    """Scrolls to the galleries, waits for cards, and then evaluates."""
    return (
        "new Promise(done => { document.querySelector('.gallery').scrollIntoView(); const look = () => "
        f"document.querySelector('.card') ? done({expression}) : setTimeout(look, 50); look(); }})"
    )


def choose(number: int, value: str) -> str:
    """Chooses an entry of the galleries' `number`-th list and gives the ids shown."""
    return (
        f"(() => {{ const list = document.querySelectorAll('.gallery select')[{number}]; list.value = '{value}'; "
        "list.dispatchEvent(new Event('change')); "
        "return [...document.querySelectorAll('.card .id')].map(node => node.textContent); })()"
    )


@pytest.fixture(scope="module")
def many(make_run: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A hundred small pictures with a box each; every tenth is missed, every other tenth is called by a wrong name."""
    folder = tmp_path_factory.mktemp("many") / "test"
    folder.mkdir()
    images, annotations = [], []
    for i in range(1, 101):
        Image.new("RGB", (64, 48), (i, 2 * i, 90)).save(folder / f"p{i:03d}.png")
        images.append({"id": i, "file_name": f"p{i:03d}.png", "width": 64, "height": 48})
        box = {"bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0}
        annotations.append({"id": i, "image_id": i, "category_id": 1 + i % 2, **box})
    categories = [{"id": 1, "name": "a"}, {"id": 2, "name": "<b>"}]
    data = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "_annotations.coco.json").write_text(json.dumps(data))

    def says(prompt: Prompt) -> Reply:
        i = int(prompt.key.sample[1:4])
        if i % 10 == 0:
            return Reply(detections=Detections.empty())
        label = ("a", "<b>")[(i + (i % 10 == 5)) % 2]
        return Reply(detections=Detections(np.array([[10.0, 10.0, 30.0, 30.0]]), (label,), np.array([0.9])))

    return make_run("many", says, sample=None, task="detect", data=str(folder.parent), split="test")


def test_a_gallery_of_boxes_is_paged_filtered_and_enlarged(chromium: Any, many: Run, tmp_path: Path) -> None:
    page = report([many], tmp_path)
    values, trouble = chromium.look(
        page,
        cards("document.querySelectorAll('.card').length"),
        "[...document.querySelectorAll('.pager span')].map(node => node.textContent)[0]",
        choose(1, "miss"),
        choose(1, "label"),
        "document.querySelector('.card button').click(), document.querySelector('dialog').open",
        "document.querySelector('dialog').textContent.includes('truth: <b>, missed by a label error')",
        "document.querySelectorAll('.card svg rect').length",
        "document.documentElement.scrollWidth",
    )
    assert trouble == []
    shown, where, missed, mislabelled, opened, said, rects, wide = values
    assert shown == 48
    assert where == "1 to 48 of 100"
    assert missed == [f"p{i:03d}.png" for i in range(10, 101, 10)]
    assert mislabelled == [f"p{i:03d}.png" for i in range(5, 101, 10)]
    assert opened
    assert said
    assert rects == 10 * 2 * 2, "a truth and a prediction on each card, each with its backing"
    assert wide == 1400


def test_a_chosen_class_counts_its_instances_and_orders_by_its_errors(
    chromium: Any, make_run: Callable[..., Run], tmp_path: Path
) -> None:
    folder = tmp_path / "set" / "test"
    folder.mkdir(parents=True)
    labels = {1: (1, 2, 2, 2), 2: (1, 2), 3: (1, 1)}  # of the boxes of each picture
    images, annotations = [], []
    for i, of in labels.items():
        Image.new("RGB", (90, 40), (i, 0, 0)).save(folder / f"p{i}.png")
        images.append({"id": i, "file_name": f"p{i}.png", "width": 90, "height": 40})
        for k, category in enumerate(of):
            box = {"bbox": [20 * k, 10, 15, 15], "area": 225, "iscrowd": 0}
            annotations.append({"id": len(annotations) + 1, "image_id": i, "category_id": category, **box})
    data = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(data))

    def says(prompt: Prompt) -> Reply:
        i = int(prompt.key.sample[1])
        found = np.array([[0.0, 10.0, 15.0, 25.0]])  # the first box of 1 and 2, of class a; 3 is answered with nothing
        return Reply(detections=Detections.empty() if i == 3 else Detections(found, ("a",), np.array([0.9])))

    run = make_run("few", says, sample=None, task="detect", data=str(folder.parent), split="test")
    values, trouble = chromium.look(
        report([run], tmp_path / "report"),
        cards("[...document.querySelectorAll('.gallery select')[0].options].map(option => option.textContent)"),
        choose(0, ""),
        choose(0, "0"),
        choose(0, "1"),
        choose(1, "hit"),
    )
    assert trouble == []
    assert values[0] == ["all", "a (4)", "b (4)"]
    assert values[1] == ["p1.png", "p3.png", "p2.png"]
    assert values[2] == ["p3.png", "p1.png", "p2.png"]
    assert values[3] == ["p1.png", "p2.png"]
    assert values[4] == []


def test_a_gallery_that_loads_late_does_not_push_away_the_section_asked_for(
    chromium: Any, many: Run, tmp_path: Path
) -> None:
    page = report([many], tmp_path)
    values, trouble = chromium.look(
        page,
        "document.querySelector('.card') === null",
        "document.querySelector('nav a[href=\"#failures\"]').click()",
        "new Promise(done => { const look = () => document.querySelector('.card') ? setTimeout(done, 300) : "
        "setTimeout(look, 50); look(); })",
        "document.querySelector('#failures-title').getBoundingClientRect().top",
    )
    assert trouble == []
    assert values[0], "the gallery was not loaded at first"
    assert 0 <= values[3] < 900, "the section is in view"


@pytest.mark.parametrize("dark", [False, True])
def test_answers_fit_a_phone_in_light_and_dark(chromium: Any, hostile: Run, tmp_path: Path, dark: bool) -> None:
    page = report([hostile], tmp_path, pictures=8)
    values, trouble = chromium.look(
        page,
        cards("document.querySelectorAll('.card').length"),
        "document.documentElement.scrollWidth",
        "getComputedStyle(document.body).backgroundColor",
        "[...document.querySelectorAll('.reply')].every(node => node.children.length === 0)",
        "[...document.images].every(image => image.loading === 'lazy')",
        width=390,
        dark=dark,
    )
    assert trouble == []
    shown, wide, ground, inert, lazy = values
    assert shown == 8
    assert wide == 390
    assert ground == ("rgb(21, 24, 27)" if dark else "rgb(252, 251, 249)")
    assert inert, "replies are text, whatever they hold"
    assert lazy


def test_a_single_file_needs_nothing_beside_it(chromium: Any, many: Run, tmp_path: Path) -> None:
    page = report([many], tmp_path / "made", single_file=True)
    moved = tmp_path / "alone.html"
    moved.write_text(page.read_text())
    values, trouble = chromium.look(
        moved,
        cards("document.querySelectorAll('.card').length"),
        "document.querySelector('.card img').src.startsWith('data:')",
        "getComputedStyle(document.querySelector('h1')).fontSize",
    )
    assert trouble == []
    assert values[:2] == [24, True]
    assert values[2] != "32px", "the styles are in the page"
