"""What a run did in each cell of the grid: accuracy, the commonest answer, and the borders between true sections."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from snellen.core.tables import Table

ROW, COLUMN = "attr.cell_row", "attr.cell_col"


@dataclass(frozen=True)
class Cell:
    """One cell, 0-based from the top left: how many answers, how many right, the commonest answer and its share.

    `answer` is "" where two answers are equally common (`tied` then names them); `target` is the commonest truth.
    """

    row: int
    column: int
    n: int
    correct: int
    answer: str
    share: float
    target: str
    tied: tuple[str, ...] = ()


def has_cells(table: Table) -> bool:
    """Whether the samples say in which cell the object stood."""
    return ROW in table and COLUMN in table and len(table) > 0


def cells(table: Table) -> list[Cell]:
    """The cells that occur, row by row. Rows of `table` are answers."""
    rows, columns = table[ROW].astype(np.int64), table[COLUMN].astype(np.int64)
    out = []
    for row, column in sorted(set(zip(rows.tolist(), columns.tolist(), strict=True))):
        here = (rows == row) & (columns == column)
        answers = Counter(table["answer"][here].tolist())
        (answer, most), *rest = answers.most_common()
        tied = (answer, *(name for name, count in rest if count == most))
        target = Counter(table["target"][here].tolist()).most_common(1)[0][0]
        n = int(here.sum())
        alone = len(tied) == 1
        out.append(
            Cell(row, column, n, int(table["correct"][here].sum()), answer if alone else "", most / n, target,
                 () if alone else tied)
        )  # fmt: skip
    return out


def side(found: list[Cell], *, at_least: int = 9) -> int:
    """How many rows and columns the map has."""
    return max([at_least, *(c.row + 1 for c in found), *(c.column + 1 for c in found)])


def borders(found: list[Cell]) -> list[tuple[int, int, int, int]]:
    """Lines `(x1, y1, x2, y2)` in cells between neighbours whose truth differs, straight runs joined."""
    target = {(c.row, c.column): c.target for c in found}
    upright = {(c, r) for r, c in target if (r, c - 1) in target and target[r, c - 1] != target[r, c]}
    level = {(r, c) for r, c in target if (r - 1, c) in target and target[r - 1, c] != target[r, c]}
    return [(at, low, at, high) for at, low, high in _joined(upright)] + [
        (low, at, high, at) for at, low, high in _joined(level)
    ]


def _joined(pieces: set[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Unit pieces `(line, position)` as `(line, from, to)`."""
    out: list[tuple[int, int, int]] = []
    for line, position in sorted(pieces):
        if out and out[-1][0] == line and out[-1][2] == position:
            out[-1] = (line, out[-1][1], position + 1)
        else:
            out.append((line, position, position + 1))
    return out
