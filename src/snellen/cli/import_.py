"""`snellen import`: predictions, published answers and human ratings become runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from snellen.cli.references import ClassRefs, ImageRefs

app = typer.Typer(add_completion=False)


@app.command("import", no_args_is_help=True)
def import_(
    file: Annotated[Path, typer.Argument(help="The file (or folder) of answers.", show_default=False)],
    as_: Annotated[str, typer.Option("--as", help="coco, predictions, civet-results or ratings.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the new run.", show_default=False)],
    truth: Annotated[
        str | None, typer.Option(help="What is true: a COCO file or data folder; for ratings an exam's name.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the model is called.", show_default="the file's name")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="Format of predictions.", show_default="seen")] = None,
    split: Annotated[str | None, typer.Option(help="The part of the data folder.", show_default=False)] = None,
    nms: Annotated[
        float | None,
        typer.Option(help="Of predictions: the IoU above which the worse of two boxes of a class is left out."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Of predictions: `present` leaves out classes that are not in the picture (referential).",
            show_default="all",
        ),
    ] = None,
    image_refs: ImageRefs = None,
    class_refs: ClassRefs = None,
    images: Annotated[
        str | None, typer.Option(help="Of civet-results: the folder of pictures, <stim>.png.", show_default=False)
    ] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Score it at once.")] = True,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Makes a run of answers that exist already, so that report and compare serve them like any other.

    Examples:

      snellen import predictions.json --as coco --truth test/_annotations.coco.json --out runs/yolo

      snellen import labels/ --as predictions --truth my_data/ --split test --class-refs index0 --out runs/v8

      snellen import results.json.gz --as civet-results --out runs/qwen2-vl-7b

      snellen import results.json.gz --as civet-results --images exam/images --out runs/qwen2-vl-7b   # with maps

      snellen import ratings.csv --as ratings --truth civet/single-object --out runs/people
    """
    from snellen.cli.printing import show_results, warn_of_import
    from snellen.evals.imports import import_file

    run = import_file(
        file, kind=as_, out=out, name=name, truth=truth, format=format_, split=split, images=images, nms=nms,
        classes=classes, image_refs=image_refs, class_refs=class_refs,
    )  # fmt: skip
    facts = dict(run.manifest.notes)
    warn_of_import(facts)
    if score:
        from snellen.evals.scores import score as score_run

        results = score_run(run)
        if not json_:
            show_results(results)
    if json_:
        typer.echo(json.dumps({"run": run.path, "samples": run.manifest.samples, **facts}))
    else:
        typer.echo(f"{run.manifest.samples:,} samples in {run.path}")
