"""Cells of the grid."""

from __future__ import annotations

import numpy as np

from snellen.core.tables import Table
from snellen.report.cells import borders, cells, side


def table(rows: list[tuple[int, int, str, str]]) -> Table:
    """(row, column, truth, answer)"""
    return Table(
        {
            "attr.cell_row": np.array([r[0] for r in rows]),
            "attr.cell_col": np.array([r[1] for r in rows]),
            "target": np.array([r[2] for r in rows]),
            "answer": np.array([r[3] for r in rows]),
            "correct": np.array([r[2] == r[3] for r in rows]),
        }
    )


def test_the_commonest_answer_and_its_share_stand_for_a_cell() -> None:
    (cell,) = cells(table([(2, 3, "a", "a"), (2, 3, "a", "b"), (2, 3, "a", "b")]))
    assert (cell.row, cell.column, cell.n, cell.correct, cell.answer, cell.target) == (2, 3, 3, 1, "b", "a")
    assert cell.share == 2 / 3


def test_a_tie_is_shown_as_a_tie() -> None:
    (cell,) = cells(table([(0, 0, "a", "a"), (0, 0, "a", "b")]))
    assert cell.answer == ""
    assert set(cell.tied) == {"a", "b"}


def test_borders_join_into_long_lines_between_sections() -> None:
    names = [["a", "a", "b"], ["a", "a", "b"], ["c", "c", "c"]]
    found = cells(table([(r, c, names[r][c], "x") for r in range(3) for c in range(3)]))
    assert sorted(borders(found)) == [(0, 2, 3, 2), (2, 0, 2, 2)]


def test_the_map_is_as_wide_as_the_paper_s_grid_or_wider() -> None:
    assert side(cells(table([(0, 0, "a", "a")]))) == 9
    assert side(cells(table([(0, 0, "a", "a"), (10, 1, "a", "b")]))) == 11
