"""The bench's report: it opens with the decision; the runs' own pages follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.bench.config import Bench
from snellen.bench.decide import Decision, Row
from snellen.bench.execute import Done
from snellen.bench.notes import costs, natives, points, sizes
from snellen.bench.plan import EXAM, IMPORTED, Job
from snellen.bench.table import Outcome, entry_name
from snellen.core.specs import Json
from snellen.report.blocks import Block, Findings, Section, Text
from snellen.report.blocks import Row as Figures
from snellen.report.figures import SERIES, Figure, Spec, field, figure, mark
from snellen.report.grids import Cell, Column, Grid
from snellen.report.pages import report
from snellen.report.patterns import patterns


def bench_report(bench: Bench, done: Sequence[Done], outcome: Outcome, out: Path) -> Path:
    """Writes the report of a bench and returns the page's path."""
    scored = [(each.run, each.job) for each in done if each.state == "done" and each.run is not None]
    jobs = [job for _, job in scored]
    data = [job.data for job in jobs] if len(bench.data) > 1 else None
    opening = (decision_section(bench, outcome), *further_sections(outcome), *probe_sections(done))
    return report([run for run, _ in scored], out, opening=opening, names=run_names(jobs), data=data)


def run_names(jobs: Sequence[Job]) -> list[str]:
    """What the runs are called beside others of their data set: as in the tables, with the seed where there are
    several.
    """
    several = len({job.regime for job in jobs} - {IMPORTED, EXAM}) > 1
    seeds = Counter((job.data, job.model, job.regime) for job in jobs)
    return [
        entry_name(job.model, job.regime, several=several)
        + (f" seed {job.seed}" if seeds[job.data, job.model, job.regime] > 1 else "")
        for job in jobs
    ]


def decision_section(bench: Bench, outcome: Outcome) -> Section:
    """The first thing on the page: what is decided over all data sets, patterns, what is missing and why."""
    first = outcome.decisions if outcome.overall is None else (outcome.overall,)
    blocks = decided(first)
    beside = by_data(outcome)
    blocks += [beside] if len(beside.columns) > 2 else []
    blocks += patterns(outcome)
    if outcome.variance:
        blocks.append(variance(outcome))
    refused = {name: reason for decision in outcome.every for name, reason in decision.refused.items()}
    rows = tuple((name, reason) for name, reason in {**outcome.missing, **refused}.items())
    if rows:
        blocks.append(Grid("not-scored", "What is not in the tables, and why", (Column("Run"), Column("Reason")), rows))
    seen = "" if bench.sample is None else f" {bench.sample} samples of each data set, drawn with seed {bench.seed}."
    lead = f"Scores on the same samples, paired; p values are corrected over all pairs of a table (Holm).{seen}"
    return Section("decision", "The decision", tuple(blocks), lead)


def further_sections(outcome: Outcome) -> tuple[Section, ...]:
    """The decision on each of several data sets, and those of the referential protocol."""
    found = []
    if outcome.overall is not None:
        found.append(Section("decision-each", "Data set by data set", tuple(decided(outcome.decisions))))
    if outcome.referential:
        lead = "Only the classes in the picture are asked for: not to be ranked with the others."
        blocks = tuple(decided(tuple(reversed(outcome.referential))))
        found.append(Section("decision-referential", "Classes present only", blocks, lead))
    return tuple(found)


def decided(decisions: Sequence[Decision]) -> list[Block]:
    """Sentences first, then a table and figures for each."""
    said = ((_title(d), (d.sentence, *costs(d), *points(d))) for d in decisions)
    blocks: list[Block] = [Findings(tuple(said))]
    for decision in decisions:
        blocks.append(table(decision))
        beside = recalls(decision)
        blocks += [beside] if beside.rows else []
        figures = [f for f in (forest(decision), *(pareto(decision, axis) for axis in AXES)) if f is not None]
        if figures:
            blocks.append(Figures(tuple(figures)))
    return blocks


