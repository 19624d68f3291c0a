"""`snellen data`: info, convert, split, fewshot, share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from snellen.datasets.dataset import Dataset
    from snellen.datasets.write import Written

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Data sets: what is in them; convert, split.")

Data = Annotated[Path, typer.Argument(help="A data set: a file or folder of any known layout.")]
Format = Annotated[str | None, typer.Option("--format", help="The layout, where it cannot be seen.")]
Part = Annotated[str | None, typer.Option("--split", help="The part wanted, or all.")]
Images = Annotated[Path | None, typer.Option("--images", help="The folder of pictures, where it is not the usual one.")]
Allow = Annotated[list[str] | None, typer.Option("--allow", help="Load in spite of a fault: its code (repeat).")]
Out = Annotated[Path, typer.Option("--out", help="A new folder.")]
To = Annotated[str | None, typer.Option("--to", help="coco, yolo, voc or wade; default: as it was, else coco.")]
Copy = Annotated[Literal["copy", "link", "none"], typer.Option("--pictures", help="What to do with the pictures.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the random choice.", min=0)]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def info(
    data: Data,
    split: Part = "all",
    format_: Format = None,
    images: Images = None,
    allow: Allow = None,
    json_: Json = False,
) -> None:
    """What is in a data set: classes, sizes, boxes per image, attributes, and what is odd.

    Example:  snellen data info my_data/ --split test
    """
    from snellen.datasets.describe import describe
    from snellen.datasets.findings import counted

    dataset = _load(data, split, format_, images, allow)
    found = describe(dataset)
    if json_:
        found["findings"] = [finding.to_json() for finding in dataset.findings]
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    sizes_ = ", ".join(counted(found[what], what) for what in ("images", "boxes"))
    typer.echo(f"{found['name']} ({found['format']}): {sizes_}")
    empty, crowds = (counted(found[k], k.replace("_", " ")) for k in ("images_without_boxes", "crowd_regions"))
    typer.echo(f"{empty}; {crowds}")
    rows = [
        (name, c["boxes"], c["images"], _number(c["share"], 100), _number(c["per_image"]), _number(c["median_side"]))
        for name, c in found["classes"].items()
    ]
    _table(("class", "boxes", "images", "% of boxes", "per image", "median side"), rows)
    sizes = found["sizes"]
    _table(("size", "boxes"), [(f"{name} (COCO)", n) for name, n in sizes.items()])
    columns = ("min", "q25", "median", "q75", "max", "mean")
    spread = [(k, found[k]) for k in ("per_image", "box_width", "box_height") if found[k]]
    _table(("", *columns), [(k.replace("_", " "), *(_number(v[c]) for c in columns)) for k, v in spread])
    _table(("picture size", "images"), list(found["pictures"].items()))
    for name, values in found["attributes"].items():
        if set(values) != {"values"}:
            _table((name, "images", "boxes"), [(v, c["images"], c["boxes"]) for v, c in values.items()])
        else:
            typer.echo(f"\n{name}: {values['values']} values")
    _say(dataset.findings)


@app.command()
def convert(
    data: Data,
    out: Out,
    to: Annotated[str, typer.Option("--to", help="coco, yolo, voc or wade.")],
    split: Part = "all",
    format_: Format = None,
    images: Images = None,
    allow: Allow = None,
    pictures: Copy = "copy",
    json_: Json = False,
) -> None:
    """Write a data set in another format, and say what that format cannot carry.

    Example:  snellen data convert voc_folder/ --to coco --out coco_folder/
    """
    from snellen.datasets.write import write_data

    dataset = _load(data, split, format_, images, allow, extras=True)
    written = write_data(dataset, out, format=to, pictures=pictures)
    _wrote(written, {"from": dataset.format, "to": to}, json_=json_)


@app.command()
def split(
    data: Data,
    out: Out,
    by: Annotated[
        str | None, typer.Option("--by", help="The attribute that stays whole, or folder (default: site).")
    ] = None,
    groups: Annotated[Path | None, typer.Option("--groups", help="A CSV of image and site, with a head.")] = None,
    ratios: Annotated[str, typer.Option("--ratios", help="Parts and shares.")] = "train=75,valid=10,test=15",
    lookalikes: Annotated[bool, typer.Option(help="Keep nearly equal pictures in one part.")] = True,
    to: To = None,
    part: Part = "all",
    format_: Format = None,
    images: Images = None,
    allow: Allow = None,
    pictures: Copy = "copy",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Split by site: all pictures of a site, and all that look alike, in one part; as close to the shares as can be.

    Example:  snellen data split records.jsonl --by site --ratios train=75,valid=10,test=15 --out split/
    """
    from snellen.datasets.split import split_data, with_groups
    from snellen.datasets.write import write_data

    dataset = _load(data, part, format_, images, allow, extras=True)
    dataset = with_groups(dataset, groups, name=by or "site") if groups else dataset
    result = split_data(dataset, by=by, ratios=_ratios(ratios), seed=seed, lookalikes=lookalikes)
    written = write_data(result.dataset, out, format=_target(to, dataset), pictures=pictures)
    facts = result.to_json()
    if not json_:
        rows = [
            (n, _number(p["wanted"], 100), _number(p["achieved"], 100), p["images"], p["boxes"], p["groups"])
            for n, p in facts["parts"].items()
        ]
        _table(("part", "% wanted", "% achieved", "images", "boxes", result.by or "groups"), rows)
        if result.joined:
            typer.echo(f"{len(result.joined)} pairs of lookalikes tied groups together")
        if result.unchecked:
            typer.echo(f"{result.unchecked} pictures could not be read and were not compared")
    _wrote(written, facts, json_=json_)


