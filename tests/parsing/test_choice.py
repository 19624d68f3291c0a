"""Which option a reply means: the table of odd replies, and the laws."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import SpecError
from snellen.parsing.choice import read_choice

COLOURS = ("red", "green", "blue", "cyan", "magenta", "yellow")
PLACES = ("top left", "top center", "top right", "center left", "center", "center right")
RELATIONS = ("above left", "directly above", "above right", "directly left", "below left", "below right")
COUNTS = ("2", "3", "4", "5", "6", "7", "8", "9")

TABLE = [
    ("exact", "red", COLOURS, "red"),
    ("case and full stop", " Red. ", COLOURS, "red"),
    ("quotes", "'red'", COLOURS, "red"),
    ("bold", "**red**", COLOURS, "red"),
    ("JSON", '{"answer": "red"}', COLOURS, "red"),
    ("hyphen", "Top-Left", PLACES, "top left"),
    ("underscore", "top_left", PLACES, "top left"),
    ("British spelling", "the Centre", PLACES, "center"),
    ("in a sentence", "The star is in the top left corner.", PLACES, "top left"),
    ("longest first with masking", "It is center left", PLACES, "center left"),
    ("turned words", "left center", PLACES, "center left"),
    ("alias of the release", "bottom left", RELATIONS, "below left"),
    ("an alias that is an option stays itself", "bottom left", ("bottom left", "below left"), "bottom left"),
    ("word boundary", "blueish", COLOURS, None),
    ("misspelt", "matt", ("matte", "glossy"), None),
    ("not offered", "purple", COLOURS, None),
    ("empty", "  ", COLOURS, None),
    ("two", "red and blue", COLOURS, None),
    ("the same twice", "red, it is red", COLOURS, "red"),
    ("overlapping places", "top left center", ("top left", "left center"), None),
    ("negated, then said", "It is not red. It is blue.", COLOURS, "blue"),
    ("negated with a contraction", "It isn't red, it's blue", COLOURS, "blue"),
    ("curly apostrophe", "It isn’t red, it’s blue", COLOURS, "blue"),
    ("negated pair", "neither red nor blue: green", COLOURS, "green"),
    ("only negated", "It is not red.", COLOURS, None),
    ("negator of another sentence", "Not sure. Red.", COLOURS, "red"),
    ("no, then the answer", "No, red.", COLOURS, "red"),
    ("no is an option", "No, it is not.", ("yes", "no"), "no"),
    ("declared among several", "Red or blue? The answer is blue.", COLOURS, "blue"),
    ("prompt repeated", "Choose from [red, green, blue, cyan, magenta, yellow]. Cyan", COLOURS, "cyan"),
    ("reasoning", "<think>red? no</think>blue", COLOURS, "blue"),
    ("reasoning without an opening tag", "red? no</think>\nblue", COLOURS, "blue"),
    ("reasoning that never ends", "<think>it is red", COLOURS, None),
    ("answer box", "red or <|begin_of_box|>blue<|end_of_box|>", COLOURS, "blue"),
    ("boxed", r"red or \boxed{blue}", COLOURS, "blue"),
    ("end token", "blue<|im_end|>", COLOURS, "blue"),
    ("full-width letters", "ｒｅｄ！", COLOURS, "red"),
    ("Chinese sentence around it", "答案是red。", COLOURS, "red"),
    ("Chinese options", "它是红色的。", ("红色", "蓝色"), "红色"),
    ("Chinese quotes", "「蓝色」", ("红色", "蓝色"), "蓝色"),
    ("Spanish marks", "¡rojo!", ("rojo", "azul"), "rojo"),
    ("Hindi", "यह लाल है।", ("लाल", "नीला"), "लाल"),
    ("number word", "There are six stars", COUNTS, "6"),
    ("compound number word", "twenty-one", ("1", "20", "21"), "21"),
    ("number for a word option", "6", ("five", "six"), "six"),
    ("digits before number words", "the one on the left: 5", ("1", "5"), "5"),
    ("two numbers", "6, 3", COUNTS, None),
    ("part of a larger number", "16", COUNTS, None),
    ("part of a decimal", "6.5", COUNTS, None),
    ("decimals are options", "It is 6.5 cm", ("6", "6.5"), "6.5"),
    ("an option that is an article", "the", ("the", "a thing"), "the"),
    ("a symbol", "+", ("+", "-"), "+"),
]

LETTERS = [
    ("The correct answer is (B).", "B"),
    ("Based on the picture, C.", "C"),
    ("Answer: **D**", "D"),
    ("A dog is shown; answer is B", "B"),
    ("(A) or (B)? I pick (B)", "B"),
    ("b", "B"),
    ("(b)", "B"),
    ("Option C", "C"),
    ("C. the red one", "C"),
    ("none of these", None),
    ("AB", None),
    ("A or B", None),
    ("A dog.", None),
    ("the answer is a dog", None),
    ("The answer is A as shown.", "A"),
    ("Answer: A dog is shown", None),
    ("The answer is not A, it's C", "C"),
    ("答案：B", "B"),
    ("答案是 C。", "C"),
    ("Option A is wrong. Option B.", "B"),
    ("Not A but B", "B"),
    ("I think it is C", "C"),
    ("Ｂ", "B"),
    ("I considered (A), but it is incorrect. Final answer: D.", "D"),
    ("The answer is A. No wait, the answer is C.", "C"),
]


@pytest.mark.parametrize(("text", "options", "value"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_reply_means_the_one_option_it_names(text: str, options: tuple[str, ...], value: str | None) -> None:
    reading = read_choice(text, options)
    assert reading.value == value
    assert (reading.status == "ok") == (value is not None)


@pytest.mark.parametrize(("text", "value"), LETTERS)
def test_letters_follow_the_last_declaration_and_the_article_is_no_option(text: str, value: str | None) -> None:
    assert read_choice(text, ("A", "B", "C", "D")).value == value


@pytest.mark.parametrize(
    ("text", "value"), [("B", "blue"), ("B. blue", "blue"), ("blue", "blue"), ("(A) blue", None), ("E", None)]
)
def test_lettered_options_are_read_by_letter_or_words_and_not_when_they_disagree(text: str, value: str | None) -> None:
    assert read_choice(text, ("red", "blue"), reader="lettered").value == value


def test_options_that_carry_their_letters_are_read_by_letter_or_words() -> None:
    options = ("A. red", "B. blue", "C. a cat")
    for text, value in (
        ("B", "B. blue"),
        ("b) blue", "B. blue"),
        ("It is red.", "A. red"),
        ("The answer is C", "C. a cat"),
    ):
        assert read_choice(text, options).value == value, text
    assert read_choice("A. blue", options).value is None


def test_a_letter_means_nothing_where_options_were_not_lettered() -> None:
    assert read_choice("B", ("red", "blue")).value is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("6, 5", "6"), ("There are 7 mag", "7"), ("12", None), ("six", "6"), ("one of 5", "5"), ("none", None)],
)
def test_the_first_number_is_the_answer_where_the_release_reads_so(text: str, value: str | None) -> None:
    assert read_choice(text, COUNTS, reader="first-number").value == value


def test_reasons_tell_none_from_several_and_refusals_from_both() -> None:
    assert read_choice("purple", COLOURS).reason.startswith("none")
    assert read_choice("red or blue", COLOURS).reason == "several: red, blue"
    assert read_choice("I'm sorry, I cannot see the image.", COLOURS).status == "refused"
    assert read_choice("<think>red", COLOURS).status == "truncated"


def test_options_that_fall_together_are_refused() -> None:
    with pytest.raises(SpecError, match="differ after normalising"):
        read_choice("x", ("top-left", "top left"))


def test_an_unknown_reader_names_the_known_ones() -> None:
    with pytest.raises(SpecError, match="first-number"):
        read_choice("x", ("a", "b"), reader="first-nubmer")


@given(st.sampled_from(COLOURS), st.sampled_from(["{}", "It is {}.", "**{}**", "The {} one", "\n{}\n", "→ {}"]))
def test_every_option_reads_back_in_any_frame(option: str, frame: str) -> None:
    assert read_choice(frame.format(option), COLOURS).value == option


@given(st.text(max_size=200), st.permutations(PLACES))
def test_the_order_of_the_options_does_not_matter(text: str, order: list[str]) -> None:
    assert read_choice(text, order).value == read_choice(text, PLACES).value


@given(st.text(max_size=300))
def test_whatever_comes_the_value_is_an_option_or_none(text: str) -> None:
    for options in (COLOURS, ("A", "B", "C", "D"), COUNTS):
        for reader in ("options", "lettered", "first-number"):
            assert read_choice(text, options, reader=reader).value in {None, *options}


def test_published_counting_answers_read_as_published(shared: Path) -> None:
    files = sorted((shared / "data/dere_vlm_closed_vqa").glob("*/*/results.json.gz"))
    assert files
    answers = {
        (row["original_pred"], str(row["pred"]))
        for file in files
        for scene in json.loads(gzip.decompress(file.read_bytes())).values()
        for entity in scene.values()
        for row in entity.values()
    }
    wrong = [a for a in answers if read_choice(a[0], (), reader="first-number").value != a[1]]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "words"), [("star", 1), ("It is a top-left star.", 6), ("", 0), ("<think>a b</think>c", 5)]
)
def test_the_length_is_that_of_the_whole_reply(text, words):
    assert read_choice(text, ["star", "square"]).words == words
