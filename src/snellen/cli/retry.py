"""`snellen retry`: ask again what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snellen.core.errors import StoreError
from snellen.core.specs import ModelSpec, assignment

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def retry(
    run: Annotated[str, typer.Argument(help="The run.", show_default=False)],
    model_option: Annotated[
        list[str] | None,
        typer.Option("-M", help="An option of how the model is reached, key=value (timeout=600).", show_default=False),
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(help="Stop cleanly after so many requests.", min=1, show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Stop cleanly at so many USD.", min=0, show_default=False)
    ] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Score the run when it is complete.")] = True,
    json_: Annotated[bool, typer.Option("--json", help="The results as JSON; progress goes to stderr.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Asks again what failed in a run, and nothing else. Task and model are those of the run.

    Exit codes are those of `snellen run`.

    Examples:

      snellen retry runs/exam

      snellen retry runs/exam -M timeout=600 -M concurrency=2
    """
    from snellen.cli.run import carry_out, finish
    from snellen.evals.tasks import open_task
    from snellen.models.table import build
    from snellen.runs.loop import Choices, retry_choices
    from snellen.runs.store import Run

    here = Run.open(run)
    if here.manifest.kind == "import":
        raise StoreError(f"the answers of this run were imported; there is no model to ask again: {here.path}")
    task = open_task(here.manifest.task)
    stored = here.manifest.model_spec
    changed = dict(assignment(option) for option in model_option or [])
    model = build(ModelSpec(stored.provider, stored.name, {**stored.options, **changed}), task=task)
    choices = retry_choices(here, Choices(max_requests=max_requests))
    again = carry_out(task, model, choices, str(Path(run) if "://" not in run else run), budget=budget, quiet=quiet)
    finish(again, score=score, as_json=json_)
