# ruff: noqa: E501
"""Replies with boxes: the table of odd replies, what is never done, and the laws."""

from __future__ import annotations

import json

import json_repair
import numpy as np
import pytest

from snellen.core.errors import SpecError
from snellen.core.pictures import Size
from snellen.core.stages import Reading
from snellen.parsing.boxes import read_boxes, read_points, read_reply, strict
from snellen.parsing.notations import NOTATIONS, named

SIZE = Size(1000, 500)

QWEN = [
    # name, text, boxes in 0..1000 as written, status, salvage, unread
    ("a list", '[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]', [("cat", [1, 2, 3, 4])], "ok", "intact", 0),
    ("fenced", '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]\n```', [("cat", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a fence that never ends", '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]', [("cat", [1, 2, 3, 4])], "ok", "intact", 0),
    ("an object per line", '{"bbox_2d": [1, 2, 3, 4], "label": "a"}\n{"bbox_2d": [5, 6, 7, 8], "label": "b"}', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], "ok", "intact", 0),
    ("the same again", '{"bbox_2d": [1, 2, 3, 4], "label": "a"}\n' * 3, [("a", [1, 2, 3, 4])] * 3, "ok", "intact", 0),
    ("a duplicated key begins a new entry", '[{"bbox_2d": [1, 2, 3, 4], "label": "a", "bbox_2d": [5, 6, 7, 8], "label": "b"}]', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], "ok", "intact", 0),
    ("comments", '[ // all of them\n{"bbox_2d": [1, 2, /* x2 */ 3, 4], "label": "cat"} # end\n]', [("cat", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("missing commas", '[{"bbox_2d": [1 2 3 4] "label": "a"} {"bbox_2d": [5, 6, 7, 8], "label": "b"}]', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], "ok", "repaired", 0),
    ("unquoted keys and words", "[{bbox_2d: [1, 2, 3, 4], label: red car}]", [("red car", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("full-width punctuation", "［｛“bbox_2d”：［１，２，３，４］，“label”：“猫”｝］", [("猫", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("an apostrophe in single quotes", "[{'bbox_2d': [1, 2, 3, 4], 'label': 'the cat's bed'}]", [("the cat's bed", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("a forgotten quote", '[{"bbox_2d": [1, 2, 3, 4], "label": "a}, {"bbox_2d": [5, 6, 7, 8], "label": "b"}]', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], "ok", "repaired", 0),
    ("a wrong closing bracket", '[{"bbox_2d": [1, 2, 3, 4}, "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("a list in quotes", '[{"bbox_2d": "[1, 2, 3, 4]", "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a label per key", '{"cat": [[1, 2, 3, 4], [5, 6, 7, 8]], "dog": [1, 1, 2, 2]}', [("cat", [1, 2, 3, 4]), ("cat", [5, 6, 7, 8]), ("dog", [1, 1, 2, 2])], "ok", "intact", 0),
    ("a label above a list", '{"label": "cat", "boxes": [[1, 2, 3, 4], [5, 6, 7, 8]]}', [("cat", [1, 2, 3, 4]), ("cat", [5, 6, 7, 8])], "ok", "intact", 0),
    ("corner points", '[{"box": [{"x": 1, "y": 2}, {"x": 3, "y": 4}], "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a width and a height by name", '[{"x": 1, "y": 2, "width": 2, "height": 2, "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a box of named sides", '[{"bbox": {"x_min": 1, "y_min": 2, "x_max": 3, "y_max": 4}, "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("parts of parts", '[{"bbox_2d": [1, 2, 30, 40], "label": "cat", "parts": [{"bbox_2d": [1, 2, 3, 4], "label": "ear"}]}]', [("cat", [1, 2, 30, 40]), ("ear", [1, 2, 3, 4])], "ok", "intact", 0),
    ("words about the place beside the box", '[{"label": "a", "location": "left bank", "bbox_2d": [1, 2, 3, 4], "region": [9, 9]}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("words inside a chain", '[{"label": "a", "bbox_2d": [1, 2, 3, 4], "reasoning": {"position": "centre", "type": "PET", "rules": [{"name": "x"}, "y"], "box": "clear"}}]', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("metadata around the list", '{"image": {"name": "a.jpg"}, "categories": [{"id": 1, "name": "a"}], "tags": [], "objects": [{"label": "a", "bbox_2d": [1, 2, 3, 4]}]}', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("texts and objects without a box in the list", '["x", {"label": "b"}, {"id": 3}, {"label": "a", "bbox_2d": [1, 2, 3, 4]}]', [("a", [1, 2, 3, 4])], "ok", "intact", 3),
    ("a second box of the same thing", '[{"label": "a", "bbox_2d": [1, 2, 3, 4], "bbox_2d": [5, 6, 7, 8]}]', [("a", [1, 2, 3, 4]), ("a", [5, 6, 7, 8])], "ok", "intact", 0),
    ("a longer key", '[{"label": "a", "bbox_coordinates": [1, 2, 3, 4]}, {"label": "b", "box_xywh": [1, 2, 2, 2]}]', [("a", [1, 2, 3, 4]), ("b", [1, 2, 3, 4])], "ok", "intact", 0),
    ("semicolons between boxes", "a[[001,002,003,004;005,006,007,008]]", [("a", [1, 2, 3, 4]), ("a", [5, 6, 7, 8])], "ok", "intact", 0),
    ("JSON in a string", '"[{\\"bbox_2d\\": [1, 2, 3, 4], \\"label\\": \\"a\\"}]"', [("a", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("a list of label and numbers", '[["a", 1, 2, 3, 4], ["b", [5, 6, 7, 8]]]', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], "ok", "intact", 0),
    ("YAML", "- label: red car\n  bbox_2d: [1, 2, 3, 4]\n- label: dog\n  bbox_2d: [5, 6, 7, 8]\n", [("red car", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], "ok", "intact", 0),
    ("spelled out", "cat: x1=1, y1=2, x2=3, y2=4\n", [("cat", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a table", "| label | x1 | y1 | x2 | y2 |\n|---|---|---|---|---|\n| cat | 1 | 2 | 3 | 4 |\n", [("cat", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a fence per class", 'Cats:\n```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]\n```\nDogs:\n```json\n[{"bbox_2d": [5, 6, 7, 8], "label": "dog"}]\n```', [("cat", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], "ok", "intact", 0),
    ("a draft and a final answer", 'Draft: [{"bbox_2d": [1, 2, 3, 4], "label": "a"}] Final: [{"bbox_2d": [5, 6, 7, 8], "label": "a"}]', [("a", [5, 6, 7, 8])], "ok", "repaired", 0),
    ("answer signs", "A cat <|begin_of_box|>[1, 2, 3, 4]<|end_of_box|> and a dog <|begin_of_box|>[5, 6, 7, 8]<|end_of_box|>", [("A cat", [1, 2, 3, 4]), ("a dog", [5, 6, 7, 8])], "ok", "intact", 0),
    ("answer tags", 'maybe [[9, 9, 10, 10]] <answer>[{"bbox_2d": [1, 2, 3, 4], "label": "a"}]</answer>', [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("nothing there", '{"objects": []}', [], "ok", "intact", 0),
    ("a null box", '[{"bbox_2d": null, "label": "cat"}]', [], "ok", "intact", 0),
    ("nothing, in words", "There are no cats in the picture.", [], "ok", "repaired", 0),
    ("nothing seen, in words", "I don’t see any cats here.", [], "ok", "repaired", 0),
    ("nothing after a draft", '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "a"}]\n```\nOn second thought:\n```json\n[]\n```', [], "ok", "intact", 0),
    ("three numbers beside a good box", '[{"bbox_2d": [1, 2, 3], "label": "a"}, {"bbox_2d": [1, 2, 3, 4], "label": "b"}]', [("b", [1, 2, 3, 4])], "ok", "intact", 1),
    ("no area", '[{"bbox_2d": [1, 2, 1, 4], "label": "a"}, {"bbox_2d": [1, 2, 3, 4], "label": "b"}]', [("b", [1, 2, 3, 4])], "ok", "intact", 1),
    ("corners swapped", '[{"bbox_2d": [3, 4, 1, 2], "label": "a"}]', [("a", [1, 2, 3, 4])], "ok", "repaired", 0),
    ("one axis inverted", '[{"bbox_2d": [3, 2, 1, 4], "label": "a"}]', [], "ok", "intact", 1),
    ("cut in a number", '[{"bbox_2d": [1, 2, 3, 4], "label": "a"}, {"bbox_2d": [5, 6, 7, 8', [("a", [1, 2, 3, 4])], "truncated", "truncated", 0),
    ("cut after the box", '[{"bbox_2d": [1, 2, 3, 4], "label": "a"}, {"bbox_2d": [5, 6, 7, 8]', [("a", [1, 2, 3, 4])], "truncated", "truncated", 0),
    ("cut before the closing bracket", '[{"bbox_2d": [1, 2, 3, 4], "label": "a"}', [("a", [1, 2, 3, 4])], "truncated", "truncated", 0),
    ("tokens instead of JSON", "<|object_ref_start|>a<|object_ref_end|><|box_start|>(1,2),(3,4)<|box_end|>", [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a bare list", "a: [1, 2, 3, 4]", [("a", [1, 2, 3, 4])], "ok", "intact", 0),
    ("a free list", "- red car: 1, 2, 3, 4\n- dog: 5, 6, 7, 8\n", [("red car", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], "ok", "intact", 0),
    ("a free list cut in its last number", "- red car: 1, 2, 3, 4\n- dog: 5, 6, 7, 8", [("red car", [1, 2, 3, 4])], "truncated", "truncated", 0),
    ("sentences around brackets", "The cat is at [1, 2, 3, 4] and the dog is at [5, 6, 7, 8].", [("", [1, 2, 3, 4]), ("", [5, 6, 7, 8])], "ok", "intact", 0),
]  # fmt: skip

NONE = [
    # name, text, notation, status
    ("empty", "", "qwen3-vl", "malformed"),
    ("prose", "A cat sits on a mat.", "qwen3-vl", "malformed"),
    ("a refusal", "I'm sorry, but I can't help with that.", "qwen3-vl", "refused"),
    ("a refusal in a list's place", "I cannot identify any objects in this image.", "wade", "refused"),
    ("no picture seen", "I can't see any image.", "qwen3-vl", "refused"),
    ("none in words where JSON is prescribed", "There are no objects.", "wade", "malformed"),
    ("only labels", '[{"label": "cat"}]', "qwen3-vl", "malformed"),
    ("a list of something else", '{"description": "a street", "tags": []}', "qwen3-vl", "malformed"),
    ("only boxes", '[{"bbox_2d": [1, 2, 3, 4]}]', "qwen3-vl", "malformed"),
    ("letters for numbers", "[x1, y1, x2, y2]", "internvl", "malformed"),
    ("fractions of 1 for thousandths", '[{"bbox_2d": [0.1, 0.2, 0.3, 0.4], "label": "a"}]', "qwen3-vl", "malformed"),
    ("fractions of 1 for pixels", '[{"bbox_2d": [0.1, 0.2, 0.3, 0.4], "label": "a"}]', "qwen2.5-vl", "malformed"),
    ("pixels for fractions of 1", '[{"bbox": [10, 20, 30, 40], "label": "a"}]', "lfm2-vl", "malformed"),
    ("outside of the picture", '[{"bbox_2d": [1500, 200, 1800, 300], "label": "a"}]', "qwen3-vl", "malformed"),
    ("cut at once", '[{"bbox_2d": [1, 2, 3', "qwen3-vl", "truncated"),
    ("cut before any number", '```json\n[\n  {"bbox_2d":', "qwen3-vl", "truncated"),
    ("endless reasoning", '<think>[{"bbox_2d": [1, 2, 3, 4], "label": "a"}]', "qwen3-vl", "truncated"),
    ("points", '[{"point_2d": [1, 2], "label": "a"}]', "qwen3-vl", "malformed"),
    ("nine numbers", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "glm-4.5v", "malformed"),
    ("location tokens of another family", "<loc0001><loc0002><loc0003><loc0004> cat", "qwen3-vl", "malformed"),
]  # fmt: skip


def read(text: str, notation: str = "qwen3-vl", **options: object) -> Reading[object]:
    return read_boxes(text, notation=notation, size=SIZE, input_size=SIZE, **options)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("text", "boxes", "status", "salvage", "unread"), [row[1:] for row in QWEN], ids=[row[0] for row in QWEN]
)
def test_a_reply_in_thousandths_is_read(text: str, boxes: list, status: str, salvage: str, unread: int) -> None:
    reading = read_boxes(text, notation="qwen3-vl", size=SIZE)
    assert reading.value is not None, reading
    assert list(reading.value.labels) == [label for label, _ in boxes]
    np.testing.assert_allclose(reading.value.boxes, np.array([b for _, b in boxes]).reshape(-1, 4) * [1, 0.5, 1, 0.5])
    assert (reading.status, reading.salvage, reading.unread) == (status, salvage, unread)


@pytest.mark.parametrize(("text", "notation", "status"), [row[1:] for row in NONE], ids=[row[0] for row in NONE])
def test_a_reply_without_a_readable_list_has_no_value(text: str, notation: str, status: str) -> None:
    reading = read(text, notation)
    assert reading.value is None
    assert reading.status == status
    assert reading.reason


def test_a_cut_number_never_becomes_a_box() -> None:
    for text in ("[[1, 2, 3, 40", "[1, 2, 3, 40", "cat: 1, 2, 3, 40", "<box>1 2 3 40", "<box>[[1, 2, 3, 40"):
        assert read(text, "minicpm-v").value is None, text


def test_the_last_line_counts_where_the_reply_is_known_to_be_complete() -> None:
    text = "cat 0.5 0.5 0.2 0.2"
    assert read(text, "yolo").value is None
    assert read(text + "\n", "yolo").value is not None
    assert read(text, "yolo", finish="stop").value is not None


def test_a_reply_on_which_json_repair_fails_is_read_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(text: str) -> object:
        raise AssertionError(text)

    start = '```json\n[{"box": [412, 2301], "label": "bottle", "reasoning": {"'
    text = start * 3 + 'cue": "a \\"neck\\""}}]\n```'
    monkeypatch.setattr(json_repair, "loads", failing)
    reading = read_boxes(text, notation="moondream", size=SIZE)
    assert reading.value is not None
    assert (len(reading.value), reading.unread) == (0, 1)


def test_one_class_asked_for_names_boxes_without_a_label() -> None:
    for notation, text in (
        ("moondream", '{"objects": [{"x_min": 0.1, "y_min": 0.1, "x_max": 0.2, "y_max": 0.2}]}'),
        ("qwen3-vl", '[{"bbox_2d": [1, 2, 3, 4]}]'),
        ("paligemma", "<loc0001><loc0002><loc0003><loc0004>"),
        ("glm-4.5v", "[[1, 2, 3, 4]]"),
    ):
        value = read_boxes(text, notation=notation, size=SIZE, classes=("cat",)).value
        assert value is not None, notation
        assert value.labels == ("cat",)
        assert read_boxes(text, notation=notation, size=SIZE, classes=("cat", "dog")).value != value


def test_labels_stay_as_written_and_outside_the_classes_too() -> None:
    text = '[{"box": [1, 2, 3, 4], "label": "Plastic_Bottle "}, {"box": [1, 2, 3, 4], "label": "bag"}]'
    value = read_boxes(text, notation="wade", size=SIZE, classes=("plastic bottle",)).value
    assert value is not None
    assert value.labels == ("Plastic_Bottle ", "bag")


def test_class_numbers_of_yolo_lines_are_looked_up_among_the_classes() -> None:
    value = read_boxes("1 0.5 0.5 0.2 0.2 0.9\n", notation="yolo", size=SIZE, classes=("cat", "dog")).value
    assert value is not None
    assert value.labels == ("dog",)
    assert value.scores is not None
    np.testing.assert_allclose(value.scores, [0.9])
    np.testing.assert_allclose(value.boxes, [[400, 200, 600, 300]])


def test_chains_are_kept_as_notes() -> None:
    chain = {"primary_cue": "a neck", "contrastive_rules": [{"against": "foam waste", "rule": "no pores"}]}
    text = json.dumps([{"id": 1, "label": "plastic bottle", "box": [1, 2, 3, 4], "reasoning": chain}])
    value = read_boxes(text, notation="wade", size=SIZE).value
    assert value is not None
    assert value.notes == ({"id": 1, "reasoning": chain},)


def test_scores_are_kept_and_absent_ones_stay_absent() -> None:
    one = '[{"bbox_2d": [1, 2, 3, 4], "label": "a", "confidence": "90%"}, {"bbox_2d": [1, 2, 3, 4], "label": "a"}]'
    value = read_boxes(one, notation="qwen3-vl", size=SIZE).value
    assert value is not None
    np.testing.assert_array_equal(value.scores, [0.9, np.nan])
    none = read_boxes('[{"bbox_2d": [1, 2, 3, 4], "label": "a"}]', notation="qwen3-vl", size=SIZE).value
    assert none is not None
    assert none.scores is None


def test_strict_reading_is_the_papers() -> None:
    for text, stands in (
        ('[{"box": [1, 2, 3, 4], "label": "a"}]', True),
        ("[]", True),
        ('```json\n[{"box": [1, 2, 3, 4], "label": "a"}]\n```', True),
        ('[{"box": [1, 2, 3, 4], "label": "a"},]', False),
        ('[{"box": [1, 2, 3, 4], "label": "a"}, {"box": [1, 2, 3], "label": "a"}]', False),
        ('[{"box": [3, 4, 1, 2], "label": "a"}]', False),
        ('[{"box": [1, 2, 3, 4], "label": "a"}, {"box": [1', False),
    ):
        reading = read_boxes(text, notation="wade", size=SIZE)
        assert reading.value is not None
        assert (strict(reading).value is not None) == stands, text


def test_pixels_of_the_input_need_its_size() -> None:
    with pytest.raises(SpecError, match="input size"):
        read_boxes('[{"bbox_2d": [1, 2, 3, 4], "label": "a"}]', notation="qwen2.5-vl", size=SIZE)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"qwen3-vl"):
        read_boxes("[]", notation="qwen4", size=SIZE)
    with pytest.raises(SpecError, match="brackets"):
        read_boxes("[]", notation="wade", size=SIZE, format="yaml")
    with pytest.raises(SpecError, match="at least 1 px"):
        read_boxes("[]", notation="wade", size=(0, 4))


@pytest.mark.parametrize("name", ["Qwen3-VL", "qwen3_vl", "QWEN3 VL", "PaliGemma2", "gemma 4", "InternVL2.5"])
def test_notations_are_found_in_other_spellings(name: str) -> None:
    assert named(name).name in NOTATIONS


def test_points_and_boxes_of_one_reply_are_told_apart() -> None:
    text = '[{"point_2d": [10, 20], "label": "a"}, {"bbox_2d": [1, 2, 3, 4], "label": "b"}]'
    both = read_reply(text, notation="qwen3-vl", size=SIZE)
    assert both.boxes.value is not None
    assert both.points.value is not None
    assert both.boxes.value.labels == ("b",)
    np.testing.assert_allclose(both.points.value.points, [[10, 10]])


def test_geminis_older_keys_count_in_0_to_1_and_the_box_key_goes_first() -> None:
    old = '{"x_min": 0.1, "y_min": 0.2, "x_max": 0.3, "y_max": 0.4'
    for text, box in (
        (f'[{old}, "label": "a"}}]', [100, 100, 300, 200]),
        (f'[{old}, "box_2d": [0, 0, 1000, 1000], "label": "a"}}]', [0, 0, 1000, 500]),
    ):
        value = read_boxes(text, notation="gemini", size=SIZE).value
        assert value is not None
        np.testing.assert_allclose(value.boxes, [box])


def test_boxes_over_the_edge_are_clipped_where_the_familys_readers_clip() -> None:
    text = '[{"bbox": [-100, 0, 1100, 400], "label": "a"}]'
    for notation, box in (("gpt", [0, 0, 1000, 400]), ("pixels", [-100, 0, 1100, 400])):
        value = read_boxes(text, notation=notation, size=SIZE, input_size=SIZE).value
        assert value is not None
        np.testing.assert_allclose(value.boxes, [box])
    away = read_boxes('[{"bbox": [1100, 0, 1200, 400], "label": "a"}]', notation="gpt", size=SIZE, input_size=SIZE)
    assert away.value is not None
    assert (len(away.value), away.unread) == (0, 1)


def test_florences_tasks_are_read_from_their_dictionaries() -> None:
    for text, labels, boxes in (
        ("{'<OD>': {'bboxes': [], 'labels': []}}", (), np.zeros((0, 4))),
        ("{'<REGION_PROPOSAL>': {'bboxes': [[4, 4, 6, 6]], 'labels': ['']}}", ("",), [[4, 4, 6, 6]]),
        ("{'<OCR_WITH_REGION>': {'quad_boxes': [[2, 2, 6, 4, 5, 6, 1, 5]], 'labels': ['x']}}", ("x",), [[1, 2, 6, 6]]),
        ("{'<R>': {'polygons': [[[1, 1, 2, 1, 2, 2, 1, 2]]], 'labels': ['']}}", ("",), [[1, 1, 2, 2]]),
        ("{'<V>': {'bboxes': [[4, 4, 6, 6]], 'bboxes_labels': ['cat'], 'polygon': []}}", ("cat",), [[4, 4, 6, 6]]),
        (
            '{"<REGION_TO_CATEGORY>": "a car<loc_300><loc_400><loc_500><loc_600>"}',
            ("a car",),
            [[300.5, 200.25, 500.5, 300.25]],
        ),
    ):
        value = read_boxes(text, notation="florence-2", size=SIZE).value
        assert value is not None, text
        assert value.labels == labels
        np.testing.assert_allclose(value.boxes, boxes)


def test_molmos_frames_are_parted_by_semicolons_tabs_or_colons() -> None:
    for coords in (
        "1 1 100 200 2 300 400",
        "1 1 100 200;2 1 300 400",
        "0: 1 100 200; 1: 1 300 400",
        "1\t1 100 200\t2 1 300 400",
    ):
        value = read_points(f'<points coords="{coords}">a boat</points>', notation="molmo2", size=SIZE).value
        assert value is not None, coords
        assert value.labels == ("a boat", "a boat")
        np.testing.assert_allclose(value.points, [[100, 100], [300, 200]])


def test_gemini_points_are_y_first() -> None:
    value = read_points('[{"point": [100, 900], "label": "a"}]', notation="gemini-points", size=SIZE).value
    assert value is not None
    np.testing.assert_allclose(value.points, [[900, 50]])
