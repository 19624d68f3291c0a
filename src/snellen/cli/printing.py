"""Results and comparisons as tables on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from snellen.core.estimates import Estimate
from snellen.evals.box_measures import FIELD
from snellen.evals.comparison import Comparison
from snellen.evals.resolution import sentence
from snellen.evals.results import Results
from snellen.evals.score_sources import GROUP as SOURCES
from snellen.scoring.error_kinds import COSTLY

BESIDE = {"notation": "the same replies read in another notation", SOURCES: "the same boxes ranked by other scores"}
"""Groups that are always shown -> what they are called."""


def show_results(results: Results, *, by: Sequence[str] = (), console: Console | None = None) -> None:
    """The metrics with their intervals, by question and by class, the kinds of error, and the groups named in `by`."""
    out = console or _plain()
    out.print(_long(results.task, results.metrics))
    for title, rows in {"question": results.groups.get("question", {}), "per class": results.per_class}.items():
        if 1 < len(rows) <= 20 and title not in by:
            out.print(_wide(title, rows))
    kinds = results.groups.get("errors", {}).get("all")
    if kinds:
        out.print(_error_kinds(kinds))
    for name in by:
        out.print(_group(results, name))
    for line in _facts(results):
        out.print(line, highlight=False)
    for name, title in BESIDE.items():
        if name in results.groups and name not in by:
            out.print(_wide(title, results.groups[name]))
    if "resolution" in results.facts:
        out.print(sentence(results.facts["resolution"]), highlight=False)
    shown = {"errors", "question", *BESIDE}
    more = [name.removeprefix(FIELD) for name in results.groups if name not in shown]
    more += ["image"] if kinds else []
    if more and not by:
        out.print(f"more with --by: {', '.join(more)}", highlight=False)


def _facts(results: Results) -> Iterator[str]:
    """What else is true of the results, a line each."""
    facts = results.facts
    for name, value in facts.items():
        if not isinstance(value, dict | list) and value is not None:
            yield f"{name.replace('_', ' ')}: {value}"
    point = facts.get("operating_point") or {"min_score": None}
    if point["min_score"] is not None:
        where = f", chosen on {point['on']}" if point.get("on") else ""
        yield f"operating point: boxes scored {point['min_score']:.4g} and higher ({point['name']}{where})"
    status = dict(facts.get("status", {}))
    if set(status) - {"ok"}:
        said = ", ".join(f"{n:,} {name}" for name, n in sorted(status.items(), key=lambda item: -item[1]))
        yield f"replies: {said}"
    for source, found in facts.get("calibration", {}).items():
        yield _calibrated(source, found)
    audit = facts.get("ap_audit") or {"gap": None}
    if audit["gap"] is not None:
        rule = f"AP by the trapezoid rule, which other toolkits use: {number(audit['trapezoid'])}"
        yield f"{rule} ({number(audit['gap'], signed=True)}; a diagnostic, no result)"


def _calibrated(source: str, found: Mapping[str, Any]) -> str:
    sure, right, error = (Estimate(**found[name]) for name in ("confidence", "right", "ece"))
    return f"calibration by {source}: {number(sure.value)} sure, {short(right)} right, ECE {short(error)}"


def _group(results: Results, name: str) -> Table:
    """One group of the results: a row per value of an attribute, class or picture; or per bin of the visual field."""
    if name == "class":
        return _wide("per class", results.per_class)
    if f"{FIELD}{name}" in results.groups:
        return _long(f"{FIELD}{name}", results.groups[f"{FIELD}{name}"]["all"])
    return _wide(name, results.groups[name])


def _long(title: str, metrics: Mapping[str, Estimate]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in ("metric", "value", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, found in metrics.items():
        table.add_row(name, number(found.value), interval(found), "" if found.n is None else f"{found.n:,}")
    return table


def _error_kinds(found: Mapping[str, Estimate]) -> Table:
    """How often each kind of error occurs, and how much higher F1 and AP50 would be without it."""
    columns = {"rate_": "how often", "cost_": "costs, F1", "ap50_cost_": "costs, AP50"}
    shown = {start: name for start, name in columns.items() if any(each.startswith(start) for each in found)}
    table = Table(title="kinds of error", title_justify="left", header_style="bold")
    table.add_column("")
    for name in shown.values():
        table.add_column(name, justify="right")
    for kind in COSTLY:
        table.add_row(kind, *(short(found.get(f"{start}{kind}")) for start in shown))
    return table


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
