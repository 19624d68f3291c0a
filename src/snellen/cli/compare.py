"""`snellen compare A B`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from snellen.core.errors import SpecError

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def compare(
    a: Annotated[Path, typer.Argument(help="A scored run.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another scored run of the same task.", show_default=False)],
    on: Annotated[str, typer.Option(help="all: refuse unequal samples; common: those that both answered.")] = "all",
    metric: Annotated[list[str] | None, typer.Option(help="Only these metrics (repeatable).")] = None,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.", min=100)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Which of two runs is better, by how much, and whether the data can tell.

    The differences are paired (both runs answered the same samples), with intervals over clusters and p values
    corrected for the number of metrics (Holm). Runs that must not be compared are refused, with the reason.

    Example:  snellen compare runs/a runs/b --metric accuracy
    """
    if on not in {"all", "common"}:
        raise SpecError(f"--on is all or common, got {on!r}")
    from snellen.evals.comparison import compare_runs
    from snellen.runs.store import Run

    found = compare_runs(
        Run.open(a), Run.open(b), on="common" if on == "common" else "all", metrics=metric or (), draws=draws, seed=seed
    )
    if json_:
        typer.echo(json.dumps(found.to_json()))
        return
    from snellen.cli.printing import show_comparison

    show_comparison(found)
