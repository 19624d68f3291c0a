"""`snellen bench`: data, models, regimes, a budget -> resumable runs and one decision."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from snellen.bench.config import Bench
    from snellen.bench.decide import Decision
    from snellen.bench.execute import Done
    from snellen.bench.forecast import Forecast
    from snellen.bench.plan import Job
    from snellen.core.estimates import Estimate
    from snellen.runs.loop import Progress

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def bench(
    file: Annotated[Path, typer.Argument(help="The bench file (snellen init writes one).", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Runs, report and decision go there.")] = Path("bench"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its price, ask nothing.")] = False,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Do not probe how the models write boxes.")] = False,
    page: Annotated[bool, typer.Option("--report/--no-report", help="Write the report.")] = True,
    json_: Annotated[bool, typer.Option("--json", help="The decision as JSON.")] = False,
) -> None:
    """Which model, with which prompt, on these pictures, at what cost, and how sure.

    The same command again goes on where it was stopped; what was answered is not asked again.

    Examples:

      snellen init my_data/ > bench.yaml

      snellen bench bench.yaml --dry-run

      snellen bench bench.yaml --out bench
    """
    from snellen.bench.config import read_bench
    from snellen.bench.execute import check_names, execute
    from snellen.bench.plan import jobs_of
    from snellen.bench.table import conclude

    chosen = read_bench(file)
    if no_probe:
        chosen = chosen.model_copy(update={"probe": False})
    beside = file.parent / "models.yaml"
    jobs = jobs_of(chosen, models_file=beside if beside.exists() else Path("models.yaml"))
    if dry_run:
        _plan(chosen, jobs, out, as_json=json_)
        return
    done = execute(chosen, jobs, out, told=_tell, progress=_lines())
    _warn(done)
    check_names(done)
    outcome = conclude(chosen, done)
    out.mkdir(parents=True, exist_ok=True)
    (out / "decision.json").write_text(json.dumps(outcome.to_json(), indent=1), encoding="utf-8")
    if json_:
        typer.echo(json.dumps(outcome.to_json()))
    else:
        for decision in reversed(outcome.every):
            show_decision(decision)
        for name, reason in outcome.missing.items():
            typer.echo(f"not scored  {name}: {reason}")
    if page:
        from snellen.report.decision import bench_report

        written = bench_report(chosen, done, outcome, out / "report")
        if not json_:
            typer.echo(f"report: {written.resolve()}")
    if outcome.missing:
        raise typer.Exit(4)


def show_decision(decision: Decision) -> None:
    """The decision table on a terminal."""
    from rich.console import Console
    from rich.table import Table

    from snellen.bench.notes import notes
    from snellen.cli.printing import number, short

    shown = [name for name in COSTS if any(row.facts.get(name) for row in decision.rows)]
    table = Table(title=f"{decision.data}: {decision.metric}", title_justify="left", header_style="bold")
    table.add_column("model", overflow="fold")
    for column in ("score", "behind the best", *(COSTS[name] for name in shown)):
        table.add_column(column, justify="right")
    table.add_column("verdict", overflow="fold")
    for row in decision.rows:
        gap = "" if row.gap is None else _signed(row.gap.difference)
        costs = [row.facts.get(name) for name in shown]
        cells = (str(value) if isinstance(value, int) else number(value) for value in costs)
        table.add_row(row.name, short(row.score), gap, *cells, decision.verdict(row))
    console = Console()
    console.print(table)
    for line in (decision.sentence, *notes(decision)):
        console.print(line, highlight=False, markup=False)
    for name, reason in decision.refused.items():
        console.print(f"not compared  {name}: {reason}", highlight=False)


def _signed(found: Estimate) -> str:
    from snellen.cli.printing import number

    value = number(found.value, signed=True)
    return (
        value if found.low is None else f"{value} [{number(found.low, signed=True)}, {number(found.high, signed=True)}]"
    )


COSTS = {"dollars_per_1000": "USD/1,000", "seconds_per_1000": "s/1,000", "unreadable": "unread"}
"""Columns that are shown where any row has something in them."""


def _plan(chosen: Bench, jobs: list[Job], out: Path, *, as_json: bool) -> None:
    """What would be asked, and what that costs and takes; exit code 2 where a job cannot be done."""
    from snellen.bench.forecast import forecast
    from snellen.cli.watching import duration
    from snellen.datasets.findings import counted

    found = [forecast(chosen, job, out) for job in jobs]
    faults = [each for each in found if each.fault]
    if as_json:
        typer.echo(json.dumps([each.to_json() for each in found]))
    else:
        width = max((len(job.name) for job in jobs), default=0)
        for each in found:
            typer.echo(f"{each.job.name:{width}}  {_line(each)}")
        budget = "" if chosen.budget is None else f" of a budget of {chosen.budget:g}"
        unknown = sorted({each.job.model for each in found if each.dollars is None and not each.fault})
        typer.echo(
            f"{counted(len(found), 'runs')}, {counted(sum(each.left for each in found), 'requests')} to make, "
            f"about {sum(each.dollars or 0.0 for each in found):.4g} USD{budget}"
            + (f" without {', '.join(unknown)} (price unknown: price: [in, out] in the entry)" if unknown else "")
        )
        seconds = [each.seconds for each in found if each.seconds]
        if seconds:
            guessed = "" if all(each.timed != "guessed" for each in found) else ", partly a guess"
            typer.echo(f"about {duration(sum(seconds))} one run after the other{guessed}")
    if faults:
        raise typer.Exit(2)


def _line(each: Forecast) -> str:
    """One job of the plan."""
    from snellen.cli.watching import duration

    if each.fault:
        return f"cannot be done: {each.fault}"
    if each.plan is None:
        return f"predictions in {each.job.predictions}"
    done = f", {each.answered:,} answered" if each.answered else ""
    parts = [f"{each.plan.requests:>7,} requests{done}"]
    if each.plan.price is not None or each.dollars is None:
        parts.append("price unknown" if each.dollars is None else f"about {each.dollars:.4g} USD")
    if each.valid:
        parts.append(f"{each.valid:,} more on the validation part if its boxes have scores")
    if each.seconds:
        parts.append(f"about {duration(each.seconds)} ({each.timed})")
    return ", ".join(parts)


def _tell(job: Job, state: str) -> None:
    if state:
        sys.stderr.write(f"{job.name}: {state}\n")


def _warn(done: Sequence[Done]) -> None:
    """What is doubtful about the predictions that were there already, on stderr."""
    from snellen.cli.printing import warn_of_import

    for each in done:
        if each.run is not None and each.job.predictions is not None:
            warn_of_import(each.run.manifest.notes)


def _lines(*, every: float = 10.0) -> Callable[[Progress], None]:
    """How far the run at hand is, a line on stderr every so many seconds."""
    from snellen.cli.watching import words

    told = 0.0

    def watch(state: Progress) -> None:
        nonlocal told
        told = min(told, state.seconds)  # another run has begun
        if state.seconds - told >= every:
            told = state.seconds
            sys.stderr.write(f"  {state.done:,} of {state.requests:,}  {words(state, None)}\n")

    return watch
