"""Tables in four forms."""

from __future__ import annotations

import csv
import io

import pytest

from snellen.core.errors import ShapeError
from snellen.core.estimates import Estimate
from snellen.report.grids import Cell, Column, Grid, Kind, percent, show

CASES: list[tuple[str, Cell, Kind, str, str]] = [
    ("a share", 0.6123, "percent", "61.2", ""),
    ("a share with its interval", Estimate(0.6123, 0.599, 0.6249), "percent", "61.2", "[59.9, 62.5]"),
    ("an interval that reaches one", Estimate(1.0, 0.98, 1.0), "percent", "100.0", "[98.0, 100.0]"),
    ("an undefined share", Estimate(None), "percent", "–", ""),
    ("nothing", None, "percent", "–", ""),
    ("not a number", float("nan"), "number", "–", ""),
    ("zero", 0.0, "percent", "0.0", ""),
    ("a difference", Estimate(0.013, -0.002, 0.028), "points", "+1.3", "[-0.2, +2.8]"),
    ("a difference too small to show has no sign", 0.0001, "points", "0.0", ""),
    ("a negative difference too small to show has no sign", -0.0001, "points", "0.0", ""),
    ("ten points keep their sign", -0.1, "points", "-10.0", ""),
    ("a small p", 0.00002, "p", "< 0.001", ""),
    ("a p", 0.0321, "p", "0.032", ""),
    ("a count", 21384, "count", "21,384", ""),
    ("a text", "<b>", "text", "<b>", ""),
]


@pytest.mark.parametrize(("cell", "kind", "value", "interval"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_cells_are_shown(cell: Cell, kind: Kind, value: str, interval: str) -> None:
    shown = show(cell, kind)
    assert (shown.value, shown.interval) == (value, interval)


def test_a_percentage_in_a_sentence_says_that_it_is_one() -> None:
    assert percent(Estimate(0.5, 0.4, 0.6)) == "50.0 % [40.0, 60.0]"
    assert percent(None) == "–"


def grid() -> Grid:
    return Grid(
        "g",
        "A & B_1",
        (Column("Run"), Column("left|x", "percent", "top"), Column("right", "percent", "top"), Column("n", "count")),
        (("a_1 <b> \\ 5%", Estimate(0.123456789, 0.1, 0.2), None, 3), ("b", Estimate(0.5), 0.25, 4)),
        "A note.",
    )


def test_csv_keeps_every_digit_and_spreads_estimates() -> None:
    rows = list(csv.reader(io.StringIO(grid().csv())))
    assert rows[0] == ["Run", "top: left|x", "top: left|x low", "top: left|x high", "top: right", "n"]
    assert rows[1] == ["a_1 <b> \\ 5%", "0.123456789", "0.1", "0.2", "", "3"]
    assert rows[2] == ["b", "0.5", "", "", "0.25", "4"]


def test_markdown_escapes_what_would_break_the_table() -> None:
    text = grid().markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert "left\\|x" in lines[0]
    assert "\\<b\\>" in lines[2]
    assert lines[1] == "| --- | ---: | ---: | ---: |"


def test_latex_escapes_and_spans() -> None:
    text = grid().latex()
    assert r"A \& B\_1" in text
    assert r"\multicolumn{2}{c}{top}" in text
    assert r"a\_1 $<$b$>$ \textbackslash{} 5\%" in text
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {line.count("&") - line.count(r"\&") for line in body} == {3}


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ShapeError, match="table 'g' has 1 columns, got a row of 2"):
        Grid("g", "g", (Column("a"),), (("x", "y"),))
