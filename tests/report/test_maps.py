"""Maps over the grid."""

from __future__ import annotations

import pytest

from snellen.report.cells import Cell
from snellen.report.maps import abbreviations, accuracy_map, range_of, response_map

SECTIONS = ("top left", "top center", "top right", "center left", "center", "center right")


@pytest.mark.parametrize(
    ("answers", "short"),
    [
        (SECTIONS, ["TL", "TC", "TR", "CL", "C", "CR"]),
        (("star", "square", "circle"), ["St", "Sq", "Ci"]),
        (("star", "stone"), ["Sta", "Sto"]),
        (("aaax", "aaay"), ["1", "2"]),
    ],
)
def test_answers_are_abbreviated_so_that_they_differ(answers: tuple[str, ...], short: list[str]) -> None:
    found = abbreviations(answers)
    assert [found[answer] for answer in answers] == short
    assert found["other"] == "·"


@pytest.mark.parametrize(
    ("counts", "span"),
    [
        ([(0, 10), (10, 10)], (0.0, 1.0)),
        ([(97, 100), (100, 100)], (0.7, 1.0)),
        ([(12, 100), (20, 100)], (0.0, 0.3)),
        ([(1, 100)], (0.0, 0.3)),
        ([], (0.0, 1.0)),
    ],
)
def test_colours_span_what_the_maps_beside_each_other_hold(
    counts: list[tuple[int, int]], span: tuple[float, float]
) -> None:
    found = [Cell(0, i, n, k, "", 0.0, "") for i, (k, n) in enumerate(counts)]
    assert range_of([found]) == pytest.approx(span)


def test_an_accuracy_map_says_its_extremes_in_words() -> None:
    made = accuracy_map("m", [Cell(0, 0, 10, 2, "", 0, ""), Cell(8, 4, 10, 9, "", 0, "")], title="shape")
    assert made.alt == (
        "shape. Map of 2 cells, per cent right: from 20 % in row 1, column 1 to 90 % in row 9, column 5."
    )
    assert "row 1, column 1: 2 of 10 right (20 %)" in made.json()


def test_a_response_map_fades_with_agreement_and_marks_ties_and_borders() -> None:
    found = [Cell(0, 0, 4, 4, "a", 1.0, "a"), Cell(0, 1, 4, 1, "", 0.5, "b", ("a", "b"))]
    made = response_map("m", found, title="t", colours={"a": "#332288", "b": "#88ccee"}, short=abbreviations("ab"))
    rows = made.spec["data"]["values"]  # type: ignore[index, call-overload]
    assert [row["opacity"] for row in rows] == [pytest.approx(0.9), pytest.approx(0.475)]  # type: ignore[index, union-attr, call-overload]
    assert [row["shown"] for row in rows] == ["A", "="]  # type: ignore[index, union-attr, call-overload]
    assert rows[0]["ink"] == "#ffffff"  # type: ignore[index, call-overload]
    assert '"x2": 1, "y2": 1' in made.json(), "a dashed line between the two truths"
    assert "<svg" in made.svg()
