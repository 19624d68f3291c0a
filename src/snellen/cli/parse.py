"""`snellen parse`: what one reply means, as scoring would read it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Size

if TYPE_CHECKING:
    from snellen.core.stages import Finish, Reading
    from snellen.parsing.boxes import Grounded

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def parse(
    notation: Annotated[str, typer.Option(help="How the model writes boxes: `snellen list notations`.")],
    size: Annotated[str, typer.Option(help="Width and height of the picture, px: 640x480.")],
    input_size: Annotated[
        str | None, typer.Option(help="What the model resized it to, px.", show_default="the picture's size")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="`snellen list formats`, or auto.")] = "auto",
    classes: Annotated[
        str, typer.Option(help="What was asked for, comma-separated; one class names boxes without a label.")
    ] = "",
    finish: Annotated[
        str | None, typer.Option(help="How the reply ended, where known: stop, length or refused.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option(help="The paper's reading (WADE): no salvage, every item valid.")] = False,
) -> None:
    """Reads a reply on standard input and prints what it means, as JSON.

    `status`: ok, malformed, refused or truncated. `salvage`: how much help it needed (intact, repaired, truncated).
    `instances`: labels, boxes in px of the picture, scores (null where none was given). `points`. `unread`: items of a
    readable list that could not be read. Labels are as written; null where there is none.

    Examples:

      echo '[{"bbox_2d": [100, 200, 500, 900], "label": "cat"}]' | snellen parse --notation qwen3-vl --size 640x480

      snellen parse --notation qwen2.5-vl --size 1080x1920 --input-size 728x1316 < reply.txt
    """
    from snellen.parsing.boxes import read_reply

    text = _standard_input()
    picture = _size(size)
    names = tuple(name.strip() for name in classes.split(",") if name.strip())
    reading = read_reply(
        text,
        notation=notation,
        size=picture,
        input_size=picture if input_size is None else _size(input_size),
        format=format_,
        classes=names,
        finish=_finish(finish),
    )
    typer.echo(json.dumps(_plain(reading, strict_=strict, prefers_points=_wants_points(notation)), ensure_ascii=False))


def _plain(reading: Grounded, *, strict_: bool, prefers_points: bool) -> dict[str, Any]:
    """Both readings as one object; status and reason are of the kind that is there, or that the notation asks for."""
    from snellen.parsing.boxes import strict

    boxes = strict(reading.boxes) if strict_ else reading.boxes
    points = reading.points
    told: Reading[Any] = boxes
    if points.value is not None and (boxes.value is None or (prefers_points and not len(boxes.value))):
        told = points
    instances = []
    if boxes.value is not None:
        scores = boxes.value.scores
        marks = [None] * len(boxes.value) if scores is None else [None if s != s else s for s in scores.tolist()]
        rows = zip(boxes.value.labels, boxes.value.boxes.tolist(), marks, strict=True)
        instances = [{"label": label or None, "box": box, "score": score} for label, box, score in rows]
    dots = [] if points.value is None else zip(points.value.labels, points.value.points.tolist(), strict=True)
    return {
        "status": told.status,
        "salvage": told.salvage,
        "reason": told.reason,
        "unread": told.unread,
        "instances": instances,
        "points": [{"label": label or None, "point": point} for label, point in dots],
    }


def _wants_points(name: str) -> bool:
    from snellen.parsing.notations import named

    return named(name).points


def _standard_input() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"a reply is UTF-8 text, got byte 0x{data[error.start]:02x} at {error.start}") from None


def _size(text: str) -> Size:
    match = re.fullmatch(r"\s*(\d{1,6})\s*[xX×,]\s*(\d{1,6})\s*", text)
    if match is None or not int(match[1]) or not int(match[2]):
        raise SpecError(f"a size is written WIDTHxHEIGHT in px, like 640x480, got {text!r}")
    return Size(int(match[1]), int(match[2]))


def _finish(text: str | None) -> Finish | None:
    known: dict[str | None, Finish | None] = {None: None, "stop": "stop", "length": "length", "refused": "refused"}
    if text not in known:
        raise SpecError(f"a reply ends by stop, length or refused, got {text!r}")
    return known[text]
