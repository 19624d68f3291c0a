"""`snellen doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    data: Annotated[Path, typer.Argument(help="A data set: a file or folder of any known layout.")],
    split: Annotated[str, typer.Option(help="One part only (train, valid, test ...).")] = "all",
    format_: Annotated[str | None, typer.Option("--format", help="The layout, where it cannot be seen.")] = None,
    images: Annotated[Path | None, typer.Option(help="The folder of pictures, where it is not the usual one.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Predictions: what each fault does to their score.")] = None,
    pictures: Annotated[bool, typer.Option(help="Read every picture whole.")] = True,
    effects: Annotated[
        bool | None, typer.Option(help="Scores with and without each fault (default: up to 400,000 boxes).")
    ] = None,
    repair: Annotated[Path | None, typer.Option(help="Write a mended copy into this new folder.")] = None,
    write_as: Annotated[str | None, typer.Option(help="Format of the copy: coco, yolo, voc, wade.")] = None,
    copy: Annotated[Literal["copy", "link", "none"], typer.Option(help="What the copy does with pictures.")] = "copy",
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Finds everything in a data set that silently changes a score: where it is, and what it does to the numbers.

    Looks at ids, references, boxes, classes, instructions, file names, every picture, and for the same picture in two
    parts. Ends with exit code 1 where there are errors. Nothing is changed: `--repair` writes a mended copy elsewhere.

    Examples:

      snellen doctor my_data/
      snellen doctor my_data/ --split test --predictions results.json --json
      snellen doctor my_data/ --repair my_data_mended/
    """
    from snellen.doctor.examine import examine
    from snellen.doctor.repair import repair as mended
    from snellen.doctor.repair import told

    found = examine(
        data,
        format=format_,
        split=split,
        images=images,
        predictions=predictions,
        pictures=pictures,
        effects_of_all=effects,
    )
    result = mended(found, repair, format=write_as, pictures=copy) if repair else None
    if json_:
        whole = found.to_json() | ({"repaired": result.to_json()} if result else {})
        typer.echo(json.dumps(whole, ensure_ascii=False))
    else:
        for line in found.lines():
            typer.echo(line)
        for line in told(result) if result else ():
            typer.echo(line)
    if found.counts["errors"] or (strict and found.counts["warnings"]):
        raise typer.Exit(1)
