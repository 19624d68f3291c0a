"""The viewer in a real browser (second tier): search, filters, keys, addresses, four runs, phones, 5,000 pictures."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.specs import ModelSpec
from snellen.core.stages import Prompt, Reply
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import run
from snellen.runs.store import Run
from snellen.web.browse import Browser
from snellen.web.viewer import serve

pytestmark = [pytest.mark.tier2, pytest.mark.timeout(300)]

PICTURES = 5000
READY = "document.querySelector('#sample h2')"
TITLE = "document.querySelector('#sample h2').textContent"
LISTED = "[...document.querySelectorAll('#list li')].map(node => node.firstChild.textContent)"
COUNT = "document.getElementById('count').textContent"
WIDE = "document.documentElement.scrollWidth"


@contextlib.contextmanager
def served(runs: Sequence[Run]) -> Iterator[str]:
    """The address at which `runs` are shown."""
    made = serve(Browser(runs))
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}/"
    made.shutdown()
    made.server_close()
    thread.join(5)


def until(condition: str, value: str = "true") -> str:
    """Waits until `condition` holds, then evaluates."""
    return (
        f"new Promise((done, fail) => {{ let n = 0; const look = () => {condition} ? done({value}) : "
        f"n++ > 1500 ? fail(new Error('never: ' + {json.dumps(condition)})) : setTimeout(look, 10); look(); }})"
    )


def shown(name: str) -> str:
    return until(f"{READY} && {TITLE} === {json.dumps(name)}", TITLE)


def enter(control: str, value: str) -> str:
    """Types into the search, or chooses from a list."""
    event = "input" if control == "q" else "change"
    return (
        f"(() => {{ const node = document.getElementById('{control}'); node.value = {json.dumps(value)}; "
        f"node.dispatchEvent(new Event('{event}')); }})()"
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """5,000 pictures with a box each, seen by two: one finds all, one misses every tenth, calls every 99th wrongly."""
    place = tmp_path_factory.mktemp("many")
    folder = place / "set" / "test"
    folder.mkdir(parents=True)
    images, annotations = [], []
    for i in range(PICTURES):
        Image.new("RGB", (64, 48), (i % 256, i // 256, 90)).save(folder / f"p{i:04d}.png", compress_level=1)
        light = "night" if i % 4 == 0 else "day"
        images.append({"id": i, "file_name": f"p{i:04d}.png", "width": 64, "height": 48, "lighting": light})
        box = {"bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0}
        annotations.append({"id": i, "image_id": i, "category_id": 1 + i % 2, **box})
    classes = [{"id": 1, "name": "cell"}, {"id": 2, "name": "<b>wire</b>"}]
    whole = {"images": images, "annotations": annotations, "categories": classes}
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    task = open_task({"task": "detect", "data": str(folder.parent), "split": "test"})

    def seen(*, careless: bool) -> Callable[[Prompt], Reply]:
        def say(prompt: Prompt) -> Reply:
            i = int(prompt.key.sample[1:5])
            if careless and i % 10 == 0:
                return Reply(detections=Detections.empty())
            label = ("cell", "<b>wire</b>")[(i + (careless and i % 99 == 1)) % 2]
            return Reply(detections=Detections(np.array([[10.0, 10.0, 30.0, 30.0]]), (label,), np.array([0.75])))

        return say

    runs = []
    for name, careless in (("careful", False), ("careless", True)):
        done = run(task, FakeModel(seen(careless=careless)), place / name)
        score(done, intervals=False)
        runs.append(done)
    with served(runs) as url:
        yield url


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An exam taken by four."""
    folder = tmp_path_factory.mktemp("exam")
    task = open_task({"task": "civet/single-object", "side": 336})
    runs = []
    for name in ("oracle", "observer/24px", "random", "majority"):
        done = run(task, build(ModelSpec.parse(name), task=task), folder / name.replace("/", "-"), sample=243)
        score(done, intervals=False)
        runs.append(done)
    with served(runs) as url:
        yield url


def test_five_thousand_pictures_are_there_and_filtered_at_once(chromium: Any, many: str) -> None:
    timed = f"(() => {{ const start = performance.now(); {enter('where', 'lighting=night')}; return {{}} }})()"
    values, trouble = chromium.look(
        many,
        "performance.getEntriesByName('first-contentful-paint')[0].startTime",
        "performance.now()",
        COUNT,
        f"window.began = performance.now(), {timed}",
        until(f"{COUNT}.includes('1,250')", "performance.now() - window.began"),
        enter("q", "p0404"),
        shown("p0404.png"),
        LISTED,
        ready=READY,
    )
    assert trouble == []
    painted, usable, count, _, filtered, _, _, found = values
    assert count == "1 to 200 of 5,000"
    assert painted < 3000, "ms to the first paint"
    assert usable < 10_000, "ms to the first sample"
    assert filtered < 3000, "ms to filter"
    assert found == ["p0404.png"]


