"""What a page is made of: sections of text, tables, rows of figures and galleries. Plain data; `pages` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from snellen.report.figures import Figure
from snellen.report.grids import Grid


@dataclass(frozen=True)
class Text:
    """A paragraph, a `note` in small type, or a heading between blocks."""

    text: str
    kind: Literal["paragraph", "note", "heading"] = "paragraph"


@dataclass(frozen=True)
class Findings:
    """What stands out, a sentence each, grouped under the run that it is about."""

    items: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Row:
    """Figures side by side as far as the page is wide."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Gallery:
    """Pictures with replies or boxes, browsed in the page. `run` is the run's slug, `data` goes to the script."""

    run: str
    kind: Literal["answers", "boxes"]
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Fold:
    """A part that opens on a click: a title and a listing of `name: value` pairs or of preformatted text."""

    title: str
    pairs: tuple[tuple[str, str], ...] = ()
    text: str = ""


Block: TypeAlias = Text | Findings | Grid | Row | Gallery | Fold


@dataclass(frozen=True)
class Section:
    """A part of the page with an anchor in its table of contents. `part` names the runs that it is about."""

    id: str
    title: str
    blocks: tuple[Block, ...] = field(default_factory=tuple)
    lead: str = ""
    part: str = ""