def table(decision: Decision) -> Grid:
    """The decision table of one data set."""
    shown = [name for name in COSTS if any(row.facts.get(name) for row in decision.rows)]
    columns = (
        Column("Model"),
        Column(f"{decision.metric}, %", "percent"),
        Column("Verdict"),
        Column("Behind the best, points", "points"),
        Column("p (Holm)", "p"),
        *(COSTS[name] for name in shown),
    )
    note = " ".join(filter(None, [_gap_note(decision), *sizes(decision), *natives(decision)]))
    rows = tuple(_row(decision, row, shown) for row in decision.rows)
    return Grid(f"decision-{_slug(decision.data)}", _title(decision), columns, rows, note)


COSTS = {
    "dollars_per_1000": Column("USD per 1,000", "number"),
    "seconds_per_1000": Column("Seconds per 1,000", "number"),
    "unreadable": Column("Unreadable", "count"),
}
"""Columns that are shown where any entry has something in them."""


def recalls(decision: Decision) -> Grid:
    """What models with confidences reach where they find as much as each of those without; no rows without both."""
    columns = (
        Column("Model"),
        Column("finding as much as"),
        Column("Recall, %", "percent"),
        Column("Precision, %", "percent"),
        Column("F1, %", "percent"),
        Column("Boxes scored from", "number"),
    )
    rows = tuple(
        (row.name, told["beside"], told["recall"], told.get("precision"), told.get("f1"), told["min_score"])
        for row in decision.rows
        for told in row.facts.get("at_recall", ())
    )
    title = f"{_title(decision)}: models with confidences at the recall of those without"
    note = "A model without confidences has one operating point; dashes: the other never finds as much."
    return Grid(f"recalls-{_slug(decision.data)}", title, columns, rows, note)


def _gap_note(decision: Decision) -> str:
    note = "Brackets: 95 % intervals. Worse: p below .05 after Holm's correction."
    if any(row.facts.get("seconds_per_1000") for row in decision.rows):
        note += " Seconds: latency of the requests, one after the other."
    if decision.smallest_gap:
        note += f" Smallest gap that these samples can show (80 % power): {100 * decision.smallest_gap:.1f} points."
    return note


def _row(decision: Decision, row: Row, shown: Sequence[str]) -> tuple[Cell, ...]:
    values = (row.facts.get(name) for name in shown)
    gap = None if row.gap is None else row.gap.difference
    return (row.name, row.score, decision.verdict(row), gap, row.p_holm, *values)  # fmt: skip


COLOURS = {"best": SERIES[2], "worse": SERIES[6], "not distinguishable": SERIES[3]}
"""Of the dots of scores, by verdict."""


def forest(decision: Decision) -> Figure | None:
    """Scores with their intervals, best on top."""
    rows: list[dict[str, Json]] = [
        {
            "name": row.name,
            "value": row.score.value,
            "low": row.score.value if row.score.low is None else row.score.low,
            "high": row.score.value if row.score.high is None else row.score.high,
            "verdict": decision.verdict(row),
        }
        for row in decision.rows
        if row.score.value is not None
    ]
    if not rows:
        return None
    shown = {decision.verdict(row): COLOURS[row.verdict] for row in decision.rows}
    scale: Spec = {"domain": [*shown], "range": [*shown.values()]}
    beneath: Spec = {"orient": "bottom", "direction": "vertical"}
    low = field("low:Q", title=decision.metric, scale={"zero": False})
    bars = mark("rule", {"x": low, "x2": {"field": "high"}})
    colour = field("verdict:N", title=None, scale=scale, legend=beneath)
    dots = mark("circle", {"x": field("value:Q", title=decision.metric), "color": colour}, size=70, opacity=1)
    down = field("name:N", sort=[row["name"] for row in rows], title=None)
    spec: Spec = {"data": {"values": rows}, "encoding": {"y": down}, "layer": [bars, dots], "width": 300}
    said = "; ".join(f"{row['name']} {row['value']:.3f}" for row in rows)
    name = f"forest-{_slug(decision.data)}"
    return figure(name, spec, title=f"{decision.metric}, best on top", alt=said)


AXES = {
    "seconds_per_1000": "seconds per 1,000",
    "dollars_per_1000": "USD per 1,000",
    "price": "USD per million tokens",
    "parameters": "parameters",
    "released": "release date",
}
"""What scores are drawn against, where at least two entries have it."""


USUAL: Spec = {"format": "~r"}
LABELS: Mapping[str, Spec] = {
    "released": {"tickCount": 4},
    "parameters": {"format": "~s", "labelExpr": "replace(datum.label, 'G', 'B')"},
}
"""How the numbers of an axis are written."""


