from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from command_line import snellen

EXAM = ("civet/single-object", "-T", "side=108")


@pytest.fixture
def data(tmp_path) -> Path:
    """Two pictures with a box each of a class that looks like markup, and predictions for them."""
    folder = tmp_path / "data"
    folder.mkdir()
    images = [{"id": i, "file_name": f"{i}.png", "width": 40, "height": 30} for i in (1, 2)]
    for image in images:
        Image.new("RGB", (40, 30)).save(folder / image["file_name"])
    box = [1, 2, 10, 10]
    truth = [{"id": i, "image_id": i, "category_id": i, "bbox": box, "area": 100, "iscrowd": 0} for i in (1, 2)]
    classes = [{"id": 1, "name": "[/red]"}, {"id": 2, "name": ":cat:"}]
    (folder / "_annotations.coco.json").write_text(
        json.dumps({"images": images, "annotations": truth, "categories": classes})
    )
    found = [{"image_id": i, "category_id": i, "bbox": box, "score": 0.5} for i in (1, 2)]
    (tmp_path / "good.json").write_text(json.dumps(found))
    (tmp_path / "strange.json").write_text(json.dumps([*found, {**found[0], "image_id": 99}]))
    (tmp_path / "other.json").write_text('{"a": 1}')
    return folder


@pytest.fixture
def run(tmp_path, capsys) -> Path:
    snellen(capsys, "run", *EXAM, "-m", "random", "--limit", "8", "-o", tmp_path / "r", "-q")
    return tmp_path / "r"


def test_names_of_classes_are_shown_as_they_are(capsys, data) -> None:
    code, out, err = snellen(capsys, "score", "--truth", data, "--predictions", data.parent / "good.json")
    assert (code, err) == (0, "")
    assert "[/red]" in out
    assert ":cat:" in out


@pytest.mark.parametrize("verb", ["score", "import"])
def test_predictions_that_cannot_be_placed_are_told_on_stderr(capsys, data, verb) -> None:
    strange = data.parent / "strange.json"
    words = {
        "score": ("--predictions", strange, "--no-intervals"),
        "import": (strange, "--as", "coco", "--out", data.parent / "run"),
    }
    code, out, err = snellen(capsys, verb, "--truth", data, *words[verb], "--json")
    assert code == 0
    assert "1 of 3 predictions are of images that the data set does not have: left out (99)" in err
    json.loads(out)


def test_a_file_that_holds_no_list_of_predictions_is_no_empty_list(capsys, data) -> None:
    code, _, err = snellen(capsys, "score", "--truth", data, "--predictions", data.parent / "other.json")
    assert code == 2
    assert "results are a list of predictions" in err


@pytest.mark.parametrize("words", [("--protocol", "coco"), ("--split", "test")])
def test_an_option_without_effect_on_a_run_is_refused(capsys, run, words) -> None:
    code, _, err = snellen(capsys, "score", run, *words)
    assert code == 2
    assert f"{words[0]} belongs to the scoring of predictions against truth" in err


@pytest.mark.parametrize("words", [("--min-score", "0"), ("--at-recall", "0.5"), ("--all-scores",)])
def test_an_operating_point_of_closed_answers_is_refused(capsys, run, words) -> None:
    code, _, err = snellen(capsys, "score", run, *words)
    assert code == 2
    assert "an operating point belongs to boxes, this run is of civet/single-object" in err


def test_options_of_runs_are_refused_for_predictions(capsys, data) -> None:
    words = ("score", "--truth", data, "--predictions", data.parent / "good.json")
    assert "belongs to the scoring of a run" in snellen(capsys, *words, "--incomplete")[2]
    assert "must be a number" in snellen(capsys, *words, "--min-score", "nan")[2]


@pytest.mark.parametrize("verb", ["run", "score", "compare"])
def test_a_negative_seed_is_refused(capsys, run, verb) -> None:
    words = {"run": (*EXAM, "-m", "random", "-o", "x"), "score": (run,), "compare": (run, run)}[verb]
    code, _, err = snellen(capsys, verb, *words, "--seed", "-1")
    assert code == 2
    assert "greater than or equal to 0" in err


@pytest.mark.parametrize("name", ["results.json", "outcomes.arrow"])
def test_a_damaged_derived_file_says_how_it_is_made_again(capsys, run, name) -> None:
    broken = run.with_name("broken")
    shutil.copytree(run, broken)
    (broken / name).write_bytes((broken / name).read_bytes()[:100])
    code, _, err = snellen(capsys, "compare", broken, run)
    assert code == 3
    assert f"snellen score {broken}" in err
    assert snellen(capsys, "score", broken)[0] == 0
    assert snellen(capsys, "compare", broken, run)[0] == 0


def test_a_metric_that_there_is_none_of_is_refused(capsys, run) -> None:
    code, _, err = snellen(capsys, "compare", run, run, "--metric", "acuracy")
    assert code == 2
    assert "Did you mean 'accuracy'?" in err


def test_boxes_and_closed_answers_are_not_compared(capsys, run, data) -> None:
    boxes = data.parent / "boxes"
    snellen(capsys, "import", data.parent / "good.json", "--as", "coco", "--truth", data, "--out", boxes)
    code, _, err = snellen(capsys, "compare", run, boxes)
    assert code == 5
    assert "one is of boxes, the other of closed answers" in err
    assert "--on common" not in err


def test_strata_without_a_sample_are_refused(capsys, tmp_path) -> None:
    code, _, err = snellen(capsys, "run", *EXAM, "-m", "random", "--limit", "4", "--by", "shape", "-o", tmp_path / "r")
    assert code == 2
    assert "there is no --sample" in err


def test_a_place_that_cannot_be_written_is_an_error_in_one_line(capsys, run) -> None:
    code, _, err = snellen(capsys, "report", run, "--out", "/proc/no/such")
    assert code == 3
    assert err.startswith("snellen: ")
    assert "/proc/no" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--as", "coco"), "an import as coco needs truth"),
        (("--as", "civet-results", "--split", "test"), "takes no split; it takes reader, images"),
    ],
)
def test_an_import_says_which_option_it_lacks_or_does_not_take(capsys, data, words, message) -> None:
    code, _, err = snellen(capsys, "import", data.parent / "good.json", *words, "--out", data.parent / "run")
    assert code == 2
    assert message in err


def test_a_failed_request_says_why(capsys, data, loopback) -> None:
    (data / "2.png").write_bytes((data / "2.png").read_bytes()[:40])
    words = ("-m", "openai/x", "-M", f"base_url={loopback()}", "-o", data.parent / "run", "-q")
    code, _, err = snellen(capsys, "run", "detect", data, *words)
    assert code == 4
    assert "1 of 2 answers are missing (1 failed; sample '2.png': " in err


def test_data_that_moved_away_are_told_with_the_run_that_names_them(capsys, data, monkeypatch) -> None:
    monkeypatch.chdir(data.parent)
    snellen(capsys, "import", "good.json", "--as", "coco", "--truth", "data", "--out", "run")
    data.rename(data.with_name("moved"))
    code, _, err = snellen(capsys, "score", "run")
    assert code == 2
    assert "no such file or folder: data" in err
    assert "named by the run run; relative paths start at the current folder" in err
