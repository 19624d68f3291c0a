"""`snellen suite`: several exams of one protocol, one run each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def suite(
    name: Annotated[str, typer.Argument(help="paper or ablation.", show_default=False)],
    model: Annotated[str, typer.Option("--model", "-m", help="provider/name, or @name.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the runs.", show_default=False)],
    model_option: Annotated[
        list[str] | None, typer.Option("-M", help="An option of the model, key=value.", show_default=False)
    ] = None,
    images: Annotated[
        str | None, typer.Option(help="A folder of pictures for image objects.", show_default=False)
    ] = None,
    models: Annotated[Path, typer.Option(help="The YAML file in which @names stand.")] = Path("models.yaml"),
    sample: Annotated[
        int | None, typer.Option(help="N questions of each exam, in strata.", min=1, show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample.", min=0)] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="The accuracies as JSON.")] = False,
) -> None:
    """Runs and scores every exam of a suite; the same command again goes on where it was stopped.

    The samples drawn are the same in every exam of the suite that asks the same questions, so differences are paired.

    Examples:

      snellen suite ablation -m observer/48 --sample 400 -o runs/ablation

      snellen report runs/ablation/* --out report
    """
    from snellen.cli.run import carry_out
    from snellen.core.errors import IncompleteError
    from snellen.evals.scores import score
    from snellen.evals.suites import suite as exams
    from snellen.evals.tasks import open_task
    from snellen.models.named import resolve
    from snellen.models.table import build
    from snellen.runs.loop import Choices
    from snellen.runs.manifest import Selection

    spec = resolve(model, model_option or [], file=models)
    selection = Selection(sample=sample, seed=seed if sample else 0)
    found: dict[str, object] = {}
    for run_name, task_spec in exams(name, images=images).items():
        task = open_task(task_spec)
        done = carry_out(task, build(spec, task=task), Choices(selection=selection), str(out / run_name), quiet=quiet)
        try:
            accuracy = score(done).metrics["accuracy"]
        except IncompleteError as error:
            typer.echo(f"{run_name:36}not scored: {error}", err=True)
            found[run_name] = None
            continue
        found[run_name] = accuracy.to_json()
        if not json_:
            interval = (
                "" if accuracy.low is None or accuracy.high is None else f"{accuracy.low:.3f} to {accuracy.high:.3f}"
            )
            typer.echo(f"{run_name:36}accuracy {accuracy.value:.3f}  {interval}")
    if json_:
        typer.echo(json.dumps(found))
    else:
        typer.echo(f"next:  snellen report {out}/* --out report")
    if any(value is None for value in found.values()):
        raise typer.Exit(IncompleteError.exit_code)
