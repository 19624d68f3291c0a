"""`snellen bench`: data, models, regimes, a budget -> resumable runs and one decision."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from snellen.bench.config import Bench
    from snellen.bench.decide import Decision
    from snellen.bench.plan import Job

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
    jobs = jobs_of(chosen)
    if dry_run:
        _plan(chosen, jobs, as_json=json_)
        return
    done = execute(chosen, jobs, out, told=_tell)
    check_names(done)
    outcome = conclude(chosen, done)
    out.mkdir(parents=True, exist_ok=True)
    (out / "decision.json").write_text(json.dumps(outcome.to_json(), indent=1), encoding="utf-8")
    if json_:
        typer.echo(json.dumps(outcome.to_json()))
    else:
        for decision in (*outcome.decisions, *([outcome.overall] if outcome.overall else [])):
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

    from snellen.cli.printing import number, short

    table = Table(title=f"{decision.data}: {decision.metric}", title_justify="left", header_style="bold")
    for column in ("model", "score", "behind the best", "USD/1,000", "s/1,000", "unreadable", "verdict"):
        table.add_column(column, justify="left" if column in {"model", "verdict"} else "right")
    for row in decision.rows:
        gap = "" if row.gap is None else number(row.gap.difference.value, signed=True)
        if row.gap is not None and row.gap.difference.low is not None:
            gap += f" [{number(row.gap.difference.low, signed=True)}, {number(row.gap.difference.high, signed=True)}]"
        facts = row.facts
        table.add_row(
            row.name,
            short(row.score),
            gap,
            number(facts.get("dollars_per_1000")),
            number(facts.get("seconds_per_1000")),
            str(facts.get("unreadable", "")),
            row.verdict,
        )
    console = Console()
    console.print(table)
    console.print(decision.sentence, highlight=False)
    for name, reason in decision.refused.items():
        console.print(f"not compared  {name}: {reason}", highlight=False)


def _plan(chosen: Bench, jobs: list[Job], *, as_json: bool) -> None:
    from snellen.bench.plan import price

    plans = [(job, price(chosen, job)) for job in jobs]
    if as_json:
        typer.echo(json.dumps([{"job": j.name, **({} if p is None else p.to_json())} for j, p in plans]))
        return
    total = 0.0
    for job, found in plans:
        if found is None:
            typer.echo(f"{job.name:60} predictions in {job.predictions}")
            continue
        dollars = "price unknown" if found.dollars is None else f"about {found.dollars:.4g} USD"
        total += found.dollars or 0.0
        typer.echo(f"{job.name:60} {found.requests:>8,} requests  {dollars}")
    budget = "" if chosen.budget is None else f" of a budget of {chosen.budget:g}"
    typer.echo(f"{len(plans)} runs, about {total:.4g} USD{budget}")


def _tell(job: Job, state: str) -> None:
    if state:
        sys.stderr.write(f"{job.name}: {state}\n")
