"""Rows of cases/cases.jsonl about replies: coordinates, failures against empty lists, option letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.boxes import overlaps
from snellen.parsing.boxes import read_boxes
from snellen.parsing.choice import read_choice


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def test_an_empty_list_is_an_answer_and_a_refusal_or_a_cut_list_is_not(cases: dict[str, Any]) -> None:
    row = cases["parse-failure-vs-empty"]
    readings = {
        name: read_boxes(text, notation="wade", size=(100, 100)) for name, text in row["input"]["answers"].items()
    }
    assert {name: reading.value is not None for name, reading in readings.items()} == row["expected"]["parse_ok"]
    assert [readings[name].status for name in ("img1", "img2", "img3")] == ["ok", "refused", "truncated"]


def test_option_letters(cases: dict[str, Any]) -> None:
    row = cases["mcq-first-letter"]
    options = row["input"]["options"]
    assert [read_choice(a, options).value for a in row["input"]["answers"]] == row["expected"]["parsed"]


def test_the_same_numbers_mean_the_box_that_the_notation_says(cases: dict[str, Any]) -> None:
    row = cases["coords-abs-vs-1000"]
    answers, size = row["input"]["answers"], tuple(row["input"]["image_size"])
    expected = row["expected"]["iou"]
    notations = {"abs": "pixels", "rel1000": "qwen3-vl", "yxyx1000": "gemini", "xyxy1000": "qwen3-vl"}
    for name, iou in expected.items():
        answer, meaning = name.removesuffix(" (unclipped)").split(" read as ")
        text = json.dumps([{"label": "x", "bbox_2d": answers[answer]}])
        reading = read_boxes(text, notation=notations[meaning], size=size)
        assert reading.value is not None, name
        np.testing.assert_allclose(overlaps(reading.value.boxes, [row["input"]["gt_box_abs"]]), [[iou]], atol=1e-6)


def test_pixels_of_the_resized_input_are_scaled_back_per_axis(cases: dict[str, Any]) -> None:
    row = cases["qwen25-resized-input"]
    text = json.dumps([{"label": "x", "bbox_2d": row["input"]["answer_bbox_2d"]}])
    size, seen = tuple(row["input"]["image_size"]), tuple(row["expected"]["input_size"])
    reading = read_boxes(text, notation="qwen2.5-vl", size=size, input_size=seen)
    assert reading.value is not None
    np.testing.assert_allclose(reading.value.boxes, [row["expected"]["box_abs"]], atol=1e-3)
