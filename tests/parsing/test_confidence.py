"""Confidences from token log-probabilities: the tokens of numbers and label count, nothing else."""

from __future__ import annotations

import math

import pytest

from snellen.core.stages import Token
from snellen.parsing.boxes import read_boxes, read_items
from snellen.parsing.confidence import certainty, confidences

SURE, UNSURE, NOISE = math.log(0.9), math.log(0.5), math.log(0.01)


def tokens_of(*pairs):
    return [Token(text, logprob) for text, logprob in pairs]


def box(numbers, label, *, numbers_at, label_at, glue=NOISE):
    """One JSON item, a token per digit."""
    parts = [('{"bbox_2d":[', glue)]
    for i, number in enumerate(numbers):
        parts += [(",", glue)] * (i > 0) + [(digit, numbers_at) for digit in str(number)]
    return [*parts, ('],"label":"', glue), (label, label_at), ('"}', glue)]


FIRST = box((10, 20, 300, 400), "star", numbers_at=SURE, label_at=UNSURE)
SECOND = box((5, 6, 7, 80), "circle", numbers_at=UNSURE, label_at=SURE)
TWO = tokens_of(("[", NOISE), *FIRST, (",", NOISE), *SECOND, ("]", NOISE))


def items_of(tokens):
    return read_items("".join(token.text for token in tokens), notation="qwen3-vl", classes=("star", "circle"))


def mean(*pairs):
    return math.exp(sum(n * p for n, p in pairs) / sum(n for n, _ in pairs))


def test_the_tokens_of_numbers_and_label_decide_and_no_others():
    assert confidences(items_of(TWO), TWO) == pytest.approx(
        [mean((10, SURE), (1, UNSURE)), mean((5, UNSURE), (1, SURE))]
    )


def test_numbers_that_reasoning_mentions_before_the_answer_are_not_the_box():
    thought = tokens_of(("10, 20, 300, 400 star? ", NOISE))
    answer = "".join(token.text for token in TWO)
    found = confidences(items_of(TWO), [*thought, *TWO], answer=answer)
    assert found == confidences(items_of(TWO), TWO)


@pytest.mark.parametrize("answer", ["<bbox>10 20 300 400</bbox>", "<|begin_of_box|>[[10, 20, 300, 400]]<|end_of_box|>"])
def test_reasoning_is_passed_over_where_tags_are_taken_out_of_the_answer(answer):
    tokens = tokens_of(("<think>[10, 20, 300, 400]</think>", NOISE), (answer, SURE))
    text = "".join(token.text for token in tokens)
    found = read_boxes(text, notation="seed-vl", size=(1000, 1000), tokens=tokens).value
    assert found.scores.tolist() == pytest.approx([0.9])


def test_two_equal_boxes_have_each_their_own():
    again = box((10, 20, 300, 400), "star", numbers_at=UNSURE, label_at=UNSURE)
    tokens = tokens_of(("[", 0.0), *FIRST, (",", 0.0), *again, ("]", 0.0))
    first, second = confidences(items_of(tokens), tokens)
    assert first > second
    assert second == pytest.approx(0.5)


def test_a_box_whose_numbers_are_not_in_the_text_has_none():
    assert confidences(items_of(TWO), TWO[:8]) == [None, None]
    assert confidences(items_of(TWO), []) == [None, None]


def test_a_token_that_holds_a_whole_box_counts_once():
    text = '[{"bbox_2d":[10,20,300,400],"label":"star"}]'
    tokens = tokens_of((text, math.log(0.7)))
    assert confidences(items_of(tokens), tokens) == pytest.approx([0.7])


def test_places_in_special_tokens_count_too():
    tokens = tokens_of(*((f"<loc{n:04d}>", SURE) for n in (100, 200, 300, 400)), (" star", UNSURE))
    items = read_items("".join(t.text for t in tokens), notation="paligemma", classes=("star",))
    assert confidences(items, tokens) == pytest.approx([mean((4, SURE), (1, UNSURE))])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("red", 0.5 * 0.9),  # the last place where it stands
        ("Top Left", 0.9 * 0.5),
        ("blue", None),
        (None, None),
    ],
)
def test_a_closed_answer_is_as_sure_as_the_tokens_that_spell_it(answer, expected):
    tokens = tokens_of(
        ("Not red: ", NOISE), ("top", SURE), (" left", UNSURE), (", and it is ", NOISE), ("r", UNSURE), ("ed", SURE)
    )
    assert certainty(answer, tokens) == (expected if expected is None else pytest.approx(expected))
    assert certainty(answer, ()) is None
