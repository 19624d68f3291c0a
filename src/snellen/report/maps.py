"""Maps of the visual field: accuracy in each cell (CIVET, Figures 2, 4 to 6), answers in each cell (Figure 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from snellen.core.specs import Json
from snellen.report.cells import Cell, borders, side
from snellen.report.figures import INKED, OTHER, RULE, SAYS, Figure, Spec, field, figure, mark

WIDTH = 252


def accuracy_map(
    id: str, found: list[Cell], *, title: str, span: tuple[float, float] = (0.0, 1.0), what: str = "right"
) -> Figure:
    """Per cent right (or `what` else) in each cell; colours run over `span`, which maps beside each other share."""
    low, high = span
    rows: list[Spec] = [
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
    legend: Spec = {
        "title": None, "format": ".0%", "orient": "bottom", "gradientLength": WIDTH - 60, "gradientThickness": 8,
        "tickCount": 3,
    }  # fmt: skip
    colour = field("accuracy:Q", scale={"scheme": "viridis", "domain": [low, high]}, legend=legend)
    n = side(found)
    spec = _sized(rows, _squares(n, color=colour), _texts(n))
    return figure(id, spec, title=title, alt=_accuracy_words(title, found, what))


def response_map(
    id: str, found: list[Cell], *, title: str, colours: Mapping[str, str], short: Mapping[str, str]
) -> Figure:
    """The commonest answer in each cell; colours fade with agreement, dashed lines stand between true sections."""
    rows: list[Spec] = []
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
    scale: Spec = {"domain": [*colours, "other", "tie"], "range": [*colours.values(), OTHER, "#ffffff"]}
    n = side(found)
    ground = _squares(
        n, color=field("answer:N", scale=scale, legend=None), opacity=field("opacity:Q", scale=None, legend=None)
    )
    lines: list[Json] = [{"x": x1, "y": y1, "x2": x2, "y2": y2} for x1, y1, x2, y2 in borders(found)]
    ends: Spec = {"x": _place("x", n), "y": _place("y", n), "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    dashed = mark("rule", ends, rows=lines, strokeDash=[5, 3], strokeWidth=1.5, color="#000000")
    white = _squares(n, color=field("ground:N", scale=None))
    spec = _sized(rows, white, ground, _texts(n), *([dashed] if lines else []))
    return figure(id, spec, title=title, alt=_response_words(title, found))


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


def _corners(cell: Cell) -> Spec:
    return {"x": cell.column, "x2": cell.column + 1, "y": cell.row, "y2": cell.row + 1,
            "cx": cell.column + 0.5, "cy": cell.row + 0.5}  # fmt: skip


def _place(name: str, n: int) -> Spec:
    """A position among `n` rows or columns; rows count from the top."""
    domain: list[Json] = [n, 0] if name.endswith("y") else [0, n]
    return field(f"{name}:Q", scale={"domain": domain, "nice": False, "zero": False}, axis=None)


def _squares(n: int, **colours: Json) -> Spec:
    ends: Spec = {"x": _place("x", n), "x2": {"field": "x2"}, "y": _place("y", n), "y2": {"field": "y2"}}
    return mark("rect", {**ends, **colours, "description": SAYS}, stroke="#ffffff", strokeWidth=0.5)


def _texts(n: int) -> Spec:
    at: Spec = {"x": _place("cx", n), "y": _place("cy", n), "text": field("shown:N")}
    return mark("text", {**at, "color": INKED, "description": SAYS}, fontSize=10)


def _sized(rows: list[Spec], *layers: Spec) -> Spec:
    size: Spec = {"width": WIDTH, "height": WIDTH, "view": {"stroke": RULE}}
    return {"data": {"values": rows}, "layer": layers, **size}


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
