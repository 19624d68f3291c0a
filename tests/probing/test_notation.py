"""Simulated speakers of every notation: the right one is named, or none."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.boxes import BoxNotation
from snellen.core.detections import Detections
from snellen.core.pictures import Size
from snellen.probing.contradiction import judged, preset
from snellen.probing.notation import Spoken, candidates, describe, find_notation, same

SIZES = [Size(640, 640), Size(960, 480), Size(480, 960), Size(800, 600), Size(600, 800), Size(1280, 720)]


def _box(rng: np.random.Generator, size: Size) -> list[float]:
    w, h = rng.uniform(0.08, 0.35, 2) * size
    x, y = rng.uniform(0, size.width - w), rng.uniform(0, size.height - h)
    return [x, y, x + w, y + h]


def _speak(notation: BoxNotation, rng: np.random.Generator, *, noise: float = 0.01, scenes: int = 24) -> list[Spoken]:
    """Says boxes in `notation` with noise (share of the short side), a fifth missing, a fifth extra."""
    said = []
    for i in range(scenes):
        size = SIZES[i % len(SIZES)]
        seen = Size(*(max(28, int(side * 0.61) // 28 * 28) for side in size))
        n = int(rng.integers(2, 6))
        truth = np.array([_box(rng, size) for _ in range(n)])
        labels = tuple(f"thing {k}" for k in range(n))
        kept = np.flatnonzero(rng.random(n) >= 0.2)
        extra = rng.binomial(n, 0.2)
        boxes = np.vstack([truth[kept] + rng.normal(0, noise * min(size), (len(kept), 4)), *(
            [_box(rng, size)] for _ in range(extra))])  # fmt: skip
        names = tuple(labels[k] for k in [*kept, *rng.integers(0, n, extra)])
        numbers = notation.encode(boxes, size=size, input_size=seen)
        said.append(Spoken(np.round(numbers, 3 if notation.scale == 1 else 0), names, Detections(truth, labels), size,
                           seen))  # fmt: skip
    return said


@pytest.mark.parametrize("notation", candidates(input_known=True), ids=describe)
def test_every_notation_is_recognised_from_noisy_incomplete_replies(notation: BoxNotation) -> None:
    finding = find_notation(_speak(notation, np.random.default_rng(3)))
    assert finding.verdict == "named", finding.reason
    assert finding.best is not None
    assert same(finding.best, notation)
    assert not finding.contradicts(notation)
    assert (finding.margin or 0) > 0.02


@pytest.mark.parametrize(("declared", "spoken"), [("yxyx", "xyxy"), ("xyxy", "yxyx"), ("xywh", "xyxy")])
def test_a_wrongly_declared_order_is_contradicted(declared: str, spoken: str) -> None:
    finding = find_notation(_speak(BoxNotation(spoken, 1000), np.random.default_rng(1)))  # type: ignore[arg-type]
    assert finding.contradicts(BoxNotation(declared, 1000))  # type: ignore[arg-type]


def test_boxes_that_follow_no_notation_cannot_tell() -> None:
    rng = np.random.default_rng(0)
    scenes = _speak(BoxNotation("xyxy", 1000), rng)
    shuffled = [Spoken(rng.permuted(s.numbers, axis=1), s.labels, s.truth, s.size, s.input_size) for s in scenes]
    finding = find_notation(shuffled)
    assert finding.verdict == "cannot tell"
    assert not finding.contradicts(BoxNotation("yxyx", 1000))


def test_too_few_replies_with_boxes_cannot_tell() -> None:
    finding = find_notation(_speak(BoxNotation("xyxy", 1000), np.random.default_rng(0), scenes=3))
    assert finding.verdict == "cannot tell"
    assert "4 are needed" in finding.reason


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.005, 0.01, 0.02])
def test_wrong_in_under_one_percent_and_named_in_at_least_ninety(noise: float) -> None:
    rng = np.random.default_rng(11)
    findings = [(n, find_notation(_speak(n, rng, noise=noise))) for n in candidates(input_known=True) for _ in range(8)]
    named = [(n, f.best) for n, f in findings if f.verdict == "named" and f.best is not None]
    wrong = sum(not same(best, notation) for notation, best in named)
    assert wrong / len(findings) < 0.01
    assert (len(named) - wrong) / len(findings) >= 0.9


def _square(notation: BoxNotation, rng: np.random.Generator, *, scenes: int = 24) -> list[Spoken]:
    """The same speaker where every picture is a square, and the model's input is the picture."""
    size = Size(640, 640)
    said = []
    for _ in range(scenes):
        truth = np.array([_box(rng, size) for _ in range(3)])
        numbers = notation.encode(truth + rng.normal(0, 6, truth.shape), size=size, input_size=size)
        said.append(Spoken(np.round(numbers), ("a", "b", "c"), Detections(truth, ("a", "b", "c")), size, size))
    return said


@pytest.mark.parametrize("spoken", [BoxNotation("xyxy", 1000), BoxNotation("xyxy", None, "input")], ids=describe)
def test_notations_that_mean_the_same_boxes_on_these_pictures_do_not_rival(spoken: BoxNotation) -> None:
    finding = find_notation(_square(spoken, np.random.default_rng(2)))
    assert finding.verdict == "named", finding.reason
    assert (finding.margin or 0) > 0.1
    same_here = BoxNotation("xyxy", 1000, "square") if spoken.scale else BoxNotation("xyxy", None, "picture")
    assert not finding.contradicts(spoken)
    assert not finding.contradicts(same_here)
    assert finding.contradicts(BoxNotation("yxyx", 1000))
    verdict = judged(finding, model="m", prompt="p", declared="wade")
    assert verdict.contradicted
    assert preset(verdict.best) is not None
