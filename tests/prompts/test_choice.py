from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.errors import SpecError
from snellen.core.stages import Choice, Sample
from snellen.prompts.choice import closed_prompt, option_orders

options = st.integers(2, 6).map(lambda k: tuple("abcdef"[:k]))


@st.composite
def exams(draw: st.DrawFn) -> tuple[list[str], tuple[str, ...], str]:
    offered = draw(options)
    targets = draw(st.lists(st.sampled_from(offered), min_size=1, max_size=300))
    return targets, offered, draw(st.text(max_size=4))


@settings(max_examples=80, deadline=None)
@given(exams())
def test_orders_or_places_differ_by_one_at_most_within_labels_and_over_all(
    exam: tuple[list[str], tuple[str, ...], str],
) -> None:
    targets, offered, seed = exam
    orders = option_orders(targets, offered, seed=seed)
    assert all(sorted(order) == sorted(offered) for order in orders)
    whole = math.factorial(len(offered)) <= len(targets)
    kinds = math.factorial(len(offered)) if whole else len(offered)
    marks = [order if whole else order.index(target) for order, target in zip(orders, targets, strict=True)]
    for label in {None, *targets}:
        counts = Counter(mark for mark, target in zip(marks, targets, strict=True) if label in (None, target))
        assert max(counts.values()) - (min(counts.values()) if len(counts) == kinds else 0) <= 1


def test_the_same_seed_gives_the_same_orders_and_another_seed_others() -> None:
    targets = list("abc") * 20
    first = option_orders(targets, tuple("abc"), seed="1")
    assert first == option_orders(targets, tuple("abc"), seed="1")
    assert first != option_orders(targets, tuple("abc"), seed="2")


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        ("Answer with as few words as possible.", "Answer with as few words as possible. Where? Choose from [b, a]."),
        ("", "Where? Choose from [b, a]."),
    ],
)
def test_a_prompt_reads_like_the_paper(instruction: str, text: str) -> None:
    prompt = closed_prompt(Sample("s", Choice("a", ("b", "a"))), "Where?", instruction=instruction)
    assert prompt.text == text
    assert (prompt.wants, prompt.labels) == ("choice", ("b", "a"))


def test_options_may_have_letters_while_the_alphabet_lasts() -> None:
    prompt = closed_prompt(Sample("s", Choice("a", ("b", "a"))), "Where?", instruction="", lettered=True)
    assert prompt.text == "Where? Choose from [A. b, B. a]."
    assert prompt.labels == ("b", "a")
    many = tuple(str(i) for i in range(27))
    with pytest.raises(SpecError, match="at most 26 options have letters, got 27"):
        closed_prompt(Sample("s", Choice("1", many)), "Where?", lettered=True)
