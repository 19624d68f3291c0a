"""`snellen score`: by attribute, place, size and picture; what errors cost; what another rule would read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from command_line import snellen

SITES = 15


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A picture a site with two objects, one of them found; the picture of the last site has a false one too."""
    records, found = [], []
    for i in range(SITES):
        name = f"{i:02}.png"
        Image.new("L", (100, 100)).save(tmp_path / name)
        boxes = [[100, 100, 300, 300], [500, 500, 900, 900]]
        instances = [{"id": str(k), "label": "foam", "box": box} for k, box in enumerate(boxes)]
        records.append(
            {"image": name, "site": f"lake {i:02}", "lighting": ("low", "bright")[i % 2], "instances": instances}
        )
        found.append({"image_id": name, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.9 - i / 100})
    found.append({"image_id": name, "category_id": 1, "bbox": [70, 0, 20, 20], "score": 0.95})
    truth, predictions = tmp_path / "records.jsonl", tmp_path / "predictions.json"
    truth.write_text("".join(json.dumps(record) + "\n" for record in records))
    predictions.write_text(json.dumps(found))
    return truth, predictions


def scored(capsys: Any, files: tuple[Path, Path], *words: str) -> dict[str, Any]:
    code, out, _ = snellen(capsys, "score", "--truth", files[0], "--predictions", files[1], "--json", *words)
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_an_attribute_of_many_values_is_a_group_where_it_is_named(capsys, files) -> None:
    assert "site" not in scored(capsys, files, "--no-intervals")["groups"]
    groups = scored(capsys, files, "--no-intervals", "--by", "site")["groups"]
    assert len(groups["site"]) == SITES
    assert groups["site"]["lake 14"]["precision"]["value"] == 0.5
    assert groups["site"]["lake 03"]["precision"]["value"] == 1.0
    assert set(groups["lighting"]) == {"low", "bright"}, "one of few values always is"


def test_by_image_every_picture_has_its_figures(capsys, files) -> None:
    images = scored(capsys, files, "--by", "image")["groups"]["image"]
    assert len(images) == SITES
    assert images["14.png"]["precision"] == {"value": 0.5, "low": None, "high": None, "method": "point", "n": 1}
    assert images["14.png"]["mae"]["value"] == 0
    assert images["03.png"]["recall"]["value"] == 0.5


def test_groups_are_shown_where_they_are_named(capsys, files) -> None:
    paths = ("score", "--truth", files[0], "--predictions", files[1], "--draws", "100")
    code, out, _ = snellen(capsys, *paths, "--by", "site", "--by", "size", "--by", "image")
    assert code == 0
    assert "lake 14" in out
    assert "32 to 64" in out
    assert "03.png" in out
    assert "more with --by: lighting, size" in snellen(capsys, *paths)[1]


def test_a_group_that_there_is_none_of_is_refused_with_those_that_there_are(capsys, files) -> None:
    code, _, err = snellen(
        capsys, "score", "--truth", files[0], "--predictions", files[1], "--no-intervals", "--by", "lightning"
    )
    assert code == 2
    assert "unknown group 'lightning'. Did you mean 'lighting'?" in err
    assert "site" in err


def test_what_errors_cost_is_told_in_f1_and_for_scored_boxes_in_ap(capsys, files) -> None:
    kinds = scored(capsys, files)["groups"]["errors"]["all"]
    assert kinds["cost_miss"]["value"] == pytest.approx(30 / 31 - 30 / 46)
    ghost = kinds["ap50_cost_ghost"]
    # 15 of 30 found: 51 of 101 recalls are reached; the false box comes first, so the last hit is 15 of 16
    assert ghost["value"] == pytest.approx(51 / 101 * (1 - 15 / 16))
    assert ghost["low"] <= ghost["value"] <= ghost["high"]
    bare = [{k: v for k, v in row.items() if k != "score"} for row in json.loads(files[1].read_text())]
    files[1].write_text(json.dumps(bare))
    kinds = scored(capsys, files)["groups"]["errors"]["all"]
    assert "cost_miss" in kinds
    assert "ap50_cost_miss" not in kinds


def test_ap_by_the_trapezoid_rule_stands_beside_and_is_no_result(capsys, files) -> None:
    found = scored(capsys, files, "--no-intervals")
    audit = found["facts"]["ap_audit"]
    assert audit["ap"] == pytest.approx(found["ap"]["value"], abs=1e-12)
    assert audit["gap"] == pytest.approx(audit["trapezoid"] - audit["ap"])
    out = snellen(capsys, "score", "--truth", files[0], "--predictions", files[1], "--no-intervals")[1]
    assert f"by the trapezoid rule, which other toolkits use: {audit['trapezoid']:.3f}" in out.replace("\n", " ")


def test_category_ids_of_a_truth_without_any_are_read_by_place_and_it_is_said(capsys, files) -> None:
    _, _, err = snellen(capsys, "score", "--truth", files[0], "--predictions", files[1], "--no-intervals")
    assert "the truth numbers no classes: category ids are read as places in its list of classes (1 is 'foam'" in err
