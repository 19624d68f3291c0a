"""Every row of cases/vlm_outputs.jsonl: replies of models, read as the row expects.

`[]` says that nothing may be read, not that the reply is a list: prose that other tools read as "no boxes" is
malformed here (PROTOCOLS section 3: a reply from which no list can be read is a failure), and the table below names
those rows. `"unparseable"` must be no value, for a stated reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.parsing.boxes import Grounded, read_reply
from snellen.parsing.choice import read_choice

FAMILIES = {
    "PaliGemma": "paligemma", "All-Seeing": "all-seeing", "Kosmos": "kosmos-2", "Florence": "florence-2",
    "Qwen2.5-VL": "qwen2.5-vl", "Qwen2-VL": "qwen2-vl", "Qwen3": "qwen3-vl", "CogVLM": "cogvlm",
    "DeepSeek": "deepseek-vl2", "Claude / Gemini": "unit", "Gemini": "gemini", "Gemma": "gemini", "GLM": "glm-4.5v",
    "Intern": "internvl", "LFM2": "lfm2-vl", "LLaVA": "llava", "MiniCPM": "minicpm-v", "Molmo-1": "molmo",
    "Molmo-2": "molmo2", "Moondream": "moondream", "generic": "points", "GPT": "gpt", "Seed": "seed-vl",
    "UI-TARS": "ui-tars", "WADE": "wade",
}  # fmt: skip
"""What a row's model family begins with -> its notation."""

OTHERWISE = {
    # "values exceed 1000, so this cannot be the 0..1000 convention": pixels, as Qwen2.5-VL counts
    "qwen2vl-ref-box-tokens": "qwen2.5-vl",
}

NO_LIST = {
    "sv-paligemma-2": "prose without a location token",
    "sv-paligemma-3": "three tokens, no box",
    "sv-paligemma-5": "four tokens and the text ends: the label that follows is missing",
    "paligemma2-cards": "the print of a picture object, no reply at all",
    "sv-qwen25-0": "prose",
    "sv-qwen25-1": "a fence without JSON",
    "molmo2-wrong-tag": "the attributes of another model's form",
}
"""Rows whose `[]` is another tool's silence: nothing can be read, and the reading says so."""

ROWS = 146


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "cases/vlm_outputs.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def notation_of(row: dict[str, Any]) -> str:
    found = (name for start, name in FAMILIES.items() if start in row["model_family"])
    return OTHERWISE.get(row["id"]) or next(found)


def read(row: dict[str, Any]) -> Grounded:
    size = tuple(row["image_size"] or (1000, 1000))
    return read_reply(row["text"], notation=notation_of(row), size=size, input_size=tuple(row["input_size"] or size))


def wanted(row: dict[str, Any]) -> list[tuple[str, list[float]]]:
    """Labels and px, for a picture of the row's size or of 1000 x 1000."""
    side = np.array(row["image_size"] or (1000, 1000), dtype=float)
    out = []
    for item in row["expected"]:
        for key, scale in (("_norm", side), ("_abs", np.ones(2)), ("_raw", np.ones(2))):
            numbers = next((item[k] for k in item if k.endswith(key)), None)
            if numbers is not None:
                out.append((item["label"] or "", (np.array(numbers) * np.tile(scale, len(numbers) // 2)).tolist()))
                break
    return out


def found(reading: Grounded) -> list[tuple[str, list[float]]]:
    boxes, points = reading.boxes.value, reading.points.value
    out = [] if boxes is None else list(zip(boxes.labels, boxes.boxes.tolist(), strict=True))
    return out + ([] if points is None else list(zip(points.labels, points.points.tolist(), strict=True)))


@pytest.mark.parametrize("index", range(ROWS))
def test_a_reply_is_read_as_its_row_expects(index: int, rows: list[dict[str, Any]]) -> None:
    row = rows[index]
    if row["task"] == "closed_ended_vqa":
        options = row["expected"].get("options", ())
        reader = "options" if options else "first-number"
        answer = row["expected"]["answer"]
        assert read_choice(row["text"], options, reader=reader).value == (None if answer is None else str(answer))
        return
    reading = read(row)
    if row["expected"] == "unparseable":
        assert found(reading) == []
        assert reading.boxes.value is None
        assert reading.boxes.status != "ok"
        assert reading.boxes.reason
        return
    expected = wanted(row)
    got = found(reading)
    assert [label for label, _ in got] == [label for label, _ in expected], row["id"]
    for (_, box), (_, truth) in zip(got, expected, strict=True):
        np.testing.assert_allclose(box, truth, atol=2e-3, err_msg=row["id"])  # the rows round to 6 decimals of a side
    if not expected:
        assert (reading.boxes.value is None) == (row["id"] in NO_LIST), row["id"]


def test_rows_are_all_there(rows: list[dict[str, Any]]) -> None:
    assert len(rows) >= ROWS


def test_confidences_are_read_and_kept_within_0_and_1(rows: list[dict[str, Any]]) -> None:
    scored = [row for row in rows if "confidence" in json.dumps(row["expected"])]
    assert len(scored) >= 3
    for row in scored:
        boxes = read(row).boxes.value
        assert boxes is not None
        assert boxes.scores is not None
        expected = [item.get("confidence", np.nan) for item in row["expected"]]
        np.testing.assert_array_equal(boxes.scores, expected)


def test_cut_replies_say_so_and_keep_their_complete_instances(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row.get("truncated"):
            reading = read(row).boxes
            assert (reading.status, reading.salvage) == ("truncated", "truncated"), row["id"]
            assert (reading.value is None) == (row["expected"] == "unparseable"), row["id"]


def test_replies_that_are_no_strict_json_are_repaired_or_truncated(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row.get("strict_json") is False and row["id"] != "cogvlm-leading-zero":  # no JSON form at all
            assert read(row).boxes.salvage != "intact", row["id"]
