"""A figure: a Vega-Lite specification with its description in words, drawn as SVG and PNG without a browser.

Files are black on white. On the page the same SVG takes the page's text colour, so that it serves light and dark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from snellen.core.specs import Json

INK, RULE, PAPER = "#1b1c1d", "#c9cacb", "#fefefd"
"""Stand-ins for text, lines and ground: on the page they become CSS colours."""

SERIES = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888",
          "#ee7733", "#332288", "#44aa99", "#999933", "#882255")  # fmt: skip
"""Colours of runs: Paul Tol's "bright", told apart by colour-blind readers; from the eighth on others of his."""

NINE = ("#332288", "#88ccee", "#117733", "#44aa99", "#ddcc77", "#999933", "#cc6677", "#aa4499", "#882255")
"""Colours of up to nine answers: Paul Tol's "muted"."""

OTHER = "#dddddd"
"""The colour of an answer outside the options."""

_PAGE = {INK: "currentColor", RULE: "var(--rule)", PAPER: "none"}


@dataclass(frozen=True)
class Figure:
    """`spec` is Vega-Lite with its data inside; `alt` says in words what is to be seen; `id` names the files."""

    id: str
    title: str
    alt: str
    spec: dict[str, Json]
    note: str = ""

    def json(self) -> str:
        """The specification as text, for Vega-Lite's editor or a notebook."""
        return json.dumps(self.spec, ensure_ascii=False, allow_nan=False)

    def svg(self) -> str:
        """Drawn as SVG, black on white."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.spec, vl_version="6.4"))

    def inline(self, svg: str) -> str:
        """`svg` for the page: colours by CSS, one labelled image for screen readers, ids not repeated."""
        for colour, style in _PAGE.items():
            svg = svg.replace(colour, style)
        svg = re.sub(r'\b(id="|url\(#|href="#)', lambda m: f"{m[1]}{self.id}-", svg)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(self.alt)}" ', 1)


Spec: TypeAlias = dict[str, Json]
"""A part of a Vega-Lite specification."""

TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal", "T": "temporal"}


def field(name: str, **how: Json) -> Spec:
    """The encoding by a field, named with its type: `value:Q`. how: its title, axis, scale, sort, legend."""
    name, _, kind = name.partition(":")
    return {"field": name, "type": TYPES[kind], **how}


def mark(kind: str, encoding: Spec | None = None, *, rows: Sequence[Json] | None = None, **look: Json) -> Spec:
    """A layer: a mark with its look, its encoding, and rows of its own where the figure's are not meant."""
    data: Spec = {} if rows is None else {"data": {"values": list(rows)}}
    return {**data, "mark": {"type": kind, **look}, "encoding": encoding or {}}


SAYS = field("says:N")
"""What a mark says to screen readers: its row's `says`."""

INKED: Spec = {"condition": {"test": "datum.ink == '#ffffff'", "value": "#ffffff"}, "value": "#000000"}
"""The colour of a text on a coloured square: white where the row's `ink` says so."""


def png(svg: str) -> bytes:
    """A drawn figure as PNG at twice its size."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=2))


def figure(id: str, spec: Spec, *, title: str, alt: str, note: str = "") -> Figure:
    """A Vega-Lite specification as a Figure, in the look that all figures share."""
    return Figure(id, title, alt, {"$schema": SCHEMA, "config": LOOK, **spec}, note)


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"
LOOK: Spec = {
    "background": PAPER,
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": RULE,
        "domainColor": RULE,
        "tickColor": RULE,
        "gridOpacity": 0.6,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": 180,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11, "labelLimit": 300},
    "header": {"labelColor": INK, "titleColor": INK},
    "title": {"color": INK, "fontSize": 13, "anchor": "start"},
    "text": {"color": INK},
    "rule": {"color": INK},
}


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