def pareto(decision: Decision, axis: str) -> Figure | None:
    """Score against cost, time, price, size or age; of cost and time, those that nothing beats in both are joined."""
    rows: list[dict[str, Any]] = [
        {
            "name": row.name,
            "x": row.facts[axis],
            "score": row.score.value,
            "front": False,
            "low": row.score.low,
            "high": row.score.high,
        }
        for row in decision.rows
        if row.facts.get(axis) not in (None, 0) and row.score.value is not None
    ]
    if len(rows) < 2:
        return None
    for row in rows:
        row["front"] = not any(_beats(other, row) for other in rows)
    kind, scale = ("T", {}) if axis == "released" else ("Q", {"type": "log"})
    x = field(f"x:{kind}", title=AXES[axis], scale=scale, axis={"labelOverlap": True, **LABELS.get(axis, USUAL)})
    base: Spec = {"x": x, "y": field("score:Q", title=decision.metric, scale={"zero": False})}
    up: Spec = {"x": x, "y": field("low:Q", title=decision.metric), "y2": {"field": "high"}}
    front: Spec = {**mark("line", base, strokeDash=[4, 3], color=SERIES[6]), "transform": [{"filter": "datum.front"}]}
    known: Spec = {"transform": [{"filter": "isValid(datum.low)"}]}
    layers = [
        *([front] if axis in {"seconds_per_1000", "dollars_per_1000"} else []),
        {**mark("rule", up, color=SERIES[0], opacity=0.4), **known},
        mark("circle", base, size=70, opacity=1, color=SERIES[0]),
        mark("text", {**base, "text": field("name:N")}, align="left", dx=7),
    ]
    spec: Spec = {"data": {"values": rows}, "layer": layers, "width": 300}
    said = "; ".join(f"{row['name']}: {decision.metric} {row['score']:.3f} at {row['x']}" for row in rows)
    title = f"{decision.metric} against {AXES[axis]}"
    return figure(f"against-{axis}-{_slug(decision.data)}", spec, title=title, alt=said)


def _beats(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one is as cheap and as good, and better in something."""
    no_worse = one["x"] <= other["x"] and one["score"] >= other["score"]
    return bool(no_worse and (one["x"], one["score"]) != (other["x"], other["score"]))


def by_data(outcome: Outcome) -> Grid:
    """Score of every entry on every data set; where nothing joins all of them, of the entries that several share."""
    counts = Counter(row.name for decision in outcome.decisions for row in decision.rows)
    names = [name for name, n in counts.items() if n > 1 or outcome.overall is not None]
    shared = [d for d in outcome.decisions if any(row.name in names for row in d.rows)]
    scores = [{row.name: row.score for row in decision.rows} for decision in shared]
    columns = (Column("Model"), *(Column(f"{d.data}: {d.metric}, %", "percent") for d in shared))
    rows = tuple((name, *(found.get(name) for found in scores)) for name in names)
    return Grid("by-data", "By data set", columns, rows)


def variance(outcome: Outcome) -> Grid:
    """Both variances over seeds."""
    columns = (
        Column("Model"),
        Column("sd over seeds of the mean over data sets, points", "percent"),
        Column("mean over data sets of the sd over seeds, points", "percent"),
    )
    rows = tuple((name, found["sd_of_mean"], found["mean_of_sd"]) for name, found in outcome.variance.items())
    return Grid("variance", "How much the seeds matter", columns, rows, "ddof = 1.")


def probe_sections(done: Sequence[Done]) -> tuple[Section, ...]:
    """What the probes of the models' notations found."""
    found = {each.probe.model + each.probe.prompt: each.probe for each in done if each.probe is not None}
    if not found:
        return ()
    columns = (Column("Model"), Column("Prompt"), Column("Declared"), Column("Found"))
    rows = tuple((p.model, p.prompt, p.declared, p.reason) for p in found.values())
    note = Text("Asked about coloured shapes whose boxes are known, before any picture of the test.", "note")
    return (Section("probe", "How the models write boxes", (Grid("probe", "Probes", columns, rows), note)),)


def _title(decision: Decision) -> str:
    name, comma, rest = decision.data.partition(", ")
    return f"All data sets{comma}{rest}" if name == "all" else decision.data


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.casefold())
