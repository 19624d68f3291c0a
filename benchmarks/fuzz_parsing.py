# ruff: noqa: E501
"""Mangled replies: no crash, no box that is not in the text, no cut number, time linear in the length.

    python benchmarks/fuzz_parsing.py --replies 1000000 --seed 1

Replies of every notation and form, and odd ones by hand, are cut, spliced, doubled, looped and sprinkled with signs;
each is read under a notation drawn at random. The check looks up every number of every box in the text.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from snellen.core.detections import Detections
from snellen.parsing.boxes import read_items, read_reply, write_boxes
from snellen.parsing.choice import read_choice
from snellen.parsing.formats.table import FORMATS
from snellen.parsing.notations import NOTATIONS
from snellen.parsing.scanner import NUMBER
from snellen.parsing.wrapping import final_part, grounded_answer, without_chat_tokens

SIZE = (640, 480)
SIGNS = [
    *'[]{}(),:;"\'`<>|/\\#*.-+ \n\t0123456789eE', "```", "```json\n", "<think>", "</think>", "null", "NaN", "Infinity",
    "true", "［", "】", "，", "：", "“", "”", "<|im_end|>", "</s>", "<box>", "</box>", "<ref>", "</ref>", "<|det|>",
    "<loc0512>", "<loc_5", "<points ", "bbox_2d", "label", "1e400", "-0", "007", "\ufeff", "猫", "/*", "*/", "//",
]  # fmt: skip
BY_HAND = [
    '```json\n[{"box": [412, 233, 468, 301], "label": "plastic bottle", "reasoning": {"primary_cue": "a \\"neck\\""}}]\n```',
    "{'<OD>': {'bboxes': [[34.2, 160.1, 597.4, 371.8], [1.5, 2.5, 3.5, 4.5]], 'labels': ['car', 'the cat's']}}",
    '{"objects": [{"x_min": 0.1, "y_min": 0.2, "x_max": 0.5, "y_max": 0.9}]}',
    '[{"label": "a", "box": [[10, 20], [10, 40], [30, 40], [30, 20]]}, {"label": "b", "box": "[1, 2, 3, 4]"}]',
    "Draft: [[1, 1, 2, 2]]\nThe cat is at [10, 20, 300, 400]; the dog at (5,6),(70,80).",
    '{"cat": [[1, 2, 3, 4], [5, 6, 7, 8]], "dog": {"left": 1, "top": 2, "width": 3, "height": 4}}',
    "<points 13.5\t1 44.4 69.9/> and click(start_box='(178,92)')",
    "- red car: 10, 20, 30, 40\n- dog - (1, 2, 3, 4)\n0 0.5 0.5 0.25 0.125 0.9\n",
    "- label: red car\n  bbox_2d: [10, 20, 30, 40]\ncat: x1=1, y1=2, x2=3, y2=4\n| dog | 5 | 6 | 70 | 80 |\n",
    '[["cat", 10, 20, 30, 40], ["dog", [1, 2, 3, 4]]] a[[001,002,003,004;005,006,007,008]]',
    '"[{\\"bbox_2d\\": [10, 20, 30, 40], \\"label\\": \\"cat\\"}]"',
    "There are none. I'm sorry, I can't see any.",
    "答案是：［｛“bbox_2d”：［１，２，３，４］，“label”：“猫”｝］",
]
LOOPS = [
    "[", "{", "(1", '{"a":', '"', "'", "[1,2,3,4],", '{"bbox_2d":[1,2,3,4],"label":"a"},', "```", "/*", "//", "<points ",
    "\\", "1,2,3,4\n", "<think>", "<loc0001>", "<loc_1>", "<ref>a</ref>", "<box>[[1,2,3,4]]", "<|det|>[[1,", "no no ",
    "a: [1, 2, 3, 4] ", "9", " ", "}", "]", '"a" ', "「", "<", "there is no ", "[[1,2],[3,4]],", '{"bbox_2d":[1,2,3,4],',
    "bbox_2d label ", "“", "<patch_index_0001>", '<points x1="1" y1="2" ', "word ", '"label": "a}, {', "(1,2),(3,4)",
]  # fmt: skip


def seeds(rng: random.Random) -> list[str]:
    """Well-formed replies of every notation and form, and those by hand."""
    texts = list(BY_HAND)
    for name, known in NOTATIONS.items():
        for form in known.formats:
            for count in (1, 3):
                low = np.array([[rng.uniform(0, 500), rng.uniform(0, 400)] for _ in range(count)])
                boxes = np.concatenate([low, low + np.array([[rng.uniform(5, 99), rng.uniform(5, 79)]])], axis=1)
                found = Detections(boxes, tuple(rng.choice(["cat", "red car"]) for _ in range(count)))
                texts.append(write_boxes(found, notation=name, size=SIZE, input_size=SIZE, format=form))
    return texts


def mangled(texts: list[str], rng: random.Random) -> str:
    """One reply, changed in one to six places."""
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 6)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + text[min(to, at + rng.randint(1, 12)) :]
        elif kind == 2:
            text = text[:to] + text[at:to] * rng.randint(1, 3) + text[to:]
        elif kind in {3, 4}:
            text = text[:at] + rng.choice(SIGNS) + text[at + rng.randint(0, 1) :]
        elif kind == 5:
            text = text[:at] + rng.choice(texts)[rng.randint(0, 30) :] + text[to:]
        else:
            text = "".join(rng.choice(["", " ", "\n", "Sure: ", "<think>hm</think>"])) + text
        text = text[:4000]
    return text


def numbers_in(text: str) -> set[float]:
    """Every number of the text, as written and as bin or patch centre; not one that the text's end may cut."""
    answer = grounded_answer(final_part(without_chat_tokens(text))[0])
    found: set[float] = set()
    for match in NUMBER.finditer(answer):
        if match.end() < len(answer):
            found.add(float(match[0]))
    for token in re.findall(r"<loc_(\d+)>", answer):
        found.add(int(token) + 0.5)
    for token in re.findall(r"<patch_index_(\d+)>", answer):
        found |= {int(token) % 32 + 0.5, int(token) // 32 + 0.5}
    return found


def check(text: str, notation: str, form: str) -> str:
    """Reads the reply in every way; AssertionError where a law is broken. Returns the status."""
    reading = read_reply(text, notation=notation, size=SIZE, input_size=SIZE, format=form)
    boxes, points = reading.boxes, reading.points
    assert boxes.status in {"ok", "malformed", "refused", "truncated"}
    assert boxes.unread >= 0
    assert boxes.status == "ok" or boxes.reason, "a failure says what was wrong"
    assert boxes.value is not None or boxes.status != "ok"
    if boxes.value is not None and len(boxes.value):
        assert np.isfinite(boxes.value.boxes).all()
        sides = boxes.value.boxes[:, 2:] - boxes.value.boxes[:, :2]
        assert (sides > 0).all()
    count = sum(0 if value is None else len(value) for value in (boxes.value, points.value))
    if count:
        items = [i for i in read_items(text, notation=notation, format=form) if i.numbers is not None]
        assert len(items) >= count, "more boxes than items"
        there = numbers_in(text)
        for item in items:
            assert set(item.numbers or ()) <= there, f"numbers that are not in the text: {item.numbers}"
    return boxes.status


def fuzz(replies: int, seed: int) -> Counter[str]:
    """Statuses of `replies` mangled replies; AssertionError with the reply where a law is broken."""
    rng = random.Random(seed)
    texts = seeds(rng)
    names, forms = list(NOTATIONS), ["auto"] * 12 + list(FORMATS)
    statuses: Counter[str] = Counter()
    options = ("red", "blue", "top left", "6")
    for i in range(replies):
        text, notation, form = mangled(texts, rng), rng.choice(names), rng.choice(forms)
        try:
            statuses[check(text, notation, form)] += 1
            value = read_choice(text, options if i % 2 else "ABCD").value
            assert value is None or value in options or value in "ABCD"
        except Exception as error:
            error.add_note(f"reply {i} of seed {seed}, notation {notation}, format {form}: {text!r}")
            raise
    return statuses


def slowness(
    length: int = 100_000, notations: tuple[str, ...] = ("qwen3-vl", "florence-2", "paligemma", "molmo2")
) -> Iterator[tuple[str, float, float]]:
    """For each loop: seconds for a text of `length`, and how much longer that is than for half of it."""
    for loop in LOOPS:
        half, whole = (_timed((loop * (size // len(loop) + 1))[:size], notations) for size in (length // 2, length))
        yield loop, whole, whole / max(half, 1e-4)


def _timed(text: str, notations: tuple[str, ...]) -> float:
    start = time.process_time()
    for notation in notations:
        read_reply(text, notation=notation, size=SIZE, input_size=SIZE)
    read_choice(text, ("red", "blue", "top left"))
    read_choice(text, "ABCD")
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--replies", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    statuses = fuzz(arguments.replies, arguments.seed)
    spent = time.perf_counter() - start
    print(
        f"{arguments.replies:,} replies in {spent:.0f} s ({spent / arguments.replies * 1e6:.0f} us each): {dict(statuses)}"
    )
    for loop, seconds, ratio in slowness():
        print(f"{seconds:7.3f} s for 100 kB, {ratio:4.1f} x half of it: {loop!r}")


if __name__ == "__main__":
    main()
