"""Boxes: overlap against hand-computed cases, notations there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.boxes import BoxNotation, overlaps
from snellen.core.errors import ShapeError, SpecError
from snellen.core.pictures import Size

BOXES = st.lists(st.tuples(*[st.floats(0, 900) for _ in range(4)]), min_size=1, max_size=5).map(
    lambda rows: np.array([[min(a, c), min(b, d), max(a, c) + 1, max(b, d) + 1] for a, b, c, d in rows])
)
NOTATIONS = st.builds(
    BoxNotation,
    order=st.sampled_from(["xyxy", "yxyx", "xywh", "cxcywh"]),
    scale=st.sampled_from([None, 1.0, 999.0, 1000.0, 1024.0]),
    frame=st.sampled_from(["picture", "input", "square"]),
)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("the same box", [0, 0, 10, 10], [0, 0, 10, 10], 1.0),
        ("half of it", [0, 0, 10, 10], [0, 0, 10, 5], 0.5),
        ("a third shared", [0, 0, 10, 10], [5, 0, 15, 10], 50 / 150),
        ("touching edges", [0, 0, 10, 10], [10, 0, 20, 10], 0.0),
        ("apart", [0, 0, 1, 1], [5, 5, 6, 6], 0.0),
        ("both without area", [3, 3, 3, 3], [3, 3, 3, 3], 0.0),
    ],
)
def test_iou_of_hand_computed_pairs(name: str, a: list[float], b: list[float], expected: float) -> None:
    assert overlaps([a], [b])[0, 0] == pytest.approx(expected, abs=1e-15), name


def test_a_crowd_is_overlapped_by_the_share_of_the_detection_inside_it() -> None:
    assert overlaps([[0, 0, 10, 10]], [[0, 0, 100, 5]], crowd=[True])[0, 0] == 0.5


@given(BOXES, BOXES)
def test_iou_is_symmetric_and_between_zero_and_one(a: np.ndarray, b: np.ndarray) -> None:
    values = overlaps(a, b)
    assert np.all((values >= 0) & (values <= 1))
    np.testing.assert_allclose(values, overlaps(b, a).T)


@given(NOTATIONS, BOXES)
def test_every_notation_writes_what_it_reads(notation: BoxNotation, boxes: np.ndarray) -> None:
    size, seen = Size(1333, 750), Size(672, 392)
    numbers = notation.encode(boxes, size=size, input_size=seen)
    np.testing.assert_allclose(notation.decode(numbers, size=size, input_size=seen), boxes, atol=1e-9, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "notation", "numbers", "expected"),
    [
        ("thousandths, x first", BoxNotation("xyxy", 1000), [100, 200, 500, 1000], [20, 20, 100, 100]),
        ("thousandths, y first", BoxNotation("yxyx", 1000), [200, 100, 1000, 500], [20, 20, 100, 100]),
        ("pixels of the picture", BoxNotation("xywh"), [1, 2, 3, 4], [1, 2, 4, 6]),
        ("pixels of the input", BoxNotation("xyxy", None, "input"), [28, 28, 56, 56], [100, 50, 200, 100]),
        ("share of the padded square", BoxNotation("xyxy", 1, "square"), [0, 0.25, 1, 0.75], [0, 0, 200, 100]),
        ("centre and size", BoxNotation("cxcywh", 1), [0.5, 0.5, 1, 1], [0, 0, 200, 100]),
    ],
)
def test_notations_of_hand_computed_boxes(
    name: str, notation: BoxNotation, numbers: list[float], expected: list[float]
) -> None:
    decoded = notation.decode([numbers], size=Size(200, 100), input_size=Size(56, 56))
    np.testing.assert_allclose(decoded[0], expected, err_msg=name)


def test_pixels_of_an_unknown_input_are_refused() -> None:
    with pytest.raises(SpecError, match="input size must be given"):
        BoxNotation("xyxy", None, "input").decode([[0, 0, 1, 1]], size=Size(10, 10))


def test_four_numbers_are_not_a_list_of_boxes() -> None:
    with pytest.raises(ShapeError, match=r"boxes must have shape \(n, 4\), got \(4,\)"):
        overlaps([0, 0, 1, 1], [[0, 0, 1, 1]])
