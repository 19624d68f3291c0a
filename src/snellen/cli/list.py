"""`snellen list`: the tables of names. Each is imported when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from snellen.core.errors import unknown

Rows = dict[str, dict[str, Any]]

app = typer.Typer(add_completion=False)


def _notations() -> Rows:
    from snellen.parsing.notations import ALIASES, NOTATIONS

    return {
        name: {
            "help": known.family,
            "order": "x y" if known.points and known.box.order == "xyxy" else
            "y x" if known.points else known.box.order,
            "scale": known.scale_text,
            "formats": list(known.formats),
            "finds": "points" if known.points else "boxes",
            "clipped": known.clip,
            "aliases": [alias for alias, target in ALIASES.items() if target == name],
        }
        for name, known in NOTATIONS.items()
    }  # fmt: skip


def _formats() -> Rows:
    from snellen.parsing.formats.table import FORMATS

    return {name: {"help": form.example} for name, form in FORMATS.items()}


def _readers() -> Rows:
    return {
        "options": {
            "help": "the one option that the answer names in words, or by its letter where options are letters"
        },
        "lettered": {"help": "options shown as A, B, C ...: the letter or the words"},
        "first-number": {"help": "the first number of the answer, as the published counting results were read"},
    }


def _exams() -> Rows:
    from snellen.stimuli.table import EXAMS

    return {name: {"help": text} for name, (_, text) in EXAMS.items()}


def _models() -> Rows:
    from snellen.models.table import MODELS

    return {name: {"help": provider.help} for name, provider in MODELS.items()}


def _tasks() -> Rows:
    from snellen.evals.tasks import TASKS

    return {name: {"help": text} for name, (_, text) in TASKS.items()}


def _prompts() -> Rows:
    from snellen.prompts.templates import TEMPLATES

    return {
        name: {"help": template.multi.split(chr(10))[0], "notation": template.notation}
        for name, template in TEMPLATES.items()
    }


LISTS: Mapping[str, tuple[Callable[[], Rows], str]] = {
    "notations": (_notations, "how families of models write boxes and points"),
    "formats": (_formats, "forms of replies with boxes"),
    "readers": (_readers, "how closed answers are read"),
    "exams": (_exams, "exams on controlled stimuli"),
    "tasks": (_tasks, "what can be run"),
    "models": (_models, "providers of models"),
    "prompts": (_prompts, "wordings that ask for boxes"),
}
"""Name -> (maker of its rows, one line of help)."""


@app.command(name="list")
def show(
    what: Annotated[str, typer.Argument(help=f"One of: {', '.join(LISTS)}.", show_default="the lists there are")] = "",
    json_: Annotated[bool, typer.Option("--json", help="As JSON: name -> what is known of it.")] = False,
) -> None:
    """The names that options take.

    Examples:

      snellen list notations

      snellen list notations --json
    """
    if what and what not in LISTS:
        raise unknown("list", what, LISTS)
    rows: Rows = LISTS[what][0]() if what else {name: {"help": text} for name, (_, text) in LISTS.items()}
    if json_:
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    width = max(map(len, rows)) + 2
    for name, row in rows.items():
        if "order" in row:
            how = f"{row['order']:8}{row['scale']:26}{', '.join(row['formats']):30}"
            typer.echo(f"{name:{width}}{how}{row['help']}")
        else:
            typer.echo(f"{name:{width}}{row['help']}")
