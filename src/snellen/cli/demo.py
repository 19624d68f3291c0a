"""`snellen demo`: the main job, offline, with what the package brings along."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from snellen.bench.config import Bench
    from snellen.bench.plan import Job

app = typer.Typer(add_completion=False)

DATA: dict[str, Any] = {
    "properties": {"exam": "civet/single-object"},
    "relations": {"exam": "civet/relative-position"},
    "counting": {"exam": "civet/counting"},
    "acuity": {"exam": "civet/acuity"},
    "scenes": {
        "exam": "civet/detection",
        "options": {"scenes": 16, "objects": [1, 2, 3], "grid": 3, "sizes": ["regular"]},
        "regimes": {"all classes": {}, "a class a call": {"calls": "single"}},
    },
}
"""Four exams, and a set of detection scenes under two regimes."""

EMBEDDED: dict[str, Any] = {
    "embedded": {"model": "embedded/snellen-tiny"},
    "embedded drawn": {"model": "embedded/snellen-tiny", "options": {"temperature": 0.7}},
}
"""The small vision-language model that travels with the package: greedy, and drawn at a temperature with two seeds."""

OTHERS: dict[str, Any] = {
    "observer 48 px": {"model": "observer/48px"},
    "observer 24 px": {"model": "observer/24px"},
    "chance": {"model": "random"},
}


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report; the runs lie beside it.")] = Path("demo-report"),
    sample: Annotated[int, typer.Option(help="Questions of each exam.", min=10)] = 40,
    keep: Annotated[bool, typer.Option("--keep", help="Go on with the runs of an earlier demo.")] = False,
) -> None:
    """A bench without a network, a key or a graphics card: the embedded model beside observers and chance.

    Exams of properties, relations, counting and acuity, and detection scenes; it ends with the report's path.

    Example:  snellen demo --out demo-report
    """
    from snellen.bench.config import Bench
    from snellen.bench.execute import check_names, execute
    from snellen.bench.plan import jobs_of
    from snellen.bench.table import conclude
    from snellen.report.decision import bench_report

    models = {**EMBEDDED, **OTHERS} if find_spec("xllamacpp") else OTHERS
    if models is OTHERS:
        sys.stderr.write("the embedded model is left out: it needs  pip install 'snellen[llamacpp]'\n")
    bench: Bench = Bench.model_validate(
        {"data": DATA, "models": models, "sample": sample, "seeds": [0, 1], "bootstrap": 400}
    )
    store = out.parent / f"{out.name}-runs"
    if not keep and store.exists():
        shutil.rmtree(store)
    done = execute(bench, jobs_of(bench), store, told=_tell)
    check_names(done)
    outcome = conclude(bench, done)
    for decision in outcome.decisions:
        typer.echo(f"{decision.data}: {decision.sentence}")
    page = bench_report(bench, done, outcome, out)
    typer.echo(f"report: {page.resolve()}")


def _tell(job: Job, state: str) -> None:
    if state:
        sys.stderr.write(f"  {job.data:12} {job.model:16} {job.regime:16} {state}\n")
