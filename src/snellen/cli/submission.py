"""`snellen submission`: the challenge's zip, written from runs and validated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from snellen.core.errors import DataError, SpecError

app = typer.Typer(add_completion=False, no_args_is_help=True, help="The zip of the Roboflow100-VL challenge.")


@app.command(no_args_is_help=True)
def write(
    runs: Annotated[list[Path], typer.Argument(help="Detection runs, one per data set.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The zip to write.", show_default=False)],
) -> None:
    """Writes a row per image of each run's data set, and validates what was written.

    Example:  snellen submission write runs/aerial runs/boats --out submission.zip
    """
    from snellen.datasets.load import load_data
    from snellen.evals.submission import check_submission, predictions_of, rows_of, write_submission
    from snellen.runs.store import Run

    sets, truths = {}, {}
    for path in runs:
        run = Run.open(path)
        spec = run.manifest.task
        if spec.get("task") != "detect":
            raise SpecError(f"a submission is made of detection runs, this one is {spec.get('task')}: {path}")
        data = load_data(Path(spec["data"]), format=spec.get("format"), split=spec.get("split"))
        slug = Path(spec["data"]).resolve().name
        if slug in sets:
            raise SpecError(f"two runs are of the data set {slug!r}")
        sets[slug], truths[slug] = rows_of(data, predictions_of(run)), data
    write_submission(out, sets)
    faults = check_submission(out, truths)
    if faults:
        raise DataError(f"what was written is not valid: {'; '.join(faults[:5])}")
    typer.echo(f"{out}: {len(sets)} data sets, {sum(len(rows) for rows in sets.values()):,} images, valid")


@app.command(no_args_is_help=True)
def check(
    file: Annotated[Path, typer.Argument(help="The zip.", show_default=False)],
    data: Annotated[list[Path], typer.Option(help="The data sets' folders (repeatable).", show_default=False)],
    split: Annotated[str, typer.Option(help="Their part.")] = "test",
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Says what is wrong with a submission; exit code 1 where something is. Nothing in it is executed.

    Example:  snellen submission check submission.zip --data aerial --data boats
    """
    from snellen.datasets.load import load_data
    from snellen.evals.submission import check_submission

    faults = check_submission(file, {path.resolve().name: load_data(path, split=split) for path in data})
    if json_:
        typer.echo(json.dumps({"valid": not faults, "faults": faults}))
    else:
        typer.echo("\n".join(faults) if faults else f"{file}: valid")
    if faults:
        raise typer.Exit(1)
