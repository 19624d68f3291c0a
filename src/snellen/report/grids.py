"""A table as data, and its four forms: HTML cells, CSV, Markdown, LaTeX.

A cell is a text, a number, an `Estimate`, or None (undefined, never zero). The column says how numbers are shown;
CSV carries them whole, an estimate in three columns.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from snellen.core.errors import ShapeError
from snellen.core.estimates import Estimate

Cell: TypeAlias = str | int | float | Estimate | None
Kind: TypeAlias = Literal["text", "percent", "points", "number", "count", "p"]

UNDEFINED = "–"


@dataclass(frozen=True)
class Column:
    """A column's heading and how its numbers are shown.

    kind: `percent` shows a share as 61.2, `points` a difference of shares as +1.3, `number` two decimals, `count` a
    whole number, `p` a p-value. group: a heading over several neighbouring columns.
    """

    name: str
    kind: Kind = "text"
    group: str = ""


@dataclass(frozen=True)
class Shown:
    """A cell as text: the value, its interval in brackets (or empty), and whether it is set to the right."""

    value: str
    interval: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: `id` names its files, `rows` hold a cell per column, the first one being the row's heading."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ShapeError(f"table {self.id!r} has {len(self.columns)} columns, got a row of {len(row)}")

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Headings over neighbouring columns and how many they span; empty where there are none."""
        if not any(column.group for column in self.columns):
            return ()
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)

    def shown(self) -> list[list[Shown]]:
        """Every cell as text, as pages and papers show it."""
        return [[show(cell, column.kind) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def csv(self) -> str:
        """RFC 4180 text with whole numbers: shares as 0..1, an estimate as `name`, `name low`, `name high`."""
        wide = [any(isinstance(row[i], Estimate) for row in self.rows) for i in range(len(self.columns))]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = [f"{c.group}: {c.name}" if c.group else c.name for c in self.columns]
        writer.writerow(_spread(names, wide, lambda name: [name, f"{name} low", f"{name} high"]))
        for row in self.rows:
            writer.writerow(_spread(row, wide, _three))
        return out.getvalue()

    def markdown(self) -> str:
        """A GitHub-flavoured table under its title."""
        names = [f"{c.group}: {c.name}" if c.group else c.name for c in self.columns]
        align = ["---" if c.kind == "text" else "---:" for c in self.columns]
        lines = [[_md(name) for name in names], align, *([_md(_joined(cell)) for cell in row] for row in self.shown())]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"**{_md(self.title)}**\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")

    def latex(self) -> str:
        """A `table` with booktabs rules, caption and label."""
        align = "".join("l" if c.kind == "text" else "r" for c in self.columns)
        head = [" & ".join(_tex(c.name) for c in self.columns) + r" \\"]
        if self.groups:
            spans = [f"\\multicolumn{{{n}}}{{c}}{{{_tex(name)}}}" if name else "&" * (n - 1) for name, n in self.groups]
            head.insert(0, " & ".join(spans) + r" \\")
        body = [" & ".join(_tex(_joined(cell)) for cell in row) + r" \\" for row in self.shown()]
        caption = _tex(self.title) + (f". {_tex(self.note)}" if self.note else "")
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{caption}}}",
            f"\\label{{tab:{self.id}}}",
            f"\\begin{{tabular}}{{{align}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def show(cell: Cell, kind: Kind) -> Shown:
    """A cell as text. Percentages to one decimal, an estimate with its interval in brackets."""
    if isinstance(cell, str):
        return Shown(cell)
    if isinstance(cell, Estimate):
        ends = [_number(end, kind) for end in (cell.low, cell.high)]
        interval = f"[{ends[0]}, {ends[1]}]" if cell.low is not None and cell.high is not None else ""
        return Shown(_number(cell.value, kind), interval, numeric=True)
    return Shown(_number(cell, kind), numeric=True)


def percent(estimate: Estimate | float | None) -> str:
    """A share for a sentence: `61.2 % [59.9, 62.4]`."""
    cell = show(estimate, "percent")
    return f"{cell.value} %" + (f" {cell.interval}" if cell.interval else "") if cell.value != UNDEFINED else UNDEFINED


def _number(value: float | None, kind: Kind) -> str:
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if kind == "percent":
        return f"{100 * value:.1f}"
    if kind == "points":
        return f"{100 * value:+.1f}".replace("+0.0", "0.0").replace("-0.0", "0.0")
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "count" or (isinstance(value, int) and kind == "text"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def _joined(cell: Shown) -> str:
    return f"{cell.value} {cell.interval}".strip()


def _three(cell: Cell) -> list[Cell]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.low, cell.high]
    return [cell, None, None]


def _spread(cells: Sequence[Cell], wide: Sequence[bool], three: object) -> list[Cell]:
    out: list[Cell] = []
    for cell, is_wide in zip(cells, wide, strict=True):
        out.extend(three(cell) if is_wide else [cell])  # type: ignore[operator]
    return out


_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|*_`<>[]"} | {"\n": " "})
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
    | {"–": "--", "±": r"$\pm$", "−": "$-$", "\n": " "}
)


def _md(text: str) -> str:
    return text.translate(_MARKDOWN)


def _tex(text: str) -> str:
    return text.translate(_LATEX)
