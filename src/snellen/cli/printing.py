"""Results and comparisons as tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from snellen.core.estimates import Estimate
from snellen.evals.comparison import Comparison
from snellen.evals.resolution import sentence
from snellen.evals.results import Results


def show_results(results: Results, *, console: Console | None = None) -> None:
    """The metrics with their intervals, then by question and by class; the report shows all other groups."""
    out = console or _plain()
    table = Table(title=results.task, title_justify="left", header_style="bold")
    for column in ("metric", "value", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, found in results.metrics.items():
        table.add_row(name, number(found.value), interval(found), "" if found.n is None else f"{found.n:,}")
    out.print(table)
    for title, rows in {"question": results.groups.get("question", {}), "per class": results.per_class}.items():
        if 1 < len(rows) <= 20:
            out.print(_wide(title, rows))
    for name, value in results.facts.items():
        if not isinstance(value, dict | list):
            out.print(f"{name.replace('_', ' ')}: {value}", highlight=False)
    status = dict(results.facts.get("status", {}))
    if set(status) - {"ok"}:
        said = ", ".join(f"{n:,} {name}" for name, n in sorted(status.items(), key=lambda item: -item[1]))
        out.print(f"replies: {said}", highlight=False)
    if "notation" in results.groups:
        out.print(_wide("the same replies read in another notation", results.groups["notation"]))
    if "resolution" in results.facts:
        out.print(sentence(results.facts["resolution"]), highlight=False)


def warn_of_import(facts: Mapping[str, Any]) -> None:
    """What could not be placed when predictions were read, on stderr: nothing is left out without a word."""
    for finding in facts.get("findings", ()):
        sys.stderr.write(f"{finding}\n")


def _plain() -> Console:
    """Names of classes and files are shown as they are: `[x]` is no markup, `:x:` no emoji."""
    return Console(markup=False, emoji=False)


def _wide(title: str, rows: Mapping[str, Mapping[str, Estimate]]) -> Table:
    names = [name for name in dict.fromkeys(n for found in rows.values() for n in found) if "." not in name][:5]
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for label, found in rows.items():
        table.add_row(label, *(short(found.get(name)) for name in names))
    return table


def show_comparison(found: Comparison, *, console: Console | None = None) -> None:
    """B minus A, metric by metric."""
    out = console or _plain()
    where = f"{found.samples:,} samples" + (" that both answered" if found.on_common else "")
    table = Table(title=f"B - A on {where}   A: {found.a}   B: {found.b}", title_justify="left", header_style="bold")
    for column in ("metric", "A", "B", "B - A", "95 % interval", "p (Holm)", ""):
        table.add_column(column, justify="left" if column in {"metric", ""} else "right")
    for name, row in found.to_json()["metrics"].items():
        table.add_row(
            name,
            number(row["a"]),
            number(row["b"]),
            number(row["difference"], signed=True),
            f"{number(row['low'], signed=True)} to {number(row['high'], signed=True)}",
            "" if row.get("p_holm") is None else f"{row['p_holm']:.3g}",
            verdict(row.get("p_holm")),
        )
    out.print(table)


def verdict(p: float | None) -> str:
    """What the corrected test says at the 5 % level."""
    return "" if p is None else "differs" if p < 0.05 else "cannot tell"


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals; a dash where undefined."""
    if value is None or value != value:
        return "-"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def interval(found: Estimate) -> str:
    """`low to high`, or nothing."""
    return "" if found.low is None and found.high is None else f"{number(found.low)} to {number(found.high)}"


def short(found: Estimate | None) -> str:
    """`value [low, high]`, or nothing."""
    if found is None:
        return ""
    if found.low is None:
        return number(found.value)
    return f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"
