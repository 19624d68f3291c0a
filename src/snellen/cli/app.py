"""`snellen`: the table of verbs. A verb's module is imported when the verb is used, so `--help` stays quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from snellen.core.errors import SnellenError, StoreError, unknown

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "An exam and its report in a minute, offline, with what the package brings along."),
    "run": ("run", "Ask a model a whole exam, or to detect; goes on where it was stopped."),
    "retry": ("retry", "Ask again what failed in a run."),
    "score": ("score", "Score a run, published answers, or predictions against truth."),
    "import": ("import_", "Make a run of answers that exist already: predictions, published answers, ratings."),
    "compare": ("compare", "Which of two runs is better, by how much, and whether the data can tell."),
    "report": ("report", "Runs as pages that work offline: figures, tables, maps, examples."),
    "view": ("view", "Look at runs sample by sample, side by side, in a browser."),
    "stimuli": ("stimuli", "Exams: list, make, check; crops for image objects."),
    "power": ("power", "How many samples a result needs, or what so many samples can tell."),
    "bench": ("bench", "Which model, with which prompt, on these pictures, at what cost, and how sure."),
    "init": ("init", "Write a commented bench.yaml for a folder of labelled pictures."),
    "data": ("data", "Data sets: what is in them; convert, split by site, few-shot sets."),
    "doctor": ("doctor", "What is wrong with a data set's files, and what it does to the numbers."),
    "probe": ("probe", "Which box notation a model really speaks."),
    "cache": ("cache", "What the cache of replies holds; clears it."),
    "parse": ("parse", "What one reply means: its boxes and points, read on standard input."),
    "list": ("list", "The names that options take: notations, formats, exams, models, ..."),
    "suite": ("suite", "Several exams of one protocol, one run each: paper, ablation."),
    "submission": ("submission", "The zip of the Roboflow100-VL challenge: write and check."),
    "version": ("version", "The versions of Snellen and of what its numbers rest on."),
}
"""Verb -> (module in `snellen.cli` that holds a Typer named `app`, one line of help)."""


class LazyVerbs(TyperGroup):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """For the list of verbs: a stand-in that knows its name and help, nothing imported."""
        _, text = VERBS[cmd_name]
        return _stand_in(cmd_name, text)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str, Any, list[str]]:
        """For the verb that was typed: its command, imported now."""
        verb = args[0]
        if verb not in VERBS:
            raise unknown("command", verb, VERBS)
        module, _ = VERBS[verb]
        command = get_command(import_module(f"snellen.cli.{module}").app)
        command.name = verb
        return verb, command, args[1:]


def _stand_in(name: str, text: str) -> Any:
    app = typer.Typer(add_completion=False)
    app.command(name, help=text)(lambda: None)
    return get_command(app)


def _told(asked: bool) -> None:
    if asked:
        typer.echo(f"snellen {metadata.version('snellen')}")
        raise typer.Exit


app = typer.Typer(cls=LazyVerbs, no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")


@app.callback(help="The eye exam for vision models: what VLMs and detectors really see, with numbers that hold.")
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_told, is_eager=True, help="Snellen's version.")
    ] = False,
) -> None: ...


def main(arguments: Sequence[str] | None = None) -> Any:
    """Runs the command line. A Snellen error is printed in one paragraph and ends with its exit code.

    So does a file that the system does not let one read or write (exit code 3).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return get_command(app).main(args=words, prog_name="snellen", standalone_mode=True)
    except SnellenError as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(f"snellen: {error}{notes}\n")
        raise SystemExit(error.exit_code) from None
    except OSError as error:
        if error.filename is None:
            raise
        sys.stderr.write(f"snellen: {error.strerror or error}: {error.filename}\n")
        raise SystemExit(StoreError.exit_code) from None
