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