@app.command()
def fewshot(
    data: Data,
    out: Out,
    k: Annotated[int, typer.Option("--k", "-k", help="Boxes per class.")] = 10,
    candidates: Annotated[int | None, typer.Option("--candidates", help="Random candidates (default: k).")] = None,
    area: Annotated[Literal["pixels", "relative"], typer.Option("--area", help="What the largest box is.")] = "pixels",
    to: To = "coco",
    split: Part = None,
    format_: Format = None,
    images: Images = None,
    allow: Allow = None,
    pictures: Copy = "copy",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """K boxes per class by Roboflow100-VL's rule, with the classes that are known in each image.

    Example:  snellen data fewshot my_data/ --split train -k 10 --out my_data_10shot/
    """
    from snellen.datasets.fewshot import few_shot
    from snellen.datasets.write import write_data

    dataset = _load(data, split, format_, images, allow)
    result = few_shot(dataset, k, candidates=candidates, area=area, seed=seed)
    written = write_data(result.dataset, out, format=_target(to, dataset), pictures=pictures)
    facts = result.to_json()
    if not json_:
        rows = [(n, c["boxes"], c["images"], c["available"], c["excess"]) for n, c in facts["classes"].items()]
        _table(("class", "boxes", "images", "available", "above k"), rows)
        _say(result.findings)
    _wrote(written, facts, json_=json_)


@app.command()
def share(
    data: Data,
    out: Out,
    labelled: Annotated[float, typer.Option("--labelled", help="Share of images that keep their boxes.")] = 0.1,
    to: To = None,
    split: Part = None,
    format_: Format = None,
    images: Images = None,
    allow: Allow = None,
    pictures: Copy = "copy",
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """For semi-supervised training: a random share of the images labelled, the others without their boxes.

    Example:  snellen data share my_data/ --split train --labelled 0.1 --out my_data_semi/
    """
    from snellen.datasets.fewshot import labelled_share
    from snellen.datasets.write import write_data

    dataset = _load(data, split, format_, images, allow)
    written = write_data(
        labelled_share(dataset, labelled, seed=seed), out, format=_target(to, dataset), pictures=pictures
    )
    _wrote(written, {"labelled": labelled, "seed": seed}, json_=json_)


def _load(
    data: Path,
    split: str | None,
    format_: str | None,
    images: Path | None,
    allow: list[str] | None,
    *,
    extras: bool = False,
) -> Dataset:
    from snellen.datasets.load import load_data

    return load_data(data, format=format_, split=split, images=images, allow=allow or (), extras=extras)


def _target(to: str | None, dataset: Dataset) -> str:
    from snellen.datasets.write import WRITERS

    return to or (dataset.format if dataset.format in WRITERS else "coco")


def _ratios(text: str) -> dict[str, float]:
    from snellen.core.errors import SpecError

    try:
        pairs = [(name.strip(), float(share)) for name, share in (item.split("=") for item in text.split(","))]
    except ValueError as error:
        raise SpecError(f"shares are written train=75,valid=10,test=15, got {text!r}") from error
    if len(dict(pairs)) < len(pairs):
        raise SpecError(f"each part has one share, got {text!r}")
    return dict(pairs)


def _wrote(written: Written, facts: dict[str, Any], *, json_: bool) -> None:
    from snellen.datasets.findings import counted

    parts = {name: {"images": images, "boxes": boxes} for name, (images, boxes) in written.parts.items()}
    said = [finding.to_json() for finding in written.findings]
    if json_:
        typer.echo(
            json.dumps({**facts, "written": parts, "folder": str(written.folder), "said": said}, ensure_ascii=False)
        )
        return
    _say(written.findings)
    for name, counts in parts.items():
        sizes = ", ".join(counted(n, what) for what, n in counts.items())
        typer.echo(f"wrote {sizes}{f' ({name})' if name else ''}")
    typer.echo(f"in {written.folder}")


def _say(findings: Iterable[Any]) -> None:
    for finding in findings:
        typer.echo(f"{finding.severity}: {finding.message} [{finding.code}]")


def _number(value: float | None, scale: float = 1) -> str:
    return "" if value is None else f"{value * scale:.1f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    texts = [tuple(heads), *(tuple(f"{v:,}" if isinstance(v, int) else str(v) for v in row) for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(heads))]
    typer.echo("")
    for row in texts:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
