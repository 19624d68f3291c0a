"""The viewer over real HTTP: what it serves, what it refuses, search and filters."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from PIL import Image

from snellen.core.detections import Detections
from snellen.core.errors import GuardError, SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Prompt, Reply
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.models.table import build
from snellen.runs.loop import run
from snellen.runs.store import Run
from snellen.scoring.operating_points import fixed
from snellen.web import browse
from snellen.web.browse import Browser
from snellen.web.viewer import LateReport, serve

EXAM = {"task": "civet/single-object", "side": 336}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    task = open_task(EXAM)
    made = []
    for name in ("oracle", "random"):
        done = run(task, build(ModelSpec.parse(name), task=task), folder / name, sample=40)
        score(done, intervals=False)
        made.append(done)
    return made


@pytest.fixture(scope="module")
def server(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int, Browser]]:
    report = tmp_path_factory.mktemp("report")
    (report / "index.html").write_text("the report")
    (report.parent / "secret.txt").write_text("secret")
    browser = Browser(runs)
    late = LateReport(lambda: report)
    late.folder()
    made = serve(browser, report=late)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    host, port = made.server_address[:2]
    yield str(host), int(port), browser
    made.shutdown()
    made.server_close()
    thread.join(5)


def _get(
    server: tuple[str, int, Browser], path: str, *, host: str | None = None, verb: str = "GET"
) -> tuple[int, bytes, Any]:
    connection = http.client.HTTPConnection(server[0], server[1], timeout=30)
    connection.request(verb, path, headers={"Host": host or f"{server[0]}:{server[1]}"})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body, reply.headers


def _json(server: tuple[str, int, Browser], path: str, **query: str) -> Any:
    status, body, _ = _get(server, f"{path}?{urlencode(query)}")
    assert status == 200, body
    return json.loads(body)


def test_it_listens_on_loopback(server: tuple[str, int, Browser]) -> None:
    assert server[0] == "127.0.0.1"


def test_the_page_and_its_parts_come_with_a_strict_policy(server: tuple[str, int, Browser]) -> None:
    for path in ("/", "/view.js", "/view.css"):
        status, body, headers = _get(server, path)
        assert status == 200
        assert body
        assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_sample_shows_truth_answers_and_picture(server: tuple[str, int, Browser]) -> None:
    name = _json(server, "/api/samples")["rows"][0]["id"]
    found = _json(server, "/api/sample", id=name)
    assert found["size"] == [336, 336]
    assert found["runs"][0]["right"]
    assert found["runs"][0]["replies"] == [found["truth"]]
    assert found["prompts"][0].startswith("Answer with as few words as possible.")
    status, body, headers = _get(server, f"/api/picture?{urlencode({'id': name})}")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert body.startswith(b"\x89PNG")


def test_search_and_filters_agree_with_the_tables(server: tuple[str, int, Browser]) -> None:
    whole = _json(server, "/api/samples")
    assert whole["total"] == 40
    wrong = _json(server, "/api/samples", show="wrong 2")["total"]
    assert wrong == sum(not row["right"][1] for row in whole["rows"])
    assert _json(server, "/api/samples", show="disagree")["total"] == wrong
    assert _json(server, "/api/samples", show="all wrong")["total"] == 0
    position = _json(server, "/api/samples", where="question=position")
    assert 0 < position["total"] < 40
    assert all(row["id"].endswith("/position") for row in position["rows"])
    assert _json(server, "/api/samples", q="POSITION")["total"] == position["total"]
    assert _json(server, "/api/samples", q="no such words")["total"] == 0


@pytest.mark.parametrize(
    "path",
    ["/report/../secret.txt", "/report/%2e%2e/secret.txt", "/report/..%2fsecret.txt", "/etc/passwd", "/api/none"],
)
def test_nothing_outside_the_roots_is_served(server: tuple[str, int, Browser], path: str) -> None:
    status, body, _ = _get(server, path)
    assert status == 404
    assert b"secret" not in body.replace(b"secret.txt", b"")


def test_the_report_is_served(server: tuple[str, int, Browser]) -> None:
    assert _get(server, "/report/index.html")[1] == b"the report"


def test_a_report_is_made_when_it_is_looked_at_and_once(tmp_path: Path) -> None:
    going, asked = threading.Event(), []

    def make() -> Path:
        asked.append(1)
        going.wait(30)
        return tmp_path

    late = LateReport(make)
    assert asked == []
    assert (late.folder(), late.folder()) == (None, None)
    going.set()
    while late.folder() is None:
        pass
    assert late.folder() == tmp_path.resolve()
    assert asked == [1]


def test_a_report_that_cannot_be_made_says_why(runs: list[Run]) -> None:
    def make() -> Path:
        raise SpecError("no ink")

    late = LateReport(make)
    made = serve(Browser(runs), report=late)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    host, port = made.server_address[:2]
    place = (str(host), int(port), Browser(runs))
    found = _get(place, "/report/index.html")
    for _ in range(200):
        if found[0] != 200:
            break
        assert b"is being made" in found[1]
        found = _get(place, "/report/index.html")
    made.shutdown()
    made.server_close()
    assert found[:2] == (400, b"no ink")


def test_a_page_is_found_by_one_of_its_samples(server: tuple[str, int, Browser], monkeypatch: Any) -> None:
    monkeypatch.setattr(browse, "PAGE", 7)
    ids = server[2].ids
    found = _json(server, "/api/samples", around=ids[20])
    assert (found["page"], [row["id"] for row in found["rows"]]) == (2, list(ids[14:21]))
    assert _json(server, "/api/samples", around="no such sample", page="1")["page"] == 1


def test_without_its_data_a_run_shows_what_was_said(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    Image.new("RGB", (40, 30)).save(folder / "1.png")
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 10, 10], "area": 100, "iscrowd": 0}
    images = [{"id": 1, "file_name": "1.png", "width": 40, "height": 30}]
    whole = {"images": images, "annotations": [box], "categories": [{"id": 1, "name": "cell"}]}
    (folder / "_annotations.coco.json").write_text(json.dumps(whole))
    task = open_task({"task": "detect", "data": str(folder)})
    done = run(task, FakeModel("I see nothing"), tmp_path / "run")
    score(done, intervals=False)
    folder.rename(tmp_path / "gone")
    found = Browser([done]).sample("1.png")
    assert found["runs"][0]["replies"] == ["I see nothing"]
    assert found["truth"][0]["label"] == "cell"
    assert found["size"] is None
    assert f"no such file or folder: {folder}" in found["doubt"]
    assert "named by the run" in found["doubt"]


def test_boxes_below_the_operating_point_are_no_wrong_ones(tmp_path: Path) -> None:
    task = open_task({"task": "civet/detection", "scenes": 4})

    def say(prompt: Prompt) -> Reply:
        truth = next(sample.truth for sample in task.samples if sample.id == prompt.key.sample)
        boxes, labels = [*truth.boxes.tolist(), [0, 0, 3, 3]], (*truth.labels, truth.labels[0])
        return Reply(detections=Detections(boxes, labels, [0.9] * len(truth) + [0.2]))

    done = run(task, FakeModel(say), tmp_path / "run")
    score(done, intervals=False, point=fixed(0.5))
    browser = Browser([done])
    assert browser.listed(show="all right")["total"] == 4
    boxes = browser.sample(browser.ids[0])["runs"][0]["boxes"]
    assert [(box["matched"], box["counts"]) for box in boxes] == [(True, True)] * (len(boxes) - 1) + [(False, False)]


def test_a_foreign_host_name_is_refused(server: tuple[str, int, Browser]) -> None:
    assert _get(server, "/api/about", host="evil.example")[0] == 403


def test_nothing_can_be_written(server: tuple[str, int, Browser]) -> None:
    assert _get(server, "/api/about", verb="POST")[0] == 501


@pytest.mark.parametrize("path", ["/api/sample?id=nope", "/api/samples?show=everything", "/api/picture?id=nope"])
def test_a_wrong_question_is_told_what_is_wrong(server: tuple[str, int, Browser], path: str) -> None:
    status, body, _ = _get(server, path)
    assert status == 400
    assert b"nope" in body or b"everything" in body


def test_runs_that_must_not_stand_beside_each_other_are_refused(runs: list[Run], tmp_path: Path) -> None:
    task = open_task({"task": "civet/single-object", "side": 336, "reader": "lettered"})
    other = run(task, build(ModelSpec.parse("oracle"), task=task), tmp_path / "other", sample=40)
    score(other, intervals=False)
    with pytest.raises(GuardError, match="how answers were read"):
        Browser([runs[0], other])
    with pytest.raises(SpecError, match="one to 4 runs"):
        Browser([runs[0]] * 5)
