"""`snellen init`: a commented bench.yaml for a folder of labelled pictures."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)

TEXT = """\
# What is compared on what. Run it:  snellen bench {file}
# Look first, nothing is asked:      snellen bench {file} --dry-run

data:
  {name}:
    path: {path}          # {images:,} pictures, {boxes:,} boxes, {classes} classes in the part {split}
    split: {split}

models:
  # A model behind any OpenAI-compatible server; the key is read from the environment (OPENAI_API_KEY, or key_env).
  my-vlm:
    model: openai/my-vlm
    options: {{base_url: "http://localhost:8000/v1", concurrency: 8}}
    prompt: qwen3-vl      # the wording, and with it the notation of boxes: snellen list notations
    # price: [0.2, 0.6]   # USD per million tokens in, out; needed for a budget where the price is not known
    # context: 32768      # tokens that it can take: prompts beyond are refused before anything is asked
    # single_picture: true   # it takes one picture a request: no few-shot
  # A detector whose predictions are there already (COCO results, ultralytics predictions.json, YOLO txt, ...).
  # my-detector:
  #   predictions: {{{name}: predictions.json}}
  #   valid_predictions: {{{name}: valid.json}}   # of the validation part: F1 counts boxes from the best score there
  # What chance gives: the floor of every table.
  chance:
    model: random

regimes:                  # ways of asking; every model that is asked runs under each
  zero-shot: {{}}
  # one-by-one: {{calls: single}}   # a prompt for each class, held against zero-shot model by model
{few}{knowledge}
# metric: f1              # default: ap where every model gives confidences, else f1
# sample: 300             # so many pictures of each part, drawn with the seed
# seeds: [0, 1]           # several draws of the few-shot examples
# operating_point: best-f1-on-valid   # also ask about the validation part, where boxes have scores; or a score, or all
# budget: 5.00            # USD for everything together; the bench stops cleanly there and goes on later
"""


@app.command(no_args_is_help=True)
def init(
    data: Annotated[Path, typer.Argument(help="A folder of labelled pictures.", show_default=False)],
    split: Annotated[
        str | None, typer.Option(help="The part to test on.", show_default="test, else valid or val, else the only one")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write.", show_default="standard output")
    ] = None,
) -> None:
    """Reads the folder and writes a bench file that fits it, with what else could be said as comments.

    Example:  snellen init my_data/ > bench.yaml
    """
    from snellen.core.errors import SpecError
    from snellen.datasets.load import load_data, parts_of

    names = [part.name for part in parts_of(data, split="all")]
    chosen = _part(names, data) if split is None else split
    found = load_data(data, split=chosen)
    train = "train" in names and chosen != "train"
    rules = found.class_file is not None and all(entry.rules for entry in found.class_file.entries)
    text = TEXT.format(
        file=out or "bench.yaml",
        name=_quoted(data.resolve().name.replace(" ", "-").lstrip(".") or "data"),
        path=_quoted(str(data if out is None else data.resolve())),
        split=_quoted(chosen),
        images=len(found),
        boxes=len(found.truth),
        classes=len(found.classes),
        few="  few-shot: {regime: few-shot, shots: 2}\n" if train else "  # few-shot: needs a part `train`\n",
        knowledge="  knowledge: {regime: knowledge}\n"
        if rules
        else "  # knowledge: needs rules of classes in classes.yaml\n",
    )
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists():
        raise SpecError(f"there is such a file already: {out}")
    out.write_text(text, encoding="utf-8")
    sys.stderr.write(f"{out}: edit the models, then  snellen bench {out}\n")


def _part(names: list[str], data: Path) -> str:
    """The part to test on, where nobody said which."""
    from snellen.core.errors import SpecError

    for name in ("test", "valid", "val"):
        if name in names:
            return name
    if len(names) > 1:
        raise SpecError(f"which part shall be tested on?  --split {' | '.join([*names, 'all'])}: {data}")
    return names[0]


def _quoted(text: str) -> str:
    """A text as YAML reads it back: plain where nothing in it means anything else."""
    return (
        text if re.fullmatch(r"(?!(?i:true|false|yes|no|on|off|null)$)[A-Za-z_./][\w./-]*", text) else json.dumps(text)
    )
