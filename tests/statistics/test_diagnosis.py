"""A simulated model with known faults is diagnosed right, and one without is left alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from snellen.core.stages import Choice, Reading, Sample
from snellen.scoring.choice import tabulate
from snellen.statistics.diagnosis import diagnose

COLOURS = ("red", "green", "blue", "cyan", "magenta", "yellow")
SECTIONS = [f"{v} {h}" for v in ("top", "center", "bottom") for h in ("left", "center", "right")]


def exam(model, seed, *, accuracy=0.85, objects=4):
    """Every colour of every object in 81 cells, asked with options in random order, answered by `model`."""
    rng = np.random.default_rng(seed)

    def pairs():
        for i, (shape, colour, cell) in enumerate(product(range(objects), COLOURS, range(81))):
            row, col = divmod(cell, 9)
            section = SECTIONS[row // 3 * 3 + col // 3]
            options = tuple(rng.permutation(COLOURS).tolist())
            answer = colour if rng.random() < accuracy else str(rng.choice([c for c in COLOURS if c != colour]))
            answer = model(rng, answer, colour=colour, section=section, options=options)
            attributes = {"shape": shape, "colour": colour, "cell_row": row, "cell_col": col, "section": section}
            yield Sample(str(i), Choice(colour, options, "colour"), attributes=attributes), Reading(answer)

    return tabulate(pairs()).outcomes


def honest(rng, answer, **_):
    return answer


def blind_corner(rng, answer, *, section, **_):
    return str(rng.choice(COLOURS)) if section == "bottom right" and rng.random() < 0.4 else answer


def first_option(rng, answer, *, options, **_):
    return options[0] if rng.random() < 0.12 else answer


def magenta_is_red(rng, answer, *, colour, **_):
    return "red" if colour == "magenta" and rng.random() < 0.3 else answer


def likes_blue(rng, answer, **_):
    return "blue" if rng.random() < 0.1 else answer


def all_three(rng, answer, **known):
    for fault in (blind_corner, magenta_is_red, first_option):
        answer = fault(rng, answer, **known)
    return answer


def found(model, seed=0, **options):
    return {(f.kind, f.subject): f for f in diagnose(exam(model, seed, **options), rng=np.random.default_rng(0))}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(blind_corner, {("position", "bottom right")}, id="position bias"),
        pytest.param(first_option, {("order", "0")}, id="order bias"),
        pytest.param(magenta_is_red, {("confusion", "magenta -> red")}, id="colour confusion"),
        pytest.param(likes_blue, {("label", "blue")}, id="a favourite label"),
        pytest.param(
            all_three,
            {("position", "bottom right"), ("order", "0"), ("confusion", "magenta -> red")},
            id="three faults at once",
        ),
    ],
)
def test_a_known_fault_is_found_and_named(model, expected):
    assert set(found(model)) >= expected
    strongest = dict(reversed(found(model)))
    assert {(kind, strongest[kind]) for kind, _ in expected} == expected
    assert {kind for kind, _ in found(model)} == {kind for kind, _ in expected}


def test_effects_are_as_large_as_they_were_made():
    faults = found(all_three)
    corner, first = faults["position", "bottom right"], faults["order", "0"]
    confusion = faults["confusion", "magenta -> red"]
    # 40 % random answers instead of right ones cost .4 x .85 x 5/6; elsewhere is compared with the whole
    assert corner.expected - corner.rate == pytest.approx(0.4 * 0.85 * 5 / 6 * 8 / 9, abs=0.06)
    assert first.rate - first.expected == pytest.approx(0.12 * 5 / 6, abs=0.03)
    assert confusion.rate == pytest.approx(0.31, abs=0.05)
    assert "magenta is taken for red in 3" in confusion.text
    assert "the option shown first is chosen in 2" in first.text
    assert "fewer right answers in bottom right" in corner.text


def test_an_unbiased_model_is_left_alone():
    alarms = [
        bool(diagnose(exam(honest, seed, objects=1), rng=np.random.default_rng(seed), draws=200)) for seed in range(60)
    ]
    assert sum(alarms) <= 7  # 5 % of 60 is 3


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_models_that_are_always_right_or_always_wrong_are_examined_too(accuracy):
    assert found(honest, accuracy=accuracy) == {}


def test_replies_without_an_answer_take_no_part():
    def silent(rng, answer, **_):
        return None

    assert found(silent) == {}


def test_without_sections_and_options_nothing_is_made_up():
    pairs = ((Sample(str(i), Choice("a", ())), Reading("ab"[i % 2])) for i in range(40))
    assert diagnose(tabulate(pairs).outcomes, rng=np.random.default_rng(0)) == ()


def test_nothing_has_no_findings():
    assert diagnose(tabulate([]).outcomes, rng=np.random.default_rng(0)) == ()
