"""Maps of the visual field: accuracy in each cell (CIVET, Figures 2, 4 to 6), answers in each cell (Figure 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.specs import Json
from snellen.report.cells import Cell, borders, side
from snellen.report.figures import OTHER, RULE, Figure, figure, ink

WIDTH = 252


def accuracy_map(
    id: str, found: list[Cell], *, title: str, span: tuple[float, float] = (0.0, 1.0), what: str = "right"
) -> Figure:
    """Per cent right (or `what` else) in each cell; colours run over `span`, which maps beside each other share."""
    import altair as alt

    low, high = span
    rows: list[dict[str, Json]] = [
        {
            **_corners(cell),
            "accuracy": cell.correct / cell.n,
            "shown": f"{100 * cell.correct / cell.n:.0f}",
            "ink": "#ffffff" if cell.correct / cell.n < low + 0.6 * (high - low) else "#000000",
            "says": f"row {cell.row + 1}, column {cell.column + 1}: {cell.correct} of {cell.n} {what}"
            f" ({100 * cell.correct / cell.n:.0f} %)",
        }
        for cell in found
    ]
    colour = alt.Color(
        "accuracy:Q",
        scale=alt.Scale(scheme="viridis", domain=[low, high]),
        legend=alt.Legend(
            title=None, format=".0%", orient="bottom", gradientLength=WIDTH - 60, gradientThickness=8, tickCount=3
        ),
    )
    n = side(found)
    ground = _squares(rows, n).encode(color=colour)
    numbers = _texts(rows, n, "shown")
    return figure(id, _sized(alt.layer(ground, numbers)), title=title, alt=_accuracy_words(title, found, what))


def response_map(
    id: str, found: list[Cell], *, title: str, colours: Mapping[str, str], short: Mapping[str, str]
) -> Figure:
    """The commonest answer in each cell; colours fade with agreement, dashed lines stand between true sections."""
    import altair as alt

    rows: list[dict[str, Json]] = []
    for cell in found:
        answer = cell.answer or "tie"
        rows.append(
            {
                **_corners(cell),
                "answer": answer,
                "agreement": cell.share,
                "shown": short.get(answer, "?"),
                "ground": "#ffffff",
                "ink": _ink(colours.get(answer, OTHER), _opacity(cell.share)),
                "opacity": _opacity(cell.share),
                "says": f"row {cell.row + 1}, column {cell.column + 1}: {' = '.join(cell.tied) or answer} "
                f"({100 * cell.share:.0f} % of {cell.n}); truth {cell.target}",
            }
        )
    scale = alt.Scale(domain=[*colours, "other", "tie"], range=[*colours.values(), OTHER, "#ffffff"])
    n = side(found)
    ground = _squares(rows, n).encode(
        color=alt.Color("answer:N", scale=scale, legend=None),
        opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
    )
    white = _squares(rows, n).encode(color=alt.Color("ground:N", scale=None))
    lines = [{"x": x1, "y": y1, "x2": x2, "y2": y2} for x1, y1, x2, y2 in borders(found)]
    dashed = (
        alt.Chart(alt.Data(values=lines or [{}]))
        .mark_rule(strokeDash=[5, 3], strokeWidth=1.5, color="#000000")
        .encode(x=_position("x", n), y=_position("y", n, down=True), x2="x2:Q", y2="y2:Q")
    )
    chart = alt.layer(white, ground, _texts(rows, n, "shown"), *([dashed] if lines else []))
    return figure(id, _sized(chart), title=title, alt=_response_words(title, found))


def abbreviations(answers: Sequence[str]) -> dict[str, str]:
    """One to three letters for each answer: initials where they tell all apart, else the first letters."""
    for make in (_initials, lambda a: a[:2].capitalize(), lambda a: a[:3].capitalize()):
        names = [make(answer) for answer in answers]
        if len(set(names)) == len(names):
            return dict(zip(answers, names, strict=True)) | {"other": "·", "tie": "="}
    return {answer: str(i + 1) for i, answer in enumerate(answers)} | {"other": "·", "tie": "="}


def range_of(maps: Sequence[list[Cell]]) -> tuple[float, float]:
    """The ends of a colour scale for maps that stand beside each other: whole tenths, three of them apart at least."""
    shares = [cell.correct / cell.n for found in maps for cell in found]
    low, high = math.floor(min(shares, default=0.0) * 10), math.ceil(max(shares, default=1.0) * 10)
    low = max(0, min(low, high - 3))
    return low / 10, max(high, low + 3) / 10


def _initials(answer: str) -> str:
    return "".join(word[0] for word in answer.split()).upper()


def _opacity(share: float) -> float:
    """Full agreement .9, none nearly white."""
    return 0.05 + 0.85 * share


def _ink(colour: str, opacity: float) -> str:
    """Black or white, whichever reads better on `colour` laid over white."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [(1 - opacity + opacity * part) ** 2.2 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.18 else "#ffffff"


def _corners(cell: Cell) -> dict[str, Json]:
    return {"x": cell.column, "x2": cell.column + 1, "y": cell.row, "y2": cell.row + 1,
            "cx": cell.column + 0.5, "cy": cell.row + 0.5}  # fmt: skip


def _position(field: str, n: int, *, down: bool = False) -> Any:
    import altair as alt

    scale = alt.Scale(domain=[n, 0] if down else [0, n], nice=False, zero=False)
    kind = alt.Y if down else alt.X
    return kind(f"{field}:Q", scale=scale, axis=None)


def _squares(rows: list[dict[str, Json]], n: int) -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(stroke="#ffffff", strokeWidth=0.5)
        .encode(x=_position("x", n), x2="x2:Q", y=_position("y", n, down=True), y2="y2:Q", description="says:N")
    )


def _texts(rows: list[dict[str, Json]], n: int, field: str) -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=rows))
        .mark_text(fontSize=10)
        .encode(
            x=_position("cx", n),
            y=_position("cy", n, down=True),
            text=f"{field}:N",
            color=ink(),
            description="says:N",
        )
    )


def _sized(chart: Any) -> Any:
    import altair as alt

    return chart.properties(width=WIDTH, height=WIDTH, view=alt.ViewBackground(stroke=RULE))


def _accuracy_words(title: str, found: list[Cell], what: str) -> str:
    if not found:
        return f"{title}: no cells."
    worst = min(found, key=lambda c: c.correct / c.n)
    best = max(found, key=lambda c: c.correct / c.n)
    ends = " to ".join(
        f"{100 * cell.correct / cell.n:.0f} % in row {cell.row + 1}, column {cell.column + 1}" for cell in (worst, best)
    )
    return f"{title}. Map of {len(found)} cells, per cent {what}: from {ends}."


def _response_words(title: str, found: list[Cell]) -> str:
    right = sum(cell.answer == cell.target for cell in found)
    return f"{title}. Map of {len(found)} cells: the commonest answer is the right one in {right} of them."
