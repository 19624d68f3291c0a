"""A small bench in one process: ways of asking, samples, what cannot be done, doing it again; and the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from snellen.bench.config import read_bench
from snellen.bench.contrasts import matched_regimes
from snellen.bench.execute import execute
from snellen.bench.forecast import forecast
from snellen.bench.plan import jobs_of
from snellen.bench.table import Outcome, conclude
from snellen.cli.app import main
from snellen.core.errors import DataError, SpecError
from snellen.core.stages import Failed
from snellen.report.decision import decision_section, further_sections
from snellen.report.grids import Grid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two data sets of 8 pictures with two classes each, a training part, and predictions for one of them."""
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = []
        for part, count in (("train", 3), ("test", 8)):
            place = tmp_path / name / part
            place.mkdir(parents=True)
            images, boxes = [], []
            for i in range(count):
                noise = rng.integers(0, 255, (100, 200, 3), dtype=np.uint8)
                Image.fromarray(noise).save(place / f"{i}.png")
                images.append({"id": i, "file_name": f"{i}.png", "width": 200, "height": 100})
                for j in range(1 + i % 2):
                    box = [10 + 90 * j, 20, 40 + i, 30]
                    boxes.append({"id": len(boxes), "image_id": i, "category_id": 1 + j, "bbox": box,
                                  "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
                    rows += [{"image_id": f"{i}.png", "category_id": 1 + j, "bbox": box, "score": 0.9}] * (
                        part == "test"
                    )
            names = [{"id": 1, "name": "cell"}, {"id": 2, "name": "wire"}]
            whole = {"images": images, "annotations": boxes, "categories": names}
            (place / "_annotations.coco.json").write_text(json.dumps(whole))
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    return tmp_path


def _write(folder: Path, models: dict[str, Any], **more: Any) -> Path:
    data = {name: {"path": name, "split": "test"} for name in ("one", "two")}
    file = folder / "bench.yaml"
    file.write_text(yaml.safe_dump({"data": data, "models": models, "bootstrap": 100, "metric": "f1", **more}))
    return file


def _carried_out(file: Path, out: Path) -> tuple[Any, list[Any], Outcome]:
    bench = read_bench(file)
    done = execute(bench, jobs_of(bench), out)
    return bench, done, conclude(bench, done)


def test_regimes_that_differ_in_one_way_of_asking_are_matched() -> None:
    regimes = {
        "single": {"calls": "single"}, "plain": {}, "few": {"regime": "few-shot"}, "told": {"classes": "present"},
        "few-told": {"regime": "few-shot", "classes": "present"},
        "told-single": {"classes": "present", "calls": "single"},
    }  # fmt: skip
    assert set(matched_regimes(regimes)) == {
        ("calls", "plain", "single"), ("classes", "plain", "told"), ("classes", "few", "few-told"),
        ("classes", "single", "told-single"), ("calls", "told", "told-single"),
    }  # fmt: skip


def test_detection_and_referential_are_never_ranked_together_and_meet_as_pairs(folder: Path, tmp_path: Path) -> None:
    regimes = {"all": {}, "one-by-one": {"calls": "single"}, "told": {"classes": "present"}}
    models = {"oracle": {"model": "oracle"}, "chance": {"model": "random"}}
    bench, _, outcome = _carried_out(_write(folder, models, regimes=regimes), tmp_path / "out")
    assert outcome.overall is not None
    ranked = {row.name for row in outcome.overall.rows}
    assert ranked == {"oracle (all)", "oracle (one-by-one)", "chance (all)", "chance (one-by-one)"}
    assert {row.name for row in outcome.referential[0].rows} == {"oracle (told)", "chance (told)"}
    assert len(outcome.referential) == 3  # one a data set, and over both
    kinds = {(c.kind, c.data, c.model, c.usual, c.other) for c in outcome.contrasts}
    assert ("calls", "all", "chance", "all", "one-by-one") in kinds
    assert ("classes", "one", "oracle", "all", "told") in kinds
    same = next(c for c in outcome.contrasts if c.kind == "classes" and c.model == "oracle")
    assert same.difference.difference.value == 0
    sections = (decision_section(bench, outcome), *further_sections(outcome))
    assert [section.id for section in sections] == ["decision", "decision-each", "decision-referential"]
    grids = {block.id: block for section in sections for block in section.blocks if isinstance(block, Grid)}
    assert len(grids["contrast-classes"].rows) == 6  # 2 models, on 2 data sets and on all
    assert len(grids["contrast-calls"].rows) == 6
    assert "decision-one--classes-present-only" in grids


def test_a_sample_of_the_pictures_is_the_same_for_imported_predictions(folder: Path, tmp_path: Path) -> None:
    models = {"chance": {"model": "random"}, "mine": {"predictions": {"one": "one.json", "two": "two.json"}}}
    _, _, outcome = _carried_out(_write(folder, models, sample=5), tmp_path / "out")
    assert outcome.overall is not None
    assert {row.name for row in outcome.overall.rows} == {"mine", "chance"}
    assert not outcome.decisions[0].refused
    assert outcome.decisions[0].rows[0].facts["samples"] == 5


def test_changed_predictions_are_not_taken_for_the_old_ones(folder: Path, tmp_path: Path) -> None:
    file = _write(folder, {"mine": {"predictions": {"one": "one.json"}}})
    _carried_out(file, tmp_path / "out")
    (folder / "one.json").write_text("[]")
    done = execute(read_bench(file), jobs_of(read_bench(file)), tmp_path / "out")
    assert done[0].state == "error"
    assert "not those that were imported before" in done[0].reason


@pytest.mark.parametrize(
    ("entry", "regime", "reason"),
    [
        ({"model": "fake", "single_picture": True}, "few", "takes one picture a request"),
        ({"model": "fake", "context": 1000}, "zero", "holds 1,000"),
        ({"model": "nobody/x"}, "zero", "unknown model provider"),
        ({"model": "random", "options": {"sed": 1}}, "zero", "sed"),
        ({"predictions": {"one": "absent.json"}}, "imported", "no such file"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_others_go_on(
    folder: Path, tmp_path: Path, entry: dict[str, Any], regime: str, reason: str
) -> None:
    regimes = {"zero": {}, "few": {"regime": "few-shot", "shots": 2}}
    models = {"odd": entry, "chance": {"model": "random"}}
    bench, done, outcome = _carried_out(_write(folder, models, regimes=regimes), tmp_path / "out")
    fault = next(each for each in done if each.job.model == "odd" and each.job.regime == regime)
    assert fault.state == "error"
    assert reason in fault.reason
    assert reason in outcome.missing[fault.job.name]
    assert reason in forecast(bench, fault.job).fault
    assert sum(each.state == "done" for each in done if each.job.model == "chance") == 4


def test_requests_that_failed_are_told_by_their_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"text": "[]", "fail": 1.0}
    file = _write(folder, {"down": {"model": "fake", "options": options}})
    code, _, err = _snellen(capsys, "bench", file, "-o", folder / "out", "--no-report")
    assert code == 4
    assert "8 of 8 answers are missing; 8 failed by " in err
    assert "one/down/zero-shot/seed-0, two/down/zero-shot/seed-0: 8 of 8" in err
    run = execute(read_bench(file), jobs_of(read_bench(file)), folder / "out")[0].run
    assert run is not None
    cause = next(answer.cause for _, answer in run.replies() if isinstance(answer, Failed))
    assert f"8 failed by {cause}" in err


def test_chance_is_not_held_against_the_recall_of_others(folder: Path, tmp_path: Path) -> None:
    detector = {"predictions": {"one": "one.json", "two": "two.json"}}
    models = {"sighted": {"model": "oracle"}, "chance": {"model": "random"}, "scored": detector}
    scores = iter(np.linspace(0.5, 0.9, 100))
    for name in ("one", "two"):
        rows = json.loads((folder / f"{name}.json").read_text())
        (folder / f"{name}.json").write_text(json.dumps([{**row, "score": next(scores)} for row in rows]))
    _, _, outcome = _carried_out(_write(folder, models), tmp_path / "out")
    told = {row.name: "at_recall" in row.facts for row in outcome.decisions[0].rows}
    assert told == {"sighted": False, "chance": False, "scored": True}


def test_an_unknown_metric_lists_those_that_there_are(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="precision"):
        _carried_out(_write(folder, {"chance": {"model": "random"}}, metric="f2"), tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- a", "mapping with data and models"),
        ("data: {}\nmodels: {a: {model: random}}", "data"),
        ("data: {a: {path: x}}\nmodels: {a: {modle: random}}", "unknown entry 'modle'. Did you mean 'model'"),
        ("data: {a: {path: x, splitt: val}}\nmodels: {a: {model: random}}", "data.a.splitt: .* Did you mean 'split'"),
        ("data: {a: {path: x}}\nmodles: {a: {model: random}}", "models is missing; modles: .* Did you mean 'models'"),
        ("data: {a: {path: x}}\nmodels: {a: {model: random}}\nbudget: much", "budget"),
        ("data: {a/b: {path: x}}\nmodels: {a: {model: random}}", "no slash"),
        ("data: {a: [", "bench.yaml"),
    ],
)
def test_a_bad_bench_file_is_refused_with_the_entry(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "bench.yaml").write_text(text)
    with pytest.raises((DataError, SpecError), match=fault):
        read_bench(tmp_path / "bench.yaml")


def _snellen(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_command_plans_decides_and_goes_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _write(folder, {"oracle": {"model": "oracle"}, "chance": {"model": "random"}})
    out = tmp_path / "out"
    code, said, _ = _snellen(capsys, "bench", file, "-o", out, "--dry-run")
    assert code == 0
    assert "4 runs, 32 requests to make, about 0 USD" in said
    assert not out.exists()
    code, said, _ = _snellen(capsys, "bench", file, "-o", out, "--json", "--no-report")
    assert code == 0
    assert json.loads(said)["overall"]["rows"][0]["name"] == "oracle"
    code, said, _ = _snellen(capsys, "bench", file, "-o", out, "--dry-run")
    assert "0 requests to make" in said
    odd = _write(folder, {"odd": {"model": "nobody/x"}})
    code, said, _ = _snellen(capsys, "bench", odd, "--dry-run")
    assert code == 2
    assert "cannot be done: unknown model provider" in said


@pytest.mark.parametrize("name", ["one", "odd: name #1"])
def test_init_writes_a_bench_that_can_be_read(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (folder / "one").rename(folder / name)
    file = folder / "new.yaml"
    code, _, _ = _snellen(capsys, "init", folder / name, "--out", file)
    assert code == 0
    bench = read_bench(file)
    assert [entry.path for entry in bench.data.values()] == [str(folder / name)]
    assert set(bench.models) == {"my-vlm", "chance"}
    assert set(bench.regimes) == {"zero-shot", "few-shot"}
    code, said, _ = _snellen(capsys, "bench", file, "--dry-run", "-o", folder / "out")
    assert code == 0
    assert "(guessed)" in said


@pytest.mark.parametrize(
    ("parts", "chosen"),
    [("train valid test", "test"), ("train valid", "valid"), ("train val", "val"), ("train", "train"), ("a b", None)],
)
def test_init_takes_the_part_that_is_there(
    folder: Path, capsys: pytest.CaptureFixture[str], parts: str, chosen: str | None
) -> None:
    place = folder / "parts"
    for part in parts.split():
        shutil.copytree(folder / "one/test", place / part)
    code, said, err = _snellen(capsys, "init", place)
    if chosen is None:
        assert code == 2
        assert "--split a | b | all" in err
    else:
        assert yaml.safe_load(said)["data"]["parts"]["split"] == chosen
