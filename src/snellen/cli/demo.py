"""`snellen demo`: the main job, offline, with what the package brings along."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from snellen.core.specs import Json

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Sitting:
    """One model taking one exam."""

    name: str
    task: Mapping[str, Json]
    model: str
    options: tuple[str, ...] = ()
    sample: int | None = None


EXAM: dict[str, Json] = {"task": "civet/single-object"}

SITTINGS = (
    Sitting("observer, full sight", EXAM, "observer/672px", sample=2000),
    Sitting("observer, 48 px", EXAM, "observer/48px", sample=2000),
    Sitting("observer, 24 px", EXAM, "observer/24px", sample=2000),
    Sitting("chance", EXAM, "random", sample=2000),
    Sitting("majority", EXAM, "majority", sample=2000),
)
"""What the demo runs: every sitting of one task answers the same questions."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report; the runs lie in its sub-folder `runs`.")] = Path(
        "demo-report"
    ),
    keep: Annotated[bool, typer.Option("--keep", help="Go on with the runs of an earlier demo.")] = False,
) -> None:
    """An exam without a network, a key or a graphics card: observers of three sights beside chance, and a report.

    Example:  snellen demo --out demo-report
    """
    from snellen.cli.printing import number
    from snellen.core.specs import ModelSpec
    from snellen.evals.scores import score
    from snellen.evals.tasks import open_task
    from snellen.models.table import build
    from snellen.report.pages import report
    from snellen.runs.loop import run

    runs = []
    store = out.parent / f"{out.name}-runs"
    if not keep and store.exists():
        shutil.rmtree(store)
    for sitting in SITTINGS:
        task = open_task(sitting.task)
        model = build(ModelSpec.parse(sitting.model, sitting.options), task=task)
        done = run(task, model, store / sitting.name.replace(", ", "-").replace(" ", "-"), sample=sitting.sample)
        found = score(done).metrics["accuracy"]
        runs.append(done)
        typer.echo(f"{sitting.name:24} accuracy {number(found.value)}  [{number(found.low)}, {number(found.high)}]")
    page = report(runs, out)
    typer.echo(f"report: {page.resolve()}")
