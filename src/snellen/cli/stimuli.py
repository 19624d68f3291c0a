"""`snellen stimuli`: the exams, their pictures as files, and what is balanced in them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from snellen.core.errors import SpecError
from snellen.core.specs import Json, assignment

if TYPE_CHECKING:
    from snellen.core.stages import AnyTask
    from snellen.evals.arranged import Arranged, InFolder

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Exams: list, make, check; crops for image objects.")

Options = Annotated[list[str] | None, typer.Option("-T", help="An option of the exam, key=value.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_(json_: AsJson = False) -> None:
    """The exams, and the options of each with their defaults.

    Example:  snellen stimuli list
    """
    from snellen.evals.civet import DETECTION
    from snellen.evals.scenes import OPTIONS
    from snellen.stimuli.table import EXAMS, options_of

    options = {name: _plain(options_of(name)) for name in EXAMS}
    options[DETECTION] = _plain(OPTIONS)
    helps = {name: text for name, (_, text) in EXAMS.items()}
    helps[DETECTION] = "several objects to find, boxes known to the pixel: 200 scenes"
    if json_:
        typer.echo(json.dumps({name: {"help": helps[name], "options": options[name]} for name in helps}))
        return
    for name, text in helps.items():
        typer.echo(f"{name:22}{text}")
        for option, default in options[name].items():
            typer.echo(f"{'':24}{option}={'(needed)' if default is None else json.dumps(default)}")


@app.command()
def make(
    exam: Annotated[str, typer.Argument(help="An exam, or the file of one of yours.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="A new or empty folder.", show_default=False)],
    option: Options = None,
    json_: AsJson = False,
) -> None:
    """Writes an exam in the layout of CIVET's authors: images/, repr.json, questions.json, answers.json.

    Detection scenes become a COCO folder: pictures beside _annotations.coco.json.

    Examples:

      snellen stimuli make single-object --out exam

      snellen stimuli make counting --out seven -T side=336 -T counts=[6,7,8] -T arrangement=clustered

      snellen run civet/folder exam -m observer/48 -o runs/exam

      snellen stimuli make detection --out scenes -T scenes=50 -T "label=colour shape"
    """
    source = _open(exam, option or []).samples
    if not hasattr(source, "write"):
        raise SpecError(f"{exam} is a folder already; an exam is needed")
    pictures = source.write(out)
    facts = {"pictures": pictures, "samples": len(source), "folder": str(out)}
    typer.echo(json.dumps(facts) if json_ else f"{out}: {pictures:,} pictures, {len(source):,} samples")


@app.command()
def check(
    exam: Annotated[
        str, typer.Argument(help="An exam, the file of one of yours, or a folder of stimuli.", show_default=False)
    ],
    option: Options = None,
    json_: AsJson = False,
) -> None:
    """Counts what is balanced in an exam and what is not: labels, cells, factors, option orders, true-option places.

    Of a folder, the pictures are looked at as well: each must be there, whole, and show its world, where that is told.

    Examples:

      snellen stimuli check relative-position

      snellen stimuli check exam/ --json
    """
    from snellen.evals.arranged import certificate

    source = _source(_open(exam, option or []))
    found: dict[str, Any] = dict(certificate(source))
    if Path(exam).is_dir():
        from snellen.stimuli.layout import check_pictures

        found["pictures"] = check_pictures(Path(exam))
    if json_:
        typer.echo(json.dumps(found))
        return
    for kind, facts in found["kinds"].items():
        _show(kind, facts)
    if "pictures" in found:
        typer.echo("pictures: " + ", ".join(f"{n:,} {what}" for what, n in found["pictures"].items()))


@app.command()
def crops(
    data: Annotated[str, typer.Argument(help="A data set with boxes.", show_default=False)],
    model: Annotated[str, typer.Option("--model", "-m", help="The scorer: provider/name.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the gallery.", show_default=False)],
    model_option: Annotated[
        list[str] | None, typer.Option("-M", help="An option of the model, key=value.", show_default=False)
    ] = None,
    split: Annotated[str | None, typer.Option(help="The part of the data set.", show_default=False)] = None,
    models: Annotated[Path, typer.Option(help="The YAML file in which @names stand.")] = Path("models.yaml"),
    min_side: Annotated[int, typer.Option(help="Smaller boxes are left out, px.", min=1)] = 32,
    categories: Annotated[int, typer.Option(help="How many of the best categories to show.", min=1)] = 10,
    best: Annotated[int, typer.Option(help="How many crops of each to show.", min=1)] = 10,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: AsJson = False,
) -> None:
    """Ranks every box crop of a data set by a scorer, and shows the best of the best categories to pick from.

    The answers are a run in OUT/run; the same command again goes on where it was stopped.

    Examples:

      snellen stimuli crops coco/ -m clip/openai/clip-vit-large-patch14-336 -o gallery

      snellen stimuli pick gallery giraffe=3 zebra=1 elephant=2 --to images

      snellen run civet/single-object-image -T images=images -m @mine -o runs/animals
    """
    from snellen.cli.run import carry_out
    from snellen.evals.crops import write_gallery
    from snellen.evals.tasks import open_task
    from snellen.models.named import resolve
    from snellen.models.table import build
    from snellen.runs.loop import Choices

    task = open_task({"task": "crops", "data": data, "split": split, "min_side": min_side})
    spec = resolve(model, model_option or [], file=models)
    run = carry_out(task, build(spec, task=task), Choices(), str(out / "run"), quiet=quiet)
    found = write_gallery(run, out, categories=categories, best=best)
    if json_:
        typer.echo(json.dumps([{"category": e.category, "n": e.n, "accuracy": e.accuracy} for e in found]))
        return
    for each in found:
        typer.echo(f"{each.category:24}{each.n:6,} crops  {each.accuracy:6.1%} named right")
    typer.echo(f"look at {out / 'index.html'} and pick:  snellen stimuli pick {out} CATEGORY=RANK ... --to images")


@app.command()
def pick(
    gallery: Annotated[Path, typer.Argument(help="The folder that `crops` made.", show_default=False)],
    choices: Annotated[list[str], typer.Argument(help="category=rank ...", show_default=False)],
    to: Annotated[Path, typer.Option(help="The folder of image objects.")] = Path("images"),
) -> None:
    """Takes the crops that a person chose as image objects.

    Example:  snellen stimuli pick gallery giraffe=3 zebra=1 elephant=2 --to images
    """
    from snellen.evals.crops import pick as take

    chosen: dict[str, int] = {}
    for category, rank in (assignment(choice) for choice in choices):
        if isinstance(rank, bool) or not isinstance(rank, int):
            raise SpecError(f"a choice is written category=rank, got {category}={rank}")
        chosen[category] = rank
    for path in take(gallery, chosen, to):
        typer.echo(str(path))


def _show(kind: str, facts: Mapping[str, Any]) -> None:
    constant = facts["constant_answer"]
    typer.echo(f"{kind}: {facts['n']:,} questions, {facts['options']} options")
    typer.echo(
        f"  by guessing {facts['uniform_guess']:.1%}; always answering {constant['label']!r} {constant['accuracy']:.1%}"
        f" (F1 {constant['f1']:.1%} on that label)"
    )
    for name, part in facts.items():
        if not isinstance(part, dict) or "balanced" not in part:
            continue
        mark = "balanced" if part["balanced"] else "uneven"
        told = ", ".join(
            f"{key} {value:,}" for key, value in part.items() if isinstance(value, int) and key != "balanced"
        )
        typer.echo(f"  {name.replace('_', ' '):22}{mark:10}{told}")


def _open(exam: str, options: Sequence[str]) -> AnyTask:
    """An exam by name (`civet/` may be left out), by file, or by folder."""
    from snellen.evals.tasks import open_task

    given: dict[str, Json] = dict(assignment(option) for option in options)
    path = Path(exam)
    if path.is_dir():
        return open_task({"task": "civet/folder", "data": exam, **given})
    if path.suffix in {".yaml", ".yml", ".py"}:
        return open_task({"task": "civet/custom", "file": exam, **given})
    return open_task({"task": exam if exam.startswith("civet/") else f"civet/{exam}", **given})


def _source(task: AnyTask) -> Arranged | InFolder:
    from snellen.evals.arranged import Arranged, InFolder

    if not isinstance(task.samples, Arranged | InFolder):
        raise SpecError(f"{task.spec['task']} is no exam of closed questions")
    return task.samples


def _plain(options: Mapping[str, Any]) -> dict[str, Json]:
    return {
        name: None if default is inspect.Parameter.empty else list(default) if isinstance(default, tuple) else default
        for name, default in options.items()
    }
