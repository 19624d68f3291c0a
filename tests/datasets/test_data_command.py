"""`snellen data`: each verb does its work and says so in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snellen.cli.app import main
from snellen.core.errors import DataError
from snellen.datasets.load import load_data

RECORD = {
    "image": "a.jpg", "width": 100, "height": 50, "attributes": {"site": "pond 1", "lighting": "low"},
    "instances": [{"id": "1", "label": "foam waste", "box": [100, 200, 300, 400]}],
}  # fmt: skip


@pytest.fixture
def records(tmp_path: Path) -> Path:
    lines = [json.dumps({**RECORD, "image": f"{i}.jpg", "attributes": {"site": f"pond {i % 4}"}}) for i in range(12)]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    return tmp_path / "r.jsonl"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as ended:
        main(["data", *words, "--json"])
    out = capsys.readouterr().out
    return int(ended.value.code or 0), json.loads(out) if out else None


def test_info_counts_classes_and_attributes(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "info", str(records))
    assert code == 0
    assert (facts["images"], facts["boxes"]) == (12, 12)
    assert facts["classes"]["foam waste"]["share"] == 1.0
    assert facts["attributes"]["site"]["pond 1"] == {"images": 3, "boxes": 3}
    assert facts["sizes"] == {"small": 12, "medium": 0, "large": 0}


def test_convert_says_what_is_lost(records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = run(capsys, "convert", str(records), "--to", "voc", "--out", str(tmp_path / "voc"))
    assert code == 0
    assert facts["written"] == {"": {"images": 12, "boxes": 12}}
    assert {finding["code"] for finding in facts["said"]} == {"not-carried", "missing-picture"}
    assert load_data(tmp_path / "voc").truth.boxes.tolist() == load_data(records).truth.boxes.tolist()


def test_fewshot_and_share_write_what_they_chose(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, facts = run(capsys, "fewshot", str(records), "-k", "3", "--out", str(tmp_path / "few"))
    assert (code, facts["boxes"], facts["classes"]["foam waste"]["boxes"]) == (0, 3, 3)
    few = load_data(tmp_path / "few")
    assert few.known is not None
    assert few.known.all()
    code, facts = run(capsys, "share", str(records), "--labelled", "0.25", "--out", str(tmp_path / "semi"))
    assert code == 0
    assert {name: part["boxes"] for name, part in facts["written"].items()} == {"labelled": 3, "unlabelled": 0}


def test_a_split_keeps_ponds_whole(records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--ratios", "train=2,test=2", "--no-lookalikes", "--out", str(tmp_path / "s"))
    code, facts = run(capsys, "split", str(records), *words)
    assert (code, facts["by"]) == (0, "site")
    assert {name: part["images"] for name, part in facts["parts"].items()} == {"train": 6, "test": 6}
    sites = [set(load_data(tmp_path / "s", split=part).attributes["site"].tolist()) for part in ("train", "test")]
    assert not sites[0] & sites[1]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("split", "DATA", "--ratios", "train", "--out", "x"), "train=75,valid=10,test=15"),
        (("split", "DATA", "--by", "river", "--no-lookalikes", "--out", "x"), "no attribute 'river'"),
        (("convert", "DATA", "--to", "kitti", "--out", "x"), "coco, voc, wade, yolo"),
        (("info", "nowhere"), "no such file"),
    ],
)
def test_bad_input_is_one_clear_line(
    records: Path, words: tuple[str, ...], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["data", *(str(records) if word == "DATA" else word for word in words)])
    assert ended.value.code == 2
    assert what in capsys.readouterr().err


def test_a_folder_above_a_data_set_is_told_where_it_is(tmp_path: Path) -> None:
    whole = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "a"}]}
    for names, message in ((["x"], "x/ is coco: name that"), (["x", "y"], "x/ is coco, y/ is coco: name one")):
        for name in names:
            folder = tmp_path / str(len(names)) / name
            folder.mkdir(parents=True)
            (folder / "annotations.json").write_text(json.dumps(whole))
        with pytest.raises(DataError, match=f"{len(names)} other files?, of which {message}"):
            load_data(tmp_path / str(len(names)))
