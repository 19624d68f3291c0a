"""Baselines of closed questions: exact for constant answers, expected for guesses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from snellen.core.stages import Choice, Reading, Sample
from snellen.scoring.baselines import by_question, constant, majority, uniform
from snellen.scoring.choice import measure, tabulate

POSITIONS = {"above left": 20, "above right": 20, "below left": 20, "below right": 20, "directly left": 5,
             "directly right": 5, "directly above": 5, "directly below": 5}  # fmt: skip
SIZES = {"same": 50, "larger": 25, "smaller": 25}


def tables_of(counts, question="", answer=lambda target, options: None):
    options = tuple(counts)
    targets = [label for label, n in counts.items() for _ in range(n)]
    return tabulate(
        (Sample(f"{question}{i}", Choice(t, options, question)), Reading(answer(t, options)))
        for i, t in enumerate(targets)
    )


def test_constant_answers_have_the_papers_telltale_values():
    position, size = majority(tables_of(POSITIONS)), majority(tables_of(SIZES))
    assert (position.accuracy, position.answer) == (0.20, "above left")
    assert position.macro_f1 == pytest.approx(1 / 3 / 8)
    assert (size.accuracy, size.answer) == (0.50, "same")
    assert size.macro_f1 == pytest.approx(2 / 3 / 3)


@pytest.mark.parametrize("counts", [POSITIONS, SIZES, {"a": 3, "b": 1}])
def test_a_constant_answer_is_scored_as_a_model_that_gives_it(counts):
    for label in counts:
        found = constant(tables_of(counts), label)
        targets = [name for name, n in counts.items() for _ in range(n)]
        expected = f1_score(targets, [label] * len(targets), average="macro", zero_division=0)
        assert (found.accuracy, found.macro_f1) == pytest.approx((counts[label] / len(targets), expected))


def test_an_even_guess_is_what_guessing_gives_on_average():
    rng = np.random.default_rng(0)
    many = {label: 400 * n for label, n in SIZES.items()}
    guessed = tables_of(many, answer=lambda _, options: str(rng.choice(options)))
    found = measure(guessed)(np.ones((1, len(guessed.outcomes))))
    expected = uniform(guessed)
    assert expected.accuracy == pytest.approx(1 / 3)
    assert found["accuracy"][0] == pytest.approx(expected.accuracy, abs=0.01)
    assert found["macro_f1"][0] == pytest.approx(expected.macro_f1, abs=0.01)


def test_each_question_has_its_own():
    parts = [tables_of(POSITIONS, "position"), tables_of(SIZES, "size")]
    pairs = [
        (Sample(row["sample"], Choice(row["target"], tuple(POSITIONS if row["question"] == "position" else SIZES),
                                      row["question"])), Reading(None))
        for part in parts for row in part.outcomes.rows()
    ]  # fmt: skip
    whole = tabulate(pairs)
    found = by_question(whole)
    assert found["position"]["uniform"].accuracy == pytest.approx(1 / 8)
    assert found["size"]["majority"].accuracy == 0.5
    mixed = uniform(whole)
    assert mixed.macro_f1 == pytest.approx(
        (8 * found["position"]["uniform"].macro_f1 + 3 * found["size"]["uniform"].macro_f1) / 11
    )


def test_without_options_there_is_no_even_guess():
    tables = tabulate([(Sample("1", Choice("a", ())), Reading("a"))])
    assert uniform(tables).accuracy is None
    assert majority(tables).accuracy == 1.0


def test_nothing_has_no_baseline():
    assert majority(tabulate([])).accuracy is None
    assert uniform(tabulate([])).macro_f1 is None
