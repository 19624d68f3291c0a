"""`snellen report`: runs as pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from snellen.core.errors import SpecError

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def report(
    runs: Annotated[list[str], typer.Argument(help="Runs: folders or places that fsspec reaches.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.", show_default=False)],
    single_file: Annotated[
        bool, typer.Option("--single-file", help="Everything in one index.html, with a bounded number of pictures.")
    ] = False,
    pictures: Annotated[
        int | None,
        typer.Option(
            help="At most so many pictures per run.", min=0, show_default="5000 with boxes, 120 answers, 24 in one file"
        ),
    ] = None,
    on: Annotated[
        str, typer.Option(help="all: runs of unequal samples stand apart; common: on the samples that all answered.")
    ] = "all",
    json_: Annotated[bool, typer.Option("--json", help="Print the page's path as JSON.")] = False,
) -> None:
    """Pages that work without a network: figures, tables, maps, examples, failures, and how to do it again.

    Several runs stand beside each other: ranking, paired differences, every table with a row per run. A run that was
    not scored is scored now.

    Examples:

      snellen report runs/exam --out report

      snellen report runs/a runs/b runs/c --out report --single-file

      snellen report runs/model runs/people --out report --on common
    """
    from snellen.evals.scores import score
    from snellen.report.pages import report as write
    from snellen.runs.store import Run

    if on not in {"all", "common"}:
        raise SpecError(f"--on is all or common, got {on!r}")
    opened = [Run.open(run) for run in runs]
    for run in opened:
        if not run.scored():
            score(run)
    shared: Literal["all", "common"] = "common" if on == "common" else "all"
    path = write(opened, out, single_file=single_file, pictures=pictures, on=shared)
    typer.echo(json.dumps({"page": str(path)}) if json_ else str(path))
