# ruff: noqa: E501
"""More odd replies, in the notation of their families: what is read, what is counted, and what must not become a box."""

from __future__ import annotations

import json

import numpy as np
import pytest

from snellen.parsing.boxes import read_boxes, read_reply
from snellen.parsing.choice import read_choice

SIZE = (1000, 1000)
A = '{"label": "a", "box": [1, 2, 3, 4]}'
PACKED = json.dumps([{"label": "a", "bbox_2d": [1, 2, 3, 4]}, {"label": "b", "bbox_2d": [5, 6, 7, 8]}])

READ = [
    # name, notation, text, boxes in px of a picture of 1000 x 1000, items that cannot be read
    ("escaped pairs are one sign", "wade", '[{"label": "\\ud83c\\udf7e", "box": [1, 2, 3, 4]}]', [("🍾", [2, 1, 4, 3])], 0),
    ("half a pair is no sign", "wade", '[{"label": "a\\ud83c", "box": [1, 2, 3, 4]}]', [("a\ufffd", [2, 1, 4, 3])], 0),
    ("an unescaped quote before a comma", "wade", '[{"label": "bottle "PET", clear", "box": [1, 2, 3, 4]}]', [('bottle "PET", clear', [2, 1, 4, 3])], 0),
    ("per cent is no thousandth", "wade", f'[{A}, {{"label": "b", "box": [10%, 20%, 30%, 40%]}}]', [("a", [2, 1, 4, 3])], 1),
    ("ranges are no numbers", "wade", f'[{A}, {{"label": "b", "box": [10-30, 20-40]}}]', [("a", [2, 1, 4, 3])], 1),
    ("a typographic minus", "wade", '[{"label": "a", "box": [−5, 20, 30, 40]}]', [("a", [20, -5, 40, 30])], 0),
    ("corners under keys of their own", "wade", '[{"label": "a", "top_left": [1, 2], "bottom_right": [3, 4]}]', [("a", [2, 1, 4, 3])], 0),
    ("corners as objects", "wade", '[{"label": "a", "box": {"top_left": {"x": 2, "y": 1}, "bottom_right": {"x": 4, "y": 3}}}]', [("a", [2, 1, 4, 3])], 0),
    ("an entry with a chain and no box counts", "wade", f'[{A}, {{"label": "b", "reasoning": {{"cue": "x"}}}}]', [("a", [2, 1, 4, 3])], 1),
    ("a group of entries is none itself", "wade", f'[{A}, {{"label": "b", "items": [{{"box": [5, 6, 7, 8]}}]}}]', [("a", [2, 1, 4, 3]), ("b", [6, 5, 8, 7])], 0),
    ("a number among entries counts", "wade", f"[5, {A}]", [("a", [2, 1, 4, 3])], 1),
    ("a fence that closes inside an entry", "wade", f'```json\n[{A}, {{"label": "b", "box": [1, 2,\n```', [("a", [2, 1, 4, 3])], 1),
    ("a fence that closes before the list does", "wade", f"```json\n[{A}\n```", [("a", [2, 1, 4, 3])], 0),
    ("sides under other names", "qwen3-vl", '[{"label": "a", "bbox": {"min_x": 1, "min_y": 2, "max_x": 3, "max_y": 4}}]', [("a", [1, 2, 3, 4])], 0),
    ("vertices", "qwen3-vl", '[{"name": "a", "boundingPoly": {"vertices": [{"x": 1, "y": 2}, {"x": 3, "y": 2}, {"x": 3, "y": 4}]}}]', [("a", [1, 2, 3, 4])], 0),
    ("a guess is no number", "wade", f'[{A}, {{"label": "b", "box": [~1, ~2, ~3, ~4]}}]', [("a", [2, 1, 4, 3])], 1),
    ("a Chinese sentence is no name", "qwen3-vl", "猫位于[1, 2, 3, 4]。", [("", [1, 2, 3, 4])], 0),
    ("a revised object", "wade", f'{{"instances": [{A}]}}\nRevised:\n{{"instances": [{{"label": "a", "box": [5, 6, 7, 8]}}]}}', [("a", [6, 5, 8, 7])], 0),
    ("nothing, in the end", "wade", f"[{A}]\nFinal answer: []", [], 0),
    ("an empty list of something else", "wade", f'{{"instances": [{A}], "results": []}}', [("a", [2, 1, 4, 3])], 0),
    ("a closing sign ends the last line", "gpt", "The box: (x1: 10, y1: 20, x2: 30, y2: 40)", [("The box", [10, 20, 30, 40])], 0),
    ("labels beside polygons", "florence-2", "{'<S>': {'polygons': [[[1, 1, 9, 1, 9, 9, 1, 9]]], 'labels': ['x']}}", [("x", [1, 1, 9, 9])], 0),
    ("prose above tokens", "florence-2", "Here it is:\ncar<loc_0><loc_0><loc_9><loc_9>", [("car", [0.5, 0.5, 9.5, 9.5])], 0),
    ("entries under labels", "qwen3-vl", f'{{"labels": {PACKED}}}', [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], 0),
    ("one entry under boxes", "qwen3-vl", '{"boxes": {"label": "a", "bbox_2d": [1, 2, 3, 4]}}', [("a", [1, 2, 3, 4])], 0),
    ("a rare key of labels", "qwen3-vl", '[{"entity": "a", "bbox_2d": [1, 2, 3, 4]}]', [("a", [1, 2, 3, 4])], 0),
    ("equals signs", "qwen3-vl", '[{"bbox_2d" = [1, 2, 3, 4], "label" = "a"}]', [("a", [1, 2, 3, 4])], 0),
    ("backticks", "qwen3-vl", "[{`bbox_2d`: [1, 2, 3, 4], `label`: `a`}]", [("a", [1, 2, 3, 4])], 0),
    ("a list in a string", "qwen3-vl", json.dumps({"detections": PACKED}), [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], 0),
    ("objects in strings", "qwen3-vl", json.dumps([json.dumps(each) for each in json.loads(PACKED)]), [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], 0),
    ("a server's envelope", "qwen3-vl", json.dumps({"choices": [{"message": {"content": f"```json\n{PACKED}\n```"}}]}), [("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])], 0),
    ("YAML, the box first", "qwen3-vl", "- bbox_2d: [1, 2, 3, 4]\n  label: red car\n- bbox_2d: [5, 6, 7, 8]\n  label: dog\n", [("red car", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], 0),
    ("fields, the box first", "qwen3-vl", "Box: [1, 2, 3, 4]\nLabel: cat\n\nBox: [5, 6, 7, 8]\nLabel: dog", [("cat", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], 0),
    ("a table that numbers its rows", "qwen3-vl", "| # | label | x1 | y1 | x2 | y2 |\n|---|---|---|---|---|---|\n| 1 | cat | 1 | 2 | 3 | 4 |\n", [("cat", [1, 2, 3, 4])], 0),
    ("a number in a name", "unit", "class 0: 0.1 0.2 0.3 0.4\n", [("class 0", [100, 200, 300, 400])], 0),
    ("`and` is no name", "llava", "[0.1, 0.2, 0.3, 0.4] and [0.5, 0.5, 0.6, 0.6]", [("", [100, 200, 300, 400]), ("", [500, 500, 600, 600])], 0),
    ("Seed's tags", "seed-vl", "cat <bbox>1 2 3 4</bbox>, dog <bbox>5 6 7 8</bbox>", [("cat", [1, 2, 3, 4]), ("dog", [5, 6, 7, 8])], 0),
    ("Seed's tags in JSON", "seed-vl", '[{"category": "a", "bbox": "<bbox>1 2 3 4</bbox>"}]', [("a", [1, 2, 3, 4])], 0),
    ("box tags in JSON", "qwen3-vl", '[{"label": "a", "bbox_2d": "<box>1 2 3 4</box>"}]', [("a", [1, 2, 3, 4])], 0),
    ("other tags of reasoning", "qwen3-vl", '<scratchpad>[{"label": "z", "bbox_2d": [9, 9, 10, 10]}]</scratchpad>[{"label": "a", "bbox_2d": [1, 2, 3, 4]}]', [("a", [1, 2, 3, 4])], 0),
    ("an empty list as the tagged answer", "qwen3-vl", 'at first [{"label": "z", "bbox_2d": [9, 9, 10, 10]}] <answer>[]</answer>', [], 0),
    ("thousandths that happen to be small", "wade", '[{"label": "a", "box": [0, 0, 1, 1]}]', [("a", [0, 0, 1, 1])], 0),
    ("a bin that does not exist", "florence-2", "car<loc_52><loc_332><loc_932><loc_774>door<loc_1><loc_2><loc_1932><loc_9>", [("car", [52.5, 332.5, 932.5, 774.5])], 1),
    ("nothing, in other words", "qwen3-vl", "The image does not contain any cats.", [], 0),
    ("nothing, in Chinese", "qwen3-vl", "图中没有猫。", [], 0),
]  # fmt: skip

NOT_READ = [
    # name, notation, text, status
    ("a centre and a size are no corners", "qwen3-vl", '[{"label": "a", "box": {"center": [50, 50], "size": [20, 20]}}]', "malformed"),
    ("1.0 is a part of 1", "wade", '[{"label": "a", "box": [0.0, 0.0, 1.0, 1.0]}]', "malformed"),
    ("parts of 1 that reach over the edge", "wade", '[{"label": "a", "box": [-0.02, 0.55, 0.48, 1.02]}]', "malformed"),
    ("whole ones beside parts of 1", "wade", '[{"label": "a", "box": [0.1, 0.2, 0.3, 0.4]}, {"label": "b", "box": [0, 0, 1, 1]}]', "malformed"),
    ("boxes without a label, where labels are prescribed", "wade", "[[1, 2, 3, 4]]", "malformed"),
    ("a backslash inside a number of packed JSON", "coco", r'"[{\"bbox_2d\": [10, 2\0, 30, 40], \"label\": \"cat\"}]"', "truncated"),
    ("per cent in brackets", "qwen3-vl", "cat: [10%, 20%, 30%, 40%]", "malformed"),
    ("nothing of one, something of another", "qwen3-vl", "There are no dogs, but I see two cats.", "malformed"),
    ("a stray bracket in a line", "deepseek-vl2", "[580, 270, 999, [904]\n", "truncated"),
    ("five numbers in brackets", "glm-4.5v", "[1, 2, 3, 4, 5]\n", "malformed"),
    ("four numbers where points are asked for", "points", "[1, 2, 3, 4]\n", "malformed"),
    ("prose below tokens is no label", "paligemma", "<loc0001><loc0001><loc0009><loc0009>\n\nThat is all.", "malformed"),
    ("a time", "coco", "12:30:45 10.5\n", "malformed"),
    ("numbers in other groups than four", "qwen3-vl", "cat: [[580, 270], 999, 904]\n", "malformed"),
    ("a refusal that cites policy", "wade", "My apologies, but this request violates the content policy.", "refused"),
    ("a refusal in German", "wade", "Es tut mir leid, dabei kann ich nicht helfen.", "refused"),
    ("a refusal in Chinese", "wade", "对不起，我无法处理该图片。", "refused"),
    ("Seed's tag, cut", "seed-vl", "<bbox>1 2 3", "truncated"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("notation", "text", "boxes", "unread"), [row[1:] for row in READ], ids=[row[0] for row in READ]
)
def test_a_reply_is_read(notation: str, text: str, boxes: list, unread: int) -> None:
    reading = read_boxes(text, notation=notation, size=SIZE, input_size=SIZE)
    assert reading.value is not None, reading
    assert list(reading.value.labels) == [label for label, _ in boxes]
    np.testing.assert_allclose(reading.value.boxes, np.array([b for _, b in boxes]).reshape(-1, 4))
    assert (reading.status, reading.unread) == ("ok", unread)
    json.dumps(list(reading.value.labels), ensure_ascii=False).encode()  # every label is text that can be written


@pytest.mark.parametrize(
    ("notation", "text", "status"), [row[1:] for row in NOT_READ], ids=[row[0] for row in NOT_READ]
)
def test_nothing_is_read_and_it_is_said_why(notation: str, text: str, status: str) -> None:
    reading = read_reply(text, notation=notation, size=SIZE)
    assert reading.boxes.value is None
    assert reading.boxes.status == status
    assert reading.boxes.reason


def test_a_cut_tag_keeps_the_complete_boxes() -> None:
    reading = read_boxes("<bbox>1 2 3 4</bbox> <bbox>5 6 7 8</bb", notation="seed-vl", size=SIZE)
    assert reading.value is not None
    assert (reading.status, reading.value.boxes.tolist()) == ("truncated", [[1, 2, 3, 4]])


def test_keys_that_name_their_axis_go_before_the_order_of_the_notation() -> None:
    text = '[{"point": {"x": 200, "y": 100}, "label": "a"}, {"point": [100, 200], "label": "a"}]'
    points = read_reply(text, notation="gemini-points", size=SIZE).points.value
    assert points is not None
    np.testing.assert_allclose(points.points, [[200, 100], [200, 100]])


def test_a_list_per_class_of_which_the_last_is_cut_keeps_the_first_unless_that_was_a_draft() -> None:
    first = '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]\n```\n'
    cut = '```json\n[{"bbox_2d": [5, 6, 7'
    more = read_boxes(f"{first}Dogs:\n{cut}", notation="qwen3-vl", size=SIZE)
    assert more.value is not None
    assert (more.status, more.value.labels) == ("truncated", ("cat",))
    assert read_boxes(f"{first}Final answer:\n{cut}", notation="qwen3-vl", size=SIZE).value is None


def test_a_label_that_the_reply_ends_with_may_be_cut_where_the_reply_was() -> None:
    text = "<loc0256><loc0256><loc0768><loc0768> cat ; <loc0000><loc0000><loc0512><loc0512> do"
    cut = read_boxes(text, notation="paligemma", size=SIZE, finish="length")
    assert cut.value is not None
    assert (cut.status, cut.value.labels) == ("truncated", ("cat",))
    for finish in (None, "stop"):
        assert len(read_boxes(text, notation="paligemma", size=SIZE, finish=finish).value or ()) == 2


def test_the_name_of_an_action_is_no_label() -> None:
    points = read_reply(
        "Action: click(start_box='(100,200)", notation="ui-tars", size=SIZE, input_size=SIZE
    ).points.value
    assert points is None or set(points.labels) <= {""}


def test_empty_lists_for_the_classes_asked_for_say_nothing_is_there() -> None:
    text = '{"Foam Waste": [], "polythene": []}'
    asked = read_boxes(text, notation="wade", size=SIZE, classes=("foam waste", "polythene", "fabric waste"))
    assert asked.value is not None
    assert len(asked.value) == 0
    assert read_boxes(text, notation="wade", size=SIZE).value is None


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("non-glossy", ("matte", "glossy"), None),
        ("It cannot be A or C; D is right.", ("A", "B", "C", "D"), "D"),
        ("The answer cannot be B. It must be C.", ("A", "B", "C", "D"), "C"),
        ("Answer: A, not B", ("A", "B", "C", "D"), "A"),
        ("Answer: B or C", ("A", "B", "C", "D"), None),
        ("选B", ("A", "B", "C", "D"), "B"),
        ("答案选C", ("A", "B", "C", "D"), "C"),
    ],
)
def test_a_closed_answer_means_what_it_says(text: str, options: tuple[str, ...], value: str | None) -> None:
    assert read_choice(text, options).value == value
