"""Operating points and doing it again: thresholds chosen on the validation part, only what is new is scored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from snellen.bench import scoring
from snellen.bench.config import read_bench
from snellen.bench.execute import Done, execute
from snellen.bench.forecast import forecast
from snellen.bench.notes import at_recalls, notes, points
from snellen.bench.plan import jobs_of
from snellen.bench.table import conclude
from snellen.cli.app import main
from snellen.core.detections import Detections
from snellen.core.errors import DataError, GuardError, SpecError
from snellen.core.specs import ModelSpec
from snellen.core.stages import Prompt, Reply
from snellen.evals.imports import import_file
from snellen.evals.points import best_on, reaching
from snellen.evals.scores import score
from snellen.evals.tasks import open_task
from snellen.models.fake import FakeModel
from snellen.report.blocks import Findings
from snellen.report.decision import decided
from snellen.report.grids import Grid
from snellen.runs.loop import run
from snellen.runs.store import Run

SURE = {"valid": (0.9, 0.6, 0.3), "test": (0.95, 0.6, 0.5)}
"""Scores of the first and the second true box, and of a box of nothing, on each part."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set with two parts of four pictures with two boxes each, and predictions for both: the best F1 on valid is at
    0.6; on test 0.5 and lower let noise in.
    """
    for part, scores in SURE.items():
        place = tmp_path / "set" / part
        place.mkdir(parents=True)
        images, boxes, rows = [], [], []
        for i in range(4):
            Image.new("RGB", (100, 80), (50 * i, len(part), 0)).save(place / f"{i}.png")
            images.append({"id": i, "file_name": f"{i}.png", "width": 100, "height": 80})
            for j, corner in enumerate((10, 50)):
                box = [corner, 20, 30 + i, 30]
                boxes.append({"id": len(boxes), "image_id": i, "category_id": 1, "bbox": box, "area": 30 * (30 + i),
                              "iscrowd": 0})  # fmt: skip
                rows.append({"image_id": i, "category_id": 1, "bbox": box, "score": scores[j]})
            rows.append({"image_id": i, "category_id": 1, "bbox": [0, 60, 8, 8], "score": scores[2]})
        whole = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cell"}]}
        (place / "_annotations.coco.json").write_text(json.dumps(whole))
        (tmp_path / f"{part}.json").write_text(json.dumps(rows))
    return tmp_path


def _bench(folder: Path, models: dict[str, Any], **more: Any) -> Path:
    file = folder / "bench.yaml"
    whole = {"data": {"set": {"path": "set"}}, "models": models, "bootstrap": 100, "metric": "f1", **more}
    file.write_text(yaml.safe_dump(whole))
    return file


def _done(file: Path, out: Path) -> list[Done]:
    bench = read_bench(file)
    return execute(bench, jobs_of(bench, models_file=file.parent / "models.yaml"), out)


DETECTOR = {"predictions": {"set": "test.json"}, "valid_predictions": {"set": "valid.json"}}


def test_the_threshold_of_imported_predictions_comes_from_valid_predictions(folder: Path, tmp_path: Path) -> None:
    models = {"detector": DETECTOR, "all": {"predictions": {"set": "test.json"}}, "vlm": {"model": "oracle"}}
    done = _done(_bench(folder, models), tmp_path / "out")
    facts = {each.job.model: each.run.results()["facts"]["operating_point"] for each in done if each.run}
    on = str(tmp_path / "out/runs/set/detector/imported/seed-0-valid")
    assert facts["detector"] == {"name": "best-f1-on-valid", "min_score": 0.6, "on": on}
    assert facts["all"]["min_score"] is facts["vlm"]["min_score"] is None
    decision = conclude(read_bench(folder / "bench.yaml"), done).decisions[0]
    scores = {row.name: row.score.value for row in decision.rows}
    assert scores["detector"] == 1.0
    assert scores["all"] == pytest.approx(2 * 8 / (8 + 12))
    assert points(decision) == ["detector: boxes scored 0.6 and higher count (best F1 on the validation part)."]
    assert at_recalls(decision) == [
        f"{name} at vlm's recall (1.000): precision 1.000, F1 1.000, boxes scored 0.6 and higher."
        for name in ("detector", "all")
    ]
    opening, _, beside, *_ = decided([decision])
    assert isinstance(opening, Findings)
    assert not any("recall" in sentence for _, said in opening.items for sentence in said)
    assert isinstance(beside, Grid)
    assert beside.rows == (("detector", "vlm", 1.0, 1.0, 1.0, 0.6), ("all", "vlm", 1.0, 1.0, 1.0, 0.6))
    many = replace(decision, rows=decision.rows * 3)
    assert notes(many)[-1] == "Models with confidences at the recall of those without: 6 rows in the report."


def test_how_predictions_refer_to_classes_is_said_in_their_entry(folder: Path, tmp_path: Path) -> None:
    whole = json.loads((folder / "set/test/_annotations.coco.json").read_text())
    whole["categories"] = [{"id": 3, "name": "dust"}, {"id": 7, "name": "cell"}]
    for box in whole["annotations"]:
        box["category_id"] = 7
    (folder / "set/test/_annotations.coco.json").write_text(json.dumps(whole))
    rows = json.loads((folder / "test.json").read_text())  # category 1 is the second class from 0, the first from 1
    (folder / "test.json").write_text(json.dumps([row for row in rows if row["score"] > 0.5]))
    entry = {"predictions": {"set": "test.json"}}
    of = {"path": "set", "split": "test"}

    def found(refs: dict[str, str], out: str) -> Done:
        return _done(_bench(folder, {"yolo": {**entry, **refs}}, data={"set": of}), tmp_path / out)[0]

    scores = {}
    for refs in ("index0", "index1"):
        run = found({"image_refs": "id", "class_refs": refs}, refs).run
        assert run is not None
        scores[refs] = run.results()["metrics"]["f1"]["value"]
    assert scores == {"index0": 1.0, "index1": 0.0}
    again = found({"class_refs": "index1"}, "index0")
    assert again.state == "error"
    assert "image_refs or class_refs differ from those that were imported before" in again.reason
    with pytest.raises(DataError, match=r"models\.vlm: class_refs go with predictions"):
        read_bench(_bench(folder, {"vlm": {"model": "oracle", "class_refs": "id"}}))


def test_what_is_doubtful_about_predictions_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads((folder / "test.json").read_text())
    (folder / "test.json").write_text(json.dumps([*rows, {**rows[0], "image_id": 99}]))
    file = _bench(
        folder, {"detector": {"predictions": {"set": "test.json"}}}, data={"set": {"path": "set", "split": "test"}}
    )
    with pytest.raises(SystemExit, match="0"):
        main(["bench", str(file), "--out", str(tmp_path / "out"), "--no-report"])
    assert "1 of 13 predictions are of images that the data set does not have: left out (99)" in capsys.readouterr().err


def test_a_fixed_point_is_for_boxes_with_scores(folder: Path, tmp_path: Path) -> None:
    models = {"all": {"predictions": {"set": "test.json"}}, "vlm": {"model": "oracle"}}
    done = _done(_bench(folder, models, operating_point=0.9), tmp_path / "out")
    found = {each.job.model: each.run.results() for each in done if each.run}
    assert found["all"]["facts"]["operating_point"] == {"name": "fixed", "min_score": 0.9}
    assert found["all"]["metrics"]["recall"]["value"] == 0.5
    assert found["vlm"]["facts"]["operating_point"]["name"] == "all"


def test_an_asked_model_is_asked_about_the_valid_part_where_the_bench_says_so(folder: Path, tmp_path: Path) -> None:
    file = _bench(
        folder, {"chance": {"model": "random"}, "vlm": {"model": "oracle"}}, operating_point="best-f1-on-valid"
    )
    plan = [forecast(read_bench(file), job) for job in jobs_of(read_bench(file))]
    assert [each.valid for each in plan] == [4, 4]
    done = _done(file, tmp_path / "out")
    assert {each.job.model: (each.state, len(each.asked)) for each in done} == {
        "chance": ("done", 2),
        "vlm": ("done", 1),
    }
    assert done[0].run is not None
    assert done[0].run.results()["facts"]["operating_point"]["on"].endswith("chance/zero-shot/seed-0-valid")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"path": "set", "split": "valid"}, "never chosen on the part that is scored"),
        ({"path": "set", "valid": "tune"}, "no part 'tune'"),
    ],
)
def test_a_bench_without_another_part_to_choose_on_says_so(
    folder: Path, tmp_path: Path, data: dict[str, str], reason: str
) -> None:
    file = _bench(folder, {"chance": {"model": "random"}}, operating_point="best-f1-on-valid", data={"set": data})
    (done,) = _done(file, tmp_path / "out")
    assert done.state == "error"
    assert reason in done.reason


def test_done_again_only_what_is_new_is_scored(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []

    def watched(run: Run, **how: Any) -> Any:
        scored.append(run.path.partition("runs/set/")[2])
        return score(run, **how)

    monkeypatch.setattr(scoring, "score", watched)
    models = {"detector": DETECTOR, "vlm": {"model": "oracle"}}
    file, out = _bench(folder, models), tmp_path / "out"
    _done(file, out)
    assert scored == ["detector/imported/seed-0", "vlm/zero-shot/seed-0"]
    _done(file, out)
    assert len(scored) == 2, "nothing is new"
    _done(_bench(folder, {**models, "chance": {"model": "random"}}), out)
    assert scored[2:] == ["chance/zero-shot/seed-0"]
    _done(_bench(folder, models, bootstrap=101), out)
    assert scored[3:] == ["detector/imported/seed-0", "vlm/zero-shot/seed-0"], "other settings"
    truth = folder / "set/test/_annotations.coco.json"
    truth.write_text(truth.read_text().replace("[10, 20, 30, 30]", "[10, 20, 31, 30]"))
    done = _done(_bench(folder, {"detector": DETECTOR}, bootstrap=101), out)
    assert scored[5:] == ["detector/imported/seed-0"], "another truth"
    assert done[0].run is not None
    assert done[0].run.results()["facts"]["truth_changed"] is True


def test_a_name_that_nobody_knows_fails_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _bench(folder, {"odd": {"model": "@mein"}, "vlm": {"model": "oracle"}})
    (folder / "models.yaml").write_text("mine: {model: random}")
    for words, code, said in (
        (("--dry-run",), 2, "set/odd/zero-shot/seed-0  cannot be done: unknown model in"),
        (("--no-report",), 4, "not scored  set/odd/zero-shot/seed-0: error: unknown model in"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["bench", str(file), "--out", str(folder / "out"), *words])
        out = " ".join(capsys.readouterr().out.split())
        assert ended.value.code == code
        assert " ".join(said.split()) in out
        assert "Did you mean '@mine'?" in out
    assert json.loads((folder / "out/decision.json").read_text())["data"]["set"]["rows"][0]["name"] == "vlm"


@pytest.fixture
def detector(folder: Path) -> Path:
    for part in SURE:
        import_file(folder / f"{part}.json", kind="coco", out=folder / part, truth=str(folder / "set"), split=part)
    score(Run.open(folder / "test"), draws=100)
    return folder


def _score(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any], str]:
    with pytest.raises(SystemExit) as ended:
        main(["score", *map(str, words), "--json", "--draws", "100"])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), json.loads(out) if out else {}, err


def test_a_run_is_scored_at_the_point_that_is_asked_for_and_stays_there(
    detector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = detector / "test"
    code, found, _ = _score(capsys, test, "--valid", detector / "valid")
    assert (code, found["f1"]["value"]) == (0, 1.0)
    chosen = {"name": "best-f1-on-valid", "min_score": 0.6, "on": str(detector / "valid")}
    assert found["facts"]["operating_point"] == chosen
    assert _score(capsys, test)[1]["facts"]["operating_point"] == chosen
    found = _score(capsys, test, "--min-score", 0.9)[1]
    assert (found["facts"]["operating_point"]["name"], found["recall"]["value"]) == ("fixed", 0.5)
    assert _score(capsys, test, "--at-recall", test)[1]["facts"]["operating_point"] == {
        "name": "at-recall", "min_score": 0.95, "on": str(test),
    }  # fmt: skip
    assert _score(capsys, test, "--all-scores")[1]["precision"]["value"] == pytest.approx(8 / 12)
    code, _, err = _score(capsys, test, "--all-scores", "--min-score", 0.5)
    assert code == 2
    assert "one of --min-score, --valid" in err
    assert _score(capsys, test, "--valid", test)[0] == 5, "never chosen on what is scored"


def test_a_point_is_chosen_on_a_run_of_the_same_model_with_scores(detector: Path) -> None:
    def found(part: str, name: str, *, sure: bool) -> Run:
        said = Detections([[10, 20, 40, 50]], ["cell"], [0.5] if sure else None)

        def say(prompt: Prompt) -> Reply:
            return Reply(detections=said)

        task = open_task({"task": "detect", "data": str(detector / "set"), "split": part})
        return run(task, FakeModel(say, ModelSpec("fake", name)), detector / f"{name}-{part}")

    one, other = found("test", "one", sure=True), found("valid", "other", sure=True)
    with pytest.raises(GuardError, match="on a run of the same model"):
        best_on(other, of=one)
    with pytest.raises(SpecError, match="no scores"):
        best_on(found("valid", "mute", sure=False), of=found("test", "mute", sure=False))
    assert best_on(found("valid", "one", sure=True), of=one).min_score == 0.5
    with pytest.raises(SpecError, match=r"do not reach a recall of 0\.900"):
        reaching(one, "0.9")
    with pytest.raises(SpecError, match="a share above 0"):
        reaching(one, "90")


def test_an_edited_truth_is_told(detector: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _score(capsys, detector / "test")[2] == ""
    truth = detector / "set/test/_annotations.coco.json"
    truth.write_text(truth.read_text().replace("[10, 20, 30, 30]", "[10, 20, 90, 30]"))
    code, found, err = _score(capsys, detector / "test")
    assert code == 0
    assert found["facts"]["truth_changed"] is True
    assert "have changed since" in err
