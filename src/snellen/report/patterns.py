"""What a bench shows across data sets and ways of asking: categories, pairs of models, contrasts of regimes."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.bench.across import FEWEST, ModelPair
from snellen.bench.contrasts import Contrast
from snellen.bench.table import Outcome
from snellen.core.specs import Json
from snellen.report.blocks import Block, Row
from snellen.report.figures import RULE, SERIES, Figure, Spec, field, figure, mark
from snellen.report.grids import Column, Grid

MOST = 6
"""So many pairs of models are drawn; the table holds all."""

TITLES = {
    "calls": (
        "One class a prompt against all classes in one",
        "Both answer the same question and are ranked together.",
    ),
    "classes": (
        "Detection against referential: all classes asked for, or only those in the picture",
        "The second is told what is there. The two are never ranked together; here each model meets itself.",
    ),
}


def patterns(outcome: Outcome) -> list[Block]:
    """All blocks that this bench has something for."""
    blocks: list[Block] = []
    if outcome.categories:
        blocks.append(categories(outcome))
    for kind in TITLES:
        some = [contrast for contrast in outcome.contrasts if contrast.kind == kind]
        if some:
            blocks.append(contrast_grid(some))
    if outcome.pairs:
        blocks += [pair_grid(outcome.pairs), Row(tuple(scatter(pair) for pair in outcome.pairs[:MOST]))]
    if outcome.leads:
        blocks.append(lead_grid(outcome))
    return blocks


def categories(outcome: Outcome) -> Grid:
    """Category scores and All, a row per entry, in the order of the decision."""
    first = outcome.overall or outcome.decisions[0]
    order = [row.name for row in first.rows if row.name in outcome.categories]
    order += [name for name in outcome.categories if name not in order]
    names = list(dict.fromkeys(name for found in outcome.categories.values() for name in found.categories))
    columns = (Column("Model"), *(Column(name, "percent") for name in names), Column("All", "percent"),
               Column("Data sets"))  # fmt: skip
    rows = []
    for name in order:
        found = outcome.categories[name]
        cells = (found.categories.get(category) for category in names)
        rows.append((name, *cells, found.all, f"{found.scored} of {found.of}"))
    note = "Unweighted means over data sets; All is over data sets, not over categories. No predictions count 0."
    return Grid("by-category", f"By super-category: {first.metric}, %", columns, tuple(rows), note)


def contrast_grid(found: Sequence[Contrast]) -> Grid:
    """Two ways of asking, model by model, paired."""
    title, note = TITLES[found[0].kind]
    columns = (
        Column("Model"), Column("Data"), Column("Metric"), Column("Usual"), Column("%", "percent"), Column("Other"),
        Column("%", "percent"), Column("Other minus usual, points", "points"), Column("p (Holm)", "p"),
    )  # fmt: skip
    rows = tuple(
        (
            each.model, "all data sets" if each.data == "all" else each.data, each.metric, each.usual,
            each.difference.a, each.other, each.difference.b, each.difference.difference, each.p_holm,
        )
        for each in found
    )  # fmt: skip
    return Grid(f"contrast-{found[0].kind}", title, columns, rows, note)


def pair_grid(pairs: Sequence[ModelPair]) -> Grid:
    """Correlations over data sets, and how many of the best data sets are shared."""
    top = pairs[0].top
    columns = (
        Column("Model"), Column("and"), Column("Data sets", "count"), Column("Pearson", "number"),
        Column("Spearman", "number"), Column("Top", "count"), Column("shared", "count"),
        Column("by chance", "number"),
    )  # fmt: skip
    rows = tuple((p.a, p.b, len(p.scores), p.pearson, p.spearman, p.top, p.shared, p.by_chance) for p in pairs)
    note = (
        f"A point per data set, {FEWEST} at least; the interval is Fisher's. Top: of the {top} best data sets of each "
        "model, how many are the same, and how many would be by chance."
    )
    return Grid("model-pairs", "Do models find the same data sets hard?", columns, rows, note)


def scatter(pair: ModelPair) -> Figure:
    """The scores of one model against another's, a point per data set; on the line they are equal."""
    rows: list[Json] = [{"data": name, "a": a, "b": b} for name, (a, b) in pair.scores.items()]
    values = [value for both in pair.scores.values() for value in both]
    margin = max(0.02, 0.05 * (max(values) - min(values)))
    low, high = max(0.0, min(values) - margin), max(values) + margin
    scale: Spec = {"domain": [low, high], "nice": False, "zero": False}
    axes: Spec = {"x": field("a:Q", title=pair.a, scale=scale), "y": field("b:Q", title=pair.b, scale=scale)}
    equal = mark("line", rows=[{"a": end, "b": end} for end in (low, high)], color=RULE)
    layers = [equal, mark("circle", size=50, opacity=0.8, color=SERIES[0])]
    if len(rows) <= 12:
        layers.append(mark("text", {"text": field("data:N")}, align="left", dx=6, fontSize=10))
    spec: Spec = {"data": {"values": rows}, "encoding": axes, "layer": layers, "width": 240, "height": 240}
    r = "undefined" if pair.pearson.value is None else f"{pair.pearson.value:.2f}"
    said = "; ".join(f"{name}: {a:.3f} and {b:.3f}" for name, (a, b) in pair.scores.items())
    slug = "".join(c if c.isalnum() else "-" for c in f"{pair.a}-{pair.b}".casefold())
    title = f"{pair.b} against {pair.a}, r = {r}"
    return figure(f"pair-{slug}", spec, title=title, alt=said)


def lead_grid(outcome: Outcome) -> Grid:
    """Is a model ahead of two rivals on the same data sets?"""
    columns = (
        Column("Model"), Column("ahead of"), Column("and of"), Column("Top", "count"), Column("shared", "count"),
        Column("by chance", "number"),
    )  # fmt: skip
    rows = tuple((lead.model, *lead.rivals, lead.top, lead.shared, lead.by_chance) for lead in outcome.leads)
    note = "Of the data sets where a model leads most over each of two rivals, how many are the same."
    return Grid("leads", "Where a model leads", columns, rows, note)
