"""`snellen probe`: which box notation a model really speaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from snellen.core.stages import Model

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def probe(
    model: Annotated[str, typer.Argument(help="provider/name, or @name from models.yaml.", show_default=False)],
    model_option: Annotated[
        list[str] | None, typer.Option("-M", help="An option of the model, key=value.", show_default=False)
    ] = None,
    prompt: Annotated[str, typer.Option(help="The wording that asks for boxes.")] = "qwen3-vl",
    notation: Annotated[
        str | None, typer.Option(help="The notation to check.", show_default="as the prompt prescribes")
    ] = None,
    on: Annotated[
        Path | None, typer.Option(help="Labelled pictures to ask about instead of coloured shapes.", show_default=False)
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="The part of --on (never the one that is tested).",
            show_default="train; the whole, where it has no parts",
        ),
    ] = None,
    scenes: Annotated[int, typer.Option(help="How many scenes.", min=4)] = 36,
    questions: Annotated[
        bool,
        typer.Option("--questions", help="Ask closed questions instead: does an option's place or length sway it?"),
    ] = False,
    models: Annotated[Path, typer.Option(help="The YAML file in which @names stand.")] = Path("models.yaml"),
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Asks about scenes whose boxes are known, and says which notation (order, scale, frame) explains the replies.

    What is found is remembered for this model and prompt: `run` and `bench` stop where it contradicts what they
    declare. Exit code 6 where the replies contradict the declared notation.

    Examples:

      snellen probe openai/my-vlm -M base_url=http://localhost:8000/v1

      snellen probe @mine --prompt wade --on my_data/

      snellen probe @mine --questions
    """
    from snellen.core.errors import DataError, SpecError
    from snellen.models.named import resolve
    from snellen.models.table import build
    from snellen.probing.contradiction import probe as ask
    from snellen.probing.memory import remember
    from snellen.probing.scenes import CLASSES, probe_scenes

    if questions:
        if on is not None or notation is not None:
            raise SpecError("--questions asks about plain shapes: it takes neither --on nor --notation")
        _questions(build(resolve(model, model_option or [], file=models)), scenes, as_json=json_)
        return
    asked, classes = probe_scenes(scenes), CLASSES
    if on is not None:
        from snellen.datasets.load import load_data, parts_of

        parted = any(part.name for part in parts_of(on, split="all"))
        split = split or ("train" if parted else "all")
        data = load_data(on, split=split)
        asked = tuple(sample for sample in data.samples() if len(sample.truth))[:scenes]
        if not asked:
            raise DataError(f"no picture of the part {split!r} has a box to ask about: {on}")
        classes = data.classes
    asking = build(resolve(model, model_option or [], file=models))
    found = ask(asking, prompt=prompt, notation=notation, samples=asked, classes=classes)
    if on is None and found.answered and not found.failed:
        remember(found, asking)
    if json_:
        typer.echo(json.dumps(found.to_json()))
    else:
        typer.echo(found.reason)
        for name, value in found.agreement.items():
            typer.echo(f"  {value:.3f}  {name}")
        typer.echo(f"{found.answered} of {found.answered + found.failed} replies, {found.boxes} boxes")
    if found.contradicted:
        raise typer.Exit(6)


def _questions(model: Model, scenes: int, *, as_json: bool) -> None:
    """Asks closed questions in all orders of their options and tells what sways the answers."""
    from snellen.probing.questions import probe_questions

    found = probe_questions(model, scenes=scenes)
    if as_json:
        typer.echo(json.dumps(found.to_json()))
        return
    for sentence in found.sentences():
        typer.echo(sentence)
    typer.echo(
        f"{found.answered} of {found.answered + found.failed} requests about {found.questions} questions answered"
    )
