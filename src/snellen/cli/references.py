"""How predictions refer to pictures and classes: options of every command that reads them."""

from __future__ import annotations

from typing import Annotated

import typer

ImageRefs = Annotated[
    str | None,
    typer.Option(
        "--image-refs",
        help="How predictions refer to pictures: id, or name or stem of the file.",
        show_default="what fits",
    ),
]
ClassRefs = Annotated[
    str | None,
    typer.Option(
        "--class-refs",
        help="How predictions refer to classes: id, name, or index0 or index1 (place in the list, from 0 or from 1).",
        show_default="what fits",
    ),
]