def test_filters_show_what_a_run_got_wrong_and_boxes_are_named(chromium: Any, many: str) -> None:
    boxes = "[...document.querySelectorAll('.run')].map(run => run.querySelector('dl').textContent)"
    values, trouble = chromium.look(
        many,
        enter("show", "wrong 2"),
        shown("p0000.png"),
        boxes,
        "[...document.querySelectorAll('.run svg')].map(svg => [...svg.children].map(b => b.getAttribute('class')))",
        enter("q", "p0001"),
        shown("p0001.png"),
        boxes,
        "document.querySelectorAll('b').length",
        enter("show", "all right"),
        until(f"{COUNT} === 'nothing fits'"),
        "document.getElementById('sample').textContent",
        ready=READY,
    )
    assert trouble == []
    missed, rects, called, markup, nothing = (values[i] for i in (2, 3, 6, 7, 10))
    assert missed == ["matchedcell 0.75", "missedcell"]
    assert rects == [["truth", "hit"], ["lost"]]
    assert called == ["matched<b>wire</b> 0.75", "not matchedcell 0.75missed<b>wire</b>"]
    assert markup == 0, "names are text, whatever they hold"
    assert nothing == "No sample fits the search and the filters."


def test_keys_walk_from_page_to_page_and_search(chromium: Any, many: str) -> None:
    values, trouble = chromium.look(
        many,
        "press j",
        shown("p0001.png"),
        "press k",
        shown("p0000.png"),
        "press k",
        "document.querySelectorAll('#list li')[199].click()",
        shown("p0199.png"),
        "press ArrowDown",
        shown("p0200.png"),
        COUNT,
        "press k",
        shown("p0199.png"),
        "document.querySelector('#list li[aria-current]').firstChild.textContent",
        "press b",
        "getComputedStyle(document.querySelector('.frame rect')).display",
        "press /",
        "document.activeElement.id",
        "press 7",
        until("document.getElementById('q').value === '7'"),
        ready=READY,
    )
    assert trouble == []
    assert values[9] == "201 to 400 of 5,000"
    assert values[12] == "p0199.png", "back on the first page, at its end"
    assert (values[14], values[16]) == ("none", "q")


def test_an_address_opens_the_sample_on_its_page_under_its_filters(chromium: Any, many: str) -> None:
    values, trouble = chromium.look(
        f"{many}#id=p4321.png&where=lighting%3Dday",
        "document.querySelector('#list li[aria-current]').firstChild.textContent",
        "document.getElementById('where').value",
        COUNT,
        "document.querySelectorAll('#list li')[5].click()",
        "location.hash",
        ready=READY,
    )
    assert trouble == []
    assert values[:2] == ["p4321.png", "lighting=day"]
    assert values[2] == "3,201 to 3,400 of 3,750"
    again, _ = chromium.look(f"{many}{values[4]}", TITLE, COUNT, ready=READY)
    assert f"id={again[0]}" in values[4]
    assert again[1] == values[2]


def test_equal_boxes_are_counted_and_attributes_asked_for_only_where_there_are_any(
    chromium: Any, many: str, tmp_path: Path
) -> None:
    hidden = "document.getElementById('attributes').hidden"
    assert chromium.look(many, hidden, ready=READY) == ([False], [])
    folder = tmp_path / "set" / "test"
    folder.mkdir(parents=True)
    Image.new("RGB", (90, 40)).save(folder / "p.png")
    box = {"image_id": 1, "category_id": 1, "area": 225, "iscrowd": 0}
    whole = {
        "images": [{"id": 1, "file_name": "p.png", "width": 90, "height": 40}],
        "annotations": [{"id": k, "bbox": [20 * k, 10, 15, 15], **box} for k in range(1, 4)],
        "categories": [{"id": 1, "name": "cell"}],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    task = open_task({"task": "detect", "data": str(folder.parent), "split": "test"})
    found = Detections(np.array([[20.0, 10.0, 35.0, 25.0]]), ("cell",), None)
    done = run(task, FakeModel(lambda _: Reply(detections=found)), tmp_path / "run")
    score(done, intervals=False)
    with served([done]) as url:
        lists = "[...document.querySelectorAll('.run dd')].map(node => node.textContent)"
        values, trouble = chromium.look(url, shown("p.png"), hidden, lists, ready=READY)
    assert trouble == []
    assert values[1:] == [True, ["cell", "cell \u00d7 2"]]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1600])
def test_four_runs_stand_side_by_side_or_one_under_the_other(chromium: Any, exam: str, width: int, dark: bool) -> None:
    values, trouble = chromium.look(
        exam,
        enter("show", "disagree"),
        until(f"{READY} && !{COUNT}.endsWith('of 243')"),
        "[...document.querySelectorAll('.run h3')].map(node => node.textContent.trim())",
        "new Set([...document.querySelectorAll('.run')].map(node => node.getBoundingClientRect().top)).size",
        WIDE,
        "document.querySelector('.frame img').complete",
        "document.querySelector('#sample details').open",
        "[...document.querySelectorAll('#list li[aria-current] .dots span')].map(node => getComputedStyle(node).color)",
        "getComputedStyle(document.querySelector('#list li[aria-current]')).color",
        width=width,
        dark=dark,
        ready=READY,
    )
    assert trouble == []
    names, rows, wide, _, asked, dots, ink = values[2:]
    assert names == ["oracle", "observer/24px", "random", "majority"]
    assert rows == (4 if width == 390 else 1)
    assert wide == width, "nothing is wider than the window"
    assert asked, "the question is shown"
    assert set(dots) == {ink}, "the marks can be told from their ground"


@pytest.mark.parametrize("width", [390, 1600])
def test_boxes_fit_any_window(chromium: Any, many: str, width: int) -> None:
    values, trouble = chromium.look(many, WIDE, width=width, ready=READY)
    assert (values, trouble) == ([width], [])
