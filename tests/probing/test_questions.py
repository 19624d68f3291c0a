"""Simulated answerers of closed questions: what sways them is found, and nothing is found in those that look."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from snellen.core.stages import Key
from snellen.models.fake import FakeModel
from snellen.probing.questions import Asked, Sway, probe_questions, questions

ASKED = {each.key: each for each in questions(24)}


def _draw(key: Key, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, *map(ord, f"{key.sample}{key.call}")])


def _looks(each: Asked, rng: np.random.Generator) -> str:
    """Right nine times of ten, else any option."""
    options = each.sample.truth.options
    return each.sample.truth.target if rng.random() < 0.9 else str(rng.choice(options))


def _first(each: Asked, rng: np.random.Generator) -> str:
    """Names the first option four times of ten."""
    return each.sample.truth.options[0] if rng.random() < 0.4 else each.sample.truth.target


def _longest(each: Asked, rng: np.random.Generator) -> str:
    """Takes what is written at length half of the time."""
    return each.long if each.long and rng.random() < 0.5 else _looks(each, rng)


def _probed(answer: Callable[[Asked, np.random.Generator], str], *, seed: int = 0) -> Sway:
    model = FakeModel(lambda prompt: answer(ASKED[prompt.key], _draw(prompt.key, seed)))
    return probe_questions(model, scenes=24, draws=300)


def test_every_option_stands_once_at_every_place_and_one_is_lengthened() -> None:
    for name in {each.sample.id for each in ASKED.values()}:
        forms = [each for each in ASKED.values() if each.sample.id == name]
        orders = [each.sample.truth.options for each in forms if not each.long]
        assert all(sorted(column) == sorted(orders[0]) for column in zip(*orders, strict=True))
        long = [each for each in forms if each.long]
        assert [each.long == each.sample.truth.target for each in long] == [True, False]
        assert all(f"{each.long} (as it is usually called" in each.prompt.text for each in long)


@pytest.mark.parametrize(
    ("answer", "by_place", "by_length"), [(_first, True, False), (_longest, False, True), (_looks, False, False)]
)
def test_what_sways_an_answerer_is_found(
    answer: Callable[[Asked, np.random.Generator], str], by_place: bool, by_length: bool
) -> None:
    found = _probed(answer)
    assert (found.by_place, found.by_length) == (by_place, by_length)
    words = " ".join(found.sentences())
    assert ("the place of an option sways" in words) == by_place
    assert ("the length of an option sways" in words) == by_length
    assert re.search(r"the option shown \w+ is chosen in [\d.]+ % \[", words)


def test_a_perfect_answerer_is_steady_and_an_answerer_that_looks_is_rarely_accused() -> None:
    perfect = _probed(lambda each, _: each.sample.truth.target)
    assert perfect.accuracy.value == perfect.steady.value == 1.0
    assert not perfect.by_place
    accused = [_probed(_looks, seed=seed) for seed in range(1, 9)]
    assert sum(found.by_place for found in accused) <= 2
    assert sum(found.by_length for found in accused) <= 2


def test_replies_without_an_option_are_told_and_accuse_nobody() -> None:
    found = _probed(lambda *_: "I cannot say.")
    assert found.unread.value == 1.0
    assert not found.by_place
    assert not found.by_length
